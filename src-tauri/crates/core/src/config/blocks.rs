//! The keys of `config.yaml` as they are written: everything optional, nothing judged.
//!
//! From these the JSON Schema is made, so each key stands here once, with its sentence.

use super::engine_blocks::{RawEngine, RawEnginePolicy};
use super::fields::{At, Opaque, block};

block! {
    /// The configuration of Steward. Everything Steward may do stands in this one file.
    RawConfig {
        /// Accounts on GitHub; their tokens lie in the keyring of the system.
        accounts: Vec<At<RawAccount>> = "accounts",
        /// The way to GitHub.
        network: RawNetwork = "network",
        /// Local checkouts in which agents work.
        workspaces: Vec<At<RawWorkspace>> = "workspaces",
        /// The review seat.
        review: RawReview = "review",
        /// Which agent each role is started as.
        agents: RawAgents = "agents",
        /// Caps on money, over all agents.
        spend: RawSpend = "spend",
        /// The engine over pull requests and issues.
        engine: RawEngine = "engine",
        /// The identity of commits that Steward makes.
        commit: RawCommit = "commit",
        /// Watched repositories.
        repositories: Vec<At<RawRepository>> = "repositories",
        /// The follow-up memory.
        memory: Opaque = "memory",
        /// Questions of agents.
        questions: RawQuestions = "questions",
        /// Pipelines, each with its spec.
        pipelines: Opaque = "pipelines",
        notifications: RawNotifications = "notifications",
        /// How long things are kept.
        retention: RawRetention = "retention",
        /// The command that opens a file at a line, with `{file}` and `{line}`; `$EDITOR` when absent.
        editor: String = "editor",
    }
}

block! {
    RawAccount {
        /// `github.com` (default), or the host of a GitHub Enterprise.
        host: String = "host",
        login: String = "login",
    }
}

block! {
    RawNetwork {
        /// The proxy for every host, `http://[user:password@]host:port`; `none` for none. When absent,
        /// `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment hold.
        proxy: String = "proxy",
        /// A PEM file of certificates that are trusted beside those of the system.
        ca_file: String = "caFile",
    }
}

block! {
    RawWorkspace {
        /// What the workspace is called; each title once.
        title: String = "title",
        /// Its folder; `~` is your home.
        path: String = "path",
        /// `none` judges it without GitHub; `github` (default) asks GitHub when its remote is there.
        forge: String = "forge",
        policy: RawPolicy = "policy",
    }
}

block! {
    RawReview {
        /// Whether reviews may run at all. Default false.
        enabled: bool = "enabled",
        /// Titles of workspaces whose finished branches are reviewed by themselves.
        auto_review: Vec<String> = "autoReview",
        /// The most one review may cost, in US dollars. Default 1.5.
        budget_usd: f64 = "budgetUsd",
        /// The ceiling of `budgetUsd`. Default and most: 5.
        max_budget_usd: f64 = "maxBudgetUsd",
        /// The most minutes of one review. Default 20, most 60.
        max_minutes: i64 = "maxMinutes",
        /// Over all tasks. Default 6, most 24.
        max_reviews_per_hour: i64 = "maxReviewsPerHour",
        /// Default 5.
        max_reviews_per_task: i64 = "maxReviewsPerTask",
        /// The most turns of the agent in one review. Default 60.
        max_turns: i64 = "maxTurns",
        /// The most tokens of one review. Default 2,000,000.
        max_tokens: i64 = "maxTokens",
        /// Whether the seat may add an advice to a permission prompt. Default false.
        annotate: bool = "annotate",
    }
}

block! {
    RawAgents {
        reviewer: RawAgent = "reviewer",
        fixer: RawAgent = "fixer",
        triager: RawAgent = "triager",
        responder: RawAgent = "responder",
        safety: RawAgent = "safety",
        watcher: RawAgent = "watcher",
        inspector: RawAgent = "inspector",
        conductor: RawAgent = "conductor",
    }
}

block! {
    RawAgent {
        /// `claude`, or `command` for any program that speaks the small contract.
        adapter: String = "adapter",
        model: String = "model",
        /// The program and its arguments, for the adapter `command`.
        command: Vec<String> = "command",
    }
}

block! {
    RawSpend {
        /// The most per day, in US dollars. Default 10.
        daily_usd: f64 = "dailyUsd",
        /// The most per month, in US dollars. Default 100.
        monthly_usd: f64 = "monthlyUsd",
    }
}

block! {
    RawCommit {
        name: String = "name",
        email: String = "email",
        /// Adds a `Signed-off-by` line. Default false.
        signoff: bool = "signoff",
    }
}

block! {
    RawRepository {
        /// `owner/name`.
        name: String = "name",
        /// The login whose token is used, or `login@host`; the first account when absent.
        account: String = "account",
        /// `data-catalogue`, `code-app`, `docs-site` or `observe-only`.
        preset: String = "preset",
        /// `observe` (default), `suggest` or `act`.
        mode: String = "mode",
        /// Classes of effects that may act by themselves.
        act: Vec<String> = "act",
        /// How Steward's own clone is filled: `https` (default) with the account's token, or `ssh` with
        /// your keys.
        fetch: String = "fetch",
        policy: RawPolicy = "policy",
    }
}

block! {
    RawPolicy {
        review: RawReviewPolicy = "review",
        engine: RawEnginePolicy = "engine",
        memory: Opaque = "memory",
    }
}

block! {
    RawReviewPolicy {
        /// The branch the work is measured against; the repository's default branch when absent.
        integration_branch: String = "integrationBranch",
        /// Paths of user interface code. Default `web/` and `mobile/`.
        ui_paths: Vec<String> = "uiPaths",
        /// Widths of evidence frames in pixels. Default 1280 and 390.
        widths: Vec<i64> = "widths",
        /// Themes of evidence frames. Default light and dark.
        themes: Vec<String> = "themes",
        /// Further globs of files that do not belong into a change.
        churn_globs: Vec<String> = "churnGlobs",
        /// Folders of sources although they are named build, dist or out.
        source_dirs: Vec<String> = "sourceDirs",
        /// Further lockfiles, each with its manifest.
        lock_pairs: Vec<RawLockPair> = "lockPairs",
        /// Types that the title of a pull request may begin with.
        title_types: Vec<String> = "titleTypes",
        /// Further headings of the two sections that a pull request must have.
        body_sections: RawBodySections = "bodySections",
        /// Globs of plan files, which are always in scope. Default `docs/plans/**`.
        plan_paths: Vec<String> = "planPaths",
        /// Checks that must have succeeded.
        required_checks: Vec<RawRequiredCheck> = "requiredChecks",
        /// Hashes of lines that look like secrets and are none.
        secret_exceptions: Vec<String> = "secretExceptions",
        /// Gates that are off; never `not_stacked` or `no_secrets`.
        gates_off: Vec<String> = "gatesOff",
    }
}

block! {
    RawLockPair {
        lockfile: String = "lockfile",
        manifest: String = "manifest",
    }
}

block! {
    RawBodySections {
        validated: Vec<String> = "validated",
        not_done: Vec<String> = "notDone",
    }
}

block! {
    RawRequiredCheck {
        name: String = "name",
        /// The app that must have made it; any when absent.
        app: String = "app",
        /// Whether `skipped` and `neutral` are well for it. Default false.
        skippable: bool = "skippable",
    }
}

block! {
    RawQuestions {
        /// Whether agents' questions are taken at all. Default false.
        enabled: bool = "enabled",
        /// The name agents are told. Default `the owner`.
        owner: String = "owner",
        /// How often panes are looked at.
        cadence: RawCadence = "cadence",
        /// When one reminder lists what waits, such as `10m` (default).
        remind_after: String = "remindAfter",
        /// The agents whose panes are watched.
        roster: Vec<At<RawMember>> = "roster",
        /// The ways in: `cli`, `mcp`, `hook`, `thrum`, `pane`. Default all.
        sources: Vec<String> = "sources",
        /// Machines whose panes may be captured through ssh.
        ssh: Vec<At<RawRemote>> = "ssh",
        /// Whether answers may be typed into panes of this machine. Default false.
        keys: bool = "keys",
        /// What the watcher seat may cost.
        watcher: RawWatcher = "watcher",
    }
}

block! {
    RawWatcher {
        /// The most one run may cost, in US dollars. Default 0.1.
        budget_usd: f64 = "budgetUsd",
        /// The most runs in an hour; 0 never starts one. Default 30.
        max_per_hour: i64 = "maxPerHour",
        /// The longest run. Default 3.
        max_minutes: i64 = "maxMinutes",
    }
}

block! {
    RawCadence {
        /// While something happens, such as `3m` (default).
        active: String = "active",
        /// While nothing does, such as `10m` (default).
        idle: String = "idle",
    }
}

block! {
    RawMember {
        /// The agent's name; with `thrum`, whose watch parameters there are read.
        agent: String = "agent",
        /// The project its questions are about, where they do not say.
        project: String = "project",
        /// Another machine; this one when absent.
        host: String = "host",
        /// The id of its tmux pane, such as `%12`.
        pane: String = "pane",
        /// `claude`, `codex` or `generic`; found by its program when absent.
        adapter: String = "adapter",
        /// `inactive` or `sleeping`: absent on purpose, so never escalated.
        declared_absent: String = "declaredAbsent",
        /// A project folder of thrum, whose roster is taken over.
        thrum: String = "thrum",
    }
}

block! {
    RawRemote {
        host: String = "host",
        /// Whether keys may be typed there. Default false.
        keys: bool = "keys",
    }
}

block! {
    RawNotifications {
        /// No notification between these times of day, e.g. `22:00-07:00`.
        quiet_hours: String = "quietHours",
    }
}

block! {
    RawRetention {
        /// Default 14.
        logs_days: i64 = "logsDays",
        /// Folders of finished reviews. Default 7.
        seat_days: i64 = "seatDays",
        /// Default 30.
        observation_days: i64 = "observationDays",
        /// The most megabytes of observations. Default 200.
        observation_mb: i64 = "observationMb",
        /// Evidence frames. Default 90.
        frame_days: i64 = "frameDays",
        /// Inbox entries that are done. Default 365.
        done_days: i64 = "doneDays",
    }
}

block! {
    /// `seats/<role>.yaml`: what the seat of one role is started as.
    #[schemars(deny_unknown_fields, extend("required" = ["adapter"]))]
    RawSeat {
        /// `claude`, or `command` for any program that speaks the contract of docs/agents.md.
        #[schemars(extend("enum" = ["claude", "command"]))]
        adapter: String = "adapter",
        /// The adapter's own default when absent.
        model: String = "model",
        /// Program and arguments; for `claude` the program alone, where it is not on PATH.
        command: Vec<String> = "command",
        /// What a command may reach of the network. Default `none`.
        #[schemars(extend("enum" = ["none", "host"]))]
        network: String = "network",
        /// Base URL of the model, where it is not the agent's own.
        endpoint: String = "endpoint",
        /// Fixed text for the agent, in place of Steward's own. Nothing of a task is ever put into it.
        prompt: String = "prompt",
        /// Limits of one run, beside those of the configuration; the smaller one holds.
        limits: RawSeatLimits = "limits",
    }
}

block! {
    #[schemars(deny_unknown_fields)]
    RawSeatLimits {
        /// Seconds without a sign of life. Default 300.
        #[schemars(extend("minimum" = 1))]
        idle_seconds: i64 = "idleSeconds",
        #[schemars(extend("minimum" = 1))]
        max_turns: i64 = "maxTurns",
        #[schemars(extend("minimum" = 1))]
        max_tokens: i64 = "maxTokens",
    }
}
