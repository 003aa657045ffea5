-- What agents and mechanical rebases are asked for by the engine, one after the other in a repository (engine.md 9, 14).

CREATE TABLE engine_tasks (
    id         INTEGER PRIMARY KEY,
    repository INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL CHECK (kind IN ('pr', 'issue')),
    number     INTEGER NOT NULL,
    what       TEXT NOT NULL,                                   -- JSON: fix, rebase or triage
    head       TEXT CHECK (head IS NULL OR length(head) = 40),
    base       TEXT NOT NULL CHECK (length(base) = 40),
    branch     TEXT NOT NULL,                                   -- where the result is to be pushed
    lease      TEXT CHECK (lease IS NULL OR length(lease) = 40), -- where that branch stood; NULL when it is new
    evidence   TEXT NOT NULL,                                   -- JSON: pieces of text by others, capped and redacted
    state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'ended')),
    waits      TEXT,                                            -- why it does not start, as a sentence
    queued_at  TEXT NOT NULL,
    started_at TEXT,
    agent_at   TEXT,                                            -- when its agent last started
    ended_at   TEXT,
    outcome    TEXT,                                            -- how it ended; a word
    fault      TEXT,                                            -- a fault of the configuration; a slug
    detail     TEXT,
    result     TEXT,                                            -- JSON: a commit to be pushed, or an answer
    CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CHECK ((state = 'ended') = (outcome IS NOT NULL)),
    CHECK (result IS NULL OR state = 'ended')
) STRICT;
CREATE UNIQUE INDEX engine_tasks_open ON engine_tasks (repository, kind, number) WHERE state <> 'ended';
CREATE INDEX engine_tasks_by_item ON engine_tasks (repository, kind, number, id);

-- Agent runs started per UTC day, whatever became of them.
CREATE TABLE engine_agent_days (
    repository INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    day        TEXT NOT NULL CHECK (length(day) = 10),
    runs       INTEGER NOT NULL,
    PRIMARY KEY (repository, day)
) STRICT, WITHOUT ROWID;
