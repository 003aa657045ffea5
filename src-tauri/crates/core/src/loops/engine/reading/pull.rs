//! One pull request, whole.

use steward_rules::engine::facts::{BaseRef, FlagFinding, HeadRef, LinkedIssue, Listing, PrObs};
use steward_rules::engine::{flag, linked};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::reading::{Reading, Why};
use steward_rules::review::facts::PullState;

use super::tree::{self, Against, Asked};
use super::{Place, ReadFault, account, fact, is_of_all, listing, part, people, runs, said};
use crate::github::types::Pull;
use crate::github::{Answer, GitHubError, Reader, convert};
use crate::loops::Ctx;
use crate::loops::forge::{self, Open};

/// Reads one pull request with everything it is judged by. Nothing of an earlier reading is used; what GitHub
/// says has not changed costs no point of the quota.
pub async fn pull(ctx: &Ctx, place: &Place, number: PullNumber) -> Result<PrObs, ReadFault> {
    let open = forge::open(ctx, &place.host, &place.repo).await?;
    let answer = open.reader.pull(&place.repo, number).await?;
    whole(ctx, place, &open, answer, None).await
}

/// A pull request that was read, with the rest. `before`: as it stood before this commit landed.
pub(super) async fn whole(
    ctx: &Ctx,
    place: &Place,
    open: &Open,
    answer: Answer<Pull>,
    before: Option<&Sha>,
) -> Result<PrObs, ReadFault> {
    let (pull, labels_read_at) = (&answer.value, answer.at);
    let here = here(pull)?;
    let state = match before {
        None => convert::pull_state(pull)?,
        Some(_) => PullState::Open,
    };
    let reader = &open.reader;
    let (name, head) = (&here.name, &pull.head.sha);
    let labels: Vec<String> = pull.labels.iter().map(|label| label.name.clone()).collect();
    let (checks, labelled, reviews, linked_issues, flag, seat, trees) = tokio::try_join!(
        runs::of(reader, place, name, pull, here.repo),
        people::labelled(reader, name, pull.number),
        people::reviews(reader, name, PullNumber(pull.number)),
        linked_of(reader, &place.host, name, pull),
        flag_of(reader, place, name, pull, &labels),
        async { people::seat(ctx, place, PullNumber(pull.number)).await.map_err(ReadFault::from) },
        trees(ctx, place, open, &here, pull, before),
    )?;
    let (base, trees) = trees;
    Ok(PrObs {
        number: PullNumber(pull.number),
        state,
        draft: pull.draft,
        author: account(pull.user.as_ref()),
        head: HeadRef {
            sha: head.clone(),
            branch: pull.head.branch.clone(),
            repo: pull.head.repo.as_ref().map(|repo| repo.id),
        },
        base: BaseRef {
            name: here.name.clone(),
            repo: here.repo,
            branch: pull.base.branch.clone(),
            sha: base.unwrap_or_else(|| pull.base.sha.clone()),
        },
        labels: Reading::known(labels),
        labels_read_at,
        files: trees.files,
        links: trees.links,
        entries: trees.entries,
        check_runs: checks.of_head,
        statuses: checks.statuses,
        verdict_runs: checks.verdict,
        compare: trees.compare,
        labelled,
        reviews,
        seat,
        linked_issues,
        flag,
        read_at: ctx.clock.now(),
    })
}

/// The repository a pull request lies in, as it is called now.
struct Here {
    name: RepoName,
    repo: u64,
}

fn here(pull: &Pull) -> Result<Here, GitHubError> {
    let missing = || GitHubError::Malformed("not what is expected at base.repo".to_owned());
    let repo = pull.base.repo.as_ref().ok_or_else(missing)?;
    Ok(Here { name: RepoName::parse(&repo.full_name).ok_or_else(missing)?, repo: repo.id })
}

/// The trees, and the tip of the base they were held against.
async fn trees(
    ctx: &Ctx,
    place: &Place,
    open: &Open,
    here: &Here,
    pull: &Pull,
    before: Option<&Sha>,
) -> Result<(Option<Sha>, tree::Trees), ReadFault> {
    let against = match before {
        Some(landed) => Ok(Against::Before(landed.clone())),
        None => match part(open.reader.branch(&here.name, &pull.base.branch).await)? {
            Ok(branch) => {
                Ok(Against::Branch { name: pull.base.branch.clone(), tip: branch.value.commit.sha })
            }
            Err(why) => Err(why),
        },
    };
    let asked = Asked {
        line: crate::git::Line { name: here.name.clone(), ..open.line.clone() },
        number: PullNumber(pull.number),
        head: pull.head.sha.clone(),
        against,
    };
    tree::read(ctx, place, asked).await
}

/// The issues it says it closes, with their labels.
async fn linked_of(
    reader: &Reader,
    host: &str,
    name: &RepoName,
    pull: &Pull,
) -> Result<Listing<LinkedIssue>, ReadFault> {
    let body = pull.body.as_ref().map(|body| body.as_data()).unwrap_or_default();
    let numbers = linked::closes(body, host, name);
    let mut found = Listing::whole([]);
    for (at, number) in numbers.into_iter().enumerate() {
        if at == linked::MOST {
            found.complete = false;
            break;
        }
        match reader.issue(name, number).await {
            Ok(issue) if issue.value.pull_request.is_some() => {}
            Ok(issue) => {
                let labels = issue.value.labels.iter().map(|label| label.name().to_owned()).collect();
                found.items.push(LinkedIssue { number, labels });
            }
            // A number nobody ever used, or an issue that was deleted: nothing is closed by it.
            Err(GitHubError::Gone | GitHubError::NotFound) => {}
            Err(error) if is_of_all(&error) => return Err(error.into()),
            Err(_) => found.complete = false,
        }
    }
    Ok(found)
}

/// What the flag names, read only when the flag is there.
async fn flag_of(
    reader: &Reader,
    place: &Place,
    name: &RepoName,
    pull: &Pull,
    labels: &[String],
) -> Result<Reading<Vec<FlagFinding>>, ReadFault> {
    let Some(verdict) = &place.policy.verdict else { return Ok(Reading::known(Vec::new())) };
    let is_flag = |label: &String| label.to_lowercase() == verdict.flag_label.to_lowercase();
    if !labels.iter().any(is_flag) {
        return Ok(Reading::known(Vec::new()));
    }
    let comments = match fact(reader.comments(name, pull.number).await)? {
        Reading::Known { value } => value,
        Reading::Unread { why } => return Ok(Reading::Unread { why }),
    };
    let said = comments
        .iter()
        .rev()
        .filter(|comment| said::is_of_verdict(comment, verdict))
        .find_map(|comment| flag::findings(comment.body.as_ref()?.as_data(), &pull.head.sha));
    Ok(Reading::known(said.unwrap_or_default()))
}

/// A list from a part of a reading.
pub(super) fn listed<T, U>(answer: Result<Vec<T>, Why>, convert: impl Fn(T) -> U) -> Listing<U> {
    listing(answer.map(|items| items.into_iter().map(convert).collect()))
}
