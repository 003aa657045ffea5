//! `steward inbox`.

use chrono::{DateTime, Duration, Utc};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{ById, InboxAction, InboxFilter, InboxList, InboxMark, InboxUndo};
use steward_core::api::views::{EntryView, InboxPage};
use steward_core::api::{Api, inbox as api_inbox};

use crate::args::{InboxCommand, InboxListArgs, InboxWhich};
use crate::effects;
use crate::items::{self, WhyArgs};
use crate::needs;
use crate::output::{Output, Tone};
use crate::reviews;
use crate::table::Table;
use crate::tasks::age;

pub async fn run(
    api: &Api,
    list: InboxListArgs,
    command: Option<InboxCommand>,
    out: &Output,
) -> Result<(), ApiError> {
    match command {
        None => show_list(api, list, out).await,
        Some(InboxCommand::List(list)) => show_list(api, list, out).await,
        Some(InboxCommand::Show { entry }) => show(api, entry, out).await,
        Some(InboxCommand::Done { entry }) => mark(api, entry, InboxAction::Done, out).await,
        Some(InboxCommand::Reopen { entry }) => mark(api, entry, InboxAction::Reopen, out).await,
        Some(InboxCommand::Read { entry }) => mark(api, entry, InboxAction::Read, out).await,
        Some(InboxCommand::Unread { entry }) => mark(api, entry, InboxAction::Unread, out).await,
        Some(InboxCommand::Save { entry }) => mark(api, entry, InboxAction::Save, out).await,
        Some(InboxCommand::Unsave { entry }) => mark(api, entry, InboxAction::Unsave, out).await,
        Some(InboxCommand::Snooze { entry, until }) => {
            let until = parse_until(&until, api.now())?;
            mark(api, entry, InboxAction::Snooze { until }, out).await
        }
        Some(InboxCommand::Send { entry, hash }) => {
            effects::send(api, effect(api, entry).await?, hash, out).await
        }
        Some(InboxCommand::Dismiss { entry }) => {
            effects::dismiss(api, effect(api, entry).await?, out).await?;
            take_back(entry, out);
            Ok(())
        }
        Some(InboxCommand::Undo { entry }) => {
            let undone = api_inbox::undo(api, InboxUndo { id: entry, step: None }).await?;
            out.answer(&undone, |u| u.what.clone().unwrap_or_else(|| "nothing to undo".to_owned()));
            Ok(())
        }
    }
}

async fn show_list(api: &Api, args: InboxListArgs, out: &Output) -> Result<(), ApiError> {
    let filter = match args.which {
        InboxWhich::Open => InboxFilter::Open,
        InboxWhich::Snoozed => InboxFilter::Snoozed,
        InboxWhich::Saved => InboxFilter::Saved,
        InboxWhich::Done => InboxFilter::Done,
    };
    let page =
        api_inbox::list(api, InboxList { filter, query: args.query, limit: args.limit, after: None }).await?;
    out.answer(&page, |page| render(page, api.now(), out));
    Ok(())
}

fn render(page: &InboxPage, now: DateTime<Utc>, out: &Output) -> String {
    if page.entries.is_empty() {
        return "Nothing wants you.".to_owned();
    }
    let mut table = Table::new(&["id", "", "", "title", "source", "age"]);
    for entry in &page.entries {
        table.row([
            entry.id.to_string(),
            if entry.read { " ".to_owned() } else { "*".to_owned() },
            reviews::chip(out, &entry.chip),
            if entry.read { entry.title.clone() } else { out.paint(Tone::Bold, &entry.title) },
            entry.source.clone(),
            age(now, entry.updated_at),
        ]);
    }
    let more = if page.more {
        format!("\n{} of {} shown; --limit shows more\n", page.entries.len(), page.total)
    } else {
        String::new()
    };
    table.render() + &more
}

async fn show(api: &Api, id: i64, out: &Output) -> Result<(), ApiError> {
    let entry = api_inbox::get(api, ById { id }).await?;
    let _ = api_inbox::mark(api, InboxMark { id, action: InboxAction::Read }).await?;
    if let Some(need) = entry.target.strip_prefix("question/").and_then(|n| n.parse().ok()) {
        return needs::show(api, need, out).await;
    }
    if let Some(review) = entry.target.strip_prefix("review/").and_then(|n| n.parse().ok()) {
        return reviews::show_id(api, review, out).await;
    }
    if let Some(effect) = effect_of(&entry) {
        return effects::show(api, effect, out).await;
    }
    if entry.target == "settings/powers" {
        return effects::show_powers(api, out).await;
    }
    if let Some(item) = item_of(&entry) {
        match items::why(api, WhyArgs { item, simulate: None }, out).await {
            // The engine follows it no more: its entry is all that is left.
            Err(error) if error.code == ErrorCode::NotFound => {}
            told => return told,
        }
    }
    out.answer(&entry, line);
    Ok(())
}

/// The item of the engine that an entry is about, as `steward why` names it.
fn item_of(entry: &EntryView) -> Option<String> {
    let (repository, item) = entry.target.strip_prefix("repository/")?.split_once("?item=")?;
    let number: u64 = item.split_once('-')?.1.parse().ok()?;
    Some(format!("{repository}#{number}"))
}

/// The effect that an entry suggests.
async fn effect(api: &Api, id: i64) -> Result<i64, ApiError> {
    let entry = api_inbox::get(api, ById { id }).await?;
    effect_of(&entry).ok_or_else(|| {
        ApiError::new(ErrorCode::BadRequest, format!("entry {id} suggests nothing to be sent"))
            .hint("`steward inbox show` says what an entry is about")
    })
}

fn effect_of(entry: &EntryView) -> Option<i64> {
    entry.target.strip_prefix("effect/")?.parse().ok()
}

async fn mark(api: &Api, id: i64, action: InboxAction, out: &Output) -> Result<(), ApiError> {
    let marked = api_inbox::mark(api, InboxMark { id, action }).await?;
    out.answer(&marked.entry, line);
    if marked.step.is_some() {
        take_back(id, out);
    }
    Ok(())
}

fn take_back(id: i64, out: &Output) {
    out.note(&format!("take it back with `steward inbox undo {id}`"));
}

fn line(entry: &EntryView) -> String {
    let until =
        entry.snooze_until.map(|t| format!(" until {}", t.format("%Y-%m-%d %H:%M UTC"))).unwrap_or_default();
    let saved = if entry.saved { ", saved" } else { "" };
    format!("{} {} · {}{until}{saved}", entry.id, entry.title, entry.state)
}

/// Reads `90m`, `1h`, `2d` or an RFC 3339 time in the future.
fn parse_until(text: &str, now: DateTime<Utc>) -> Result<DateTime<Utc>, ApiError> {
    let wrong = || {
        ApiError::new(ErrorCode::BadRequest, format!("--until `{text}` is no time in the future"))
            .hint("write 90m, 1h, 2d, or a time such as 2026-12-01T09:00:00Z")
    };
    let unit = text.chars().last().ok_or_else(wrong)?;
    if let Some(minutes) = match unit {
        'm' => Some(1_i64),
        'h' => Some(60),
        'd' => Some(24 * 60),
        _ => None,
    } {
        let count: i64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
        let total =
            count.checked_mul(minutes).filter(|m| (1..=366 * 24 * 60).contains(m)).ok_or_else(wrong)?;
        return Ok(now + Duration::minutes(total));
    }
    let at = DateTime::parse_from_rfc3339(text).map_err(|_| wrong())?.with_timezone(&Utc);
    if at > now { Ok(at) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("90m", Some(90))]
    #[case("1h", Some(60))]
    #[case("2d", Some(2880))]
    #[case("2026-12-01T00:00:00Z", Some(60))]
    #[case("2026-11-30T22:00:00Z", None)]
    #[case("0m", None)]
    #[case("-1h", None)]
    #[case("9999999999d", None)]
    #[case("h", None)]
    #[case("tomorrow", None)]
    #[case("", None)]
    fn snooze_takes_a_length_or_a_future_time(#[case] text: &str, #[case] minutes: Option<i64>) {
        let now: DateTime<Utc> = "2026-11-30T23:00:00Z".parse().expect("a time");
        assert_eq!(parse_until(text, now).ok(), minutes.map(|m| now + Duration::minutes(m)));
    }
}
