//! `steward status`, `budget`, `doctor`, `pause`, `resume`, `seats`, `backup`, `restore`.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use clap::CommandFactory;
use steward_core::api::error::ApiError;
use steward_core::api::requests::{Nothing, Why};
use steward_core::api::views::{
    AgentView, CheckView, ObserverState, ObserverView, RuntimeState, SpendView, Status, StewardStatus,
};
use steward_core::api::{Api, system as api_system};
use steward_core::home::Home;

use crate::args::{Cli, SeatsCommand};
use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tasks::age;

pub fn completions(shell: clap_complete::Shell) {
    clap_complete::generate(shell, &mut Cli::command(), "steward", &mut std::io::stdout());
}

pub async fn status(api: &Api, out: &Output) -> Result<(), ApiError> {
    let status = api_system::status(api, Nothing {}).await?;
    out.answer(&status, |s| render_status(s, out));
    Ok(())
}

fn render_status(s: &Status, out: &Output) -> String {
    let word = match s.state {
        RuntimeState::Running => out.paint(Tone::Good, "running"),
        RuntimeState::Paused => out.paint(Tone::Warn, "paused"),
        RuntimeState::Degraded => out.paint(Tone::Warn, "degraded"),
        RuntimeState::ReadOnly => out.paint(Tone::Bad, "read-only"),
        RuntimeState::NoRuntime => out.paint(Tone::Dim, "no runtime"),
    };
    let mut table = Table::bare();
    let holder = match &s.holder {
        Some(h) => {
            format!(" by {} (process {}, since {})", h.kind, h.pid, h.since.format("%Y-%m-%d %H:%M UTC"))
        }
        None => "; the app or `steward serve` hosts one".to_owned(),
    };
    table.row(["runtime".to_owned(), word + &holder]);
    if let Some(pause) = &s.paused {
        table.row(["paused".to_owned(), format!("{} ({})", pause.why, age(s.now, pause.since))]);
    }
    for reason in &s.reasons {
        let hint = reason.hint.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
        table.row([reason.code.clone(), format!("{}{hint}", reason.message)]);
    }
    let reviews = if s.review_enabled {
        let breaker = if s.breaker_open { "; automatic ones wait for a manual one to complete" } else { "" };
        format!("{} open, {} held{breaker}", s.open_reviews, s.held_reviews)
    } else {
        "switched off (review.enabled in the config file)".to_owned()
    };
    table.row(["reviews".to_owned(), reviews]);
    table.row(["inbox".to_owned(), format!("{} open, {} unread", s.inbox_open, s.inbox_unread)]);
    table.row(["tasks".to_owned(), s.tasks.to_string()]);
    table.row(["agents".to_owned(), spend_line(&s.spend)]);
    if let Some(line) = observer_line(&s.observer, s.now) {
        table.row(["github".to_owned(), line]);
    }
    if let Some(engine) = &s.steward {
        table.row(["engine".to_owned(), engine_line(engine, s.engine_tasks)]);
        for stuck in &engine.stuck {
            let last =
                stuck.evidence.as_deref().and_then(|text| text.lines().last()).unwrap_or("no evidence");
            let times = match stuck.failures {
                0 => String::new(),
                1 => " after 1 try".to_owned(),
                many => format!(" after {many} tries"),
            };
            table.row([
                out.paint(Tone::Bad, "stuck"),
                format!("{}#{}{times}: {last}", stuck.repo, stuck.number),
            ]);
        }
    }
    table.render()
}

/// What the engine follows, what runs, and whether agents can be started (engine.md 16).
fn engine_line(engine: &StewardStatus, running: u32) -> String {
    let count = |n: usize, one: &str| if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") };
    let mut text = format!("{} followed, {} stuck", count(engine.items.len(), "item"), engine.stuck.len());
    if running > 0 {
        text += &format!(", {running} at work");
    }
    match &engine.boundary.reason {
        None => text += "; the boundary is ready",
        Some(why) => text += &format!("; no agent is started: {why}"),
    }
    text
}

/// What the observer does; nothing while no repository is watched.
fn observer_line(o: &ObserverView, now: DateTime<Utc>) -> Option<String> {
    let word = match o.state {
        ObserverState::Off => return None,
        ObserverState::Looking => "looking",
        ObserverState::Waiting => "watching",
        ObserverState::Offline => "offline",
        ObserverState::Limited => "stopped by a limit",
        ObserverState::SignedOut => "signed out",
        ObserverState::Incomplete => "not everything is seen",
    };
    let mut text = word.to_owned();
    match o.last_tick {
        Some(at) => {
            text += &format!("; last look: {} ({} requests, {} points)", age(now, at), o.requests, o.points)
        }
        None => text += "; never looked",
    }
    if let Some(next) = o.next_tick {
        text += &format!(", next at {}", next.format("%H:%M UTC"));
    }
    if let Some(problem) = &o.problem {
        text += &format!("; {}", problem.message);
        text += &problem.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    }
    Some(text)
}

fn spend_line(s: &SpendView) -> String {
    let mut text = format!(
        "${:.2} of ${:.2} today, ${:.2} of ${:.2} this month",
        s.today_usd, s.daily_cap_usd, s.month_usd, s.monthly_cap_usd
    );
    if s.unknown_today > 0 {
        text += &format!(", {} runs of unknown cost", s.unknown_today);
    }
    if s.exhausted {
        text += "; nothing that costs money starts";
    }
    text
}

pub async fn budget(api: &Api, out: &Output) -> Result<(), ApiError> {
    let spend = api_system::budget(api, Nothing {}).await?;
    out.answer(&spend, |s| format!("{}\n{} tokens today", spend_line(s), s.tokens_today));
    Ok(())
}

fn render_checks(checks: &[CheckView], out: &Output) -> String {
    let mut table = Table::bare();
    for check in checks {
        let word = match (check.ok, &check.hint) {
            (false, _) => out.paint(Tone::Bad, "FAIL"),
            (true, Some(_)) => out.paint(Tone::Warn, "warn"),
            (true, None) => out.paint(Tone::Good, "ok"),
        };
        let hint = check.hint.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
        table.row([word, check.name.clone(), format!("{}{hint}", check.detail)]);
    }
    table.render()
}

pub async fn doctor(api: &Api, out: &Output) -> Result<(), ApiError> {
    let report = api_system::doctor(api, Nothing {}).await?;
    out.answer(&report, |r| render_checks(&r.checks, out));
    if report.healthy {
        Ok(())
    } else {
        std::process::exit(1);
    }
}

pub async fn pause(api: &Api, why: String, out: &Output) -> Result<(), ApiError> {
    let status = api_system::pause(api, Why { why }).await?;
    out.answer(&status, |_| "paused: seats are stopped and nothing outward happens".to_owned());
    Ok(())
}

pub async fn resume(api: &Api, out: &Output) -> Result<(), ApiError> {
    let status = api_system::resume(api, Nothing {}).await?;
    out.answer(&status, |_| "resumed".to_owned());
    Ok(())
}

pub async fn seats(api: &Api, command: SeatsCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        SeatsCommand::Seed => {
            let done = api_system::seats_seed(api, Nothing {}).await?;
            out.answer(&done, |d| d.message.clone());
        }
        SeatsCommand::Check => {
            let agent = api_system::agent_report(api, Nothing {}).await?;
            out.answer(&agent, |a| render_agent(a, out));
        }
    }
    Ok(())
}

fn render_agent(a: &AgentView, out: &Output) -> String {
    let mut table = Table::bare();
    let program = match (&a.program, &a.version) {
        (Some(program), Some(version)) => format!("{program} ({version})"),
        (Some(program), None) => program.clone(),
        (None, _) => "not found".to_owned(),
    };
    table.row([a.role.clone(), format!("{} · {program}", a.adapter)]);
    table.row(["ready".to_owned(), if a.ready { "yes".to_owned() } else { "no".to_owned() }]);
    if let Some(p) = &a.problem {
        let hint = p.hint.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
        table.row(["problem".to_owned(), format!("{}{hint}", p.message)]);
    }
    table.row(["boundary".to_owned(), a.boundary.clone()]);
    let hint = a.credential_hint.as_ref().map(|h| format!("; {h}")).unwrap_or_default();
    table.row(["credential".to_owned(), format!("{}{hint}", a.credential)]);
    if let Some(risk) = &a.risk {
        table.row(["risk".to_owned(), risk.clone()]);
    }
    table.render() + "\n" + &render_checks(&a.boundary_checks, out)
}

pub async fn backup(api: &Api, to: Option<PathBuf>, out: &Output) -> Result<(), ApiError> {
    let done = api_system::backup(api, to).await?;
    out.answer(&done, |d| d.message.clone());
    Ok(())
}

pub fn restore(home: &Home, from: &Path, out: &Output) -> Result<(), ApiError> {
    let done = api_system::restore(home, from, &crate::person::caller_of_this_process())?;
    out.answer(&done, |d| d.message.clone());
    Ok(())
}

#[cfg(test)]
mod tests {
    use steward_core::api::views::StatusReason;

    use super::*;

    #[test]
    fn the_observer_has_a_line_only_where_something_is_watched() {
        let now: DateTime<Utc> = "2026-11-30T10:05:00Z".parse().expect("a time");
        let at = |minute: i64| now + chrono::Duration::minutes(minute);
        let mut view = ObserverView {
            state: ObserverState::Off,
            last_tick: None,
            next_tick: None,
            problem: None,
            requests: 3,
            points: 4,
            budgets: Vec::new(),
        };
        assert_eq!(observer_line(&view, now), None);
        view.state = ObserverState::Waiting;
        assert_eq!(observer_line(&view, now).as_deref(), Some("watching; never looked"));
        (view.last_tick, view.next_tick) = (Some(at(-5)), Some(at(5)));
        let line = "watching; last look: 5 min (3 requests, 4 points), next at 10:10 UTC";
        assert_eq!(observer_line(&view, now).as_deref(), Some(line));
        view.state = ObserverState::Offline;
        view.problem = Some(StatusReason {
            code: "network".to_owned(),
            message: "github.com: no connection".to_owned(),
            hint: Some("check the network".to_owned()),
        });
        let line = observer_line(&view, now).expect("a line");
        assert!(line.starts_with("offline; last look") && line.ends_with("no connection; check the network"));
    }
}
