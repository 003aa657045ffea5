-- Merges of watched pull requests, each proven once (engine.md 4.7), and where nothing is merged until the person
-- lifts it.

CREATE TABLE landings (
    repository  INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    base_branch TEXT NOT NULL,
    base        TEXT CHECK (base IS NULL OR length(base) = 40), -- what the base was known to hold before it
    state       TEXT NOT NULL CHECK (state IN ('waiting', 'proven', 'different', 'undecided')),
    head        TEXT CHECK (head IS NULL OR length(head) = 40), -- the last head, once GitHub was read
    landed      TEXT CHECK (landed IS NULL OR length(landed) = 40),
    method      TEXT CHECK (method IS NULL OR method IN ('pushed', 'merge', 'squash', 'rebase')),
    merged_at   TEXT,                    -- by GitHub's clock
    paths       TEXT NOT NULL DEFAULT '[]', -- where it differs, as a person may read it
    path_count  INTEGER NOT NULL DEFAULT 0,
    why         TEXT,                    -- why it is not proven; a slug
    detail      TEXT,
    tries       INTEGER NOT NULL DEFAULT 0,
    retry_at    TEXT,
    seen_at     TEXT NOT NULL,           -- when it was seen merged
    settled_at  TEXT,
    PRIMARY KEY (repository, number),
    CHECK ((state = 'waiting') = (settled_at IS NULL)),
    CHECK (state NOT IN ('proven', 'different') OR landed IS NOT NULL)
) STRICT;
CREATE INDEX landings_open ON landings (retry_at) WHERE state = 'waiting';
CREATE INDEX landings_by_base ON landings (repository, base_branch, merged_at) WHERE state = 'proven';

-- By name: it outlives what is known of the repository.
CREATE TABLE freezes (
    host       TEXT NOT NULL COLLATE NOCASE,
    repository TEXT NOT NULL COLLATE NOCASE, -- owner/name, as config.yaml has it
    why        TEXT NOT NULL,
    at         TEXT NOT NULL,
    PRIMARY KEY (host, repository)
) STRICT, WITHOUT ROWID;
