//! Faults 6 and 7 and their kin: what GitHub, the line and other people do while an effect goes out.

use steward_core::github::{GitHubError, Wrote};
use steward_github_double::{Fault, Retry as Says, Role};
use steward_rules::deed::{Branches, Deed};
use steward_rules::guard::{Ask, Holds, Step, Subject, Way, judge};
use steward_rules::power::{EffectClass, Mode, RepoPower};
use steward_rules::reading::Reading;

use super::*;

/// One act office with a wanted comment, and its id.
async fn wanted(world: &World) -> (Office, i64) {
    let office = Office::new(world, ACT).await;
    office.review(world).await;
    let id = office.row().await.id;
    (office, id)
}

#[tokio::test]
async fn fault_06_a_lost_answer_is_looked_for_and_never_sent_blindly() {
    // The fault, and whether GitHub did it all the same.
    for (fault, done) in [
        (Fault::LostReply, true),
        (Fault::Cut, false),
        (Fault::Status(500), false),
        (Fault::Status(502), false),
        (Fault::Status(503), false),
        (Fault::StatusAfterEffect(500), true),
        (Fault::StatusAfterEffect(502), true),
        (Fault::StatusAfterEffect(504), true),
        (Fault::Truncated, true),
        (Fault::Html, true),
        (Fault::Oversized(32 * 1024 * 1024), true),
    ] {
        let name = format!("{fault:?}");
        let world = world();
        let (office, id) = wanted(&world).await;
        world.when(POST).answers(fault);
        let row = office.drive(id).await;
        assert_eq!(world.faults_left(), 0, "{name}");
        assert_eq!(own(&world, 1).len(), usize::from(done), "{name}");
        if done {
            assert_eq!((row.state, row.attempt), (State::Done, 1), "{name}: {row:?}");
        } else {
            assert_eq!(stands(&row), (State::Intended, Some("looking")), "{name}: not believed at once");
            assert_eq!(posts(&world), 1, "{name}: nothing is sent a second time before");
        }
        let row = office.carry(id).await;
        assert_eq!((row.state, own(&world, 1).len()), (State::Done, 1), "{name}");
        assert_eq!(posts(&world), if done { 1 } else { 2 }, "{name}");
        office.trail().await;
        let _ = world.take_violations();
    }
}

#[tokio::test]
async fn an_answer_that_never_comes_is_looked_for() {
    let world = world();
    let office = Office::with(&world, ACT, Options { timeout: Duration::from_millis(500), ..quick() }).await;
    office.review(&world).await;
    let id = office.row().await.id;
    world.when(POST).answers(Fault::Slow(Duration::from_secs(2)));
    let row = office.drive(id).await;
    assert!(matches!(row.state, State::Intended | State::Done), "{row:?}");
    eventually("the late one is there", async || own(&world, 1).len() == 1).await;
    let row = office.carry(id).await;
    assert_eq!((row.state, row.attempt, own(&world, 1).len()), (State::Done, 1, 1));
    assert_eq!(posts(&world), 1);
}

#[tokio::test]
async fn an_old_answer_of_the_thread_makes_no_second_comment() {
    for lost in [false, true] {
        let world = world();
        let (office, id) = wanted(&world).await;
        if lost {
            world.when(POST).answers(Fault::LostReply);
        }
        // What comes after the first look is as old as the first look, for a while.
        world.when(LIST).after(1).times(2).answers(Fault::Stale);
        let row = office.carry(id).await;
        assert_eq!((row.state, own(&world, 1).len(), posts(&world)), (State::Done, 1, 1), "lost: {lost}");
        assert_eq!(world.faults_left(), 0);
    }
}

#[tokio::test]
async fn fault_07_a_head_that_moved_before_the_decision_is_not_spoken_about() {
    let world = world();
    let (office, id) = wanted(&world).await;
    world.repo("octo/app").push("feat", "feat: y", &[("src/x.rs", "y\n")]);
    assert_eq!(stands(&office.carry(id).await), (State::Obsolete, Some("head_moved")));
    assert_eq!(posts(&world), 0);
    assert_eq!(office.trail().await, ["wanted", "obsolete"]);
}

#[tokio::test]
async fn fault_07_a_head_that_moves_while_it_is_sent_is_named_by_its_commit_and_said_once() {
    let world = world();
    let (office, id) = wanted(&world).await;
    let judged = world.repo("octo/app").pull(1).head();
    let mut sending = Sending::new(id);
    assert_eq!(sending.step(&office.ctx).await.unwrap(), Progress::More);
    assert_eq!(office.row().await.state, State::Intended, "the intent stands before anything is sent");
    assert_eq!(posts(&world), 0);
    world.repo("octo/app").push("feat", "feat: y", &[("src/x.rs", "y\n")]);
    while sending.step(&office.ctx).await.unwrap() == Progress::More {}
    assert_eq!(office.row().await.state, State::Done);
    let said = world.repo("octo/app").pull(1).comments();
    assert!(said.len() == 1 && said[0].2.contains(&judged), "it speaks of the commit it judged");
    // Killed at that moment instead: the head moved, so it is not said any more.
    let world = super::world();
    let (office, id) = wanted(&world).await;
    assert_eq!(Sending::new(id).step(&office.ctx).await.unwrap(), Progress::More);
    world.repo("octo/app").push("feat", "feat: y", &[("src/x.rs", "y\n")]);
    assert_eq!(stands(&office.carry(id).await), (State::Obsolete, Some("head_moved")));
    assert_eq!(posts(&world), 0);
}

#[tokio::test]
async fn what_may_have_been_sent_is_looked_for_whatever_became_of_the_powers() {
    for sent in [false, true] {
        let world = world();
        let (office, id) = wanted(&world).await;
        let mut sending = Sending::new(id);
        sending.step(&office.ctx).await.unwrap();
        if sent {
            sending.step(&office.ctx).await.unwrap();
        }
        // Killed there, and the repository is observed from now on.
        office.config("mode: observe");
        let row = office.carry(id).await;
        let expected = if sent { (State::Done, None) } else { (State::Obsolete, Some("observed")) };
        assert_eq!(stands(&row), expected);
        assert_eq!(posts(&world), usize::from(sent));
    }
}

#[tokio::test]
async fn a_pull_request_that_was_merged_or_closed_is_not_spoken_in() {
    for merged in [false, true] {
        let world = world();
        let (office, id) = wanted(&world).await;
        let pull = world.repo("octo/app").pull(1);
        if merged {
            pull.merge("octo");
        } else {
            pull.close("maria");
        }
        assert_eq!(stands(&office.carry(id).await), (State::Obsolete, Some("closed")), "merged: {merged}");
        assert_eq!(posts(&world), 0);
    }
}

#[tokio::test]
async fn a_limit_is_waited_for_and_spends_no_attempt() {
    for (fault, waits) in [
        (Fault::Secondary { status: 403, retry: Says::Seconds(120) }, 120),
        (Fault::Secondary { status: 429, retry: Says::Date(90) }, 90),
        (Fault::Secondary { status: 403, retry: Says::Silent }, 60),
        (Fault::PrimaryLimit, 60),
    ] {
        let name = format!("{fault:?}");
        let world = world();
        let (office, id) = wanted(&world).await;
        world.when(POST).answers(fault);
        let row = office.drive(id).await;
        assert_eq!((row.state, row.attempt), (State::Wanted, 0), "{name}: {row:?}");
        let left = (row.retry_at.unwrap() - office.hand.now()).num_seconds();
        assert!(left >= waits - 1, "{name}: {left}");
        world.mark();
        // Too early, nothing is asked at all.
        office.hand.pass(chrono::Duration::seconds(waits / 2));
        office.drive(id).await;
        assert_eq!(world.tally().requests, 0, "{name}");
        let row = office.carry(id).await;
        assert_eq!((row.state, row.attempt, own(&world, 1).len()), (State::Done, 1, 1), "{name}");
    }
}

#[tokio::test]
async fn a_token_that_was_revoked_is_waited_for() {
    let world = world();
    let (office, id) = wanted(&world).await;
    world.revoke(TOKEN);
    let row = office.drive(id).await;
    assert_eq!(stands(&row), (State::Wanted, Some("auth")));
    assert!(row.retry_at.is_some() && row.attempt == 0);
    world.token("octo", TOKEN, &["repo"]);
    assert_eq!(office.carry(id).await.state, State::Done);
    assert_eq!(posts(&world), 1);
}

#[tokio::test]
async fn a_token_of_somebody_else_says_nothing() {
    let world = world();
    let (office, id) = wanted(&world).await;
    world.revoke(TOKEN);
    world.token("mallory", TOKEN, &["repo"]);
    assert_eq!(stands(&office.carry(id).await), (State::Failed, Some("account")));
    assert_eq!((posts(&world), office.suggestions().await[0].1.as_str()), (0, "not sent"));
}

#[tokio::test]
async fn without_leave_to_comment_it_is_parked_and_goes_when_the_leave_is_there() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    world.revoke(TOKEN);
    let reads = [("issues", "read"), ("pull_requests", "read"), ("metadata", "read")];
    let permissions = reads.map(|(name, level)| (name.to_owned(), level.to_owned())).to_vec();
    world.grant(
        "octo",
        TOKEN,
        steward_github_double::Grant::FineGrained { repositories: vec![], permissions },
    );
    let row = office.drive(id).await;
    assert_eq!((stands(&row), row.attempt), ((State::Wanted, Some("forbidden")), 0));
    world.revoke(TOKEN);
    world.token("octo", TOKEN, &["repo"]);
    assert_eq!(office.carry(id).await.state, State::Done);
    assert_eq!(own(&world, 1).len(), 1);
}

#[tokio::test]
async fn a_repository_that_moved_is_not_followed() {
    let world = world();
    let (office, id) = wanted(&world).await;
    world.repo("octo/app").rename("octo/renamed");
    let row = office.drive(id).await;
    assert_eq!(stands(&row), (State::Wanted, Some("moved")));
    assert_eq!(posts(&world), 0);
    // Renamed between looking and sending: the write meets the redirect and stays where it is.
    let world = super::world();
    let (office, id) = wanted(&world).await;
    let mut sending = Sending::new(id);
    sending.step(&office.ctx).await.unwrap();
    world.repo("octo/app").rename("octo/renamed");
    while sending.step(&office.ctx).await.unwrap() == Progress::More {}
    assert_eq!(
        (stands(&office.row().await), office.row().await.attempt),
        ((State::Wanted, Some("moved")), 0)
    );
    assert!(world.repo("octo/renamed").pull(1).comments().is_empty());
}

#[tokio::test]
async fn a_comment_that_a_moderator_deleted_is_not_said_again() {
    let world = furnished(World::start_at("2026-11-30T09:00:00Z".parse().unwrap()));
    world.repo("octo/app").collaborator("maria", Role::Write);
    let (office, id) = wanted(&world).await;
    let mut sending = Sending::new(id);
    sending.step(&office.ctx).await.unwrap();
    sending.step(&office.ctx).await.unwrap();
    // Sent, and killed before its outcome was written; then somebody takes it away.
    let said = own(&world, 1);
    assert_eq!((said.len(), office.row().await.posted), (1, None));
    world.repo("octo/app").pull(1).delete_comment("maria", said[0]);
    assert_eq!(stands(&office.carry(id).await), (State::Failed, Some("removed")));
    assert_eq!((own(&world, 1).len(), posts(&world)), (0, 1));
    assert_eq!(office.suggestions().await[0].1, "not sent");
    // GitHub sends this event and does not describe it.
    let _ = world.take_violations();
}

#[tokio::test]
async fn a_comment_deleted_after_its_outcome_was_written_stays_deleted() {
    let world = world();
    let (office, id) = wanted(&world).await;
    let mut sending = Sending::new(id);
    for _ in 0..3 {
        sending.step(&office.ctx).await.unwrap();
    }
    let said = own(&world, 1);
    assert_eq!(office.row().await.posted, Some(said[0] as i64));
    world.repo("octo/app").pull(1).delete_comment("octo", said[0]);
    assert_eq!(stands(&office.carry(id).await), (State::Failed, Some("removed")));
    assert_eq!(posts(&world), 1);
    // The person may want it there all the same.
    office.approve(id).await;
    assert_eq!(office.carry(id).await.state, State::Done);
    assert_eq!((own(&world, 1).len(), posts(&world)), (1, 2));
}

#[tokio::test]
async fn a_text_that_github_refuses_is_shown_to_the_person() {
    let world = world();
    let (office, id) = wanted(&world).await;
    world.when(POST).answers(Fault::Status(422));
    assert_eq!(stands(&office.carry(id).await), (State::Failed, Some("validation")));
    assert_eq!(office.suggestions().await[0].1, "not sent");
    assert_eq!(posts(&world), 1);
}

#[tokio::test]
async fn sending_that_never_has_a_clear_end_is_left_to_the_person() {
    let world = world();
    let (office, id) = wanted(&world).await;
    world.when(POST).always().answers(Fault::Status(502));
    let row = office.carry(id).await;
    assert_eq!(stands(&row), (State::Failed, Some("gave_up")));
    assert_eq!((posts(&world), own(&world, 1).len()), (5, 0));
}

#[tokio::test]
async fn nothing_is_decided_from_a_reading_that_failed() {
    for (operation, fault) in [
        ("GET /user", Fault::Status(500)),
        ("GET /repos/{owner}/{repo}/pulls/{pull_number}", Fault::Truncated),
        (LIST, Fault::Html),
        (LIST, Fault::WrongType),
    ] {
        let name = format!("{operation} {fault:?}");
        let world = world();
        let (office, id) = wanted(&world).await;
        world.when(operation).always().answers(fault);
        let row = office.drive(id).await;
        assert_eq!((row.state, row.attempt, posts(&world)), (State::Wanted, 0, 0), "{name}");
        assert!(row.why.is_some() && row.retry_at.is_some(), "{name}: {row:?}");
        world.calm();
        assert_eq!(office.carry(id).await.state, State::Done, "{name}");
        assert_eq!(posts(&world), 1, "{name}");
        let _ = world.take_violations();
    }
}

#[tokio::test]
async fn duplicates_of_ours_are_taken_back_also_when_taking_back_fails_at_first() {
    for fault in [None, Some(Fault::LostReply), Some(Fault::Cut), Some(Fault::Status(502))] {
        let name = format!("{fault:?}");
        let world = world();
        let (office, id) = wanted(&world).await;
        let pull = world.repo("octo/app").pull(1);
        let text = office.row().await.content;
        let first = pull.comment("octo", &text);
        pull.comment("octo", &text);
        pull.comment("octo", "something else");
        if let Some(fault) = fault {
            world.when(DELETE).answers(fault);
        }
        let row = office.carry(id).await;
        assert_eq!((row.state, own(&world, 1)), (State::Done, vec![first]), "{name}");
        assert_eq!((posts(&world), pull.comments().len()), (0, 2), "{name}");
        assert!(office.trail().await.contains(&"taking_back".to_owned()));
        let _ = world.take_violations();
    }
}

/// A permit for something on a host.
fn permit(host: &str, account: &str, step: Step) -> steward_rules::guard::EffectPermit {
    let ask = Ask {
        class: EffectClass::CommentReview,
        deed: Deed::Comment { body: "hello".to_owned() },
        host: host.to_owned(),
        repo: repo(),
        number: Some(1),
        head: None,
        account: account.to_owned(),
        approved: false,
        turned_down: false,
        step,
    };
    let holds = Holds {
        paused: None,
        frozen: None,
        subject: Reading::known(Subject::Closed),
        branches: Branches::default(),
        stale: None,
        acting: Reading::known(account.to_owned()),
        limited_until: None,
        sent: vec![],
    };
    let open = Holds { subject: Reading::known(Subject::Open(Sha::new(&"a".repeat(40)).unwrap())), ..holds };
    match judge(&ask, &RepoPower::new(Mode::Act, [EffectClass::CommentReview]), &open, chrono::Utc::now()) {
        Way::Go(permit) => permit,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_writer_takes_no_permit_for_another_place_or_step() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    let writer = office.ctx.client_of(&office.host, &repo()).await.unwrap().writer();
    for (host, account, step) in [
        ("github.com", "octo", Step::Send),
        (office.host.as_str(), "mallory", Step::Send),
        (office.host.as_str(), "octo", Step::TakeBack),
    ] {
        let wrote = writer.comment(permit(host, account, step)).await;
        assert!(matches!(wrote, Wrote::Refused(GitHubError::Forbidden { .. })), "{host} {account} {step:?}");
    }
    let wrote = writer.delete_comment(permit(&office.host, "octo", Step::Send), 1).await;
    assert!(matches!(wrote, Wrote::Refused(_)));
    assert!(world.exchanges().is_empty());
    // One that is gone already is taken back.
    let gone = writer.delete_comment(permit(&office.host, "octo", Step::TakeBack), 999).await;
    assert!(matches!(gone, Wrote::Done(())));
}

#[tokio::test]
async fn writes_are_a_second_apart_and_no_more_than_eighty_in_a_minute() {
    let world = world();
    let office = Office::with(&world, ACT, Options { pace: Pace::default(), ..quick() }).await;
    let client = office.ctx.client_of(&office.host, &repo()).await.unwrap();
    let send = async || client.writer().comment(permit(&office.host, "octo", Step::Send)).await;
    assert!(matches!(send().await, Wrote::Done(_)));
    let Wrote::NotYet { until } = send().await else { panic!("it is too soon") };
    let left = until - office.hand.now();
    assert!(left > chrono::Duration::zero() && left <= chrono::Duration::seconds(1), "{left}");
    assert_eq!(posts(&world), 1, "nothing is sent before its time");

    let pace = Pace { apart: Duration::ZERO, ..Pace::default() };
    let office = Office::with(&world, ACT, Options { pace, ..quick() }).await;
    let client = office.ctx.client_of(&office.host, &repo()).await.unwrap();
    for _ in 0..80 {
        let wrote = client.writer().comment(permit(&office.host, "octo", Step::Send)).await;
        assert!(matches!(wrote, Wrote::Done(_)));
    }
    let wrote = client.writer().comment(permit(&office.host, "octo", Step::Send)).await;
    let Wrote::NotYet { until } = wrote else { panic!("eighty are enough") };
    assert!(until > office.hand.now());
    assert_eq!(posts(&world), 81);
}

#[tokio::test]
async fn a_write_that_meets_another_under_way_is_not_sent_yet() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    let client = office.ctx.client_of(&office.host, &repo()).await.unwrap();
    world.when(POST).answers(Fault::Slow(Duration::from_secs(300)));
    let (writer, first) = (client.writer(), permit(&office.host, "octo", Step::Send));
    let first = tokio::spawn(async move { writer.comment(first).await });
    eventually("it is under way", async || posts(&world) == 1).await;
    let second = client.writer().comment(permit(&office.host, "octo", Step::Send)).await;
    assert!(matches!(second, Wrote::NotYet { until } if until > office.hand.now()), "{second:?}");
    // Whoever gave up waiting leaves the turn to the next.
    first.abort();
    assert!(first.await.is_err());
    let third = client.writer().comment(permit(&office.host, "octo", Step::Send)).await;
    assert!(matches!(third, Wrote::Done(_)), "{third:?}");
    assert_eq!(posts(&world), 2);
}

#[tokio::test]
async fn many_effects_at_once_keep_their_distance_by_the_clock() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    for pull in world.repo("octo/app").open_pulls("maria", 3) {
        office.review_of(pull.number(), &pull.head(), "Fine.").await;
    }
    assert_eq!(office.drive(1).await.state, State::Done);
    let second = office.drive(2).await;
    assert_eq!(stands(&second), (State::Wanted, Some("apart")));
    assert_eq!(second.retry_at, Some(office.hand.now() + chrono::Duration::seconds(1)));
    office.hand.pass(chrono::Duration::seconds(1));
    assert_eq!(office.drive(2).await.state, State::Done);
    assert_eq!(office.carry(3).await.state, State::Done);
}
