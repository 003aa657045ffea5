//! The powers in force: what the config file asks for, as far as a person confirmed it.

use std::collections::BTreeMap;

use steward_rules::engine::policy::Policy;
use steward_rules::ids::RepoName;
use steward_rules::power::{self, Caps, EffectClass, Mode, PanePower, PowerSet, RepoPower, Widening};

use crate::config::{Config, Loaded, LoadedFrom, Questions, RepoMode, Repository, Severity, Spend};
use crate::loops::Ctx;
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::{Durability, ReadTx, StoreError, WriteTx, audit, repositories, settings};

const KEY: &str = "powers";
/// What the inbox entry of a waiting change opens.
pub const TARGET: &str = "settings/powers";

/// What is asked for, what holds, and the difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Powers {
    pub asked: PowerSet,
    pub in_force: PowerSet,
    pub pending: Vec<Widening>,
    /// The default branch of each repository, as far as GitHub named it.
    default_branches: BTreeMap<String, String>,
}

impl Powers {
    /// True when the file asks for more in this repository than holds.
    pub fn waits(&self, host: &str, repo: &RepoName) -> bool {
        self.asked.of(host, repo) != self.in_force.of(host, repo)
    }

    /// The engine's policy in force for a repository: the file's, with no larger cap and no wider path or
    /// branch than was confirmed. Its base is the default branch where the file names none.
    pub fn policy(&self, host: &str, repository: &Repository) -> Policy {
        let default_branch = self.default_branches.get(&power::repo_key(host, &repository.name));
        let policy = self.in_force.of(host, &repository.name).policy(&repository.engine);
        policy.on(default_branch.map(String::as_str))
    }

    /// Names exactly the change that waits.
    pub fn change(&self) -> Option<String> {
        power::change_id(&self.pending)
    }
}

/// Why a change is not confirmed.
#[derive(Debug, thiserror::Error)]
pub enum NotConfirmed {
    #[error("the config file asks for nothing that waits for a confirmation")]
    Nothing,
    #[error("the config file has changed since this change was shown")]
    Other,
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the config file asks for.
pub fn asked(config: &Config) -> PowerSet {
    let mut repositories = BTreeMap::new();
    for repository in &config.repositories {
        let mode = match repository.mode {
            RepoMode::Observe => Mode::Observe,
            RepoMode::Suggest => Mode::Suggest,
            RepoMode::Act => Mode::Act,
        };
        let act = repository.act.iter().filter_map(|word| EffectClass::parse(word));
        let key = power::repo_key(config.host_of(repository), &repository.name);
        let power = RepoPower::new(mode, act).with_caps(Caps::of(&repository.engine));
        repositories.insert(key, power);
    }
    PowerSet {
        repositories,
        panes: panes(&config.questions),
        daily_usd: config.spend.daily_usd,
        monthly_usd: config.spend.monthly_usd,
    }
}

/// What the `questions:` block asks for; nothing while it is off.
fn panes(questions: &Questions) -> PanePower {
    if !questions.enabled {
        return PanePower::default();
    }
    let hosts = questions.ssh.iter().map(|remote| (remote.host.clone(), remote.keys));
    PanePower { keys: questions.keys, hosts: hosts.collect() }
}

/// The `questions:` block with no more power than is in force: keys and other machines that nobody
/// confirmed are as if the file did not name them.
pub async fn questions(ctx: &Ctx) -> Result<Questions, StoreError> {
    let config = ctx.config();
    ctx.store.read(move |tx| questions_in(tx, config)).await
}

/// [`questions`] within a transaction.
pub fn questions_in(tx: &ReadTx<'_>, config: Config) -> Result<Questions, StoreError> {
    let mut questions = config.questions.clone();
    if questions.keys || !questions.ssh.is_empty() {
        let in_force = read(tx, &config)?.in_force.panes;
        questions.keys = in_force.keys;
        questions.ssh.retain(|remote| in_force.hosts.contains_key(&remote.host));
        for remote in &mut questions.ssh {
            remote.keys = in_force.hosts.get(&remote.host) == Some(&true);
        }
    }
    Ok(questions)
}

/// The powers in force, by the database and this configuration.
pub fn read(tx: &ReadTx<'_>, config: &Config) -> Result<Powers, StoreError> {
    let asked = asked(config);
    let confirmed = confirmed(tx)?.unwrap_or_else(|| PowerSet::first(&asked));
    let pending = power::pending(&asked, &confirmed);
    let branches = repositories::default_branches(tx)?.into_iter();
    let default_branches =
        branches.map(|(host, name, branch)| (power::repo_key(&host, &name), branch)).collect();
    Ok(Powers { in_force: asked.meet(&confirmed), asked, pending, default_branches })
}

/// The caps on money in force: a larger one of the file counts once it is confirmed.
pub fn spend(tx: &ReadTx<'_>, config: &Config) -> Result<Spend, StoreError> {
    let powers = read(tx, config)?.in_force;
    Ok(Spend { daily_usd: powers.daily_usd, monthly_usd: powers.monthly_usd })
}

/// What a person confirmed. What cannot be read allows nothing.
fn confirmed(tx: &ReadTx<'_>) -> Result<Option<PowerSet>, StoreError> {
    let text = settings::get(tx, KEY)?;
    Ok(text.map(|text| serde_json::from_str(&text).unwrap_or_default()))
}

/// Takes note of the file in force: what it no longer asks for is no longer confirmed, and a wider power
/// waits in the inbox. Of a file with an error nothing is taken for the person's word.
pub async fn settle(ctx: &Ctx) -> Result<Powers, StoreError> {
    let loaded = ctx.config.reread();
    let sound = is_sound(&loaded);
    let config = loaded.config.clone();
    let (known, powers) = {
        let config = config.clone();
        ctx.store.read(move |tx| Ok::<_, StoreError>((confirmed(tx)?, read(tx, &config)?))).await?
    };
    let shown = ctx.store.read(waiting_entry).await?;
    let wanted = entry(&powers.pending);
    let same = known.as_ref() == Some(&powers.in_force) || !sound;
    if same && shown == wanted.as_ref().map(|entry| (entry.title.clone(), entry.chip.clone())) {
        return Ok(powers);
    }
    ctx.store
        .write(Durability::Full, move |tx| {
            let powers = read(tx, &config)?;
            // Only what is asked for stays confirmed: a power that was taken away is asked for anew.
            if sound {
                keep(tx, &powers.in_force)?;
            }
            announce(tx, &powers)?;
            Ok(powers)
        })
        .await
}

/// The person confirms exactly the change that was shown as `change`.
pub async fn confirm(ctx: &Ctx, change: &str) -> Result<Powers, NotConfirmed> {
    let config = ctx.config();
    let change = change.to_owned();
    ctx.store
        .write(Durability::Full, move |tx| {
            let before = read(tx, &config)?;
            match before.change() {
                None => return Err(NotConfirmed::Nothing),
                Some(waits) if waits != change => return Err(NotConfirmed::Other),
                Some(_) => {}
            }
            keep(tx, &before.asked)?;
            audit::append(tx, "person", "power.confirm", "config.yaml", &power::diff_text(&before.pending))?;
            let after = read(tx, &config)?;
            announce(tx, &after)?;
            tx.topic("effects")?;
            Ok(after)
        })
        .await
}

/// True when the file can be taken for what the person wants: it is there, and nothing in it is in error.
fn is_sound(loaded: &Loaded) -> bool {
    let errors = loaded.problems.iter().any(|problem| match problem.severity {
        Severity::Fatal | Severity::Error => true,
        Severity::Warning => false,
    });
    loaded.from == LoadedFrom::File && !errors
}

fn keep(tx: &WriteTx<'_>, powers: &PowerSet) -> Result<(), StoreError> {
    let text = serde_json::to_string(powers).map_err(|error| StoreError::Value(error.to_string()))?;
    settings::set(tx, KEY, &text)
}

/// The inbox entry of a change that waits; `None` when nothing waits.
fn entry(pending: &[Widening]) -> Option<NewEntry> {
    let first = pending.first()?;
    let more = match pending.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    Some(NewEntry {
        kind: Kind::Approval,
        subject: "settings:powers".to_owned(),
        target: TARGET.to_owned(),
        title: format!("config.yaml asks for more: {} {} -> {}{more}", first.key, first.now, first.asked),
        source: "powers".to_owned(),
        chip: "confirm".to_owned(),
    })
}

fn waiting_entry(tx: &ReadTx<'_>) -> Result<Option<(String, String)>, StoreError> {
    let found = inbox::of_target(tx, Kind::Approval, TARGET)?;
    Ok(found.filter(|entry| entry.state != inbox::EntryState::Gone).map(|entry| (entry.title, entry.chip)))
}

fn announce(tx: &WriteTx<'_>, powers: &Powers) -> Result<(), StoreError> {
    match entry(&powers.pending) {
        Some(entry) => drop(inbox::upsert(tx, &entry)?),
        None => drop(inbox::withdraw(tx, Kind::Approval, TARGET)?),
    }
    tx.topic("powers")?;
    tx.topic("roster")?;
    tx.topic("repositories")
}
