//! The app's HTTP door: turned on in Settings, asked by another program, its token through no window.

use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result};
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::{PATIENCE, until};

/// The whole answer; nothing when nobody answers.
fn ask(place: &str, head: &str, more: &str) -> Option<String> {
    let mut stream = TcpStream::connect(place).ok()?;
    let text = format!("{head} HTTP/1.1\r\nHost: {place}\r\nContent-Length: 0\r\n{more}\r\n");
    stream.write_all(text.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[tokio::test]
async fn another_program_is_answered_once_the_switch_is_on_and_no_longer() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let window = desk.open(&[]).await?;
    let page = &window.page;
    page.click("nav-settings").await;
    page.click("settings-diagnostics").await;
    page.find("listen-switch").await;
    page.fill("listen-port", "0").await?;
    page.click("listen-switch").await;
    let address = page.says("listen-address", "http://127.0.0.1:", PATIENCE).await;
    page.picture("listen-light").await?;
    let place = address.trim_start_matches("http://").to_owned();
    let health = ask(&place, "GET /healthz", "").context("nobody answers")?;
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
    let refused = ask(&place, "POST /run", "").context("nobody answers")?;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");

    page.click("token-copy").await;
    let token = std::fs::read_to_string(desk.steward_home().join("http-token"))?;
    until("the token on the clipboard", PATIENCE, async || {
        desk.clipboard().ok().filter(|text| text.trim() == token.trim())
    })
    .await;
    let run =
        ask(&place, "POST /run", &format!("Authorization: Bearer {token}\r\n")).context("nobody answers")?;
    assert!(!run.starts_with("HTTP/1.1 401"), "{run}");
    let shown = page.script("return document.documentElement.outerHTML").await?;
    assert!(!shown.to_string().contains(token.trim()), "the page holds the token");

    page.click("listen-switch").await;
    until("the door to be shut", PATIENCE, async || ask(&place, "GET /healthz", "").is_none().then_some(()))
        .await;
    window.close().await
}
