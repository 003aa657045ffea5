-- The journal of everything that leaves the machine: written before it happens, and its outcome after.

CREATE TABLE effects (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    key        TEXT NOT NULL UNIQUE,     -- the same effect on the same head has the same key for ever
    class      TEXT NOT NULL,            -- comment_review, …
    host       TEXT NOT NULL,
    repository TEXT NOT NULL COLLATE NOCASE, -- owner/name
    number     INTEGER,                  -- pull request or issue
    head       TEXT CHECK (head IS NULL OR length(head) = 40),
    account    TEXT NOT NULL,            -- the login that acts
    review     INTEGER REFERENCES reviews (id) ON DELETE SET NULL,
    content    TEXT NOT NULL,            -- exactly what goes out
    state      TEXT NOT NULL CHECK (state IN
                 ('wanted', 'suggested', 'approved', 'intended', 'done', 'failed', 'dismissed', 'obsolete')),
    why        TEXT,                     -- why it waits, failed or is obsolete; a slug
    detail     TEXT,
    attempt    INTEGER NOT NULL DEFAULT 0,
    looks      INTEGER NOT NULL DEFAULT 0, -- readings since the intent that did not show it
    retry_at   TEXT,
    created_at TEXT NOT NULL,
    decided_by TEXT,                     -- policy, person
    intent_at  TEXT,
    outcome_at TEXT,
    posted     INTEGER,                  -- the id GitHub gave for it
    evidence   TEXT,                     -- the address of what GitHub made of it
    CHECK (state <> 'intended' OR intent_at IS NOT NULL),
    CHECK (state NOT IN ('done', 'failed', 'dismissed', 'obsolete') OR outcome_at IS NOT NULL)
) STRICT;
CREATE INDEX effects_open ON effects (state, id) WHERE state IN ('wanted', 'suggested', 'approved', 'intended');
CREATE INDEX effects_by_review ON effects (review) WHERE review IS NOT NULL;
CREATE INDEX effects_by_subject ON effects (repository, number);
CREATE INDEX effects_sent ON effects (host, intent_at) WHERE intent_at IS NOT NULL;
