//! The keys of `engine` and of `policy.engine` as they are written (engine.md 19).
//!
//! From these the JSON Schema is made, so each key stands here once, with its meaning and its default.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::json;

use super::fields::{At, FromNode, Problems, block};
use super::raw::{Node, Value};

block! {
    RawEngine {
        /// Whether the engine may run at all. Default false.
        enabled: bool = "enabled",
        /// How often watched repositories are looked at, such as `10m` (default), `90s` or `1h`; also when
        /// the engine is off. At least `1m`.
        #[schemars(extend("pattern" = "^[0-9]+[smh]$"))]
        interval: String = "interval",
    }
}

block! {
    /// What the engine may do in one repository. An absent key has the value of the preset, else its default.
    RawEnginePolicy {
        /// The branch pull requests must target. Default: the repository's default branch, as GitHub names it.
        base: String = "base",
        /// Folders (`data/`), globs (`docs/**`, `*.md`) or `**` of paths whose changes may merge. Default none:
        /// nothing is ever merged by the app.
        safe_paths: Vec<At<String>> = "safePaths",
        /// Globs inside the safe paths that are code all the same. Default none.
        protected_paths: Vec<At<String>> = "protectedPaths",
        /// Whether a file of mode 100755 may be data. Default false.
        allow_exec: bool = "allowExec",
        /// A pull request with one of these labels, or that closes an issue with one, is never merged. Default
        /// `do-not-merge`, `wip` and `hold`.
        never_merge_labels: Vec<At<String>> = "neverMergeLabels",
        /// Logins whose pull requests are listed only. Default none.
        protected_authors: Vec<At<String>> = "protectedAuthors",
        /// Pull requests that are another bot's own, and left alone.
        own_bots: RawOwnBots = "ownBots",
        /// Names of the checks that must have concluded well; whole names. Default none.
        required_checks: Vec<At<String>> = "requiredChecks",
        /// Slug of the app that must have made them. Default `github-actions`.
        required_app: String = "requiredApp",
        /// Required checks for which `skipped` and `neutral` are well. Default none.
        skippable: Vec<At<String>> = "skippable",
        /// Other checks and statuses that do not count; a required one always counts. Default none.
        ignored_checks: Vec<At<String>> = "ignoredChecks",
        /// Whether a pending commit status is waited for. Default true.
        pending_status_blocks: bool = "pendingStatusBlocks",
        /// Whether the head must hold the base. Default true.
        require_up_to_date: bool = "requireUpToDate",
        /// Seconds a head must have been there unchanged. Default 120.
        #[schemars(extend("minimum" = 0, "maximum" = 86_400))]
        stable_secs: i64 = "stableSecs",
        /// How pull requests are merged. Default `merge`.
        #[schemars(extend("enum" = ["merge", "squash", "rebase"]))]
        merge_method: String = "mergeMethod",
        /// Globs of branches that are deleted after their merge, of those Steward may push to. Default none.
        delete_branch_globs: Vec<At<String>> = "deleteBranchGlobs",
        /// Most entries a change may touch to be merged. Default 100.
        #[schemars(extend("minimum" = 0, "maximum" = 1_000_000))]
        merge_max_entries: i64 = "mergeMaxEntries",
        /// Approvals of this head by people with write access. Default 0.
        #[schemars(extend("minimum" = 0, "maximum" = 50))]
        required_approvals: i64 = "requiredApprovals",
        /// Whether a fresh review of the seat must have ACCEPTED this head. Default false.
        require_seat_accepted: bool = "requireSeatAccepted",
        /// The job that gives a verdict by labels, or `none`. Default none.
        verdict: OrNone<RawVerdict> = "verdict",
        /// How the size of a change is counted.
        entries: RawEntries = "entries",
        /// The repository's own tools. Without them there is no fix, no triage and no rebase.
        validate: RawValidate = "validate",
        /// How files are merged; the first rule whose glob matches holds. Default: as git does.
        merge_drivers: Vec<At<RawDriver>> = "mergeDrivers",
        /// Where Steward may push.
        push: RawPush = "push",
        /// Which issues are worked on, and the labels that say how they stand.
        issues: RawIssues = "issues",
        /// Most entries of a change that Steward writes. Default 25.
        #[schemars(extend("minimum" = 0, "maximum" = 1_000_000))]
        own_max_entries: i64 = "ownMaxEntries",
        /// What a fix may touch: `prEntries` (default), the entries the pull request touches, or `cap`, any
        /// up to `ownMaxEntries`.
        #[schemars(extend("enum" = ["prEntries", "cap"]))]
        fix_scope: String = "fixScope",
        triage: RawTriage = "triage",
        /// When a failed attempt of an agent is made again.
        retry: RawRetry = "retry",
        /// What one task of an agent may use.
        agent: RawEngineAgent = "agent",
        /// Another automation that comes first. Default none.
        priority: RawPriority = "priority",
        /// `owner/repo#n` of the issue whose body is the report. Default none.
        #[schemars(extend("pattern" = "^[^/\\s]+/[^/#\\s]+#[1-9][0-9]*$"))]
        report: String = "report",
    }
}

block! {
    RawOwnBots {
        /// Default none.
        labels: Vec<At<String>> = "labels",
        /// What their branches begin with, such as `sync/`. Default none.
        head_prefixes: Vec<At<String>> = "headPrefixes",
    }
}

block! {
    RawVerdict {
        /// File name of the workflow, such as `ai-verify.yml`.
        workflow: String = "workflow",
        /// Key of the job, which is the name of its check.
        job: String = "job",
        /// The label of a change that passed.
        pass_label: String = "passLabel",
        /// The label of a change with findings.
        flag_label: String = "flagLabel",
        /// Logins whose label counts as the job's. Default `github-actions[bot]`.
        label_actors: Vec<At<String>> = "labelActors",
        /// Whether the pass label counts when somebody else put it on after the verdict. Default false.
        human_label_counts: bool = "humanLabelCounts",
        /// Minutes before each further try for a verdict. Default 10, 30, 60, 60.
        retry_minutes: Vec<At<i64>> = "retryMinutes",
        /// Hours a head may be without any verdict run. Default 6.
        #[schemars(extend("minimum" = 1, "maximum" = 720))]
        no_verdict_hours: i64 = "noVerdictHours",
    }
}

block! {
    RawEntries {
        /// `files` (default), `json-keys`, `yaml-docs`, `csv-rows`, or `lines/20`: so many changed lines are one.
        #[schemars(extend("pattern" = "^(files|json-keys|yaml-docs|csv-rows|lines(/[1-9][0-9]*)?)$"))]
        unit: String = "unit",
        /// The files the unit applies to; any other changed file is one entry. Default none.
        globs: Vec<At<String>> = "globs",
        /// The folder under which the first component names the family. Default the whole tree.
        root: String = "root",
    }
}

block! {
    RawValidate {
        /// Program and arguments that put files into form; no shell sees them. Default none.
        format: Vec<At<String>> = "format",
        /// Program and arguments that find faults.
        check: Vec<At<String>> = "check",
        /// Version or hash the programs must have. Default any.
        pin: String = "pin",
        /// The longest run in seconds. Default 600.
        #[schemars(extend("minimum" = 1, "maximum" = 86_400))]
        timeout_secs: i64 = "timeoutSecs",
        /// Whether it takes the one heavy-tool lock. Default true.
        heavy: bool = "heavy",
    }
}

block! {
    RawDriver {
        glob: String = "glob",
        /// `json-map` (the entries are the keys of the document) or `json-map(path.to.it)`, `json-array(key)`,
        /// `lines-set`, or `text`: as git does.
        #[schemars(extend("pattern" = "^(json-map(\\(.*\\))?|json-array\\(.+\\)|lines-set|text)$"))]
        kind: String = "kind",
        /// Keys whose lists are united. Default none.
        union_keys: Vec<At<String>> = "unionKeys",
    }
}

block! {
    RawPush {
        /// Globs of names of branches. Default `steward/*`.
        allowed: Vec<At<String>> = "allowed",
        /// The label of pull requests that are moved on every push to the base; empty for none (default).
        sweep_label: String = "sweepLabel",
        /// Who moves them. Default `nobody`.
        #[schemars(extend("enum" = ["nobody", "workflow", "steward"]))]
        sweep_by: String = "sweepBy",
    }
}

block! {
    RawIssues {
        /// Labels, or beginnings of them that end in `*`. Default none: no issue is worked on.
        scope_labels: Vec<At<String>> = "scopeLabels",
        /// Labels by which an intake says it is done with an issue. Default none.
        outcome_labels: Vec<At<String>> = "outcomeLabels",
        /// How long an intake may take. Default 30.
        #[schemars(extend("minimum" = 0, "maximum" = 10_080))]
        intake_wait_minutes: i64 = "intakeWaitMinutes",
        /// Login of the bot that answers new issues. Default `github-actions[bot]`.
        intake_bot: String = "intakeBot",
        /// Default `steward:declined`.
        declined_label: String = "declinedLabel",
        /// Default `steward:needs-info`.
        need_info_label: String = "needInfoLabel",
    }
}

block! {
    RawTriage {
        /// What the triager may look things up by: `web-search`, or nothing (default). No other word is known.
        #[schemars(extend("items" = json!({ "enum": ["web-search"] })))]
        research: Vec<At<String>> = "research",
    }
}

block! {
    RawRetry {
        /// The wait after each failure; the last one repeats. Default `1h`, `4h`, `12h`, `24h`.
        backoff: Vec<At<String>> = "backoff",
        /// Failures from which on an item is listed as stuck. Default 3.
        #[schemars(extend("minimum" = 1, "maximum" = 100))]
        stuck_after: i64 = "stuckAfter",
    }
}

block! {
    RawEngineAgent {
        /// Default 200.
        #[schemars(extend("minimum" = 1, "maximum" = 10_000))]
        max_turns: i64 = "maxTurns",
        /// The longest task, such as `60m` (default).
        #[schemars(extend("pattern" = "^[0-9]+[smh]$"))]
        timeout: String = "timeout",
        /// Runs per UTC day; 0 is no cap. Default 24.
        #[schemars(extend("minimum" = 0, "maximum" = 10_000))]
        daily_runs: i64 = "dailyRuns",
        /// Megabytes that must be free before one starts; 0 does not ask, for a system that does not tell. Default 3072.
        #[schemars(extend("minimum" = 0, "maximum" = 1_048_576))]
        min_available_mb: i64 = "minAvailableMb",
    }
}

block! {
    RawPriority {
        /// It is busy while this file is locked.
        lock_file: String = "lockFile",
        /// It is busy while this command exits with 0: program and arguments.
        status_command: Vec<At<String>> = "statusCommand",
    }
}

/// A block, or the word `none` in its place, which takes away what a preset gives.
#[derive(Debug, Clone, PartialEq)]
pub enum OrNone<T> {
    None,
    Block(T),
}

impl<T: FromNode> FromNode for OrNone<T> {
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text == "none" => Some(Self::None),
            _ => T::from_node(node, key, problems).map(Self::Block),
        }
    }
}

impl<T: JsonSchema> JsonSchema for OrNone<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let block = generator.subschema_for::<T>();
        json!({ "anyOf": [{ "const": "none" }, block] }).try_into().unwrap_or_default()
    }
}
