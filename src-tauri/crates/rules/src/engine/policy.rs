//! The engine's policy of one repository, as the config file gives it (engine.md 19).

use serde::{Deserialize, Serialize};

mod check;
mod preset;

pub(super) use check::label_matches;
pub use check::{PolicyFault, check};
pub use preset::Preset;

/// `policy.engine` of a repository. It comes from the config file only, never from a branch. Labels are
/// compared without case, as GitHub does; paths with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// The branch pull requests must target. `None`: the repository's default branch, which GitHub names
    /// ([`Policy::on`]). Until it did nothing merges and nothing is pushed, since no name is guessed.
    pub base: Option<String>,
    /// Folders (`data/`), globs (`docs/**`, `*.md`) or `**` of paths whose changes may merge. A pattern
    /// without a wildcard names a folder. Empty: nothing is ever merged by the app.
    pub safe_paths: Vec<String>,
    /// Globs inside the safe paths that are code all the same.
    pub protected_paths: Vec<String>,
    /// Whether a file of mode 100755 may be data.
    pub allow_exec: bool,
    /// A pull request with one of these labels, or that closes an issue with one, is never merged.
    pub never_merge_labels: Vec<String>,
    /// Logins whose pull requests are listed only.
    pub protected_authors: Vec<String>,
    pub own_bots: OwnBots,
    /// Names of the checks that must have concluded well; whole names, never prefixes.
    pub required_checks: Vec<String>,
    /// Slug of the app that must have made them.
    pub required_app: String,
    /// Required checks for which `skipped` and `neutral` are well.
    pub skippable: Vec<String>,
    /// Other checks and statuses that do not count. A required one always counts.
    pub ignored_checks: Vec<String>,
    /// Whether a pending commit status is waited for.
    pub pending_status_blocks: bool,
    /// Whether the head must hold the base.
    pub require_up_to_date: bool,
    /// Seconds a head must have been there unchanged.
    pub stable_secs: u32,
    pub merge_method: MergeMethod,
    /// Branches that are deleted after their merge.
    pub delete_branch_globs: Vec<String>,
    /// Most entries a change may touch to be merged.
    pub merge_max_entries: u32,
    /// Approvals of this head by people with write access.
    pub required_approvals: u32,
    /// Whether a fresh review of the seat must have ACCEPTED this head.
    pub require_seat_accepted: bool,
    /// The job that gives a verdict by labels; `None` where there is none.
    pub verdict: Option<VerdictPolicy>,
    pub entries: EntriesPolicy,
    /// Without it there is no fix, no triage and no rebase.
    pub validate: Option<ValidatePolicy>,
    pub merge_drivers: Vec<DriverRule>,
    pub push: PushPolicy,
    pub issues: IssuePolicy,
    /// Most entries a change may touch that Steward writes.
    pub own_max_entries: u32,
    /// What a fix may touch.
    pub fix_scope: FixScope,
    pub triage: TriagePolicy,
    pub retry: RetryPolicy,
    pub agent: AgentPolicy,
    /// Another automation that comes first.
    pub priority: Option<Priority>,
    /// `owner/repo#n` of the issue whose body is the report.
    pub report: Option<String>,
}

/// Pull requests that are another bot's own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnBots {
    pub labels: Vec<String>,
    /// Folders of branch names, e.g. `sync/`.
    pub head_prefixes: Vec<String>,
}

/// How a pull request is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeMethod {
    Merge,
    Squash,
    Rebase,
}

impl MergeMethod {
    /// The word of GitHub's merge call.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

/// The job that judges a change and says so by labels (engine.md 4.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerdictPolicy {
    /// File name of the workflow.
    pub workflow: String,
    /// Key of the job, which is the name of its check.
    pub job: String,
    pub pass_label: String,
    pub flag_label: String,
    /// Logins whose label counts as the job's.
    pub label_actors: Vec<String>,
    /// Whether the pass label counts when somebody else put it on after the verdict.
    pub human_label_counts: bool,
    /// Minutes before each further try for a verdict.
    pub retry_minutes: Vec<u32>,
    /// Hours a head may be without any verdict run.
    pub no_verdict_hours: u32,
}

/// How the size of a change is counted (engine.md 8).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EntriesPolicy {
    pub unit: Unit,
    /// The files the unit applies to; any other changed file is one entry.
    pub globs: Vec<String>,
    /// The folder under which the first component names the family.
    pub root: String,
}

/// What one entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Files,
    /// Keys of a JSON object, or elements of an array by their `slug`, `id` or `key`.
    JsonKeys,
    YamlDocs,
    /// Rows by their first column.
    CsvRows,
    /// So many changed lines, rounded up.
    Lines(u32),
}

/// The repository's own tools. Lists of arguments; no shell sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidatePolicy {
    pub format: Vec<String>,
    pub check: Vec<String>,
    /// Version or hash the binaries must have.
    pub pin: Option<String>,
    pub timeout_secs: u32,
    /// Whether it takes the one heavy-tool lock.
    pub heavy: bool,
}

/// How files of a glob are merged (engine.md 7).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriverRule {
    pub glob: String,
    pub kind: DriverKind,
    /// Keys whose lists are united.
    pub union_keys: Vec<String>,
}

/// What a file is to the merge driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverKind {
    /// The object at this path of keys (empty: the whole document) holds the entries.
    JsonMap(String),
    /// The document is an array; this key names an element.
    JsonArray(String),
    /// Every line is an entry, and order means nothing.
    LinesSet,
    /// Plain git; any conflict refuses.
    Text,
}

/// Where Steward may push.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushPolicy {
    /// Globs of branch names.
    pub allowed: Vec<String>,
    /// The label of pull requests that are moved on every push to the base.
    pub sweep_label: Option<String>,
    pub sweep_by: SweepBy,
}

/// Who moves the pull requests with the sweep label.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SweepBy {
    #[default]
    Nobody,
    /// A workflow of the repository.
    Workflow,
    Steward,
}

/// Which issues are worked on, and the labels that say how they stand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IssuePolicy {
    /// Labels, or prefixes that end in `*`. Empty: no issue is in scope.
    pub scope_labels: Vec<String>,
    /// Labels by which an intake says it is done with an issue.
    pub outcome_labels: Vec<String>,
    pub intake_wait_minutes: u32,
    /// Login of the bot that answers new issues.
    pub intake_bot: String,
    pub declined_label: String,
    pub need_info_label: String,
}

/// What a fix of a pull request may touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FixScope {
    /// Entries the pull request touches, and no others.
    PrEntries,
    /// Any entries up to the cap.
    Cap,
}

/// What the triager may look up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TriagePolicy {
    /// Words of [`TriagePolicy::WORDS`]; any other is refused on load.
    pub research: Vec<String>,
}

impl TriagePolicy {
    const WEB_SEARCH: &str = "web-search";
    /// Everything that `triage.research` may name.
    pub const WORDS: [&str; 1] = [Self::WEB_SEARCH];

    /// Whether the triager may search the web.
    pub fn searches_web(&self) -> bool {
        self.research.iter().any(|word| word == Self::WEB_SEARCH)
    }
}

/// When a failed agent attempt is made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryPolicy {
    /// Minutes after each failure; the last one repeats.
    pub backoff: Vec<u32>,
    /// Failures from which on an item is listed as stuck.
    pub stuck_after: u32,
}

/// What one agent task may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentPolicy {
    pub max_turns: u32,
    pub timeout_minutes: u32,
    /// Agent runs per UTC day; 0 is no cap.
    pub daily_runs: u32,
    pub min_available_mb: u32,
}

/// How another automation says that it is busy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Priority {
    /// It is busy while this file is locked.
    LockFile(String),
    /// It is busy while this command exits with 0.
    StatusCommand(Vec<String>),
}

impl Policy {
    /// With the repository's default branch as the base, where none is named. A default branch that was not
    /// read leaves it open.
    pub fn on(self, default_branch: Option<&str>) -> Self {
        Self { base: self.base.or_else(|| default_branch.map(str::to_owned)), ..self }
    }
}

impl Default for Policy {
    /// What holds where neither the file nor a preset says anything: nothing merges, nothing is pushed.
    fn default() -> Self {
        Self {
            base: None,
            safe_paths: Vec::new(),
            protected_paths: Vec::new(),
            allow_exec: false,
            never_merge_labels: strings(&["do-not-merge", "wip", "hold"]),
            protected_authors: Vec::new(),
            own_bots: OwnBots::default(),
            required_checks: Vec::new(),
            required_app: "github-actions".to_owned(),
            skippable: Vec::new(),
            ignored_checks: Vec::new(),
            pending_status_blocks: true,
            require_up_to_date: true,
            stable_secs: 120,
            merge_method: MergeMethod::Merge,
            delete_branch_globs: Vec::new(),
            merge_max_entries: 100,
            required_approvals: 0,
            require_seat_accepted: false,
            verdict: None,
            entries: EntriesPolicy { unit: Unit::Files, globs: Vec::new(), root: String::new() },
            validate: None,
            merge_drivers: Vec::new(),
            push: PushPolicy {
                allowed: strings(&["steward/*"]),
                sweep_label: None,
                sweep_by: SweepBy::Nobody,
            },
            issues: IssuePolicy {
                scope_labels: Vec::new(),
                outcome_labels: Vec::new(),
                intake_wait_minutes: 30,
                intake_bot: "github-actions[bot]".to_owned(),
                declined_label: "steward:declined".to_owned(),
                need_info_label: "steward:needs-info".to_owned(),
            },
            own_max_entries: 25,
            fix_scope: FixScope::PrEntries,
            triage: TriagePolicy::default(),
            retry: RetryPolicy { backoff: vec![60, 240, 720, 1440], stuck_after: 3 },
            agent: AgentPolicy {
                max_turns: 200,
                timeout_minutes: 60,
                daily_runs: 24,
                min_available_mb: 3072,
            },
            priority: None,
            report: None,
        }
    }
}

pub(super) fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

/// True when two labels are one to GitHub.
pub(super) fn same_label(a: &str, b: &str) -> bool {
    a.to_lowercase() == b.to_lowercase()
}

/// True when one of the labels is one of `wanted`.
pub(super) fn has_label<'l>(labels: &'l [String], wanted: &[String]) -> Option<&'l String> {
    labels.iter().find(|label| wanted.iter().any(|one| same_label(one, label)))
}
