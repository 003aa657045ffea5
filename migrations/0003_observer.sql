-- What the observer saw of GitHub last: repositories, their open pull requests and issues. Plain facts with
-- their times; nothing here was decided.

-- A pull request is known by its host too; a task from before GitHub was read has none.
ALTER TABLE tasks ADD COLUMN host TEXT COLLATE NOCASE;
DROP INDEX tasks_by_pull;
CREATE UNIQUE INDEX tasks_by_pull ON tasks (coalesce(host, 'github.com'), repository, pull) WHERE pull IS NOT NULL;

CREATE TABLE repositories (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    host           TEXT NOT NULL COLLATE NOCASE,
    name           TEXT NOT NULL COLLATE NOCASE, -- owner/name, as config.yaml has it
    node_id        TEXT,
    now_called     TEXT,                 -- where it moved to, when GitHub knows it by another name
    default_branch TEXT,
    private        INTEGER CHECK (private IN (0, 1)),
    archived       INTEGER CHECK (archived IN (0, 1)),
    permission     TEXT,                 -- what the account may do, in GitHub's word: READ … ADMIN
    observed_at    TEXT,                 -- the last whole observation
    tried_at       TEXT,                 -- the last attempt
    listed_at      TEXT,                 -- when its lists were last read to their ends
    searched_to    TEXT,                 -- what changed before is known, by GitHub's clock
    extra_pulls    INTEGER NOT NULL DEFAULT 0, -- GitHub counted so many more than its whole list had
    extra_issues   INTEGER NOT NULL DEFAULT 0,
    fault          TEXT,                 -- slug of why the last attempt was not whole
    fault_detail   TEXT,                 -- a sentence
    fault_hint     TEXT,                 -- the next step
    CHECK (fault IS NULL OR tried_at IS NOT NULL),
    UNIQUE (host, name)
) STRICT;

CREATE TABLE pulls (
    repository      INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    number          INTEGER NOT NULL,
    node_id         TEXT NOT NULL,
    title           TEXT NOT NULL,
    author          TEXT NOT NULL,
    head            TEXT NOT NULL CHECK (length(head) = 40),
    head_branch     TEXT NOT NULL,
    head_repository TEXT,                -- owner/name; NULL when it was deleted
    base_branch     TEXT NOT NULL,
    base            TEXT NOT NULL CHECK (length(base) = 40),
    draft           INTEGER NOT NULL CHECK (draft IN (0, 1)),
    state           TEXT NOT NULL CHECK (state IN ('open', 'merged', 'closed', 'gone')),
    labels          TEXT NOT NULL DEFAULT '[]',
    rollup          TEXT,                -- all checks and statuses in GitHub's one word; NULL: none there
    mergeable       TEXT,
    review_decision TEXT,
    updated_at      TEXT NOT NULL,       -- by GitHub's clock
    head_seen_at    TEXT NOT NULL,       -- by ours: since when this head has been there
    seen_at         TEXT NOT NULL,       -- when GitHub last confirmed this row
    PRIMARY KEY (repository, number)
) STRICT;
CREATE INDEX pulls_open ON pulls (repository, updated_at DESC) WHERE state = 'open';
CREATE INDEX pulls_by_branch ON pulls (repository, head_branch);

CREATE TABLE issues (
    repository INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    number     INTEGER NOT NULL,
    node_id    TEXT NOT NULL,
    title      TEXT NOT NULL,
    author     TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('open', 'closed', 'gone')),
    labels     TEXT NOT NULL DEFAULT '[]',
    updated_at TEXT NOT NULL,
    seen_at    TEXT NOT NULL,
    PRIMARY KEY (repository, number)
) STRICT;
CREATE INDEX issues_open ON issues (repository, updated_at DESC) WHERE state = 'open';

-- Since when a commit has been the head of something on its remote, by our clock: so long its first check
-- may be waited for.
CREATE TABLE heads_seen (
    host       TEXT NOT NULL COLLATE NOCASE,
    repository TEXT NOT NULL COLLATE NOCASE, -- owner/name
    sha        TEXT NOT NULL CHECK (length(sha) = 40),
    seen_at    TEXT NOT NULL,
    PRIMARY KEY (host, repository, sha)
) STRICT, WITHOUT ROWID;
