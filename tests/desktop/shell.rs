//! What the shell promises, whatever the page shows.

use anyhow::Result;
use serde_json::json;
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::{PATIENCE, until};

#[tokio::test]
async fn the_page_may_run_its_own_scripts_only_and_reach_nobody() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let app = desk.open(&[]).await?;
    let page = &app.page;
    let eval =
        page.script("try { return String(new Function('return 1')()) } catch (e) { return e.name }").await?;
    assert_eq!(eval, json!("EvalError"));
    let fetched = "const done = arguments[arguments.length - 1]; \
                   fetch('http://127.0.0.1:9/').then(() => done('reached'), () => done('kept'))";
    assert_eq!(page.client().execute_async(fetched, Vec::new()).await?, json!("kept"));
    let injected = "const done = arguments[arguments.length - 1]; const s = document.createElement('script'); \
                    s.textContent = 'window.injected = 1'; document.body.append(s); \
                    setTimeout(() => done(String(window.injected)), 50)";
    assert_eq!(page.client().execute_async(injected, Vec::new()).await?, json!("undefined"));
    app.close().await
}

#[tokio::test]
async fn the_page_may_call_our_commands_and_no_plugin() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let app = desk.open(&[]).await?;
    let invoke = |command: &str, arguments: &str| {
        format!(
            "const done = arguments[arguments.length - 1]; \
             window.__TAURI_INTERNALS__.invoke('{command}', {arguments})\
             .then((v) => done('did ' + JSON.stringify(v)), (e) => done('refused ' + JSON.stringify(e)))"
        )
    };
    for (command, arguments) in [
        ("plugin:clipboard-manager|read_text", "{}"),
        ("plugin:opener|open_url", "{ url: 'https://example.com' }"),
        ("plugin:dialog|open", "{ options: {} }"),
        ("plugin:notification|notify", "{ options: { title: 'x' } }"),
        ("plugin:window|close", "{ label: 'main' }"),
        ("plugin:shell|execute", "{}"),
    ] {
        let answer = app.page.client().execute_async(&invoke(command, arguments), Vec::new()).await?;
        assert!(answer.as_str().is_some_and(|text| text.starts_with("refused")), "{command}: {answer}");
    }
    let refused = app
        .page
        .client()
        .execute_async(&invoke("open_external", "{ url: 'file:///etc/passwd' }"), Vec::new())
        .await?;
    assert!(refused.as_str().is_some_and(|text| text.contains("bad_request")), "{refused}");
    app.close().await
}

#[tokio::test]
async fn the_window_never_leaves_its_own_page() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let app = desk.open(&[]).await?;
    let before = app.page.script("return location.origin").await?;
    app.page.script("location.href = 'https://example.com/'; return 0").await?;
    app.page.script("window.open('https://example.com/'); return 0").await?;
    app.page.settled().await?;
    assert_eq!(app.page.script("return location.origin").await?, before);
    assert_eq!(app.page.client().windows().await?.len(), 1);
    app.close().await
}

#[tokio::test]
async fn copied_text_is_on_the_clipboard_of_the_desktop() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let app = desk.open(&[]).await?;
    let script = "const done = arguments[arguments.length - 1]; \
                  window.__TAURI_INTERNALS__.invoke('copy_text', { text: 'ça\\nmarche' }).then(() => done(1), done)";
    assert_eq!(app.page.client().execute_async(script, Vec::new()).await?, json!(1));
    let copied = until("the clipboard", PATIENCE, async || desk.clipboard().ok()).await;
    assert_eq!(copied, "ça\nmarche");
    app.close().await
}

#[tokio::test]
async fn a_closed_window_waits_in_the_tray_and_comes_back_from_its_menu() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let app = desk.open(&[]).await?;
    desk.tray().item().await;
    desk.display.close_window()?;
    until("the window to be hidden", PATIENCE, async || (!desk.display.shows_window().ok()?).then_some(()))
        .await;
    let told = desk.notices().wait_for("keeps running").await;
    assert!(told.body.contains("tray"), "{told:?}");
    desk.tray().choose("Open inbox").await?;
    until("the window to come back", PATIENCE, async || desk.display.shows_window().ok()?.then_some(()))
        .await;
    app.page.is_at("inbox").await;
    desk.display.close_window()?;
    until("the window to be hidden", PATIENCE, async || (!desk.display.shows_window().ok()?).then_some(()))
        .await;
    assert_eq!(desk.notices().shown().len(), 1, "where it went is told once");
    app.close().await
}

#[tokio::test]
async fn without_a_tray_closing_the_window_asks() -> Result<()> {
    let desk = Desk::new(Furniture::NoTray).await?;
    let app = desk.open(&[]).await?;
    desk.display.close_window()?;
    until("the question", PATIENCE, async || (desk.display.titles().ok()?.len() > 1).then_some(())).await;
    assert!(desk.display.shows_window()?, "nothing is closed before the person has answered");
    app.close().await
}

#[tokio::test]
async fn quit_in_the_tray_ends_the_app_in_order() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let mut app = desk.start_app(&[])?;
    assert!(desk.tray().labels().await?.contains(&"Pause all".to_owned()));
    desk.tray().choose("Quit").await?;
    let status = until("the app to end", PATIENCE, async || app.ended().ok()?).await;
    assert!(status.success(), "{status}");
    Ok(())
}

#[tokio::test]
async fn a_second_start_shows_the_first_and_ends() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let app = desk.open(&[]).await?;
    app.page.client().execute("return 0", Vec::new()).await?;
    desk.display.close_window()?;
    until("the window to be hidden", PATIENCE, async || (!desk.display.shows_window().ok()?).then_some(()))
        .await;
    let mut second = desk.start_app(&["steward://task/42"])?;
    let status = until("the second start to end", PATIENCE, async || second.ended().ok()?).await;
    assert!(status.success(), "{status}");
    until("the first window", PATIENCE, async || desk.display.shows_window().ok()?.then_some(())).await;
    app.page.is_at("task/42").await;
    app.close().await
}

#[tokio::test]
async fn the_app_starts_where_there_is_no_bus() -> Result<()> {
    let desk = Desk::new(Furniture::NoBus).await?;
    let app = desk.open(&[]).await?;
    app.page.find("nav-inbox").await;
    app.close().await
}

#[tokio::test]
async fn the_app_ends_in_order_when_the_session_says_so() -> Result<()> {
    let desk = Desk::new(Furniture::NoTray).await?;
    let app = desk.start_app(&[])?;
    until("the window", PATIENCE, async || desk.display.shows_window().ok()?.then_some(())).await;
    let status = app.end()?;
    assert!(status.success(), "{status}");
    Ok(())
}

#[tokio::test]
async fn a_database_that_cannot_be_opened_is_said_and_tried_again() -> Result<()> {
    let desk = Desk::new(Furniture::All).await?;
    let blocked = desk.steward_home().join("steward.db");
    std::fs::create_dir(&blocked)?;
    let app = desk.open(&[]).await?;
    let refused = until("a refusal that names the file", PATIENCE, async || {
        let answer = app.page.call("status", json!({})).await.ok()?;
        let message = answer["error"]["message"].as_str()?.to_owned();
        message.contains("steward.db").then_some(message)
    })
    .await;
    assert!(!refused.is_empty());
    app.page.picture("no-database").await?;
    std::fs::remove_dir(&blocked)?;
    until("the core to open after all", PATIENCE, async || {
        app.page.call("status", json!({})).await.ok()?.get("answer").cloned()
    })
    .await;
    app.close().await
}
