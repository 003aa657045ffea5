//! What is remembered of a pull request when it is judged: its own row, the journal, the tasks of its
//! repository, and what holds that.
//!
//! A row that cannot be read is an error: who judges without a memory would re-run, retry and merge anew.

use chrono::{DateTime, Utc};
use steward_rules::deed::Deed;
use steward_rules::engine::hold::Merging;
use steward_rules::engine::ladder;
use steward_rules::engine::memory::{Memory, VerdictRetries};
use steward_rules::engine::policy::Policy;
use steward_rules::engine::retry::{self, TaskEnd};
use steward_rules::engine::supersede::{Overtaken, Stage};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::power::EffectClass;
use steward_rules::reading::Reading;

use crate::store::effects::{EffectRow, State};
use crate::store::engine_items::{self, ItemKind, ItemRow};
use crate::store::engine_tasks::{self, TaskRow, What};
use crate::store::pulls::PullState;
use crate::store::repositories::{self, RepositoryId};
use crate::store::{ReadTx, StoreError, effects, engine, pulls};

/// The memory of a pull request as the last tick left it; an empty one where there was none yet.
pub fn of_pull(
    tx: &ReadTx<'_>,
    policy: &Policy,
    host: &str,
    name: &RepoName,
    number: PullNumber,
) -> Result<Memory, StoreError> {
    let Some(repository) = repositories::find(tx, host, name)? else { return Ok(Memory::default()) };
    let merging = Merging {
        hold: engine::get(tx, repository.id)?.hold,
        merged_this_tick: false,
        running: running(tx, repository.id, policy)?,
    };
    let rows = effects::of_item(tx, host, name, number.0)?;
    let overtaken = overtaken(tx, repository.id, number)?;
    let tasks = engine_tasks::of_item(tx, repository.id, engine_tasks::ItemKind::Pr, number.0)?;
    match engine_items::get(tx, repository.id, ItemKind::Pr, number.0)? {
        None => Ok(Memory { merging, overtaken, ..Memory::default() }),
        Some(Reading::Known { value }) => {
            let refused_rebase = refused_rebase(&tasks);
            Ok(Memory { refused_rebase, ..of(&value, &rows, merging, overtaken) })
        }
        Some(Reading::Unread { why }) => Err(StoreError::Value(why.detail)),
    }
}

/// The pull request whose fix or rebase runs on a branch that a push to the base would move.
pub(super) fn running(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    policy: &Policy,
) -> Result<Option<PullNumber>, StoreError> {
    for task in engine_tasks::open(tx)? {
        let moves = match task.what {
            What::Fix { .. } | What::Rebase => task.state == engine_tasks::State::Running,
            What::Triage { .. } => false,
        };
        if task.repository != repository || !moves {
            continue;
        }
        let pull = pulls::get(tx, repository, PullNumber(task.number))?;
        if pull.is_some_and(|pull| ladder::is_swept(&pull.labels, policy)) {
            return Ok(Some(PullNumber(task.number)));
        }
    }
    Ok(None)
}

/// Why a pull request of ours no longer stands for the one that it was made for, when that is so.
pub(super) fn overtaken(
    tx: &ReadTx<'_>,
    repository: RepositoryId,
    number: PullNumber,
) -> Result<Option<Overtaken>, StoreError> {
    let Some(ours) = pulls::get(tx, repository, number)? else { return Ok(None) };
    let Some(original) = ladder::superseded(&ours.head_branch) else { return Ok(None) };
    let item = match engine_items::get(tx, repository, ItemKind::Pr, original.0)? {
        None => return Ok(None),
        Some(Reading::Known { value }) => value,
        Some(Reading::Unread { .. }) => return Ok(Some(Overtaken::Unread { original })),
    };
    let Some(Stage::Opened { pull, original_head }) = item.supersede else { return Ok(None) };
    let Some(row) = pulls::get(tx, repository, original)?.filter(|_| pull == number) else { return Ok(None) };
    Ok(match row.state {
        PullState::Open if row.head == original_head => None,
        PullState::Open => Some(Overtaken::Moved { original }),
        PullState::Closed | PullState::Merged | PullState::Gone => Some(Overtaken::Ended { original }),
    })
}

/// The head and the base for which the driver refused last, newest task first: an attempt was made of it there.
pub(super) fn refused_rebase(tasks: &[TaskRow]) -> Option<(Sha, Sha)> {
    let ended = tasks.iter().find(|task| {
        task.what == What::Rebase && task.state == engine_tasks::State::Ended && task.end.is_some()
    })?;
    let refused = ended.end.is_some_and(TaskEnd::spends);
    refused.then(|| Some((ended.head.clone()?, ended.base.clone())))?
}

/// The memory that a row and the journal hold.
pub(super) fn of(
    item: &ItemRow,
    journal: &[EffectRow],
    merging: Merging,
    overtaken: Option<Overtaken>,
) -> Memory {
    // The merge in whose tick a task was put off is not held back by it.
    let hold = merging.hold.filter(|hold| {
        !journal.iter().any(|row| {
            row.class == EffectClass::Merge && !row.state.is_final() && row.created_at <= hold.since
        })
    });
    let merging = Merging { hold, ..merging };
    let mut memory = Memory {
        head: item.head.clone(),
        behind_since: item.behind_since,
        attempts: item.attempts.clone(),
        rebases: item.rebases,
        reviewed_head: item.reviewed_head.clone(),
        unprocessable: item.unprocessable,
        overtaken,
        merging,
        ..Memory::default()
    };
    for row in journal {
        told(&mut memory, row);
    }
    memory
}

/// What one row of the journal says of re-runs and retries.
fn told(memory: &mut Memory, row: &EffectRow) {
    let (Some(head), Some(deed)) = (&row.head, &row.deed) else { return };
    match deed {
        Deed::Rerun { run, .. } => {
            if let Some(at) = asked_at(row) {
                memory.reruns.insert((head.clone(), *run), at);
            }
        }
        Deed::RetryVerdict { run, n, .. } => {
            if row.state == State::Failed && row.why.as_deref() == Some("cannot_rerun") {
                memory.dead_runs.insert(*run);
            }
            let (State::Done | State::Intended, Some(at)) = (row.state, went_out(row)) else { return };
            let before = memory.verdict_retries.get(head);
            let count = before.map_or(0, |before| before.count).max(*n);
            let last_at = before.map_or(at, |before| before.last_at.max(at));
            memory.verdict_retries.insert(head.clone(), VerdictRetries { count, last_at });
        }
        Deed::Comment { .. }
        | Deed::Merge { .. }
        | Deed::DeleteBranch { .. }
        | Deed::Label { .. }
        | Deed::Close { .. }
        | Deed::OpenPull { .. }
        | Deed::Push { .. }
        | Deed::Report { .. } => {}
    }
}

/// When a re-run was asked for. One that GitHub cannot make, or that the person does not want, counts as one
/// whose result is in: the next rung follows.
fn asked_at(row: &EffectRow) -> Option<DateTime<Utc>> {
    match row.state {
        State::Done | State::Intended => went_out(row),
        State::Dismissed => row.outcome_at.map(|at| at - retry::RERUN_SHOWS_WITHIN),
        State::Failed if row.why.as_deref() == Some("cannot_rerun") => {
            row.outcome_at.map(|at| at - retry::RERUN_SHOWS_WITHIN)
        }
        State::Failed | State::Wanted | State::Suggested | State::Approved | State::Obsolete => None,
    }
}

fn went_out(row: &EffectRow) -> Option<DateTime<Utc>> {
    row.outcome_at.or(row.intent_at)
}

/// What ended in the journal since the item was looked at last is taken into its row.
pub(super) fn settle(item: &mut ItemRow, journal: &[EffectRow]) {
    let seen = item.outcome_seen;
    let mut ended: Vec<(&EffectRow, DateTime<Utc>)> = journal
        .iter()
        .filter_map(|row| Some((row, row.outcome_at?)))
        .filter(|(_, at)| seen.is_none_or(|seen| *at > seen))
        .collect();
    ended.sort_by_key(|(row, at)| (*at, row.id));
    for (row, at) in ended {
        item.outcome_seen = Some(at);
        if row.class == EffectClass::Merge {
            match (row.state, row.why.as_deref()) {
                (State::Failed, Some("unprocessable")) => item.unprocessable += 1,
                // Another word of GitHub ends the row of them.
                (State::Done, _) | (State::Obsolete, Some("next_tick" | "not_found")) => {
                    item.unprocessable = 0;
                }
                _ => {}
            }
        }
        if let Some(what) = said(row) {
            item.last_action = Some((what, at));
        }
    }
}

/// What an ended effect was, in one sentence; nothing for one that nobody sees any more.
fn said(row: &EffectRow) -> Option<String> {
    let class = row.class.as_str();
    match row.state {
        State::Done => Some(format!("{class}: done")),
        State::Failed => {
            let why = row.detail.as_deref().or(row.why.as_deref()).unwrap_or("unknown");
            Some(format!("{class}: not done: {why}"))
        }
        State::Dismissed => Some(format!("{class}: turned down")),
        State::Wanted | State::Suggested | State::Approved | State::Intended | State::Obsolete => None,
    }
}
