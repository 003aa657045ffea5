//! Issues: what becomes of each, the triage of those in scope, and its outcome one effect at a time
//! (engine.md 10).

use chrono::{DateTime, Utc};
use steward_rules::deed::Deed;
use steward_rules::engine::facts::{Account, Listing};
use steward_rules::engine::retry::News;
use steward_rules::engine::triage::{
    IssueMemory, IssueObs, IssueStep, Own, issue_of_branch, spoke_after, step,
};
use steward_rules::ids::{PullNumber, PullRef};
use steward_rules::power::{EffectClass, Mode};
use steward_rules::reading::Reading;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::items as say;

use super::act::is_open;
use super::tick::Tick;
use super::{after, outcome};
use crate::loops::forge;
use crate::store::effects::{EffectRow, State};
use crate::store::engine_items::{self, ItemEnd, ItemKind, ItemRow};
use crate::store::engine_tasks::{self, NewTask, Piece, TaskRow, What};
use crate::store::issues::IssueRow;
use crate::store::pulls::{self, PullState};
use crate::store::{Durability, ReadTx, StoreError, WriteTx, effects, engine, observations, settings};

/// Longest text of one piece of evidence, in bytes; its begin counts most.
const PIECE_MOST: usize = 20_000;
/// Comments that go into the evidence, the newest ones.
const COMMENTS: usize = 30;

/// Takes the next step of every issue.
pub(super) async fn all(tick: &mut Tick<'_>) -> Result<(), StoreError> {
    let mut unchanged = Vec::new();
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
        let is_judged = one(tick, &row, &mut item).await?;
        if (ItemRow { updated_at: item.updated_at, ..before.clone() }) == item {
            unchanged.push(item.clone());
        } else {
            keep(tick, &before, &item).await?;
        }
        // One that could not be read waits for the next look.
        tick.tried.extend(item.try_at.filter(|_| is_judged).map(|at| (item.kind, item.number, at)));
    }
    judged(tick, unchanged).await?;
    let left: Vec<(ItemKind, i64)> = tick.known.items.keys().copied().collect();
    for key in left {
        match tick.known.items.remove(&key) {
            Some(Reading::Known { value: before }) => {
                let (journal, tasks) = made_of(tick, key.1).await?;
                let mut item = before.clone();
                outcome::closed(tick, &mut item, &journal, &tasks);
                let item = ItemRow {
                    ended: Some(ItemEnd::Closed),
                    settled: true,
                    stuck: false,
                    decision: "gone".to_owned(),
                    state: say::closed(),
                    not_before: None,
                    updated_at: tick.now,
                    ..item
                };
                keep(tick, &before, &item).await?;
            }
            Some(Reading::Unread { why }) => tick.unreadable.push((key.0, key.1, why.detail)),
            None => {}
        }
    }
    Ok(())
}

/// What was wanted and done of an issue, and the tasks about it.
async fn made_of(tick: &Tick<'_>, number: i64) -> Result<(Vec<EffectRow>, Vec<TaskRow>), StoreError> {
    let (id, host, name) = (tick.known.repository.id, tick.place.host.clone(), tick.place.name.clone());
    let read = move |tx: &ReadTx<'_>| {
        let journal = effects::of_item(tx, &host, &name, number)?;
        Ok((journal, engine_tasks::of_item(tx, id, engine_tasks::ItemKind::Issue, number)?))
    };
    tick.ctx.store.read(read).await
}

/// Notes when the issues were judged about which nothing is new, in one go.
async fn judged(tick: &Tick<'_>, items: Vec<ItemRow>) -> Result<(), StoreError> {
    let id = tick.known.repository.id;
    if items.is_empty() {
        return Ok(());
    }
    let note = move |tx: &WriteTx<'_>| items.iter().try_for_each(|item| engine_items::put(tx, id, item));
    tick.ctx.store.write(Durability::Normal, note).await
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
            tx.topic(engine::TOPIC)
        })
        .await
}

/// Judges one issue and goes one step on; false when it must be read and cannot be.
async fn one(tick: &mut Tick<'_>, row: &IssueRow, item: &mut ItemRow) -> Result<bool, StoreError> {
    let glimpsed =
        step(&glimpse(tick, row), &IssueMemory::default(), tick.own(0), &tick.place.policy, tick.now);
    if matches!(glimpsed, IssueStep::ListOnly | IssueStep::Skip) {
        told(tick, item, &glimpsed);
        return Ok(true);
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
            && tick.now - kept.read_at < super::judging::DAY
    });
    let known = known.and_then(|kept| match kept.seen {
        Reading::Known { value } if is_still_so(tick, &value) => Some(value),
        Reading::Known { .. } | Reading::Unread { .. } => None,
    });
    let (mut seen, mut is_fresh) = match known {
        Some(seen) => (seen, false),
        None => match tick.read_issue(row.number).await? {
            Some(seen) => (seen, true),
            None => return Ok(false),
        },
    };
    let mut next = step_of(tick, &seen, item).await?;
    if !is_fresh
        && next == IssueStep::Triage
        && tick.known.mode != Mode::Observe
        && !is_under_way(tick, item, &journal, &tasks)
    {
        let Some(read) = tick.read_issue(row.number).await? else { return Ok(false) };
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
    if tick.known.mode != Mode::Observe {
        // What the last triage came to is told first: it says when the next may be.
        outcome::results(tick, row, item, &seen, &journal, &tasks).await?;
        item.stuck = item.attempts.is_stuck(&tick.place.policy.retry);
        next = step_of(tick, &seen, item).await?;
        if matches!(next, IssueStep::Backoff { .. }) && is_spoken_to(tick, &seen, &tasks) {
            item.attempts = item.attempts.wake(&News::Word, tick.now);
            next = step_of(tick, &seen, item).await?;
        }
    }
    told(tick, item, &next);
    item.stopped = None;
    if tick.known.mode == Mode::Observe {
        return Ok(true);
    }
    if matches!(next, IssueStep::Triage | IssueStep::Backoff { .. })
        && let Some(no) = turned_down(tick, item, &seen, &journal).await?
    {
        let (decision, state) = say::turned_down();
        item.decision = decision.to_owned();
        item.state = match no {
            TurnedDown::Answer => state,
            TurnedDown::Pull(pull) => say::pull_closed(pull),
            TurnedDown::Closing => say::opened_again(),
        };
        item.not_before = None;
        item.stopped = matches!(no, TurnedDown::Pull(_)).then(|| item.state.clone());
    } else if next == IssueStep::Triage && is_fresh && !is_under_way(tick, item, &journal, &tasks) {
        triage(tick, row, item).await?;
    }
    Ok(true)
}

/// True while a task of it is open, what one came to is not settled, or something about it waits to go out.
fn is_under_way(tick: &Tick<'_>, item: &ItemRow, journal: &[EffectRow], tasks: &[TaskRow]) -> bool {
    let is_after = |task: &TaskRow| {
        !tick.known.stops.is_mended(task.ended_at)
            && task.ended_at.is_some_and(|at| item.try_at.is_none_or(|tried| at > tried))
    };
    journal.iter().any(is_open)
        || tasks.iter().any(|task| {
            task.state != engine_tasks::State::Ended
                || task.id > item.task_seen
                || (task.fault.is_some() && task.id == item.task_seen && is_after(task))
        })
}

/// True when a person said something since the last triage ended.
fn is_spoken_to(tick: &Tick<'_>, seen: &IssueObs, tasks: &[TaskRow]) -> bool {
    let last = tasks.iter().filter_map(|task| task.ended_at).max();
    last.is_some_and(|at| is_word_after(tick, seen, at))
}

fn is_word_after(tick: &Tick<'_>, seen: &IssueObs, at: DateTime<Utc>) -> bool {
    tick.account.is_some_and(|account| spoke_after(seen, tick.own(account), at))
}

/// Why no agent is asked anew about an issue: a person turned down what Steward made of it, and neither asked
/// for another try nor was anything said on the issue since.
enum TurnedDown {
    Answer,
    /// Its pull request was closed without a merge.
    Pull(PullNumber),
    /// Steward closed it, and it was opened again.
    Closing,
}

async fn turned_down(
    tick: &Tick<'_>,
    item: &ItemRow,
    seen: &IssueObs,
    journal: &[EffectRow],
) -> Result<Option<TurnedDown>, StoreError> {
    use EffectClass as C;
    let stands = |at: DateTime<Utc>, said_at: DateTime<Utc>| {
        item.try_at.is_none_or(|tried| tried <= at) && !is_word_after(tick, seen, said_at)
    };
    let of_answer = |row: &&EffectRow| {
        matches!(row.class, C::OpenPr | C::CommentIssue | C::Label | C::CloseIssue)
            && row.outcome_at.is_some()
    };
    let last = journal.iter().filter(of_answer).max_by_key(|row| (row.outcome_at, row.id));
    if let Some((row, at)) = last.and_then(|row| Some((row, row.outcome_at?)))
        && row.state == State::Dismissed
        && stands(at, at)
    {
        return Ok(Some(TurnedDown::Answer));
    }
    // What was said after our last word, by GitHub's own clock.
    let said_at = || {
        let ours = seen.comments.items.iter().filter(|one| one.has_marker && Some(one.by.id) == tick.account);
        ours.map(|one| one.at).max()
    };
    if let Some((row, at)) = last.and_then(|row| Some((row, row.outcome_at?)))
        && row.state == State::Done
        && matches!(row.deed, Some(Deed::Close { .. }))
        && stands(at, said_at().unwrap_or(at))
    {
        return Ok(Some(TurnedDown::Closing));
    }
    let (id, name, branch) = (tick.known.repository.id, tick.place.name.clone(), branch_of(seen.number));
    let ours = tick.ctx.store.read(move |tx| pulls::of_branch(tx, id, &name, &branch)).await?;
    let closed = ours
        .first()
        .filter(|ours| ours.state == PullState::Closed && stands(ours.updated_at, ours.updated_at));
    Ok(closed.map(|ours| TurnedDown::Pull(ours.number)))
}

/// True when the open pull requests that a reading names are still open.
fn is_still_so(tick: &Tick<'_>, seen: &IssueObs) -> bool {
    seen.open_pulls.items.iter().all(|pull| tick.open.contains(pull))
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
    let base = match tick.base_now() {
        Some(base) => Some(base),
        // The look shows the default branch alone.
        None => match tick.place.policy.base.clone() {
            Some(branch) => after::tip(tick, &branch).await.get().ok().cloned().flatten(),
            None => None,
        },
    };
    let Some(base) = base else { return Ok(()) };
    let branch = branch_of(row.number);
    let Reading::Known { value: lease } = after::tip(tick, &branch).await else { return Ok(()) };
    let new = NewTask {
        repository: tick.known.repository.id,
        kind: engine_tasks::ItemKind::Issue,
        number: row.number,
        what: What::Triage { asked: item.questions.iter().map(|one| one.as_data().to_owned()).collect() },
        head: None,
        base,
        lease,
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
    let cut = |text: &str| text[..text.floor_char_boundary(PIECE_MOST)].to_owned();
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
