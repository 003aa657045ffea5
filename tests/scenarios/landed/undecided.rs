//! What cannot be proven yet, what never can, and what a proof costs.

use secrecy::ExposeSecret;
use steward_github_double::{Fault, Retry};

use super::*;

const PULL: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";
const BRANCH: &str = "GET /repos/{owner}/{repo}/branches/{branch}";

#[tokio::test]
async fn every_way_to_merge_is_proven_whoever_merged() {
    let desk = Desk::watching(&[REPO]);
    let app = desk.world.repo(REPO);
    let mut numbers = Vec::new();
    for branch in ["merge", "squash", "rebase"] {
        let file = |name: &str| format!("{branch}/{name}");
        let (a, b, c) = (file("a"), file("b"), file("c"));
        let commits: [&[(&str, &str)]; 3] =
            [&[(&a, "1\n")], &[(&a, "2\n"), (&b, "1\n")], &[(&a, "1\n"), (&c, "1\n")]];
        numbers.push((open_of(&app, branch, &commits), branch));
    }
    desk.turn().await;
    for (who, (number, method)) in ["octo", "maria", "octo"].into_iter().zip(&numbers) {
        app.pull(*number).merge_by(who, method);
    }
    tick(&desk).await;
    for (number, method) in numbers {
        assert_eq!(said(&desk, number).await, (State::Proven, method.to_owned(), vec![]));
    }
    all_quiet(&desk).await;
    desk.world.assert_contract();
}

#[tokio::test]
async fn commits_that_were_pushed_to_the_base_themselves_are_proven() {
    let (desk, [one, two]) = two_open().await;
    let app = desk.world.repo(REPO);
    let head = app.pull(one).head();
    app.commit("main", "chore: over it").from(&head).write("over.txt", "x\n").push();
    // GitHub names the head, or what came with it.
    app.pull(one).merged_as("octo", &head);
    tick(&desk).await;
    assert_eq!(said(&desk, one).await, (State::Proven, "pushed".to_owned(), vec![]));
    app.commit("main", "feat: two, by hand").write("two.txt", "x\n").push();
    app.pull(two).merged_as("octo", &app.tip("main"));
    tick(&desk).await;
    assert_eq!(said(&desk, two).await, (State::Proven, "squash".to_owned(), vec![]));
    all_quiet(&desk).await;
}

#[tokio::test]
async fn a_tick_in_which_nothing_merged_costs_nothing_more_and_a_merge_two_reads_and_a_fetch() {
    let (desk, [one, _]) = two_open().await;
    desk.tick().await;
    desk.world.mark();
    tick(&desk).await;
    let quiet = desk.world.tally();
    assert_eq!((quiet.requests, quiet.git_requests), (2, 0), "{:?}", quiet.by_operation);
    desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
    desk.tick().await;
    desk.world.mark();
    assert_eq!(prove(&desk).await, None);
    let cost = desk.world.tally();
    assert_eq!((cost.requests, cost.writes), (2, 0), "{:?}", cost.by_operation);
    assert!(cost.git_requests <= 3, "{}", cost.git_requests);
    desk.world.mark();
    assert_eq!(prove(&desk).await, None);
    assert_eq!((desk.world.tally().requests, desk.world.tally().git_requests), (0, 0), "once");
}

#[tokio::test]
async fn what_cannot_be_read_is_tried_again_and_proves_and_alarms_nothing() {
    for (what, fault) in [(PULL, Fault::Status(500)), (BRANCH, Fault::Status(502)), (PULL, Fault::Truncated)]
    {
        let (desk, [one, _]) = two_open().await;
        desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
        desk.tick().await;
        desk.world.when(what).always().answers(fault.clone());
        let mut waits = Vec::new();
        for _ in 0..4 {
            let next = prove(&desk).await.expect("it is tried again");
            let row = landing(&desk, one).await.unwrap();
            assert_eq!((row.state, row.why.as_deref()), (State::Waiting, Some("unread")), "{fault:?}");
            waits.push((next - desk.now()).num_minutes());
            // Sooner nothing is asked.
            desk.world.mark();
            assert_eq!(prove(&desk).await, Some(next));
            assert_eq!(desk.world.tally().requests, 0);
            desk.pass(next - desk.now());
        }
        assert_eq!(waits, [1, 2, 4, 8], "{fault:?}");
        desk.world.calm();
        assert_eq!(prove(&desk).await, None);
        assert_eq!(said(&desk, one).await.0, State::Proven, "{fault:?}");
        all_quiet(&desk).await;
    }
}

#[tokio::test]
async fn patience_ends_with_an_entry_and_without_a_freeze() {
    let (desk, [one, _]) = two_open().await;
    desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
    desk.tick().await;
    desk.world.when(PULL).always().answers(Fault::Status(500));
    let mut tries = 0;
    while let Some(next) = prove(&desk).await {
        tries += 1;
        assert!(tries < 100, "its patience has no end");
        desk.pass(next - desk.now());
    }
    assert_eq!(tries + 1, steward_rules::engine::landed::TRIES);
    let row = landing(&desk, one).await.unwrap();
    assert_eq!((row.state, row.why.as_deref()), (State::Undecided, Some("unread")));
    let stuck = entries(&desk, Kind::Stuck, Shelf::Open).await;
    assert!(stuck.len() == 1 && stuck[0].title.starts_with("the merge of #1 is not proven: "), "{stuck:?}");
    assert_eq!(frozen(&desk).await, None);
    desk.world.calm();
    desk.world.mark();
    desk.pass(chrono::Duration::days(1));
    assert_eq!(prove(&desk).await, None);
    assert_eq!(desk.world.tally().requests, 0);
}

#[tokio::test]
async fn a_limit_is_waited_for_and_costs_no_patience() {
    let (desk, [one, _]) = two_open().await;
    desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
    desk.tick().await;
    desk.world.when(PULL).answers(Fault::Secondary { retry: Retry::Seconds(300), status: 403 });
    let next = prove(&desk).await.unwrap();
    let row = landing(&desk, one).await.unwrap();
    assert_eq!((row.state, row.why.as_deref(), row.tries), (State::Waiting, Some("later"), 0));
    assert!(next - desk.now() >= chrono::Duration::seconds(300), "{next}");
    desk.pass(next - desk.now());
    assert_eq!(prove(&desk).await, None);
    assert_eq!(said(&desk, one).await.0, State::Proven);
}

#[tokio::test]
async fn a_proof_that_a_clock_which_was_ahead_put_off_is_made_when_the_clock_is_right_again() {
    for fault in [Fault::Status(500), Fault::Secondary { retry: Retry::Seconds(300), status: 403 }] {
        let (desk, [one, _]) = two_open().await;
        desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
        desk.tick().await;
        desk.hand.pass(chrono::Duration::days(30));
        desk.world.when(PULL).always().answers(fault.clone());
        prove(&desk).await.unwrap();
        desk.world.calm();
        desk.hand.pass(chrono::Duration::days(-30));
        let put_off = landing(&desk, one).await.unwrap().retry_at.unwrap();
        assert!(put_off - desk.now() > chrono::Duration::days(29), "{fault:?}");
        // A limit that this process heard of holds on, for as long as GitHub said.
        for _ in 0..2 {
            prove(&desk).await;
            desk.pass(chrono::Duration::minutes(6));
        }
        prove(&desk).await;
        assert_eq!(said(&desk, one).await.0, State::Proven, "{fault:?}");
    }
}

#[tokio::test]
async fn a_proof_is_put_off_for_no_longer_than_is_believed_and_never_to_a_time_that_is_past() {
    for seconds in [0, 7 * 24 * 3600] {
        let (desk, [one, _]) = two_open().await;
        desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
        desk.tick().await;
        desk.world.when(PULL).answers(Fault::Secondary { retry: Retry::Seconds(seconds), status: 403 });
        let next = prove(&desk).await.unwrap();
        let wait = next - desk.now();
        assert!(wait > chrono::Duration::zero(), "{seconds}: {wait}");
        assert!(wait <= steward_rules::engine::landed::LONGEST_WAIT, "{seconds}: {wait}");
        desk.world.mark();
        prove(&desk).await;
        assert_eq!(desk.world.tally().requests, 0, "{seconds}: it waits");
    }
}

#[tokio::test]
async fn the_rest_of_an_hour_that_is_the_persons_is_not_used_for_a_proof() {
    let (desk, [one, _]) = two_open().await;
    desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
    let account = desk.ctx.config().accounts[0].clone();
    let token = desk.ctx.token(&account).await.unwrap();
    desk.world.leave_points(token.expose_secret(), 2001);
    desk.tick().await;
    desk.world.mark();
    let next = prove(&desk).await.unwrap();
    let row = landing(&desk, one).await.unwrap();
    assert_eq!((row.state, row.why.as_deref(), row.tries), (State::Waiting, Some("later"), 0));
    assert_eq!(desk.world.tally().requests, 0);
    desk.pass(next - desk.now());
    assert_eq!(prove(&desk).await, None);
    assert_eq!(said(&desk, one).await.0, State::Proven);
}

#[tokio::test]
async fn a_conflict_that_somebody_decided_by_hand_is_left_to_the_person_and_a_change_beside_it_is_caught() {
    for (extra, state) in [(false, State::Undecided), (true, State::Different)] {
        let desk = Desk::watching(&[REPO]);
        let app = desk.world.repo(REPO);
        app.push("main", "chore: shared", &[("shared.txt", "a\n"), ("other.txt", "a\n")]);
        let number = open_of(&app, "ours", &[&[("shared.txt", "ours\n")]]);
        app.push("main", "chore: theirs", &[("shared.txt", "theirs\n")]);
        desk.turn().await;
        let both = app.commit("main", "feat: both").write("shared.txt", "both\n");
        let both = if extra { both.write("other.txt", "b\n") } else { both }.push();
        app.pull(number).merged_as("octo", &both);
        tick(&desk).await;
        assert_eq!(said(&desk, number).await.0, state);
        match state {
            State::Different => one_alarm(&desk, number, &["other.txt"]).await,
            State::Waiting | State::Proven | State::Undecided => {
                assert_eq!(frozen(&desk).await, None);
                let stuck = entries(&desk, Kind::Stuck, Shelf::Open).await;
                assert!(stuck.len() == 1 && stuck[0].title.contains("shared.txt"), "{stuck:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_base_that_is_gone_is_no_alarm() {
    let desk = Desk::watching(&[REPO]);
    let app = desk.world.repo(REPO);
    app.push("release", "chore: release", &[("release.txt", "1\n")]);
    app.commit("fix", "fix: it").from("release").write("fix.txt", "x\n").push();
    let number = app.open_pull_from("octo", REPO, "fix", "release", "fix: it").number();
    desk.turn().await;
    app.pull(number).merge_by("octo", "merge");
    app.delete_branch("release");
    tick(&desk).await;
    assert_eq!(said(&desk, number).await, (State::Proven, "merge".to_owned(), vec![]));
    all_quiet(&desk).await;
}

#[tokio::test]
async fn a_merge_is_proven_under_the_name_a_repository_has_now_and_not_where_nobody_watches_it() {
    let (desk, [one, two]) = two_open().await;
    let app = desk.world.repo(REPO);
    app.pull(one).merge_by("octo", "squash");
    let app = app.rename("octo/renamed");
    app.pull(two).merge_by("octo", "squash");
    tick(&desk).await;
    assert_eq!((said(&desk, one).await.0, said(&desk, two).await.0), (State::Proven, State::Proven));
    all_quiet(&desk).await;

    let (desk, [one, _]) = two_open().await;
    desk.world.repo(REPO).pull(one).merge_by("octo", "squash");
    desk.tick().await;
    crate::observer::write_config(&desk.home, &desk.world, &[]);
    desk.ctx.config.reread();
    desk.world.mark();
    assert_eq!(prove(&desk).await, None);
    assert_eq!(desk.world.tally().requests, 0);
    assert_eq!(landing(&desk, one).await.unwrap().state, State::Waiting);
}
