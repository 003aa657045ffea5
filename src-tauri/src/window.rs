//! The one window: made, shown, hidden, and pointed at what somebody asked to see.

use std::sync::{Mutex, PoisonError};

use tauri::webview::{NewWindowResponse, PageLoadEvent};
use tauri::{AppHandle, Emitter, Manager, Url, WebviewUrl, WebviewWindow, WebviewWindowBuilder, WindowEvent};

use crate::links::Target;
use crate::{quit, tray_host};

const LABEL: &str = "main";

/// A target kept until the page asks for it.
#[derive(Default)]
pub struct Waiting(Mutex<Page>);

#[derive(Default)]
struct Page {
    /// The page has asked once, and hears events from then on.
    listens: bool,
    target: Option<Target>,
}

impl Waiting {
    /// Hands over what waited; from now on targets go to the page directly.
    pub fn take(&self) -> Option<Target> {
        let mut page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        page.listens = true;
        page.target.take()
    }

    fn page_gone(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).listens = false;
    }

    /// Keeps a target; true when the page hears it itself.
    fn keep(&self, target: &Target) -> bool {
        let mut page = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !page.listens {
            page.target = Some(target.clone());
        }
        page.listens
    }
}

/// Makes the window. Size and place are those of the last time.
pub fn open(app: &AppHandle) -> tauri::Result<WebviewWindow> {
    let window = WebviewWindowBuilder::new(app, LABEL, WebviewUrl::App("index.html".into()))
        .title("Steward")
        .inner_size(1280.0, 800.0)
        .min_inner_size(390.0, 480.0)
        .on_navigation(is_own_page)
        .on_new_window(|_, _| NewWindowResponse::Deny)
        .on_page_load(|window, load| {
            if load.event() == PageLoadEvent::Started {
                window.state::<Waiting>().page_gone();
            }
        })
        .build()?;
    let handle = app.clone();
    window.on_window_event(move |event| match event {
        WindowEvent::CloseRequested { api, .. } if !quit::is_quitting(&handle) => {
            // What happens next needs an answer from the session's bus or from the person.
            api.prevent_close();
            tracing::debug!("the window was asked to close");
            let handle = handle.clone();
            tauri::async_runtime::spawn(async move { close(handle).await });
        }
        WindowEvent::Destroyed => handle.state::<Waiting>().page_gone(),
        _ => {}
    });
    Ok(window)
}

/// The page stays the one that came with the app.
fn is_own_page(url: &Url) -> bool {
    let own = match url.scheme() {
        "tauri" => url.host_str() == Some("localhost"),
        "http" | "https" => url.host_str() == Some("tauri.localhost"),
        _ => false,
    };
    if !own {
        tracing::warn!(scheme = url.scheme(), "the window was kept from leaving its page");
    }
    own
}

/// Keeps the runtime in the tray where there is one; else asks.
async fn close(app: AppHandle) {
    let has_tray = tray_host::answers().await;
    tracing::debug!(has_tray, "the window closes");
    if has_tray {
        hide(&app);
        quit::tell_once_that_it_keeps_running(&app).await;
    } else {
        quit::ask_whether_to_keep_running(&app).await;
    }
}

pub fn hide(app: &AppHandle) {
    if let Some(window) = app.get_webview_window(LABEL) {
        log("hide", window.hide());
    }
}

/// Hides a window in front, shows any other.
pub fn toggle(app: &AppHandle) {
    let in_front = app
        .get_webview_window(LABEL)
        .is_some_and(|window| window.is_visible().unwrap_or(false) && window.is_focused().unwrap_or(false));
    if in_front { hide(app) } else { show(app) }
}

/// Brings the window to the front, and makes it again when it is gone.
pub fn show(app: &AppHandle) {
    let window = match app.get_webview_window(LABEL) {
        Some(window) => window,
        None => match open(app) {
            Ok(window) => window,
            Err(error) => return log("open", Err(error)),
        },
    };
    log("unminimize", window.unminimize());
    log("show", window.show());
    log("focus", window.set_focus());
}

/// Shows a target in the window, now or as soon as its page is there.
pub fn open_target(app: &AppHandle, target: Target) {
    if app.state::<Waiting>().keep(&target) {
        log("open", app.emit_to(LABEL, "open", serde_json::json!({ "target": target.as_str() })));
    }
    show(app);
}

/// Tells the page that a view changed.
pub fn topic(app: &AppHandle, topic: &str) {
    log("topic", app.emit_to(LABEL, "topic", serde_json::json!({ "topic": topic })));
}

/// What the focused window shows; nothing when the person looks elsewhere.
pub fn seen(app: &AppHandle) -> Option<Target> {
    let window = app.get_webview_window(LABEL)?;
    if !window.is_visible().unwrap_or(false) || !window.is_focused().unwrap_or(false) {
        return None;
    }
    Target::read(window.url().ok()?.fragment()?).map(Target::innermost)
}

fn log(what: &str, result: tauri::Result<()>) {
    if let Err(error) = result {
        tracing::warn!(%error, what, "the window did not follow");
    }
}

#[cfg(test)]
mod tests {
    use super::{Target, Url, Waiting, is_own_page};

    #[test]
    fn the_window_stays_on_its_own_page() {
        let allowed = |url: &str| is_own_page(&Url::parse(url).unwrap());
        assert!(allowed("tauri://localhost/index.html#/review/7"));
        assert!(allowed("http://tauri.localhost/"));
        for url in [
            "https://example.com/",
            "tauri://elsewhere/",
            "file:///etc/passwd",
            "data:text/html,x",
            "about:blank",
        ] {
            assert!(!allowed(url), "{url}");
        }
    }

    #[test]
    fn a_target_waits_until_the_page_asks() {
        let waiting = Waiting::default();
        let review = Target::read("review/7").unwrap();
        assert!(!waiting.keep(&review), "no page listens yet");
        assert_eq!(waiting.take(), Some(review.clone()));
        assert!(waiting.keep(&review), "the page hears it itself");
        assert_eq!(waiting.take(), None, "and does not open it twice");
        waiting.page_gone();
        assert!(!waiting.keep(&review));
        assert_eq!(waiting.take(), Some(review));
    }
}
