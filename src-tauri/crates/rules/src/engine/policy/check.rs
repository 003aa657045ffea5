//! What a policy must not say: refused on load, before it is in force (engine.md 19).

use super::{Policy, TriagePolicy, same_label};
use crate::engine::paths::SafePaths;
use crate::globs::Globs;
use crate::wording::engine as say;

/// Why a policy is refused. The reader of the file adds the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFault {
    /// The key as it stands in the file, e.g. `push.allowed`.
    pub key: &'static str,
    pub message: String,
}

/// Everything that is wrong with a policy; empty when it may be in force. `merges` is true when the
/// repository lets `merge` act by itself.
pub fn check(policy: &Policy, merges: bool) -> Vec<PolicyFault> {
    let mut faults = Vec::new();
    let mut fault = |key, message| faults.push(PolicyFault { key, message });
    if policy.base.as_ref().is_some_and(|base| base.trim().is_empty()) {
        fault("base", say::empty_key());
    }
    if merges {
        if policy.safe_paths.is_empty() {
            fault("safePaths", say::nothing_to_merge());
        }
        if policy.required_checks.is_empty() {
            fault("requiredChecks", say::no_required_checks());
        }
        if policy.verdict.is_none() && !policy.require_seat_accepted {
            fault("requireSeatAccepted", say::no_judge());
        }
    }
    for pattern in &policy.safe_paths {
        if reaches_git(pattern) {
            fault("safePaths", say::safe_path_of_git(pattern));
        } else if !SafePaths::is_pattern(pattern) {
            fault("safePaths", say::no_path(pattern));
        }
    }
    let globs = [
        ("protectedPaths", &policy.protected_paths),
        ("deleteBranchGlobs", &policy.delete_branch_globs),
        ("entries.globs", &policy.entries.globs),
        ("push.allowed", &policy.push.allowed),
    ];
    for (key, patterns) in globs {
        for pattern in Globs::new(patterns).invalid {
            fault(key, say::no_glob(&pattern));
        }
    }
    let driven: Vec<&str> = policy.merge_drivers.iter().map(|rule| rule.glob.as_str()).collect();
    for pattern in Globs::new(&driven).invalid {
        fault("mergeDrivers", say::no_glob(&pattern));
    }
    // Where the file names no base, the guard keeps every deed off whatever the default branch is.
    let base = policy.base.as_deref();
    for (key, patterns) in
        [("push.allowed", &policy.push.allowed), ("deleteBranchGlobs", &policy.delete_branch_globs)]
    {
        for pattern in patterns {
            if is_too_wide(pattern) || base.is_some_and(|base| matches(pattern, base)) {
                fault(key, say::push_too_wide(pattern, base));
            }
        }
    }
    if let Some(verdict) = &policy.verdict {
        labels(policy, verdict, &mut fault);
        if verdict.job.is_empty() {
            fault("verdict.job", say::empty_key());
        }
        if verdict.label_actors.is_empty() {
            fault("verdict.labelActors", say::empty_key());
        }
    }
    if policy.required_app.is_empty() {
        fault("requiredApp", say::empty_key());
    }
    if policy.required_checks.iter().any(String::is_empty) {
        fault("requiredChecks", say::empty_key());
    }
    for word in policy.triage.research.iter().filter(|word| !TriagePolicy::WORDS.contains(&word.as_str())) {
        fault("triage.research", say::no_research(word, &TriagePolicy::WORDS));
    }
    if let super::Unit::Lines(0) = policy.entries.unit {
        fault("entries.unit", say::no_lines());
    }
    faults
}

fn labels(policy: &Policy, verdict: &super::VerdictPolicy, fault: &mut impl FnMut(&'static str, String)) {
    for (key, label) in
        [("verdict.passLabel", &verdict.pass_label), ("verdict.flagLabel", &verdict.flag_label)]
    {
        let issues = &policy.issues;
        let routing = issues.scope_labels.iter().chain(&issues.outcome_labels);
        let own = [&issues.declined_label, &issues.need_info_label];
        let others =
            policy.own_bots.labels.iter().chain(&policy.push.sweep_label).chain(&policy.never_merge_labels);
        if label.is_empty() {
            fault(key, say::empty_key());
        } else if let Some(route) = routing.chain(own).chain(others).find(|route| label_matches(route, label))
        {
            fault(key, say::verdict_label_routes(label, route));
        }
    }
    if same_label(&verdict.pass_label, &verdict.flag_label) {
        fault("verdict.flagLabel", say::verdict_labels_equal());
    }
}

/// True when a scope label, which may end in `*`, means this label.
pub(in crate::engine) fn label_matches(pattern: &str, label: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => label.to_lowercase().starts_with(&prefix.to_lowercase()),
        None => same_label(pattern, label),
    }
}

/// True when a safe path names what changes how git or the forge behaves.
fn reaches_git(pattern: &str) -> bool {
    pattern.split(['/', '{', '}', ',']).any(|part| part.to_ascii_lowercase().starts_with(".git"))
}

/// True for a glob that any branch matches, whatever it is called.
fn is_too_wide(pattern: &str) -> bool {
    let invented = ["a", "zz-9", "a/b", "a/b/c"];
    invented.iter().any(|name| matches(pattern, name))
}

fn matches(pattern: &str, branch: &str) -> bool {
    Globs::new(&[pattern]).matches(&crate::diff::RepoPath::from(branch))
}
