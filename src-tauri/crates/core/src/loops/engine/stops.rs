//! What only a person mends: what stops merging in a repository, and since when whatever a fault of the configuration
//! stopped may be tried again (engine.md 4.6 and 18).

use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};
use steward_rules::deed::{Deed, Needs};
use steward_rules::power::{EffectClass, Mode};

use super::judging::Judged;
use super::place::Watched;
use super::tick::Tick;
use crate::config::Config;
use crate::loops::accounts::standing;
use crate::loops::effects as journal;
use crate::store::effects::{State, Why};
use crate::store::engine::{self, MergeRefused, RepoRow};
use crate::store::{Durability, ReadTx, StoreError, effects};

/// The slug of the fault of a repository in which GitHub refuses to merge.
pub(super) const MERGE_REFUSED: &str = "merge_refused";

/// What stands in a repository for somebody to mend.
#[derive(Debug, Clone, Default)]
pub(super) struct Stops {
    /// The policy, the identity of commits, a seat or the token became another one then.
    pub mended_at: Option<DateTime<Utc>>,
    /// The last merge was refused for a fault of the configuration: no other is wanted here.
    pub refused: Option<MergeRefused>,
}

impl Stops {
    /// How a repository stands, and what is in force there now.
    pub fn read(
        tx: &ReadTx<'_>,
        config: &Config,
        place: &Watched,
        repo: &RepoRow,
        mode: Mode,
        now: DateTime<Utc>,
    ) -> Result<(Self, String), StoreError> {
        let in_force = in_force(tx, config, place, mode)?;
        let is_another = repo.policy.as_ref().is_some_and(|before| *before != in_force);
        let mended_at = if is_another { Some(now) } else { repo.mended_at };
        let mut stops = Self { mended_at, refused: None };
        if mode != Mode::Observe {
            let refused = engine::merge_refused(tx, &place.host, &place.name)?;
            stops.refused = refused.filter(|refused| !stops.is_mended(Some(refused.at)));
        }
        Ok((stops, in_force))
    }

    /// True when something became another since what ended then.
    pub fn is_mended(&self, ended_at: Option<DateTime<Utc>>) -> bool {
        self.mended_at.zip(ended_at).is_some_and(|(mended, ended)| mended > ended)
    }
}

/// SHA-256 over everything whose mending lets a fault of the configuration go: the policy and the mode, who makes
/// commits, the seats, and what the token may do.
pub(super) fn in_force(
    tx: &ReadTx<'_>,
    config: &Config,
    place: &Watched,
    mode: Mode,
) -> Result<String, StoreError> {
    let is_its = |account: &&crate::config::Account| {
        account.login == place.account && account.host.eq_ignore_ascii_case(&place.host)
    };
    let token = match config.accounts.iter().find(is_its) {
        Some(account) => {
            standing::get(tx, account)?.map(|known| (known.scopes, known.expires_at, known.fault))
        }
        None => None,
    };
    let text = serde_json::to_string(&(&place.policy, mode, token))
        .map_err(|error| StoreError::Value(error.to_string()))?;
    let own = format!("{:?} {:?}", config.commit, config.agents);
    Ok(hex::encode(Sha256::new_with_prefix(text).chain_update([0]).chain_update(own).finalize()))
}

/// What waits for a person's word about a pull request that is at another head by now: nobody could say yes to it
/// (product.md, rule 3).
pub(super) async fn end_moved(tick: &Tick<'_>, judged: &mut [Judged]) -> Result<(), StoreError> {
    let mut moved = Vec::new();
    for one in judged.iter() {
        let head = &one.seen.head.sha;
        let rows = one.journal.iter().filter(|row| {
            row.to_do().needs() == Needs::Open && row.head.as_ref().is_some_and(|its| its != head)
        });
        moved.extend(rows.map(|row| (row.id, row.state, Some(head.clone()))));
    }
    let ended = journal::overtaken(tick.ctx, moved).await?;
    for row in judged.iter_mut().flat_map(|one| &mut one.journal) {
        if ended.contains(&row.id) {
            (row.state, row.why, row.outcome_at) =
                (State::Obsolete, Some("head_moved".to_owned()), Some(tick.now));
        }
    }
    Ok(())
}

/// What waits for a person's word about pull requests that left the list.
pub(super) async fn end_closed(tick: &Tick<'_>, numbers: Vec<i64>) -> Result<(), StoreError> {
    let (host, name) = (tick.place.host.clone(), tick.place.name.clone());
    let rows = tick
        .ctx
        .store
        .read(move |tx| {
            let mut rows = Vec::new();
            for number in numbers {
                let of_pull = effects::of_item(tx, &host, &name, number)?;
                rows.extend(of_pull.into_iter().filter(|row| row.to_do().needs() == Needs::Open));
            }
            Ok::<_, StoreError>(rows)
        })
        .await?;
    let rows = rows.into_iter().map(|row| (row.id, row.state, None)).collect();
    journal::overtaken(tick.ctx, rows).await.map(drop)
}

/// Ends the merges that were wanted before GitHub refused one here, and have not gone out.
pub(super) async fn end_merges(tick: &Tick<'_>, judged: &mut [Judged]) -> Result<(), StoreError> {
    let Some(refused) = tick.known.stops.refused.clone() else { return Ok(()) };
    let mut waiting = Vec::new();
    for one in judged.iter_mut().filter(|one| one.item.try_at.is_none_or(|tried| tried <= refused.at)) {
        let rows = one.journal.iter_mut().filter(|row| {
            row.class == EffectClass::Merge
                && row.state == State::Wanted
                && matches!(row.deed, Some(Deed::Merge { .. }))
        });
        for row in rows {
            row.state = State::Obsolete;
            waiting.push(row.id);
        }
    }
    if waiting.is_empty() {
        return Ok(());
    }
    let why = Why::new(MERGE_REFUSED, refused.detail);
    let end = move |tx: &crate::store::WriteTx<'_>| {
        for id in waiting {
            let is_wanted = effects::get(tx, id)?.is_some_and(|row| row.state == State::Wanted);
            if is_wanted && effects::end(tx, id, State::Obsolete, &why)? {
                journal::retire(tx, id, None)?;
            }
        }
        Ok::<_, StoreError>(())
    };
    tick.ctx.store.write(Durability::Full, end).await
}
