-- Generated from the migrations; for reading. Do not edit.

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

CREATE TABLE audit (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    at       TEXT NOT NULL,
    actor    TEXT NOT NULL,
    kind     TEXT NOT NULL,
    subject  TEXT NOT NULL,
    detail   TEXT NOT NULL,
    previous TEXT NOT NULL,
    hash     TEXT NOT NULL
) STRICT;

CREATE TABLE contracts (
    task       INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    version    INTEGER NOT NULL CHECK (version >= 1),
    body       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (task, version)
) STRICT;

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
    evidence   TEXT, turned_down INTEGER NOT NULL DEFAULT 0 CHECK (turned_down IN (0, 1)), deed TEXT, line TEXT, part TEXT,                     -- the address of what GitHub made of it
    CHECK (state <> 'intended' OR intent_at IS NOT NULL),
    CHECK (state NOT IN ('done', 'failed', 'dismissed', 'obsolete') OR outcome_at IS NOT NULL)
) STRICT;

CREATE INDEX effects_by_review ON effects (review) WHERE review IS NOT NULL;

CREATE INDEX effects_by_subject ON effects (repository, number);

CREATE INDEX effects_open ON effects (state, id) WHERE state IN ('wanted', 'suggested', 'approved', 'intended');

CREATE INDEX effects_sent ON effects (host, intent_at) WHERE intent_at IS NOT NULL;

CREATE TABLE engine_agent_days (
    repository INTEGER NOT NULL REFERENCES repositories (id) ON DELETE CASCADE,
    day        TEXT NOT NULL CHECK (length(day) = 10),
    runs       INTEGER NOT NULL,
    PRIMARY KEY (repository, day)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE engine_repos (
    repository    INTEGER PRIMARY KEY REFERENCES repositories (id) ON DELETE CASCADE,
    hold          TEXT,                  -- JSON: the task for which nothing merges, and since when
    fast_left     INTEGER NOT NULL DEFAULT 0, -- ticks that still come sooner after a merge
    fault         TEXT,                  -- slug of what of the configuration stops this repository
    fault_detail  TEXT,
    fault_since   TEXT,
    names         TEXT NOT NULL DEFAULT '{}', -- JSON: each required check, and when a run of it was last seen
    policy        TEXT,                  -- SHA-256 of the policy of the last tick
    observed_at   TEXT,                  -- the look at GitHub that the last tick judged
    last_tick     TEXT,
    next_look     TEXT,                  -- when GitHub is looked at again sooner than by its interval
    round         TEXT NOT NULL DEFAULT 'idle' CHECK (round IN ('idle', 'queued', 'active')),
    report        TEXT, mended_at TEXT,                  -- fingerprint of the report that was wanted last
    CHECK ((fault IS NULL) = (fault_since IS NULL))
) STRICT;

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

CREATE INDEX engine_tasks_by_item ON engine_tasks (repository, kind, number, id);

CREATE UNIQUE INDEX engine_tasks_open ON engine_tasks (repository, kind, number) WHERE state <> 'ended';

CREATE TABLE escalations (
    key      TEXT PRIMARY KEY,           -- coord|unwatchable|capture failed
    count    INTEGER NOT NULL CHECK (count >= 1),
    first_at TEXT NOT NULL,
    last_at  TEXT NOT NULL
) STRICT;

CREATE TABLE finding_marks (
    task    INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    finding TEXT NOT NULL,
    mark    TEXT NOT NULL CHECK (mark IN ('answered', 'wont_fix')),
    cited   TEXT NOT NULL,
    at      TEXT NOT NULL,
    PRIMARY KEY (task, finding)
) STRICT;

CREATE TABLE findings (
    review     INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
    position   INTEGER NOT NULL,
    id         TEXT NOT NULL,            -- stable over the reviews of a task
    origin     TEXT NOT NULL CHECK (origin IN ('seat', 'steward')),
    state      TEXT NOT NULL CHECK (state IN ('new', 'open', 'fixed', 'answered')),
    since      INTEGER NOT NULL,         -- the review that first had it
    title      TEXT NOT NULL,
    file       TEXT NOT NULL,
    line       INTEGER NOT NULL,
    why        TEXT NOT NULL,
    check_text TEXT NOT NULL,
    severity   TEXT,
    cited      TEXT NOT NULL,            -- hash of the cited lines at the head
    excerpt    TEXT NOT NULL,
    PRIMARY KEY (review, id)
) STRICT;

CREATE INDEX findings_by_id ON findings (id);

CREATE TABLE frame_observations (
    review      INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
    frame       INTEGER NOT NULL REFERENCES frames (id) ON DELETE CASCADE,
    observation TEXT NOT NULL,
    PRIMARY KEY (review, frame)
) STRICT;

CREATE TABLE frames (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task       INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    sha        TEXT NOT NULL CHECK (length(sha) = 40),
    clean      INTEGER NOT NULL CHECK (clean IN (0, 1)),
    width      INTEGER NOT NULL,
    theme      TEXT NOT NULL,
    scale      INTEGER NOT NULL CHECK (scale BETWEEN 1 AND 3),
    route      TEXT,
    file       TEXT NOT NULL,            -- name under frames/, by content hash
    image_hash TEXT NOT NULL,            -- of the decoded pixels
    px_width   INTEGER,
    px_height  INTEGER,
    created_at TEXT NOT NULL
) STRICT;

CREATE INDEX frames_by_task ON frames (task, id);

CREATE TABLE freezes (
    host       TEXT NOT NULL COLLATE NOCASE,
    repository TEXT NOT NULL COLLATE NOCASE, -- owner/name, as config.yaml has it
    why        TEXT NOT NULL,
    at         TEXT NOT NULL,
    PRIMARY KEY (host, repository)
) STRICT, WITHOUT ROWID;

CREATE TABLE gates (
    review   INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    gate     TEXT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('pass', 'fail', 'undecided', 'notApplicable')),
    detail   TEXT NOT NULL,
    evidence TEXT NOT NULL,
    PRIMARY KEY (review, gate)
) STRICT;

CREATE TABLE handoffs (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    task       INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    peer       TEXT NOT NULL,
    status     TEXT NOT NULL CHECK (status IN ('done', 'running', 'blocked', 'failed')),
    body       TEXT NOT NULL,
    created_at TEXT NOT NULL
) STRICT;

CREATE INDEX handoffs_by_task ON handoffs (task, id);

CREATE TABLE heads_seen (
    host       TEXT NOT NULL COLLATE NOCASE,
    repository TEXT NOT NULL COLLATE NOCASE, -- owner/name
    sha        TEXT NOT NULL CHECK (length(sha) = 40),
    seen_at    TEXT NOT NULL,
    PRIMARY KEY (host, repository, sha)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE inbox (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    kind         TEXT NOT NULL CHECK (kind IN
                   ('review', 'question', 'approval', 'ruling', 'suggestion', 'stuck', 'incident')),
    subject      TEXT NOT NULL,          -- task:42, question:3; activity of it brings the entry back
    target       TEXT NOT NULL,          -- review/7: what opens
    title        TEXT NOT NULL,
    source       TEXT NOT NULL,
    chip         TEXT NOT NULL,
    state        TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'snoozed', 'gone')),
    read         INTEGER NOT NULL DEFAULT 0 CHECK (read IN (0, 1)),
    saved        INTEGER NOT NULL DEFAULT 0 CHECK (saved IN (0, 1)),
    snooze_until TEXT,
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    UNIQUE (kind, target)
) STRICT;

CREATE INDEX inbox_by_subject ON inbox (subject);

CREATE INDEX inbox_page ON inbox (state, updated_at DESC, id DESC);

CREATE INDEX inbox_saved ON inbox (updated_at DESC, id DESC) WHERE saved = 1 AND state <> 'gone';

CREATE TRIGGER inbox_counted_in AFTER INSERT ON inbox BEGIN
    INSERT INTO inbox_counts (state, kind, saved, total, unread)
    VALUES (new.state, new.kind, new.saved, 1, 1 - new.read)
    ON CONFLICT (state, kind, saved) DO UPDATE SET
        total = total + excluded.total, unread = unread + excluded.unread;
END;

CREATE TRIGGER inbox_counted_out AFTER DELETE ON inbox BEGIN
    UPDATE inbox_counts SET total = total - 1, unread = unread - 1 + old.read
    WHERE state = old.state AND kind = old.kind AND saved = old.saved;
END;

CREATE TRIGGER inbox_counted_over AFTER UPDATE OF state, kind, saved, read ON inbox BEGIN
    UPDATE inbox_counts SET total = total - 1, unread = unread - 1 + old.read
    WHERE state = old.state AND kind = old.kind AND saved = old.saved;
    INSERT INTO inbox_counts (state, kind, saved, total, unread)
    VALUES (new.state, new.kind, new.saved, 1, 1 - new.read)
    ON CONFLICT (state, kind, saved) DO UPDATE SET
        total = total + excluded.total, unread = unread + excluded.unread;
END;

CREATE TABLE inbox_counts (
    state  TEXT NOT NULL,
    kind   TEXT NOT NULL,
    saved  INTEGER NOT NULL,
    total  INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    PRIMARY KEY (state, kind, saved)
) STRICT;

CREATE TABLE inbox_history (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    entry  INTEGER NOT NULL REFERENCES inbox (id) ON DELETE CASCADE,
    at     TEXT NOT NULL,
    before TEXT NOT NULL,
    after  TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0 CHECK (undone IN (0, 1))
) STRICT;

CREATE INDEX inbox_history_by_entry ON inbox_history (entry, id);

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

CREATE INDEX landings_by_base ON landings (repository, base_branch, merged_at) WHERE state = 'proven';

CREATE INDEX landings_open ON landings (retry_at) WHERE state = 'waiting';

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

CREATE TABLE need_claims (
    answer INTEGER PRIMARY KEY REFERENCES need_answers (id) ON DELETE CASCADE,
    at     TEXT NOT NULL
) STRICT;

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

CREATE INDEX needs_by_pane ON needs (pane) WHERE state = 'open' AND pane IS NOT NULL;

CREATE INDEX needs_by_time ON needs (id DESC) WHERE state <> 'open';

CREATE UNIQUE INDEX needs_open ON needs (agent_key, topic_key) WHERE state = 'open';

CREATE TABLE notices (
    key        TEXT PRIMARY KEY,         -- review:7
    target     TEXT NOT NULL,            -- review/7
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    shown_at   TEXT
) STRICT;

CREATE INDEX notices_waiting ON notices (created_at) WHERE shown_at IS NULL;

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

CREATE TABLE outbox (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    topic TEXT NOT NULL,
    at    TEXT NOT NULL
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

CREATE INDEX pulls_by_branch ON pulls (repository, head_branch);

CREATE INDEX pulls_open ON pulls (repository, updated_at DESC) WHERE state = 'open';

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
    fault_hint     TEXT, default_tip TEXT CHECK (default_tip IS NULL OR length(default_tip) = 40),                 -- the next step
    CHECK (fault IS NULL OR tried_at IS NOT NULL),
    UNIQUE (host, name)
) STRICT;

CREATE TABLE review_steps (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    review INTEGER NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
    at     TEXT NOT NULL,
    kind   TEXT NOT NULL,
    text   TEXT NOT NULL
) STRICT;

CREATE INDEX review_steps_by_review ON review_steps (review, id);

CREATE TABLE reviews (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    task             INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    sha              TEXT NOT NULL CHECK (length(sha) = 40),
    base_branch      TEXT,
    base_tip         TEXT,
    merge_base       TEXT,
    contract_version INTEGER,
    ci_fingerprint   TEXT NOT NULL,
    trigger          TEXT NOT NULL CHECK (trigger IN ('manual', 'automatic')),
    state            TEXT NOT NULL CHECK (state IN
                       ('queued', 'digesting', 'running', 'submitted', 'held', 'published', 'ended')),
    reason           TEXT CHECK (reason IS NULL OR reason IN
                       ('timeout', 'budget', 'crashed', 'cancelled', 'scope_violation')),
    reason_detail    TEXT,
    verdict          TEXT CHECK (verdict IS NULL OR verdict IN ('ACCEPTED', 'CHANGES', 'BLOCKED')),
    seat_verdict     TEXT CHECK (seat_verdict IS NULL OR seat_verdict IN ('ACCEPTED', 'CHANGES', 'BLOCKED')),
    cap              TEXT CHECK (cap IS NULL OR cap IN ('ACCEPTED', 'CHANGES', 'BLOCKED')),
    lowered_by       TEXT NOT NULL DEFAULT '[]',
    lowered_because  TEXT NOT NULL DEFAULT '[]',   -- other causes, as sentences
    stale_reason     TEXT CHECK (stale_reason IS NULL OR stale_reason IN
                       ('head_moved', 'newer_contract', 'newer_review', 'hold_expired')),
    stale_at         TEXT,
    summary          TEXT,
    digest_hash      TEXT,
    stats            TEXT NOT NULL DEFAULT '{}',   -- files, added, removed
    coverage         TEXT NOT NULL DEFAULT '{}',   -- complete, excluded, unread
    phase            TEXT,                         -- what the seat is doing now
    turns            INTEGER NOT NULL DEFAULT 0,
    tokens           INTEGER NOT NULL DEFAULT 0,
    cost_usd         REAL,                         -- NULL: unknown
    budget_usd       REAL NOT NULL,
    model            TEXT,
    adapter          TEXT,
    boundary         TEXT,                         -- bubblewrap, landlock
    cancel_asked     INTEGER NOT NULL DEFAULT 0 CHECK (cancel_asked IN (0, 1)),
    queued_at        TEXT NOT NULL,
    started_at       TEXT,
    submitted_at     TEXT,
    held_at          TEXT,
    ended_at         TEXT,
    gates_at         TEXT,                         -- when the gates were last computed
    CHECK ((stale_reason IS NULL) = (stale_at IS NULL)),
    CHECK ((state IN ('published', 'ended')) = (ended_at IS NOT NULL)),
    CHECK (state <> 'published' OR verdict IS NOT NULL),
    CHECK (state <> 'ended' OR reason IS NOT NULL)
) STRICT;

CREATE INDEX reviews_by_queue_time ON reviews (queued_at);

CREATE INDEX reviews_by_state ON reviews (state) WHERE state NOT IN ('published', 'ended');

CREATE INDEX reviews_by_task ON reviews (task, id DESC);

CREATE INDEX reviews_fresh ON reviews (id) WHERE stale_reason IS NULL;

CREATE UNIQUE INDEX reviews_open ON reviews (task)
    WHERE state IN ('queued', 'digesting', 'running', 'submitted') OR (state = 'held' AND stale_reason IS NULL);

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

CREATE TABLE settings (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE spending (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     TEXT NOT NULL,
    role   TEXT NOT NULL,
    review INTEGER REFERENCES reviews (id) ON DELETE SET NULL,
    usd    REAL,                         -- NULL: unknown
    tokens INTEGER NOT NULL
) STRICT;

CREATE INDEX spending_by_time ON spending (at);

CREATE TABLE tasks (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    title          TEXT NOT NULL,
    workspace      TEXT,                 -- title, as config.yaml has it
    workspace_path TEXT,
    repository     TEXT COLLATE NOCASE,  -- owner/name
    pull           INTEGER,
    branch         TEXT,
    head           TEXT CHECK (head IS NULL OR length(head) = 40),
    head_at        TEXT,                 -- when the head was read
    fork_point     TEXT CHECK (fork_point IS NULL OR length(fork_point) = 40),
    state          TEXT NOT NULL CHECK (state IN ('running', 'done', 'error', 'stopped')),
    unreadable     TEXT,                 -- why the head could not be read, last time
    created_at     TEXT NOT NULL,
    updated_at     TEXT NOT NULL, host TEXT COLLATE NOCASE, pull_updated_at TEXT,
    CHECK (workspace IS NOT NULL OR repository IS NOT NULL)
) STRICT;

CREATE UNIQUE INDEX tasks_by_branch ON tasks (workspace_path, branch) WHERE pull IS NULL;

CREATE UNIQUE INDEX tasks_by_pull ON tasks (coalesce(host, 'github.com'), repository, pull) WHERE pull IS NOT NULL;

CREATE INDEX tasks_by_update ON tasks (updated_at DESC, id DESC);

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

CREATE TABLE thrum_taken (
    folder  TEXT NOT NULL,
    message TEXT NOT NULL,
    at      TEXT NOT NULL,
    PRIMARY KEY (folder, message)
) STRICT;

CREATE TABLE validator_verdicts (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    task             INTEGER NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    contract_version INTEGER NOT NULL,
    sha              TEXT NOT NULL CHECK (length(sha) = 40),
    verdict          TEXT NOT NULL CHECK (verdict IN ('pass', 'fail', 'running')),
    body             TEXT NOT NULL,
    created_at       TEXT NOT NULL
) STRICT;

CREATE INDEX validator_verdicts_by_task ON validator_verdicts (task, id);
