//! Watching many panes: what is listed, what is captured, what it costs.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use steward_core::tmux::{Tmux, TmuxError};
use steward_kit::tmux::{TmuxServer, is_there_or_say};
use steward_rules::questions::pane::{Agent, Last, PaneId, Screen, Seen, judge, wants_look};

use super::gallery::{composer, detail};

#[tokio::test]
async fn a_server_that_is_not_there_and_a_pane_that_is_gone_are_told_apart() {
    if !is_there_or_say() {
        return;
    }
    let server = TmuxServer::new();
    let tmux = Tmux::at(&server.socket()).unwrap();
    assert!(matches!(tmux.panes().await, Err(TmuxError::NoServer)));
    assert!(!server.socket().exists(), "asking starts no server");
    let pane = server.start((80, 24), &["sleep", "600"]);
    assert_eq!(tmux.panes().await.unwrap().len(), 1);
    assert_eq!(tmux.capture(&PaneId::new(&pane).unwrap()).await.unwrap().screen, Screen::default());
    let gone = PaneId::new("%77").unwrap();
    assert!(matches!(tmux.capture(&gone).await, Err(TmuxError::NoPane { .. })));
    assert!(matches!(tmux.pane(&gone).await, Err(TmuxError::NoPane { .. })));
}

#[tokio::test]
async fn a_pane_is_known_by_its_number_whatever_it_is_called() {
    if !is_there_or_say() {
        return;
    }
    let server = TmuxServer::new();
    let hostile = "x\x1b]0;y\x07 %9 #{pane_id}\u{202e}";
    let pane = server.start((80, 24), &["sleep", "600"]);
    server.tmux(&["rename-session", "-t", &pane, "a b %9"]);
    server.tmux(&["rename-window", "-t", &pane, "w %8 #{pid}"]);
    server.tmux(&["select-pane", "-t", &pane, "-T", hostile]);
    // Until its program runs, the pane is tmux's own.
    server.until(&pane, "#{pane_current_command}", |name| name == "sleep");
    let tmux = Tmux::at(&server.socket()).unwrap();
    let panes = tmux.panes().await.unwrap();
    assert_eq!(panes.len(), 1);
    assert_eq!(panes[0].identity.pane.as_str(), pane);
    assert_eq!(panes[0].identity.foreground, "sleep");
    assert_eq!(panes[0].place.as_data(), "a b %9:0.0");
}

/// Every capture of the corpus, drawn in a real pane and captured again, is what it was.
#[tokio::test]
async fn the_corpus_drawn_in_real_tmux_is_judged_the_same() {
    if !is_there_or_say() {
        return;
    }
    let folder = steward_kit::binary::workspace_root().join("tests/fixtures/panes");
    let table: toml::Table = std::fs::read_to_string(folder.join("table.toml")).unwrap().parse().unwrap();
    let server = TmuxServer::new();
    let tmux = Tmux::at(&server.socket()).unwrap();
    // A server ends with its last pane; this one stays.
    server.start((80, 24), &["sleep", "600"]);
    let mut faults = Vec::new();
    for row in table["pane"].as_array().unwrap() {
        let word = |key: &str| row[key].as_str().unwrap();
        let mut looks = Vec::new();
        for number in 1..=row["looks"].as_integer().unwrap() {
            let bytes = std::fs::read(folder.join(format!("{}.{number}.txt", word("name")))).unwrap();
            let pane = server.draw((120, 45), &bytes);
            looks.push(tmux.capture(&PaneId::new(&pane).unwrap()).await.unwrap().screen);
            server.tmux(&["kill-pane", "-t", &pane]);
        }
        let mut looks = looks.into_iter();
        let seen = Seen::Looked { first: looks.next().unwrap(), second: looks.next() };
        let judged = judge(Agent::named(word("agent")).unwrap(), word("foreground"), &seen);
        let found = (judged.state.word(), detail(&judged), composer(&judged));
        if found != (word("state"), word("detail").to_owned(), word("composer")) {
            faults.push(format!("{}: {found:?}", word("name")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// 40 idle panes: each tick is one subprocess, and a tick every two minutes costs far under 1 % of a core.
#[tokio::test]
async fn forty_idle_panes_cost_one_subprocess_a_tick() {
    if !is_there_or_say() {
        return;
    }
    let server = TmuxServer::new();
    let panes: Vec<String> = (0..40).map(|_| server.start((80, 24), &["sleep", "600"])).collect();
    let tmux = Tmux::at(&server.socket()).unwrap();
    let now = || {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_secs()).unwrap()
    };
    let mut last: HashMap<PaneId, Last> = HashMap::new();
    let mut tick = async || {
        let mut captured = 0;
        for pane in tmux.panes().await.unwrap() {
            let id = pane.identity.pane;
            if wants_look(pane.activity, last.get(&id).copied()) {
                tmux.capture(&id).await.unwrap();
                captured += 1;
                last.insert(id, Last { activity: pane.activity, looked_at: now(), hot: false });
            }
        }
        captured
    };
    // The first ticks see them all; once a second has passed since they were drawn, none.
    assert_eq!(tick().await, 40);
    let until = Instant::now() + Duration::from_secs(10);
    while tick().await > 0 {
        assert!(Instant::now() < until, "panes that do nothing are captured again and again");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let (before, start, cpu) = (tmux.started(), Instant::now(), cpu_of_children());
    const TICKS: u32 = 50;
    for _tick in 0..TICKS {
        assert_eq!(tick().await, 0);
    }
    assert_eq!(tmux.started() - before, u64::from(TICKS), "one list and nothing else");
    let (wall, cpu) = (start.elapsed() / TICKS, (cpu_of_children() - cpu) / TICKS);
    println!("40 idle panes: {wall:?} a tick, {cpu:?} of processor time in its subprocess");
    // At one tick every five seconds, which is far more often than any cadence allows.
    assert!(cpu < Duration::from_millis(50), "{cpu:?} a tick is over 1 % of a core at one tick in 5 s");
    // One pane that says something is looked at, and it alone.
    server.tmux(&["respawn-pane", "-k", "-t", &panes[7], "sh", "-c", "echo hello; exec sleep 600"]);
    server.until_shows(&panes[7], |text| text.contains("hello"));
    assert_eq!(tick().await, 1);
}

/// Processor time of the subprocesses that have ended.
fn cpu_of_children() -> Duration {
    let used = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN).unwrap();
    let time = |value: nix::sys::time::TimeVal| {
        Duration::new(u64::try_from(value.tv_sec()).unwrap(), u32::try_from(value.tv_usec()).unwrap() * 1000)
    };
    time(used.user_time()) + time(used.system_time())
}
