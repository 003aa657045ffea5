//! The ways of an effect when nothing goes wrong: by itself, by the person's yes, or not at all.

mod replaced;
mod waits;

use steward_core::api::Api;
use steward_core::api::effects as api;
use steward_core::api::error::ErrorCode;
use steward_core::api::inbox as api_inbox;
use steward_core::api::requests::{AuditList, ById, EffectList, EffectSend, InboxUndo, Nothing};
use steward_core::api::views::EffectState;
use steward_core::lock::HolderKind;
use steward_core::loops::pause;
use steward_core::loops::supervisor::{Nowhere, Runtime, send_one};
use steward_core::store::inbox::{Undone, Which};
use steward_core::store::reviews::StaleReason;
use steward_rules::caller::Caller;

use super::*;

async fn host_runtime(office: &Office) -> Runtime {
    Runtime::start(office.ctx.clone(), HolderKind::Serve, Arc::new(Nowhere)).await.unwrap()
}

#[tokio::test]
async fn where_the_class_may_act_a_published_review_is_told_once() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    let runtime = host_runtime(&office).await;
    let review = office.review(&world).await;
    eventually("it is sent", async || office.row().await.state == State::Done).await;
    let row = office.row().await;
    assert_eq!((own(&world, 1), posts(&world)), (vec![row.posted.unwrap() as u64], 1));
    assert_eq!((row.review, row.attempt, row.account.as_str()), (Some(review), 1, "octo"));
    let (_, author, body) = world.repo("octo/app").pull(1).comments().remove(0);
    assert_eq!((author.as_str(), body.as_str()), ("octo", row.content.as_str()), "exactly what was kept");
    assert!(body.contains("**Review: ACCEPTED**") && body.contains("Well done."), "{body}");
    assert!(row.evidence.unwrap().contains("issuecomment"), "its address is kept");
    assert_eq!(office.trail().await, ["wanted", "intended", "posted", "done"]);
    assert!(office.suggestions().await.is_empty(), "nothing is asked of the person");
    assert_eq!(runtime.trouble(), None);
    runtime.stop().await;
    world.assert_contract();
}

#[tokio::test]
async fn where_nothing_may_act_it_waits_with_its_text_until_the_person_sends_it() {
    let world = world();
    let office = Office::new(&world, SUGGEST).await;
    office.review(&world).await;
    let row = office.row().await;
    assert_eq!(row.state, State::Suggested);
    let asked = office.suggestions().await;
    assert_eq!(asked, [("Comment the review of octo/app#1: feat: x".to_owned(), "send?".to_owned())]);
    let runtime = host_runtime(&office).await;
    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    let agent = Api::open(&office.home, Caller::Agent("it has CLAUDECODE".to_owned())).await.unwrap();
    let id = row.id;
    let yes = || EffectSend { id, hash: row.hash() };
    let refused = api::send(&agent, yes()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotAPerson);
    let shown = api::show(&person, ById { id }).await.unwrap();
    assert_eq!((shown.state, shown.can_send, shown.can_dismiss), (EffectState::Suggested, true, true));
    assert_eq!((&shown.content, &shown.hash), (&row.content, &row.hash()));
    assert!(world.repo("octo/app").pull(1).comments().is_empty());

    let sent = api::send(&person, yes()).await.unwrap();
    assert_eq!((sent.state, sent.can_dismiss), (EffectState::Approved, true));
    eventually("it is sent", async || office.row().await.state == State::Done).await;
    assert_eq!((own(&world, 1).len(), posts(&world)), (1, 1));
    assert_eq!(world.repo("octo/app").pull(1).comments()[0].2, row.content, "exactly what was shown");
    let done = api::show(&person, ById { id }).await.unwrap();
    assert!(done.reason.unwrap().message.contains("cannot be taken back"));
    assert!(!done.can_send && !done.can_dismiss);
    let again = api::send(&person, yes()).await.unwrap_err();
    assert_eq!(again.code, ErrorCode::Refused);
    // It lies in Done for good: an undo does not bring it back as if it were unsent.
    assert!(office.suggestions().await.is_empty());
    let lies: Vec<_> = office.entries(Shelf::Done).await.into_iter().map(|entry| entry.chip).collect();
    assert_eq!(lies, ["sent"]);
    let undone = office.ctx.store.write(Durability::Full, |tx| inbox::undo(tx, Which::Newest)).await.unwrap();
    assert_eq!(undone, Undone::Nothing);
    assert_eq!(office.trail().await, ["suggested", "approved", "intended", "posted", "done"]);
    runtime.stop().await;
    world.assert_contract();
}

#[tokio::test]
async fn observed_repositories_hear_nothing_and_nothing_is_suggested() {
    let world = world();
    let office = Office::new(&world, "mode: observe").await;
    office.review(&world).await;
    assert!(office.rows().await.is_empty() && office.suggestions().await.is_empty());
    // A repository that is not in the file is not even observed.
    let other = Office::new(&world, ACT).await;
    std::fs::write(
        other.home.config_file(),
        format!("accounts: [{{host: \"{}\", login: octo}}]\nreview: {{enabled: true}}\n", other.host),
    )
    .unwrap();
    other.review(&world).await;
    assert!(other.rows().await.is_empty());
    assert!(world.exchanges().is_empty(), "nothing was asked of GitHub either");
}

#[tokio::test]
async fn a_repository_set_to_observe_keeps_back_what_waited_even_with_a_yes() {
    let world = world();
    let office = Office::new(&world, SUGGEST).await;
    office.review(&world).await;
    let id = office.row().await.id;
    office.approve(id).await;
    office.config("mode: observe");
    assert_eq!(stands(&office.drive(id).await), (State::Obsolete, Some("observed")));
    assert!(world.exchanges().is_empty());
    // The same for one that nobody has said yes to yet.
    let office = Office::new(&world, SUGGEST).await;
    office.review(&world).await;
    office.config("mode: observe");
    let runtime = host_runtime(&office).await;
    eventually("it is withdrawn", async || office.row().await.state == State::Obsolete).await;
    assert!(office.suggestions().await.is_empty());
    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    let row = office.row().await;
    let yes = EffectSend { id: row.id, hash: row.hash() };
    let refused = api::send(&person, yes).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    runtime.stop().await;
}

#[tokio::test]
async fn a_class_that_loses_its_leave_waits_for_the_person() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    office.config(SUGGEST);
    let row = office.drive(office.row().await.id).await;
    assert_eq!(row.state, State::Suggested);
    assert_eq!(office.suggestions().await.len(), 1);
    assert!(world.exchanges().is_empty(), "who may not speak need not listen");
}

#[tokio::test]
async fn a_no_is_the_end_of_it() {
    let world = world();
    let office = Office::new(&world, SUGGEST).await;
    office.review(&world).await;
    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    let id = office.row().await.id;
    let row = api::dismiss(&person, ById { id }).await.unwrap().effect;
    assert_eq!((row.state, row.can_send), (EffectState::Dismissed, false));
    assert_eq!(api::dismiss(&person, ById { id }).await.unwrap_err().code, ErrorCode::Refused);
    assert_eq!(office.drive(id).await.state, State::Dismissed);
    assert!(office.suggestions().await.is_empty() && world.exchanges().is_empty());
    assert_eq!(office.trail().await, ["suggested", "dismissed"]);
}

#[tokio::test]
async fn a_no_is_a_persons_and_can_be_taken_back_until_another_text_is_wanted() {
    let world = world();
    let office = Office::new(&world, SUGGEST).await;
    office.review(&world).await;
    let asked = office.suggestions().await;
    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    let agent = Api::open(&office.home, Caller::Agent("it has CLAUDECODE".to_owned())).await.unwrap();
    let id = office.row().await.id;
    let refused = api::dismiss(&agent, ById { id }).await.unwrap_err();
    assert_eq!((refused.code, office.row().await.state), (ErrorCode::NotAPerson, State::Suggested));
    let step = api::dismiss(&person, ById { id }).await.unwrap().step;
    assert!(office.suggestions().await.is_empty());
    let back = |step| InboxUndo { id: None, step };
    for step in [Some(step), None] {
        let refused = api_inbox::undo(&agent, back(step)).await.unwrap_err();
        assert_eq!((refused.code, office.row().await.state), (ErrorCode::NotAPerson, State::Dismissed));
    }
    let undone = api_inbox::undo(&person, back(Some(step))).await.unwrap();
    assert_eq!(undone.what.as_deref(), Some("dismissed"));
    assert_eq!((office.suggestions().await, office.row().await.state), (asked.clone(), State::Suggested));
    assert_eq!(office.drive(id).await.state, State::Suggested, "it waits for a yes");
    // The same by the newest step of all, as Ctrl+Z and `steward inbox undo` ask; then it can be sent.
    api::dismiss(&person, ById { id }).await.unwrap();
    let undone = api_inbox::undo(&person, back(None)).await.unwrap();
    assert_eq!((undone.what.as_deref(), office.suggestions().await), (Some("dismissed"), asked));
    let hash = office.row().await.hash();
    api::send(&person, EffectSend { id, hash }).await.unwrap();
    assert_eq!(office.carry(id).await.state, State::Done);
    // What went out cannot be taken back.
    assert!(api_inbox::undo(&person, back(Some(step))).await.is_err());
    let states = office.trail().await;
    assert_eq!(
        states[..6],
        ["suggested", "dismissed", "suggested", "dismissed", "suggested", "approved"],
        "{states:?}"
    );
}

#[tokio::test]
async fn a_stale_review_takes_its_suggestion_along_and_a_newer_one_of_the_head_asks_anew() {
    let world = world();
    let office = Office::new(&world, SUGGEST).await;
    let first = office.review(&world).await;
    let id = office.row().await.id;
    office.approve(id).await;
    office
        .ctx
        .store
        .write(Durability::Full, move |tx| {
            reviews::set_stale(tx, first, StaleReason::NewerReview)?;
            loops::turned_stale(tx, first, StaleReason::NewerReview)
        })
        .await
        .unwrap();
    assert_eq!(stands(&office.row().await), (State::Obsolete, Some("stale")));
    assert!(office.suggestions().await.is_empty());
    let head = world.repo("octo/app").pull(1).head();
    office.review_of(1, &head, "Look again.").await;
    let row = office.row().await;
    assert_eq!((row.id, row.state), (id, State::Suggested), "one key, and the yes was to another text");
    assert!(row.content.contains("Look again.") && !row.is_approved());
    assert_eq!(office.suggestions().await.len(), 1);
    // Once it is said, no further review of this head says it again.
    office.approve(id).await;
    assert_eq!(office.carry(id).await.state, State::Done);
    office.review_of(1, &head, "And again.").await;
    assert_eq!(office.row().await.state, State::Done);
    assert_eq!((own(&world, 1).len(), posts(&world)), (1, 1));
    office.trail().await;
}

#[tokio::test]
async fn a_pause_holds_everything_back_and_lifting_it_lets_it_go() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    let runtime = host_runtime(&office).await;
    pause::pause(&office.ctx, "lunch").await.unwrap();
    office.review(&world).await;
    eventually("it is held", async || office.row().await.why.is_some()).await;
    assert_eq!(stands(&office.row().await), (State::Wanted, Some("paused")));
    let read = world.exchanges().into_iter().any(|exchange| exchange.operation == LIST);
    assert!(!read, "while paused GitHub is not even read for it");
    pause::resume(&office.ctx).await.unwrap();
    eventually("it is sent", async || office.row().await.state == State::Done).await;
    assert_eq!(posts(&world), 1);
    runtime.stop().await;
}

#[tokio::test]
async fn a_pause_between_looking_and_sending_is_obeyed() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    // While GitHub answers the last question before the decision, somebody pauses.
    world.when(LIST).answers(steward_github_double::Fault::Slow(Duration::from_millis(400)));
    let ctx = office.ctx.clone();
    let pausing = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        pause::pause(&ctx, "stop").await.unwrap();
    });
    let row = office.drive(id).await;
    pausing.await.unwrap();
    assert_eq!(stands(&row), (State::Wanted, Some("paused")));
    assert_eq!(posts(&world), 0);
}

#[tokio::test]
async fn what_a_secret_stands_in_is_not_sent_and_not_kept() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    let head = world.repo("octo/app").pull(1).head();
    let key = format!("AKIA{}", "IOSFODNN7EXAMPLQ");
    office.review_of(1, &head, &format!("the key {key} is in it")).await;
    let row = office.row().await;
    assert_eq!(stands(&row), (State::Failed, Some("secret")));
    assert!(!row.content.contains(&key));
    assert_eq!(office.suggestions().await[0].1, "not sent");
    assert_eq!(office.drive(row.id).await.state, State::Failed);
    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    assert!(!api::show(&person, ById { id: row.id }).await.unwrap().can_send);
    let yes = EffectSend { id: row.id, hash: row.hash() };
    assert_eq!(api::send(&person, yes).await.unwrap_err().code, ErrorCode::Refused);
    assert!(world.exchanges().is_empty());
}

#[tokio::test]
async fn a_command_without_a_runtime_sends_in_the_foreground() {
    let world = world();
    let office = Office::new(&world, SUGGEST).await;
    office.review(&world).await;
    let id = office.row().await.id;
    office.approve(id).await;
    let sent = send_one(&office.ctx, id).await.unwrap().unwrap();
    assert_eq!((sent.state, own(&world, 1).len()), (State::Done, 1));
    let runtime = host_runtime(&office).await;
    assert_eq!(send_one(&office.ctx, id).await.unwrap(), None, "the runtime does it");
    runtime.stop().await;
}

#[tokio::test]
async fn a_repository_without_anything_to_send_costs_nothing() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    let runtime = host_runtime(&office).await;
    // What the observer reads is its own; no thread is read and nothing of effects is written.
    let before = office.ctx.store.last_topic().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let topics = office.ctx.store.topics_since(before).await.unwrap().names;
    assert!(!topics.iter().any(|topic| topic.starts_with("effect") || topic == "powers"), "{topics:?}");
    assert!(
        world.exchanges().iter().all(|exchange| exchange.operation != LIST && exchange.operation != POST)
    );
    runtime.stop().await;
}

#[tokio::test]
async fn the_lists_page_and_the_log_tells_who_did_what() {
    let world = world();
    let app = world.repo("octo/app");
    let office = Office::new(&world, SUGGEST).await;
    for pull in app.open_pulls("maria", 5) {
        office.review_of(pull.number(), &pull.head(), "Fine.").await;
    }
    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    let page = |open, after| EffectList { open, limit: 2, after };
    let first = api::list(&person, page(true, None)).await.unwrap();
    let ids: Vec<_> = first.effects.iter().map(|effect| effect.id).collect();
    assert_eq!((ids, first.more), (vec![5, 4], true));
    api::dismiss(&person, ById { id: 2 }).await.unwrap();
    let next = api::list(&person, page(true, Some(4))).await.unwrap();
    let ids: Vec<_> = next.effects.iter().map(|effect| effect.id).collect();
    assert_eq!((ids, next.more), (vec![3, 1], false));
    assert_eq!(api::show(&person, ById { id: 9 }).await.unwrap_err().code, ErrorCode::NotFound);

    let log = |kind: &str, after| AuditList { limit: 2, after, kind: Some(kind.to_owned()) };
    let page = api::audit_list(&person, log("effect", None)).await.unwrap();
    let rows: Vec<_> =
        page.rows.iter().map(|r| (r.kind.as_str(), r.actor.as_str(), r.subject.as_str())).collect();
    assert_eq!(
        rows,
        [("effect.dismissed", "person", "effect:2"), ("effect.suggested", "runtime", "effect:5")]
    );
    assert!(page.more);
    let older = api::audit_list(&person, log("effect", Some(page.rows[1].id))).await.unwrap();
    assert_eq!(older.rows[0].subject, "effect:4");
    assert_eq!(api::audit_list(&person, log("power", None)).await.unwrap().rows.len(), 1);
    assert!(
        api::audit_list(&person, log("pow", None)).await.unwrap().rows.is_empty(),
        "a family, not a prefix"
    );

    assert!(api::audit_verify(&person, Nothing {}).await.unwrap().whole);
    for harm in [
        "UPDATE effects SET state = 'done', outcome_at = created_at WHERE id = 3",
        "UPDATE effects SET content = 'other' WHERE id = 3",
        "UPDATE effects SET posted = 7 WHERE id = 3",
        "DELETE FROM effects WHERE id = 3",
    ] {
        let beside = crate::store::beside(&office.home);
        beside.execute_batch("CREATE TEMP TABLE kept AS SELECT * FROM effects WHERE id = 3").unwrap();
        beside.execute_batch(harm).unwrap();
        let chain = api::audit_verify(&person, Nothing {}).await.unwrap();
        assert!(!chain.whole && chain.message.contains("effect 3"), "{harm}: {}", chain.message);
        beside
            .execute_batch("DELETE FROM effects WHERE id = 3; INSERT INTO effects SELECT * FROM kept")
            .unwrap();
        assert!(api::audit_verify(&person, Nothing {}).await.unwrap().whole);
    }
}
