//! What goes out to GitHub: `steward inbox send` and `dismiss`, `steward config confirm`, `steward log`.

use std::time::Duration;

use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{AuditList, ById, EffectSend, Nothing, PowerConfirm};
use steward_core::api::views::{AuditRowView, EffectState, EffectView, PowerView};
use steward_core::api::{Api, effects as api_effects};
use steward_rules::caller::Caller;

use crate::args::{LogArgs, LogCommand};
use crate::output::{Output, Tone};
use crate::person::caller_of_this_process;
use crate::table::Table;

/// How often the log is looked at while it is followed.
const LOOK: Duration = Duration::from_millis(300);
/// Rows that are read at once while the log is followed.
const PAGE: u32 = 200;

pub async fn show(api: &Api, id: i64, out: &Output) -> Result<(), ApiError> {
    let effect = api_effects::show(api, ById { id }).await?;
    out.answer(&effect, |e| render(e, out));
    Ok(())
}

/// The person's yes, to the text of this hash or to the one shown here. With no runtime this command sends
/// it itself.
pub async fn send(api: &Api, id: i64, hash: Option<String>, out: &Output) -> Result<(), ApiError> {
    let hash = match hash {
        Some(named) => named,
        None => {
            only_a_person("send something to GitHub")?;
            let shown = api_effects::show(api, ById { id }).await?;
            // What cannot be sent is refused with its reason, not asked about.
            if shown.can_send {
                if out.is_json() {
                    return Err(ApiError::new(
                        ErrorCode::BadRequest,
                        "--hash is missing: which text is sent?",
                    )
                    .hint("`steward inbox show ENTRY --json` has the text and its hash"));
                }
                out.note(&render(&shown, out));
                if !says_yes("send this")? {
                    out.answer(&shown, |_| "nothing was sent".to_owned());
                    return Ok(());
                }
            }
            shown.hash
        }
    };
    let asked = api_effects::send(api, EffectSend { id, hash }).await?;
    out.note(&format!("sending: {} as {}", asked.title, asked.account));
    if !api.host_effect(id).await? {
        out.answer(&asked, |_| "on its way: the running Steward sends it".to_owned());
        return Ok(());
    }
    let sent = api_effects::show(api, ById { id }).await?;
    out.answer(&sent, |e| render_end(e, out));
    if sent.state != EffectState::Done {
        std::process::exit(1);
    }
    Ok(())
}

pub async fn dismiss(api: &Api, id: i64, out: &Output) -> Result<(), ApiError> {
    let dismissed = api_effects::dismiss(api, ById { id }).await?;
    out.answer(&dismissed.effect, |_| "dismissed: it is not sent".to_owned());
    Ok(())
}

fn word(state: EffectState) -> &'static str {
    match state {
        EffectState::Wanted => "wanted",
        EffectState::Suggested => "waits for you",
        EffectState::Approved => "approved",
        EffectState::Intended => "being sent",
        EffectState::Done => "sent",
        EffectState::Failed => "not sent",
        EffectState::Dismissed => "dismissed",
        EffectState::Obsolete => "obsolete",
    }
}

fn render(e: &EffectView, out: &Output) -> String {
    let mut table = Table::bare();
    let tone = match e.state {
        EffectState::Done => Tone::Good,
        EffectState::Failed => Tone::Bad,
        EffectState::Suggested => Tone::Warn,
        EffectState::Wanted
        | EffectState::Approved
        | EffectState::Intended
        | EffectState::Dismissed
        | EffectState::Obsolete => Tone::Dim,
    };
    table.row(["effect".to_owned(), format!("{} · {}", e.title, out.paint(tone, word(e.state)))]);
    table.row(["as".to_owned(), format!("{} on {}", e.account, e.host)]);
    if let Some(head) = &e.head {
        table.row(["commit".to_owned(), head.clone()]);
    }
    for fact in &e.facts {
        table.row([fact.name.to_lowercase(), fact.value.clone()]);
    }
    if let Some(line) = &e.line {
        table.row(["wanted".to_owned(), line.clone()]);
    }
    table.row(["hash".to_owned(), e.hash.clone()]);
    if let Some(reason) = &e.reason {
        let hint = reason.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        table.row(["why".to_owned(), format!("{}{hint}", reason.message)]);
    }
    if let Some(at) = e.retry_at {
        table.row(["again".to_owned(), at.format("%Y-%m-%d %H:%M:%S UTC").to_string()]);
    }
    if let Some(address) = e.result_url.as_ref().or(e.subject_url.as_ref()) {
        table.row(["where".to_owned(), address.clone()]);
    }
    let mut all = table.render();
    let note = e.diff_note.as_ref().map(|note| format!("({note})"));
    let parts = [Some(&e.content).filter(|text| !text.is_empty()), e.diff.as_ref(), note.as_ref()];
    for part in parts.into_iter().flatten() {
        all.push('\n');
        all.push_str(part.trim_end_matches('\n'));
    }
    all
}

fn render_end(e: &EffectView, out: &Output) -> String {
    match (&e.reason, &e.result_url) {
        (_, Some(address)) if e.state == EffectState::Done => {
            format!("{}: {address}", out.paint(Tone::Good, "sent"))
        }
        (Some(reason), _) => {
            let hint = reason.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
            format!("{}: {}{hint}", word(e.state), reason.message)
        }
        (None, _) => word(e.state).to_owned(),
    }
}

pub async fn show_powers(api: &Api, out: &Output) -> Result<(), ApiError> {
    let view = api_effects::power_show(api, Nothing {}).await?;
    out.answer(&view, |v| {
        let next = if v.pending.is_empty() { "" } else { "\n`steward config confirm` puts it in force" };
        format!("{}{next}", render_powers(v))
    });
    Ok(())
}

fn render_powers(view: &PowerView) -> String {
    if view.pending.is_empty() {
        return "everything the config file asks for is in force".to_owned();
    }
    let mut table = Table::new(&["power", "in force", "asked for"]);
    for line in &view.pending {
        table.row([line.key.clone(), line.now.clone(), line.asked.clone()]);
    }
    table.render()
}

/// Puts in force what waits, when the person says so: by naming the change, or by a typed yes.
pub async fn confirm(api: &Api, change: Option<String>, out: &Output) -> Result<(), ApiError> {
    let view = api_effects::power_show(api, Nothing {}).await?;
    let Some(waiting) = view.change.clone() else {
        out.answer(&view, render_powers);
        return Ok(());
    };
    let change = match change {
        Some(named) => named,
        // A script is shown the change and its name; nobody is there to type a yes.
        None if out.is_json() => {
            out.object(&view);
            return Ok(());
        }
        None => {
            out.note(&render_powers(&view));
            only_a_person("confirm a power of the config file")?;
            if !says_yes("put this in force")? {
                out.answer(&view, |_| "nothing is changed; what is in force stays".to_owned());
                return Ok(());
            }
            waiting
        }
    };
    let after = api_effects::power_confirm(api, PowerConfirm { change }).await?;
    out.answer(&after, render_powers);
    Ok(())
}

/// The API asks this again; here it spares an agent the question.
fn only_a_person(what: &str) -> Result<(), ApiError> {
    match caller_of_this_process() {
        Caller::Person => Ok(()),
        Caller::Agent(why) => {
            Err(ApiError::new(ErrorCode::NotAPerson, format!("only a person can {what}: {why}"))
                .hint("run it in a terminal of your own, or use the app"))
        }
    }
}

fn says_yes(to: &str) -> Result<bool, ApiError> {
    eprint!("Type yes to {to}: ");
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|e| ApiError::new(ErrorCode::BadRequest, format!("the answer could not be read: {e}")))?;
    Ok(line.trim().eq_ignore_ascii_case("yes"))
}

pub async fn log(api: &Api, args: LogArgs, out: &Output) -> Result<(), ApiError> {
    match args.command {
        Some(LogCommand::Verify) => verify(api, out).await,
        None => list(api, args, out).await,
    }
}

async fn verify(api: &Api, out: &Output) -> Result<(), ApiError> {
    let chain = api_effects::audit_verify(api, Nothing {}).await?;
    if !chain.whole {
        return Err(ApiError::new(ErrorCode::Store, chain.message)
            .hint("compare with a backup: somebody changed the database"));
    }
    out.answer(&chain, |c| c.message.clone());
    Ok(())
}

async fn list(api: &Api, args: LogArgs, out: &Output) -> Result<(), ApiError> {
    let page = AuditList { limit: args.limit, after: None, kind: args.kind.clone() };
    let mut page = api_effects::audit_list(api, page).await?;
    let mut last = page.rows.first().map_or(0, |row| row.id);
    if args.follow && out.is_json() {
        for row in page.rows.iter().rev() {
            out.object(row);
        }
    } else {
        page.rows.reverse();
        out.answer(&page, |page| page.rows.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
    if !args.follow {
        return Ok(());
    }
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    loop {
        tokio::select! {
            _ = &mut interrupt => return Ok(()),
            () = tokio::time::sleep(LOOK) => {}
        }
        for row in newer(api, last, args.kind.as_deref()).await? {
            last = row.id;
            if out.is_json() {
                out.object(&row);
            } else {
                out.text(&line(&row));
            }
        }
    }
}

/// The rows after `last`, oldest first.
async fn newer(api: &Api, last: i64, kind: Option<&str>) -> Result<Vec<AuditRowView>, ApiError> {
    let mut found: Vec<AuditRowView> = Vec::new();
    loop {
        let after = found.last().map(|row| row.id);
        let page = AuditList { limit: PAGE, after, kind: kind.map(str::to_owned) };
        let page = api_effects::audit_list(api, page).await?;
        let reached = page.rows.last().is_none_or(|row| row.id <= last);
        found.extend(page.rows.into_iter().filter(|row| row.id > last));
        if reached || !page.more {
            break;
        }
    }
    found.reverse();
    Ok(found)
}

fn line(row: &AuditRowView) -> String {
    let detail = row.detail.replace('\n', " ");
    format!("{} {} {} {} {detail}", row.at.format("%Y-%m-%d %H:%M:%S UTC"), row.actor, row.kind, row.subject)
}
