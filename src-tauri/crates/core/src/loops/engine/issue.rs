//! Issues: what becomes of each, the triage of those in scope, and its outcome one effect at a time
//! (engine.md 10).

use steward_rules::deed::{Closes, Deed, Reason};
use steward_rules::engine::facts::{Account, Listing};
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::triage::{
    Act, Done, IssueMemory, IssueObs, IssueStep, Own, issue_of_branch, next_act, step,
};
use steward_rules::ids::{PullNumber, PullRef};
use steward_rules::power::{EffectClass, Mode};
use steward_rules::reading::Reading;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::items as say;

use super::act::{is_open, want};
use super::after;
use super::results::{Push, push_of};
use super::tick::Tick;
use crate::github::any_fraction;
use crate::loops::forge;
use crate::store::effects::{EffectRow, State};
use crate::store::engine_items::{self, ItemEnd, ItemKind, ItemRow};
use crate::store::engine_tasks::{self, Decided, NewTask, Piece, TaskResult, TaskRow, What};
use crate::store::issues::IssueRow;
use crate::store::{Durability, StoreError, effects, engine, observations, settings};

/// Longest text of one piece of evidence, in characters.
const PIECE_MOST: usize = 20_000;
/// Comments that go into the evidence, the newest ones.
const COMMENTS: usize = 30;

/// Takes the next step of every issue.
pub(super) async fn all(tick: &mut Tick<'_>) -> Result<(), StoreError> {
    for row in std::mem::take(&mut tick.known.issues) {
        if tick.stop.is_cancelled() {
            return Ok(());
        }
        let mut item = match tick.known.items.remove(&(ItemKind::Issue, row.number)) {
            None => ItemRow::fresh(ItemKind::Issue, row.number, tick.now),
            Some(Reading::Known { value }) => value,
            Some(Reading::Unread { why }) => {
                tick.unreadable.push((ItemKind::Issue, row.number, why.detail));
                continue;
            }
        };
        let before = item.clone();
        one(tick, &row, &mut item).await?;
        keep(tick, &before, &item).await?;
    }
    let left: Vec<(ItemKind, i64)> = tick.known.items.keys().copied().collect();
    for key in left {
        match tick.known.items.remove(&key) {
            Some(Reading::Known { value: before }) => {
                let item = ItemRow {
                    ended: Some(ItemEnd::Closed),
                    settled: true,
                    stuck: false,
                    decision: "gone".to_owned(),
                    state: say::closed(),
                    not_before: None,
                    updated_at: tick.now,
                    ..before.clone()
                };
                keep(tick, &before, &item).await?;
            }
            Some(Reading::Unread { why }) => tick.unreadable.push((key.0, key.1, why.detail)),
            None => {}
        }
    }
    Ok(())
}

async fn keep(tick: &Tick<'_>, before: &ItemRow, item: &ItemRow) -> Result<(), StoreError> {
    if before == item {
        return Ok(());
    }
    let (id, item) = (tick.known.repository.id, item.clone());
    tick.ctx
        .store
        .write(Durability::Full, move |tx| {
            engine_items::put(tx, id, &item)?;
            if let Some(asked_at) = item.try_at {
                engine_items::take_try(tx, id, item.kind, item.number, asked_at)?;
            }
            tx.topic(engine::TOPIC)
        })
        .await
}

async fn one(tick: &mut Tick<'_>, row: &IssueRow, item: &mut ItemRow) -> Result<(), StoreError> {
    let glimpsed =
        step(&glimpse(tick, row), &IssueMemory::default(), tick.own(0), &tick.place.policy, tick.now);
    if matches!(glimpsed, IssueStep::ListOnly | IssueStep::Skip) {
        told(tick, item, &glimpsed);
        return Ok(());
    }
    let sight = format!("{} {}", row.updated_at.timestamp_micros(), row.labels.join("\u{1f}"));
    let (id, number, host, name) =
        (tick.known.repository.id, row.number, tick.place.host.clone(), tick.place.name.clone());
    let (kept, journal, tasks) = tick
        .ctx
        .store
        .read(move |tx| {
            Ok::<_, StoreError>((
                observations::issue(tx, id, number)?,
                effects::of_item(tx, &host, &name, number)?,
                engine_tasks::of_item(tx, id, engine_tasks::ItemKind::Issue, number)?,
            ))
        })
        .await?;
    super::memory::settle(item, &journal);
    if item.try_at.is_some() {
        item.attempts.next_at = None;
    }
    let known = kept.filter(|kept| {
        item.sight.as_deref() == Some(sight.as_str())
            && item.try_at.is_none()
            && tick.now - kept.read_at < super::tick::DAY
    });
    let known = known.and_then(|kept| match kept.seen {
        Reading::Known { value } if is_still_so(tick, &value) => Some(value),
        Reading::Known { .. } | Reading::Unread { .. } => None,
    });
    let (mut seen, mut is_fresh) = match known {
        Some(seen) => (seen, false),
        None => match tick.read_issue(row.number).await? {
            Some(seen) => (seen, true),
            None => return Ok(()),
        },
    };
    let mut next = step_of(tick, &seen, item).await?;
    if !is_fresh
        && next == IssueStep::Triage
        && tick.known.mode != Mode::Observe
        && !is_under_way(item, &tasks)
    {
        let Some(read) = tick.read_issue(row.number).await? else { return Ok(()) };
        (seen, is_fresh) = (read, true);
        next = step_of(tick, &seen, item).await?;
    }
    if is_fresh {
        item.sight = Some(sight);
        let observed = seen.clone();
        tick.ctx
            .store
            .write(Durability::Normal, move |tx| observations::keep_issue(tx, id, &observed).map(drop))
            .await?;
    }
    told(tick, item, &next);
    if tick.known.mode == Mode::Observe {
        return Ok(());
    }
    results(tick, item, &seen, &journal, &tasks).await?;
    item.stuck = item.attempts.is_stuck(&tick.place.policy.retry);
    if next == IssueStep::Triage && is_fresh && !is_under_way(item, &tasks) {
        triage(tick, row, item).await?;
    }
    Ok(())
}

/// True while a task of it is open, or what one came to is not settled.
fn is_under_way(item: &ItemRow, tasks: &[TaskRow]) -> bool {
    let is_after =
        |task: &TaskRow| task.ended_at.is_some_and(|at| item.try_at.is_none_or(|tried| at > tried));
    tasks.iter().any(|task| {
        task.state != engine_tasks::State::Ended
            || task.id > item.task_seen
            || (task.fault.is_some() && task.id == item.task_seen && is_after(task))
    })
}

/// True when the open pull requests that a reading names are still open.
fn is_still_so(tick: &Tick<'_>, seen: &IssueObs) -> bool {
    seen.open_pulls.items.iter().all(|pull| tick.heads.iter().any(|(open, _)| open == pull))
}

/// An issue as the observer's row shows it: enough to see that it is out of scope.
fn glimpse(tick: &Tick<'_>, row: &IssueRow) -> IssueObs {
    IssueObs {
        number: row.number,
        is_pull: false,
        is_open: true,
        reporter: Account { id: 0, login: row.author.clone(), is_bot: false },
        created_at: tick.now,
        labels: Reading::known(row.labels.clone()),
        comments: Listing::cut([]),
        edits: Listing::cut([]),
        open_pulls: Listing::cut([]),
    }
}

/// What becomes of an issue, with the pull requests whose branch is about it.
pub(super) async fn step_of(
    tick: &mut Tick<'_>,
    seen: &IssueObs,
    item: &ItemRow,
) -> Result<IssueStep, StoreError> {
    let Some(account) = account(tick).await? else { return Ok(IssueStep::Unreadable) };
    let mut seen = seen.clone();
    let about = tick.heads.iter().filter(|(_, branch)| issue_of_branch(branch) == Some(seen.number));
    seen.open_pulls.items.extend(about.map(|(number, _)| *number));
    let memory = IssueMemory {
        attempts: item.attempts.clone(),
        asked_at: item.asked_at,
        declined_at: item.declined_at,
    };
    Ok(step(&seen, &memory, tick.own(account), &tick.place.policy, tick.now))
}

/// The id of the account that acts, asked for once.
async fn account(tick: &mut Tick<'_>) -> Result<Option<u64>, StoreError> {
    if let Some(known) = tick.account {
        return Ok(Some(known));
    }
    let key = format!("engine.account:{}@{}", tick.place.account, tick.place.host).to_lowercase();
    let read = key.clone();
    let kept = tick.ctx.store.read(move |tx| settings::get(tx, &read)).await?;
    tick.account = kept.and_then(|text| text.parse().ok());
    if tick.account.is_none()
        && let Ok(open) = forge::open(tick.ctx, &tick.place.host, &tick.place.name).await
        && let Ok(who) = open.reader.whoami().await
    {
        let id = who.user.id;
        tick.account = Some(id);
        tick.ctx.store.write(Durability::Normal, move |tx| settings::set(tx, &key, &id.to_string())).await?;
    }
    Ok(tick.account)
}

fn told(tick: &Tick<'_>, item: &mut ItemRow, next: &IssueStep) {
    let (decision, state) = say::issue(next);
    let is_in_scope = !matches!(next, IssueStep::ListOnly | IssueStep::Skip);
    item.class = "issue".to_owned();
    item.class_reason = say::issue_scope(is_in_scope);
    item.decision = decision.to_owned();
    item.state = state;
    item.not_before = match next {
        IssueStep::WaitsForIntake { until } | IssueStep::Backoff { until } => Some(*until),
        IssueStep::Skip
        | IssueStep::ListOnly
        | IssueStep::Unreadable
        | IssueStep::WaitsForPull { .. }
        | IssueStep::NeedsInfo
        | IssueStep::Declined
        | IssueStep::Triage => None,
    };
    item.ended = None;
    item.settled = false;
    if item.updated_at != tick.now && is_in_scope {
        item.updated_at = tick.now;
    }
}

/// Queues the triage of an issue.
async fn triage(tick: &mut Tick<'_>, row: &IssueRow, item: &ItemRow) -> Result<(), StoreError> {
    let Some(evidence) = evidence(tick, row.number).await else { return Ok(()) };
    let Some(base) = tick.base_now() else { return Ok(()) };
    let branch = branch_of(row.number);
    let new = NewTask {
        repository: tick.known.repository.id,
        kind: engine_tasks::ItemKind::Issue,
        number: row.number,
        what: What::Triage { asked: item.questions.iter().map(|one| one.as_data().to_owned()).collect() },
        head: None,
        base,
        lease: after::ends_at(tick, &branch).await?,
        branch,
        evidence,
    };
    tick.ctx.store.write(Durability::Full, move |tx| super::tasks::queue(tx, new).map(drop)).await
}

fn branch_of(number: i64) -> String {
    format!("steward/issue-{number}")
}

/// The issue's text and what was said below it.
async fn evidence(tick: &Tick<'_>, number: i64) -> Option<Vec<Piece>> {
    let open = forge::open(tick.ctx, &tick.place.host, &tick.place.name).await.ok()?;
    let issue = open.reader.issue(&tick.place.name, number).await.ok()?.value;
    let comments = open.reader.comments(&tick.place.name, number).await.ok()?;
    let cut = |text: &str| text.chars().take(PIECE_MOST).collect::<String>();
    let body = issue.body.as_ref().map_or("", |body| body.as_data());
    let mut pieces = vec![Piece {
        what: "the issue".to_owned(),
        text: cut(&format!("{}\n\n{body}", issue.title.as_data())),
    }];
    for comment in comments.iter().rev().take(COMMENTS).rev() {
        let login = comment.user.as_ref().map_or("ghost", |user| user.login.as_str());
        pieces.push(Piece {
            what: format!("a comment by {}", Untrusted::new(login).one_line(60)),
            text: cut(comment.body.as_ref().map_or("", |body| body.as_data())),
        });
    }
    Some(pieces)
}

/// Takes the ended tasks of an issue into its row, oldest first, up to one whose outcome is on its way.
async fn results(
    tick: &mut Tick<'_>,
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
            Some(TaskResult::Push { branch, from, to, .. }) => {
                let deed = Deed::Push { branch: branch.clone(), from: from.clone(), to: to.clone() };
                pushed(tick, item, journal, task, deed).await?
            }
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

fn spend(tick: &Tick<'_>, item: &mut ItemRow, task: &TaskRow) {
    let (end, at) = (task.end.unwrap_or(TaskEnd::Crashed), task.ended_at.unwrap_or(tick.now));
    item.attempts = item.attempts.after(end, &tick.place.policy.retry, any_fraction(), at);
    if let Some(detail) = &task.detail {
        item.last_action = Some((Untrusted::new(detail.as_str()).one_line(300), at));
    }
}

/// A change for the issue: its branch, then its pull request. True when nothing is left to do.
async fn pushed(
    tick: &Tick<'_>,
    item: &mut ItemRow,
    journal: &[EffectRow],
    task: &TaskRow,
    push: Deed,
) -> Result<bool, StoreError> {
    let Deed::Push { branch, to, .. } = &push else { return Ok(true) };
    let number = PullNumber(item.number);
    let place = format!("{}#{}", tick.place.name, item.number);
    match push_of(journal, branch, to) {
        Push::None => {
            let line = format!("Push a change for {place}");
            Ok(want(tick, number, None, EffectClass::OpenPr, push, line).await?.is_none())
        }
        Push::Open => Ok(false),
        Push::Moved => Ok(true),
        Push::Refused(_) => {
            spend(tick, item, task);
            Ok(true)
        }
        Push::Done(_) => {
            let is_there = tick.heads.iter().any(|(_, open)| open == branch);
            let asked = journal.iter().find(|row| {
                matches!(&row.deed, Some(Deed::OpenPull { branch: its, at, .. }) if its == branch && at == to)
            });
            match asked {
                None if !is_there => {
                    let title = match &task.result {
                        Some(TaskResult::Push { note: Some(note), .. }) => {
                            Untrusted::new(note.lines().next().unwrap_or_default()).one_line(150)
                        }
                        Some(_) | None => format!("a change for #{}", item.number),
                    };
                    let deed = Deed::OpenPull {
                        branch: branch.clone(),
                        at: to.clone(),
                        base: tick.place.policy.base.clone(),
                        title: format!("[steward] {title}"),
                        body: format!("Closes #{}\n", item.number),
                        labels: tick.place.own_labels(),
                    };
                    let line = format!("Open a pull request for {place}");
                    Ok(want(tick, number, None, EffectClass::OpenPr, deed, line).await?.is_none())
                }
                Some(row) if is_open(row) => Ok(false),
                Some(_) | None => {
                    spend(tick, item, task);
                    Ok(true)
                }
            }
        }
    }
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
    let marker = format!("<!-- steward:triage issue={} task={} -->", item.number, task.id);
    let (text, label, reason) = match answer {
        Decided::AlreadyPresent { ids, evidence } => {
            (say::already_present(ids, evidence), None, Some(Reason::Completed))
        }
        Decided::Declined { reason, .. } => {
            (reason.clone(), Some(&policy.declined_label), Some(Reason::NotPlanned))
        }
        Decided::NeedInfo { question } => (question.clone(), Some(&policy.need_info_label), None),
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
    let steps = [comment, labelled, closed];
    if steps.iter().flatten().any(|row| is_open(row)) {
        return Ok(false);
    }
    let is_done = |row: Option<&EffectRow>| row.is_some_and(|row| row.state == State::Done);
    if steps.iter().flatten().any(|row| row.state != State::Done) {
        // Turned down, or it cannot go out: nothing of it goes further by itself.
        spend(tick, item, task);
        return Ok(true);
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
            match answer {
                Decided::NeedInfo { question } => {
                    item.questions.push(Untrusted::new(question.as_str()));
                    item.asked_at = comment.and_then(|row| row.outcome_at).or(Some(tick.now));
                }
                Decided::Declined { .. } => {
                    item.declined_at = comment.and_then(|row| row.outcome_at).or(Some(tick.now));
                }
                Decided::AlreadyPresent { .. } => {}
            }
            return Ok(true);
        }
        Some(Act::Comment) => {
            (EffectClass::CommentIssue, Deed::Comment { body: format!("{marker}\n{text}") }, "Answer")
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

/// Which issue of this repository is its report.
pub(super) fn report_issue(tick: &Tick<'_>) -> Option<PullRef> {
    tick.place.policy.report.as_deref().and_then(PullRef::parse)
}

impl Tick<'_> {
    /// Who Steward is here, and which issue is its report.
    fn own(&self, account: u64) -> Own {
        let report = report_issue(self).filter(|report| report.repo == self.place.name);
        Own { account, report: report.map(|report| report.number.0) }
    }
}
