//! The end of the app: asked for, asked back where work is under way, and never by accident.

use std::sync::atomic::{AtomicBool, Ordering};

use steward_core::api::error::ApiError;
use steward_core::api::views::Status;
use steward_core::store::{Durability, StoreError, notices};
use tauri::{AppHandle, Manager};
use tauri_plugin_dialog::{DialogExt, MessageDialogButtons, MessageDialogResult};

use crate::host::{Host, nothing};
use crate::window;

/// Set once the app is on its way out.
#[derive(Default)]
pub struct Quitting(AtomicBool);

pub fn is_quitting(app: &AppHandle) -> bool {
    app.state::<Quitting>().0.load(Ordering::Acquire)
}

/// Stops the runtime, then the app.
pub async fn quit(app: &AppHandle) {
    if app.state::<Quitting>().0.swap(true, Ordering::AcqRel) {
        return;
    }
    window::hide(app);
    app.state::<Host>().stop().await;
    app.exit(0);
}

/// Quits, and asks first when a review would be cut off.
pub async fn ask_and_quit(app: &AppHandle) {
    let status = app.state::<Host>().ask::<Status>("status", nothing()).await;
    let Some(sentence) = under_way(&status) else { return quit(app).await };
    if ask(app, sentence, ["Quit", "Keep running"]).await == Some(0) {
        quit(app).await;
    }
}

/// What quitting would cut off; nothing where nothing is, or another process does it.
pub fn under_way(status: &Result<Status, ApiError>) -> Option<String> {
    let status = match status {
        Ok(status) if status.is_holder => status,
        Ok(_) => return None,
        Err(error) => {
            return Some(format!(
                "Whether something is under way could not be read ({}). What is, ends when Steward quits.",
                error.message
            ));
        }
    };
    let many = |n: u32, one: &str| match n {
        0 => None,
        1 => Some(format!("1 {one}")),
        n => Some(format!("{n} {one}s")),
    };
    let parts: Vec<String> =
        [many(status.open_reviews, "review"), many(status.engine_tasks, "task of the engine")]
            .into_iter()
            .flatten()
            .collect();
    let sum = status.open_reviews.saturating_add(status.engine_tasks);
    let ends = if sum == 1 { "is under way. It ends" } else { "are under way. They end" };
    (!parts.is_empty()).then(|| format!("{} {ends} when Steward quits.", parts.join(" and ")))
}

/// Without a tray a closed window cannot be found again by eye: the person decides.
pub async fn ask_whether_to_keep_running(app: &AppHandle) {
    let sentence = "No tray is there to show Steward once its window is closed. \
                    Kept running, it still reviews and notifies; start it again to see the window.";
    match ask(app, sentence.to_owned(), ["Keep running", "Quit"]).await {
        Some(0) => window::hide(app),
        Some(_) => ask_and_quit(app).await,
        None => {}
    }
}

/// Says once, ever, where the app went when its window closed.
pub async fn tell_once_that_it_keeps_running(app: &AppHandle) {
    let Ok(api) = app.state::<Host>().api() else { return };
    let store = &api.context().store;
    let told = store
        .write(Durability::Normal, |tx| -> Result<_, StoreError> {
            // A key is announced once for ever.
            notices::add(
                tx,
                "tray:kept",
                "inbox",
                "Steward keeps running",
                "It is in the tray; quit from its menu.",
            )?;
            tx.topic("notices")
        })
        .await;
    if let Err(error) = told {
        tracing::warn!(%error, "the first closing was not told");
    }
}

/// Asks with two words to choose from; nothing when the person turned away.
async fn ask(app: &AppHandle, sentence: String, words: [&'static str; 2]) -> Option<usize> {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let buttons = MessageDialogButtons::YesNoCancelCustom(
        words[0].to_owned(),
        words[1].to_owned(),
        "Cancel".to_owned(),
    );
    app.dialog().message(sentence).title("Steward").buttons(buttons).show_with_result(move |result| {
        // Nobody waits any more only when the app is gone.
        let _ = answer.send(result);
    });
    match answered.await.ok()? {
        MessageDialogResult::Custom(word) => words.iter().position(|known| *known == word),
        MessageDialogResult::Yes | MessageDialogResult::Ok => Some(0),
        MessageDialogResult::No => Some(1),
        MessageDialogResult::Cancel => None,
    }
}

/// Ends in order when the session or a person at a terminal says so. Signals are heard from the moment
/// this returns.
pub fn on_signals(app: &AppHandle) {
    match tauri::async_runtime::block_on(async { Signals::hear() }) {
        Ok(signals) => {
            let app = app.clone();
            tauri::async_runtime::spawn(async move {
                signals.next().await;
                quit(&app).await;
            });
        }
        Err(error) => tracing::warn!(%error, "signals are not heard"),
    }
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn hear() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()];
        let [end, interrupt, hang_up] = kinds.map(signal);
        Ok(Self([end?, interrupt?, hang_up?]))
    }

    async fn next(mut self) {
        let [end, interrupt, hang_up] = &mut self.0;
        tokio::select! {
            _ = end.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn hear() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(self) {
        if tokio::signal::ctrl_c().await.is_err() {
            // Without it there is nothing to hear, ever.
            std::future::pending::<()>().await;
        }
    }
}
