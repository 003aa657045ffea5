//! The engine in the real window: its board, why something is not merged, the shadow run, the way from observe
//! to suggest, and a stuck pull request that is tried, shown and sent.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::Utc;
use serde_json::{Value, json};
use steward_core::clock::SystemClock;
use steward_core::home::Home;
use steward_core::store::engine_items::{self, ItemKind, ItemRow};
use steward_core::store::{Durability, Store, repositories};
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::page::Page;
use steward_desktop_tests::{PATIENCE, until};
use steward_github_double::{PullVerbs, RepoVerbs, World};
use steward_rules::ids::RepoName;

use crate::sign_in::{TOKEN, host};

const REPO: &str = "octo/data";
const BOT: &str = "github-actions[bot]";
const VERIFY: &str = ".github/workflows/ai-verify.yml";
/// A look at GitHub, its tick, and what follows, on a loaded machine.
const TICK: Duration = Duration::from_secs(120);

/// A pull request of the intake that adds one work, verified; its check is still to end.
fn intake<'w>(app: &RepoVerbs<'w>, number: u64, work: &str) -> PullVerbs<'w> {
    let branch = format!("intake/issue-{number}");
    let (path, text) = (format!("data/works/{work}.json"), format!("{{\"{work}\": {{\"v\": 1}}}}\n"));
    app.commit(&branch, &format!("data: {work}")).from("main").write(&path, &text).push();
    let pull = app.open_pull("maria", &branch, &format!("[intake] {work}"));
    let pull = pull.body(&format!("Adds {work}.\n")).label("data").label("bot-intake");
    app.check(&pull.head(), "verify").workflow(VERIFY).succeeds();
    pull.label_by(BOT, "ai-verified");
    pull
}

/// A catalogue with three merges behind it.
fn begin(world: &World) -> RepoVerbs<'_> {
    let app = world.repo(REPO);
    app.push("main", "data: first", &[("data/works/a.json", "{\"a\": {\"v\": 1}}\n")]);
    for (number, work) in [(101, "b"), (102, "c"), (103, "d")] {
        let pull = intake(&app, number, work);
        app.check(&pull.head(), "check").succeeds();
        pull.merge_by("octo", "squash");
    }
    app
}

/// What the engine remembers of a pull request whose agent failed three times.
async fn fails_thrice(desk: &Desk, host: &str, number: u64) -> Result<()> {
    let home = Home::under(&desk.steward_home());
    home.create()?;
    let store = Store::open(&home, Arc::new(SystemClock))?;
    let (host, name) = (host.to_owned(), RepoName::parse(REPO).context("a name")?);
    store
        .write(Durability::Full, move |tx| {
            let id = repositories::ensure(tx, &host, &name)?.id;
            let mut item = ItemRow::fresh(ItemKind::Pr, number as i64, Utc::now());
            (item.class, item.decision) = ("data".to_owned(), "fix".to_owned());
            item.attempts.spent = 3;
            item.attempts.next_at = Some(Utc::now() + chrono::Duration::hours(9));
            item.evidence =
                Some("check: step “validate” failed\ndata/works/f.json: `v` <b>is</b> missing".to_owned());
            item.last_action = Some(("agent attempt 3: refused by the validator".to_owned(), Utc::now()));
            item.stuck = true;
            engine_items::put(tx, id, &item)
        })
        .await?;
    Ok(())
}

/// The effect of this class for a pull request, once there is one.
async fn effect(page: &Page, class: &str, number: u64) -> Value {
    until(&format!("{class} of #{number}"), TICK, async || {
        let listed = page.call("effect_list", json!({ "open": false, "limit": 50 })).await.ok()?;
        let all = listed["answer"]["effects"].as_array()?.clone();
        all.into_iter().find(|one| one["class"] == class && one["number"] == number)
    })
    .await
}

/// The board by class, the conditions of what is red, and what the gate would have done.
async fn looks_around(page: &Page, ready: u64, stuck: u64) -> Result<()> {
    page.click("nav-repositories").await;
    page.script(&format!("location.hash = '#/repository/{REPO}'; return 0")).await?;
    page.says(&format!("decision-{ready}"), "ready", TICK).await;
    page.says(&format!("decision-{stuck}"), "stuck", TICK).await;
    page.picture("engine-board-light").await?;

    page.click(&format!("pull-{stuck}")).await;
    let red = page.find("step-required_checks").await;
    assert_eq!(red.attr("data-state").await?.as_deref(), Some("unmet"));
    assert!(!page.has("step-open").await, "what holds is folded away");
    page.click("steps-fold").await;
    let open = page.find("step-open").await;
    assert_eq!(open.attr("data-state").await?.as_deref(), Some("met"));
    page.picture("engine-why-light").await?;

    page.script(&format!("location.hash = '#/repository/{REPO}'; return 0")).await?;
    page.click("shadow-run").await;
    let sum = page.says("shadow-sum", "3 of the last 3", TICK).await;
    assert!(sum.contains("by itself"), "{sum}");
    let bars =
        page.script("return document.querySelectorAll('[data-testid=shadow-dialog] rect.would').length");
    assert_eq!(bars.await?, json!(3), "the chart has a bar of each");
    page.picture("engine-shadow-light").await?;
    page.click("shadow-close").await;
    Ok(())
}

/// From observe to suggest: the difference is shown, written with the comments kept, and confirmed.
async fn widens(page: &Page, desk: &Desk) -> Result<()> {
    page.click("set-mode").await;
    page.click("mode-suggest").await;
    let shown = page.says("edit-diff", "mode: suggest", PATIENCE).await;
    assert!(shown.contains("mode: observe"), "{shown}");
    page.says("edit-pending", "waits until you confirm", PATIENCE).await;
    page.picture("engine-mode-light").await?;
    page.click("mode-save").await;
    page.click("confirm-ok").await;
    until("the power to hold", PATIENCE, async || {
        let shown = page.call("power_show", json!({})).await.ok()?;
        shown["answer"]["change"].is_null().then_some(())
    })
    .await;
    let written = std::fs::read_to_string(desk.steward_home().join("config.yaml"))?;
    assert!(written.contains("mode: suggest # until it is trusted"), "{written}");
    Ok(())
}

#[tokio::test]
async fn a_stuck_pull_request_is_looked_into_tried_and_sent() -> Result<()> {
    let world = World::start();
    world.token("octo", TOKEN, &["repo", "workflow"]);
    world.bot(BOT);
    let app = begin(&world);
    let ready = intake(&app, 104, "e");
    app.check(&ready.head(), "check").succeeds();
    let stuck = intake(&app, 105, "f");
    app.check(&stuck.head(), "check").printing("data/works/f.json: v is missing\n").fails();
    let (ready, stuck) = (ready.number(), stuck.number());

    let mut desk = Desk::new(Furniture::All).await?;
    desk.set("STEWARD_GITHUB_TOKEN", TOKEN);
    // One look now, and none by itself while this test runs.
    let config = format!(
        "accounts: [{{host: \"{}\", login: octo}}]\nengine: {{enabled: true, interval: 24h}}\nrepositories:\n  - name: {REPO}\n    \
         preset: data-catalogue\n    mode: observe # until it is trusted\n    policy:\n      engine: {{requiredChecks: [check, verify], \
         skippable: [check, verify], stableSecs: 0}}\n",
        host(&world)
    );
    fails_thrice(&desk, host(&world), stuck).await?;
    std::fs::write(desk.steward_home().join("config.yaml"), config)?;
    let window = desk.open(&[]).await?;
    let page = &window.page;

    // The notification of what is stuck opens exactly its card.
    page.click("nav-settings").await;
    let told = tokio::time::timeout(TICK, async {
        loop {
            let shown = desk.notices().shown();
            if let Some(found) = shown.into_iter().find(|shown| shown.title.starts_with("Stuck")) {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    let told =
        told.await.map_err(|_| anyhow::anyhow!("none is of what is stuck: {:?}", desk.notices().shown()))?;
    desk.notices().click(told.id, "default").await?;
    page.is_at(&format!("inbox/item/{REPO}/pr-{stuck}")).await;
    page.says("item-state", "stuck", PATIENCE).await;
    page.says("item-attempts", "3 attempts", PATIENCE).await;
    let evidence = page.says("item-evidence", "validate", PATIENCE).await;
    assert!(evidence.contains("<b>is</b>"), "foreign text is inert: {evidence}");
    page.picture("engine-stuck-light").await?;

    looks_around(page, ready, stuck).await?;
    widens(page, &desk).await?;
    let suggested = effect(page, "merge", ready).await;
    assert_eq!(suggested["state"], "suggested", "{suggested}");
    assert!(!app.pull(ready).is_merged(), "nothing goes out by itself");

    // Its check is well meanwhile. A try reads it whole, and what comes of it waits for the person.
    let head = app.pull(stuck).head();
    app.check(&head, "check").succeeds();
    page.script(&format!("location.hash = '#/inbox/item/{REPO}/pr-{stuck}'; return 0")).await?;
    page.click("try-now").await;
    let asked = page.text("confirm").await;
    assert!(asked.contains(&head[..7]) && asked.contains("waits in your inbox"), "{asked}");
    page.click("confirm-ok").await;
    let merge = effect(page, "merge", stuck).await;
    assert_eq!(merge["head"], json!(head));
    page.script(&format!("location.hash = '#/effect/{}'; return 0", merge["id"])).await?;
    page.click("effect-send").await;
    page.click("confirm-ok").await;
    until("the merge on GitHub", TICK, async || app.pull(stuck).is_merged().then_some(())).await;
    page.says("effect-state", "sent", TICK).await;
    assert!(!app.pull(ready).is_merged(), "the other one still waits");

    let shown = page.script("return document.documentElement.outerHTML").await?;
    assert!(!shown.to_string().contains(TOKEN), "the page holds the token");
    world.assert_contract();
    window.close().await
}
