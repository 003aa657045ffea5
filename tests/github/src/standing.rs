//! How a repository and its pulls stand: what checks, reviews, protection and git say together.

use std::collections::BTreeMap;

use crate::state::{Check, Pull, Repo, Role, Status, Thread};

impl Repo {
    pub(crate) fn owner(&self) -> &str {
        self.name.split_once('/').map_or("", |(owner, _)| owner)
    }

    pub(crate) fn short(&self) -> &str {
        self.name.split_once('/').map_or("", |(_, short)| short)
    }

    pub(crate) fn thread(&self, number: u64) -> Option<&Thread> {
        self.threads.get(&number)
    }

    pub(crate) fn role(&self, login: &str) -> Option<Role> {
        if self.owner().eq_ignore_ascii_case(login) {
            return Some(Role::Admin);
        }
        let named =
            self.roles.iter().find(|(name, _)| name.eq_ignore_ascii_case(login)).map(|(_, role)| *role);
        named.or((!self.private).then_some(Role::Read))
    }

    /// Newest run for each suite and name: what `filter=latest` answers.
    pub(crate) fn latest_checks(&self, sha: &str) -> Vec<&Check> {
        let mut newest: BTreeMap<(u64, &str), &Check> = BTreeMap::new();
        for check in self.checks.iter().filter(|check| check.sha == sha) {
            newest.insert((check.suite, &check.name), check);
        }
        let mut list: Vec<&Check> = newest.into_values().collect();
        list.sort_by_key(|check| std::cmp::Reverse(check.id));
        list
    }

    /// Newest status for each context.
    pub(crate) fn latest_statuses(&self, sha: &str) -> Vec<&Status> {
        let mut newest: BTreeMap<&str, &Status> = BTreeMap::new();
        for status in self.statuses.iter().filter(|status| status.sha == sha) {
            newest.insert(&status.context, status);
        }
        newest.into_values().collect()
    }

    /// Where a pull's base is to be read: before it landed, or the branch now.
    pub(crate) fn base_of<'a>(&'a self, pull: &'a Pull) -> &'a str {
        match &pull.landed {
            Some(landed) => &landed.base_before,
            None => self.bare.branch(&pull.base_ref).unwrap_or(&pull.base),
        }
    }

    pub(crate) fn fork_point(&self, pull: &Pull) -> String {
        self.bare.merge_base(self.base_of(pull), &pull.head).unwrap_or_else(|| pull.base.clone())
    }

    pub(crate) fn merges_cleanly(&self, pull: &Pull) -> bool {
        let base = self.base_of(pull);
        self.bare.is_ancestor(base, &pull.head) || self.bare.merged_tree(base, &pull.head).is_some()
    }

    /// `None` when no check and no status exists: GitHub shows no rollup then.
    pub(crate) fn rollup(&self, sha: &str) -> Option<&'static str> {
        let mut states = Vec::new();
        for check in self.latest_checks(sha) {
            states.push(match check.conclusion.as_deref() {
                None => "PENDING",
                Some("success" | "neutral" | "skipped") => "SUCCESS",
                Some("stale") => "EXPECTED",
                Some(_) => "FAILURE",
            });
        }
        for status in self.latest_statuses(sha) {
            states.push(match status.state.as_str() {
                "success" => "SUCCESS",
                "pending" => "PENDING",
                "error" => "ERROR",
                _ => "FAILURE",
            });
        }
        ["ERROR", "FAILURE", "PENDING", "EXPECTED", "SUCCESS"]
            .into_iter()
            .find(|state| states.contains(state))
    }

    /// How a required check stands: well, not well, or not there.
    pub(crate) fn required(&self, sha: &str, name: &str) -> Option<bool> {
        let runs = self.latest_checks(sha);
        let run = runs
            .iter()
            .find(|check| check.name == name)
            .map(|check| matches!(check.conclusion.as_deref(), Some("success" | "neutral" | "skipped")));
        let status = self.latest_statuses(sha).into_iter().find(|status| status.context == name);
        run.or(status.map(|status| status.state == "success"))
    }

    pub(crate) fn review_decision(&self, pull: &Pull) -> Option<&'static str> {
        let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
        for review in pull.reviews.iter().filter(|review| review.state != "COMMENTED") {
            newest.insert(&review.author, review.state);
        }
        let needed = self.protections.get(&pull.base_ref).map_or(0, |rule| rule.approvals);
        let approvals = newest.values().filter(|state| **state == "APPROVED").count() as u64;
        if newest.values().any(|state| *state == "CHANGES_REQUESTED") {
            return Some("CHANGES_REQUESTED");
        }
        if needed == 0 && approvals == 0 {
            return None;
        }
        Some(if approvals >= needed { "APPROVED" } else { "REVIEW_REQUIRED" })
    }

    pub(crate) fn merge_state(&self, pull: &Pull) -> &'static str {
        if pull.landed.is_some() || pull.unsettled > 0 {
            return "unknown";
        }
        if !self.merges_cleanly(pull) {
            return "dirty";
        }
        if pull.draft {
            return "draft";
        }
        let base = self.base_of(pull);
        if let Some(rule) = self.protections.get(&pull.base_ref) {
            let met = rule.required_checks.iter().all(|name| self.required(&pull.head, name) == Some(true));
            if !met || (rule.approvals > 0 && self.review_decision(pull) != Some("APPROVED")) {
                return "blocked";
            }
            if rule.up_to_date && !self.bare.is_ancestor(base, &pull.head) {
                return "behind";
            }
        }
        match self.rollup(&pull.head) {
            None | Some("SUCCESS") => "clean",
            Some(_) => "unstable",
        }
    }
}
