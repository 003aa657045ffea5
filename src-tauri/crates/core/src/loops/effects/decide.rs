//! What the database says of an effect that is on its way: the guard is asked, and what follows is written
//! down, in one transaction.

use chrono::{DateTime, Duration, Utc};
use steward_rules::deed::{Branches, Deed};
use steward_rules::guard::{self, Ask, EffectPermit, Hold, Holds, Sighting, Step, Subject, Way};
use steward_rules::ids::{PullNumber, RepoName};
use steward_rules::reading::{Cause, Reading};

use super::look::{self, Seen, Standing};
use super::trace::{Made, Part};
use super::{powers, want};
use crate::config::Config;
use crate::loops::{Ctx, engine, failpoint, pause};
use crate::store::effects::{self, EffectRow, State, Why};
use crate::store::pulls::{self, PullState};
use crate::store::{Durability, ReadTx, StoreError, WriteTx, landings, tasks};

/// After so many sendings of which nobody knows the end it is left to the person.
const ATTEMPTS: u32 = 5;

/// What the database decided.
pub(super) enum Decided {
    /// What was judged and journalled: the row may hold another deed by now than when the look at GitHub began.
    Go(EffectPermit),
    /// It does hold another, of which nothing was read, or was sent meanwhile.
    Again,
    Rests,
}

/// Judges with everything that was read, and writes the intent down in the same transaction: what the
/// database says of pause, powers and staleness at that moment is what counts.
pub(super) async fn decide(
    ctx: &Ctx,
    looked: &EffectRow,
    seen: Seen,
    part: Option<&Part>,
) -> Result<Decided, StoreError> {
    let (id, sent, looked) = (looked.id, (looked.attempt, looked.intent_at), looked.to_do());
    let (config, now, part) = (ctx.config(), ctx.clock.now(), part.map(Part::name));
    ctx.store
        .write(Durability::Full, move |tx| {
            let Some(row) = effects::get(tx, id)? else { return Ok(Decided::Rests) };
            // Somebody else took it up since it was looked at: what is there now says what is left.
            if (row.attempt, row.intent_at) != sent {
                return Ok(Decided::Again);
            }
            // Of a text only the marker was looked for, and that is in the key.
            let is_text = matches!((&row.to_do(), &looked), (Deed::Comment { .. }, Deed::Comment { .. }));
            if !is_text && row.to_do() != looked {
                return Ok(Decided::Again);
            }
            let subject = match &seen.subject {
                Standing::Pull { sighting, is_merged } => {
                    match guard::believed(sighting, &known_subject(tx, &row)?) {
                        Reading::Known { value: Subject::Closed } if *is_merged => {
                            Reading::known(Subject::Merged(sighting.head.clone()))
                        }
                        believed => believed,
                    }
                }
                Standing::Issue { is_open: true } => Reading::known(Subject::OpenIssue),
                Standing::Issue { is_open: false } => Reading::known(Subject::Closed),
                Standing::Nothing => Reading::known(Subject::Nothing),
            };
            let holds = Holds {
                subject,
                acting: Reading::known(seen.acting),
                limited_until: seen.limited_until,
                ..known_holds(tx, &config, &row)?
            };
            let way = judged(tx, &config, &row, Step::Send, &holds, now)?;
            let Some(permit) = settle(tx, &row, way)? else { return Ok(Decided::Rests) };
            if row.attempt >= ATTEMPTS.saturating_add(row.to_do().writes() - 1) {
                end(
                    tx,
                    id,
                    State::Failed,
                    &Why::new("gave_up", format!("{ATTEMPTS} sendings had no clear end")),
                )?;
                return Ok(Decided::Rests);
            }
            Ok(match effects::intend(tx, id, part.as_deref())? {
                Some(_) => Decided::Go(permit),
                None => Decided::Rests,
            })
        })
        .await
}

/// Writes down what the guard decided of this row; the permit when it may go.
pub(super) fn settle(
    tx: &WriteTx<'_>,
    row: &EffectRow,
    way: Option<Way>,
) -> Result<Option<EffectPermit>, StoreError> {
    let id = row.id;
    match way {
        Some(Way::Go(permit)) => return Ok(Some(permit)),
        Some(Way::Suggest) => {
            if effects::suggest(tx, row)? {
                want::suggest(tx, id, None)?;
            }
        }
        Some(Way::Wait(hold)) => {
            let why = Why::new(hold.slug(), hold.message());
            let until = match &hold {
                Hold::Unread { .. } => Some(tx.now() + look::SOON),
                hold => hold.until(),
            };
            effects::hold(tx, id, &why, until, false)?;
        }
        Some(Way::Refuse(refusal)) => match refusal {
            guard::Refusal::Observed => {
                end(tx, id, State::Obsolete, &Why::new(refusal.slug(), refusal.message()))?;
            }
            guard::Refusal::Account { .. }
            | guard::Refusal::Frozen { .. }
            | guard::Refusal::Foreign { .. }
            | guard::Refusal::OffLimits { .. } => {
                end(tx, id, State::Failed, &Why::new(refusal.slug(), refusal.message()))?;
            }
        },
        Some(Way::Obsolete(gone)) => {
            end(tx, id, State::Obsolete, &Why::new(gone.slug(), gone.message()))?;
        }
        None => {
            let why = Why::new("unreadable", "the journal's row names no repository");
            end(tx, id, State::Failed, &why)?;
        }
    }
    Ok(None)
}

/// Ends it; what failed stays before the person, what is of no use any more does not.
pub(super) fn end(tx: &WriteTx<'_>, id: i64, state: State, why: &Why) -> Result<(), StoreError> {
    if !effects::end(tx, id, state, why)? {
        return Ok(());
    }
    match state {
        // What the engine takes up by itself is not put before the person.
        State::Failed if want::is_the_engines(tx, id, why)? => want::retire(tx, id, None),
        State::Failed => want::suggest(tx, id, None),
        State::Wanted
        | State::Suggested
        | State::Approved
        | State::Intended
        | State::Done
        | State::Dismissed
        | State::Obsolete => want::retire(tx, id, None),
    }
}

pub(super) async fn finish(ctx: &Ctx, id: i64, made: Made) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Full, move |tx| {
            if effects::finish(tx, id, made.id, made.address.as_deref())? {
                want::retire(tx, id, Some("sent"))?;
            }
            failpoint::reach("effect_finishing");
            Ok::<_, StoreError>(())
        })
        .await?;
    failpoint::reach("effect_done");
    Ok(())
}

/// The guard's word on an effect; `None` for a row that names no repository.
pub(super) fn judged(
    tx: &ReadTx<'_>,
    config: &Config,
    row: &EffectRow,
    step: Step,
    holds: &Holds,
    now: DateTime<Utc>,
) -> Result<Option<Way>, StoreError> {
    let Some(repo) = RepoName::parse(&row.repository) else { return Ok(None) };
    if is_off(config, row) {
        return Ok(Some(Way::Wait(Hold::Off)));
    }
    let power = powers::read(tx, config)?.in_force.of(&row.host, &repo);
    let ask = Ask {
        class: row.class,
        deed: row.to_do(),
        host: row.host.clone(),
        repo,
        number: row.number,
        head: row.head.clone(),
        account: row.account.clone(),
        approved: row.is_approved(),
        turned_down: row.turned_down,
        step,
    };
    Ok(Some(guard::judge(&ask, &power, holds, now)))
}

/// True for a deed of the engine while that is switched off: nothing of it is there then (engine.md 16).
pub fn is_off(config: &Config, row: &EffectRow) -> bool {
    row.deed.is_some() && !engine::is_on(config)
}

/// How the subject stood when the observer and the task of its review last heard of it.
fn known_subject(tx: &ReadTx<'_>, row: &EffectRow) -> Result<Vec<Sighting>, StoreError> {
    let (Some(repo), Some(number)) = (RepoName::parse(&row.repository), row.number) else {
        return Ok(Vec::new());
    };
    let observed = pulls::find(tx, &row.host, &repo, PullNumber(number))?.map(|pull| Sighting {
        head: pull.head,
        open: Some(pull.state == PullState::Open),
        updated_at: Some(pull.updated_at),
    });
    let reviewed = tasks::find_by_pull(tx, &row.host, &repo, PullNumber(number))?
        .and_then(|task| Some(Sighting { head: task.head?, open: None, updated_at: task.pull_updated_at }));
    Ok(observed.into_iter().chain(reviewed).collect())
}

/// What the database knows of what may hold an effect back.
pub(super) fn known_holds(tx: &ReadTx<'_>, config: &Config, row: &EffectRow) -> Result<Holds, StoreError> {
    let repo = RepoName::parse(&row.repository);
    let frozen = match &repo {
        Some(repo) => landings::frozen(tx, &row.host, repo)?.map(|freeze| freeze.why),
        None => None,
    };
    let branches = match &repo {
        Some(repo) => want::branches(&powers::read(tx, config)?, config, &row.host, repo),
        None => Branches::default(),
    };
    Ok(Holds {
        paused: pause::current(tx)?.map(|paused| paused.why),
        frozen,
        subject: Reading::<Subject>::unread(Cause::NotReadYet, "the subject"),
        branches,
        stale: row.stale,
        acting: Reading::unread(Cause::NotReadYet, "the account"),
        limited_until: None,
        sent: effects::sent_since(tx, &row.host, tx.now() - Duration::hours(1))?,
    })
}
