//! Notices on the desktop: what is shown, what waits, what a click opens.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::json;
use steward_core::api::views::TextView;
use steward_core::loops::supervisor::NoticeSink;
use steward_core::store::notices::NoticeRow;
use steward_rules::untrusted::Untrusted;
use tauri::{AppHandle, Manager};
use tauri_plugin_clipboard_manager::ClipboardExt;
use tauri_plugin_notification::{Action, ActionType, NotificationExt};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::MissedTickBehavior;

use crate::host::Host;
use crate::links::Target;
use crate::window;

/// Notices of this time are of one moment.
const TURN: Duration = Duration::from_millis(300);
/// One source is heard once in this time.
const COOL_DOWN: Duration = Duration::from_secs(60);
/// So many at once are told as one.
const TOGETHER: usize = 3;
const LONGEST_TITLE: usize = 120;
const LONGEST_LINE: usize = 400;

/// Where the runtime hands its notices: they are told a moment later, so that those of one moment can be
/// told together.
pub struct Desktop(UnboundedSender<NoticeRow>);

impl NoticeSink for Desktop {
    fn show(&self, notice: &NoticeRow) -> Result<(), String> {
        self.0.send(notice.clone()).map_err(|_| "the app is about to end".to_owned())
    }
}

/// Starts telling; what is handed to the sink goes out by the rules of [`Announcer`].
pub fn start(app: &AppHandle) -> Desktop {
    let (handed, mut taken) = unbounded_channel();
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let mut announcer = Announcer::default();
        let mut waiting: Vec<NoticeRow> = Vec::new();
        let mut turn = tokio::time::interval(TURN);
        turn.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                notice = taken.recv() => match notice {
                    Some(notice) => waiting.push(notice),
                    None => return,
                },
                _ = turn.tick(), if !waiting.is_empty() => {
                    for announcement in announcer.plan(&mut waiting, window::seen(&app).as_ref(), Instant::now()) {
                        show(&app, announcement);
                    }
                }
            }
        }
    });
    Desktop(handed)
}

/// Decides which notices go out, and remembers who spoke when.
#[derive(Default)]
struct Announcer {
    spoke: HashMap<String, Instant>,
}

/// One notification as it will be shown.
#[derive(Debug, PartialEq, Eq)]
struct Announcement {
    target: Target,
    title: String,
    body: String,
}

impl Announcer {
    /// What to show now; what has to wait stays in `waiting`.
    fn plan(
        &mut self,
        waiting: &mut Vec<NoticeRow>,
        seen: Option<&Target>,
        now: Instant,
    ) -> Vec<Announcement> {
        self.spoke.retain(|_, spoke| now.duration_since(*spoke) < COOL_DOWN);
        waiting.retain(|notice| seen.is_none_or(|seen| seen.as_str() != notice.target));
        if waiting.len() >= TOGETHER {
            for notice in waiting.iter() {
                self.spoke.insert(source(notice).to_owned(), now);
            }
            let all = together(waiting);
            waiting.clear();
            return vec![all];
        }
        let mut show = Vec::new();
        waiting.retain(|notice| {
            if self.spoke.contains_key(source(notice)) {
                return true;
            }
            self.spoke.insert(source(notice).to_owned(), now);
            show.push(Announcement {
                target: Target::read(&notice.target).unwrap_or_else(Target::inbox),
                title: inert(&notice.title, LONGEST_TITLE),
                body: lines(&notice.body),
            });
            false
        });
        show
    }
}

/// Who speaks: the body begins with it.
fn source(notice: &NoticeRow) -> &str {
    notice.body.split(" · ").next().unwrap_or_default()
}

fn together(notices: &[NoticeRow]) -> Announcement {
    let titles: Vec<String> = notices.iter().take(TOGETHER).map(|notice| inert(&notice.title, 80)).collect();
    let rest = notices.len() - titles.len();
    let mut body = titles.join("\n");
    if rest > 0 {
        body.push_str(&format!("\nand {rest} more"));
    }
    Announcement { target: Target::inbox(), title: format!("{} new in the inbox", notices.len()), body }
}

/// A body, of which a list has a line for each of its items.
fn lines(body: &str) -> String {
    body.lines().map(|line| inert(line, LONGEST_LINE)).collect::<Vec<_>>().join("\n")
}

/// Text as a notification server may take it: one line, nothing hidden, nothing it reads as markup.
fn inert(text: &str, limit: usize) -> String {
    Untrusted::new(text).one_line(limit).replace('<', "‹").replace('>', "›")
}

/// Hears clicks. Before the first notice, or servers are not asked to report them.
pub fn listen(app: &AppHandle) {
    let open = || Action::builder("open", "Open").build();
    let copy = Action::builder("copy", "Copy findings").build();
    let types = vec![
        ActionType::builder("review").actions(vec![open(), copy]).build(),
        ActionType::builder("entry").actions(vec![open()]).build(),
    ];
    let handle = app.clone();
    let registered = app.notification().register_action_types(types).and_then(|()| {
        app.notification().on_action(move |performed| {
            let named = performed.notification().and_then(|notice| notice.extra().get("target")?.as_str());
            let target = named.and_then(Target::read).unwrap_or_else(Target::inbox);
            match (performed.action_id(), target.review()) {
                ("copy", Some(review)) => copy_findings(&handle, review),
                _ => window::open_target(&handle, target),
            }
        })
    });
    if let Err(error) = registered {
        tracing::warn!(%error, "clicks on notices are not heard");
    }
}

fn show(app: &AppHandle, announcement: Announcement) {
    let kind = if announcement.target.review().is_some() { "review" } else { "entry" };
    let shown = app
        .notification()
        .builder()
        .title(announcement.title)
        .body(announcement.body)
        .action_type_id(kind)
        .extra("target", announcement.target.as_str())
        .show();
    if let Err(error) = shown {
        tracing::warn!(%error, "a notice was not shown");
    }
}

fn copy_findings(app: &AppHandle, review: i64) {
    let app = app.clone();
    tauri::async_runtime::spawn(async move {
        let asked = app.state::<Host>().ask::<TextView>("review_copy", json!({ "id": review })).await;
        match asked {
            Ok(view) => {
                if let Err(error) = app.clipboard().write_text(view.text) {
                    tracing::warn!(%error, "the clipboard did not take the findings");
                }
            }
            Err(error) => tracing::warn!(message = error.message, "the findings could not be read"),
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;

    fn notice(number: u32, source: &str) -> NoticeRow {
        NoticeRow {
            key: format!("review:{number}"),
            target: format!("review/{number}"),
            title: format!("CHANGES · task {number}"),
            body: format!("{source} · 2 findings"),
            created_at: DateTime::UNIX_EPOCH,
        }
    }

    fn titles(shown: &[Announcement]) -> Vec<&str> {
        shown.iter().map(|shown| shown.title.as_str()).collect()
    }

    fn plan(notices: &[NoticeRow]) -> Vec<Announcement> {
        Announcer::default().plan(&mut notices.to_vec(), None, Instant::now())
    }

    #[test]
    fn a_notice_names_and_opens_its_own_card() {
        let shown = plan(&[notice(7, "app")]);
        assert_eq!(shown[0].target.as_str(), "review/7");
        assert_eq!(
            (shown[0].title.as_str(), shown[0].body.as_str()),
            ("CHANGES · task 7", "app · 2 findings")
        );
    }

    #[test]
    fn what_the_focused_window_shows_is_not_announced() {
        let seen = Target::read("review/7");
        let mut waiting = vec![notice(7, "app"), notice(8, "site")];
        let shown = Announcer::default().plan(&mut waiting, seen.as_ref(), Instant::now());
        assert_eq!(titles(&shown), ["CHANGES · task 8"]);
        assert!(waiting.is_empty(), "and it does not wait for later");
    }

    #[test]
    fn a_source_speaks_once_a_minute_and_loses_nothing() {
        let mut announcer = Announcer::default();
        let start = Instant::now();
        let mut waiting = vec![notice(1, "app"), notice(2, "app")];
        assert_eq!(titles(&announcer.plan(&mut waiting, None, start)), ["CHANGES · task 1"]);
        assert!(announcer.plan(&mut waiting, None, start + Duration::from_secs(59)).is_empty());
        let late = announcer.plan(&mut waiting, None, start + Duration::from_secs(60));
        assert_eq!(titles(&late), ["CHANGES · task 2"]);
        assert!(waiting.is_empty());
    }

    #[test]
    fn sources_do_not_silence_each_other() {
        assert_eq!(plan(&[notice(1, "app"), notice(2, "site")]).len(), 2);
    }

    #[test]
    fn three_at_once_become_one_that_opens_the_inbox() {
        let all: Vec<_> = (1..=5).map(|number| notice(number, "app")).collect();
        let shown = plan(&all);
        assert_eq!(titles(&shown), ["5 new in the inbox"]);
        assert_eq!(shown[0].target, Target::inbox());
        assert!(shown[0].body.ends_with("CHANGES · task 3\nand 2 more"));
    }

    #[test]
    fn a_list_keeps_its_lines() {
        let mut list = notice(1, "app");
        list.body = "[1] app · WAL?\n[2] site · <b>Port?\u{1b}".to_owned();
        assert_eq!(plan(&[list])[0].body, "[1] app · WAL?\n[2] site · ‹b›Port?\\u{1b}");
    }

    #[test]
    fn a_notice_carries_no_markup_and_no_hidden_text() {
        let mut bad = notice(1, "app");
        bad.title = "CHANGES · <img src=x>\u{202e}\u{7}".to_owned();
        bad.target = "https://example.com".to_owned();
        let shown = plan(&[bad]);
        assert_eq!(shown[0].title, "CHANGES · ‹img src=x›\\u{202e}\\u{7}");
        assert_eq!(shown[0].target, Target::inbox());
    }
}
