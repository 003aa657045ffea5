//! From a pull request to the comment below it, through the real gates, the seat and the runtime.

use steward_core::lock::HolderKind;
use steward_core::loops::supervisor::{Nowhere, Runtime};
use steward_core::store::reviews::ReviewState;

use super::*;
use crate::desk::{CHANGES, hand_in};
use crate::needs_boundary;
use crate::pulls::scene::{BODY, Scene, WORKFLOW};

async fn settled(scene: &Scene, power: &str) {
    scene.config(&format!("repositories: [{{name: octo/app, {power}}}]\n"));
    let waits = in_force::settle(&scene.desk.ctx).await.unwrap();
    in_force::confirm(&scene.desk.ctx, &waits.change().unwrap()).await.unwrap();
}

async fn effect(scene: &Scene) -> Vec<EffectRow> {
    scene.desk.ctx.store.read(|tx| effects::page(tx, false, None, 9)).await.unwrap()
}

#[tokio::test]
async fn a_published_review_of_a_pull_request_is_told_below_it() {
    needs_boundary!();
    let scene = Scene::new();
    settled(&scene, ACT).await;
    let files = [("src/lib.rs", "pub fn add() {}\nfn minus() {}\n"), WORKFLOW];
    let head = scene.app().push("feat", "feat: more", &files);
    let pull = scene.app().open_pull("octo", "feat", "feat: more @octo").body(BODY);
    scene.app().check(&head, "build").fails();
    scene.desk.reviewer(&hand_in(&CHANGES.replace("it subtracts", "@octo it subtracts, fixes #1")));
    let task = scene.add(1).await;
    let runtime = Runtime::start(scene.desk.ctx.clone(), HolderKind::Serve, Arc::new(Nowhere)).await.unwrap();
    let id = scene.desk.start(task).await;
    scene.desk.until(id, "it is published", |row| row.state == ReviewState::Published).await;
    eventually("it is said", async || !pull.comments().is_empty()).await;
    eventually("it is done", async || effect(&scene).await[0].state == State::Done).await;
    let said = pull.comments();
    assert_eq!(said.len(), 1);
    let body = &said[0].2;
    assert!(body.starts_with(&format!("<!-- steward:review head={head} -->\n**Review: CHANGES**")), "{body}");
    assert!(body.contains("ci:") && body.contains("build") && body.contains("src/lib.rs:2"), "{body}");
    assert!(body.contains("@ octo it subtracts") && !body.contains("@octo"), "{body}");
    runtime.stop().await;
    // The same runtime, started again, says nothing more.
    let runtime = Runtime::start(scene.desk.ctx.clone(), HolderKind::Serve, Arc::new(Nowhere)).await.unwrap();
    runtime.stop().await;
    assert_eq!(pull.comments().len(), 1);
    scene.world.assert_contract();
}

#[tokio::test]
async fn a_push_takes_the_suggestion_along_with_the_review() {
    needs_boundary!();
    let scene = Scene::new();
    settled(&scene, SUGGEST).await;
    scene.app().push("feat", "feat: more", &[("src/more.rs", "pub fn more() {}\n")]);
    let pull = scene.app().open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    let row = scene.desk.review(task).await;
    assert_eq!(row.state, ReviewState::Published, "{row:?}");
    let kinds = async || scene.desk.inbox().await.into_iter().map(|entry| entry.kind).collect::<Vec<_>>();
    assert_eq!(kinds().await.len(), 2, "the verdict, and whether it is to be told");
    assert!(kinds().await.contains(&Kind::Suggestion));
    scene.app().push("feat", "feat: again", &[("again", "again\n")]);
    let runtime = Runtime::start(scene.desk.ctx.clone(), HolderKind::Serve, Arc::new(Nowhere)).await.unwrap();
    eventually("it is of no use any more", async || effect(&scene).await[0].state == State::Obsolete).await;
    assert!(!kinds().await.contains(&Kind::Suggestion));
    assert!(pull.comments().is_empty());
    runtime.stop().await;
}
