//! How an effect begins: a published review wants to be told, or a system wants a deed done.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use steward_rules::deed::{Branches, Deed, Needs};
use steward_rules::guard::{self, Ask, Holds, Step, Subject as SubjectNow, Way};
use steward_rules::ids::{RepoName, ReviewId, Sha};
use steward_rules::outgoing::{self, CommentInput};
use steward_rules::power::{EffectClass, Mode};
use steward_rules::reading::Reading;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording;

use super::look;
use super::powers::{self, Powers};
use crate::config::Config;
use crate::loops::Ctx;
use crate::store::effects::{self, EffectRow, NewEffect, Start, State, Subject, Why};
use crate::store::inbox::{self, EntryState, Kind, NewEntry};
use crate::store::reviews::{ReviewRecord, ReviewState, StaleReason};
use crate::store::{Durability, ReadTx, StoreError, WriteTx, findings, gates, landings, reviews};

/// The kind of inbox entry that a suggested effect has.
pub const ENTRY: Kind = Kind::Suggestion;

/// What the inbox entry of an effect opens.
pub fn entry_target(id: i64) -> String {
    format!("effect/{id}")
}

/// A deed that a system wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub class: EffectClass,
    pub deed: Deed,
    pub host: String,
    pub repo: RepoName,
    /// The issue or pull request.
    pub number: Option<i64>,
    /// The head it was decided for: whatever names one is about a pull request.
    pub head: Option<Sha>,
    /// Why, in one line for the person.
    pub line: String,
}

/// The same effect on the same head has the same key for ever.
fn key(class: EffectClass, subject: &Subject, head: &str) -> String {
    let place = format!("{}/{}", subject.host, subject.repository).to_ascii_lowercase();
    format!("{}:{place}#{}@{head}", class.as_str(), subject.pull)
}

/// What happened since an effect failed, for which it counts no more.
#[derive(Debug, Clone, Copy, Default)]
pub struct Since {
    /// A person asked for a try of the item then: nothing that failed, or was turned down, stands against it.
    pub tried_at: Option<DateTime<Utc>>,
    /// Something of the configuration became another then: no fault of it stands.
    pub mended_at: Option<DateTime<Utc>>,
}

/// A deed is wanted: it goes out by itself, waits for the person, or, in a repository that is observed or not
/// watched, neither. The number of its row in the journal; wanting the same again changes nothing, whatever
/// became of it. Belongs into the transaction that decides.
pub fn want(tx: &WriteTx<'_>, config: &Config, wanted: &Wanted) -> Result<Option<i64>, StoreError> {
    want_since(tx, config, wanted, Since::default())
}

/// The same, with what happened since it was wanted before.
pub fn want_since(
    tx: &WriteTx<'_>,
    config: &Config,
    wanted: &Wanted,
    since: Since,
) -> Result<Option<i64>, StoreError> {
    let Wanted { class, host, repo, number, head, .. } = wanted;
    let Some(account) = account(config, host, repo) else { return Ok(None) };
    let before = match number {
        Some(number) => effects::of_item(tx, host, repo, *number)?,
        None => Vec::new(),
    };
    let (deed, flaw) = match outgoing::fit(wanted.deed.clone()) {
        Ok(deed) => (deed, None),
        Err(unfit) => (*unfit.shown, Some(Why::new(unfit.why.slug(), unfit.why.to_string()))),
    };
    // A report is replaced when it says something else, however often it is made.
    let last = before.iter().rev().find(|row| row.state == State::Done && row.class == *class);
    if let (Deed::Report { .. }, Some(last)) = (&deed, last)
        && last.deed.as_ref() == Some(&deed)
    {
        return Ok(Some(last.id));
    }
    let key = format!(
        "{}:{}#{}@{}:{}",
        class.as_str(),
        format!("{host}/{repo}").to_ascii_lowercase(),
        number.map_or_else(|| "-".to_owned(), |number| number.to_string()),
        head.as_ref().map_or("-", Sha::as_str),
        deed.key(round(&deed, &before)),
    );
    let known = effects::of_key(tx, &key)?;
    if let Some(known) = &known
        && stands(known, &deed, &account, since, tx.now())
    {
        return Ok(Some(known.id));
    }
    let powers = powers::read(tx, config)?;
    let power = powers.in_force.of(host, repo);
    let subject = match (deed.needs(), head) {
        (Needs::Open, Some(head)) => SubjectNow::Open(head.clone()),
        (Needs::Merged, Some(head)) => SubjectNow::Merged(head.clone()),
        (Needs::Open | Needs::Merged, None) => SubjectNow::OpenIssue,
        (Needs::Nothing, _) => SubjectNow::Nothing,
    };
    let ask = Ask {
        class: *class,
        deed: deed.clone(),
        host: host.clone(),
        repo: repo.clone(),
        number: *number,
        head: head.clone(),
        account: account.clone(),
        approved: false,
        turned_down: known.as_ref().is_some_and(|known| known.turned_down),
        step: Step::Send,
    };
    // Only the power and the policy decide here; whatever may hold it back is read when it is sent.
    let holds = Holds {
        paused: None,
        frozen: landings::frozen(tx, host, repo)?.map(|freeze| freeze.why),
        subject: Reading::known(subject),
        branches: branches(&powers, config, host, repo),
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
        Way::Refuse(refusal) => {
            if refusal != guard::Refusal::Observed {
                tracing::warn!(key, why = refusal.message(), "an effect is not wanted");
            }
            return Ok(None);
        }
        Way::Obsolete(_) => return Ok(None),
    };
    let start = flaw.map_or(start, Start::Failed);
    if deed.replaces_older() {
        replace(tx, &before, *class, &deed, &key)?;
    }
    let new = NewEffect {
        key,
        class: *class,
        host: host.clone(),
        repository: repo.to_string(),
        number: *number,
        head: head.clone(),
        account,
        review: None,
        content: deed.text().to_owned(),
        deed: Some(deed),
        line: Some(Untrusted::new(wanted.line.as_str()).one_line(200)).filter(|line| !line.is_empty()),
        start: start.clone(),
    };
    let (id, changed) = effects::put(tx, &new)?;
    if changed {
        match start {
            Start::Wanted => retire(tx, id, None)?,
            Start::Suggested | Start::Failed(_) => suggest(tx, id, None)?,
        }
    }
    Ok(Some(id))
}

/// How often the subject was spoken to, or its report replaced, before: a new round may close or label anew
/// what a person opened again.
fn round(deed: &Deed, before: &[EffectRow]) -> usize {
    let is_report = matches!(deed, Deed::Report { .. });
    let counts = |row: &&EffectRow| match row.to_do() {
        Deed::Comment { .. } => !is_report && row.class != EffectClass::CommentReview,
        Deed::Report { .. } => is_report,
        Deed::Rerun { .. }
        | Deed::RetryVerdict { .. }
        | Deed::Merge { .. }
        | Deed::DeleteBranch { .. }
        | Deed::Label { .. }
        | Deed::Close { .. }
        | Deed::OpenPull { .. }
        | Deed::Push { .. } => false,
    };
    before.iter().filter(|row| row.state == State::Done).filter(counts).count()
}

/// True when a row is what is wanted, so that nothing is to be changed: also a no of the person, and what failed
/// a short while ago.
fn stands(row: &EffectRow, deed: &Deed, account: &str, since: Since, now: DateTime<Utc>) -> bool {
    let is_before = |at: Option<DateTime<Utc>>| at.zip(row.outcome_at).is_some_and(|(at, ended)| at > ended);
    match row.state {
        State::Intended | State::Done => return true,
        State::Obsolete => return false,
        State::Failed | State::Dismissed if is_before(since.tried_at) => return false,
        State::Failed if row.why.as_deref() == Some("config_fault") && is_before(since.mended_at) => {
            return false;
        }
        State::Wanted | State::Suggested | State::Approved | State::Failed | State::Dismissed => {}
    }
    if row.state == State::Failed && row.why.as_deref() == Some("unprocessable") && deed.kind() == "merge" {
        return false;
    }
    let is_same = row.deed.as_ref() == Some(deed) && row.account.eq_ignore_ascii_case(account);
    let is_over = || row.outcome_at.is_none_or(|at| now - at >= look::LATER);
    is_same && !(row.state == State::Failed && !row.turned_down && is_over())
}

/// Ends what was wanted of the same kind on the same subject and was not sent.
fn replace(
    tx: &WriteTx<'_>,
    before: &[EffectRow],
    class: EffectClass,
    deed: &Deed,
    key: &str,
) -> Result<(), StoreError> {
    let older = before.iter().filter(|row| {
        let waits = matches!(row.state, State::Wanted | State::Suggested | State::Approved | State::Failed);
        waits && row.class == class && row.key != key && row.to_do().kind() == deed.kind()
    });
    for row in older {
        if row.state == State::Failed {
            retire(tx, row.id, None)?;
            continue;
        }
        let why = Why::new("replaced", "a newer one took its place");
        if effects::end(tx, row.id, State::Obsolete, &why)? {
            retire(tx, row.id, None)?;
        }
    }
    Ok(())
}

/// The branches of a repository that deeds may touch, as far as the policy is in force.
pub(super) fn branches(powers: &Powers, config: &Config, host: &str, repo: &RepoName) -> Branches {
    let policy = config.repository(repo).map(|repository| powers.policy(host, repository));
    policy.as_ref().map(Branches::from).unwrap_or_default()
}

/// True for an end that the engine takes up by itself: the next rung of its ladder, or another try, which it
/// counts (engine.md 4.6 and 5).
pub(super) fn is_the_engines(tx: &ReadTx<'_>, id: i64, why: &Why) -> Result<bool, StoreError> {
    let Some(deed) = effects::get(tx, id)?.and_then(|row| row.deed) else { return Ok(false) };
    Ok(match deed {
        Deed::Rerun { .. } | Deed::RetryVerdict { .. } => why.slug == "cannot_rerun",
        Deed::Merge { .. } => why.slug == "unprocessable",
        Deed::Comment { .. }
        | Deed::DeleteBranch { .. }
        | Deed::Label { .. }
        | Deed::Close { .. }
        | Deed::OpenPull { .. }
        | Deed::Push { .. }
        | Deed::Report { .. } => false,
    })
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
        // What it says is composed below, once it is known that it may be said.
        deed: Deed::Comment { body: String::new() },
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
        branches: Branches::default(),
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
        deed: None,
        line: None,
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
    let title = match (review, &row.deed) {
        (_, Some(deed)) => {
            let line = row.line.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
            format!("{}{line}", wording::effect::deed(deed, &place))
        }
        (Some(review), None) => {
            format!("Comment the review of {place}: {}", Untrusted::new(review.title.as_str()).one_line(120))
        }
        (None, None) => format!("Comment the review of {place}: "),
    };
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
        title: Untrusted::new(title).one_line(300),
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

/// The person says no to an effect: it lies in Done, whether or not it stood before them. The step that takes
/// it back; `None` when it is over or under way.
pub fn dismiss(tx: &WriteTx<'_>, id: i64) -> Result<Option<i64>, StoreError> {
    let target = entry_target(id);
    let stood = inbox::of_target(tx, ENTRY, &target)?.is_some_and(|entry| entry.state != EntryState::Gone);
    if !effects::dismiss(tx, id)? {
        return Ok(None);
    }
    if !stood {
        suggest(tx, id, None)?;
    }
    inbox::refuse(tx, ENTRY, &target, "dismissed")
}

/// The person takes a no back: the effect waits for their yes again, and whatever has changed since is judged
/// when it is sent. False when no no stands.
pub fn restore(tx: &WriteTx<'_>, target: &str) -> Result<bool, StoreError> {
    let Some(id) = target.strip_prefix("effect/").and_then(|id| id.parse().ok()) else { return Ok(false) };
    let is_back = effects::restore(tx, id)?;
    if is_back {
        suggest(tx, id, None)?;
    }
    Ok(is_back)
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

/// Ends what waits for a person's word, and withdraws what of it went wrong, where its pull request is at another head
/// by now, which is named, or ended. The numbers of those that ended.
pub async fn overtaken(ctx: &Ctx, rows: Vec<(i64, State, Option<Sha>)>) -> Result<BTreeSet<i64>, StoreError> {
    let known = move |tx: &ReadTx<'_>| {
        let mut rows = rows;
        let mut open = inbox::targets(tx, ENTRY, "effect/")?;
        open.sort();
        rows.retain(|(id, state, _)| {
            *state == State::Suggested
                || (*state == State::Failed && open.binary_search(&entry_target(*id)).is_ok())
        });
        Ok::<_, StoreError>(rows)
    };
    let rows = ctx.store.read(known).await?;
    if rows.is_empty() {
        return Ok(BTreeSet::new());
    }
    let end = move |tx: &WriteTx<'_>| {
        let mut ended = BTreeSet::new();
        for (id, state, head) in rows {
            if state == State::Failed {
                retire(tx, id, None)?;
                continue;
            }
            let gone = head.map_or(guard::Gone::Closed, |head| guard::Gone::Moved { head });
            let waits = effects::get(tx, id)?.is_some_and(|row| row.state == State::Suggested);
            if waits && effects::end(tx, id, State::Obsolete, &Why::new(gone.slug(), gone.message()))? {
                retire(tx, id, None)?;
                ended.insert(id);
            }
        }
        Ok::<_, StoreError>(ended)
    };
    ctx.store.write(Durability::Full, end).await
}

/// True where nothing may go out, not even what the person says yes to.
pub fn is_observed(tx: &ReadTx<'_>, config: &Config, row: &effects::EffectRow) -> Result<bool, StoreError> {
    let Some(repo) = RepoName::parse(&row.repository) else { return Ok(true) };
    let power = powers::read(tx, config)?.in_force.of(&row.host, &repo);
    Ok(power.mode() == Mode::Observe)
}
