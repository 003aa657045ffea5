//! `steward need`, `steward needs`: questions to the owner, and his answers.

use std::io::Read;
use std::time::Duration;

use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests as rq;
use steward_core::api::views::{NeedPage, NeedView, RosterView};
use steward_core::api::{Api, questions as api_needs, roster as api_roster, system as api_system};

use crate::args::{NeedArgs, NeedCommand, NeedsCommand};
use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tasks::age;

/// How often a waiting command looks for its answer.
const LOOK: Duration = Duration::from_millis(200);
/// The longest message read from standard input.
const MESSAGE: u64 = 64 << 10;

/// Who this process is, as far as it can tell.
pub fn who(agent: Option<String>) -> rq::WhoAsks {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    rq::WhoAsks {
        agent,
        pane: var("TMUX_PANE"),
        tmux: var("TMUX"),
        user: var("USER").or_else(|| var("LOGNAME")),
        tty: tty(),
        folder: std::env::current_dir().ok().map(|folder| folder.to_string_lossy().into_owned()),
    }
}

#[cfg(unix)]
fn tty() -> Option<String> {
    let name =
        nix::unistd::ttyname(std::io::stdin()).or_else(|_| nix::unistd::ttyname(std::io::stderr())).ok()?;
    let name = name.to_string_lossy().into_owned();
    Some(name.strip_prefix("/dev/").map(str::to_owned).unwrap_or(name))
}

#[cfg(not(unix))]
fn tty() -> Option<String> {
    None
}

pub async fn need(api: &Api, args: NeedArgs, out: &Output) -> Result<(), ApiError> {
    if let Some(NeedCommand::Brief { agent }) = args.command {
        let text = api_roster::brief(api, rq::BriefFor { agent }).await?;
        out.answer(&text, |brief| brief.text.clone());
        return Ok(());
    }
    let text = if args.stdin { Some(stdin()?) } else { None };
    let request = rq::NeedRaise {
        source: rq::NeedSource::Cli,
        who: who(args.agent),
        text,
        topic: args.topic,
        question: args.question,
        options: args.option,
        project: args.project,
    };
    let raised = api_needs::raise(api, request).await?;
    let id = raised.id;
    if !args.wait {
        out.answer(&raised, |raised| said(&raised.arrival, id));
        return Ok(());
    }
    out.note(&said(&raised.arrival, id));
    if api_system::status(api, rq::Nothing {}).await?.holder.is_none() {
        out.note("no runtime runs, so nothing notifies; the question stands in `steward needs list`");
    }
    wait(api, id, out).await
}

fn said(arrival: &str, id: i64) -> String {
    match arrival {
        "new" => format!("question {id} is in the owner's inbox"),
        "same" | "covered" => format!("question {id} is in the owner's inbox already"),
        _ => format!("question {id} has these words now"),
    }
}

fn stdin() -> Result<String, ApiError> {
    let mut text = String::new();
    let wrong = |why: String| ApiError::new(ErrorCode::BadRequest, format!("standard input: {why}"));
    std::io::stdin().take(MESSAGE + 1).read_to_string(&mut text).map_err(|error| wrong(error.to_string()))?;
    if text.len() as u64 > MESSAGE {
        return Err(wrong("the message is longer than 64 KB".to_owned()));
    }
    Ok(text)
}

/// Blocks until the owner answered, and prints his words, exactly.
async fn wait(api: &Api, id: i64, out: &Output) -> Result<(), ApiError> {
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        let need = api_needs::show(api, rq::ById { id }).await?;
        match need.state.as_str() {
            "open" => {}
            "answered" => {
                if let Some((answer, words)) = api_needs::words(api, id).await? {
                    if out.is_json() {
                        out.object(&serde_json::json!({ "id": id, "answer": words }));
                    } else {
                        out.verbatim(&words);
                    }
                    // Printed first: who dies between hears it once more, never not at all.
                    return api_needs::fetched(api, answer).await;
                }
            }
            _ => {
                let message = format!("question {id} got no answer: {}", need.text);
                return Err(ApiError::new(ErrorCode::Refused, message));
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = &mut interrupt => {
                let message = format!("question {id} stays open");
                let hint = format!("ask again in the same words to wait on; `steward needs drop {id}` takes it back");
                return Err(ApiError::new(ErrorCode::Refused, message).hint(hint));
            }
        }
    }
}

pub async fn run(api: &Api, command: NeedsCommand, out: &Output) -> Result<(), ApiError> {
    match command {
        NeedsCommand::List { all, limit } => {
            let page = api_needs::list(api, rq::NeedList { closed: all, limit }).await?;
            out.answer(&page, |page| queue(page, out));
            Ok(())
        }
        NeedsCommand::Show { need } => show(api, need, out).await,
        NeedsCommand::Answer { words } => {
            let (id, text) = numbered(words)?;
            let need = api_needs::answer(api, rq::NeedAnswer { id, text }).await?;
            carried(api, need, out).await
        }
        NeedsCommand::Allow { need } => {
            let need = api_needs::press(api, rq::NeedPress { id: need, allow: true }).await?;
            carried(api, need, out).await
        }
        NeedsCommand::Deny { need } => {
            let need = api_needs::press(api, rq::NeedPress { id: need, allow: false }).await?;
            carried(api, need, out).await
        }
        NeedsCommand::Again { need } => {
            let need = api_needs::again(api, rq::ById { id: need }).await?;
            carried(api, need, out).await
        }
        NeedsCommand::Undo { need } => {
            let need = api_needs::take_back(api, rq::ById { id: need }).await?;
            out.answer(&need, |need| format!("the answer is taken back; question {} {}", need.id, need.text));
            Ok(())
        }
        NeedsCommand::Type { need } => {
            let need = api_needs::type_answer(api, rq::ById { id: need }).await?;
            carried(api, need, out).await
        }
        NeedsCommand::Drop { need, agent } => {
            let need = api_needs::drop_need(api, rq::NeedDrop { id: need, who: who(agent) }).await?;
            out.answer(&need, |need| format!("question {} is {}", need.id, need.text));
            Ok(())
        }
        NeedsCommand::Roster => {
            let roster = api_roster::list(api, rq::Nothing {}).await?;
            out.answer(&roster, |roster| members(api, roster, out));
            Ok(())
        }
        NeedsCommand::Capture { agent } => {
            let capture = api_roster::capture(api, rq::RosterAgent { agent }).await?;
            out.answer(&capture, |capture| capture.lines.join("\n"));
            Ok(())
        }
        NeedsCommand::Brief { agent } => {
            let done = api_roster::brief_send(api, rq::RosterAgent { agent }).await?;
            out.answer(&done, |done| done.message.clone());
            Ok(())
        }
        NeedsCommand::Look => {
            let done = api_roster::look(api, rq::Nothing {}).await?;
            out.answer(&done, |done| done.message.clone());
            Ok(())
        }
    }
}

pub async fn show(api: &Api, id: i64, out: &Output) -> Result<(), ApiError> {
    let need = api_needs::show(api, rq::ById { id }).await?;
    out.answer(&need, |need| card(need, out));
    Ok(())
}

/// `3 "B"`, or words that name their question themselves.
fn numbered(mut words: Vec<String>) -> Result<(Option<i64>, String), ApiError> {
    if words.len() > 1
        && let Ok(id) = words[0].parse::<i64>()
    {
        words.remove(0);
        return Ok((Some(id), words.join(" ")));
    }
    Ok((None, words.join(" ")))
}

/// Carries what was just answered when no runtime does, and says how far it came.
async fn carried(api: &Api, need: NeedView, out: &Output) -> Result<(), ApiError> {
    api_needs::carry(api).await?;
    let need = api_needs::show(api, rq::ById { id: need.id }).await?;
    out.answer(&need, |need| match &need.answer {
        Some(answer) => {
            let why = answer.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("question {}: {}{why}", need.id, answer.text)
        }
        None => format!("question {} is {}", need.id, need.text),
    });
    Ok(())
}

fn queue(page: &NeedPage, out: &Output) -> String {
    if page.needs.is_empty() {
        return "No question waits.".to_owned();
    }
    let lines = page.needs.iter().map(|need| match need.state.as_str() {
        "open" => need.line.clone(),
        _ => out.paint(Tone::Dim, &format!("{} ({})", need.line, state(need))),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn state(need: &NeedView) -> String {
    match &need.answer {
        Some(answer) => format!("{}: {}", need.text, answer.text),
        None => need.text.clone(),
    }
}

fn card(need: &NeedView, out: &Output) -> String {
    let mut text = format!(
        "{}\n\n{}\n",
        out.paint(
            Tone::Bold,
            &format!(
                "question {} · {} · {}@{} · {}",
                need.id,
                need.project.as_deref().unwrap_or("no project"),
                need.agent,
                need.host,
                need.topic
            )
        ),
        need.question
    );
    if let Some(prompt) = &need.prompt {
        text.push_str(&format!("\n{}\n{}\n", prompt.subject, prompt.title));
        for choice in &prompt.choices {
            text.push_str(&format!("  {choice}\n"));
        }
    }
    for option in &need.options {
        text.push_str(&format!("  {}) {}\n", option.letter, option.text));
    }
    if let Some(advice) = &need.advice {
        let why = advice.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
        text.push_str(&out.paint(Tone::Dim, &format!("\n{}{why}\n", advice.text)));
    }
    text.push_str(&format!("\n{}\n", state(need)));
    if let Some(answer) = &need.answer {
        text.push_str(&format!("{}\n", answer.words));
        if let Some(why) = &answer.why {
            text.push_str(&format!("{why}\n"));
        }
    }
    let next = match (&need.may.why, need.may.answer, need.may.press, &need.may.why_not_allow) {
        (Some(why), _, _, _) => why.clone(),
        (None, true, _, _) => format!("steward needs answer {} \"…\"", need.id),
        (None, _, true, None) => format!("steward needs allow {0} · steward needs deny {0}", need.id),
        (None, _, true, Some(why)) => format!("steward needs deny {}\n{why}", need.id),
        (None, false, false, _) => String::new(),
    };
    if !next.is_empty() {
        text.push_str(&out.paint(Tone::Dim, &next));
        text.push('\n');
    }
    text
}

fn members(api: &Api, roster: &RosterView, out: &Output) -> String {
    let mut text = String::new();
    if let Some(tick) = &roster.tick {
        let tone = if roster.resolution_fail { Tone::Bad } else { Tone::Bold };
        text.push_str(&format!("{}\n", out.paint(tone, tick)));
    }
    for fault in &roster.faults {
        text.push_str(&format!("{}\n", out.paint(Tone::Bad, fault)));
    }
    if roster.watcher.state != "ready" {
        text.push_str(&format!("{}\n", out.paint(Tone::Dim, &roster.watcher.text)));
    }
    if roster.members.is_empty() {
        return text + "Nobody is on the roster.";
    }
    let mut table = Table::new(&["agent", "host", "project", "pane", "state", "seen", ""]);
    for member in &roster.members {
        let tone = match member.state.as_str() {
            "working" => Tone::Good,
            "waiting" => Tone::Warn,
            "error" | "unwatchable" => Tone::Bad,
            _ => Tone::Dim,
        };
        let note = match (&member.flagged, &member.absent) {
            (Some(flagged), _) => flagged.clone(),
            (None, Some(absent)) => format!("declared {absent}"),
            (None, None) => member.detail.clone(),
        };
        table.row([
            member.agent.clone(),
            member.host.clone(),
            member.project.clone().unwrap_or_default(),
            member.pane.clone().unwrap_or_default(),
            out.paint(tone, &member.state),
            member.captured_at.map(|at| age(api.now(), at)).unwrap_or_default(),
            note,
        ]);
    }
    text + &table.render()
}
