//! Watched repositories, what is open in them, and what the observer does. Read only.

use std::collections::BTreeMap;

use steward_rules::ids::{PullNumber, TaskId};
use steward_rules::observing::ObserverState;
use steward_rules::power::EffectClass;

use super::error::{ApiError, ErrorCode};
use super::repositories::watched;
use super::requests::{Nothing, RepositoryByName};
use super::{Api, convert, views as v};
use crate::config::{self, Config};
use crate::lock;
use crate::loops::effects::powers;
use crate::loops::observer::standing::{self, Standing};
use crate::loops::origins;
use crate::store::issues::IssueRow;
use crate::store::pulls::PullRow;
use crate::store::repositories::{Known, RepositoryRow};
use crate::store::reviews::ReviewRecord;
use crate::store::{
    Durability, ReadTx, StoreError, api_budget, issues, landings, pulls, repositories, reviews, tasks,
};

/// Longest list of labels shown of one thing.
const LABELS: usize = 20;

pub async fn list(api: &Api, _: Nothing) -> Result<v::RepositoryPage, ApiError> {
    let config = api.config().config.clone();
    let repositories = api
        .store()
        .read(move |tx| config.repositories.iter().map(|one| read_view(tx, &config, one)).collect())
        .await
        .map_err(|error: StoreError| ApiError::from(error))?;
    Ok(v::RepositoryPage { repositories, observer: observer(api).await? })
}

pub async fn show(api: &Api, request: RepositoryByName) -> Result<v::BoardView, ApiError> {
    let config = api.config().config.clone();
    let wanted = watched(&config, &request.name)?.clone();
    let mut board = api
        .store()
        .read(move |tx| -> Result<_, ApiError> {
            let host = config.host_of(&wanted).to_owned();
            let view = read_view(tx, &config, &wanted)?;
            let Some(row) = repositories::find(tx, &host, &wanted.name)? else {
                return Ok(v::BoardView {
                    repository: view,
                    pulls: Vec::new(),
                    issues: Vec::new(),
                    engine: None,
                });
            };
            let base = web_address(&host, &row);
            let followed = Followed::read(tx, &row)?;
            let pulls = pulls::open_of(tx, row.id)?;
            let pulls = pulls.iter().map(|pull| pull_row(&row, pull, &base, &followed)).collect();
            let issues = issues::open_of(tx, row.id)?.iter().map(|issue| issue_row(issue, &base)).collect();
            let engine = super::engine::board(tx, &config, &wanted, &row)?;
            Ok(v::BoardView { repository: view, pulls, issues, engine })
        })
        .await?;
    if let Some(engine) = &mut board.engine {
        engine.no_agent = super::engine::no_agent(api).await;
    }
    Ok(board)
}

/// Asks the running runtime for a tick now.
pub async fn observe_now(api: &Api, _: Nothing) -> Result<v::ObserverView, ApiError> {
    if api.config().config.repositories.is_empty() {
        return Err(ApiError::new(ErrorCode::Refused, "no repository is watched")
            .hint("`steward repo add owner/name` adds one"));
    }
    if !api.is_served() {
        return Err(ApiError::new(ErrorCode::Refused, "no runtime is there to look")
            .hint("open the app, or run `steward serve`"));
    }
    let asked = api
        .store()
        .write(Durability::Full, |tx| -> Result<bool, StoreError> {
            Ok(standing::current(tx)?.state != ObserverState::Looking && standing::ask(tx)?)
        })
        .await?;
    if !asked {
        return Err(ApiError::new(ErrorCode::Refused, "a look is under way or asked for already")
            .hint("wait for it; `steward status` shows when it is done"));
    }
    observer(api).await
}

/// What the observer does, as every process sees it.
pub(super) async fn observer(api: &Api) -> Result<v::ObserverView, ApiError> {
    let (mut standing, budgets) = api
        .store()
        .read(|tx| -> Result<_, StoreError> { Ok((standing::current(tx)?, api_budget::all(tx)?)) })
        .await?;
    let config = api.config();
    if config.config.repositories.is_empty() {
        standing = Standing { state: ObserverState::Off, next_tick: None, problem: None, ..standing };
    } else if lock::holder(api.home()).ok().flatten().is_none() {
        // Nobody looks now, whatever the last runtime was doing when it ended.
        if matches!(standing.state, ObserverState::Looking | ObserverState::Off) {
            standing.state = ObserverState::Waiting;
        }
        standing.next_tick = None;
    }
    Ok(v::ObserverView {
        state: standing.state,
        last_tick: standing.last_tick,
        next_tick: standing.next_tick,
        problem: standing.problem.map(|problem| v::StatusReason {
            code: problem.code,
            message: convert::line(&problem.message),
            hint: Some(problem.hint).filter(|hint| !hint.is_empty()),
        }),
        requests: standing.requests,
        points: standing.points,
        budgets: budgets.iter().map(|row| super::accounts::budget(row, api.now())).collect(),
    })
}

/// Reads again of git which repository each workspace is a clone of, for a client that can wait for it; the views
/// themselves show what was read last.
pub async fn look_at_workspaces(api: &Api) {
    if let Err(error) = origins::look(api.context()).await {
        tracing::warn!(%error, "where the workspaces come from was not kept");
    }
}

/// One watched repository.
pub(super) async fn view(api: &Api, known: &config::Repository) -> Result<v::RepositoryView, ApiError> {
    let (config, known) = (api.config().config.clone(), known.clone());
    Ok(api.store().read(move |tx| read_view(tx, &config, &known)).await?)
}

/// A watched repository as clients see it: what the file says, what of it is in force, and what GitHub last said.
fn read_view(
    tx: &ReadTx<'_>,
    config: &Config,
    known: &config::Repository,
) -> Result<v::RepositoryView, StoreError> {
    let host = config.host_of(known);
    let row = repositories::find(tx, host, &known.name)?;
    let open = match &row {
        Some(row) => repositories::open(tx, row.id)?,
        None => Known::default(),
    };
    let frozen = landings::frozen(tx, host, &known.name)?
        .map(|freeze| v::FreezeView { why: convert::line(&freeze.why), at: freeze.at });
    let powers = powers::read(tx, config)?;
    let power = powers.in_force.of(host, &known.name);
    let acts = |word: &&String| EffectClass::parse(word).is_some_and(|class| power.acts(class));
    let kept = origins::Kept::read(tx)?;
    let workspace = config
        .workspaces
        .iter()
        .find(|one| kept.of(one).is_some_and(|origin| origin.is(host, &known.name)))
        .map(|one| one.title.clone());
    let seen = row.as_ref().and_then(|row| row.seen.as_ref());
    Ok(v::RepositoryView {
        host: host.to_owned(),
        name: known.name.to_string(),
        account: config.account_of(known).map(|account| account.login.clone()),
        mode: power.mode().as_str().to_owned(),
        act: known.act.iter().filter(acts).cloned().collect(),
        asked: v::AskedPower { mode: known.mode.as_str().to_owned(), act: known.act.clone() },
        preset: known.preset.clone(),
        workspace,
        now_called: seen.and_then(|seen| seen.now_called.clone()),
        default_branch: seen.and_then(|seen| seen.default_branch.as_deref()).map(convert::line),
        private: seen.map(|seen| seen.private),
        archived: seen.map(|seen| seen.archived),
        permission: seen.and_then(|seen| seen.permission.clone()),
        observed_at: row.as_ref().and_then(|row| row.observed_at),
        tried_at: row.as_ref().and_then(|row| row.tried_at),
        problem: row.as_ref().and_then(problem),
        open_pulls: open.pulls,
        open_issues: open.issues,
        unconfirmed: powers.waits(host, &known.name),
        frozen,
    })
}

fn problem(row: &RepositoryRow) -> Option<v::StatusReason> {
    if let Some(fault) = &row.fault {
        return Some(v::StatusReason {
            code: fault.slug.clone(),
            message: convert::line(&fault.detail),
            hint: Some(fault.hint.clone()).filter(|hint| !hint.is_empty()),
        });
    }
    let to = row.seen.as_ref()?.now_called.as_ref()?;
    Some(v::StatusReason {
        code: "moved".to_owned(),
        message: format!("it is called {to} on GitHub now"),
        hint: Some("put the new name into config.yaml".to_owned()),
    })
}

/// The tasks of a repository's open pull requests and the newest review of each, read at once.
struct Followed {
    tasks: BTreeMap<PullNumber, TaskId>,
    reviews: BTreeMap<TaskId, ReviewRecord>,
}

impl Followed {
    fn read(tx: &ReadTx<'_>, row: &RepositoryRow) -> Result<Self, StoreError> {
        let tasks = tasks::of_open_pulls(tx, row.id, &row.host, &row.name)?;
        let reviews = reviews::newest_of_open_pulls(tx, row.id, &row.host, &row.name)?;
        Ok(Self {
            tasks: tasks.into_iter().collect(),
            reviews: reviews.into_iter().map(|review| (review.task, review)).collect(),
        })
    }
}

fn pull_row(row: &RepositoryRow, pull: &PullRow, base: &str, followed: &Followed) -> v::PullRow {
    let task = followed.tasks.get(&pull.number);
    let review = task.and_then(|task| followed.reviews.get(task));
    let here = [Some(row.name.to_string()), row.seen.as_ref().and_then(|seen| seen.now_called.clone())];
    let from_here = pull
        .head_repository
        .as_ref()
        .is_some_and(|from| here.iter().flatten().any(|name| name.eq_ignore_ascii_case(from)));
    v::PullRow {
        number: pull.number.0,
        title: convert::line(pull.title.as_data()),
        author: convert::line(&pull.author),
        head: pull.head.to_string(),
        head_branch: convert::line(&pull.head_branch),
        head_repository: pull.head_repository.as_deref().map(convert::line),
        from_fork: !from_here,
        base_branch: convert::line(&pull.base_branch),
        draft: pull.draft,
        labels: labels(&pull.labels),
        checks: checks_word(pull.rollup.as_deref()),
        review_decision: pull.review_decision.as_deref().map(convert::line),
        mergeable: pull.mergeable.as_deref().map(convert::line),
        updated_at: pull.updated_at,
        seen_at: pull.seen_at,
        url: format!("{base}/pull/{}", pull.number),
        task: task.map(|task| task.0),
        review: review.map(convert::review_row),
    }
}

fn issue_row(issue: &IssueRow, base: &str) -> v::IssueRow {
    v::IssueRow {
        number: issue.number,
        title: convert::line(issue.title.as_data()),
        author: convert::line(&issue.author),
        labels: labels(&issue.labels),
        updated_at: issue.updated_at,
        seen_at: issue.seen_at,
        url: format!("{base}/issues/{}", issue.number),
    }
}

fn labels(all: &[String]) -> Vec<String> {
    all.iter().take(LABELS).map(|label| convert::line(label)).collect()
}

/// GitHub's word for all checks of a head (`StatusState`), as the window shows it.
fn checks_word(rollup: Option<&str>) -> v::ChecksWord {
    match rollup {
        None => v::ChecksWord::None,
        Some("SUCCESS") => v::ChecksWord::Passing,
        Some("PENDING" | "EXPECTED") => v::ChecksWord::Pending,
        Some("FAILURE" | "ERROR") => v::ChecksWord::Failing,
        Some(_) => v::ChecksWord::Unknown,
    }
}

/// Where a repository is in a browser.
fn web_address(host: &str, row: &RepositoryRow) -> String {
    let name = match row.seen.as_ref().and_then(|seen| seen.now_called.clone()) {
        Some(moved) => moved,
        None => row.name.to_string(),
    };
    format!("https://{host}/{name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_github_for_checks_has_one_of_ours() {
        for (word, shown) in [
            (None, v::ChecksWord::None),
            (Some("SUCCESS"), v::ChecksWord::Passing),
            (Some("PENDING"), v::ChecksWord::Pending),
            (Some("EXPECTED"), v::ChecksWord::Pending),
            (Some("FAILURE"), v::ChecksWord::Failing),
            (Some("ERROR"), v::ChecksWord::Failing),
            (Some("A_WORD_TO_COME"), v::ChecksWord::Unknown),
        ] {
            assert_eq!(checks_word(word), shown, "{word:?}");
        }
    }
}
