//! The watcher seat: what facts do not settle is judged inside the boundary, and what it says is held
//! against a fresh capture before anything is raised.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;
use steward_core::api::{Api, questions as api, requests as rq, roster as api_roster};
use steward_core::loops::pause;
use steward_core::loops::questions::{self, Standing, Watch, Watcher, carry, prompts, standing};
use steward_core::store::inbox::{EntryState, Kind};
use steward_core::store::need_answers::Press;
use steward_core::store::needs::{self, NeedRow};
use steward_core::store::roster::{self, MemberRow};
use steward_core::store::{Durability, inbox, spending};
use steward_kit::binary;
use steward_kit::model::{ScriptedModel, Turn};
use steward_rules::caller::Caller;
use steward_rules::questions::delivery::Stage;
use steward_rules::questions::need::Origin;

use super::watching::{Server, prompting};
use super::{confirmed, newest, waiting};
use crate::desk::Desk;
use crate::needs_boundary;

/// A secret that is nobody's.
const SECRET: &str = "ghp_x7Qm2ZkD9vTsLw4RbYc8NfJh3GpEa6Ut1Xe0";

/// Claude Code at rest under its words: these, and an empty composer between two rules.
fn at_rest(words: &[&str]) -> String {
    let rule = "─".repeat(98);
    let lines: Vec<String> = words.iter().map(|line| format!("'{line}'")).collect();
    let drawing = format!("printf '%s\\n' {} '' '{rule}' '❯ ' '{rule}' '  ? for shortcuts'", lines.join(" "));
    format!(
        "{drawing}\nread -r _ignored; clear; printf '%s\\n' '⏺ Another thing.' '' '{rule}' '❯ ' '{rule}' 'then'\nexec sleep 600\n"
    )
}

const WORDS: [&str; 3] =
    ["⏺ The store can go two ways.", "", "  Should I take WAL or the rollback journal, and why?"];

async fn watched(desk: &Desk, pane: &str, more: &str) {
    let roster = format!("  roster: [{{agent: coord, project: app, pane: \"{pane}\", adapter: claude}}]\n");
    confirmed(desk, &format!("questions:\n  enabled: true\n  owner: leon\n  keys: true\n{roster}{more}"))
        .await;
}

/// Makes a script of these lines the watcher seat.
fn seat(desk: &Desk, lines: &str) {
    let script = desk.root.join("watcher");
    std::fs::write(&script, format!("#!/bin/sh\n{lines}")).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = desk.home.seat_file("watcher");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, format!("adapter: command\ncommand: [{}]\n", script.display())).unwrap();
}

fn says(judgement: &str) -> String {
    crate::desk::hand_in(judgement).replace("0.25", "0.02")
}

async fn member(desk: &Desk) -> MemberRow {
    desk.ctx.store.read(roster::all).await.unwrap().remove(0)
}

async fn open(desk: &Desk) -> Vec<NeedRow> {
    desk.ctx.store.read(needs::open).await.unwrap()
}

async fn runs(desk: &Desk) -> u32 {
    desk.ctx
        .store
        .read(|tx| spending::runs_since(tx, "watcher", tx.now() - chrono::Duration::days(2)))
        .await
        .unwrap()
}

/// One tick, and whatever it leaves for the seat.
async fn tick(desk: &Desk, watch: &mut Watch) -> Watcher {
    watch.tick(&desk.ctx).await.unwrap();
    let mut watcher = Watcher::default();
    watcher.add(watch.take_unsettled());
    watcher
}

async fn look(desk: &Desk) {
    tick(desk, &mut Watch::default()).await.finish(&desk.ctx).await.unwrap();
}

async fn works(desk: &Desk) {
    let failed = inbox_of(desk, "roster/watcher").await;
    assert!(failed.is_none(), "{failed:?}");
}

async fn rests(desk: &Desk) -> String {
    match standing(&desk.ctx).await.unwrap() {
        Standing::Resting(why) => why,
        other => panic!("it rests: {other:?}"),
    }
}

/// A desk with a pane at rest under a question.
async fn asked(desk: &Desk) -> Option<(Server, String)> {
    let server = Server::start(desk)?;
    let pane = server.script(&at_rest(&WORDS));
    server.until_shows(&pane, "for shortcuts");
    watched(desk, &pane, "").await;
    Some((server, pane))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_seat_of_the_real_cli_points_at_a_question_and_the_panes_own_words_are_raised() {
    needs_boundary!();
    let Some(claude) = steward_kit::claude::find_or_say() else { return };
    let mut desk = Desk::new();
    desk.ctx.steward = binary::steward();
    let Some(server) = Server::start(&desk) else { return };
    let token = format!("  The token is {SECRET} now.");
    let pane = server.script(&at_rest(&[WORDS[0], "", WORDS[2], &token]));
    server.until_shows(&pane, "for shortcuts");
    watched(&desk, &pane, "").await;
    let model = ScriptedModel::start(vec![
        Turn::tool("mcp__steward__pane_get", json!({})),
        Turn::tool(
            "mcp__steward__judgement_submit",
            json!({"says": "question", "topic": "storage", "first": 3, "last": 3, "why": "it waits for a choice"}),
        ),
        Turn::text("Handed in."),
    ])
    .await;
    let file = desk.home.seat_file("watcher");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(
        file,
        format!(
            "adapter: claude\nmodel: claude-sonnet-4-5\ncommand: [{}]\nendpoint: {}\n",
            claude.display(),
            model.url()
        ),
    )
    .unwrap();
    let mut watch = Watch::default();
    tick(&desk, &mut watch).await.finish(&desk.ctx).await.unwrap();

    works(&desk).await;
    let asked = model.turns_asked();
    let mut tools = asked[0].tools();
    tools.sort_unstable();
    assert_eq!(tools, ["mcp__steward__judgement_submit", "mcp__steward__pane_get"], "it has nothing else");
    let given = asked[1].results().concat();
    assert!(given.contains("3: ") && given.contains("WAL or the rollback journal"), "{given}");
    assert!(given.contains("[redacted:"), "{given}");
    assert!(model.asked().iter().all(|asked| !asked.raw.contains(SECRET)), "the secret reached the model");

    let open = open(&desk).await;
    let [need] = open.as_slice() else { panic!("{open:?}") };
    assert_eq!((need.origin, need.need.topic.as_str()), (Origin::Pane, "storage"));
    assert_eq!(need.need.question, "Should I take WAL or the rollback journal, and why?");
    assert_eq!(need.need.project.as_deref(), Some("app"));
    let told = waiting(&desk.ctx).await;
    assert_eq!(told.len(), 1, "told once");
    assert!(
        format!("{}: {}", told[0].title, told[0].body).contains("[pane-judged] Should I take WAL"),
        "{told:?}"
    );
    let row = member(&desk).await;
    assert_eq!((row.state.as_str(), row.detail.as_str()), ("waiting", "asks about storage"));
    let (today, _) = desk.ctx.store.read(spending::today_and_month).await.unwrap();
    assert!(today.usd > 0.0 && today.tokens > 0, "{today:?}");

    // The same is not judged twice: not by the next tick, and not after a restart.
    let before = model.asked().len();
    for watch in [&mut watch, &mut Watch::default()] {
        tick(&desk, watch).await.finish(&desk.ctx).await.unwrap();
    }
    assert_eq!(model.asked().len(), before);
    assert_eq!(member(&desk).await.state.as_str(), "waiting");
    assert_eq!(waiting(&desk.ctx).await.len(), 1);
    // Once the pane shows something else the question is gone.
    server.tmux.key(&pane, "Enter");
    server.until_shows(&pane, "Another thing");
    std::fs::remove_file(desk.home.seat_file("watcher")).unwrap();
    look(&desk).await;
    assert!(self::open(&desk).await.is_empty());
}

async fn inbox_of(desk: &Desk, target: &'static str) -> Option<inbox::EntryRow> {
    let row = desk.ctx.store.read(move |tx| inbox::of_target(tx, Kind::Incident, target)).await.unwrap();
    row.filter(|row| row.state != EntryState::Gone)
}

#[tokio::test]
async fn without_a_watcher_seat_nothing_runs_and_the_roster_says_so() {
    let desk = Desk::new();
    let Some((_server, _pane)) = asked(&desk).await else { return };
    let mut watch = Watch::default();
    watch.tick(&desk.ctx).await.unwrap();
    assert!(watch.take_unsettled().is_empty());
    assert_eq!(runs(&desk).await, 0);
    assert_eq!(member(&desk).await.state.as_str(), "idle", "that something asks is not said by facts");
    assert!(open(&desk).await.is_empty());
    let person = Api::of(desk.ctx.clone(), Caller::Person);
    let shown = api_roster::list(&person, rq::Nothing {}).await.unwrap().watcher;
    assert_eq!(shown.state, "absent");
    assert!(shown.text.contains("steward seats seed"), "{}", shown.text);
}

#[tokio::test]
async fn an_unsure_seat_raises_nothing_and_is_not_asked_again_about_the_same() {
    needs_boundary!();
    let desk = Desk::new();
    let Some((_server, _pane)) = asked(&desk).await else { return };
    seat(&desk, &says(r#"{"says":"unsure"}"#));
    look(&desk).await;
    works(&desk).await;
    look(&desk).await;
    assert_eq!(runs(&desk).await, 1);
    assert!(open(&desk).await.is_empty());
    let row = member(&desk).await;
    assert_eq!(
        (row.state.as_str(), row.detail.as_str()),
        ("idle", "the watcher seat is not sure what it shows")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_pane_shows_no_more_is_not_raised() {
    needs_boundary!();
    let desk = Desk::new();
    let Some((server, pane)) = asked(&desk).await else { return };
    let question = says(r#"{"says":"question","topic":"storage","first":3,"last":3}"#);
    seat(&desk, &format!("sleep 3\n{question}"));
    let mut watcher = tick(&desk, &mut Watch::default()).await;
    let ctx = desk.ctx.clone();
    let judging = tokio::spawn(async move { watcher.finish(&ctx).await });
    let deadline = Instant::now() + Duration::from_secs(30);
    while runs(&desk).await == 0 {
        assert!(Instant::now() < deadline, "the seat does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.tmux.key(&pane, "Enter");
    server.until_shows(&pane, "Another thing");
    judging.await.unwrap().unwrap();
    assert!(open(&desk).await.is_empty());
    assert!(waiting(&desk.ctx).await.is_empty());
    works(&desk).await;
}

#[tokio::test]
async fn a_judgement_that_points_nowhere_or_names_no_plain_topic_is_none() {
    needs_boundary!();
    for judgement in [
        r#"{"says":"question","topic":"storage","first":3,"last":99}"#,
        r#"{"says":"question","topic":"a; rm -rf","first":3,"last":3}"#,
        r#"{"says":"question","first":3,"last":3}"#,
        r#"{"says":"allow","why":"x"}"#,
        r#"{"says":"idle","answer":"yes"}"#,
    ] {
        let desk = Desk::new();
        let Some((_server, _pane)) = asked(&desk).await else { return };
        seat(&desk, &says(judgement));
        look(&desk).await;
        assert!(open(&desk).await.is_empty(), "{judgement}");
        let said = inbox_of(&desk, "roster/watcher").await.unwrap();
        assert!(said.source.contains("does not fit"), "{judgement}: {}", said.source);
    }
}

#[tokio::test]
async fn a_seat_that_costs_more_than_one_run_may_is_no_judge() {
    needs_boundary!();
    let desk = Desk::new();
    let Some((_server, _pane)) = asked(&desk).await else { return };
    seat(&desk, &crate::desk::hand_in(r#"{"says":"question","topic":"storage","first":3,"last":3}"#));
    look(&desk).await;
    assert!(open(&desk).await.is_empty());
    assert_eq!(inbox_of(&desk, "roster/watcher").await.unwrap().source, "it used up what one run may cost");
}

#[tokio::test]
async fn a_seat_that_fails_is_said_once_rests_and_is_forgiven_when_it_works() {
    needs_boundary!();
    let desk = Desk::new();
    let Some((_server, _pane)) = asked(&desk).await else { return };
    seat(&desk, "exit 3\n");
    look(&desk).await;
    assert!(rests(&desk).await.contains("exit code 3"));
    assert_eq!(inbox_of(&desk, "roster/watcher").await.unwrap().title, "The watcher seat failed");
    look(&desk).await;
    assert_eq!(runs(&desk).await, 1, "it rests");
    desk.clock.forward(chrono::Duration::minutes(16));
    seat(&desk, &says(r#"{"says":"idle"}"#));
    look(&desk).await;
    assert_eq!(runs(&desk).await, 2);
    assert_eq!(standing(&desk.ctx).await.unwrap(), Standing::Ready);
    works(&desk).await;
    let left = std::fs::read_dir(desk.home.seat_runs()).unwrap().flatten();
    let left: Vec<_> =
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("watcher-")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_stops_the_seat_that_runs_and_lets_none_begin() {
    needs_boundary!();
    let desk = Desk::new();
    let Some((_server, _pane)) = asked(&desk).await else { return };
    seat(&desk, "exec sleep 600\n");
    let mut watcher = tick(&desk, &mut Watch::default()).await;
    let ctx = desk.ctx.clone();
    let judging = tokio::spawn(async move { watcher.finish(&ctx).await.map(|()| watcher) });
    let deadline = Instant::now() + Duration::from_secs(30);
    while runs(&desk).await == 0 {
        assert!(Instant::now() < deadline, "the seat does not start");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    pause::pause(&desk.ctx, "lunch").await.unwrap();
    let mut watcher = judging.await.unwrap().unwrap();
    assert_eq!(rests(&desk).await, "Steward is paused: lunch");
    works(&desk).await;
    // What was stopped is asked again, once the pause is lifted.
    seat(&desk, &says(r#"{"says":"question","topic":"storage","first":3,"last":3}"#));
    watcher.finish(&desk.ctx).await.unwrap();
    assert_eq!(runs(&desk).await, 1);
    pause::resume(&desk.ctx).await.unwrap();
    watcher.finish(&desk.ctx).await.unwrap();
    assert_eq!(open(&desk).await.len(), 1);
}

#[tokio::test]
async fn past_a_cap_or_its_own_limit_the_seat_does_not_begin() {
    needs_boundary!();
    let desk = Desk::new();
    let Some((_server, pane)) = asked(&desk).await else { return };
    seat(&desk, &says(r#"{"says":"idle"}"#));
    watched(&desk, &pane, "  watcher: {maxPerHour: 0}\n").await;
    assert!(rests(&desk).await.contains("`questions.watcher.maxPerHour` is 0"));
    look(&desk).await;
    assert_eq!(runs(&desk).await, 0);
    watched(&desk, &pane, "").await;
    let spend = |tx: &steward_core::store::WriteTx<'_>| {
        let id = spending::begin(tx, "reviewer")?;
        spending::set(tx, id, Some(11.0), 5)
    };
    desk.ctx.store.write(Durability::Full, spend).await.unwrap();
    assert_eq!(rests(&desk).await, "the spend cap over all agents is reached");
    look(&desk).await;
    assert_eq!(runs(&desk).await, 0);
}

#[tokio::test]
async fn advice_stands_beside_a_prompt_and_never_acts() {
    needs_boundary!();
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let answered = server.tmux.folder().join("key");
    let pane = server.script(&prompting(&answered));
    server.until_shows(&pane, "Esc to cancel");
    watched(&desk, &pane, "").await;
    let why = "it makes one empty file";
    seat(&desk, &says(&format!(r#"{{"says":"allow","why":"{why}"}}"#)));
    let mut watch = Watch::default();
    watch.tick(&desk.ctx).await.unwrap();
    assert!(watch.take_unsettled().is_empty(), "facts settle a prompt");
    assert!(
        prompts(&desk.ctx).await.unwrap().is_empty(),
        "nothing is advised while `review.annotate` is off"
    );
    watched(&desk, &pane, "review: {annotate: true}\n").await;
    let mut watcher = Watcher::default();
    watcher.add(prompts(&desk.ctx).await.unwrap());
    watcher.finish(&desk.ctx).await.unwrap();
    let need = open(&desk).await.remove(0);
    let person = Api::of(desk.ctx.clone(), Caller::Person);
    let advice = api::show(&person, rq::ById { id: need.id.0 }).await.unwrap().advice.unwrap();
    assert_eq!((advice.says.as_str(), advice.why.as_deref()), ("allow", Some(why)));
    assert!(prompts(&desk.ctx).await.unwrap().is_empty(), "advised once");
    // Nothing follows from it: the prompt waits for the owner, who decides against it.
    assert_eq!(carry(&desk.ctx).await.unwrap(), 0);
    watch.tick(&desk.ctx).await.unwrap();
    assert!(!answered.exists());
    assert_eq!(open(&desk).await.len(), 1);
    questions::press(&desk.ctx, need.id, Press::Deny).await.unwrap();
    assert_eq!(carry(&desk.ctx).await.unwrap(), 1);
    assert_eq!(newest(&desk.ctx, need.id).await.stage, Stage::Acknowledged);
    server.until_shows(&pane, "it went on");
    assert_eq!(std::fs::read_to_string(&answered).unwrap(), "3");
}
