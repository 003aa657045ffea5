-- What the watcher seat said: of each member's pane, and of a permission prompt as advice.

CREATE TABLE pane_judgements (
    agent_key TEXT PRIMARY KEY,
    shown     TEXT NOT NULL,             -- hash of what was judged: the same is not judged twice
    says      TEXT NOT NULL CHECK (says IN ('question', 'working', 'idle', 'error', 'unsure')),
    topic     TEXT,                      -- of a question
    why       TEXT,                      -- the seat's own reason
    at        TEXT NOT NULL
) STRICT;

-- Advice about one prompt. It is shown and does nothing.
CREATE TABLE need_advice (
    need INTEGER PRIMARY KEY REFERENCES needs (id) ON DELETE CASCADE,
    seen TEXT NOT NULL,                  -- hash of the prompt it is about
    says TEXT NOT NULL CHECK (says IN ('allow', 'deny', 'unsure')),
    why  TEXT,
    at   TEXT NOT NULL
) STRICT;
