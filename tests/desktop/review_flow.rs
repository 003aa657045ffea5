//! The minute that Steward asks for, whole: a repository, a review by the real agent in the real
//! boundary, the card, the copied findings, the notification and its click.

use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};
use steward_desktop_tests::desk::{Desk, Furniture, Open};
use steward_desktop_tests::page::Page;
use steward_desktop_tests::{PATIENCE, until};
use steward_kit::claude;
use steward_kit::git::Repo;
use steward_kit::model::{ScriptedModel, Turn};

/// A whole review by the real agent, on a loaded machine.
const REVIEW: Duration = Duration::from_secs(150);
const GATES: [&str; 11] = [
    "ci",
    "validator",
    "frames_fresh",
    "no_binaries",
    "no_churn",
    "no_secrets",
    "not_stacked",
    "pr_hygiene",
    "scope",
    "mutations_committed",
    "peer_claims",
];

/// What the model does: reads the digest and a file, then hands in two findings.
fn script() -> Vec<Turn> {
    let finding = |line: u32, title: &str, why: &str, check: &str| json!({ "title": title, "file": "src/lib.rs", "line": line, "why": why, "check": check });
    vec![
        // Long enough for the person to go and look at something else.
        Turn::tool("mcp__steward__digest_get", json!({})).sleeping(Duration::from_secs(3)),
        Turn::tool("Read", json!({ "file_path": "/review/tree/src/lib.rs" })),
        Turn::tool(
            "mcp__steward__verdict_submit",
            json!({ "verdict": "CHANGES", "summary": "Two sums are wrong.", "findings": [
                finding(2, "add subtracts", "It returns a - b.", "add(1, 2) == 3"),
                finding(5, "twice triples", "It returns a * 3.", "twice(2) == 4"),
            ] }),
        ),
        Turn::text("Handed in."),
    ]
}

/// A repository with one branch that adds two wrong functions.
fn repository(desk: &Desk, name: &str) -> Repo {
    let repo = Repo::init(desk.home().join(name));
    repo.commit("feat: begin", &[("src/lib.rs", Some(b"//! Sums.\n")), ("README.md", Some(b"# Sums\n"))]);
    repo.branch("feat/sums");
    let code =
        b"pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\npub fn twice(a: i32) -> i32 {\n    a * 3\n}\n";
    repo.commit("feat: add and twice", &[("src/lib.rs", Some(code))]);
    repo
}

fn seat(desk: &Desk, agent: &std::path::Path, model: &ScriptedModel) -> Result<()> {
    let folder = desk.steward_home().join("seats");
    std::fs::create_dir_all(&folder)?;
    let text = format!("adapter: claude\ncommand: [{}]\nendpoint: {}\n", agent.display(), model.url());
    Ok(std::fs::write(folder.join("reviewer.yaml"), text)?)
}

async fn add_workspace(page: &Page, title: &str, repo: &Repo) -> Result<()> {
    page.click("nav-settings").await;
    page.click("settings-workspaces").await;
    page.click("add-workspace").await;
    page.fill("workspace-path", &repo.path().to_string_lossy()).await?;
    page.find("workspace-preview").await;
    page.fill("workspace-title", title).await?;
    page.click("workspace-confirm").await;
    page.find(&format!("workspace-{title}")).await;
    Ok(())
}

async fn turn_reviews_on(page: &Page) {
    page.click("settings-reviews").await;
    page.click("review-enable").await;
    until("reviews to be on", PATIENCE, async || {
        let switch = page.find("review-enable").await;
        (switch.attr("aria-checked").await.ok()?.as_deref() == Some("true")).then_some(())
    })
    .await;
}

/// Adds the branch as a task and starts its review by hand.
async fn start_review(page: &Page, workspace: &str, task: u32) -> Result<()> {
    page.click("nav-tasks").await;
    let add = until("a way to add a task", PATIENCE, async || {
        if page.has("add-task").await {
            Some("add-task")
        } else {
            page.has("add-first-task").await.then_some("add-first-task")
        }
    })
    .await;
    page.click(add).await;
    page.find("task-workspace").await.select_by_value(workspace).await?;
    page.click("branch-feat/sums").await;
    page.click("task-confirm").await;
    page.click(&format!("task-row-{task}")).await;
    page.click("review-start").await;
    page.click("confirm-ok").await;
    page.find("review-progress").await;
    Ok(())
}

/// Every page in one look, saved to be looked at.
async fn pictures(app: &Open, look: &str) -> Result<()> {
    let page = &app.page;
    page.click("nav-settings").await;
    page.click("settings-appearance").await;
    page.click(&format!("theme-{look}")).await;
    page.picture(&format!("settings-{look}")).await?;
    page.click("nav-inbox").await;
    page.picture(&format!("inbox-{look}")).await?;
    page.click("nav-tasks").await;
    page.picture(&format!("tasks-{look}")).await?;
    page.script("location.hash = '#/review/1'; return 0").await?;
    page.find("verdict-chip").await;
    page.picture(&format!("review-{look}")).await
}

#[tokio::test]
async fn a_maintainer_reviews_a_branch_and_copies_the_findings() -> Result<()> {
    let Some(agent) = claude::find_or_say() else { return Ok(()) };
    let model = ScriptedModel::start(script()).await;
    let mut desk = Desk::new(Furniture::All).await?;
    desk.set("STEWARD_AGENT_KEY", "made-up-for-this-test");
    seat(&desk, &agent, &model)?;
    let (sums, site) = (repository(&desk, "sums"), repository(&desk, "site"));
    let app = desk.open(&[]).await?;
    let page = &app.page;

    add_workspace(page, "sums", &sums).await?;
    add_workspace(page, "site", &site).await?;
    turn_reviews_on(page).await;
    start_review(page, "sums", 1).await?;
    page.picture("progress-light").await?;
    page.click("nav-inbox").await;

    // The notification names the verdict; its click opens that card.
    let shown = until("the notification", REVIEW, async || {
        desk.notices().shown().into_iter().find(|shown| shown.title.starts_with("CHANGES"))
    })
    .await;
    assert!(shown.body.contains("sums"), "{shown:?}");
    assert!(shown.actions.contains(&"Copy findings".to_owned()), "{shown:?}");
    desk.notices().click(shown.id, "default").await?;
    page.is_at("review/1").await;

    // The card: verdict, eleven gates, two findings.
    page.says("verdict-chip", "CHANGES", PATIENCE).await;
    for gate in GATES {
        page.find(&format!("gate-{gate}")).await;
    }
    page.says("finding-1", "add subtracts", PATIENCE).await;
    page.says("finding-2", "twice triples", PATIENCE).await;
    assert!(!page.has("finding-3").await);

    page.click("copy-findings").await;
    let copied = until("the findings on the clipboard", PATIENCE, async || {
        desk.clipboard().ok().filter(|text| text.contains("add subtracts"))
    })
    .await;
    for words in ["twice triples", "src/lib.rs:2", "src/lib.rs:5", "add(1, 2) == 3"] {
        assert!(copied.contains(words), "{words} is not in what was copied:\n{copied}");
    }

    // The model was given the digest and the file, by the real agent inside the boundary.
    let results = model.turns_asked().iter().flat_map(|asked| asked.results()).collect::<String>();
    assert!(results.contains("a - b"), "the file was read");
    assert!(results.contains("digestVersion"), "the digest was read");

    a_click_opens_the_card_from_a_closed_window(&desk, page).await?;
    pictures(&app, "light").await?;
    pictures(&app, "dark").await?;
    app.close().await
}

async fn a_click_opens_the_card_from_a_closed_window(desk: &Desk, page: &Page) -> Result<()> {
    start_review(page, "site", 2).await?;
    page.click("nav-inbox").await;
    desk.display.close_window()?;
    until("the window to be hidden", PATIENCE, async || (!desk.display.shows_window().ok()?).then_some(()))
        .await;
    let shown = until("the second notification", REVIEW, async || {
        desk.notices().shown().into_iter().find(|shown| shown.body.contains("site"))
    })
    .await;
    desk.notices().click(shown.id, "open").await?;
    until("the window to come back", PATIENCE, async || desk.display.shows_window().ok()?.then_some(()))
        .await;
    page.is_at("review/2").await;
    page.says("verdict-chip", "CHANGES", PATIENCE).await;
    // The other button needs no window.
    let copied: Value = page.call("review_copy", json!({ "id": 2 })).await?;
    assert!(copied["answer"]["text"].as_str().is_some_and(|text| text.contains("add subtracts")), "{copied}");
    Ok(())
}
