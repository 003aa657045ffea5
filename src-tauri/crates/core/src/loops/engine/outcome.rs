//! What the triage of an issue came to, one effect after the other (engine.md 10).
//!
//! A task is taken into account once, when everything it calls for is done or goes no further. What a fault of
//! the configuration stopped waits for whoever mends it: no other agent is asked meanwhile.

use steward_rules::deed::{Closes, Deed, Reason};
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::triage::{Act, Done, IssueObs, next_act};
use steward_rules::ids::PullNumber;
use steward_rules::outgoing;
use steward_rules::power::EffectClass;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::items as say;

use super::act::{is_open, want};
use super::results::{Push, is_fault, push_of};
use super::tick::Tick;
use crate::github::any_fraction;
use crate::store::StoreError;
use crate::store::effects::{EffectRow, State};
use crate::store::engine_items::ItemRow;
use crate::store::engine_tasks::{self, Decided, TaskResult, TaskRow};
use crate::store::issues::IssueRow;

/// Takes the ended tasks of an issue into its row, oldest first, up to one whose outcome is on its way.
pub(super) async fn results(
    tick: &mut Tick<'_>,
    row: &IssueRow,
    item: &mut ItemRow,
    seen: &IssueObs,
    journal: &[EffectRow],
    tasks: &[TaskRow],
) -> Result<(), StoreError> {
    let seen_to = item.task_seen;
    let mut ended: Vec<&TaskRow> =
        tasks.iter().filter(|task| task.state == engine_tasks::State::Ended && task.id > seen_to).collect();
    ended.sort_by_key(|task| task.id);
    for task in ended {
        let is_settled = match &task.result {
            Some(TaskResult::Push { .. }) => pushed(tick, row, item, journal, task).await?,
            Some(TaskResult::Answer { answer }) => answered(tick, item, seen, journal, task, answer).await?,
            None => {
                spend(tick, item, task);
                if task.end.is_some_and(TaskEnd::spends) {
                    item.evidence = task.detail.as_deref().map(|detail| Untrusted::new(detail).one_line(300));
                }
                true
            }
        };
        if !is_settled {
            return Ok(());
        }
        item.task_seen = task.id;
    }
    Ok(())
}

/// An issue was closed: what went out of its triage counts, and whatever did not is dropped. Should it be opened
/// again, it is decided about as it is then.
pub(super) fn closed(tick: &Tick<'_>, item: &mut ItemRow, journal: &[EffectRow], tasks: &[TaskRow]) {
    let seen_to = item.task_seen;
    let mut ended: Vec<(&TaskRow, chrono::DateTime<chrono::Utc>)> = tasks
        .iter()
        .filter(|task| task.id > seen_to)
        .filter_map(|task| Some((task, task.ended_at?)))
        .collect();
    ended.sort_by_key(|(task, _)| task.id);
    for (task, at) in ended {
        let mut sent = journal.iter().filter(|row| row.state == State::Done && row.created_at >= at);
        let said = sent.find(|row| row.class == EffectClass::CommentIssue);
        if said.is_some() || sent.next().is_some() || task.result.is_none() {
            spend(tick, item, task);
        }
        if let (Some(TaskResult::Answer { answer }), Some(row)) = (&task.result, said) {
            remember(item, answer, row.outcome_at.unwrap_or(tick.now));
        }
        item.task_seen = task.id;
    }
}

fn spend(tick: &Tick<'_>, item: &mut ItemRow, task: &TaskRow) {
    let (end, at) = (task.end.unwrap_or(TaskEnd::Crashed), task.ended_at.unwrap_or(tick.now));
    item.attempts = item.attempts.after(end, &tick.place.policy.retry, any_fraction(), at);
    if let Some(detail) = task.detail.as_deref().filter(|detail| !detail.is_empty()) {
        item.last_action = Some((Untrusted::new(detail).one_line(300), at));
    }
}

/// True when a person asked for a try since an effect ended, or mended something.
fn may_go_on(tick: &Tick<'_>, item: &ItemRow, row: &EffectRow) -> bool {
    tick.known.stops.is_mended(row.outcome_at)
        || item.try_at.zip(row.outcome_at).is_some_and(|(tried, at)| tried > at)
}

/// A change for the issue: its branch, then its pull request. True when nothing is left to do.
async fn pushed(
    tick: &Tick<'_>,
    row: &IssueRow,
    item: &mut ItemRow,
    journal: &[EffectRow],
    task: &TaskRow,
) -> Result<bool, StoreError> {
    let Some(TaskResult::Push { branch, from, to, note }) = &task.result else { return Ok(true) };
    let number = PullNumber(item.number);
    let place = format!("{}#{}", tick.place.name, item.number);
    let push = Deed::Push { branch: branch.clone(), from: from.clone(), to: to.clone() };
    let stopped = match push_of(journal, branch, to) {
        Push::None => {
            let line = format!("Push a change for {place}");
            return Ok(want(tick, number, None, EffectClass::OpenPr, push, line).await?.is_none());
        }
        Push::Open => return Ok(false),
        Push::Moved => return Ok(true),
        Push::Refused(stopped) => Some((stopped, push)),
        Push::Done(_) => {
            let Some(base) = tick.place.policy.base.clone() else { return Ok(false) };
            let is_there = tick.heads.iter().any(|(_, open)| open == branch);
            let asked = journal.iter().find(|row| {
                matches!(&row.deed, Some(Deed::OpenPull { branch: its, at, .. }) if its == branch && at == to)
            });
            let open = Deed::OpenPull {
                branch: branch.clone(),
                at: to.clone(),
                base,
                title: format!("[steward] {}", row.title.one_line(150)),
                body: body(item.number, note.as_deref()),
                labels: tick.place.own_labels(),
            };
            match asked {
                None if !is_there => {
                    let line = format!("Open a pull request for {place}");
                    return Ok(want(tick, number, None, EffectClass::OpenPr, open, line).await?.is_none());
                }
                Some(row) if is_open(row) => return Ok(false),
                Some(row) if row.state == State::Failed => Some((row, open)),
                Some(_) | None => None,
            }
        }
    };
    match stopped {
        Some((stopped, again)) if is_fault(stopped) => {
            if may_go_on(tick, item, stopped) {
                let line = format!("Once more, a change for {place}");
                want(tick, number, None, EffectClass::OpenPr, again, line).await?;
            }
            Ok(false)
        }
        Some(_) | None => {
            spend(tick, item, task);
            Ok(true)
        }
    }
}

/// What a pull request for an issue says: which it closes, and what the agent says of the change, inert.
fn body(number: i64, note: Option<&str>) -> String {
    let own = say::change_for(number);
    let said: Vec<(Option<&str>, &str)> = note.map(|note| (None, note)).into_iter().collect();
    outgoing::pull_body(Some(number), &own, &said).unwrap_or_else(|_| format!("Closes #{number}\n\n{own}\n"))
}

/// A proven answer, one effect after the other. True when it is all there, or goes no further.
async fn answered(
    tick: &Tick<'_>,
    item: &mut ItemRow,
    seen: &IssueObs,
    journal: &[EffectRow],
    task: &TaskRow,
    answer: &Decided,
) -> Result<bool, StoreError> {
    let policy = &tick.place.policy.issues;
    let marker = outgoing::marker_for("triage", &format!("issue={} task={}", item.number, task.id));
    let (label, reason) = match answer {
        Decided::AlreadyPresent { .. } => (None, Some(Reason::Completed)),
        Decided::Declined { .. } => (Some(&policy.declined_label), Some(Reason::NotPlanned)),
        Decided::NeedInfo { .. } => (Some(&policy.need_info_label), None),
    };
    let since = task.ended_at.unwrap_or(tick.now);
    let comment = journal
        .iter()
        .find(|row| matches!(&row.deed, Some(Deed::Comment { body }) if body.starts_with(&marker)));
    let labelled = journal.iter().find(|row| {
        row.created_at >= since
            && matches!((&row.deed, label), (Some(Deed::Label { add, .. }), Some(label)) if add.contains(label))
    });
    let closed =
        journal.iter().find(|row| row.created_at >= since && matches!(&row.deed, Some(Deed::Close { .. })));
    let is_done = |row: Option<&EffectRow>| row.is_some_and(|row| row.state == State::Done);
    if is_done(comment) {
        // It was said, whatever becomes of the rest.
        remember(item, answer, comment.and_then(|row| row.outcome_at).unwrap_or(tick.now));
    }
    let steps = [comment, labelled, closed];
    if steps.iter().flatten().any(|row| is_open(row)) {
        return Ok(false);
    }
    if let Some(row) = steps.into_iter().flatten().find(|row| row.state != State::Done) {
        if !is_fault(row) {
            // Turned down, or it cannot go out: nothing of it goes further by itself.
            spend(tick, item, task);
            return Ok(true);
        }
        if !may_go_on(tick, item, row) {
            return Ok(false);
        }
    }
    let is_labelled = |label: &String| {
        seen.labels.get().is_ok_and(|labels| labels.iter().any(|one| one.eq_ignore_ascii_case(label)))
    };
    let done = Done {
        comment: is_done(comment),
        label: label.map(|label| is_done(labelled) || is_labelled(label)),
        closed: is_done(closed) || !seen.is_open,
    };
    // A question leaves the issue open: what closing would be is done with once it is asked.
    let next = match next_act(done) {
        Some(Act::Close) if reason.is_none() => None,
        next => next,
    };
    let (class, deed, what) = match next {
        None => {
            spend(tick, item, task);
            return Ok(true);
        }
        Some(Act::Comment) => {
            (EffectClass::CommentIssue, Deed::Comment { body: said(&marker, answer) }, "Answer")
        }
        Some(Act::Label) => {
            let add = label.into_iter().cloned().collect();
            (EffectClass::Label, Deed::Label { add, remove: Vec::new() }, "Label")
        }
        Some(Act::Close) => (EffectClass::CloseIssue, Deed::Close { what: Closes::Issue, reason }, "Close"),
    };
    let line = format!("{what} {}#{}", tick.place.name, item.number);
    Ok(want(tick, PullNumber(item.number), None, class, deed, line).await?.is_none())
}

/// Keeps what an issue was told, so that nothing is asked twice.
fn remember(item: &mut ItemRow, answer: &Decided, at: chrono::DateTime<chrono::Utc>) {
    match answer {
        Decided::NeedInfo { question } => {
            if !item.questions.iter().any(|asked| asked.as_data() == question) {
                item.questions.push(Untrusted::new(question.as_str()));
            }
            item.asked_at = Some(at);
        }
        Decided::Declined { .. } => item.declined_at = Some(at),
        Decided::AlreadyPresent { .. } => {}
    }
}

/// The comment of an answer: Steward's own words, and below them the agent's, inert.
fn said(marker: &str, answer: &Decided) -> String {
    let (own, text) = match answer {
        Decided::AlreadyPresent { ids, evidence } => (say::already_present(ids), evidence),
        Decided::Declined { reason, .. } => (say::declined(), reason),
        Decided::NeedInfo { question } => (say::asks(), question),
    };
    // It was redacted when it was kept; a text in which a secret is found all the same is not said.
    outgoing::say(marker, &own, &[(None, text)]).unwrap_or_else(|_| format!("{marker}\n{own}\n"))
}
