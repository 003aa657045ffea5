//! How an effect begins: a published review of a pull request wants to be told there.

use steward_rules::guard::{self, Ask, Holds, Step, Subject as SubjectNow, Way};
use steward_rules::ids::{RepoName, ReviewId};
use steward_rules::outgoing::{self, CommentInput};
use steward_rules::power::{EffectClass, Mode};
use steward_rules::reading::Reading;
use steward_rules::untrusted::Untrusted;

use super::powers;
use crate::config::Config;
use crate::store::effects::{self, NewEffect, Start, State, Subject, Why};
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::reviews::{ReviewRecord, ReviewState, StaleReason};
use crate::store::{ReadTx, StoreError, WriteTx, findings, gates, landings, reviews};

/// The kind of inbox entry that a suggested effect has.
pub const ENTRY: Kind = Kind::Suggestion;

/// What the inbox entry of an effect opens.
pub fn entry_target(id: i64) -> String {
    format!("effect/{id}")
}

/// The same effect on the same head has the same key for ever.
fn key(class: EffectClass, subject: &Subject, head: &str) -> String {
    let place = format!("{}/{}", subject.host, subject.repository).to_ascii_lowercase();
    format!("{}:{place}#{}@{head}", class.as_str(), subject.pull)
}

/// A fresh review of a pull request was published: its comment is wanted, suggested, or, in a repository
/// that is observed or not watched, neither. Belongs into the transaction that publishes.
pub fn want_comment(tx: &WriteTx<'_>, config: &Config, review: ReviewId) -> Result<(), StoreError> {
    let Some(review) = reviews::get(tx, review)? else { return Ok(()) };
    let (Some(verdict), ReviewState::Published, None) = (review.verdict, review.state, review.stale_reason)
    else {
        return Ok(());
    };
    let Some(subject) = effects::subject_of(tx, review.task)? else { return Ok(()) };
    let Some(repo) = RepoName::parse(&subject.repository) else { return Ok(()) };
    let Some(account) = account(config, &subject.host, &repo) else { return Ok(()) };
    let power = powers::read(tx, config)?.in_force.of(&subject.host, &repo);
    let key = key(EffectClass::CommentReview, &subject, review.sha.as_str());
    let ask = Ask {
        class: EffectClass::CommentReview,
        host: subject.host.clone(),
        repo,
        number: Some(subject.pull.0),
        head: Some(review.sha.clone()),
        account: account.clone(),
        approved: false,
        turned_down: effects::turned_down(tx, &key)?,
        step: Step::Send,
    };
    // Only the power decides here; whatever may hold it back is read when it is sent.
    let holds = Holds {
        paused: None,
        frozen: landings::frozen(tx, &subject.host, &ask.repo)?.map(|freeze| freeze.why),
        subject: Reading::known(SubjectNow::Open(review.sha.clone())),
        stale: None,
        acting: Reading::known(account.clone()),
        limited_until: None,
        sent: Vec::new(),
    };
    let start = match guard::judge(&ask, &power, &holds, tx.now()) {
        Way::Go(permit) => {
            // Nothing is sent from inside a transaction: the row is the wish, and is judged again.
            drop(permit);
            Start::Wanted
        }
        Way::Suggest => Start::Suggested,
        Way::Wait(_) => Start::Wanted,
        Way::Refuse(_) | Way::Obsolete(_) => return Ok(()),
    };
    let made = outgoing::comment(&CommentInput {
        head: &review.sha,
        verdict,
        summary: review.summary.as_deref(),
        lowered: &review.lowered_because,
        gates: &gates::of(tx, review.id)?,
        findings: &findings::of(tx, review.id)?,
    });
    let (content, start) = match made {
        Ok(text) => (text.into_string(), start),
        Err(secret) => {
            let why = Why::new("secret", secret.to_string());
            (secret.redacted, Start::Failed(why))
        }
    };
    let new = NewEffect {
        key,
        class: EffectClass::CommentReview,
        host: subject.host.clone(),
        repository: subject.repository.clone(),
        number: Some(subject.pull.0),
        head: Some(review.sha.clone()),
        account,
        review: Some(review.id),
        content,
        start: start.clone(),
    };
    let (id, changed) = effects::put(tx, &new)?;
    if !changed {
        return Ok(());
    }
    match start {
        Start::Wanted => retire(tx, id, None),
        Start::Suggested => suggest(tx, id, Some(&review)),
        Start::Failed(_) => suggest(tx, id, Some(&review)),
    }
}

/// The login that acts in a watched repository; `None` for one that is not watched.
fn account(config: &Config, host: &str, repo: &RepoName) -> Option<String> {
    let repository = config.repository(repo)?;
    let account = config.account_of(repository)?;
    account.host.eq_ignore_ascii_case(host).then(|| account.login.clone())
}

/// Puts an effect before the person.
pub(super) fn suggest(tx: &WriteTx<'_>, id: i64, review: Option<&ReviewRecord>) -> Result<(), StoreError> {
    let Some(row) = effects::get(tx, id)? else { return Ok(()) };
    let known;
    let review = match (review, row.review) {
        (Some(review), _) => Some(review),
        (None, Some(review)) => {
            known = reviews::get(tx, review)?;
            known.as_ref()
        }
        (None, None) => None,
    };
    let number = row.number.map_or_else(String::new, |number| format!("#{number}"));
    let place = format!("{}{number}", row.repository);
    let title = review.map_or_else(String::new, |review| Untrusted::new(review.title.as_str()).one_line(120));
    let word = match row.state {
        State::Failed => "not sent",
        State::Wanted
        | State::Suggested
        | State::Approved
        | State::Intended
        | State::Done
        | State::Dismissed
        | State::Obsolete => "send?",
    };
    let entry = NewEntry {
        kind: ENTRY,
        subject: row.task.map_or_else(|| format!("effect:{id}"), |task| format!("task:{task}")),
        target: entry_target(id),
        title: format!("Comment the review of {place}: {title}"),
        source: Untrusted::new(place).one_line(200),
        chip: word.to_owned(),
    };
    inbox::upsert(tx, &entry)?;
    Ok(())
}

/// Takes an effect out of the person's way: into Done with a last word, or out of the inbox.
pub fn retire(tx: &WriteTx<'_>, id: i64, last_word: Option<&str>) -> Result<(), StoreError> {
    match last_word {
        Some(word) => drop(inbox::settle(tx, ENTRY, &entry_target(id), word)?),
        None => drop(inbox::withdraw(tx, ENTRY, &entry_target(id))?),
    }
    Ok(())
}

/// A review turned stale: what it wanted and was not sent is of no use any more.
pub fn turned_stale(tx: &WriteTx<'_>, review: ReviewId, reason: StaleReason) -> Result<(), StoreError> {
    for row in effects::unsent_of_review(tx, review)? {
        if row.state == State::Failed {
            retire(tx, row.id, None)?;
            continue;
        }
        let why = Why::new("stale", guard::Gone::Stale { why: reason }.message());
        if effects::end(tx, row.id, State::Obsolete, &why)? {
            retire(tx, row.id, None)?;
        }
    }
    Ok(())
}

/// True where nothing may go out, not even what the person says yes to.
pub fn is_observed(tx: &ReadTx<'_>, config: &Config, row: &effects::EffectRow) -> Result<bool, StoreError> {
    let Some(repo) = RepoName::parse(&row.repository) else { return Ok(true) };
    let power = powers::read(tx, config)?.in_force.of(&row.host, &repo);
    Ok(power.mode() == Mode::Observe)
}
