//! The icon in the tray: how things stand, and the few things one does without the window.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use steward_core::api::error::ApiError;
use steward_core::api::views::{RuntimeState, Status};
use tauri::image::Image;
use tauri::menu::{MenuBuilder, MenuEvent, MenuItem};
use tauri::tray::{MouseButton, MouseButtonState, TrayIcon, TrayIconBuilder, TrayIconEvent};
use tauri::{AppHandle, Manager, include_image};
use tauri_plugin_dialog::{DialogExt, MessageDialogKind};

use crate::host::{Host, nothing};
use crate::links::Target;
use crate::{quit, window};

const IDLE: Image<'_> = include_image!("../icons/tray-idle.png");
const UNREAD: Image<'_> = include_image!("../icons/tray-unread.png");
const DEGRADED: Image<'_> = include_image!("../icons/tray-degraded.png");
const PAUSED: Image<'_> = include_image!("../icons/tray-paused.png");

struct Tray {
    icon: TrayIcon,
    state: MenuItem<tauri::Wry>,
    pause: MenuItem<tauri::Wry>,
    /// What the menu says now: a click means what was read there.
    says_resume: AtomicBool,
}

/// What the icon says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Idle,
    Unread,
    Degraded,
    Paused,
}

/// Puts the icon up. Without a tray, or without its library, the app works all the same.
pub fn build(app: &AppHandle) {
    // The library behind the icon is loaded at run time, and panics where it is not installed.
    match std::panic::catch_unwind(AssertUnwindSafe(|| make(app))) {
        Ok(Ok(tray)) => {
            app.manage(tray);
        }
        Ok(Err(error)) => tracing::warn!(%error, "there is no tray icon"),
        Err(_) => tracing::warn!("there is no tray icon: its library is not installed"),
    }
}

fn make(app: &AppHandle) -> tauri::Result<Tray> {
    let state = MenuItem::with_id(app, "state", "Starting", false, None::<&str>)?;
    let open = MenuItem::with_id(app, "open", "Open inbox", true, None::<&str>)?;
    let pause = MenuItem::with_id(app, "pause", "Pause all", true, None::<&str>)?;
    let quit = MenuItem::with_id(app, "quit", "Quit", true, None::<&str>)?;
    let menu = MenuBuilder::new(app)
        .item(&state)
        .separator()
        .items(&[&open, &pause])
        .separator()
        .item(&quit)
        .build()?;
    let icon = TrayIconBuilder::with_id("steward")
        .icon(IDLE)
        .tooltip("Steward")
        .menu(&menu)
        .show_menu_on_left_click(false)
        .on_menu_event(chosen)
        .on_tray_icon_event(|icon, event| {
            if let TrayIconEvent::Click {
                button: MouseButton::Left,
                button_state: MouseButtonState::Up,
                ..
            } = event
            {
                window::toggle(icon.app_handle());
            }
        })
        .build(app)?;
    Ok(Tray { icon, state, pause, says_resume: AtomicBool::new(false) })
}

fn chosen(app: &AppHandle, event: MenuEvent) {
    match event.id().as_ref() {
        "open" => window::open_target(app, Target::inbox()),
        "pause" => {
            let app = app.clone();
            tauri::async_runtime::spawn(async move { turn_pause(&app).await });
        }
        "quit" => {
            let app = app.clone();
            tauri::async_runtime::spawn(async move { quit::ask_and_quit(&app).await });
        }
        _ => {}
    }
}

async fn turn_pause(app: &AppHandle) {
    let host = app.state::<Host>();
    let resumes = app.try_state::<Tray>().is_some_and(|tray| tray.says_resume.load(Ordering::Acquire));
    let turned = match resumes {
        true => host.call("resume", nothing()).await,
        false => host.call("pause", json!({ "why": "from the tray" })).await,
    };
    refresh(app).await;
    if let Err(error) = turned {
        tracing::warn!(message = error.message, "pause was not turned");
        let title = if resumes { "Not resumed" } else { "Not paused" };
        let body = match &error.hint {
            Some(hint) => format!("{}: {hint}", error.message),
            None => error.message.clone(),
        };
        // Who clicked there may see no window.
        app.dialog().message(body).title(title).kind(MessageDialogKind::Error).show(|_| {});
    }
}

/// Shows how things stand now.
pub async fn refresh(app: &AppHandle) {
    let status = app.state::<Host>().ask::<Status>("status", nothing()).await;
    let Some(tray) = app.try_state::<Tray>() else { return };
    let (look, words) = say(&status);
    let picture = match look {
        Look::Idle => IDLE,
        Look::Unread => UNREAD,
        Look::Degraded => DEGRADED,
        Look::Paused => PAUSED,
    };
    // A state that cannot be read leaves the word as it was.
    if let Ok(status) = &status {
        tray.says_resume.store(status.paused.is_some(), Ordering::Release);
    }
    let is_paused = tray.says_resume.load(Ordering::Acquire);
    let count = status.map_or(0, |status| status.inbox_unread);
    let shown = tray
        .icon
        .set_icon(Some(picture))
        .and_then(|()| tray.icon.set_title((count > 0).then(|| count.to_string())))
        .and_then(|()| tray.icon.set_tooltip(Some(format!("Steward: {words}"))))
        .and_then(|()| tray.state.set_text(&words))
        .and_then(|()| tray.pause.set_text(if is_paused { "Resume" } else { "Pause all" }));
    if let Err(error) = shown {
        tracing::warn!(%error, "the tray icon did not follow");
    }
}

/// The icon and the line of the menu for a state.
fn say(status: &Result<Status, ApiError>) -> (Look, String) {
    let status = match status {
        Ok(status) => status,
        Err(error) => return (Look::Degraded, error.message.clone()),
    };
    let reason = || status.reasons.first().map(|reason| reason.message.clone());
    match status.state {
        RuntimeState::Paused => (Look::Paused, "paused".to_owned()),
        RuntimeState::Degraded => (Look::Degraded, reason().unwrap_or_else(|| "degraded".to_owned())),
        RuntimeState::ReadOnly => (Look::Degraded, reason().unwrap_or_else(|| "read only".to_owned())),
        RuntimeState::NoRuntime => (Look::Degraded, "no runtime".to_owned()),
        RuntimeState::Running => {
            let look = if status.inbox_unread > 0 { Look::Unread } else { Look::Idle };
            let waiting = match status.inbox_open {
                0 => "nothing waits for you".to_owned(),
                1 => "1 entry waits for you".to_owned(),
                many => format!("{many} entries wait for you"),
            };
            let running = match status.open_reviews.saturating_add(status.engine_tasks) {
                0 => String::new(),
                1 => ", 1 agent is at work".to_owned(),
                many => format!(", {many} agents are at work"),
            };
            (look, waiting + &running)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_core::api::error::ErrorCode;

    fn status(change: impl FnOnce(&mut serde_json::Value)) -> Result<Status, ApiError> {
        let mut value = json!({
            "version": "0", "state": "running", "reasons": [], "holder": null, "isHolder": true, "lastTick": null,
            "paused": null, "reviewEnabled": true, "openReviews": 0, "heldReviews": 0, "engineTasks": 0, "breakerOpen": false,
            "inboxOpen": 0, "inboxUnread": 0, "tasks": 0, "now": "2026-11-30T00:00:00Z",
            "spend": { "todayUsd": 0.0, "monthUsd": 0.0, "dailyCapUsd": 1.0, "monthlyCapUsd": 1.0,
                       "unknownToday": 0, "tokensToday": 0, "exhausted": false },
            "observer": { "state": "off", "lastTick": null, "nextTick": null, "problem": null,
                          "requests": 0, "points": 0, "budgets": [] }
        });
        change(&mut value);
        Ok(serde_json::from_value(value).unwrap())
    }

    #[test]
    fn the_icon_says_what_matters_most() {
        assert_eq!(say(&status(|_| {})), (Look::Idle, "nothing waits for you".to_owned()));
        let busy = status(|s| {
            s["inboxOpen"] = 3.into();
            s["inboxUnread"] = 1.into();
            s["openReviews"] = 1.into();
        });
        assert_eq!(say(&busy), (Look::Unread, "3 entries wait for you, 1 agent is at work".to_owned()));
        let bad = status(|s| {
            s["state"] = "degraded".into();
            s["inboxUnread"] = 4.into();
            s["reasons"] =
                json!([{ "code": "config", "message": "config.yaml line 3 is wrong", "hint": null }]);
        });
        assert_eq!(say(&bad), (Look::Degraded, "config.yaml line 3 is wrong".to_owned()));
        assert_eq!(say(&status(|s| s["state"] = "paused".into())).0, Look::Paused);
        assert_eq!(
            say(&status(|s| s["state"] = "read_only".into())),
            (Look::Degraded, "read only".to_owned())
        );
    }

    #[test]
    fn a_core_that_did_not_open_says_why() {
        let error = Err(ApiError::new(ErrorCode::Store, "the database is damaged"));
        assert_eq!(say(&error), (Look::Degraded, "the database is damaged".to_owned()));
    }

    #[test]
    fn quitting_asks_about_what_it_would_cut_off_and_where_that_is_not_known() {
        let asked = |reviews: u32, tasks: u32| {
            quit::under_way(&status(|s| {
                s["openReviews"] = reviews.into();
                s["engineTasks"] = tasks.into();
            }))
        };
        assert_eq!(asked(0, 0), None);
        assert_eq!(asked(1, 0).unwrap(), "1 review is under way. It ends when Steward quits.");
        assert_eq!(asked(0, 1).unwrap(), "1 task of the engine is under way. It ends when Steward quits.");
        assert_eq!(
            asked(2, 1).unwrap(),
            "2 reviews and 1 task of the engine are under way. They end when Steward quits."
        );
        let of_another = status(|s| {
            s["isHolder"] = false.into();
            s["openReviews"] = 1.into();
        });
        assert_eq!(quit::under_way(&of_another), None);
        let unread =
            quit::under_way(&Err(ApiError::new(ErrorCode::Store, "the database is damaged"))).unwrap();
        assert!(unread.contains("could not be read (the database is damaged)"), "{unread}");
    }
}
