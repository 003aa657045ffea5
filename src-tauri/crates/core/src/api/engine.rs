//! What the engine follows, why something is not merged, and what another policy would have decided.

use chrono::Duration;
use steward_rules::engine::hold::{HOLD_AT_MOST, Round, takes_run};
use steward_rules::engine::memory::{HeadSeen, Memory};
use steward_rules::engine::merge::assess;
use steward_rules::engine::policy::Policy;
use steward_rules::engine::{checks, why};
use steward_rules::ids::{PullNumber, PullRef, RepoName};
use steward_rules::observing::ObserverState;
use steward_rules::reading::Reading;
use steward_rules::wording::{engine as words, items as say};

use super::error::{ApiError, ErrorCode};
use super::repositories::watched;
use super::requests::{ItemBy, ItemList, Nothing, Simulate};
use super::{Api, convert, views as v};
use crate::config::{self, Config, Repository, Severity};
use crate::loops::effects::powers;
use crate::loops::engine::{is_on, memory};
use crate::loops::observer::standing;
use crate::sandbox::Boundary;
use crate::store::engine::{self, RepoRow};
use crate::store::engine_items::{self, ItemEnd, ItemKind, ItemRow};
use crate::store::repositories::{self, RepositoryRow};
use crate::store::{Durability, ReadTx, StoreError, engine_tasks, issues, observations, pulls};

/// How far back a simulation judges (engine.md 16).
const SIMULATED: Duration = Duration::days(30);

pub async fn items(api: &Api, request: ItemList) -> Result<v::ItemPage, ApiError> {
    let config = api.config().config.clone();
    let only = match &request.repository {
        Some(name) => Some(watched(&config, name)?.name.clone()),
        None => None,
    };
    let items = api.store().read(move |tx| all(tx, &config, only.as_ref())).await?;
    Ok(v::ItemPage { items })
}

fn all(tx: &ReadTx<'_>, config: &Config, only: Option<&RepoName>) -> Result<Vec<v::ItemView>, StoreError> {
    let mut found = Vec::new();
    if !is_on(config) {
        return Ok(found);
    }
    for repository in config.repositories.iter().filter(|one| only.is_none_or(|name| *name == one.name)) {
        let Some(row) = repositories::find(tx, config.host_of(repository), &repository.name)? else {
            continue;
        };
        found.extend(of_repository(tx, &row)?);
    }
    Ok(found)
}

/// Everything that is followed in a repository: pull requests first, by number.
fn of_repository(tx: &ReadTx<'_>, row: &RepositoryRow) -> Result<Vec<v::ItemView>, StoreError> {
    let mut found = Vec::new();
    let (titles, mut waits) = (engine_items::titles(tx, row.id)?, engine_tasks::waits_of(tx, row.id)?);
    for kept in engine_items::open_of(tx, row.id)? {
        let called = (kept.kind, kept.number);
        let title = titles.get(&called).map(|title| convert::line(title.as_data())).unwrap_or_default();
        match kept.row {
            Reading::Known { value } if value.ended.is_none() => {
                found.push(shown(row, &value, title, waits.remove(&called)));
            }
            Reading::Known { .. } => {}
            Reading::Unread { why } => {
                let mut item = ItemRow::fresh(kept.kind, kept.number, tx.now());
                item.class = "unreadable".to_owned();
                item.decision = "unreadable".to_owned();
                item.state = why.detail;
                item.stuck = true;
                found.push(view(row, &item, title));
            }
        }
    }
    Ok(found)
}

fn title(tx: &ReadTx<'_>, row: &RepositoryRow, kind: ItemKind, number: i64) -> Result<String, StoreError> {
    Ok(match kind {
        ItemKind::Pr => {
            pulls::get(tx, row.id, PullNumber(number))?.map(|pull| convert::line(pull.title.as_data()))
        }
        ItemKind::Issue => issues::get(tx, row.id, number)?.map(|issue| convert::line(issue.title.as_data())),
    }
    .unwrap_or_default())
}

fn view(row: &RepositoryRow, item: &ItemRow, title: String) -> v::ItemView {
    let action = item.last_action.as_ref();
    v::ItemView {
        repository: row.name.to_string(),
        kind: match item.kind {
            ItemKind::Pr => v::ItemKind::Pull,
            ItemKind::Issue => v::ItemKind::Issue,
        },
        number: item.number,
        title,
        class: item.class.clone(),
        class_reason: convert::line(&item.class_reason),
        decision: item.decision.clone(),
        message: convert::line(&item.state),
        head: item.head.as_ref().map(|seen| seen.sha.to_string()),
        judged_at: item.updated_at,
        last_action: action.map(|(what, _)| convert::line(what)),
        last_action_at: action.map(|(_, at)| *at),
        attempts: item.attempts.spent,
        next_attempt_at: item.attempts.next_at,
        stuck: item.stuck,
        evidence: item.evidence.as_deref().map(convert::paragraph),
        url: format!(
            "https://{}/{}/{}/{}",
            row.host,
            row.name,
            if item.kind == ItemKind::Pr { "pull" } else { "issues" },
            item.number
        ),
        asked_at: item.try_at,
        ended: item.ended.map(|ended| match ended {
            ItemEnd::Merged => v::ItemEnd::Merged,
            ItemEnd::Closed => v::ItemEnd::Closed,
        }),
    }
}

/// An item with what its task waits for, when one is queued.
fn shown(row: &RepositoryRow, item: &ItemRow, title: String, waits: Option<String>) -> v::ItemView {
    let mut shown = view(row, item, title);
    if let Some(why) = waits {
        shown.message = convert::line(&say::waits(&shown.message, &why));
    }
    shown
}

/// The item of `owner/repo#n`, and the repository it is in.
pub(super) struct Asked {
    repository: Repository,
    host: String,
    pub(super) number: i64,
}

impl Asked {
    /// `owner/repo#n`.
    pub(super) fn called(&self) -> String {
        format!("{}#{}", self.repository.name, self.number)
    }
}

pub(super) fn asked(config: &Config, text: &str) -> Result<Asked, ApiError> {
    let found = PullRef::parse(text).ok_or_else(|| {
        ApiError::new(ErrorCode::BadRequest, format!("item: `{}` is not `owner/repo#n`", convert::line(text)))
    })?;
    let named = match &found.host {
        Some(host) => format!("https://{host}/{}", found.repo),
        None => found.repo.to_string(),
    };
    let repository = watched(config, &named)?.clone();
    if !is_on(config) {
        return Err(ApiError::new(ErrorCode::Refused, "the engine is switched off")
            .hint("set engine.enabled in config.yaml"));
    }
    Ok(Asked { host: config.host_of(&repository).to_owned(), repository, number: found.number.0 })
}

pub(super) fn not_followed(asked: &Asked) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("{} is not followed", asked.called()))
        .hint("`steward items` lists what is; the next look may find it")
}

/// The item's row as it stands; a pull request goes before an issue of the same number, which cannot be.
pub(super) fn find(
    tx: &ReadTx<'_>,
    asked: &Asked,
) -> Result<(RepositoryRow, ItemKind, Reading<ItemRow>), ApiError> {
    let row =
        repositories::find(tx, &asked.host, &asked.repository.name)?.ok_or_else(|| not_followed(asked))?;
    for kind in [ItemKind::Pr, ItemKind::Issue] {
        if let Some(item) = engine_items::get(tx, row.id, kind, asked.number)? {
            return Ok((row, kind, item));
        }
    }
    Err(not_followed(asked))
}

/// The item as it stands.
pub(super) fn item_view(tx: &ReadTx<'_>, asked: &Asked) -> Result<v::ItemView, ApiError> {
    let (row, kind, item) = find(tx, asked)?;
    let item = item.get().map_err(|why| ApiError::new(ErrorCode::Store, why.detail.clone()))?;
    Ok(view(&row, item, title(tx, &row, kind, asked.number)?))
}

/// Every condition of the gate in its order, judged by the last whole reading and the policy in force.
pub async fn why(api: &Api, request: ItemBy) -> Result<v::WhyView, ApiError> {
    let config = api.config().config.clone();
    let asked = asked(&config, &request.item)?;
    api.store()
        .read(move |tx| -> Result<_, ApiError> {
            let (row, kind, item) = find(tx, &asked)?;
            let item = item.get().map_err(|why| ApiError::new(ErrorCode::Store, why.detail.clone()))?.clone();
            let title = title(tx, &row, kind, asked.number)?;
            let powers = powers::read(tx, &config)?;
            let mode = powers.in_force.of(&asked.host, &asked.repository.name).mode();
            let task = engine_tasks::open_of(tx, row.id, kind, asked.number)?;
            let mut shown = v::WhyView {
                item: shown(&row, &item, title, task.and_then(|task| task.waits)),
                mode: mode.as_str().to_owned(),
                read_at: None,
                unread: None,
                steps: Vec::new(),
            };
            if kind == ItemKind::Issue {
                return Ok(shown);
            }
            let Some(kept) = observations::pull(tx, row.id, asked.number)? else { return Ok(shown) };
            shown.read_at = Some(kept.read_at);
            let mut seen = match kept.seen {
                Reading::Known { value } => value,
                Reading::Unread { why } => {
                    shown.unread = Some(convert::line(&why.detail));
                    return Ok(shown);
                }
            };
            if let Some(moved) = item.compare.as_ref().filter(|moved| moved.head == seen.head.sha) {
                seen.compare = moved.compare.clone();
            }
            let policy = powers.policy(&asked.host, &asked.repository);
            let number = PullNumber(asked.number);
            let memory = memory::of_pull(tx, &policy, &asked.host, &asked.repository.name, number)?;
            shown.steps = why::table(&seen, &memory, &policy, tx.now()).into_iter().map(condition).collect();
            Ok(shown)
        })
        .await
}

fn condition(
    (step, state, unmet): (steward_rules::engine::steps::StepId, why::StepState, Option<why::Unmet>),
) -> v::ConditionView {
    let (decision, message, not_before, evidence) = match unmet {
        None => (None, None, None, Vec::new()),
        Some(unmet) => (
            Some(unmet.decision.to_owned()),
            Some(convert::line(&unmet.message)),
            unmet.not_before,
            unmet.evidence,
        ),
    };
    v::ConditionView {
        step: step.as_str().to_owned(),
        state: match state {
            why::StepState::Met => v::StepState::Met,
            why::StepState::Unmet => v::StepState::Unmet,
            why::StepState::NotJudged => v::StepState::NotJudged,
        },
        decision,
        message,
        not_before,
        evidence: evidence
            .into_iter()
            .map(|shown| v::ShownView { name: shown.name, value: shown.value, at: shown.at })
            .collect(),
    }
}

/// Calls for a look at GitHub and, while the engine is on, a tick of every repository behind it; refused
/// while one is asked for or under way (engine.md 16).
pub async fn run_now(api: &Api, _: Nothing) -> Result<v::Done, ApiError> {
    let config = api.context().config();
    if config.repositories.is_empty() {
        return Err(ApiError::new(ErrorCode::Refused, "no repository is watched")
            .hint("`steward repo add owner/name` adds one"));
    }
    if !api.is_served() {
        return Err(ApiError::new(ErrorCode::Refused, "no runtime is there to run it")
            .hint("open the app or run `steward serve`"));
    }
    api.store()
        .write(Durability::Full, move |tx| -> Result<_, ApiError> {
            let queued = || {
                ApiError::new(ErrorCode::Refused, "a run is asked for or under way already")
                    .hint("wait for it; `steward status` shows when it is done")
            };
            let mut rows = Vec::new();
            for one in config.repositories.iter().filter(|_| is_on(&config)) {
                rows.extend(repositories::find(tx, config.host_of(one), &one.name)?);
            }
            for row in &rows {
                if !takes_run(engine::round(tx, row.id)?) {
                    return Err(queued());
                }
            }
            if standing::current(tx)?.state == ObserverState::Looking || !standing::ask(tx)? {
                return Err(queued());
            }
            for row in &rows {
                engine::set_round(tx, row.id, Round::Queued)?;
            }
            if !rows.is_empty() {
                tx.topic(engine::CALLED)?;
            }
            Ok(v::Done { message: "GitHub is looked at, and everything is judged".to_owned() })
        })
        .await
}

/// Judges the stored readings of the last 30 days by the policy in force and by the one of an edited file.
pub async fn simulate(api: &Api, request: Simulate) -> Result<v::SimulationView, ApiError> {
    let config = api.config().config.clone();
    let repository = watched(&config, &request.repository)?.clone();
    let edited = edited(&repository.name, &request.config)?;
    let host = config.host_of(&repository).to_owned();
    let from = api.now() - SIMULATED;
    api.store()
        .read(move |tx| -> Result<_, ApiError> {
            let mut shown = v::SimulationView {
                repository: repository.name.to_string(),
                from,
                judged: 0,
                differences: Vec::new(),
            };
            let Some(row) = repositories::find(tx, &host, &repository.name)? else { return Ok(shown) };
            let policy = powers::read(tx, &config)?.policy(&host, &repository);
            let default_branch = row.seen.as_ref().and_then(|seen| seen.default_branch.as_deref());
            let edited = edited.on(default_branch);
            for number in observations::pulls_since(tx, row.id, from)? {
                let title = title(tx, &row, ItemKind::Pr, number)?;
                let mut head: Option<HeadSeen> = None;
                let history = observations::history(tx, row.id, number, from)?;
                for (at, kept) in history.iter().enumerate() {
                    let Ok(seen) = kept.seen.get() else { continue };
                    // It stood so until it was read otherwise.
                    let until = history.get(at + 1).map_or(tx.now(), |next| next.at);
                    let known = head.as_ref().filter(|known| known.sha == seen.head.sha);
                    let first_seen_at = known.map_or(kept.at, |known| known.first_seen_at);
                    let now = HeadSeen { sha: seen.head.sha.clone(), first_seen_at, last_seen_at: kept.at };
                    head = Some(now.clone());
                    let memory = Memory { head: Some(now), ..Memory::default() };
                    let before = assess(seen, &memory, &policy, until);
                    let after = assess(seen, &memory, &edited, until);
                    shown.judged += 1;
                    if before == after {
                        continue;
                    }
                    shown.differences.push(v::DifferenceView {
                        number,
                        title: title.clone(),
                        at: kept.read_at,
                        head: seen.head.sha.to_string(),
                        before: before.slug().to_owned(),
                        before_message: convert::line(&before.message()),
                        after: after.slug().to_owned(),
                        after_message: convert::line(&after.message()),
                    });
                }
            }
            Ok(shown)
        })
        .await
}

/// The policy of a repository in an edited config file.
fn edited(name: &RepoName, text: &str) -> Result<Policy, ApiError> {
    let bad = |message: String| ApiError::new(ErrorCode::BadRequest, message);
    let checked =
        config::check(text, None).map_err(|problem| bad(format!("the file: {}", problem.message)))?;
    let fault = checked.problems.iter().find(|problem| match problem.severity {
        Severity::Fatal | Severity::Error => problem.key.starts_with("repositories"),
        Severity::Warning => false,
    });
    if let Some(problem) = fault {
        return Err(bad(format!("line {}: {}: {}", problem.line, problem.key, problem.message)));
    }
    let found = checked.config.repository(name).ok_or_else(|| bad(format!("the file watches no {name}")))?;
    Ok(found.engine.clone())
}

/// The engine's side of a board; `None` while it is off.
pub(super) fn board(
    tx: &ReadTx<'_>,
    config: &Config,
    repository: &Repository,
    row: &RepositoryRow,
) -> Result<Option<v::EngineBoardView>, StoreError> {
    if !is_on(config) {
        return Ok(None);
    }
    let repo: RepoRow = engine::get(tx, row.id)?;
    let policy = powers::read(tx, config)?.policy(config.host_of(repository), repository);
    let warnings = checks::name_warnings(&policy, &repo.names, tx.now());
    Ok(Some(v::EngineBoardView {
        last_tick: repo.last_tick,
        next_tick: repo.next_look,
        problem: repo.fault.map(|fault| v::StatusReason {
            code: fault.slug,
            message: convert::line(&fault.detail),
            hint: None,
        }),
        no_agent: None,
        hold: repo.hold.map(|hold| v::HoldView { number: hold.pull.0, until: hold.since + HOLD_AT_MOST }),
        agent_runs_today: engine_tasks::started_today(tx, row.id)?,
        agent_runs_cap: policy.agent.daily_runs,
        warnings: warnings.iter().map(words::name_warning).collect(),
        required_checks: policy.required_checks.iter().map(|name| convert::line(name)).collect(),
        items: of_repository(tx, row)?,
    }))
}

/// Why no agent is started, when that is so.
pub(super) async fn no_agent(api: &Api) -> Option<v::StatusReason> {
    // Choosing it starts processes, the first time.
    let ctx = api.context().clone();
    let chosen = tokio::task::spawn_blocking(move || ctx.boundary()).await;
    match chosen.unwrap_or_else(|error| Boundary::None { reason: error.to_string() }) {
        Boundary::Bubblewrap { .. } | Boundary::Landlock { .. } | Boundary::SandboxProfile => None,
        Boundary::None { reason } => Some(v::StatusReason {
            code: "boundary".to_owned(),
            message: convert::line(&reason),
            hint: Some("install bubblewrap".to_owned()),
        }),
    }
}

/// The engine's section of the status; `None` while it is off (engine.md 16).
pub(super) async fn status(api: &Api) -> Result<Option<v::StewardStatus>, ApiError> {
    let config = api.config().config.clone();
    if !is_on(&config) {
        return Ok(None);
    }
    let items = api.store().read(move |tx| all(tx, &config, None)).await?;
    let boundary = match no_agent(api).await {
        None => v::BoundaryStatus { state: "ready".to_owned(), reason: None },
        Some(why) => v::BoundaryStatus { state: "none".to_owned(), reason: Some(why.message) },
    };
    let stuck = items.iter().filter(|item| item.stuck).map(|item| v::StuckStatus {
        repo: item.repository.clone(),
        number: item.number,
        failures: item.attempts,
        evidence: item.evidence.clone(),
    });
    Ok(Some(v::StewardStatus {
        boundary,
        stuck: stuck.collect(),
        items: items
            .into_iter()
            .map(|item| v::ItemStatus {
                repo: item.repository,
                kind: item.kind,
                number: item.number,
                class: item.class,
                state: item.message,
                last_action: item.last_action,
                attempts: item.attempts,
                next_attempt_at: item.next_attempt_at,
            })
            .collect(),
    }))
}
