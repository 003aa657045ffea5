//! What the person hears of: stuck items, incidents, faults of the configuration, and the report issue.
//!
//! What wants somebody is made anew at each tick; an entry that is not among it any more is withdrawn.

use std::collections::{BTreeMap, BTreeSet};

use steward_rules::deed::Deed;
use steward_rules::engine::checks::{NamesSeen, name_warnings};
use steward_rules::engine::decision::{Decision, Listed};
use steward_rules::engine::report::{self, Report};
use steward_rules::engine::retry::{self, VerdictResult};
use steward_rules::engine::verdict_label;
use steward_rules::ids::PullNumber;
use steward_rules::power::{EffectClass, Mode};
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::{engine as words, items as say};

use super::issue::report_issue;
use super::judging::Judged;
use super::results;
use super::tick::{Tick, config_fault};
use crate::loops::effects::{self as journal, Wanted};
use crate::store::engine_items::{ItemKind, ItemRow, KeptItem};
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::{Durability, ReadTx, StoreError, WriteTx, engine_items, engine_tasks, notices};

/// One failure of many pull requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Incident {
    pub print: String,
    pub check: String,
    /// The last line of its log, as a person may read it.
    pub line: String,
    pub numbers: Vec<PullNumber>,
}

/// A print as the target of its entry has it.
pub(super) fn short(print: &str) -> &str {
    print.get(..12).unwrap_or(print)
}

/// The short prints of the incidents whose entries are open.
pub(super) async fn incidents_told(tick: &Tick<'_>) -> Result<BTreeSet<String>, StoreError> {
    let prefix = format!("repository/{}?item=incident-", tick.place.name);
    let begins = prefix.clone();
    let open = tick.ctx.store.read(move |tx| inbox::open_targets(tx, &[Kind::Incident], &begins)).await?;
    Ok(open.iter().filter_map(|(_, target)| target.strip_prefix(&prefix)).map(str::to_owned).collect())
}

/// One thing that wants somebody.
struct Call {
    kind: Kind,
    target: String,
    title: String,
    chip: &'static str,
}

/// Says what wants somebody, and takes back what does not any more.
pub(super) async fn all(tick: &mut Tick<'_>, judged: &[Judged]) -> Result<(), StoreError> {
    names(tick, judged);
    let id = tick.known.repository.id;
    let mended_at = tick.known.stops.mended_at;
    let read = move |tx: &ReadTx<'_>| {
        Ok::<_, StoreError>((engine_items::open_of(tx, id)?, engine_tasks::parked(tx, id, mended_at)?))
    };
    let (items, parked) = tick.ctx.store.read(read).await?;
    let prefix = format!("repository/{}?item=", tick.place.name);
    let mut calls = calls(tick, judged, &items, &prefix);
    calls.extend(parked.into_iter().map(|(slug, detail)| Call {
        kind: Kind::Stuck,
        target: format!("{prefix}task-{slug}"),
        title: Untrusted::new(say::no_tasks(&detail)).one_line(300),
        chip: "fault",
    }));
    // What was not read says nothing of what is not wanted any more, nor of what many share.
    let is_whole = tick.halt.is_none();
    let unread: Vec<String> =
        tick.unread.iter().map(|(kind, number)| format!("{prefix}{}", target(*kind, *number))).collect();
    let (source, subject) = (tick.place.name.to_string(), format!("repository:{}", tick.place.name));
    tick.ctx
        .store
        .write(Durability::Normal, move |tx| {
            for (kind, target) in inbox::open_targets(tx, &[Kind::Stuck, Kind::Incident], &prefix)? {
                let is_unread = match kind {
                    Kind::Incident => !unread.is_empty(),
                    _ => unread.contains(&target),
                };
                if is_whole
                    && !is_unread
                    && !calls.iter().any(|call| call.kind == kind && call.target == target)
                {
                    inbox::withdraw(tx, kind, &target)?;
                }
            }
            for call in &calls {
                tell(tx, call, &source, &subject)?;
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    report(tick, &items).await
}

fn tell(tx: &WriteTx<'_>, call: &Call, source: &str, subject: &str) -> Result<(), StoreError> {
    let before = inbox::of_target(tx, call.kind, &call.target)?;
    let is_new = before.is_none_or(|entry| entry.state == inbox::EntryState::Gone);
    let entry = NewEntry {
        kind: call.kind,
        subject: subject.to_owned(),
        target: call.target.clone(),
        title: call.title.clone(),
        source: source.to_owned(),
        chip: call.chip.to_owned(),
    };
    let id = inbox::upsert(tx, &entry)?;
    if !is_new {
        return Ok(());
    }
    // The same thing may come back after it was gone, and is told again then.
    let key = format!("engine:{id}:{}", tx.now().timestamp());
    let title = match call.kind {
        Kind::Incident => format!("Incident · {source}"),
        Kind::Stuck | Kind::Review | Kind::Question | Kind::Approval | Kind::Ruling | Kind::Suggestion => {
            format!("Stuck · {source}")
        }
    };
    notices::add(tx, &key, &call.target, &title, &call.title)?;
    tx.topic("notices")
}

fn calls(tick: &Tick<'_>, judged: &[Judged], items: &[KeptItem], prefix: &str) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut call = |kind, what: String, title: String, chip| {
        let title = Untrusted::new(title).one_line(300);
        calls.push(Call { kind, target: format!("{prefix}{what}"), title, chip });
    };
    for (kind, number, why) in &tick.unreadable {
        call(Kind::Stuck, target(*kind, *number), say::memory_unread(*number, why), "unreadable");
    }
    let listed: BTreeMap<i64, String> = judged.iter().filter_map(stands_still).collect();
    for kept in items {
        let Ok(item) = kept.row.get() else { continue };
        if item.ended.is_some() {
            continue;
        }
        let why = item.stopped.clone().or_else(|| listed.get(&item.number).cloned());
        match why {
            _ if item.stuck => {
                let title = say::stuck(item.number, item.attempts.spent, item.evidence.as_deref());
                call(Kind::Stuck, target(item.kind, item.number), title, "stuck");
            }
            Some(why) => {
                let title = say::stands_still(item.number, &why);
                call(Kind::Stuck, target(item.kind, item.number), title, "stuck");
            }
            None => {}
        }
    }
    for one in &tick.incidents {
        let title = say::incident(&one.check, &one.numbers, &one.line);
        call(Kind::Incident, format!("incident-{}", short(&one.print)), title, "incident");
    }
    let fault = tick.halt.as_ref().and_then(config_fault).map(|(_, detail)| detail);
    let policy = judged.iter().find(|one| matches!(one.decision, Decision::ConfigFault(_)));
    if let Some(detail) = fault.or_else(|| policy.map(|one| one.decision.message())) {
        call(Kind::Incident, "fault".to_owned(), say::fault(&detail), "fault");
    }
    for warning in name_warnings(&tick.place.policy, &tick.known.repo.names, tick.now) {
        let title = words::name_warning(&warning);
        let name = match &warning {
            steward_rules::engine::checks::NameWarning::NeverSeen { name, .. }
            | steward_rules::engine::checks::NameWarning::Silent { name, .. } => name,
        };
        call(Kind::Stuck, format!("check-{}", Untrusted::new(name.as_str()).one_line(80)), title, "check");
    }
    if retry::verdicts_degraded(&verdicts(tick, judged), tick.known.repo.names.verdict_given_at) {
        call(Kind::Incident, "verdicts".to_owned(), say::no_verdicts(), "degraded");
    }
    calls
}

fn target(kind: ItemKind, number: i64) -> String {
    match kind {
        ItemKind::Pr => format!("pr-{number}"),
        ItemKind::Issue => format!("issue-{number}"),
    }
}

/// What is listed since only a person takes it further.
fn stands_still(one: &Judged) -> Option<(i64, String)> {
    if let (Decision::Fix { .. } | Decision::Rebase(_), Some(task)) = (&one.decision, results::parked(one)) {
        return Some((one.pull.number.0, task.detail.clone().unwrap_or_default()));
    }
    let Decision::ListOnly(listed) = &one.decision else { return None };
    let is_wanted = match listed {
        Listed::NoVerdict { .. }
        | Listed::NoVerdictRun
        | Listed::Unbound(_)
        | Listed::Rebased { .. }
        | Listed::Unprocessable { .. }
        | Listed::Overtaken { .. } => true,
        Listed::Class(_)
        | Listed::Reviewed
        | Listed::FlagElsewhere
        | Listed::NoValidator
        | Listed::NoBranch => false,
    };
    is_wanted.then(|| {
        let said = match listed {
            Listed::Unprocessable { .. } => last_refusal(one),
            _ => None,
        };
        let message = one.decision.message();
        (one.pull.number.0, said.map_or(message.clone(), |said| format!("{message}: {said}")))
    })
}

/// What GitHub said when it refused the merge last.
fn last_refusal(one: &Judged) -> Option<String> {
    let refused = one.journal.iter().filter(|row| row.class == EffectClass::Merge);
    refused.max_by_key(|row| row.outcome_at)?.detail.clone()
}

/// What each ended run of the verdict job came to.
fn verdicts(tick: &Tick<'_>, judged: &[Judged]) -> Vec<VerdictResult> {
    let policy = &tick.place.policy;
    let Some(verdict) = &policy.verdict else { return Vec::new() };
    judged.iter().flat_map(|one| verdict_label::results(&one.seen, policy, verdict)).collect()
}

/// Notes which required names were seen at any head.
fn names(tick: &mut Tick<'_>, judged: &[Judged]) {
    let (now, policy) = (tick.now, &tick.place.policy);
    let given = verdicts(tick, judged).into_iter().filter(|result| result.given).map(|result| result.at);
    let given = given.chain(tick.known.repo.names.verdict_given_at).max();
    let NamesSeen { required_since, last_moved, others_concluded_at, verdict_given_at } =
        &mut tick.known.repo.names;
    *verdict_given_at = given;
    required_since.retain(|name, _| policy.required_checks.contains(name));
    last_moved.retain(|name, _| policy.required_checks.contains(name));
    for name in &policy.required_checks {
        required_since.entry(name.clone()).or_insert(now);
    }
    for one in judged {
        for run in &one.seen.check_runs.items {
            let at = run.ended_at.or(run.check.started_at);
            // Another app's run of a required name is another check.
            if run.check.app == policy.required_app && policy.required_checks.contains(&run.check.name) {
                let moved = last_moved.entry(run.check.name.clone()).or_insert_with(|| at.unwrap_or(now));
                *moved = (*moved).max(at.unwrap_or(*moved));
            } else if let Some(at) = run.ended_at {
                *others_concluded_at = Some(others_concluded_at.map_or(at, |before| before.max(at)));
            }
        }
    }
}

/// Wants the report issue's body replaced, when what it says is something else than last time.
async fn report(tick: &mut Tick<'_>, items: &[KeptItem]) -> Result<(), StoreError> {
    let Some(issue) = report_issue(tick).filter(|_| tick.known.mode != Mode::Observe) else {
        // What was reported before the mode or the policy changed is not what would be reported after.
        tick.known.repo.report = None;
        return Ok(());
    };
    let rows: Vec<&ItemRow> =
        items.iter().filter_map(|kept| kept.row.get().ok()).filter(|item| item.ended.is_none()).collect();
    let warnings = name_warnings(&tick.place.policy, &tick.known.repo.names, tick.now);
    let told = Report {
        no_boundary: tick.no_boundary(),
        warnings: warnings.iter().map(words::name_warning).collect(),
        items: rows
            .iter()
            .filter(|item| item.kind == ItemKind::Pr || !is_left_alone(item))
            .map(|item| report::Item {
                number: item.number,
                class: item.class.clone(),
                state: item.state.clone(),
                attempts: item.attempts.spent,
                next_at: item.attempts.next_at.filter(|at| *at > tick.now),
            })
            .collect(),
        stuck: rows
            .iter()
            .filter(|item| item.stuck)
            .map(|item| report::Stuck {
                number: item.number,
                failures: item.attempts.spent,
                evidence: item.evidence.clone().unwrap_or_default(),
            })
            .collect(),
    };
    let print = report::fingerprint(&told);
    if tick.known.repo.report.as_deref() == Some(print.as_str()) {
        return Ok(());
    }
    let wanted = Wanted {
        class: EffectClass::Report,
        deed: Deed::Report { body: report::body(&told, tick.now) },
        host: tick.place.host.clone(),
        line: format!("Replace the report of {} in {}#{}", tick.place.name, issue.repo, issue.number),
        repo: issue.repo,
        number: Some(issue.number.0),
        head: None,
    };
    let config = tick.config.clone();
    let id = tick.ctx.store.write(Durability::Full, move |tx| journal::want(tx, &config, &wanted)).await?;
    tick.known.repo.report = id.map(|_| print);
    Ok(())
}

/// An issue that is not worked on, and so not reported: out of scope, or the report itself.
fn is_left_alone(item: &ItemRow) -> bool {
    matches!(item.decision.as_str(), "list_only" | "skip")
}
