//! The presets a repository's policy may start from.

use serde::{Deserialize, Serialize};

use super::{
    DriverKind, DriverRule, EntriesPolicy, MergeMethod, OwnBots, Policy, PushPolicy, SweepBy, Unit,
    VerdictPolicy, strings,
};

/// A named set of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// A catalogue of data in files, with an intake and a verdict job: the values of the first catalogue.
    DataCatalogue,
    /// Code: everything is reviewed, nothing merges by itself.
    CodeApp,
    /// Pages: `docs/` and Markdown files merge once the seat accepted them.
    DocsSite,
    /// Nothing.
    ObserveOnly,
}

impl Preset {
    pub const ALL: [Self; 4] = [Self::DataCatalogue, Self::CodeApp, Self::DocsSite, Self::ObserveOnly];

    /// The word of the config file.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DataCatalogue => "data-catalogue",
            Self::CodeApp => "code-app",
            Self::DocsSite => "docs-site",
            Self::ObserveOnly => "observe-only",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == word)
    }

    /// The policy before the file's own keys.
    pub fn policy(self) -> Policy {
        match self {
            Self::DataCatalogue => data_catalogue(),
            Self::CodeApp | Self::ObserveOnly => Policy::default(),
            Self::DocsSite => Policy {
                safe_paths: strings(&["docs/**", "*.md"]),
                merge_method: MergeMethod::Squash,
                require_seat_accepted: true,
                entries: EntriesPolicy { unit: Unit::Files, globs: Vec::new(), root: String::new() },
                ..Policy::default()
            },
        }
    }
}

fn data_catalogue() -> Policy {
    let base = Policy::default();
    let required = strings(&["check", "compose", "site", "verify"]);
    let mut never_merge_labels = base.never_merge_labels.clone();
    never_merge_labels.push("data:import".to_owned());
    Policy {
        safe_paths: strings(&["data/"]),
        never_merge_labels,
        own_bots: OwnBots { labels: strings(&["bot-sync"]), head_prefixes: strings(&["sync/"]) },
        skippable: required.clone(),
        required_checks: required,
        delete_branch_globs: strings(&["intake/issue-*", "steward/*"]),
        verdict: Some(VerdictPolicy {
            workflow: "ai-verify.yml".to_owned(),
            job: "verify".to_owned(),
            pass_label: "ai-verified".to_owned(),
            flag_label: "ai-flagged".to_owned(),
            label_actors: strings(&["github-actions[bot]"]),
            human_label_counts: false,
            retry_minutes: vec![10, 30, 60, 60],
            no_verdict_hours: 6,
        }),
        entries: EntriesPolicy {
            unit: Unit::JsonKeys,
            globs: strings(&["data/**/*.json"]),
            root: "data".to_owned(),
        },
        merge_drivers: vec![
            DriverRule {
                glob: "data/redirects.json".to_owned(),
                kind: DriverKind::Text,
                union_keys: Vec::new(),
            },
            DriverRule {
                glob: "data/**/*.json".to_owned(),
                kind: DriverKind::JsonMap(String::new()),
                union_keys: strings(&["sources"]),
            },
        ],
        push: PushPolicy {
            allowed: strings(&["intake/issue-*", "steward/*"]),
            sweep_label: Some("bot-intake".to_owned()),
            sweep_by: SweepBy::Workflow,
        },
        issues: super::IssuePolicy {
            scope_labels: strings(&["data", "data:*"]),
            outcome_labels: strings(&["data:needs-human", "data:invalid", "data:duplicate"]),
            ..base.issues.clone()
        },
        triage: super::TriagePolicy { research: strings(&["web-search"]) },
        ..base
    }
}
