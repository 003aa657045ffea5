//! What GitHub says of one head: its pull request, its checks, what else is open, and which commits git
//! has to bring. Every read is conditional, so that an unchanged answer costs nothing.

use chrono::{DateTime, Utc};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::reading::{Cause, Reading, Why};
use steward_rules::review::facts::{BaseFacts, BaseSource, CheckFacts, Forge, OtherPull, PullFacts, Pushed};
use tokio_util::sync::CancellationToken;

use crate::git::{BareClone, GitError, Line, OtherHead, Tip, Wanted, facts};
use crate::github::{OpenPull, Reader};
use crate::loops::Ctx;
use crate::loops::forge::{Asking, Open};
use crate::store::{Durability, StoreError, heads_seen};

/// Pull requests whose commits are asked for one by one when git could not bring them.
const ASKED_ONE_BY_ONE: usize = 20;

/// Which head is asked about.
pub(super) struct Subject<'a> {
    pub head: &'a Sha,
    pub branch: &'a str,
    /// The pull request, when the task is one's; else it is looked up by the branch.
    pub pull: Option<PullNumber>,
    /// The integration branch, when the config file names one; else the repository's default branch.
    pub integration: Option<&'a str>,
}

/// What GitHub said.
pub(super) struct Said {
    pub forge: Forge,
    /// Name of the integration branch, as far as it is known.
    pub integration: Option<String>,
    /// The integration branch's tip.
    pub tip: Reading<Sha>,
    pub pull: Reading<Option<PullFacts>>,
    pub pushed: Reading<Pushed>,
    pub checks: Reading<CheckFacts>,
    /// Every open pull request.
    pub open: Reading<Vec<OpenPull>>,
    /// Reader and line for git, under the name the repository has now.
    pub ways: Option<(Reader, Line)>,
}

impl Said {
    /// Nothing was said, for this reason.
    fn nothing(forge: Forge, why: &Why) -> Self {
        Self {
            forge,
            integration: None,
            tip: Err(why.clone()).into(),
            pull: Err(why.clone()).into(),
            pushed: Err(why.clone()).into(),
            checks: Err(why.clone()).into(),
            open: Err(why.clone()).into(),
            ways: None,
        }
    }
}

/// Why there is nothing of GitHub to judge by.
pub(super) fn silence(forge: Forge) -> Why {
    match forge {
        Forge::None => Why::new(Cause::NotReadYet, "judged without GitHub"),
        Forge::SignedOut | Forge::GitHub => Why::new(Cause::SignedOut, "sign in to GitHub"),
    }
}

/// Asks everything the gates need of GitHub.
pub(super) async fn read(ctx: &Ctx, asking: Asking, subject: &Subject<'_>) -> Result<Said, StoreError> {
    let forge = asking.forge();
    let open = match asking {
        Asking::Open(open) => open,
        Asking::Shut(why) => return Ok(Said::nothing(forge, &why)),
        Asking::Not | Asking::SignedOut => return Ok(Said::nothing(forge, &silence(forge))),
    };
    let (name, default) = match now_called(&open).await {
        Ok(found) => found,
        Err(why) => return Ok(Said::nothing(forge, &why)),
    };
    let Open { reader, line } = *open;
    let integration = subject.integration.map(str::to_owned).or(default);
    let (tip, pulls, standing) = tokio::join!(
        tip_of(&reader, &name, integration.as_deref()),
        reader.open_pull_facts(&name),
        standing(ctx, &reader, &line.host, &name, subject),
    );
    let Standing { pull, pushed, checks } = standing?;
    let ways = Some((reader, Line { name, ..line }));
    Ok(Said { forge, integration, tip, pull, pushed, checks, open: pulls, ways })
}

/// The tip of the integration branch, as GitHub names it.
async fn tip_of(reader: &Reader, name: &RepoName, integration: Option<&str>) -> Reading<Sha> {
    let Some(branch) = integration else {
        return Reading::unread(Cause::NoBase, "GitHub names no default branch");
    };
    match reader.branch_tip(name, branch).await {
        Reading::Known { value: Some(tip) } => Reading::known(tip),
        Reading::Known { value: None } => {
            Reading::unread(Cause::NoBase, format!("there is no branch {branch} on GitHub"))
        }
        Reading::Unread { why } => Reading::Unread { why },
    }
}

/// What CI says of the head, and nothing else.
pub(super) async fn checks(
    ctx: &Ctx,
    asking: Asking,
    subject: &Subject<'_>,
) -> Result<Reading<CheckFacts>, StoreError> {
    let open = match asking {
        Asking::Open(open) => open,
        Asking::Shut(why) => return Ok(Err(why).into()),
        Asking::Not => return Ok(Err(silence(Forge::None)).into()),
        Asking::SignedOut => return Ok(Err(silence(Forge::SignedOut)).into()),
    };
    match now_called(&open).await {
        Ok((name, _)) => Ok(standing(ctx, &open.reader, &open.line.host, &name, subject).await?.checks),
        Err(why) => Ok(Err(why).into()),
    }
}

/// Whether the remote has the head.
pub(in crate::loops) async fn pushed(open: &Open, branch: &str, head: &Sha) -> Reading<Pushed> {
    let subject = Subject { head, branch, pull: None, integration: None };
    let name = match now_called(open).await {
        Ok((name, _)) => name,
        Err(why) => return Err(why).into(),
    };
    let pull = pull_of(&open.reader, &name, &subject).await;
    pushed_of(&open.reader, &name, &subject, &pull).await
}

/// What the repository is called now, and its default branch. Everything else is asked under that name:
/// a search for a branch's pull request names the owner, and git follows no redirect.
async fn now_called(open: &Open) -> Result<(RepoName, Option<String>), Why> {
    let repo = open.reader.repo(&open.line.name).await.map_err(|error| error.why())?.value;
    let name = RepoName::parse(&repo.full_name).unwrap_or_else(|| open.line.name.clone());
    Ok((name, repo.default_branch))
}

struct Standing {
    pull: Reading<Option<PullFacts>>,
    pushed: Reading<Pushed>,
    checks: Reading<CheckFacts>,
}

async fn standing(
    ctx: &Ctx,
    reader: &Reader,
    host: &str,
    name: &RepoName,
    subject: &Subject<'_>,
) -> Result<Standing, StoreError> {
    let pull = pull_of(reader, name, subject).await;
    let pushed = pushed_of(reader, name, subject, &pull).await;
    let checks = match pushed.get() {
        Ok(Pushed::Yes) => {
            let since = first_seen(ctx, host, name, subject.head).await?;
            reader.check_facts(name, subject.head, since).await
        }
        Ok(Pushed::No { .. }) => Reading::unread(Cause::NotReadYet, "the head is not on GitHub"),
        Err(why) => Err(why.clone()).into(),
    };
    Ok(Standing { pull, pushed, checks })
}

async fn pull_of(reader: &Reader, name: &RepoName, subject: &Subject<'_>) -> Reading<Option<PullFacts>> {
    match subject.pull {
        Some(number) => reader.pull_facts(name, number).await.map(Some),
        None => reader.pull_of_branch(name, subject.branch).await.map(|found| found.map(|one| one.facts)),
    }
}

/// GitHub keeps the head of a pull request as a ref of its own, so that one says it; else the branch.
async fn pushed_of(
    reader: &Reader,
    name: &RepoName,
    subject: &Subject<'_>,
    pull: &Reading<Option<PullFacts>>,
) -> Reading<Pushed> {
    match (pull.get(), subject.pull) {
        (Ok(Some(pull)), _) if pull.head == *subject.head => Reading::known(Pushed::Yes),
        (Ok(Some(pull)), Some(_)) => Reading::known(Pushed::No { remote: Some(pull.head.clone()) }),
        (Err(why), Some(_)) => Err(why.clone()).into(),
        (Ok(None), Some(_)) => Reading::known(Pushed::No { remote: None }),
        (Ok(_) | Err(_), None) => reader.pushed(name, subject.branch, subject.head).await,
    }
}

/// Since when the head is on the remote, by our clock.
async fn first_seen(ctx: &Ctx, host: &str, name: &RepoName, head: &Sha) -> Result<DateTime<Utc>, StoreError> {
    let key = (host.to_owned(), name.clone(), head.clone());
    let (host, repo, sha) = key.clone();
    if let Some(at) = ctx.store.read(move |tx| heads_seen::find(tx, &host, &repo, &sha)).await? {
        return Ok(at);
    }
    let (host, repo, sha) = key;
    ctx.store.write(Durability::Normal, move |tx| heads_seen::note(tx, &host, &repo, &sha)).await
}

/// What git brings, and into which clone.
pub(super) struct Bringing<'a> {
    pub clone: &'a BareClone,
    pub said: &'a Said,
    /// The pull request, when the task is one's.
    pub own: Option<PullNumber>,
    pub cancel: &'a CancellationToken,
}

impl Bringing<'_> {
    /// The tip of the integration branch, with its objects and those of the head here. `haves` are commits
    /// that a workspace lends.
    pub fn tip(&self, head: &Sha, haves: &[Sha], now: DateTime<Utc>) -> Reading<Tip> {
        let Self { clone, said, own, cancel } = *self;
        let sha = match said.tip.get() {
            Ok(sha) => sha,
            Err(why) => return Err(why.clone()).into(),
        };
        let (Some((_, line)), Some(branch)) = (&said.ways, &said.integration) else {
            return Reading::unread(Cause::NotReadYet, "GitHub was not asked");
        };
        let mut wanted = vec![Wanted::branch(branch, sha)];
        if let (Some(number), Ok(Some(pull))) = (own, said.pull.get()) {
            wanted.push(Wanted::pull(number, &pull.head));
        }
        let brought = clone.fetch(line, &wanted, haves, cancel).and_then(|()| {
            // A head that was pushed over meanwhile is no ref any more; what is judged is still that one.
            match wanted.iter().any(|one| one.is(head)) || own.is_none() || clone.has_commit(head)? {
                true => Ok(()),
                false => clone.fetch(line, &[Wanted::commit(head)], &[], cancel),
            }
        });
        match brought {
            Ok(()) => Reading::known(Tip {
                branch: branch.clone(),
                sha: sha.clone(),
                fetched_at: now,
                source: BaseSource::Fetched,
            }),
            Err(error) => Err(error.why()).into(),
        }
    }

    /// Brings the heads of all other open pull requests in one go and reads their commits.
    pub fn others(&self, tip: &Reading<Tip>) -> Reading<Others> {
        let Self { clone, said, cancel, .. } = *self;
        let own = said.pull.get().ok().and_then(|pull| pull.as_ref()).map(|pull| pull.number);
        let (tip, open) = match (tip.get(), said.open.get()) {
            (Ok(tip), Ok(open)) => (tip, open),
            (_, Err(why)) | (Err(why), _) => return Err(why.clone()).into(),
        };
        let heads: Vec<OtherHead> = open
            .iter()
            .filter(|pull| Some(pull.facts.number) != own)
            .map(|pull| OtherHead {
                number: pull.facts.number,
                head: pull.facts.head.clone(),
                other_base: (pull.facts.base_branch != tip.branch).then(|| pull.facts.base_sha.clone()),
            })
            .collect();
        let wanted: Vec<Wanted> = heads.iter().map(|one| Wanted::pull(one.number, &one.head)).collect();
        let brought = match &said.ways {
            Some((_, line)) => clone.fetch_sound(line, &wanted, cancel),
            None => Ok(()),
        };
        let why = match brought {
            Err(error @ GitError::Cancelled { .. }) => return Err(error.why()).into(),
            Err(error) => Some(error.why()),
            Ok(()) => None,
        };
        match facts::others(clone, &tip.sha, &heads, cancel) {
            Ok(read) => {
                let missing =
                    heads.iter().zip(&read).filter(|(_, found)| found.is_none()).map(|(one, _)| one.number);
                let missing = missing.collect();
                Reading::known(Others { found: read.into_iter().flatten().collect(), missing, why })
            }
            Err(error) => Err(error.why()).into(),
        }
    }
}

/// Whether the base of the pull request is in the integration branch.
pub(super) fn base_is_in(clone: &BareClone, base: &Reading<BaseFacts>, pull: &PullFacts) -> Reading<bool> {
    match base.get() {
        Ok(base) => facts::has_ancestor(clone, &base.tip, &pull.base_sha).map_err(|error| error.why()).into(),
        Err(why) => Err(why.clone()).into(),
    }
}

/// What git found of the other open pull requests, and which ones it has not.
pub(super) struct Others {
    found: Vec<OtherPull>,
    missing: Vec<PullNumber>,
    /// Why git has not brought those.
    why: Option<Why>,
}

/// Completes them by GitHub's own lists, for the few that git could not bring: one pull request with a
/// broken object must not hold all others.
pub(super) async fn complete(said: &Said, others: Reading<Others>) -> Reading<Vec<OtherPull>> {
    let Others { mut found, missing, why } = match others {
        Reading::Known { value } => value,
        Reading::Unread { why } => return Reading::Unread { why },
    };
    let unread = || match &why {
        Some(why) => Reading::Unread { why: why.clone() },
        None => Reading::unread(Cause::FetchFailed, "the other pull requests could not be fetched whole"),
    };
    if !missing.is_empty() {
        let Some((reader, line)) = &said.ways else { return unread() };
        if missing.len() > ASKED_ONE_BY_ONE {
            return unread();
        }
        for number in missing {
            match reader.pull_commit_ids(&line.name, number).await {
                Reading::Known { value: commits } => {
                    found.push(OtherPull { number, commits, patch_ids: Vec::new() });
                }
                Reading::Unread { why } => return Reading::Unread { why },
            }
        }
    }
    found.sort_by_key(|one| one.number);
    Reading::known(found)
}
