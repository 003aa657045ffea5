-- What the GitHub client remembers between runs: answers it may ask to be confirmed, and how much it may ask.

CREATE TABLE http_cache (
    account    TEXT NOT NULL,            -- login@host
    url        TEXT NOT NULL,
    etag       TEXT NOT NULL,
    link       TEXT,                     -- the Link header, which a 304 may leave out
    body       BLOB NOT NULL,
    fetched_at TEXT NOT NULL,            -- when GitHub last confirmed it
    PRIMARY KEY (account, url)
) STRICT;
CREATE INDEX http_cache_by_age ON http_cache (fetched_at);

-- A row with an empty account and resource holds for everything on its host.
CREATE TABLE api_budget (
    host         TEXT NOT NULL,
    account      TEXT NOT NULL,
    resource     TEXT NOT NULL,          -- GitHub's word: core, graphql, search
    quota        INTEGER,
    remaining    INTEGER,
    reset_at     TEXT,
    paused_at    TEXT,
    paused_until TEXT,
    pause        TEXT CHECK (pause IS NULL OR pause IN ('primary', 'secondary')),
    seen_at      TEXT NOT NULL,
    PRIMARY KEY (host, account, resource),
    CHECK ((pause IS NULL) = (paused_until IS NULL) AND (pause IS NULL) = (paused_at IS NULL))
) STRICT;
