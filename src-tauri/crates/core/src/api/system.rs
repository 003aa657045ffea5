//! The runtime's state, money, health, the pause switch, seats and backups.

use std::path::{Path, PathBuf};

use steward_rules::caller::Caller;

use super::error::{ApiError, ErrorCode};
use super::requests::{Nothing, Why};
use super::{Api, convert, views as v};
use crate::clock::{Clock, SystemClock};
use crate::config::{Config, Role, Severity, seats};
use crate::home::Home;
use crate::keychain::{AGENT, KeyringState};
use crate::lock::{self, HolderKind};
use crate::loops::effects::powers;
use crate::loops::engine::is_on;
use crate::loops::review::breaker;
use crate::loops::{pause as pausing, seat, supervisor};
use crate::sandbox::{self, Boundary, CheckId, CheckOutcome};
use crate::store::inbox::{self as store_inbox, EntryState};
use crate::store::spending;
use crate::store::{
    Mode, ReadTx, StoreError, backup as store_backup, doctor::CheckState, engine, engine_tasks, health,
    repositories, reviews, tasks,
};
use crate::{agent, config};

/// How long the status tells of a recovery.
const RECOVERY_SHOWN: chrono::Duration = chrono::Duration::days(7);

pub async fn status(api: &Api, _: Nothing) -> Result<v::Status, ApiError> {
    let loaded = api.config();
    let in_force = loaded.clone();
    let read = api
        .store()
        .read(move |tx| -> Result<_, StoreError> {
            let (open, held) = reviews::open_counts(tx)?;
            Ok((
                pausing::current(tx)?,
                open,
                held,
                breaker::current(tx)?.is_open(),
                store_inbox::counts(tx, EntryState::Open)?,
                tasks::count(tx)?,
                spending::today_and_month(tx)?,
                supervisor::last_tick(tx)?,
                health::last_recovery(tx)?,
                powers::spend(tx, &in_force.config)?,
                of_repositories(tx, &in_force.config)?,
                engine_tasks::running(tx)?,
            ))
        })
        .await?;
    let (
        paused,
        open_reviews,
        held_reviews,
        breaker_open,
        inbox,
        tasks,
        spent,
        tick,
        recovered,
        caps,
        faults,
        work,
    ) = read;
    let holder = lock::holder(api.home()).ok().flatten();
    let mut reasons = reasons(api, &loaded).await;
    reasons.extend(faults);
    reasons.extend(super::accounts::reasons(api, &loaded.config).await?);
    if let Some(recovery) = recovered.filter(|r| api.now() - r.at < RECOVERY_SHOWN) {
        reasons.push(v::StatusReason {
            code: "recovered".to_owned(),
            message: recovery.message(),
            hint: Some("`steward doctor` looks at everything".to_owned()),
        });
    }
    let read_only = matches!(api.store().mode(), Mode::ReadOnly(_));
    let state = if read_only {
        v::RuntimeState::ReadOnly
    } else if paused.is_some() {
        v::RuntimeState::Paused
    } else if reasons
        .iter()
        .any(|r| !matches!(r.code.as_str(), "config_warning" | "recovered" | "token_expires"))
    {
        v::RuntimeState::Degraded
    } else if holder.is_none() {
        v::RuntimeState::NoRuntime
    } else {
        v::RuntimeState::Running
    };
    Ok(v::Status {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        state,
        reasons,
        is_holder: holder.as_ref().is_some_and(|h| h.pid == std::process::id()),
        holder: holder.map(|h| v::HolderView {
            kind: kind_word(h.kind).to_owned(),
            pid: h.pid,
            since: h.started,
        }),
        last_tick: tick,
        paused: paused.map(|p| v::PauseView { why: convert::line(&p.why), since: p.since }),
        review_enabled: loaded.config.review.enabled,
        open_reviews,
        held_reviews,
        engine_tasks: work,
        breaker_open,
        inbox_open: inbox.total,
        inbox_unread: inbox.unread,
        tasks,
        spend: spend(caps, &spent.0, &spent.1),
        observer: super::board::observer(api).await?,
        questions: super::roster::status(api).await?,
        steward: super::engine::status(api).await?,
        now: api.now(),
    })
}

fn kind_word(kind: HolderKind) -> &'static str {
    match kind {
        HolderKind::Desktop => "desktop",
        HolderKind::Serve => "serve",
        HolderKind::Command => "command",
    }
}

/// What of the configuration keeps watched repositories from being read or acted on: it does not pass by
/// itself (engine.md 4.6 and 18).
fn of_repositories(tx: &ReadTx<'_>, config: &Config) -> Result<Vec<v::StatusReason>, StoreError> {
    let mut reasons = Vec::new();
    for one in &config.repositories {
        let Some(row) = repositories::find(tx, config.host_of(one), &one.name)? else { continue };
        let seen = row.fault.filter(|fault| does_not_pass(&fault.slug)).map(|f| (f.detail, f.hint));
        let of_engine = match is_on(config) {
            true => engine::get(tx, row.id)?.fault.map(|fault| (fault.detail, String::new())),
            false => None,
        };
        reasons.extend(seen.or(of_engine).map(|(detail, hint)| v::StatusReason {
            code: "repository".to_owned(),
            message: format!("{}: {}", row.name, convert::line(&detail)),
            hint: Some(convert::line(&hint)).filter(|hint| !hint.is_empty()),
        }));
    }
    Ok(reasons)
}

/// True for a fault that only a person mends. A token that is refused is its account's reason.
fn does_not_pass(slug: &str) -> bool {
    matches!(slug, "forbidden" | "not_found" | "moved" | "gone" | "replaced")
}

/// True when something is switched on that starts agents, which needs a boundary (engine.md 13).
fn starts_agents(config: &Config) -> bool {
    config.review.enabled || is_on(config)
}

/// Why the whole is less than it could be.
async fn reasons(api: &Api, loaded: &config::Loaded) -> Vec<v::StatusReason> {
    let mut reasons = Vec::new();
    let reason = |code: &str, message: String, hint: Option<&str>| v::StatusReason {
        code: code.to_owned(),
        message,
        hint: hint.map(str::to_owned),
    };
    if let Mode::ReadOnly(why) = api.store().mode() {
        reasons.push(reason("read_only", why, Some("everything can be seen; nothing can be changed")));
    }
    for problem in &loaded.problems {
        let at = match problem.line {
            0 => problem.message.clone(),
            line if problem.key.is_empty() => format!("config.yaml:{line}: {}", problem.message),
            line => format!("config.yaml:{line}: {}: {}", problem.key, problem.message),
        };
        let code = match problem.severity {
            Severity::Fatal | Severity::Error => "config",
            Severity::Warning => "config_warning",
        };
        reasons.push(reason(code, at, Some("`steward config check` shows it all")));
    }
    if let Err(error) = api.context().git() {
        reasons.push(reason("git", error.to_string(), Some(error.hint())));
    }
    if starts_agents(&loaded.config)
        && let Some(why) = super::engine::no_agent(api).await
    {
        reasons.push(v::StatusReason { message: format!("no agent is started: {}", why.message), ..why });
    }
    reasons
}

fn spend(caps: config::Spend, today: &spending::Spent, month: &spending::Spent) -> v::SpendView {
    v::SpendView {
        today_usd: today.usd,
        month_usd: month.usd,
        daily_cap_usd: caps.daily_usd,
        monthly_cap_usd: caps.monthly_usd,
        unknown_today: today.unknown,
        tokens_today: today.tokens,
        exhausted: today.usd >= caps.daily_usd || month.usd >= caps.monthly_usd,
    }
}

pub async fn budget(api: &Api, _: Nothing) -> Result<v::SpendView, ApiError> {
    let loaded = api.config();
    let (caps, (today, month)) = api
        .store()
        .read(move |tx| {
            Ok::<_, StoreError>((powers::spend(tx, &loaded.config)?, spending::today_and_month(tx)?))
        })
        .await?;
    Ok(spend(caps, &today, &month))
}

pub async fn pause(api: &Api, request: Why) -> Result<v::Status, ApiError> {
    let why = request.why.trim().to_owned();
    if why.is_empty() {
        return Err(ApiError::new(
            ErrorCode::BadRequest,
            "why: a pause needs a reason, it is shown everywhere",
        ));
    }
    pausing::pause(api.context(), &why).await?;
    status(api, Nothing {}).await
}

pub async fn resume(api: &Api, _: Nothing) -> Result<v::Status, ApiError> {
    api.person("lift the pause")?;
    pausing::resume(api.context()).await?;
    status(api, Nothing {}).await
}

pub async fn seats_seed(api: &Api, _: Nothing) -> Result<v::Done, ApiError> {
    let seeded =
        seats::seed(&api.context().home).map_err(|e| ApiError::new(ErrorCode::Config, e.to_string()))?;
    let names: Vec<String> =
        seeded.iter().filter(|seat| seat.written).map(|seat| seat.path.display().to_string()).collect();
    let message = if names.is_empty() {
        "every seat file is there already".to_owned()
    } else {
        format!("wrote {}", names.join(", "))
    };
    Ok(v::Done { message })
}

/// The agent a review would run: program, boundary with its probe, credential.
pub async fn agent_report(api: &Api, _: Nothing) -> Result<v::AgentView, ApiError> {
    let ctx = api.context();
    let seat = seat::read(ctx, Role::Reviewer);
    let boundary = ctx.boundary();
    let report = match &seat {
        Ok(seat) => Some(agent::probe(&seat.choice, &boundary).await),
        Err(_) => None,
    };
    let probe = sandbox::probe(&boundary, &ctx.home, &ctx.steward).await;
    let reason = |code: &str, message: String, hint: Option<String>| v::StatusReason {
        code: code.to_owned(),
        message,
        hint,
    };
    let mut problem = None;
    let (mut adapter, mut program, mut version, mut risk) = ("claude".to_owned(), None, None, None);
    match (&seat, report) {
        (Err(error), _) => {
            problem = Some(reason("no_seat", error.to_string(), Some("steward seats seed".to_owned())));
        }
        (Ok(seat), Some(report)) => {
            adapter = seat.adapter.as_str().to_owned();
            risk = report.residual.first().map(|r| (*r).to_owned());
            program = report.program.as_ref().map(|p| p.display().to_string());
            version = report.version.clone();
            if let Err(why) = &report.confinable {
                problem = Some(reason("agent", why.to_string(), report.hint.clone()));
            }
        }
        (Ok(_), None) => {}
    }
    if let Boundary::None { reason: why } = &boundary {
        problem = problem.or(Some(reason("boundary", why.clone(), Some("install bubblewrap".to_owned()))));
    }
    let checks: Vec<v::CheckView> = probe.checks.iter().map(check_view).collect();
    if problem.is_none()
        && let Some(failed) = checks.iter().find(|c| !c.ok)
    {
        problem =
            Some(reason("boundary", format!("{}: {}", failed.name, failed.detail), failed.hint.clone()));
    }
    let (credential, credential_hint) = credential(api).await;
    Ok(v::AgentView {
        role: "reviewer".to_owned(),
        adapter,
        program,
        version,
        ready: problem.is_none(),
        problem,
        boundary: boundary.name().to_owned(),
        boundary_checks: checks,
        credential,
        credential_hint,
        risk,
    })
}

fn check_view(check: &sandbox::Check) -> v::CheckView {
    let (ok, detail) = match &check.outcome {
        CheckOutcome::Holds => (true, "holds".to_owned()),
        CheckOutcome::Weaker(how) => (true, format!("weaker: {how}")),
        CheckOutcome::Fails(why) => (false, why.clone()),
    };
    v::CheckView { name: check_name(check.id).to_owned(), ok, detail, hint: None }
}

fn check_name(id: CheckId) -> &'static str {
    match id {
        CheckId::Starts => "the boundary starts",
        CheckId::CanarySecret => "a secret outside is unreadable",
        CheckId::OtherEnvironments => "other processes' environments are unreadable",
        CheckId::OtherCommandLines => "other processes' command lines are unreadable",
        CheckId::CloneRoot => "the clones are unreachable",
        CheckId::GitFolder => "the .git folder is unreachable",
        CheckId::DataFolder => "the data folder is unreachable",
        CheckId::ConfigFolder => "the config folder is unreachable",
        CheckId::Loopback => "loopback is closed",
        CheckId::ReadOnlyTree => "the tree is read-only",
        CheckId::InboxWritable => "the submission folder is writable",
        CheckId::NothingLeftRunning => "nothing is left running after the end",
    }
}

/// The word of the credential's state, and the next step.
async fn credential(api: &Api) -> (String, Option<String>) {
    let set = Some("steward auth agent".to_owned());
    match api.keychain().get(AGENT).await {
        Ok(Some(found)) => match found.source {
            crate::keychain::SecretSource::Keyring => ("ready".to_owned(), None),
            crate::keychain::SecretSource::Environment => ("environment".to_owned(), None),
        },
        Ok(None) => ("missing".to_owned(), set),
        Err(error) => {
            let state = error.state();
            let hint = state.as_ref().and_then(KeyringState::next_step).map(str::to_owned);
            let word = match state {
                Some(KeyringState::Locked) => "locked",
                Some(KeyringState::Absent(_)) => "absent",
                Some(KeyringState::Denied) => "denied",
                Some(KeyringState::Ready) | None => "missing",
            };
            (word.to_owned(), hint.or(set))
        }
    }
}

pub async fn doctor(api: &Api, _: Nothing) -> Result<v::DoctorView, ApiError> {
    let mut checks: Vec<v::CheckView> = api
        .store()
        .doctor()
        .await?
        .into_iter()
        .map(|check| v::CheckView {
            name: check.id.replace('_', " "),
            // A warning is no fault: it is shown with its next step and leaves the whole healthy.
            ok: !matches!(check.state, CheckState::Bad),
            detail: check.detail,
            hint: check.next_step,
        })
        .collect();
    let loaded = api.config();
    let errors = loaded.problems.iter().filter(|p| !matches!(p.severity, Severity::Warning)).count();
    checks.push(v::CheckView {
        name: "config file".to_owned(),
        ok: errors == 0,
        detail: if errors == 0 { "no errors".to_owned() } else { format!("{errors} errors") },
        hint: (errors > 0).then(|| "steward config check".to_owned()),
    });
    let git = api.context().git();
    checks.push(match git {
        Ok(git) => {
            v::CheckView { name: "git".to_owned(), ok: true, detail: git.version().to_owned(), hint: None }
        }
        Err(e) => v::CheckView {
            name: "git".to_owned(),
            ok: false,
            detail: e.to_string(),
            hint: Some(e.hint().to_owned()),
        },
    });
    if loaded.config.review.enabled {
        let agent = agent_report(api, Nothing {}).await?;
        checks.push(v::CheckView {
            name: "reviewer".to_owned(),
            ok: agent.ready,
            detail: agent.problem.as_ref().map_or_else(|| "ready".to_owned(), |p| p.message.clone()),
            hint: agent.problem.and_then(|p| p.hint),
        });
        checks.extend(agent.boundary_checks);
    }
    let healthy = checks.iter().all(|c| c.ok);
    Ok(v::DoctorView { checks, healthy })
}

pub async fn backup(api: &Api, to: Option<PathBuf>) -> Result<v::Done, ApiError> {
    let path = match to {
        Some(path) => std::path::absolute(&path).unwrap_or(path),
        None => api.home().backups().join(format!("manual-{}.db", api.now().format("%Y%m%dT%H%M%SZ"))),
    };
    api.store().backup(&path).await?;
    Ok(v::Done { message: format!("backup written to {}", path.display()) })
}

/// Puts a backup in the database's place. The store must not be open in this process.
pub fn restore(home: &Home, from: &Path, caller: &Caller) -> Result<v::Done, ApiError> {
    if let Caller::Agent(why) = caller {
        return Err(ApiError::new(
            ErrorCode::NotAPerson,
            format!("only a person can restore a backup: {why}"),
        )
        .hint("run it in a terminal of your own"));
    }
    let restored = store_backup::restore(home, from, SystemClock.now())?;
    Ok(v::Done {
        message: match restored.aside {
            Some(aside) => {
                format!("restored from {}; the database of before is {}", from.display(), aside.display())
            }
            None => format!("restored from {}", from.display()),
        },
    })
}
