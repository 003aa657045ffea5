-- The steward engine (engine.md 15): what it remembers of each repository, pull request and issue between two
-- ticks, and what it read of them. What is wanted and done stands in the journal (`effects`).

-- Where the default branch ends: what is judged against it is judged again when that moves.
ALTER TABLE repositories ADD COLUMN default_tip TEXT CHECK (default_tip IS NULL OR length(default_tip) = 40);

CREATE TABLE engine_repos (
    repository    INTEGER PRIMARY KEY REFERENCES repositories (id) ON DELETE CASCADE,
    hold          TEXT,                  -- JSON: the task for which nothing merges, and since when
    fast_left     INTEGER NOT NULL DEFAULT 0, -- ticks that still come sooner after a merge
    limited_until TEXT,                  -- a limit of the agent's provider holds until then
    fault         TEXT,                  -- slug of what of the configuration stops this repository
    fault_detail  TEXT,
    fault_since   TEXT,
    names         TEXT NOT NULL DEFAULT '{}', -- JSON: each required check, and when a run of it was last seen
    policy        TEXT,                  -- SHA-256 of the policy of the last tick
    observed_at   TEXT,                  -- the look at GitHub that the last tick judged
    last_tick     TEXT,
    next_look     TEXT,                  -- when GitHub is looked at again sooner than by its interval
    round         TEXT NOT NULL DEFAULT 'idle' CHECK (round IN ('idle', 'queued', 'active')),
    report        TEXT,                  -- fingerprint of the report that was wanted last
    CHECK ((fault IS NULL) = (fault_since IS NULL))
) STRICT;

CREATE TABLE engine_items (
    repository     INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    kind           TEXT NOT NULL CHECK (kind IN ('pr', 'issue')),
    number         INTEGER NOT NULL,
    class          TEXT NOT NULL,        -- slug of its class; of an issue, whether it is in scope
    class_reason   TEXT NOT NULL DEFAULT '', -- what makes it so, in one sentence
    decision       TEXT NOT NULL,        -- slug of the next step
    state          TEXT NOT NULL,        -- the next step and why, in one sentence
    not_before     TEXT,                 -- no sooner than then is there anything new to decide
    last_action    TEXT,                 -- what was done last, in one sentence
    last_action_at TEXT,
    head           TEXT CHECK (head IS NULL OR length(head) = 40), -- the head the last tick saw
    head_since     TEXT,                 -- by our clock
    head_seen_at   TEXT,                 -- the last tick that saw it
    behind_since   TEXT,
    attempts       TEXT NOT NULL DEFAULT '{"spent":0,"next_at":null,"evidence":null,"woken_on":null}', -- JSON
    evidence       TEXT,                 -- the end of the last evidence, redacted
    rebases        INTEGER NOT NULL DEFAULT 0, -- our own, since it was merged or somebody else pushed
    unprocessable  INTEGER NOT NULL DEFAULT 0, -- merges refused with 422 in a row
    outcome_seen   TEXT,                 -- effects that ended until then were taken into account
    reviewed_head  TEXT CHECK (reviewed_head IS NULL OR length(reviewed_head) = 40),
    pushed_head    TEXT CHECK (pushed_head IS NULL OR length(pushed_head) = 40),
    supersede      TEXT,                 -- JSON: how far superseding it went
    stopped        TEXT,                 -- why that goes no further, as a sentence
    questions      TEXT NOT NULL DEFAULT '[]', -- JSON: what was asked on the issue
    asked_at       TEXT,
    declined_at    TEXT,
    task_seen      INTEGER NOT NULL DEFAULT 0, -- the newest ended task that was taken into account
    stuck          INTEGER NOT NULL DEFAULT 0 CHECK (stuck IN (0, 1)),
    sight          TEXT,                 -- what the observer showed when it was last read whole
    compare        TEXT,                 -- JSON: how it stands to the base since that moved
    try_at         TEXT,                 -- a person asked for a try now
    ended          TEXT CHECK (ended IN ('merged', 'closed')),
    settled        INTEGER NOT NULL DEFAULT 0 CHECK (settled IN (0, 1)), -- nothing is left to do after its end
    updated_at     TEXT NOT NULL,
    PRIMARY KEY (repository, kind, number),
    CHECK ((head IS NULL) = (head_since IS NULL) AND (head IS NULL) = (head_seen_at IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX engine_items_due ON engine_items (repository, not_before) WHERE ended IS NULL;

-- Whole readings, kept where they differ from the one before.
CREATE TABLE observations (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    repository     INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    kind           TEXT NOT NULL CHECK (kind IN ('pr', 'issue')),
    number         INTEGER NOT NULL,
    hash           TEXT NOT NULL,        -- over the reading without the times it was made at
    body           TEXT NOT NULL,        -- JSON
    at             TEXT NOT NULL,        -- when it was first read so
    read_at        TEXT NOT NULL,        -- when it was last read so
    labels_read_at TEXT                  -- when the labels of that were read, by GitHub's clock
) STRICT;
CREATE INDEX observations_by_item ON observations (repository, kind, number, id);
CREATE INDEX observations_by_time ON observations (read_at);
