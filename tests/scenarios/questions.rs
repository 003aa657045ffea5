//! Questions on the real store: told once, reminded once, answered once, through every restart.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use steward_core::loops::Ctx;
use steward_core::loops::effects::powers;
use steward_core::loops::pause;
use steward_core::loops::questions::{
    self, AnswerError, Asking, Raised, carry, fetched, raise, remind, take_up, way_of,
};
use steward_core::store::inbox::{self, EntryRow, EntryState, Kind};
use steward_core::store::need_answers::{self, AnswerRow, Press};
use steward_core::store::needs::{self, NeedRow, NeedState, Place};
use steward_core::store::notices::{self, NoticeRow};
use steward_core::store::thrum;
use steward_core::store::{Durability, Store, StoreError};
use steward_rules::ids::NeedId;
use steward_rules::questions::delivery::{Stage, Way};
use steward_rules::questions::need::{Arrival, Need, Origin};

use crate::desk::Desk;

mod claude;
mod watcher;
mod watching;

const ON: &str = "questions: {enabled: true, owner: leon, keys: true}\n";

fn desk() -> Desk {
    let desk = Desk::new();
    desk.config(ON);
    desk
}

/// Takes this config, and confirms whatever power it asks for.
async fn confirmed(desk: &Desk, text: &str) {
    desk.config(text);
    let powers = powers::settle(&desk.ctx).await.unwrap();
    if let Some(change) = powers.change() {
        powers::confirm(&desk.ctx, &change).await.unwrap();
    }
}

fn asking(topic: &str, question: &str, origin: Origin) -> Asking {
    Asking {
        agent: "coord".to_owned(),
        host: "laptop".to_owned(),
        need: Need::new(topic, question, &["WAL".to_owned(), "rollback".to_owned()], Some("app")).unwrap(),
        origin,
        message: None,
        folder: None,
        place: Place::default(),
    }
}

async fn ask(ctx: &Ctx, asking: Asking) -> Raised {
    ctx.store.write(Durability::Full, move |tx| raise(tx, &asking)).await.unwrap()
}

async fn need(ctx: &Ctx, id: NeedId) -> NeedRow {
    ctx.store.read(move |tx| needs::get(tx, id)).await.unwrap().unwrap()
}

async fn newest(ctx: &Ctx, id: NeedId) -> AnswerRow {
    ctx.store.read(move |tx| need_answers::newest(tx, id)).await.unwrap().unwrap()
}

async fn waiting(ctx: &Ctx) -> Vec<NoticeRow> {
    ctx.store.read(|tx| notices::waiting(tx, 50)).await.unwrap()
}

async fn entry(ctx: &Ctx, id: NeedId) -> EntryRow {
    let target = questions::target(id);
    ctx.store.read(move |tx| inbox::of_target(tx, Kind::Question, &target)).await.unwrap().unwrap()
}

/// The same installation as another process opens it.
fn reopened(desk: &Desk) -> Ctx {
    let store = Store::open(&desk.home, desk.clock.clone()).unwrap();
    let ctx = &desk.ctx;
    Ctx::new(ctx.home.clone(), store, ctx.clock.clone(), Arc::clone(&ctx.config), ctx.steward.clone())
}

#[tokio::test]
async fn p42_one_item_one_entry_one_notification_however_often_it_is_asked() {
    let desk = desk();
    let judged = ask(&desk.ctx, asking("Storage", "WAL or rollback?", Origin::Pane)).await;
    assert_eq!(judged.arrival, Arrival::New);
    assert_eq!(entry(&desk.ctx, judged.id).await.chip, "PANE");
    let explicit = ask(&desk.ctx, asking("storage", "WAL or rollback?", Origin::Cli)).await;
    assert_eq!(explicit.arrival, Arrival::Supersedes { words_differ: false });
    assert_eq!(explicit.id, judged.id);
    assert_eq!(entry(&desk.ctx, judged.id).await.chip, "NEED");
    for again in [Origin::Cli, Origin::Mcp, Origin::Pane] {
        assert_eq!(ask(&desk.ctx, asking("STORAGE", "wal or rollback?", again)).await.id, judged.id);
    }
    assert_eq!(need(&desk.ctx, judged.id).await.origin, Origin::Cli);
    assert_eq!(desk.inbox().await.len(), 1);
    let told = waiting(&desk.ctx).await;
    assert_eq!(told.len(), 1);
    assert_eq!(
        format!("{}: {}", told[0].title, told[0].body),
        "[app] coord@laptop asks (NEED [Storage]): [pane-judged] WAL or rollback? Options: A) WAL B) rollback"
    );
    // Other words are another version: the old notification nobody saw is not shown any more.
    let changed = ask(&desk.ctx, asking("storage", "WAL, or something else?", Origin::Cli)).await;
    assert_eq!((changed.arrival, changed.id), (Arrival::Changed, judged.id));
    let told = waiting(&desk.ctx).await;
    assert_eq!(told.len(), 1);
    assert!(told[0].body.starts_with("WAL, or something else?"), "{told:?}");
    // Another asker with the same topic is another question.
    let other = Asking { agent: "brain".to_owned(), ..asking("storage", "x", Origin::Cli) };
    assert_ne!(ask(&desk.ctx, other).await.id, judged.id);
}

#[tokio::test]
async fn p41_what_waits_too_long_is_said_in_one_notification_and_never_again_unchanged() {
    let desk = desk();
    let first = ask(&desk.ctx, asking("storage", "WAL?", Origin::Cli)).await.id;
    let second = ask(&desk.ctx, asking("port", "Which?", Origin::Cli)).await.id;
    assert!(remind(&desk.ctx).await.unwrap().is_empty());
    desk.clock.forward(chrono::Duration::minutes(12));
    assert_eq!(remind(&desk.ctx).await.unwrap(), [first.0, second.0]);
    let reminders = |told: &[NoticeRow]| told.iter().filter(|one| one.key.starts_with("remind:")).count();
    let told = waiting(&desk.ctx).await;
    assert_eq!(reminders(&told), 1);
    let one = told.iter().find(|one| one.key.starts_with("remind:")).unwrap();
    assert_eq!(one.title, "2 questions wait for you");
    assert!(
        one.body.contains("[1] app / coord@laptop · storage") && one.body.contains("waiting 12m"),
        "{one:?}"
    );
    assert_eq!(one.body.lines().count(), 2, "one line each: {one:?}");
    // Not in the next cycle, not after a restart, and not when time goes by.
    assert!(remind(&desk.ctx).await.unwrap().is_empty());
    let restarted = reopened(&desk);
    desk.clock.forward(chrono::Duration::hours(3));
    assert!(remind(&restarted).await.unwrap().is_empty());
    // A new one that is overdue: one more, listing all three.
    let third = ask(&restarted, asking("name", "What?", Origin::Cli)).await.id;
    assert!(remind(&restarted).await.unwrap().is_empty());
    desk.clock.forward(chrono::Duration::minutes(10));
    assert_eq!(remind(&restarted).await.unwrap(), [first.0, second.0, third.0]);
    assert_eq!(reminders(&waiting(&restarted).await), 2);
}

#[tokio::test]
async fn an_answer_is_fetched_in_the_owners_words_and_leaves_the_queue() {
    let desk = desk();
    let id = ask(&desk.ctx, asking("storage", "WAL?", Origin::Cli)).await.id;
    let words = "B, but keep the old files";
    assert_eq!(questions::answer(&desk.ctx, None, words).await.unwrap(), id);
    assert!(matches!(
        questions::answer(&desk.ctx, Some(id), "A").await,
        Err(AnswerError::NotOpen(found)) if found == id
    ));
    let answer = newest(&desk.ctx, id).await;
    assert_eq!((answer.words.as_str(), answer.way, answer.stage), (words, Way::Fetch, Stage::Queued));
    assert_eq!(entry(&desk.ctx, id).await.state, EntryState::Done);
    assert!(waiting(&desk.ctx).await.is_empty(), "nobody is told of what is answered");
    // Nothing of it is carried by itself: the asker fetches it, through any number of restarts.
    take_up(&desk.ctx).await.unwrap();
    assert_eq!(carry(&desk.ctx).await.unwrap(), 0);
    let again = ask(&reopened(&desk), asking("storage", "WAL?", Origin::Cli)).await;
    assert_eq!((again.id, again.arrival), (id, Arrival::Same));
    let done = fetched(&desk.ctx, answer.id).await.unwrap().unwrap();
    assert_eq!(done.stage, Stage::Acknowledged);
    assert_ne!(ask(&desk.ctx, asking("storage", "WAL?", Origin::Cli)).await.id, id);
}

fn in_pane(prompt: Option<&str>, remote: Option<&str>) -> Asking {
    let text = |text: Option<&str>| text.map(str::to_owned);
    let place = Place {
        pane: Some("%4".to_owned()),
        remote: text(remote),
        identity: None,
        seen: Some("a1".to_owned()),
        prompt: text(prompt),
    };
    Asking { place, ..asking("permission", "rm -rf target", Origin::Pane) }
}

#[tokio::test]
async fn nothing_is_typed_where_the_config_does_not_let_it() {
    let desk = desk();
    confirmed(&desk, "questions: {enabled: true, ssh: [{host: build}]}\n").await;
    let here = ask(&desk.ctx, in_pane(None, None)).await.id;
    let refused = questions::answer(&desk.ctx, Some(here), "B").await.unwrap_err().to_string();
    assert!(refused.contains("`questions.keys` is off"), "{refused}");
    assert_eq!(need(&desk.ctx, here).await.state, NeedState::Open, "the question stays");
    let there = Asking { agent: "brain".to_owned(), ..in_pane(None, Some("build")) };
    let there = ask(&desk.ctx, there).await.id;
    let refused = questions::answer(&desk.ctx, Some(there), "B").await.unwrap_err().to_string();
    assert!(refused.contains("on that machine"), "{refused}");
    let wide = "questions: {enabled: true, keys: true, ssh: [{host: build, keys: true}]}\n";
    // What nobody confirmed is not in force, and the owner is asked.
    desk.config(wide);
    let powers = powers::settle(&desk.ctx).await.unwrap();
    let asked: Vec<String> =
        powers.pending.iter().map(|line| format!("{}: {} -> {}", line.key, line.now, line.asked)).collect();
    assert_eq!(
        asked,
        ["questions.keys: false -> true", "questions.ssh[build]: captures -> captures and keys"]
    );
    let config = powers::questions(&desk.ctx).await.unwrap();
    assert_eq!(way_of(&need(&desk.ctx, here).await, &config), Way::Nowhere);
    assert_eq!(way_of(&need(&desk.ctx, there).await, &config), Way::Nowhere);
    let refused = questions::answer(&desk.ctx, Some(here), "B").await.unwrap_err().to_string();
    assert!(refused.contains("waits for your confirmation"), "{refused}");
    confirmed(&desk, wide).await;
    let config = powers::questions(&desk.ctx).await.unwrap();
    assert_eq!(way_of(&need(&desk.ctx, here).await, &config), Way::Type);
    assert_eq!(way_of(&need(&desk.ctx, there).await, &config), Way::Type);
}

#[tokio::test]
async fn an_answer_that_waits_is_typed_only_while_keys_are_allowed_and_nothing_is_paused() {
    let desk = desk();
    confirmed(&desk, ON).await;
    let id = ask(&desk.ctx, in_pane(None, None)).await.id;
    questions::answer(&desk.ctx, Some(id), "B").await.unwrap();
    pause::pause(&desk.ctx, "away").await.unwrap();
    assert_eq!(questions::carry(&desk.ctx).await.unwrap(), 0);
    assert_eq!(newest(&desk.ctx, id).await.stage, Stage::Queued);
    pause::resume(&desk.ctx).await.unwrap();
    desk.config("questions: {enabled: true, owner: leon}\n");
    assert_eq!(questions::carry(&desk.ctx).await.unwrap(), 1);
    let answer = newest(&desk.ctx, id).await;
    assert_eq!(answer.stage, Stage::Returned);
    assert!(answer.why.as_deref().unwrap().contains("`questions.keys` is off"), "{answer:?}");
    // A pane that was only named when it was asked may be another by now.
    confirmed(&desk, ON).await;
    let named = Place { seen: None, ..in_pane(None, None).place };
    let id = ask(&desk.ctx, Asking { place: named, ..asking("port", "80?", Origin::Hook) }).await.id;
    questions::answer(&desk.ctx, Some(id), "B").await.unwrap();
    assert_eq!(questions::carry(&desk.ctx).await.unwrap(), 1);
    let answer = newest(&desk.ctx, id).await;
    assert!(answer.why.as_deref().unwrap().contains("not read when it asked"), "{answer:?}");
}

#[tokio::test]
async fn a_message_that_was_taken_up_is_remembered_until_it_is_old_and_read() {
    let desk = desk();
    let take = |id: &'static str| move |tx: &steward_core::store::WriteTx<'_>| thrum::take(tx, "/p", id);
    assert!(desk.ctx.store.write(Durability::Full, take("m1")).await.unwrap());
    desk.clock.forward(chrono::Duration::days(31));
    assert!(desk.ctx.store.write(Durability::Full, take("m2")).await.unwrap());
    let before = desk.ctx.clock.now() - chrono::Duration::days(30);
    let old = desk.ctx.store.read(move |tx| thrum::taken_before(tx, "/p", before)).await.unwrap();
    assert_eq!(old, ["m1"]);
    desk.ctx.store.write(Durability::Full, move |tx| thrum::forget(tx, "/p", &old)).await.unwrap();
    let is_taken = |id: &'static str| desk.ctx.store.read(move |tx| thrum::is_taken(tx, "/p", id));
    assert!(!is_taken("m1").await.unwrap());
    assert!(is_taken("m2").await.unwrap());
}

#[tokio::test]
async fn an_answer_is_taken_back_while_it_is_queued_and_never_once_it_is_on_its_way() {
    let desk = desk();
    confirmed(&desk, ON).await;
    let fetching = ask(&desk.ctx, asking("storage", "WAL?", Origin::Cli)).await.id;
    let typing = ask(&desk.ctx, in_pane(None, None)).await.id;
    for id in [fetching, typing] {
        questions::answer(&desk.ctx, Some(id), "B").await.unwrap();
        assert_eq!(questions::take_back(&desk.ctx, id).await.unwrap(), "B");
        assert_eq!(need(&desk.ctx, id).await.state, NeedState::Open);
        assert_eq!(entry(&desk.ctx, id).await.state, EntryState::Open);
        let twice = questions::take_back(&desk.ctx, id).await;
        assert!(matches!(twice, Err(AnswerError::NotQueued(found)) if found == id));
    }
    assert_eq!(carry(&desk.ctx).await.unwrap(), 0, "nothing of it is carried");
    // Another answer takes its place.
    questions::answer(&desk.ctx, Some(fetching), "A").await.unwrap();
    let answer = newest(&desk.ctx, fetching).await;
    fetched(&desk.ctx, answer.id).await.unwrap();
    let late = questions::take_back(&desk.ctx, fetching).await;
    assert!(matches!(late, Err(AnswerError::NotQueued(_))), "its asker has it");
    // The one claim is taken: whoever took it carries.
    questions::answer(&desk.ctx, Some(typing), "A").await.unwrap();
    let answer = newest(&desk.ctx, typing).await.id;
    desk.ctx.store.write(Durability::Full, move |tx| need_answers::claim(tx, answer)).await.unwrap();
    let late = questions::take_back(&desk.ctx, typing).await;
    assert!(matches!(late, Err(AnswerError::NotQueued(_))));
    assert_eq!(newest(&desk.ctx, typing).await.stage, Stage::Carrying);
    // An asker that asked anew meanwhile waits for that.
    let port = ask(&desk.ctx, asking("port", "80?", Origin::Cli)).await.id;
    questions::answer(&desk.ctx, Some(port), "80").await.unwrap();
    let anew = ask(&desk.ctx, asking("port", "80 or 8080?", Origin::Cli)).await.id;
    assert_ne!(anew, port);
    let refused = questions::take_back(&desk.ctx, port).await;
    assert!(matches!(refused, Err(AnswerError::AskedAnew(_))));
    assert_eq!(newest(&desk.ctx, port).await.words, "80", "and the answer stands");
}

#[tokio::test]
async fn words_are_no_answer_to_a_prompt_and_a_press_is_none_to_a_question() {
    let desk = desk();
    let prompt = ask(&desk.ctx, in_pane(Some("{}"), None)).await.id;
    let refused = questions::answer(&desk.ctx, Some(prompt), "yes").await.unwrap_err();
    assert!(matches!(refused, AnswerError::Prompt(_)), "{refused}");
    let plain = ask(&desk.ctx, asking("storage", "WAL?", Origin::Cli)).await.id;
    let refused = questions::press(&desk.ctx, plain, Press::Allow).await.unwrap_err();
    assert!(matches!(refused, AnswerError::NoPrompt(_)), "{refused}");
    for text in ["", "   "] {
        assert!(matches!(questions::answer(&desk.ctx, Some(plain), text).await, Err(AnswerError::Empty)));
    }
    let bell = questions::answer(&desk.ctx, Some(plain), "B\u{1b}[2J").await;
    assert!(matches!(bell, Err(AnswerError::Control)));
    let long = questions::answer(&desk.ctx, Some(plain), &"x".repeat(20_001)).await;
    assert!(matches!(long, Err(AnswerError::TooLong(20_001))));
}

#[tokio::test]
async fn what_a_dead_runtime_was_carrying_returns_to_the_owner_and_is_not_sent_again() {
    let desk = desk();
    confirmed(&desk, ON).await;
    let id = ask(&desk.ctx, in_pane(None, None)).await.id;
    questions::answer(&desk.ctx, Some(id), "B").await.unwrap();
    let answer = newest(&desk.ctx, id).await.id;
    // A runtime takes the one claim there is, and dies.
    let claim = move |tx: &steward_core::store::WriteTx<'_>| need_answers::claim(tx, answer);
    assert!(desk.ctx.store.write(Durability::Full, claim).await.unwrap());
    assert!(!desk.ctx.store.write(Durability::Full, claim).await.unwrap(), "a claim is taken once");
    let restarted = reopened(&desk);
    take_up(&restarted).await.unwrap();
    assert_eq!(carry(&restarted).await.unwrap(), 0, "nothing is sent again");
    let returned = newest(&restarted, id).await;
    assert_eq!((returned.stage, returned.words.as_str()), (Stage::Returned, "B"));
    assert!(returned.why.unwrap().contains("look whether it arrived"));
    assert_eq!(need(&restarted, id).await.state, NeedState::Open);
    let back = entry(&restarted, id).await;
    assert_eq!((back.chip.as_str(), back.state), ("UNDELIVERED", EntryState::Open));
    let said = waiting(&restarted).await;
    assert_eq!(said.iter().filter(|one| one.key == format!("answer:{answer}:returned")).count(), 1);
    take_up(&restarted).await.unwrap();
    assert_eq!(waiting(&restarted).await.len(), said.len(), "and it is said once");
}

#[tokio::test]
async fn hostile_words_are_inert_wherever_they_are_shown() {
    let desk = desk();
    let mut hostile = asking("t\u{202e}", "a\u{1b}]0;x\u{7}\nAKIA\u{200b}", Origin::Cli);
    hostile.agent = "co\u{1b}[31mord".to_owned();
    let id = ask(&desk.ctx, hostile).await.id;
    let entry = entry(&desk.ctx, id).await;
    let told = waiting(&desk.ctx).await.remove(0);
    for text in [entry.title, entry.source, told.title, told.body] {
        assert!(!text.chars().any(steward_rules::untrusted::is_hidden), "{text:?}");
    }
}

#[tokio::test]
async fn the_loop_is_absent_while_questions_are_off_and_serves_once_they_are_on() {
    let desk = Desk::new();
    let stop = tokio_util::sync::CancellationToken::new();
    let (_topics, seen) = tokio::sync::watch::channel(0);
    let reports = Arc::new(Mutex::new(0));
    let count = Arc::clone(&reports);
    let report = move |result: Result<(), StoreError>| {
        result.unwrap();
        *count.lock().unwrap() += 1;
    };
    let task = tokio::spawn(questions::serve(desk.ctx.clone(), stop.clone(), seen, report));
    // Anything the loop did would be reported; the runtime gets every chance to let it.
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
    assert_eq!(*reports.lock().unwrap(), 0);
    desk.config(ON);
    let deadline = Instant::now() + Duration::from_secs(20);
    while *reports.lock().unwrap() == 0 {
        assert!(Instant::now() < deadline, "the loop did not begin");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    stop.cancel();
    task.await.unwrap();
}
