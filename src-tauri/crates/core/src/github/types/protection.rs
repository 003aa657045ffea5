//! What a branch demands before something lands on it.

use serde::Deserialize;

use crate::github::page::Listed;

/// The protection of a branch, whole or as the branch itself shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Protection {
    #[serde(default)]
    pub required_status_checks: Option<RequiredChecks>,
}

/// The checks that must have succeeded.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct RequiredChecks {
    #[serde(default, deserialize_with = "super::or_default")]
    pub contexts: Vec<String>,
    #[serde(default, deserialize_with = "super::or_default")]
    pub checks: Vec<RequiredContext>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RequiredContext {
    pub context: String,
}

/// One rule of a ruleset that is in force on a branch. Each kind has other parameters.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Rule {
    /// `required_status_checks`, `pull_request`, and many more.
    #[serde(rename = "type")]
    pub kind: String,
    #[serde(default, deserialize_with = "super::or_default")]
    pub parameters: RuleParameters,
}

/// Of the parameters those that name checks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct RuleParameters {
    #[serde(default, deserialize_with = "super::or_default")]
    pub required_status_checks: Vec<RequiredContext>,
}

impl Protection {
    /// The names of the checks that must have succeeded.
    pub fn checks(&self) -> Vec<String> {
        let Some(required) = &self.required_status_checks else { return Vec::new() };
        let mut names = required.contexts.clone();
        names.extend(required.checks.iter().map(|check| check.context.clone()));
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Listed for Rule {
    /// A rule has no name of its own.
    fn key(&self) -> Option<String> {
        None
    }
}
