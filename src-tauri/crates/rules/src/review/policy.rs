//! The policy of one repository for its reviews, as the config file gives it.

use serde::{Deserialize, Serialize};

use super::gate::GateId;

/// `policy.review` of a repository or workspace (review.md 2). It comes from the config file only,
/// never from a branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewPolicy {
    /// The branch the work is measured against.
    pub integration_branch: String,
    /// Path prefixes of user interface code, by whole components.
    pub ui_paths: Vec<String>,
    /// Frame widths in CSS pixels.
    pub widths: Vec<u32>,
    pub themes: Vec<String>,
    /// Further globs of files that are churn.
    pub churn_globs: Vec<String>,
    /// Folders that hold sources although they are named `build`, `dist` or `out`.
    pub source_dirs: Vec<String>,
    /// Further pairs of lockfile name and manifest name.
    pub lock_pairs: Vec<(String, String)>,
    /// Types a Conventional Commit title may have.
    pub title_types: Vec<String>,
    /// Headings that count as the *validated* and the *not done / not verified* section, beside the
    /// built-in ones.
    pub body_sections: BodySections,
    /// Globs of plan files, which are always inside the scope.
    pub plan_paths: Vec<String>,
    pub required_checks: Vec<RequiredCheck>,
    /// Salted hashes of lines that may look like secrets (security.md 4).
    pub secret_exceptions: Vec<String>,
    /// Gates that are switched off; never `not_stacked` or `no_secrets`.
    pub gates_off: Vec<GateId>,
}

/// Further accepted headings of the two sections a pull request body must have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodySections {
    pub validated: Vec<String>,
    pub not_done: Vec<String>,
}

/// A check that must have succeeded at the head.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequiredCheck {
    pub name: String,
    /// The app that must have made it; any when absent.
    pub app: Option<String>,
    /// True when the conclusions `skipped` and `neutral` are well for it.
    pub skippable: bool,
}

impl Default for ReviewPolicy {
    fn default() -> Self {
        let strings = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
        Self {
            integration_branch: "main".to_owned(),
            ui_paths: strings(&["web/", "mobile/"]),
            widths: vec![1280, 390],
            themes: strings(&["light", "dark"]),
            churn_globs: Vec::new(),
            source_dirs: Vec::new(),
            lock_pairs: Vec::new(),
            title_types: strings(&[
                "feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert",
            ]),
            body_sections: BodySections::default(),
            plan_paths: strings(&["docs/plans/**"]),
            required_checks: Vec::new(),
            secret_exceptions: Vec::new(),
            gates_off: Vec::new(),
        }
    }
}
