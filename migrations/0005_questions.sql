-- Questions of agents to the owner, the answers carried back, and what the roster's watch must remember.

CREATE TABLE needs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    agent      TEXT NOT NULL,
    host       TEXT NOT NULL,
    agent_key  TEXT NOT NULL,            -- agent@host without case
    topic      TEXT NOT NULL,
    topic_key  TEXT NOT NULL,            -- without case, spaces collapsed
    question   TEXT NOT NULL,
    options    TEXT NOT NULL,            -- a list of texts, from A
    project    TEXT,
    origin     TEXT NOT NULL CHECK (origin IN ('cli', 'mcp', 'hook', 'thrum', 'pane')),
    message    TEXT,                     -- the asker's message, where the answer is a reply to it
    folder     TEXT,                     -- the thrum folder it came through
    pane       TEXT,                     -- %12: where the asker's pane is known
    remote     TEXT,                     -- the machine of that pane, when it is not this one
    identity   TEXT,                     -- JSON: the pane as it was when it was read
    seen       TEXT,                     -- hash of the question as the pane showed it
    prompt     TEXT,                     -- a permission prompt: its command, options and keys
    state      TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'withdrawn', 'dropped', 'gone')),
    version    INTEGER NOT NULL DEFAULT 1 CHECK (version >= 1), -- grows when the words change
    reminded   INTEGER,                  -- the version the owner was last reminded of
    asked_at   TEXT NOT NULL,
    told_at    TEXT NOT NULL,            -- when this version was told
    closed_at  TEXT,
    CHECK ((state = 'open') = (closed_at IS NULL)),
    CHECK (remote IS NULL OR pane IS NOT NULL)
) STRICT;
CREATE UNIQUE INDEX needs_open ON needs (agent_key, topic_key) WHERE state = 'open';
CREATE INDEX needs_by_time ON needs (id DESC) WHERE state <> 'open';
CREATE INDEX needs_by_pane ON needs (pane) WHERE state = 'open' AND pane IS NOT NULL;

-- The owner's own words, and how far they have come.
CREATE TABLE need_answers (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    need        INTEGER NOT NULL REFERENCES needs (id) ON DELETE CASCADE,
    words       TEXT NOT NULL,
    press       TEXT CHECK (press IS NULL OR press IN ('allow', 'deny')), -- a permission prompt's answer
    way         TEXT NOT NULL CHECK (way IN ('fetch', 'thrum', 'type', 'key', 'nowhere')),
    stage       TEXT NOT NULL CHECK (stage IN
                  ('queued', 'carrying', 'typed', 'submitted', 'acknowledged', 'returned')),
    why         TEXT,                    -- why it is held or came back
    answered_at TEXT NOT NULL,
    updated_at  TEXT NOT NULL
) STRICT;
CREATE INDEX need_answers_by_need ON need_answers (need, id);
CREATE INDEX need_answers_open ON need_answers (id) WHERE stage NOT IN ('acknowledged', 'returned');

-- One row is the right to carry one answer once: whoever deletes it, carries it.
CREATE TABLE need_claims (
    answer INTEGER PRIMARY KEY REFERENCES need_answers (id) ON DELETE CASCADE,
    at     TEXT NOT NULL
) STRICT;

-- How often a condition was said, until it was seen cleared.
CREATE TABLE escalations (
    key      TEXT PRIMARY KEY,           -- coord|unwatchable|capture failed
    count    INTEGER NOT NULL CHECK (count >= 1),
    first_at TEXT NOT NULL,
    last_at  TEXT NOT NULL
) STRICT;

-- Each member as it was last seen; made anew by the watch.
CREATE TABLE roster_states (
    agent_key   TEXT PRIMARY KEY,
    agent       TEXT NOT NULL,
    host        TEXT NOT NULL,
    pane        TEXT,
    state       TEXT NOT NULL CHECK (state IN ('working', 'waiting', 'idle', 'error', 'unwatchable', 'unknown')),
    detail      TEXT NOT NULL,
    empty       INTEGER NOT NULL DEFAULT 0, -- empty captures in a row
    activity    INTEGER,                    -- the pane's last activity when it was captured
    program     TEXT,
    captured_at TEXT,
    since       TEXT NOT NULL,              -- of this state
    seen_at     TEXT NOT NULL
) STRICT;

-- Messages of thrum that were taken up, so that none is taken up twice.
CREATE TABLE thrum_taken (
    folder  TEXT NOT NULL,
    message TEXT NOT NULL,
    at      TEXT NOT NULL,
    PRIMARY KEY (folder, message)
) STRICT;

-- Messages to the owner and to askers: written before they are sent, and the outcome after.
CREATE TABLE thrum_sent (
    key        TEXT PRIMARY KEY,         -- need:3:1
    need       INTEGER REFERENCES needs (id) ON DELETE CASCADE,
    folder     TEXT NOT NULL,
    recipient  TEXT NOT NULL,
    content    TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('intended', 'sent', 'failed')),
    message    TEXT,                     -- the id thrum gave it
    why        TEXT,
    intent_at  TEXT NOT NULL,
    outcome_at TEXT,
    CHECK ((state = 'intended') = (outcome_at IS NULL))
) STRICT;
CREATE INDEX thrum_sent_by_message ON thrum_sent (folder, message) WHERE message IS NOT NULL;
