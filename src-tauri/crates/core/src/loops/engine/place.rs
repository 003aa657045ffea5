//! A watched repository as one tick finds it: the policy, the mode, what is known.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use steward_rules::engine::hold::{self, HeldTask, Merging};
use steward_rules::engine::policy::Policy;
use steward_rules::ids::RepoName;
use steward_rules::power::{EffectClass, Mode};
use steward_rules::reading::Reading;

use super::stops::Stops;
use super::{memory, reading};
use crate::config::{Config, Repository};
use crate::loops::effects::powers;
use crate::store::effects::State;
use crate::store::engine::RepoRow;
use crate::store::engine_items::{self, ItemKind, ItemRow};
use crate::store::issues::IssueRow;
use crate::store::pulls::PullRow;
use crate::store::repositories::{RepositoryId, RepositoryRow};
use crate::store::{ReadTx, StoreError, engine, engine_tasks, issues, landings, pulls, repositories};

/// The label by which a pull request of Steward is known.
const OWN_LABEL: &str = "bot-steward";

/// A repository of the config file that has an account.
#[derive(Debug, Clone)]
pub(super) struct Watched {
    pub host: String,
    pub name: RepoName,
    /// The login that acts there.
    pub account: String,
    pub policy: Policy,
}

/// The repositories the engine looks after, each with the policy in force.
pub(super) fn watched(tx: &ReadTx<'_>, config: &Config) -> Result<Vec<Watched>, StoreError> {
    let powers = powers::read(tx, config)?;
    let one = |repository: &Repository| {
        let account = config.account_of(repository)?;
        let host = config.host_of(repository).to_owned();
        Some(Watched {
            policy: powers.policy(&host, repository),
            host,
            name: repository.name.clone(),
            account: account.login.clone(),
        })
    };
    Ok(config.repositories.iter().filter_map(one).collect())
}

impl Watched {
    /// The place as the readings take it.
    pub fn reading(&self, repository: RepositoryId) -> reading::Place {
        reading::Place {
            host: self.host.clone(),
            repo: self.name.clone(),
            repository_id: repository,
            policy: self.policy.clone(),
        }
    }

    /// The labels of a pull request that Steward opens: the scope it belongs to, the sweep's, and our own.
    pub fn own_labels(&self) -> Vec<String> {
        let plain = |label: &&String| !label.ends_with('*');
        let scope = self.policy.issues.scope_labels.iter().find(plain);
        let own = std::iter::once(OWN_LABEL.to_owned());
        scope.into_iter().chain(&self.policy.push.sweep_label).cloned().chain(own).collect()
    }
}

/// What is known of a repository when a tick begins.
pub(super) struct Known {
    pub repository: RepositoryRow,
    pub repo: RepoRow,
    pub mode: Mode,
    pub pulls: Vec<PullRow>,
    pub issues: Vec<IssueRow>,
    pub items: BTreeMap<(ItemKind, i64), Reading<ItemRow>>,
    /// What holds merges, with the hold as it is by now.
    pub merging: Merging,
    pub is_frozen: bool,
    /// What stands for somebody to mend.
    pub stops: Stops,
    /// What of the configuration is in force, as a hash.
    pub in_force: String,
    /// When a person asked for a try of an item that is followed.
    pub tries: BTreeMap<i64, DateTime<Utc>>,
}

impl Known {
    /// What the repository is called here and on GitHub.
    pub fn names(&self) -> Vec<String> {
        let moved = self.repository.seen.as_ref().and_then(|seen| seen.now_called.clone());
        std::iter::once(self.repository.name.to_string()).chain(moved).collect()
    }
}

/// Reads what is known; `None` for a repository nobody has looked at yet.
pub(super) fn known(
    tx: &ReadTx<'_>,
    config: &Config,
    place: &Watched,
    now: DateTime<Utc>,
) -> Result<Option<Known>, StoreError> {
    let Some(repository) = repositories::find(tx, &place.host, &place.name)? else { return Ok(None) };
    let mut repo = engine::get(tx, repository.id)?;
    let pulls = pulls::open_of(tx, repository.id)?;
    let ended = engine::effects_since(tx, &place.host, &place.name, repo.last_tick)?;
    let has_merged = ended.contains(&(EffectClass::Merge, State::Done));
    if let Some(held) = repo.hold {
        let is_open = pulls.iter().any(|pull| pull.number == held.pull);
        let tasks = engine_tasks::of_item(tx, repository.id, engine_tasks::ItemKind::Pr, held.pull.0)?;
        let has_started = tasks.iter().any(|task| task.started_at.is_some_and(|at| at >= held.since));
        let task = match (is_open, has_started) {
            (false, _) => HeldTask::Gone,
            (true, true) => HeldTask::Started,
            (true, false) => HeldTask::Waits,
        };
        repo.hold = hold::after(held, task, now);
    }
    let merging = Merging {
        hold: repo.hold,
        merged_this_tick: has_merged,
        running: memory::running(tx, repository.id, &place.policy)?,
    };
    let mut items: BTreeMap<(ItemKind, i64), Reading<ItemRow>> = engine_items::open_of(tx, repository.id)?
        .into_iter()
        .map(|item| ((item.kind, item.number), item.row))
        .collect();
    // What was closed and is open again goes on where it stood.
    let issues = issues::open_of(tx, repository.id)?;
    let open = pulls.iter().map(|pull| (ItemKind::Pr, pull.number.0));
    for key in open.chain(issues.iter().map(|issue| (ItemKind::Issue, issue.number))) {
        if !items.contains_key(&key)
            && let Some(row) = engine_items::get(tx, repository.id, key.0, key.1)?
        {
            items.insert(key, row);
        }
    }
    let tries = items.values().filter_map(|row| row.get().ok());
    let tries = tries.filter_map(|item| Some((item.number, item.try_at?))).collect();
    let mode = powers::read(tx, config)?.in_force.of(&place.host, &place.name).mode();
    let (stops, in_force) = Stops::read(tx, config, place, &repo, mode, now)?;
    Ok(Some(Known {
        mode,
        stops,
        in_force,
        tries,
        issues,
        items,
        is_frozen: landings::frozen(tx, &place.host, &place.name)?.is_some(),
        repository,
        repo,
        pulls,
        merging,
    }))
}

/// The order in which the pull requests are judged.
pub(super) fn by_number(pulls: &mut [PullRow]) {
    pulls.sort_by_key(|pull| pull.number);
}
