//! Whether the watcher seat may run now, and why not.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use steward_rules::questions::need::Origin;
use steward_rules::questions::watcher::{AFTER_FAILURE, may_run};
use steward_rules::review::lifecycle::{Spend, SpendCaps};
use steward_rules::untrusted::Untrusted;

use crate::config::Role;
use crate::loops::effects::powers;
use crate::loops::seat::{self, SeatError};
use crate::loops::{Ctx, pause};
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::{Durability, StoreError, settings, spending};

const KEY: &str = "questions.watcher.failed";
const TARGET: &str = "roster/watcher";
/// The role under which a run is paid.
pub(super) const ROLE: &str = "watcher";

/// Whether the seat may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Ready,
    /// It is not configured, or not wanted: nothing of it exists.
    Absent(String),
    /// It rests for now.
    Resting(String),
}

impl Standing {
    pub fn is_ready(&self) -> bool {
        *self == Self::Ready
    }

    /// True when there is such a seat, even while it rests.
    pub fn exists(&self) -> bool {
        match self {
            Self::Ready | Self::Resting(_) => true,
            Self::Absent(_) => false,
        }
    }
}

/// When and how the seat failed last; gone once it worked.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Failure {
    at: DateTime<Utc>,
    why: String,
}

/// Judges it by the files and the database as they are now.
pub async fn standing(ctx: &Ctx) -> Result<Standing, StoreError> {
    let config = ctx.config();
    if !config.questions.enabled || !config.questions.sources.contains(&Origin::Pane) {
        return Ok(Standing::Absent("panes are not watched".to_owned()));
    }
    match seat::read(ctx, Role::Watcher) {
        Ok(_) => {}
        Err(SeatError::Missing(path)) => {
            return Ok(Standing::Absent(format!(
                "no watcher seat is configured, so no question is recognised in a pane's words; there is no {}, \
                 `steward seats seed` writes one",
                path.display()
            )));
        }
        Err(error) => return Ok(Standing::Absent(error.to_string())),
    }
    let most = config.questions.watcher.max_per_hour;
    ctx.store
        .read(move |tx| {
            if let Some(paused) = pause::current(tx)? {
                return Ok(Standing::Resting(format!("Steward is paused: {}", paused.why)));
            }
            let caps = powers::spend(tx, &config)?;
            let caps = SpendCaps { daily_usd: caps.daily_usd, monthly_usd: caps.monthly_usd };
            let (today, month) = spending::today_and_month(tx)?;
            let spent = Spend { today_usd: today.usd, month_usd: month.usd };
            if spent.within(&caps).is_err() {
                return Ok(Standing::Resting("the spend cap over all agents is reached".to_owned()));
            }
            let failed = settings::get(tx, KEY)?.and_then(|text| serde_json::from_str::<Failure>(&text).ok());
            let lately =
                |failure: &Failure| (0..AFTER_FAILURE).contains(&(tx.now() - failure.at).num_seconds());
            let failed = failed.filter(lately);
            let runs = spending::runs_since(tx, ROLE, tx.now() - chrono::Duration::hours(1))?;
            Ok(match may_run(runs, most, failed.as_ref().map(|failure| failure.why.as_str())) {
                Ok(()) => Standing::Ready,
                Err(rest) => Standing::Resting(rest.to_string()),
            })
        })
        .await
}

/// A look came to its end: what was said of an earlier failure is past.
pub(super) async fn worked(ctx: &Ctx) -> Result<(), StoreError> {
    if ctx.store.read(|tx| settings::get(tx, KEY)).await?.is_none() {
        return Ok(());
    }
    ctx.store
        .write(Durability::Normal, |tx| {
            settings::remove(tx, KEY)?;
            inbox::withdraw(tx, Kind::Incident, TARGET)?;
            tx.topic("roster")
        })
        .await
}

/// The seat failed: that is said once, and it rests for a while.
pub(super) async fn failed(ctx: &Ctx, why: &str) -> Result<(), StoreError> {
    let why = Untrusted::new(why).one_line(200);
    ctx.store
        .write(Durability::Normal, move |tx| {
            let failure = Failure { at: tx.now(), why: why.clone() };
            let text =
                serde_json::to_string(&failure).map_err(|error| StoreError::Value(error.to_string()))?;
            settings::set(tx, KEY, &text)?;
            let entry = NewEntry {
                kind: Kind::Incident,
                subject: "roster".to_owned(),
                target: TARGET.to_owned(),
                title: "The watcher seat failed".to_owned(),
                source: why,
                chip: "WATCHER".to_owned(),
            };
            let stands = inbox::of_target(tx, Kind::Incident, TARGET)?;
            if stands.is_none_or(|row| row.source != entry.source || row.state == inbox::EntryState::Gone) {
                inbox::upsert(tx, &entry)?;
            }
            tx.topic("roster")
        })
        .await
}
