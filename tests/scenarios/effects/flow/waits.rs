//! How long an effect waits: for what must be waited for, and for nothing and nobody else.

use chrono::{DateTime, Utc};
use steward_core::store::effects::{NewEffect, Start};
use steward_core::store::pulls::{self, PullRow, PullState};
use steward_core::store::repositories;
use steward_github_double::Fault;
use steward_rules::power::EffectClass;

use super::*;

const PULL: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";

#[tokio::test]
async fn a_write_does_not_queue_behind_reads_while_what_it_was_decided_by_grows_old() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    let mut sending = Sending::new(id);
    sending.step(&office.ctx).await.unwrap();
    assert_eq!(office.row().await.state, State::Intended);
    // As many reads as there may be at once, and none of them comes to an end.
    world.when(PULL).times(4).answers(Fault::Slow(Duration::from_secs(300)));
    let client = office.ctx.client_of(&office.host, &repo()).await.unwrap();
    let reads: Vec<_> = (0..4)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.reader().pull(&repo(), PullNumber(1)).await.map(drop) })
        })
        .collect();
    eventually("all are under way", async || world.faults_left() == 0).await;
    sending.step(&office.ctx).await.unwrap();
    assert_eq!(own(&world, 1).len(), 1);
    assert!(reads.iter().all(|read| !read.is_finished()), "it waited for a read");
    for read in reads {
        read.abort();
    }
}

#[tokio::test]
async fn what_a_clock_that_was_ahead_put_off_goes_out_when_the_clock_is_right_again() {
    let day = chrono::Duration::days(1);
    // Before the intent, and after it with nobody knowing the end.
    for (operation, fault, state) in
        [("GET /user", Fault::Status(500), State::Wanted), (POST, Fault::Status(502), State::Intended)]
    {
        let world = world();
        let office = Office::new(&world, ACT).await;
        office.hand.pass(day);
        office.review(&world).await;
        let id = office.row().await.id;
        world.when(operation).always().answers(fault);
        let row = office.drive(id).await;
        assert_eq!(row.state, state);
        world.calm();
        office.hand.pass(-day);
        assert!(row.retry_at.unwrap() > office.hand.now() + chrono::Duration::hours(23), "{row:?}");
        let runtime = host_runtime(&office).await;
        // A second of the clock for each look, so an hour at most.
        eventually("it is sent", async || {
            office.hand.pass(chrono::Duration::seconds(1));
            office.ctx.store.write(Durability::Normal, |tx| tx.topic("effects")).await.unwrap();
            office.row().await.state == State::Done
        })
        .await;
        assert_eq!(own(&world, 1).len(), 1);
        runtime.stop().await;
    }
}

/// What the observer last heard of pull request 1: this head, changed then by GitHub's clock.
async fn observed(office: &Office, head: &str, updated_at: DateTime<Utc>) {
    let (host, head, seen_at) = (office.host.clone(), Sha::new(head).unwrap(), office.hand.now());
    office
        .ctx
        .store
        .write(Durability::Full, move |tx| {
            let repository = repositories::ensure(tx, &host, &repo())?.id;
            let row = PullRow {
                repository,
                number: PullNumber(1),
                node_id: "PR_1".to_owned(),
                title: Untrusted::new("feat: x"),
                author: "maria".to_owned(),
                base: head.clone(),
                head,
                head_branch: "feat".to_owned(),
                head_repository: Some("octo/app".to_owned()),
                base_branch: "main".to_owned(),
                draft: false,
                state: PullState::Open,
                labels: Vec::new(),
                rollup: None,
                mergeable: None,
                review_decision: None,
                updated_at,
                head_seen_at: seen_at,
                seen_at,
            };
            pulls::put(tx, &row)
        })
        .await
        .unwrap();
}

/// Reads the pull request as it is now, so that a stale copy of it can be had later.
async fn read(office: &Office) -> DateTime<Utc> {
    let client = office.ctx.client_of(&office.host, &repo()).await.unwrap();
    client.reader().pull(&repo(), PullNumber(1)).await.unwrap().value.updated_at.unwrap()
}

#[tokio::test]
async fn a_copy_of_github_that_lags_makes_nothing_obsolete() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    let before = read(&office).await;
    world.advance(Duration::from_secs(60));
    let head = world.repo("octo/app").push("feat", "feat: y", &[("src/x.rs", "y\n")]);
    observed(&office, &head, before + chrono::Duration::seconds(60)).await;
    office.review(&world).await;
    let id = office.row().await.id;
    // For a while the answers show the head before.
    world.when(PULL).times(2).answers(Fault::Stale);
    for _ in 0..2 {
        let row = office.drive(id).await;
        assert_eq!(stands(&row), (State::Wanted, Some("unread")));
        assert_eq!(row.retry_at, Some(office.hand.now() + chrono::Duration::minutes(1)));
        assert_eq!(posts(&world), 0);
        office.hand.pass(chrono::Duration::minutes(1));
    }
    assert_eq!((office.drive(id).await.state, world.faults_left()), (State::Done, 0));
    assert!(world.repo("octo/app").pull(1).comments()[0].2.contains(&head));
}

#[tokio::test]
async fn a_copy_of_github_that_lags_lets_nothing_out_about_a_head_that_moved() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    let before = read(&office).await;
    world.advance(Duration::from_secs(60));
    let head = world.repo("octo/app").push("feat", "feat: y", &[("src/x.rs", "y\n")]);
    observed(&office, &head, before + chrono::Duration::seconds(60)).await;
    world.when(PULL).answers(Fault::Stale);
    assert_eq!(stands(&office.drive(id).await), (State::Wanted, Some("unread")));
    // An answer that is not older is believed.
    office.hand.pass(chrono::Duration::minutes(1));
    assert_eq!(stands(&office.drive(id).await), (State::Obsolete, Some("head_moved")));
    assert_eq!(posts(&world), 0);
}

#[tokio::test]
async fn a_host_that_is_slow_holds_up_nobody_elses() {
    let world = world();
    let office = Office::unconfirmed(&world, ACT, Options { timeout: Duration::from_secs(60), ..quick() });
    let text = format!(
        "accounts: [{{host: \"{}\", login: octo}}, {{host: ghe.test, login: cto}}]\n\
         repositories: [{{name: octo/app, account: octo, {ACT}}}, {{name: cto/lib, account: cto, {ACT}}}]\n",
        office.host
    );
    std::fs::write(office.home.config_file(), text).unwrap();
    office.ctx.config.reread();
    office.confirm().await;
    office.review(&world).await;
    let slow = office.row().await.id;
    world.when(LIST).always().answers(Fault::Slow(Duration::from_secs(300)));
    let _runtime = host_runtime(&office).await;
    eventually("the thread is being read", async || {
        world.exchanges().iter().any(|exchange| exchange.operation == LIST)
    })
    .await;
    let new = NewEffect {
        key: "comment_review:ghe.test/cto/lib#1".to_owned(),
        class: EffectClass::CommentReview,
        host: "ghe.test".to_owned(),
        repository: "cto/lib".to_owned(),
        number: Some(1),
        head: Some(Sha::new(&world.repo("octo/app").pull(1).head()).unwrap()),
        account: "cto".to_owned(),
        review: None,
        content: "hello".to_owned(),
        deed: None,
        line: None,
        start: Start::Wanted,
    };
    let (other, _) =
        office.ctx.store.write(Durability::Full, move |tx| effects::put(tx, &new)).await.unwrap();
    // Nobody is signed in there, and that is found out while the first host still thinks.
    eventually("it is looked at", async || office.get(other).await.why.is_some()).await;
    assert_eq!(stands(&office.get(slow).await), (State::Wanted, None));
}
