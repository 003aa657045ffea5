//! What the window may ask. Each is one call further.

use serde_json::Value;
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::http::token_of;
use tauri::{AppHandle, State, Url};
use tauri_plugin_clipboard_manager::ClipboardExt;
use tauri_plugin_dialog::DialogExt;
use tauri_plugin_opener::OpenerExt;

use crate::host::Host;
use crate::window::Waiting;

/// Asks the core.
#[tauri::command]
pub async fn call(host: State<'_, Host>, name: String, request: Value) -> Result<Value, ApiError> {
    host.call(&name, request).await
}

/// Puts text on the clipboard.
#[tauri::command]
pub async fn copy_text(app: AppHandle, text: String) -> Result<(), ApiError> {
    app.clipboard().write_text(text).map_err(|error| {
        ApiError::new(ErrorCode::Internal, format!("the clipboard did not take the text: {error}"))
            .hint("select the text and copy it yourself")
    })
}

/// Puts the token of the HTTP door on the clipboard. It goes through no window.
#[tauri::command]
pub async fn copy_http_token(app: AppHandle, host: State<'_, Host>) -> Result<(), ApiError> {
    let token = token_of(host.api()?.home())?;
    app.clipboard().write_text(token).map_err(|error| {
        ApiError::new(ErrorCode::Internal, format!("the clipboard did not take the token: {error}"))
            .hint("read the file `http-token` in the data folder")
    })
}

/// Lets the person choose a folder; nothing when they chose none.
#[tauri::command]
pub async fn pick_folder(app: AppHandle) -> Result<Option<String>, ApiError> {
    let (chosen, choice) = tokio::sync::oneshot::channel();
    app.dialog().file().pick_folder(move |folder| {
        // The receiver is gone only when the window is.
        let _ = chosen.send(folder);
    });
    let Some(folder) = choice.await.ok().flatten() else { return Ok(None) };
    let path = folder.into_path().map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))?;
    let text = path.into_os_string().into_string();
    text.map(Some).map_err(|path| {
        ApiError::new(ErrorCode::BadRequest, format!("{} is no UTF-8 path", path.to_string_lossy()))
            .hint("rename the folder, or choose another")
    })
}

/// What waited for the window to be ready, once.
#[tauri::command]
pub fn pending_target(waiting: State<'_, Waiting>) -> Option<String> {
    waiting.take().map(|target| target.as_str().to_owned())
}

/// Opens a web page in the system's browser.
#[tauri::command]
pub async fn open_external(app: AppHandle, url: String) -> Result<(), ApiError> {
    let url = web_page(&url)?;
    app.opener()
        .open_url(url, None::<&str>)
        .map_err(|error| ApiError::new(ErrorCode::Internal, format!("the system opened no browser: {error}")))
}

/// Only `https`, with a host and without a name or password in it.
fn web_page(url: &str) -> Result<String, ApiError> {
    let refused = |why: &str| ApiError::new(ErrorCode::BadRequest, format!("this link is not opened: {why}"));
    let url = Url::parse(url).map_err(|error| refused(&error.to_string()))?;
    if url.scheme() != "https" {
        return Err(refused("it is no https link"));
    }
    if url.host_str().is_none_or(str::is_empty) || !url.username().is_empty() || url.password().is_some() {
        return Err(refused("it does not plainly name a host"));
    }
    Ok(url.into())
}

#[cfg(test)]
mod tests {
    use super::web_page;

    #[test]
    fn only_plain_https_links_leave_the_window() {
        assert_eq!(web_page("https://example.com/a?b#c").unwrap(), "https://example.com/a?b#c");
        for url in [
            "http://example.com/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "https://user@example.com/",
            "https://user:pw@example.com/",
            "steward://review/7",
            "https://",
            "-https://example.com",
            "",
        ] {
            assert!(web_page(url).is_err(), "{url}");
        }
    }
}
