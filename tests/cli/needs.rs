//! `steward need`: an agent's shell asks, the owner answers, and exactly his words come back.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use steward_kit::pty;

use crate::desk::{Desk, steward};

const ASK: &[&str] = &[
    "need",
    "WAL or rollback?",
    "--topic",
    "storage",
    "--option",
    "WAL",
    "--option",
    "rollback",
    "--agent",
    "coord",
    "--project",
    "app",
];

fn desk() -> Desk {
    let desk = Desk::new();
    let mut text = desk.home.config();
    text.push_str("\nquestions: {enabled: true, owner: leon}\n");
    desk.home.write_config(&text);
    desk
}

/// A command that goes on beside the test, without a terminal, and dies with it.
struct Beside(Child);

impl Beside {
    fn start(desk: &Desk, args: &[&str]) -> Self {
        let mut command = pty::command(&desk.home, steward(), args, &[]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("steward starts"))
    }

    /// Waits for its end; gives its exit code and what it printed.
    fn ended(mut self) -> (i32, String, String) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while self.0.try_wait().expect("waited for").is_none() {
            assert!(Instant::now() < deadline, "it did not end");
            std::thread::sleep(Duration::from_millis(20));
        }
        let (mut out, mut err) = (String::new(), String::new());
        self.0.stdout.take().expect("piped").read_to_string(&mut out).expect("text");
        self.0.stderr.take().expect("piped").read_to_string(&mut err).expect("text");
        (self.0.wait().expect("waited for").code().unwrap_or(-1), out, err)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until what `look` sees is there.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn open(desk: &Desk) -> Option<i64> {
    let page = desk.script(&["needs", "list", "--json"]).ok().json();
    page["needs"].as_array().expect("a list").iter().find(|need| need["state"] == "open")?["id"].as_i64()
}

fn waiting(extra: &str) -> Vec<&str> {
    ASK.iter().copied().chain([extra]).collect()
}

#[test]
fn the_owners_words_reach_the_waiting_shell_exactly() {
    let desk = desk();
    let asker = Beside::start(&desk, &waiting("--wait"));
    let id = until("the question is open", || open(&desk));
    let entries = desk.person(&["inbox", "--json"]).ok().json();
    assert_eq!(entries["entries"].as_array().unwrap().len(), 1);
    assert_eq!(entries["entries"][0]["target"], format!("question/{id}"));
    assert_eq!(entries["entries"][0]["chip"], "NEED");
    let words = "B, but keep  the \"old\" files — ok?";
    desk.person(&["needs", "answer", &id.to_string(), words]).ok();
    let (code, out, err) = asker.ended();
    assert_eq!((code, out.as_str()), (0, format!("{words}\n").as_str()), "{err}");
    assert!(err.contains("no runtime runs"), "{err}");
    let need = desk.script(&["needs", "show", &id.to_string(), "--json"]).ok().json();
    assert_eq!(need["answer"]["stage"], "acknowledged");
    assert_eq!(need["state"], "answered");
    assert_eq!(desk.person(&["inbox", "--json"]).ok().json()["total"], 0);
}

#[test]
fn with_a_runtime_it_is_the_same_and_one_notification_goes_out() {
    let desk = desk();
    let mut runtime = Beside::start(&desk, &["serve"]);
    let lines = BufReader::new(runtime.0.stderr.take().expect("piped")).lines();
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&said);
    let reading = std::thread::spawn(move || {
        lines.map_while(Result::ok).for_each(|line| heard.lock().unwrap().push(line))
    });
    let told = || said.lock().unwrap().iter().filter(|line| line.contains("asks (NEED [storage])")).count();
    until("the runtime runs", || {
        let status = desk.script(&["status", "--json"]).ok().json();
        (status["holder"]["kind"] == "serve").then_some(())
    });
    let asker = Beside::start(&desk, &waiting("--wait"));
    let id = until("the question is open", || open(&desk));
    // Who answers before it is told is not told; this owner hears of it first.
    until("the notification", || (told() > 0).then_some(()));
    // The same words from the same asker: one question, one notification.
    desk.script(ASK).ok();
    desk.person(&["needs", "answer", &format!("{id}: B, but keep the old files")]).ok();
    let (code, out, err) = asker.ended();
    assert_eq!((code, out.as_str()), (0, "B, but keep the old files\n"), "{err}");
    let pid = i32::try_from(runtime.0.id()).unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    runtime.0.wait().unwrap();
    reading.join().unwrap();
    assert_eq!(told(), 1, "{said:?}");
    let said = said.lock().unwrap().join("\n");
    assert!(said.contains("Options: A) WAL B) rollback"), "{said}");
}

#[test]
fn an_answer_that_came_while_nobody_waited_is_kept_for_the_same_words() {
    let desk = desk();
    let mut asker = Beside::start(&desk, &waiting("--wait"));
    let id = until("the question is open", || open(&desk));
    asker.0.kill().unwrap();
    asker.0.wait().unwrap();
    desk.person(&["needs", "answer", &id.to_string(), "A"]).ok();
    let shown = desk.script(&["needs", "show", &id.to_string(), "--json"]).ok().json();
    assert_eq!(shown["answer"]["text"], "the asker has not fetched it yet");
    let again = desk.script(&waiting("--wait")).ok();
    assert_eq!(again.stdout, "A\n");
    assert_eq!(open(&desk), None, "it is not asked a second time");
    // Asked once more after it was heard, it is a new question.
    desk.script(ASK).ok();
    assert_ne!(open(&desk), Some(id));
    assert!(open(&desk).is_some());
}

#[test]
fn an_answer_that_came_back_is_sent_again_as_it_was() {
    let desk = Desk::new();
    let mut text = desk.home.config();
    text.push_str("\nquestions: {enabled: true, owner: leon, keys: true}\n");
    desk.home.write_config(&text);
    let shown = desk.person(&["config", "confirm", "--json"]).ok().json();
    desk.person(&["config", "confirm", shown["change"].as_str().unwrap()]).ok();
    // A pane of a tmux server that is not there: nothing typed can arrive.
    let nowhere = desk.home.path().join("no-server").display().to_string();
    let lost = [("TMUX_PANE", "%7"), ("TMUX_TMPDIR", nowhere.as_str())];
    pty::script(&desk.home, steward(), ASK, &lost).ok();
    let early = desk.person(&["needs", "again", "1"]);
    assert!(
        early.code == 1 && early.stderr.contains("no answer to question 1 came back"),
        "{}",
        early.stderr
    );
    desk.person(&["needs", "answer", "1", "B, but keep \u{2764}\u{fe0f}"]).ok();
    let person =
        |words: &[&str]| pty::person_with(&desk.home, steward(), words, &[("TMUX_TMPDIR", &nowhere)]);
    let typed = person(&["needs", "type", "1"]).ok().stdout;
    assert!(typed.contains("not delivered"), "{typed}");
    let again = person(&["needs", "again", "1"]).ok().stdout;
    assert!(again.contains("the asker has not fetched it yet"), "{again}");
    assert_eq!(desk.script(&waiting("--wait")).ok().stdout, "B, but keep \u{2764}\u{fe0f}\n");
}

#[test]
fn an_answer_that_nobody_fetched_is_taken_back_by_a_person_and_the_next_one_is_heard() {
    let desk = desk();
    desk.script(ASK).ok();
    let id = open(&desk).unwrap().to_string();
    desk.person(&["needs", "answer", &id, "A"]).ok();
    let refused = desk.script(&["needs", "undo", &id, "--json"]);
    assert_eq!((refused.code, refused.json()["error"]["code"].as_str()), (1, Some("not_a_person")));
    assert_eq!(desk.person(&["needs", "show", &id, "--json"]).ok().json()["may"]["takeBack"], true);
    let said = desk.person(&["needs", "undo", &id]).ok().stdout;
    assert!(said.contains("the answer is taken back"), "{said}");
    assert_eq!(open(&desk).map(|id| id.to_string()), Some(id.clone()));
    desk.person(&["needs", "answer", &id, "B, but keep the old files"]).ok();
    assert_eq!(desk.script(&waiting("--wait")).ok().stdout, "B, but keep the old files\n");
    let late = desk.person(&["needs", "undo", &id]);
    assert!(late.code == 1 && late.stderr.contains("not taken back"), "{}", late.stderr);
}

#[test]
fn a_question_put_away_ends_the_waiting_with_its_reason() {
    let desk = desk();
    let asker = Beside::start(&desk, &waiting("--wait"));
    let id = until("the question is open", || open(&desk));
    desk.person(&["needs", "drop", &id.to_string()]).ok();
    let (code, out, err) = asker.ended();
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("put away by you"), "{err}");
}

#[test]
fn an_agent_answers_nobody_and_takes_back_only_its_own() {
    let desk = desk();
    desk.script(ASK).ok();
    let id = open(&desk).unwrap().to_string();
    let refused = desk.script(&["needs", "answer", &id, "A", "--json"]);
    assert_eq!((refused.code, refused.json()["error"]["code"].as_str()), (1, Some("not_a_person")));
    let other = desk.script(&["needs", "drop", &id, "--agent", "brain"]);
    assert_eq!(other.code, 1);
    assert!(other.stderr.contains("not yours"), "{}", other.stderr);
    desk.script(&["needs", "drop", &id, "--agent", "coord"]).ok();
    assert_eq!(open(&desk), None);
    assert_eq!(desk.script(&["needs", "show", &id, "--json"]).ok().json()["state"], "withdrawn");
}

#[test]
fn with_several_open_an_answer_must_name_its_question() {
    let desk = desk();
    desk.script(ASK).ok();
    desk.script(&["need", "Which port?", "--topic", "port", "--agent", "coord", "--project", "app"]).ok();
    let unnamed = desk.person(&["needs", "answer", "B"]);
    assert_eq!(unnamed.code, 2);
    assert!(unnamed.stderr.contains("several questions are open (1, 2)"), "{}", unnamed.stderr);
    desk.person(&["needs", "answer", "2: 8080"]).ok();
    let queue = desk.person(&["needs", "list"]).ok().stdout;
    assert!(queue.starts_with("[1] app / coord@"), "{queue}");
    assert!(queue.contains("· storage · WAL or rollback? A) WAL B) rollback · waiting"), "{queue}");
    assert!(!queue.contains("port"), "{queue}");
}

#[test]
fn a_raw_message_is_read_and_what_is_wrong_with_one_is_said() {
    let desk = desk();
    let raw = |text: &str| {
        let file = desk.home.outside("need.txt");
        std::fs::write(&file, text).unwrap();
        let mut command =
            pty::command(&desk.home, steward(), &["need", "--stdin", "--agent", "coord", "--json"], &[]);
        command.stdin(std::fs::File::open(&file).unwrap()).current_dir(desk.home.path());
        let ran = command.output().unwrap();
        (ran.status.code().unwrap(), String::from_utf8(ran.stdout).unwrap())
    };
    let (code, out) = raw("NEED [storage]: WAL or rollback?\nA) WAL\nB) rollback\nProject: app\n");
    assert_eq!(code, 0, "{out}");
    let raised: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(raised["arrival"], "new");
    assert_eq!(raised["need"]["options"][1]["answer"], "B) rollback");
    let (code, out) = raw("NEED [storage] WAL?\n");
    assert_eq!(code, 2);
    assert!(out.contains("does not begin with `NEED [<topic>]:`"), "{out}");
    // Nothing around it says which project it is about.
    let (code, out) = raw("NEED [port]: which?\n");
    assert_eq!(code, 2);
    assert!(out.contains("names no project"), "{out}");
}

#[test]
fn the_project_is_that_of_the_folder_when_the_question_does_not_say() {
    let desk = desk();
    let ask = |folder: std::path::PathBuf| {
        let args = ["need", "q?", "--topic", "t", "--agent", "coord", "--json"];
        let mut command = pty::command(&desk.home, steward(), &args, &[]);
        let ran = command.stdin(Stdio::null()).current_dir(folder).output().unwrap();
        let text = String::from_utf8(ran.stdout).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let inside = ask(desk.repo.path().join("src"));
    assert_eq!(inside["need"]["project"], "app");
}

#[test]
fn the_briefing_says_how_to_ask() {
    let desk = desk();
    let brief = desk.script(&["need", "brief"]).ok().stdout;
    assert!(brief.contains("steward need \"<question>\" --topic <topic>"), "{brief}");
    assert!(brief.trim_end().ends_with("steward: @steward"), "{brief}");
    assert!(brief.contains("leon's own words"), "{brief}");
    assert_eq!(desk.script(&["need", "brief", "nobody"]).code, 1);
}

#[test]
fn while_questions_are_off_there_is_nothing_of_them() {
    let desk = Desk::new();
    let refused = desk.script(&waiting("--json"));
    assert_eq!(refused.code, 1);
    assert!(refused.stdout.contains("questions are off"), "{}", refused.stdout);
    let status = desk.script(&["status", "--json"]).ok().json();
    assert!(status.get("questions").is_none(), "{status}");
}

#[test]
fn a_pane_of_another_tmux_server_is_not_taken_for_the_rosters_of_that_number() {
    let desk = Desk::new();
    let mut text = desk.home.config();
    text.push_str("\nquestions: {enabled: true, roster: [{agent: coord, project: web, pane: \"%12\"}]}\n");
    desk.home.write_config(&text);
    let folder = desk.home.outside("sockets");
    let usual = folder.join(format!("tmux-{}", nix::unistd::getuid())).join("default");
    let ask = |topic: &str, socket: &std::path::Path| {
        let tmux = format!("{},4711,0", socket.display());
        let named =
            [("TMUX_PANE", "%12"), ("TMUX", tmux.as_str()), ("TMUX_TMPDIR", folder.to_str().unwrap())];
        let words = ["need", "q?", "--topic", topic, "--project", "app", "--json"];
        pty::script(&desk.home, steward(), &words, &named).ok().json()["need"].clone()
    };
    let other = ask("one", &folder.join("other"));
    assert_eq!(other["pane"], serde_json::Value::Null, "{other}");
    assert_ne!(other["agent"], "coord");
    let own = ask("two", &usual);
    assert_eq!((own["agent"].as_str(), own["pane"].as_str()), (Some("coord"), Some("%12")), "{own}");
}

#[test]
fn c16_in_a_pane_of_the_roster_nobody_is_taken_for_the_owner() {
    let desk = Desk::new();
    let mut text = desk.home.config();
    text.push_str("\nquestions: {enabled: true, roster: [{agent: coord, project: web, pane: \"%12\"}]}\n");
    desk.home.write_config(&text);
    let ask = ["need", "q?", "--topic", "t", "--json"];
    let raised = pty::script(&desk.home, steward(), &ask, &[("TMUX_PANE", "%12")]).ok().json();
    assert_eq!(
        (raised["need"]["agent"].as_str(), raised["need"]["project"].as_str()),
        (Some("coord"), Some("web"))
    );
    let answer = ["needs", "answer", "1", "A"];
    let refused = pty::person_with(&desk.home, steward(), &answer, &[("TMUX_PANE", "%12")]);
    assert!(refused.code == 1 && refused.stderr.contains("an agent's pane"), "{}", refused.stderr);
    pty::person_with(&desk.home, steward(), &answer, &[("TMUX_PANE", "%13")]).ok();
}
