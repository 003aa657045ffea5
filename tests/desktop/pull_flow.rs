//! A pull request from opened to a published verdict in the real window, on a GitHub that differs from the
//! real one by its address alone.

use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::page::Page;
use steward_desktop_tests::{PATIENCE, until};
use steward_github_double::{Fault, PullVerbs, RepoVerbs, World};
use steward_kit::claude;
use steward_kit::model::{ScriptedModel, Turn};

use crate::sign_in::{TOKEN, copied, host};

/// A whole review by the real agent, on a loaded machine.
const REVIEW: Duration = Duration::from_secs(150);
const WELL: &str =
    "Adds two sums.\n\n## Validated\n\n- by hand, with small numbers\n\n## Not done\n\nNone.\n";

fn script() -> Vec<Turn> {
    vec![
        Turn::tool("mcp__steward__digest_get", json!({})),
        Turn::tool("Read", json!({ "file_path": "/review/tree/src/lib.rs" })),
        Turn::tool(
            "mcp__steward__verdict_submit",
            json!({ "verdict": "CHANGES", "summary": "One sum is wrong.", "findings": [
                { "title": "add subtracts", "file": "src/lib.rs", "line": 2, "why": "It returns a - b. @maria fixes #1",
                  "check": "add(1, 2) == 3" }] }),
        ),
        Turn::text("Handed in."),
    ]
}

/// `octo/app` with CI, and the change that the pull request brings.
fn begin<'w>(world: &'w World) -> (RepoVerbs<'w>, String) {
    let app = world.repo("octo/app");
    app.push(
        "main",
        "chore: begin",
        &[(".github/workflows/ci.yml", "on: pull_request\n"), ("src/lib.rs", "//! Sums.\n")],
    );
    let code = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n";
    let head = app.push("feat/sums", "feat: add", &[("src/lib.rs", code)]);
    (app, head)
}

/// Computes the gates again until this one is in this state, as a person would look again.
async fn gate_turns(page: &Page, gate: &str, state: &str) {
    page.click("gates-again").await;
    let wanted = format!("gate-{gate}");
    let mut looked = std::time::Instant::now();
    until(&format!("{gate} to be {state}"), Duration::from_secs(60), async || {
        if looked.elapsed() > Duration::from_secs(5) {
            page.click("gates-again").await;
            looked = std::time::Instant::now();
        }
        let row = page.find(&wanted).await;
        (row.attr("data-state").await.ok()?.as_deref() == Some(state)).then_some(())
    })
    .await;
}

async fn sign_in(desk: &Desk, page: &Page) -> Result<()> {
    let _copied = copied(desk, TOKEN)?;
    until("the token on the clipboard", PATIENCE, async || {
        desk.clipboard().ok().filter(|text| text.contains(TOKEN))
    })
    .await;
    page.click("nav-settings").await;
    page.click("account-sign-in").await;
    page.click("sign-in-clipboard").await;
    page.says("token-place", "in the keyring", PATIENCE).await;
    Ok(())
}

async fn watch(page: &Page) -> Result<()> {
    page.click("nav-repositories").await;
    page.click("add-first-repository").await;
    page.fill("repository-name", "octo/app").await?;
    page.click("repository-confirm").await;
    page.find("board-head").await;
    Ok(())
}

/// Lets `comment_review` act by itself: written, shown as a difference, confirmed.
async fn let_it_comment(page: &Page) {
    page.click("set-mode").await;
    page.click("mode-act").await;
    page.click("act-comment_review").await;
    page.click("mode-save").await;
    // The difference is shown, and holds once it is confirmed.
    page.find("confirm-ok").await;
    let asked =
        page.script("return document.querySelector('dialog[open]').textContent").await.unwrap_or_default();
    assert!(asked.to_string().contains("comment_review"), "{asked}");
    page.click("confirm-ok").await;
    until("the power to hold", PATIENCE, async || {
        let shown = page.call("power_show", json!({})).await.ok()?;
        shown["answer"]["change"].is_null().then_some(())
    })
    .await;
}

async fn turn_reviews_on(page: &Page) {
    page.click("nav-settings").await;
    page.click("settings-reviews").await;
    page.click("review-enable").await;
    until("reviews to be on", PATIENCE, async || {
        let switch = page.find("review-enable").await;
        (switch.attr("aria-checked").await.ok()?.as_deref() == Some("true")).then_some(())
    })
    .await;
}

/// Every state of the three gates that GitHub decides.
async fn each_state_is_seen(
    page: &Page,
    world: &World,
    app: &RepoVerbs<'_>,
    pull: PullVerbs<'_>,
    head: &str,
) {
    // Just opened: CI is defined and nothing ran; the title is none; nobody else has these commits.
    gate_turns(page, "ci", "undecided").await;
    gate_turns(page, "pr_hygiene", "fail").await;
    gate_turns(page, "not_stacked", "pass").await;
    page.says("gate-pr_hygiene", "title", PATIENCE).await;

    // Another open pull request carries the same commit.
    let other =
        app.commit("feat/stack", "feat: more").from("feat/sums").write("src/more.rs", "pub fn more() {}\n");
    other.push();
    let stacked = app.open_pull("maria", "feat/stack", "feat: more");
    gate_turns(page, "not_stacked", "fail").await;
    page.says("gate-not_stacked", &format!("#{}", stacked.number()), PATIENCE).await;
    stacked.close("maria");
    gate_turns(page, "not_stacked", "pass").await;

    let pull = pull.title("feat: add sums").body(WELL);
    gate_turns(page, "pr_hygiene", "pass").await;

    app.check(head, "build").runs();
    gate_turns(page, "ci", "undecided").await;
    app.check(head, "build").fails();
    gate_turns(page, "ci", "fail").await;
    page.says("gate-ci", "build", PATIENCE).await;
    app.check(head, "build").succeeds();
    gate_turns(page, "ci", "pass").await;

    // GitHub is not there: none of the three is guessed.
    world.when("*").always().answers(Fault::Cut);
    gate_turns(page, "ci", "undecided").await;
    gate_turns(page, "pr_hygiene", "undecided").await;
    gate_turns(page, "not_stacked", "undecided").await;
    world.calm();
    gate_turns(page, "ci", "pass").await;
    gate_turns(page, "pr_hygiene", "pass").await;
    gate_turns(page, "not_stacked", "pass").await;
    let _same = pull;
}

#[tokio::test]
async fn a_pull_request_goes_from_opened_to_a_published_verdict() -> Result<()> {
    let Some(agent) = claude::find_or_say() else { return Ok(()) };
    let model = ScriptedModel::start(script()).await;
    let world = World::start();
    world.token("octo", TOKEN, &["repo"]);
    let (app, head) = begin(&world);
    let number = app.open_pull("maria", "feat/sums", "Add sums").number();

    let mut desk = Desk::new(Furniture::All).await?;
    let _keyring = desk.unlock_keyring()?;
    desk.set("STEWARD_AGENT_KEY", "made-up-for-this-test");
    let seats = desk.steward_home().join("seats");
    std::fs::create_dir_all(&seats)?;
    let seat = format!("adapter: claude\ncommand: [{}]\nendpoint: {}\n", agent.display(), model.url());
    std::fs::write(seats.join("reviewer.yaml"), seat)?;
    let config = format!("accounts:\n  - host: \"{}\"\n    login: octo\n", host(&world));
    std::fs::write(desk.steward_home().join("config.yaml"), config)?;

    let window = desk.open(&[]).await?;
    let page = &window.page;
    sign_in(&desk, page).await?;
    watch(page).await?;
    page.find_within(&format!("pull-{number}"), Duration::from_secs(60)).await;
    let_it_comment(page).await;
    turn_reviews_on(page).await;
    page.script(&format!("location.hash = '#/repository/octo/app/pull/{number}'; return 0")).await?;
    page.find("gates-again").await;
    each_state_is_seen(page, &world, &app, app.pull(number), &head).await;
    page.picture("pull-light").await?;

    // A new head without a check: the review is held, and decides itself when CI ends.
    let code = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\npub fn zero() -> i32 {\n    0\n}\n";
    let head = app.push("feat/sums", "feat: zero", &[("src/lib.rs", code)]);
    app.check(&head, "build").runs();
    gate_turns(page, "ci", "undecided").await;
    page.click("review-start").await;
    page.click("confirm-ok").await;
    until("the review to be held", REVIEW, async || {
        let listed = page.call("review_list", json!({ "limit": 5 })).await.ok()?;
        (listed["answer"]["reviews"][0]["state"] == "held").then_some(())
    })
    .await;
    assert!(app.pull(number).comments().is_empty(), "nothing is said before it is decided");
    app.check(&head, "build").succeeds();

    // Nothing is announced that the window shows already.
    page.click("nav-inbox").await;
    let shown = until("the notification", REVIEW, async || {
        desk.notices().shown().into_iter().find(|shown| shown.title.starts_with("CHANGES"))
    })
    .await;
    desk.notices().click(shown.id, "default").await?;
    page.says("verdict-chip", "CHANGES", PATIENCE).await;
    for gate in ["ci", "not_stacked", "pr_hygiene"] {
        let row = page.find(&format!("gate-{gate}")).await;
        assert_eq!(row.attr("data-state").await?.as_deref(), Some("pass"), "{gate}");
    }
    page.picture("pull-review-light").await?;

    // It went out, once, with nobody called and nothing closed.
    let said = until("the comment", Duration::from_secs(60), async || {
        let comments = app.pull(number).comments();
        (!comments.is_empty()).then_some(comments)
    })
    .await;
    let [(_, author, text)] = said.as_slice() else { panic!("one comment, and not {said:?}") };
    assert_eq!(author, "octo");
    assert!(text.contains(&format!("head={head}")), "{text}");
    assert!(text.contains("add subtracts"), "{text}");
    assert!(!text.contains("@maria") && !text.contains("fixes #1"), "{text}");

    // A push makes the card stale before the reader's eyes.
    app.push("feat/sums", "feat: one", &[("src/one.rs", "pub fn one() -> i32 {\n    1\n}\n")]);
    page.call("observe_now", json!({})).await.context("looking again")?;
    page.find_within("stale-banner", Duration::from_secs(60)).await;

    let answers = page.script("return document.documentElement.outerHTML").await?;
    assert!(!answers.to_string().contains(TOKEN), "the page holds the token");
    world.assert_contract();
    window.close().await
}
