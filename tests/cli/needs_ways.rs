//! The other ways of a question: an agent's tools, its hooks, and messages of thrum.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_kit::pty;

use crate::desk::{Desk, make_executable, steward};

fn desk(questions: &str) -> Desk {
    let desk = Desk::new();
    let mut text = desk.home.config();
    text.push_str(questions);
    desk.home.write_config(&text);
    desk
}

const ON: &str = "\nquestions: {enabled: true, owner: leon, sources: [cli, mcp, hook, thrum]}\n";

fn needs(desk: &Desk) -> Vec<Value> {
    let page = desk.script(&["needs", "list", "--all", "--json"]).ok().json();
    page["needs"].as_array().expect("a list").clone()
}

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(40);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// `steward mcp need`, spoken to.
struct Tools {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    count: u32,
}

impl Tools {
    fn start(desk: &Desk) -> Self {
        let args = ["mcp", "need", "--agent", "coord", "--project", "app"];
        let mut command = pty::command(&desk.home, steward(), &args, &[("CLAUDECODE", "1")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("starts");
        let stdin = child.stdin.take().expect("piped");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    return;
                }
            }
        });
        let mut tools = Self { child, stdin, lines, count: 0 };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        assert!(tools.ask("initialize", hello)["result"]["serverInfo"].is_object());
        tools.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        tools
    }

    fn send(&mut self, message: &Value) {
        self.stdin.write_all(format!("{message}\n").as_bytes()).expect("it listens");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.count += 1;
        let id = self.count;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let line = self.lines.recv_timeout(Duration::from_secs(20)).expect("an answer");
            let answer: Value = serde_json::from_str(&line).expect("JSON");
            if answer["id"] == json!(id) {
                return answer;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> (bool, Value) {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or("null");
        (answer["result"]["isError"] == json!(true), serde_json::from_str(text).expect("JSON"))
    }
}

impl Drop for Tools {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_agents_tools_ask_and_fetch_the_owners_words() {
    let desk = desk(ON);
    let mut tools = Tools::start(&desk);
    let listed = tools.ask("tools/list", json!({}));
    let names: Vec<&str> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["need_answer_get", "need_raise"]);
    let asked = json!({"topic": "storage", "question": "WAL or rollback?", "options": ["WAL", "rollback"]});
    let (failed, raised) = tools.call("need_raise", asked.clone());
    assert!(!failed, "{raised}");
    assert_eq!(raised["arrival"], "new");
    let id = raised["id"].as_i64().unwrap();
    assert_eq!(tools.call("need_raise", asked).1, json!({"id": id, "arrival": "same"}));
    let (_, open) = tools.call("need_answer_get", json!({"id": id}));
    assert_eq!(open, json!({"id": id, "state": "open", "answer": null}));
    let words = "B, but keep the old files";
    desk.person(&["needs", "answer", &id.to_string(), words]).ok();
    let (_, answered) = tools.call("need_answer_get", json!({"id": id}));
    assert_eq!(answered, json!({"id": id, "state": "answered", "answer": words}));
    assert_eq!(needs(&desk)[0]["answer"]["stage"], "acknowledged");
    for (arguments, said) in [
        (json!({"topic": "", "question": "q"}), "topic"),
        (json!({"topic": "t"}), "question"),
        (json!({"topic": "t", "question": "q", "owner": "me"}), "owner"),
    ] {
        let (failed, error) = tools.call("need_raise", arguments);
        assert!(failed && error["message"].as_str().unwrap().contains(said), "{error}");
    }
}

fn hook(desk: &Desk, event: &Value) -> (i32, String) {
    let mut command = pty::command(&desk.home, steward(), &["hook", "claude"], &[("CLAUDECODE", "1")]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("starts");
    child.stdin.take().expect("piped").write_all(event.to_string().as_bytes()).expect("it reads");
    let out = child.wait_with_output().expect("ends");
    (out.status.code().unwrap(), String::from_utf8_lossy(&[out.stdout, out.stderr].concat()).into_owned())
}

#[test]
fn hook_events_become_one_question_of_their_session_and_end_with_its_turn() {
    let desk = desk(ON);
    let event = |more: Value| {
        let mut event = json!({"session_id": "0a1b2c3d-4e5f", "cwd": desk.path(), "transcript_path": "/x"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let asks = event(json!({"hook_event_name": "PermissionRequest", "tool_name": "Bash",
        "tool_input": {"command": "rm -rf target"}}));
    let notes = event(json!({"hook_event_name": "Notification", "notification_type": "permission_prompt",
        "message": "Claude needs your permission to use Bash"}));
    assert_eq!(hook(&desk, &asks), (0, String::new()), "a hook says nothing to its agent");
    assert_eq!(hook(&desk, &notes).0, 0);
    let found = needs(&desk);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["agent"], "claude-0a1b2c3d");
    assert_eq!(found[0]["project"], "app");
    assert_eq!(found[0]["question"], "May Bash run?\nrm -rf target");
    assert_eq!(found[0]["may"]["answer"], false, "no key answers a prompt that nobody read");
    assert_eq!(hook(&desk, &event(json!({"hook_event_name": "Stop"}))).0, 0);
    assert_eq!(needs(&desk)[0]["state"], "gone");
    // Another session with a notification alone: an entry of its own.
    let mut other = notes.clone();
    other["session_id"] = json!("ffff0000-1");
    assert_eq!(hook(&desk, &other).0, 0);
    assert_eq!(needs(&desk)[0]["question"], "Claude needs your permission to use Bash");
    // What is no event never blocks the agent: 2 would.
    assert_eq!(hook(&desk, &json!("garbage")).0, 1);
}

#[test]
fn what_an_agent_asked_in_its_last_words_outlives_its_turns() {
    let desk = desk(ON);
    let stop = |said: &str| {
        json!({"session_id": "0a1b2c3d-4e5f", "cwd": desk.path(), "hook_event_name": "Stop",
            "last_assistant_message": said})
    };
    let asked = "Done so far.\nNEED [storage]: WAL or rollback?\nA) WAL\nB) rollback";
    for said in [asked, asked, "I went on with the other part.", ""] {
        assert_eq!(hook(&desk, &stop(said)).0, 0);
    }
    let found = needs(&desk);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["state"], &found[0]["topic"]), (&json!("open"), &json!("storage")));
    // One that waits for its answer goes on being the one who fetches it.
    let words = ["need", "Which port?", "--topic", "port", "--agent", "claude-0a1b2c3d", "--project", "app"];
    desk.script(&words).ok();
    assert_eq!(hook(&desk, &stop("NEED [port]: Which port, 80 or 8080?")).0, 0);
    let found = needs(&desk);
    let port = found.iter().find(|need| need["topic"] == "port").unwrap();
    assert_eq!(port["question"], "Which port, 80 or 8080?");
    assert_eq!(port["may"]["answer"], true, "{port}");
}

#[test]
fn while_questions_are_off_a_hook_does_nothing() {
    let desk = Desk::new();
    let event = json!({"hook_event_name": "Notification", "message": "x", "session_id": "s", "cwd": "/"});
    assert_eq!(hook(&desk, &event), (0, String::new()));
}

#[test]
fn the_hook_is_shown_then_written_and_leaves_other_settings_alone() {
    let desk = desk(ON);
    let file = desk.repo.path().join(".claude/settings.local.json");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let own = json!({"model": "x", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "own"}]}]}});
    std::fs::write(&file, serde_json::to_string_pretty(&own).unwrap()).unwrap();
    let before = std::fs::read_to_string(&file).unwrap();
    // An agent may not; and without a terminal nobody agreed.
    let refused = desk.script(&["hook", "install", "--workspace", "app", "--yes"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("only a person can install a hook"), "{}", refused.stderr);
    assert!(refused.stderr.contains("+ ") && refused.stderr.contains("hook claude"), "{}", refused.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before, "nothing is written");
    desk.person(&["hook", "install", "--workspace", "app", "--yes"]).ok();
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(written["model"], "x");
    assert_eq!(written["hooks"]["Stop"][0]["hooks"][0]["command"], "own");
    for event in ["Notification", "PermissionRequest", "Stop"] {
        let groups = written["hooks"][event].as_array().unwrap();
        let command = groups.last().unwrap()["hooks"][0]["command"].as_str().unwrap();
        assert!(command.ends_with("hook claude"), "{command}");
        assert!(Path::new(command.split(' ').next().unwrap()).is_absolute(), "{command}");
    }
    let again = desk.person(&["hook", "install", "--workspace", "app", "--yes"]).ok();
    assert!(again.stdout.contains("already"), "{}", again.stdout);
    std::fs::write(&file, "{not json").unwrap();
    assert_eq!(desk.person(&["hook", "install", "--workspace", "app", "--yes"]).code, 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{not json", "what cannot be read is not replaced");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(desk.home.outside("elsewhere.json"), &file).unwrap();
    let linked = desk.person(&["hook", "install", "--workspace", "app", "--yes"]);
    assert!(linked.stderr.contains("is a link"), "{}", linked.stderr);
}

/// A project folder of thrum, and a `thrum` that keeps its messages in files.
struct Thrum {
    folder: PathBuf,
    bin: PathBuf,
    state: PathBuf,
}

impl Thrum {
    fn new(desk: &Desk, config: &Value) -> Self {
        let (folder, bin, state) =
            (desk.home.outside("project"), desk.home.outside("bin"), desk.home.outside("thrum"));
        let shared = desk.home.outside("shared");
        for path in [&folder.join(".thrum"), &bin, &state.join("sent"), &shared.join("agents/steward")] {
            std::fs::create_dir_all(path).unwrap();
        }
        std::fs::write(folder.join(".thrum/redirect"), format!("{}\n", shared.display())).unwrap();
        std::fs::write(shared.join("config.json"), config.to_string()).unwrap();
        let params =
            json!({"roster": ["coord_app", "coord_web"], "sleeping_roster": ["coord_web"], "parent": "leon"});
        std::fs::write(shared.join("agents/steward/watch_params.json"), params.to_string()).unwrap();
        let script = format!(
            "#!/bin/sh\ncd '{}' || exit 1\ncase \"$1 $2\" in\n\
             'inbox --unread') cat inbox.json ;;\n\
             'send --to') id=msg_$(ls sent | wc -l); {{ echo \"to $3 as $THRUM_NAME\"; cat; }} > sent/$id; echo \"{{\\\"message_id\\\":\\\"$id\\\"}}\" ;;\n\
             'sent --unread') ls sent ;;\n\
             reply\\ *) cat > \"reply-$2\"; echo '{{\"message_id\":\"msg_r\"}}' ;;\n\
             *) echo 'not entitled' >&2; exit 1 ;;\nesac\n",
            state.display()
        );
        std::fs::write(bin.join("thrum"), script).unwrap();
        make_executable(&bin.join("thrum"));
        let thrum = Self { folder, bin, state };
        thrum.inbox(&json!([]));
        thrum
    }

    fn inbox(&self, messages: &Value) {
        let text = json!({"messages": messages, "total": 0, "unread": 0}).to_string();
        std::fs::write(self.state.join("inbox.new"), text).unwrap();
        std::fs::rename(self.state.join("inbox.new"), self.state.join("inbox.json")).unwrap();
    }

    fn sent(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.state.join("sent")).unwrap().flatten().collect();
        names.sort_by_key(std::fs::DirEntry::file_name);
        names.iter().map(|entry| std::fs::read_to_string(entry.path()).unwrap()).collect()
    }

    fn config(&self) -> String {
        format!(
            "\nquestions:\n  enabled: true\n  owner: leon\n  sources: [cli, thrum]\n  roster: [{{agent: steward, thrum: {}}}]\n",
            self.folder.display()
        )
    }

    fn serve(&self, desk: &Desk) -> Served {
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap());
        let mut command = pty::command(&desk.home, steward(), &["serve"], &[("PATH", &path)]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        Served(command.spawn().expect("starts"))
    }
}

struct Served(Child);

impl Served {
    fn end(mut self) -> String {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
        let mut said = String::new();
        self.0.stderr.take().expect("piped").read_to_string(&mut said).unwrap();
        self.0.wait().unwrap();
        said
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn message(id: &str, agent: &str, reply_to: Option<&str>, text: &str) -> Value {
    let mut message = json!({"message_id": id, "agent_id": agent, "body": {"format": "markdown", "content": text}, "is_read": false});
    if let Some(to) = reply_to {
        message["reply_to"] = json!(to);
    }
    message
}

#[test]
fn a_question_by_message_is_told_to_the_owner_alone_and_his_reply_is_carried_back() {
    let desk = Desk::new();
    let thrum = Thrum::new(
        &desk,
        &json!({"project_name": "app", "permission_supervisors": ["coordinator", "@user:leon", "@user:eve"]}),
    );
    desk.home.write_config(&(desk.home.config() + &thrum.config()));
    let need = "NEED [storage]: WAL or rollback?\nA) WAL\nB) rollback";
    thrum.inbox(&json!([message("m1", "coord_app", None, need), message("m2", "eve", None, "hello")]));
    let served = thrum.serve(&desk);
    let sent = until("the owner is told", || Some(thrum.sent()).filter(|sent| !sent.is_empty()));
    assert_eq!(sent.len(), 1);
    let told = &sent[0];
    assert!(told.starts_with("to @user:leon as steward\n[app] coord_app@"), "{told}");
    assert!(
        told.contains(
            "asks (NEED [storage]): WAL or rollback? Options: A) WAL B) rollback Reply to this message."
        ),
        "{told}"
    );
    // Someone else's reply is no answer; the owner's is, in his own words.
    let words = "B, but keep the old files";
    thrum.inbox(&json!([
        message("m1", "coord_app", None, need),
        message("m3", "coord_web", Some("msg_0"), "the owner says A"),
        message("m4", "user:leon", Some("msg_0"), words),
    ]));
    desk.script(&["needs", "look"]).ok();
    let reply = until("the answer is carried", || {
        std::fs::read_to_string(thrum.state.join("reply-m1")).ok().filter(|text| !text.is_empty())
    });
    assert!(reply.ends_with(words), "{reply}");
    assert!(reply.starts_with("[app] leon answers coord_app@"), "{reply}");
    until("it is written down", || {
        needs(&desk).first().filter(|need| need["answer"]["stage"] == "acknowledged").map(drop)
    });
    served.end();
    // A restart takes nothing up again and sends nothing again.
    std::fs::remove_file(thrum.state.join("reply-m1")).unwrap();
    let served = thrum.serve(&desk);
    let token = format!("ghp_{}", "x7Qm2ZkD9vTsLw4RbYc8NfJh3GpEa6Ut1Xe0");
    let asked = format!("Which port? It answers to {token}");
    let other = ["need", asked.as_str(), "--topic", "port", "--agent", "coord_app", "--project", "app"];
    desk.script(&other).ok();
    let sent = until("the new one is told", || Some(thrum.sent()).filter(|sent| sent.len() == 2));
    assert!(sent[1].contains("Which port?"), "{sent:?}");
    // It may be bridged to a phone: no secret goes with it.
    assert!(!sent[1].contains(&token), "{sent:?}");
    assert!(!thrum.state.join("reply-m1").exists());
    assert_eq!(needs(&desk).len(), 2);
    served.end();
}

#[test]
fn a_reply_by_message_belongs_to_what_it_replies_to_and_none_is_dropped() {
    let desk = Desk::new();
    let thrum = Thrum::new(&desk, &json!({"project_name": "app", "permission_supervisors": ["@user:leon"]}));
    desk.home.write_config(&(desk.home.config() + &thrum.config()));
    let asked = message("m1", "coord_app", None, "NEED [port]: Which port?");
    thrum.inbox(&json!([asked.clone()]));
    let served = thrum.serve(&desk);
    until("the owner is told", || Some(thrum.sent()).filter(|sent| !sent.is_empty()));
    // A number before a colon is his words, not another question.
    let words = "8080: the one the docs name";
    thrum.inbox(&json!([asked.clone(), message("m2", "user:leon", Some("msg_0"), words)]));
    desk.script(&["needs", "look"]).ok();
    let reply = |id: &str| {
        let path = thrum.state.join(format!("reply-{id}"));
        until("a reply", || std::fs::read_to_string(&path).ok().filter(|text| !text.is_empty()))
    };
    assert!(reply("m1").ends_with(words), "{}", reply("m1"));
    until("it is written down", || {
        needs(&desk).first().filter(|need| need["answer"]["stage"] == "acknowledged").map(drop)
    });
    // One that comes too late is said to be, and opens its question.
    let late = message("m3", "user:leon", Some("msg_0"), "no, 9090");
    thrum.inbox(&json!([asked, late]));
    desk.script(&["needs", "look"]).ok();
    assert!(reply("m3").contains("is not taken as an answer: question 1 is open no more"), "{}", reply("m3"));
    let inbox = desk.script(&["inbox", "--json"]).ok().json();
    let entry = inbox["entries"].as_array().unwrap().iter().find(|entry| entry["chip"] == "REPLY").cloned();
    let entry = entry.unwrap_or_else(|| panic!("{inbox}"));
    assert!(entry["title"].as_str().unwrap().contains("is not taken"), "{entry}");
    assert_eq!((&entry["target"], &entry["source"]), (&json!("question/1"), &json!("no, 9090")));
    assert_eq!(needs(&desk)[0]["answer"]["words"], words);
    served.end();
}

#[test]
fn p41_without_an_owner_nothing_is_sent_and_that_is_said_once() {
    let desk = Desk::new();
    let thrum = Thrum::new(&desk, &json!({"permission_supervisors": ["coordinator", "@user:"]}));
    desk.home.write_config(&(desk.home.config() + &thrum.config()));
    thrum.inbox(&json!([message("m1", "coord_app", None, "NEED [s]: q?\nProject: app")]));
    let served = thrum.serve(&desk);
    until("the question is taken up", || needs(&desk).first().map(drop));
    let titles = || {
        let inbox = desk.script(&["inbox", "--json"]).ok().json();
        let entries = inbox["entries"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let missing = "No owner is configured, so no question is sent through thrum";
    until("it is said", || titles().iter().any(|title| title == missing).then_some(()));
    desk.script(&["needs", "look"]).ok();
    served.end();
    assert!(thrum.sent().is_empty());
    assert_eq!(titles().iter().filter(|title| *title == missing).count(), 1);
    assert_eq!(titles()[0], "q?", "questions stand first");
}

#[test]
fn each_folder_without_an_owner_is_said_until_it_has_one() {
    let desk = Desk::new();
    let with = json!({"project_name": "app", "permission_supervisors": ["@user:leon"]});
    let thrum = Thrum::new(&desk, &json!({"permission_supervisors": []}));
    // A second folder, which has an owner, comes behind it.
    let second = desk.home.outside("second/.thrum");
    std::fs::create_dir_all(second.join("agents/steward")).unwrap();
    std::fs::write(second.join("config.json"), with.to_string()).unwrap();
    std::fs::write(second.join("agents/steward/watch_params.json"), json!({"roster": ["two"]}).to_string())
        .unwrap();
    let both = thrum.config().replace(
        "roster: [",
        &format!("roster: [{{agent: steward, thrum: {}}}, ", desk.home.outside("second").display()),
    );
    let order = thrum
        .config()
        .replace("}]", &format!("}}, {{agent: steward, thrum: {}}}]", desk.home.outside("second").display()));
    for config in [both, order] {
        desk.home
            .write_config(&(desk.home.config().split("\nquestions:").next().unwrap().to_owned() + &config));
        let served = thrum.serve(&desk);
        let entries = || {
            let inbox = desk.script(&["inbox", "--json"]).ok().json();
            let all = inbox["entries"].as_array().unwrap().clone();
            all.into_iter()
                .filter(|entry| entry["title"].as_str().unwrap().starts_with("No owner"))
                .collect::<Vec<_>>()
        };
        // Both folders were looked at once the owner of the second was told.
        let topic = format!("t{}", thrum.sent().len());
        desk.script(&["need", "q?", "--topic", &topic, "--agent", "two", "--project", "app"]).ok();
        let before = thrum.sent().len();
        until("the second owner is told", || (thrum.sent().len() > before).then_some(()));
        let found = until("it is said", || Some(entries()).filter(|found| found.len() == 1));
        assert!(found[0]["source"].as_str().unwrap().contains("project/.thrum"), "{found:?}");
        served.end();
    }
    // Once it has one, nothing is said of it any more.
    std::fs::write(desk.home.outside("shared/config.json"), with.to_string()).unwrap();
    let served = thrum.serve(&desk);
    let gone = || {
        let inbox = desk.script(&["inbox", "--json"]).ok().json();
        inbox["entries"]
            .as_array()
            .unwrap()
            .iter()
            .all(|entry| !entry["title"].as_str().unwrap().starts_with("No owner"))
    };
    until("it is withdrawn", || gone().then_some(()));
    served.end();
}

#[test]
fn an_asker_that_names_no_project_is_asked_to() {
    let desk = Desk::new();
    let thrum = Thrum::new(&desk, &json!({"permission_supervisors": ["@user:leon"]}));
    desk.home.write_config(&(desk.home.config() + &thrum.config()));
    thrum.inbox(&json!([
        message("m1", "stranger", None, "NEED [s]: q?"),
        message("m2", "stranger", None, "NEED []: q?")
    ]));
    let served = thrum.serve(&desk);
    let reply = |id: &str| {
        let path = thrum.state.join(format!("reply-{id}"));
        until("the asker is told", || std::fs::read_to_string(&path).ok().filter(|text| !text.is_empty()))
    };
    assert!(reply("m1").contains("names no project"), "{}", reply("m1"));
    assert!(reply("m2").contains("the topic in the brackets is empty"), "{}", reply("m2"));
    served.end();
    assert!(needs(&desk).is_empty());
}
