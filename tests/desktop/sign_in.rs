//! Signing in from the clipboard: the token goes to GitHub and the keyring, and no page ever holds it.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::json;
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::process::Running;
use steward_desktop_tests::{PATIENCE, until};
use steward_github_double::World;

pub const TOKEN: &str = "made_up_token_0123456789abcdef";

pub fn host(world: &World) -> &str {
    world.base().trim_start_matches("http://")
}

/// Another program puts text on the clipboard and keeps it there.
pub fn copied(desk: &Desk, text: &str) -> Result<Running> {
    let mut command = Command::new("xclip");
    desk.dress(&mut command);
    command.args(["-quiet", "-selection", "clipboard", "-i"]).stdin(Stdio::piped()).stderr(Stdio::null());
    let mut owner = Running::start(&mut command)?;
    owner.child().stdin.take().context("BUG: stdin is piped")?.write_all(text.as_bytes())?;
    Ok(owner)
}

#[tokio::test]
async fn the_token_on_the_clipboard_signs_in_and_no_page_sees_it() -> Result<()> {
    let world = World::start();
    world.token("octo", TOKEN, &["public_repo"]);
    let desk = Desk::new(Furniture::All).await?;
    let _keyring = desk.unlock_keyring()?;
    let config = format!("accounts:\n  - host: \"{}\"\n    login: octo\n", host(&world));
    std::fs::write(desk.steward_home().join("config.yaml"), config)?;
    let _copied = copied(&desk, &format!("{TOKEN}\n"))?;
    until("the token on the clipboard", PATIENCE, async || {
        desk.clipboard().ok().filter(|text| text.contains(TOKEN))
    })
    .await;

    let app = desk.open(&[]).await?;
    let page = &app.page;
    page.click("nav-settings").await;
    page.says("token-place", "signed out", PATIENCE).await;
    page.click("account-sign-in").await;
    page.picture("sign-in-light").await?;
    page.click("sign-in-clipboard").await;
    page.says("token-place", "in the keyring", PATIENCE).await;
    page.picture("accounts-light").await?;

    let seen = page
        .script("return document.documentElement.outerHTML + JSON.stringify({ ...localStorage })")
        .await?;
    assert!(!seen.to_string().contains(TOKEN), "the page holds the token");
    let listed = page.call("account_list", json!({})).await?;
    assert_eq!(listed["answer"]["accounts"][0]["token"], "keyring", "{listed}");
    assert!(!listed.to_string().contains(TOKEN), "an answer holds the token");
    let left = until("the clipboard to be cleared", PATIENCE, async || {
        let text = desk.clipboard().unwrap_or_default();
        (!text.contains(TOKEN)).then_some(text)
    })
    .await;
    assert_eq!(left, "");
    assert!(world.exchanges().iter().all(|exchange| exchange.login == "octo"));
    assert!(!world.exchanges().is_empty());
    app.close().await
}

#[tokio::test]
async fn a_server_that_is_not_configured_gets_the_token_only_when_the_system_asked() -> Result<()> {
    let world = World::start();
    world.token("octo", TOKEN, &["public_repo"]);
    let desk = Desk::new(Furniture::All).await?;
    let _keyring = desk.unlock_keyring()?;
    let _copied = copied(&desk, TOKEN)?;
    let app = desk.open(&[]).await?;
    let page = &app.page;
    page.click("nav-settings").await;
    page.click("sign-in").await;
    page.fill("sign-in-host", host(&world)).await?;
    page.click("sign-in-clipboard").await;
    until("the system's question", PATIENCE, async || (desk.display.titles().ok()?.len() > 1).then_some(()))
        .await;
    assert_eq!(world.exchanges().len(), 0, "nothing was sent before the person answered");
    assert!(desk.clipboard()?.contains(TOKEN), "and the clipboard was left alone");
    app.close().await
}

#[tokio::test]
async fn what_is_no_token_goes_nowhere() -> Result<()> {
    let world = World::start();
    let desk = Desk::new(Furniture::All).await?;
    let _keyring = desk.unlock_keyring()?;
    let config = format!("accounts:\n  - host: \"{}\"\n    login: octo\n", host(&world));
    std::fs::write(desk.steward_home().join("config.yaml"), config)?;
    let _copied = copied(&desk, "a private letter to a friend")?;
    let app = desk.open(&[]).await?;
    let page = &app.page;
    page.click("nav-settings").await;
    page.click("account-sign-in").await;
    page.click("sign-in-clipboard").await;
    page.says("problem", "holds no token", PATIENCE).await;
    assert_eq!(world.exchanges().len(), 0);
    app.close().await
}
