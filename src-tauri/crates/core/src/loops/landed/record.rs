//! Writes down what a proof came to, and raises the alarm.

use chrono::{DateTime, Utc};
use steward_rules::diff::RepoPath;
use steward_rules::engine::landed::{self, Landed, Unproven};
use steward_rules::ids::RepoName;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording::landed as words;

use super::prove::Proof;
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::landings::{self, End, LandingRow};
use crate::store::repositories::RepositoryId;
use crate::store::{StoreError, WriteTx, audit, notices};

/// All of it or nothing: the outcome, the freeze, and what the person hears of it.
pub(super) fn keep(
    tx: &WriteTx<'_>,
    row: &LandingRow,
    proof: Proof,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (method, judged) = match proof {
        Proof::Later { until, why } => {
            // No longer than is believed, and never without a pause.
            let until = until.clamp(now + landed::SOONEST, now + landed::LONGEST_WAIT);
            return landings::wait(tx, row, "later", &why.detail, until, false);
        }
        Proof::Judged { method, landed } => (method, landed),
    };
    match judged {
        Landed::Proven => landings::settle(tx, row, method, End::Proven).map(drop),
        Landed::Different { paths } => {
            if landings::settle(tx, row, method, End::Different(&paths))? {
                alarm(tx, row, &paths)?;
            }
            Ok(())
        }
        Landed::Undecided(why) => undecided(tx, row, method, &why, now),
    }
}

fn undecided(
    tx: &WriteTx<'_>,
    row: &LandingRow,
    method: Option<&str>,
    why: &Unproven,
    now: DateTime<Utc>,
) -> Result<(), StoreError> {
    let (slug, detail) = (why.slug(), why.message());
    if let Some(wait) = landed::again(row.tries + 1).filter(|_| !why.is_final()) {
        return landings::wait(tx, row, slug, &detail, now + wait, true);
    }
    if landings::settle(tx, row, method, End::Undecided { why: slug, detail: &detail })? {
        let title = words::left(row.number.0, why);
        inbox::upsert(tx, &entry(row, Kind::Stuck, &title, "not proven"))?;
    }
    Ok(())
}

fn alarm(tx: &WriteTx<'_>, row: &LandingRow, paths: &[RepoPath]) -> Result<(), StoreError> {
    let why = words::different(row.number.0, paths);
    landings::freeze(tx, &row.host, &row.name, &why)?;
    let subject = format!("{}/{}#{}", row.host, row.name, row.number);
    audit::append(tx, "runtime", "landed.different", &subject, &why)?;
    let new = entry(row, Kind::Incident, &why, "FROZEN");
    inbox::upsert(tx, &new)?;
    let head = format!("Merging is frozen · {}", place(row));
    notices::add(tx, &format!("landed:{subject}"), &new.target, &head, &new.title)?;
    tracing::error!(%subject, why, "something else landed than the merge makes");
    tx.topic("notices")
}

/// One entry for each pull request; all of a repository open its board.
fn entry(row: &LandingRow, kind: Kind, title: &str, chip: &str) -> NewEntry {
    NewEntry {
        kind,
        subject: format!("repository:{}", row.name),
        target: target(row),
        title: Untrusted::new(title).one_line(300),
        source: place(row),
        chip: chip.to_owned(),
    }
}

fn target(row: &LandingRow) -> String {
    format!("repository/{}?landed={}", row.name, row.number)
}

fn place(row: &LandingRow) -> String {
    Untrusted::new(format!("{} · {}", row.name, row.base_branch)).one_line(200)
}

/// The person lifts the freeze of a repository; false when there was none. What raised it is done with.
pub fn unfreeze(
    tx: &WriteTx<'_>,
    host: &str,
    name: &RepoName,
    repository: Option<RepositoryId>,
) -> Result<bool, StoreError> {
    let Some(freeze) = landings::frozen(tx, host, name)? else { return Ok(false) };
    landings::unfreeze(tx, host, name)?;
    audit::append(tx, "person", "landed.unfreeze", &format!("{host}/{name}"), &freeze.why)?;
    let different = match repository {
        Some(id) => landings::different(tx, id)?,
        None => Vec::new(),
    };
    for row in different {
        let open = inbox::of_target(tx, Kind::Incident, &target(&row))?;
        if open.is_some_and(|entry| entry.state != inbox::EntryState::Done) {
            inbox::settle(tx, Kind::Incident, &target(&row), "lifted")?;
        }
        notices::withdraw(tx, &format!("landed:{}/{}#{}", row.host, row.name, row.number))?;
    }
    Ok(true)
}
