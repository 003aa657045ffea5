//! The watch over real panes: what is raised, what is gone, and what is said of panes nobody can see.

use std::path::Path;

use steward_core::loops::effects::powers;
use steward_core::loops::pause;
use steward_core::loops::questions::{self, Watch, carry, last_tick};
use steward_core::store::inbox::{self, EntryState, Kind};
use steward_core::store::need_answers::Press;
use steward_core::store::needs::{self, NeedState};
use steward_core::store::roster::{self, MemberRow};
use steward_core::store::{StoreError, notices};
use steward_core::tmux::Tmux;
use steward_kit::tmux::{TmuxServer, is_there_or_say};
use steward_rules::questions::delivery::Stage;
use steward_rules::questions::escalation;

use super::{confirmed, newest, waiting};
use crate::desk::Desk;

/// A tmux server of this test's own, and scripts in its panes.
pub(super) struct Server {
    pub tmux: TmuxServer,
    scripts: std::cell::Cell<u32>,
}

impl Server {
    pub fn start(desk: &Desk) -> Option<Self> {
        if !is_there_or_say() {
            return None;
        }
        let server = Self { tmux: TmuxServer::new(), scripts: std::cell::Cell::new(0) };
        desk.ctx.use_tmux(Tmux::at(&server.tmux.socket()).unwrap());
        // A shell under another name: with a shell in front an agent counts as ended.
        std::fs::copy("/bin/sh", server.tmux.folder().join("agent")).unwrap();
        Some(server)
    }

    /// Runs a shell script in a new pane.
    pub fn script(&self, lines: &str) -> String {
        self.scripts.set(self.scripts.get() + 1);
        let file = self.tmux.folder().join(format!("script-{}", self.scripts.get()));
        std::fs::write(&file, lines).unwrap();
        let agent = self.tmux.folder().join("agent");
        self.tmux.start((100, 30), &[&agent.to_string_lossy(), &file.to_string_lossy()])
    }

    pub fn until_shows(&self, pane: &str, words: &str) {
        self.tmux.until_shows(pane, |text| text.contains(words));
    }
}

async fn watched(desk: &Desk, members: &[(&str, &str, &str)]) {
    let lines: Vec<String> = members
        .iter()
        .map(|(agent, pane, more)| {
            format!("    - {{agent: {agent}, project: app, pane: \"{pane}\"{more}}}\n")
        })
        .collect();
    let roster = lines.concat();
    confirmed(
        desk,
        &format!("questions:\n  enabled: true\n  owner: leon\n  keys: true\n  roster:\n{roster}"),
    )
    .await;
}

async fn member(desk: &Desk, agent: &str) -> MemberRow {
    let rows = desk.ctx.store.read(roster::all).await.unwrap();
    rows.into_iter().find(|row| row.agent == agent).unwrap()
}

async fn said(desk: &Desk, agent: &str) -> u32 {
    said_at(desk, agent, None).await
}

async fn said_at(desk: &Desk, agent: &str, host: Option<&str>) -> u32 {
    let key = escalation::key(agent, host);
    desk.ctx.store.read(move |tx| roster::said(tx, &key)).await.unwrap()
}

async fn line(desk: &Desk) -> String {
    desk.ctx.store.read(last_tick).await.unwrap().unwrap().line
}

#[tokio::test]
async fn p40_a_pane_that_cannot_be_captured_is_said_three_times_until_it_is_seen_again() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let pane = server.script("echo ready; exec sleep 600\n");
    server.until_shows(&pane, "ready");
    watched(
        &desk,
        &[("coord", &pane, ""), ("lost", "%77", ""), ("away", "%78", ", declaredAbsent: sleeping")],
    )
    .await;
    let mut watch = Watch::default();
    for _ in 0..4 {
        watch.tick(&desk.ctx).await.unwrap();
        desk.clock.forward(chrono::Duration::minutes(3));
    }
    assert_eq!((said(&desk, "lost").await, said(&desk, "away").await), (3, 0));
    let told = waiting(&desk.ctx).await;
    assert_eq!(told.iter().filter(|one| one.key.starts_with("unwatchable:")).count(), 3);
    assert!(told[0].body.contains("lost: FLAGGED: CAPTURE FAILED: there is no pane %77"), "{told:?}");
    assert_eq!(line(&desk).await, "3 members: 1 unknown, 2 unwatchable (2 capture-failed)");
    assert_eq!(member(&desk, "lost").await.detail, "there is no pane %77");
    let entries = desk.inbox().await;
    assert_eq!(entries.iter().filter(|entry| entry.chip == "UNWATCHABLE").count(), 1);
    // Another process, another watch: the count is durable.
    Watch::default().tick(&desk.ctx).await.unwrap();
    assert_eq!(waiting(&desk.ctx).await.len(), told.len());
    // Seen again, it begins anew.
    watched(&desk, &[("coord", &pane, ""), ("lost", &pane, "")]).await;
    watch.tick(&desk.ctx).await.unwrap();
    assert_eq!(said(&desk, "lost").await, 0);
    assert!(desk.inbox().await.iter().all(|entry| entry.chip != "UNWATCHABLE"));
}

#[tokio::test]
async fn p40_one_name_on_two_machines_is_two_conditions() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let pane = server.script("echo ready; exec sleep 600\n");
    server.until_shows(&pane, "ready");
    // No machine is listed for captures, so the other one fails as well.
    watched(&desk, &[("fine", &pane, ""), ("coord", "%77", ""), ("coord", "%77", ", host: build")]).await;
    let mut watch = Watch::default();
    for _ in 0..2 {
        watch.tick(&desk.ctx).await.unwrap();
        desk.clock.forward(chrono::Duration::minutes(3));
    }
    assert_eq!((said(&desk, "coord").await, said_at(&desk, "coord", Some("build")).await), (2, 2));
    let entries = desk.inbox().await;
    assert_eq!(entries.iter().filter(|entry| entry.chip == "UNWATCHABLE").count(), 2);
}

#[tokio::test]
async fn p40_when_nothing_at_all_can_be_captured_that_is_said_in_one() {
    let desk = Desk::new();
    let Some(_server) = Server::start(&desk) else { return };
    watched(&desk, &[("a", "%1", ""), ("b", "%2", ""), ("c", "%3", "")]).await;
    let mut watch = Watch::default();
    for _ in 0..4 {
        watch.tick(&desk.ctx).await.unwrap();
    }
    assert_eq!(line(&desk).await, "RESOLUTION-FAIL: no member could be captured");
    let told = waiting(&desk.ctx).await;
    assert_eq!(told.iter().filter(|one| one.title == "RESOLUTION-FAIL").count(), 3);
    assert_eq!(desk.inbox().await.len(), 1);
    assert_eq!(said(&desk, "a").await, 0);
    // One who is absent on purpose makes it no failure of everything.
    watched(&desk, &[("a", "%1", ""), ("b", "%2", ", declaredAbsent: inactive")]).await;
    watch.tick(&desk.ctx).await.unwrap();
    assert_eq!(line(&desk).await, "2 members: 2 unwatchable (2 capture-failed)");
}

#[tokio::test]
async fn one_tick_of_28_empty_captures_raises_no_alarm() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let panes: Vec<String> = (0..28).map(|_| server.script("exec sleep 600\n")).collect();
    let names: Vec<String> = (0..28).map(|number| format!("agent{number}")).collect();
    let members: Vec<(&str, &str, &str)> =
        names.iter().zip(&panes).map(|(name, pane)| (name.as_str(), pane.as_str(), "")).collect();
    watched(&desk, &members).await;
    Watch::default().tick(&desk.ctx).await.unwrap();
    assert_eq!(line(&desk).await, "28 members: 28 unknown");
    assert!(waiting(&desk.ctx).await.is_empty());
    assert!(desk.inbox().await.is_empty());
}

/// Claude Code's prompt, its answer by one key, and what the program was given.
pub(super) fn prompting(answered: &Path) -> String {
    let rule = "─".repeat(98);
    format!(
        "printf '%s\\n' '⏺ Bash(touch built)' '' '{rule}' ' Bash command' '' '   touch built' '   Make the file' '' \
         ' Do you want to proceed?' ' ❯ 1. Yes' '   2. Yes, and always allow access to built from this project' '   3. No' '' \
         ' Esc to cancel · Tab to amend'\n\
         stty raw -echo; key=$(dd bs=1 count=1 2>/dev/null); stty sane\n\
         printf '%s' \"$key\" > '{}'; clear; echo 'it went on'; exec sleep 600\n",
        answered.display()
    )
}

#[tokio::test]
async fn a_permission_prompt_is_raised_once_and_allowed_by_its_one_key() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let answered = server.tmux.folder().join("key");
    let pane = server.script(&prompting(&answered));
    server.until_shows(&pane, "Esc to cancel");
    watched(&desk, &[("coord", &pane, ", adapter: claude")]).await;
    let mut watch = Watch::default();
    assert!(watch.tick(&desk.ctx).await.unwrap(), "somebody waits");
    watch.tick(&desk.ctx).await.unwrap();
    let open = desk.ctx.store.read(needs::open).await.unwrap();
    let [need] = open.as_slice() else { panic!("{open:?}") };
    assert_eq!((need.need.topic.as_str(), need.need.project.as_deref()), ("permission", Some("app")));
    assert!(need.need.question.contains("touch built"), "{need:?}");
    assert_eq!(waiting(&desk.ctx).await.len(), 1, "told once");
    questions::press(&desk.ctx, need.id, Press::Allow).await.unwrap();
    assert_eq!(carry(&desk.ctx).await.unwrap(), 1);
    let answer = newest(&desk.ctx, need.id).await;
    assert_eq!((answer.stage, answer.why), (Stage::Acknowledged, None));
    server.until_shows(&pane, "it went on");
    assert_eq!(std::fs::read_to_string(&answered).unwrap(), "1");
    assert_eq!(carry(&desk.ctx).await.unwrap(), 0, "one answer acts once");
}

#[tokio::test]
async fn a_prompt_whose_answer_is_on_its_way_is_not_asked_again() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let answered = server.tmux.folder().join("key");
    let pane = server.script(&prompting(&answered));
    server.until_shows(&pane, "Esc to cancel");
    watched(&desk, &[("coord", &pane, ", adapter: claude")]).await;
    Watch::default().tick(&desk.ctx).await.unwrap();
    let id = desk.ctx.store.read(needs::open).await.unwrap()[0].id;
    questions::press(&desk.ctx, id, Press::Allow).await.unwrap();
    pause::pause(&desk.ctx, "lunch").await.unwrap();
    // A look, and one after a restart, while the prompt stands there still.
    Watch::default().tick(&desk.ctx).await.unwrap();
    Watch::default().tick(&desk.ctx).await.unwrap();
    assert_eq!(desk.ctx.store.read(needs::open).await.unwrap(), []);
    assert_eq!(waiting(&desk.ctx).await.len(), 0, "nothing is told anew");
    pause::resume(&desk.ctx).await.unwrap();
    assert_eq!(carry(&desk.ctx).await.unwrap(), 1);
    assert_eq!(newest(&desk.ctx, id).await.stage, Stage::Acknowledged);
}

#[tokio::test]
async fn a_prompt_that_the_owner_put_away_is_not_asked_again_while_it_stands_there() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let pane = server.script(&prompting(&server.tmux.folder().join("key")));
    server.until_shows(&pane, "Esc to cancel");
    watched(&desk, &[("coord", &pane, ", adapter: claude")]).await;
    Watch::default().tick(&desk.ctx).await.unwrap();
    let id = desk.ctx.store.read(needs::open).await.unwrap()[0].id;
    questions::drop_need(&desk.ctx, id, false).await.unwrap();
    // A restart looks at every pane anew.
    Watch::default().tick(&desk.ctx).await.unwrap();
    assert_eq!(desk.ctx.store.read(needs::open).await.unwrap(), []);
    // Once it was gone, the same prompt is another one.
    server.tmux.type_keys(&pane, "3");
    server.until_shows(&pane, "it went on");
    server.tmux.tmux(&["clear-history", "-t", &pane]);
    let composer = format!("printf '\\033[2J\\033[H{0}\\n❯ \\n{0}\\n'; exec sleep 600", "─".repeat(98));
    let show = |script: &str| {
        let file = server.tmux.folder().join("next");
        std::fs::write(&file, script).unwrap();
        let agent = server.tmux.folder().join("agent");
        server.tmux.tmux(&[
            "respawn-pane",
            "-k",
            "-t",
            &pane,
            &agent.to_string_lossy(),
            &file.to_string_lossy(),
        ]);
    };
    show(&composer);
    server.until_shows(&pane, "❯");
    Watch::default().tick(&desk.ctx).await.unwrap();
    assert_eq!(member(&desk, "coord").await.state, roster::MemberState::Idle);
    show(&prompting(&server.tmux.folder().join("key-2")));
    server.until_shows(&pane, "Esc to cancel");
    Watch::default().tick(&desk.ctx).await.unwrap();
    assert_eq!(desk.ctx.store.read(needs::open).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_press_that_a_pause_stops_before_its_key_waits_and_goes_when_it_is_lifted() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let answered = server.tmux.folder().join("key");
    let pane = server.script(&prompting(&answered));
    server.until_shows(&pane, "Esc to cancel");
    watched(&desk, &[("coord", &pane, ", adapter: claude")]).await;
    Watch::default().tick(&desk.ctx).await.unwrap();
    let id = desk.ctx.store.read(needs::open).await.unwrap()[0].id;
    questions::press(&desk.ctx, id, Press::Allow).await.unwrap();
    // tmux gives the look before the key no answer until the pause stands.
    let (looked, paused) = (server.tmux.folder().join("looked"), server.tmux.folder().join("paused"));
    let wait =
        format!("touch {}; while [ ! -e {} ]; do sleep 0.02; done", looked.display(), paused.display());
    let hook = format!("set-hook -gu after-capture-pane ; run-shell '{wait}'");
    server.tmux.tmux(&["set-hook", "-g", "after-capture-pane", &hook]);
    let stops = async {
        while !looked.exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        pause::pause(&desk.ctx, "lunch").await.unwrap();
        std::fs::write(&paused, "").unwrap();
    };
    let (tried, ()) = tokio::join!(carry(&desk.ctx), stops);
    assert_eq!(tried.unwrap(), 1);
    let answer = newest(&desk.ctx, id).await;
    assert_eq!(answer.stage, Stage::Queued, "{answer:?}");
    assert!(answer.why.as_deref().unwrap().contains("stopped"), "{answer:?}");
    assert!(!answered.exists());
    pause::resume(&desk.ctx).await.unwrap();
    assert_eq!(carry(&desk.ctx).await.unwrap(), 1);
    assert_eq!(newest(&desk.ctx, id).await.stage, Stage::Acknowledged);
    server.until_shows(&pane, "it went on");
    assert_eq!(std::fs::read_to_string(&answered).unwrap(), "1");
}

#[tokio::test]
async fn a_prompt_that_was_answered_in_its_pane_leaves_the_queue_and_its_answer_goes_nowhere() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let answered = server.tmux.folder().join("key");
    let pane = server.script(&prompting(&answered));
    server.until_shows(&pane, "Esc to cancel");
    watched(&desk, &[("coord", &pane, ", adapter: claude")]).await;
    let mut watch = Watch::default();
    watch.tick(&desk.ctx).await.unwrap();
    let need = desk.ctx.store.read(needs::open).await.unwrap().remove(0);
    // The owner decides, and meanwhile somebody answers in the terminal.
    questions::press(&desk.ctx, need.id, Press::Deny).await.unwrap();
    server.tmux.tmux(&["send-keys", "-t", &pane, "-l", "--", "3"]);
    server.until_shows(&pane, "it went on");
    assert_eq!(carry(&desk.ctx).await.unwrap(), 1);
    let answer = newest(&desk.ctx, need.id).await;
    assert_eq!(answer.stage, Stage::Returned, "{answer:?}");
    let target = questions::target(need.id);
    let entry = {
        let target = target.clone();
        desk.ctx.store.read(move |tx| inbox::of_target(tx, Kind::Question, &target)).await.unwrap().unwrap()
    };
    assert_eq!((entry.chip.as_str(), entry.state), ("UNDELIVERED", EntryState::Open));
    let told = desk.ctx.store.read(move |tx| notices::count_for(tx, &target)).await.unwrap();
    assert_eq!(told, 2, "the question, and that its answer came back");
    assert_eq!(std::fs::read_to_string(&answered).unwrap(), "3");
}

#[tokio::test]
async fn a_roster_without_members_is_one_entry_and_no_watch() {
    let desk = Desk::new();
    desk.config("questions: {enabled: true}\n");
    let mut watch = Watch::default();
    for _ in 0..3 {
        assert!(!watch.tick(&desk.ctx).await.unwrap());
    }
    let entries = desk.inbox().await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].title, "Nobody is on the roster, so no pane is watched");
    let seen: Result<_, StoreError> = desk.ctx.store.read(last_tick).await;
    assert_eq!(seen.unwrap(), None);
    assert!(desk.ctx.store.read(needs::open).await.unwrap().iter().all(|row| row.state == NeedState::Open));
}

/// A line editor like an agent's: a prompt sign, the text that is typed, and what was sent above it.
const EDITOR: &str = "printf 'hello\n\n> '; while IFS= read -r line; do printf '%s\n' \"$line\" >> \"$0.got\"; \
                      printf 'taken\n\n> '; done\n";

#[tokio::test]
async fn a_member_is_briefed_once_and_only_where_keys_are_allowed() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let pane = server.script(EDITOR);
    server.until_shows(&pane, "hello");
    watched(&desk, &[("coord", &pane, "")]).await;
    let config = powers::questions(&desk.ctx).await.unwrap();
    let member = config.roster[0].clone();
    let off = steward_core::config::Questions { keys: false, ..config.clone() };
    let refused = questions::brief(&desk.ctx, &member, &off).await.unwrap_err().to_string();
    assert!(refused.contains("`questions.keys` is off"), "{refused}");
    // A briefing has several lines, and this agent takes one: nothing is typed, so it may be tried again.
    let refused = questions::brief(&desk.ctx, &member, &config).await.unwrap_err().to_string();
    assert!(refused.contains("one line only"), "{refused}");
    let again = member.clone();
    assert!(!desk.ctx.store.read(move |tx| questions::briefed(tx, &again)).await.unwrap());
}

#[tokio::test]
async fn panes_that_draw_nothing_cost_one_subprocess_a_tick() {
    let desk = Desk::new();
    let Some(server) = Server::start(&desk) else { return };
    let panes: Vec<String> = (0..12).map(|_| server.script(EDITOR)).collect();
    for pane in &panes {
        server.until_shows(pane, "> ");
    }
    let names: Vec<String> = (0..12).map(|number| format!("agent{number}")).collect();
    let members: Vec<(&str, &str, &str)> =
        names.iter().zip(&panes).map(|(name, pane)| (name.as_str(), pane.as_str(), "")).collect();
    watched(&desk, &members).await;
    // Past what tmux says of when each pane last drew something.
    desk.clock.forward(chrono::Duration::days(400));
    let mut watch = Watch::default();
    watch.tick(&desk.ctx).await.unwrap();
    let (states, tmux) = (line(&desk).await, desk.ctx.tmux().unwrap());
    assert!(!states.contains("unwatchable"), "{states}");
    let before = tmux.started();
    watch.tick(&desk.ctx).await.unwrap();
    assert_eq!(tmux.started() - before, 1, "{states}");
    assert_eq!(line(&desk).await, states, "what draws nothing is what it was");
}
