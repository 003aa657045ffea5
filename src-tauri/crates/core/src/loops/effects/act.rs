//! Does one write of a deed, once, and says what became of it in the journal's words.

use std::time::Duration;

use steward_rules::deed::Deed;
use steward_rules::engine::merge::MergePermit;
use steward_rules::engine::reply::{AfterMerge, AfterRerun, Reply, after_merge, after_rerun};
use steward_rules::guard::EffectPermit;
use steward_rules::ids::RepoName;
use steward_rules::power::Mode;
use steward_rules::untrusted::Untrusted;
use tokio_util::sync::CancellationToken;

use chrono::{DateTime, Utc};

use super::trace::{Made, Part};
use super::{decide, look, powers};
use crate::config::Config;
use crate::git::{BareClone, Pushed};
use crate::github::{Client, GitHubError, Wrote};
use crate::loops::{Ctx, forge, pause};
use crate::store::effects::{self, State, Why};
use crate::store::{ReadTx, StoreError};

/// How often it is asked while git pushes whether it may go on: an end is heard within a second.
const END_LOOK: Duration = Duration::from_millis(100);

/// What became of a write.
#[derive(Debug)]
pub(super) enum Answer {
    /// GitHub made it. What else is there is looked for next.
    Posted { id: u64, address: Option<String> },
    /// It is done, and there is nothing else to look for.
    Done(Made),
    /// One write of several is done.
    More,
    /// Nothing was sent; not before then.
    NotYet { until: DateTime<Utc> },
    /// It is certainly not done, and may be tried again then.
    Later { why: Why, until: DateTime<Utc> },
    /// It is certainly not done, and it is over.
    End { state: State, why: Why },
    /// It may be done.
    Unclear(String),
}

/// What may go out, and the way to it.
pub(super) struct Going {
    pub client: Client,
    pub permit: EffectPermit,
    /// The write that is left of a deed of several.
    pub part: Option<Part>,
    /// A merge has the gate's word as well.
    pub gate: Option<MergePermit>,
}

/// Does the permit's deed, or the part of it that is left.
pub(super) async fn act(
    ctx: &Ctx,
    id: i64,
    going: Going,
    stop: &CancellationToken,
) -> Result<Answer, StoreError> {
    let Going { client, permit, part, gate } = going;
    let (writer, now) = (client.writer(), ctx.clock.now());
    let answer = match (permit.deed().clone(), part) {
        (_, Some(Part::PullLabels(number))) => {
            written(writer.add_labels(permit, number).await, now, |()| Answer::More)
        }
        (_, Some(Part::Add)) => {
            let Some(number) = permit.number() else { return Ok(no_place()) };
            written(writer.add_labels(permit, number).await, now, |()| Answer::More)
        }
        (_, Some(Part::Remove(label))) => {
            written(writer.remove_label(permit, &label).await, now, |()| Answer::More)
        }
        (Deed::Comment { .. }, None) => comment(writer.comment(permit).await, now),
        (Deed::Rerun { .. } | Deed::RetryVerdict { .. }, None) => rerun(writer.rerun(permit).await, now),
        (Deed::Merge { .. }, None) => match gate {
            Some(gate) => {
                let web = format!("https://{}/{}/commit/", permit.host(), permit.repo());
                let wrote = writer.merge(permit, gate).await;
                merge(wrote, now, &web)
            }
            None => no_place(),
        },
        // With no part left of a label it is looked at again.
        (Deed::Label { .. }, None) => Answer::More,
        (Deed::Close { .. }, None) => {
            written(writer.close(permit).await, now, |()| Answer::Done(Made::default()))
        }
        (Deed::OpenPull { labels, .. }, None) => {
            let wrote = writer.open_pull(permit).await;
            // Somebody, or another runtime of this account, was first: it is looked for.
            if let Wrote::Refused(GitHubError::Validation { said: Some(said) }) = &wrote
                && said.as_data().contains("pull request already exists")
            {
                return Ok(Answer::More);
            }
            written(wrote, now, |opened| match (labels.is_empty(), u64::try_from(opened.number)) {
                (true, Ok(number)) => Answer::Done(Made {
                    id: Some(number),
                    address: opened.html_url.filter(|url| url.starts_with("http")),
                }),
                _ => Answer::More,
            })
        }
        (Deed::Report { .. }, None) => {
            written(writer.report(permit).await, now, |()| Answer::Done(Made::default()))
        }
        (Deed::Push { .. } | Deed::DeleteBranch { .. }, None) => push(ctx, id, permit, stop).await?,
    };
    Ok(answer)
}

/// The guard lets nothing out that has no place; this is for a defect.
fn no_place() -> Answer {
    Answer::End { state: State::Failed, why: Why::new("unreadable", "it names no place") }
}

/// A comment: what fails for lack of a right is tried again by itself once somebody has mended it.
fn comment(wrote: Wrote<crate::github::types::Comment>, now: DateTime<Utc>) -> Answer {
    match wrote {
        Wrote::Done(comment) => {
            Answer::Posted { id: comment.id, address: comment.html_url.filter(|url| url.starts_with("http")) }
        }
        Wrote::NotYet { until } => Answer::NotYet { until },
        Wrote::Refused(error @ (GitHubError::Gone | GitHubError::Validation { .. })) => {
            Answer::End { state: State::Failed, why: look::why(&error) }
        }
        Wrote::Refused(error) => {
            Answer::Later { until: now + look::again(&error, now), why: look::why(&error) }
        }
        Wrote::Unclear(error) => Answer::Unclear(error.to_string()),
    }
}

/// Any other write: the engine decides anew in its next tick, so nothing is held here but a limit.
fn written<T>(wrote: Wrote<T>, now: DateTime<Utc>, done: impl FnOnce(T) -> Answer) -> Answer {
    let error = match wrote {
        Wrote::Done(value) => return done(value),
        Wrote::NotYet { until } => return Answer::NotYet { until },
        Wrote::Unclear(error) => return Answer::Unclear(error.to_string()),
        Wrote::Refused(error) => error,
    };
    let why = |slug: &str| Why { slug: slug.to_owned(), ..look::why(&error) };
    match &error {
        GitHubError::Auth | GitHubError::Forbidden { .. } => {
            Answer::End { state: State::Failed, why: why("config_fault") }
        }
        GitHubError::Validation { .. } => Answer::End { state: State::Failed, why: why("unprocessable") },
        GitHubError::NotFound | GitHubError::Moved { .. } | GitHubError::Replaced | GitHubError::Gone => {
            Answer::End { state: State::Failed, why: why(error.slug()) }
        }
        GitHubError::Conflict { .. } => Answer::End { state: State::Obsolete, why: why("next_tick") },
        // Nothing was sent, or a limit holds.
        GitHubError::RateLimited { .. }
        | GitHubError::SecondaryLimited { .. }
        | GitHubError::Server { .. }
        | GitHubError::Network(_)
        | GitHubError::Tls(_)
        | GitHubError::Timeout(_)
        | GitHubError::Truncated(_)
        | GitHubError::Malformed(_)
        | GitHubError::TooLarge(_)
        | GitHubError::CaptivePortal => {
            Answer::Later { until: now + look::again(&error, now), why: why(error.slug()) }
        }
    }
}

/// The reply as the rules read it; `None` when nothing reached GitHub.
fn reply<T>(wrote: &Wrote<T>) -> Option<Reply> {
    let error = match wrote {
        Wrote::Done(_) => return Some(Reply::Status(200)),
        Wrote::NotYet { .. } => return None,
        Wrote::Unclear(_) => return Some(Reply::Lost),
        Wrote::Refused(error) => error,
    };
    Some(match error {
        GitHubError::Auth => Reply::Status(401),
        GitHubError::Forbidden { .. } => Reply::Status(403),
        GitHubError::NotFound | GitHubError::Replaced => Reply::Status(404),
        GitHubError::Gone => Reply::Status(410),
        GitHubError::Conflict { .. } => Reply::Status(409),
        GitHubError::Validation { .. } => Reply::Status(422),
        GitHubError::RateLimited { .. } | GitHubError::SecondaryLimited { .. } => Reply::Limited,
        GitHubError::Moved { .. }
        | GitHubError::Server { .. }
        | GitHubError::Network(_)
        | GitHubError::Tls(_)
        | GitHubError::Timeout(_)
        | GitHubError::Truncated(_)
        | GitHubError::Malformed(_)
        | GitHubError::TooLarge(_)
        | GitHubError::CaptivePortal => return None,
    })
}

fn refused<T>(wrote: Wrote<T>) -> Option<GitHubError> {
    match wrote {
        Wrote::Refused(error) => Some(error),
        Wrote::Done(_) | Wrote::NotYet { .. } | Wrote::Unclear(_) => None,
    }
}

/// engine.md 6: once per head; a token without the permission is no attempt.
fn rerun(wrote: Wrote<()>, now: DateTime<Utc>) -> Answer {
    let Some(replied) = reply(&wrote) else { return written(wrote, now, |()| Answer::More) };
    let message = match &wrote {
        Wrote::Refused(error) => error.said().map(|said| said.as_data().to_owned()).unwrap_or_default(),
        Wrote::Done(()) | Wrote::NotYet { .. } | Wrote::Unclear(_) => String::new(),
    };
    let ends = |state, slug: &str, wrote| {
        let detail = refused(wrote).map(|error| look::why(&error).detail).unwrap_or_default();
        Answer::End { state, why: Why::new(slug, detail) }
    };
    match after_rerun(replied, &message) {
        AfterRerun::Asked => Answer::Done(Made::default()),
        AfterRerun::ConfigFault => ends(State::Failed, "config_fault", wrote),
        AfterRerun::CannotRerun => ends(State::Failed, "cannot_rerun", wrote),
        AfterRerun::NextTick if replied == Reply::Limited => written(wrote, now, |()| Answer::More),
        AfterRerun::NextTick => ends(State::Obsolete, "next_tick", wrote),
        AfterRerun::Unknown => Answer::Unclear("GitHub may have done it".to_owned()),
    }
}

/// engine.md 4.6.
fn merge(wrote: Wrote<crate::github::types::Landed>, now: DateTime<Utc>, web: &str) -> Answer {
    let Some(replied) = reply(&wrote) else { return written(wrote, now, |_| Answer::More) };
    if let Wrote::Done(landed) = &wrote {
        return Answer::Done(Made { id: None, address: Some(format!("{web}{}", landed.sha)) });
    }
    let ends = |state, slug: &str, wrote| {
        let detail = refused(wrote).map(|error| look::why(&error).detail).unwrap_or_default();
        Answer::End { state, why: Why::new(slug, detail) }
    };
    match after_merge(replied, 0) {
        AfterMerge::Merged | AfterMerge::Unknown => Answer::Unclear("GitHub may have done it".to_owned()),
        AfterMerge::NextTick if replied == Reply::Limited => written(wrote, now, |_| Answer::More),
        AfterMerge::NextTick => ends(State::Obsolete, "next_tick", wrote),
        AfterMerge::ConfigFault => ends(State::Failed, "config_fault", wrote),
        AfterMerge::ReadAgain => ends(State::Obsolete, "not_found", wrote),
        // Whether it is listed is counted by the engine's memory.
        AfterMerge::Refused { .. } => ends(State::Failed, "unprocessable", wrote),
    }
}

/// True while what is under way may still go out: nothing rests, and its class acts or a person said yes to it.
fn may_go_on(tx: &ReadTx<'_>, config: &Config, id: i64) -> Result<bool, StoreError> {
    let Some(row) = effects::get(tx, id)? else { return Ok(false) };
    let Some(repo) = RepoName::parse(&row.repository) else { return Ok(false) };
    let power = powers::read(tx, config)?.in_force.of(&row.host, &repo);
    let is_let = power.mode() != Mode::Observe && (row.is_approved() || power.acts(row.class));
    Ok(is_let && !decide::is_off(config, &row) && pause::current(tx)?.is_none())
}

/// Pushes. A stop ends git at once; a pause, the engine switched off, and the power taken away, within a second.
async fn push(
    ctx: &Ctx,
    id: i64,
    permit: EffectPermit,
    stop: &CancellationToken,
) -> Result<Answer, StoreError> {
    let now = ctx.clock.now();
    let (host, repo) = (permit.host().to_owned(), permit.repo().clone());
    let line = match forge::push_line(ctx, &host, &repo).await {
        Ok(line) => line,
        Err(error) => {
            let fault = look::no_client(error);
            return Ok(Answer::Later { why: fault.why, until: now + fault.again });
        }
    };
    let cancel = stop.child_token();
    // Dropped with this future: git does not outlive who asked for it.
    let guard = cancel.clone().drop_guard();
    let job = {
        let (ctx, cancel) = (ctx.clone(), cancel.clone());
        tokio::task::spawn_blocking(move || {
            let git = ctx.git()?;
            let clone = BareClone::open_alone(&git, &ctx.home.clones(), &host, &repo)?;
            if let Deed::Push { to, .. } = permit.deed()
                && !clone.has_commit(to)?
            {
                return Ok(None);
            }
            clone.push(permit, &line, &cancel).map(Some)
        })
    };
    let mut job = std::pin::pin!(job);
    let pushed = loop {
        tokio::select! {
            done = &mut job => break done,
            () = tokio::time::sleep(END_LOOK) => {
                let config = ctx.config();
                if !ctx.store.read(move |tx| may_go_on(tx, &config, id)).await? {
                    cancel.cancel();
                }
            }
        }
    };
    drop(guard);
    let fails = |slug: &str, detail: String| {
        let why = Why::new(slug, Untrusted::new(detail).one_line(300));
        Answer::End { state: State::Failed, why }
    };
    Ok(match pushed {
        Ok(Ok(None)) => fails("unread", "the commit to push is not in our clone".to_owned()),
        Ok(Ok(Some(pushed))) => match pushed {
            Pushed::Done => Answer::Done(Made::default()),
            // Git asks again by itself when a line breaks, so it may have met its own push: the branch tells.
            Pushed::Lease => Answer::Unclear("the branch stands elsewhere".to_owned()),
            Pushed::Protected { said } => {
                fails("config_fault", format!("the host takes no such push: {said}"))
            }
            Pushed::Forbidden { said } => fails("config_fault", format!("the token may not push: {said}")),
            Pushed::NotFound => fails("not_found", GitHubError::NotFound.to_string()),
            Pushed::Unclear { said } => Answer::Unclear(said),
        },
        Ok(Err(error)) => Answer::Later { why: Why::new("git", error.to_string()), until: now + look::SOON },
        Err(error) => return Err(StoreError::Value(format!("a defect of Steward: {error}"))),
    })
}
