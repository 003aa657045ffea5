//! Signing in with the token on the clipboard. The page says a host and hears a login; the token goes from
//! the clipboard to GitHub and the keyring through here alone.

use secrecy::{ExposeSecret, SecretString};
use steward_core::api::accounts;
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::views::AccountView;
use tauri::{AppHandle, State};
use tauri_plugin_clipboard_manager::ClipboardExt;
use tauri_plugin_dialog::{DialogExt, MessageDialogButtons};

use crate::host::Host;

/// The host that needs no word of the person: nobody but GitHub is there.
const GITHUB: &str = "github.com";
/// Lengths of tokens: GitHub's have 40 to some 100 characters, those of servers may differ.
const LENGTH: std::ops::RangeInclusive<usize> = 20..=255;

/// Signs in to a host with the token that the person copied.
#[tauri::command]
pub async fn sign_in(app: AppHandle, core: State<'_, Host>, host: String) -> Result<AccountView, ApiError> {
    let api = core.api()?;
    let known = host.eq_ignore_ascii_case(GITHUB)
        || api.context().config().accounts.iter().any(|one| one.host.eq_ignore_ascii_case(&host));
    // A token is worth stealing: the page alone cannot name the server that gets it.
    if !known && !allows(&app, &host).await {
        return Err(refused("nothing was sent", "sign in again and allow the host"));
    }
    let token = on_clipboard(&app)?;
    let account = accounts::sign_in(&api, &host, token.clone()).await?;
    forget(&app, &token);
    Ok(account)
}

fn refused(message: &str, hint: &str) -> ApiError {
    ApiError::new(ErrorCode::Refused, message).hint(hint)
}

/// Asks the person in the system's own words.
async fn allows(app: &AppHandle, name: &str) -> bool {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let sentence = format!("Send the token on the clipboard to {}?", printable(name));
    let buttons = MessageDialogButtons::OkCancelCustom("Send".to_owned(), "Cancel".to_owned());
    app.dialog().message(sentence).title("Steward").buttons(buttons).show(move |yes| {
        // Nobody waits any more only when the app is gone.
        let _ = answer.send(yes);
    });
    answered.await.unwrap_or(false)
}

/// A host's name as it can be trusted to look: what is no letter of an address shows as a mark.
fn printable(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || ".-:".contains(letter);
    name.chars().take(120).map(|letter| if plain(letter) { letter } else { '?' }).collect()
}

fn on_clipboard(app: &AppHandle) -> Result<SecretString, ApiError> {
    match app.clipboard().read_text() {
        Ok(text) => token_in(&text),
        Err(_) => Err(none()),
    }
}

/// The clipboard's whole text, when it looks like a token: what else a person copied goes nowhere.
fn token_in(text: &str) -> Result<SecretString, ApiError> {
    let word = text.trim();
    let fits = LENGTH.contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte));
    if fits { Ok(SecretString::from(word)) } else { Err(none()) }
}

fn none() -> ApiError {
    refused("the clipboard holds no token", "copy it with GitHub's own button, then sign in again")
}

/// Takes the token off the clipboard, unless something else lies there by now.
fn forget(app: &AppHandle, token: &SecretString) {
    let clipboard = app.clipboard();
    let there = clipboard.read_text().is_ok_and(|text| text.trim() == token.expose_secret());
    if !there {
        return;
    }
    if let Err(error) = clipboard.clear().or_else(|_| clipboard.write_text("")) {
        tracing::warn!(%error, "the token stays on the clipboard");
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::{printable, token_in};

    #[test]
    fn only_what_looks_like_a_token_is_taken() {
        let made_up = format!("made_up_{}", "x".repeat(32));
        assert_eq!(token_in(&format!(" {made_up}\n")).unwrap().expose_secret(), made_up);
        for text in
            ["", "short", "two words of more than twenty letters", "https://example.org/some/long/address"]
        {
            assert!(token_in(text).is_err(), "{text}");
        }
        assert!(token_in(&"x".repeat(256)).is_err());
    }

    #[test]
    fn a_host_is_asked_about_as_it_is() {
        assert_eq!(printable("git.example.org:8443"), "git.example.org:8443");
        assert_eq!(printable("g\u{456}thub.com\n\u{202e}moc"), "g?thub.com??moc");
    }
}
