//! A newer review of the same head takes an effect's place: what was read, shown, counted or turned down of
//! the older text is not taken for the newer one.

use steward_github_double::Fault;

use super::*;

/// Another review of the head is published, and the older ones are stale then.
async fn newer(office: &Office, world: &World, summary: &str) {
    let retired = office.ctx.store.write(Durability::Full, |tx| {
        for row in effects::page(tx, false, None, 9)? {
            let (Some(task), Some(review)) = (row.task, row.review) else { continue };
            for older in reviews::fresh_of(tx, task)? {
                reviews::set_stale(tx, older.id, StaleReason::NewerReview)?;
            }
            loops::turned_stale(tx, review, StaleReason::NewerReview)?;
        }
        Ok::<_, StoreError>(())
    });
    retired.await.unwrap();
    let head = world.repo("octo/app").pull(1).head();
    office.review_of(1, &head, summary).await;
}

async fn person(office: &Office) -> Api {
    Api::open(&office.home, Caller::Person).await.unwrap()
}

/// What stands below the pull request.
fn said(world: &World) -> Vec<String> {
    world.repo("octo/app").pull(1).comments().into_iter().map(|(.., body)| body).collect()
}

#[tokio::test]
async fn the_text_that_goes_out_is_the_one_that_was_judged_and_journalled() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    // While GitHub answers the last question before the decision, a newer review is published.
    world.when(LIST).answers(Fault::Slow(Duration::from_secs(2)));
    let (row, ()) = tokio::join!(office.drive(id), async {
        eventually("the thread is being read", async || world.faults_left() == 0).await;
        newer(&office, &world, "Look again.").await;
    });
    assert_eq!(row.state, State::Done);
    assert!(row.content.contains("Look again."), "the newer one took its place: {}", row.content);
    assert_eq!(said(&world), [row.content]);
    assert_eq!(office.trail().await, ["wanted", "obsolete", "wanted", "intended", "posted", "done"]);
}

#[tokio::test]
async fn a_yes_holds_for_the_text_and_the_account_that_were_shown_and_for_no_other() {
    let world = world();
    let office = Office::new(&world, SUGGEST).await;
    office.review(&world).await;
    let person = person(&office).await;
    let id = office.row().await.id;
    let shown = api::show(&person, ById { id }).await.unwrap();
    newer(&office, &world, "Look again.").await;
    // The same number and key, and another text than the one on the screen.
    let refused = api::send(&person, EffectSend { id, hash: shown.hash.clone() }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    assert!(refused.message.contains("another text took its place"), "{refused:?}");
    assert_eq!(office.drive(id).await.state, State::Suggested);
    let now = api::show(&person, ById { id }).await.unwrap();
    assert!(now.content.contains("Look again.") && now.hash != shown.hash);
    let other = EffectRow { account: "cto".to_owned(), ..office.row().await };
    assert_ne!(other.hash(), now.hash, "who speaks was shown, too");
    let sent = api::send(&person, EffectSend { id, hash: now.hash }).await.unwrap();
    assert_eq!(office.carry(id).await.state, State::Done);
    assert_eq!(said(&world), [sent.content]);
    assert_eq!(posts(&world), 1);
}

#[tokio::test]
async fn a_no_stands_for_every_later_text_about_the_head() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    let person = person(&office).await;
    api::dismiss(&person, ById { id }).await.unwrap();
    // Neither the next review nor the one after that speaks by itself.
    for summary in ["Look again.", "And again."] {
        newer(&office, &world, summary).await;
        let row = office.drive(id).await;
        assert_eq!((row.state, row.is_approved()), (State::Suggested, false), "{summary}");
        assert!(row.content.contains(summary), "{}", row.content);
        assert_eq!((office.suggestions().await.len(), posts(&world)), (1, 0), "{summary}");
        let why = api::show(&person, ById { id }).await.unwrap().reason.unwrap();
        assert_eq!(why.code, "turned_down");
    }
    // A yes lets exactly that one out.
    office.approve(id).await;
    assert_eq!(office.carry(id).await.state, State::Done);
    assert!(said(&world).len() == 1 && said(&world)[0].contains("And again."));
    office.trail().await;
}

#[tokio::test]
async fn what_somebody_removed_is_not_said_in_other_words() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    let mut sending = Sending::new(id);
    for _ in 0..3 {
        sending.step(&office.ctx).await.unwrap();
    }
    world.repo("octo/app").pull(1).delete_comment("octo", own(&world, 1)[0]);
    assert_eq!(stands(&office.carry(id).await), (State::Failed, Some("removed")));
    newer(&office, &world, "Look again.").await;
    let row = office.drive(id).await;
    assert_eq!((row.state, posts(&world)), (State::Suggested, 1));
    // Nothing of the first one is told of the second.
    assert_eq!((row.attempt, row.looks, row.posted, row.evidence), (0, 0, None, None));
    assert_eq!(office.suggestions().await[0].1, "send?");
    office.approve(id).await;
    assert_eq!(office.carry(id).await.state, State::Done);
    assert!(said(&world).len() == 1 && said(&world)[0].contains("Look again."));
    office.trail().await;
}

#[tokio::test]
async fn a_new_text_has_all_its_attempts() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    world.when(POST).always().answers(Fault::Status(502));
    let row = office.carry(id).await;
    assert_eq!((stands(&row), row.attempt), ((State::Failed, Some("gave_up")), 5));
    world.calm();
    newer(&office, &world, "Look again.").await;
    let row = office.carry(id).await;
    assert_eq!((row.state, row.attempt), (State::Done, 1), "{row:?}");
    assert!(said(&world).len() == 1 && said(&world)[0].contains("Look again."));
    assert!(office.suggestions().await.is_empty(), "what failed before wants nobody any more");
}
