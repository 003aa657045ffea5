//! `ci`: the checks at the head commit.

use chrono::{DateTime, Duration, Utc};
use sha2::{Digest, Sha256};

use super::answer::{Answer, commit, fact, line, result};
use super::{EvidenceItem, GateId, GateResult};
use crate::checks::{self, Health};
use crate::reading::{Reading, Why};
use crate::review::facts::{CheckFacts, CheckState, Evidence, Forge, Pushed};
use crate::review::policy::{RequiredCheck, ReviewPolicy};
use crate::wording::gate as say;

/// How long a head without any check may wait for its first one.
const FIRST_CHECK_WITHIN: Duration = Duration::minutes(10);

pub(super) fn check(evidence: &Evidence, policy: &ReviewPolicy, now: DateTime<Utc>) -> GateResult {
    result(GateId::Ci, judge(evidence, policy, now))
}

fn judge<'a>(e: &'a Evidence, policy: &ReviewPolicy, now: DateTime<Utc>) -> Result<Answer, &'a Why> {
    match e.forge {
        Forge::None => return Ok(Answer::not_applicable(say::no_forge())),
        Forge::SignedOut => return Ok(Answer::undecided(say::signed_out())),
        Forge::GitHub => {}
    }
    if let Pushed::No { remote } = e.pushed.get()? {
        let there = remote.as_ref().map_or("no such branch", |sha| sha.as_str());
        return Ok(Answer::fail(say::not_pushed())
            .with(vec![commit(e.head.as_str(), "head"), fact("remote branch", there)]));
    }
    let checks = e.checks.get()?;
    let entries = newest(checks);
    let read_at = fact("read at", &checks.fetched_at.to_rfc3339());

    if entries.is_empty() && policy.required_checks.is_empty() {
        if !e.tree.get()?.has_ci_definition {
            return Ok(Answer::not_applicable(say::no_ci()).with(vec![read_at]));
        }
        let seen = fact("head seen at", &checks.head_seen_at.to_rfc3339());
        let waited = now - checks.head_seen_at;
        let answer = if waited < FIRST_CHECK_WITHIN {
            Answer::undecided(say::no_check_yet())
        } else {
            Answer::fail(say::no_check_at_all(FIRST_CHECK_WITHIN.num_minutes()))
        };
        return Ok(answer.with(vec![seen, read_at]));
    }

    let mut judged: Vec<(Health, &Entry<'_>)> =
        entries.iter().map(|entry| (entry.health(requirement(entry, policy)), entry)).collect();
    judged.sort_by_key(|(health, _)| *health);
    let missing: Vec<String> = policy
        .required_checks
        .iter()
        .filter(|required| !entries.iter().any(|entry| entry.satisfies(required)))
        .map(|required| line(&required.name, 80))
        .collect();

    let named = |wanted: Health| -> Vec<String> {
        judged
            .iter()
            .filter(|(health, _)| *health == wanted)
            .map(|(_, entry)| format!("{}: {}", line(entry.name, 80), line(entry.conclusion(), 40)))
            .collect()
    };
    let (failing, waiting) = (named(Health::Failing), named(Health::Waiting));
    let answer = if !failing.is_empty() {
        Answer::fail(say::checks_failed(&failing, waiting.len()))
    } else if !missing.is_empty() {
        Answer::undecided(say::checks_missing(&missing))
    } else if !waiting.is_empty() {
        Answer::undecided(say::checks_running(&waiting))
    } else {
        Answer::pass(say::checks_well(entries.len()))
    };
    let mut items: Vec<EvidenceItem> = judged.iter().map(|(_, entry)| entry.evidence()).collect();
    items.extend(missing.iter().map(|name| fact("required, absent", name)));
    items.push(read_at);
    Ok(answer.with(items))
}

/// The newest word of one check run or commit status.
struct Entry<'a> {
    name: &'a str,
    /// App of a check run, login of a commit status.
    by: &'a str,
    said: Said<'a>,
    id: u64,
    attempt: u32,
    url: Option<&'a String>,
}

#[derive(Clone, Copy)]
enum Said<'a> {
    Run(&'a CheckState),
    Status(&'a str),
}

impl Entry<'_> {
    fn conclusion(&self) -> &str {
        match self.said {
            Said::Run(state) => checks::state_word(state),
            Said::Status(state) => state,
        }
    }

    fn health(&self, required: Option<&RequiredCheck>) -> Health {
        match self.said {
            Said::Run(state) => checks::run_health(state, required.is_none_or(|required| required.skippable)),
            Said::Status(state) => checks::status_health(state),
        }
    }

    /// True when this entry is what the requirement asks for. Anybody with write access may post a
    /// commit status of any name, so one counts only when the requirement names who posts it.
    fn satisfies(&self, required: &RequiredCheck) -> bool {
        let by = match (&required.app, self.said) {
            (Some(app), Said::Run(_) | Said::Status(_)) => app == self.by,
            (None, Said::Run(_)) => true,
            (None, Said::Status(_)) => false,
        };
        by && required.name == self.name
    }

    fn evidence(&self) -> EvidenceItem {
        EvidenceItem::Check {
            name: line(self.name, 200),
            app: line(self.by, 80),
            id: Some(self.id),
            attempt: self.attempt,
            conclusion: line(self.conclusion(), 40),
            url: self.url.map(|url| line(url, 500)),
        }
    }
}

/// The strictest requirement an entry stands for.
fn requirement<'p>(entry: &Entry<'_>, policy: &'p ReviewPolicy) -> Option<&'p RequiredCheck> {
    policy
        .required_checks
        .iter()
        .filter(|required| entry.satisfies(required))
        .min_by_key(|required| required.skippable)
}

/// The newest attempt per (app, name) and the newest status per context, by name.
fn newest(facts: &CheckFacts) -> Vec<Entry<'_>> {
    let groups = checks::by_name_and_app(&facts.runs);
    let runs = groups.into_values().filter_map(|group| checks::newest_run(&group)).map(|run| Entry {
        name: &run.name,
        by: &run.app,
        said: Said::Run(&run.state),
        id: run.id,
        attempt: run.attempt,
        url: run.url.as_ref(),
    });
    let statuses = checks::newest_statuses(&facts.statuses).into_iter().map(|status| Entry {
        name: &status.context,
        by: &status.creator,
        said: Said::Status(&status.state),
        id: status.id,
        attempt: 1,
        url: status.url.as_ref(),
    });
    runs.chain(statuses).collect()
}

/// What CI said of this head, as one word to compare: a hash over sorted check and conclusion.
pub fn ci_fingerprint(evidence: &Evidence) -> String {
    match (evidence.forge, &evidence.checks) {
        (Forge::None, _) => "none".to_owned(),
        (Forge::SignedOut | Forge::GitHub, Reading::Unread { .. }) => "unread".to_owned(),
        (Forge::SignedOut | Forge::GitHub, Reading::Known { value }) => {
            let entries = newest(value);
            let mut words: Vec<[&str; 4]> = entries
                .iter()
                .map(|entry| {
                    let kind = match entry.said {
                        Said::Run(_) => "run",
                        Said::Status(_) => "status",
                    };
                    [entry.name, entry.by, kind, entry.conclusion()]
                })
                .collect();
            words.sort_unstable();
            let mut hash = Sha256::new();
            for word in words.iter().flatten() {
                hash.update((word.len() as u64).to_be_bytes());
                hash.update(word);
            }
            hex::encode(hash.finalize())
        }
    }
}
