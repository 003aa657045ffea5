//! Panes of another machine: a real tmux server behind a scripted `ssh`, and a scripted `thrum` before it.

use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_kit::pty;
use steward_kit::tmux::{TmuxServer, is_there_or_say};

use crate::desk::{Desk, make_executable, steward};

fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(150));
    }
}

/// A runtime, ended with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        if let Ok(id) = i32::try_from(self.0.id()) {
            let _gone =
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM);
        }
        let _ = self.0.wait();
    }
}

/// The machine `build`: its tmux, reached by `ssh build` alone.
struct Elsewhere {
    desk: Desk,
    tmux: TmuxServer,
    bin: PathBuf,
    /// The config without questions.
    base: String,
}

impl Elsewhere {
    fn new() -> Option<Self> {
        if !is_there_or_say() {
            return None;
        }
        let (desk, tmux) = (Desk::new(), TmuxServer::new());
        let (bin, remote) = (desk.home.outside("bin"), desk.home.outside("remote"));
        for folder in [&bin, &remote] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let write = |path: PathBuf, text: String| {
            std::fs::write(&path, text).unwrap();
            make_executable(&path);
        };
        let real = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .map(|folder| folder.join("tmux"))
            .find(|file| file.is_file())
            .unwrap();
        write(
            remote.join("tmux"),
            format!("#!/bin/sh\nexec '{}' -S '{}' \"$@\"\n", real.display(), tmux.socket().display()),
        );
        write(
            bin.join("ssh"),
            format!(
                "#!/bin/sh\nwhile [ \"$1\" != -- ]; do shift; done\nshift; host=$1; shift\necho \"$host $*\" >> '{}'\n\
                 [ \"$host\" = build ] || {{ echo \"ssh: connect to host $host port 22: Connection refused\" >&2; exit 255; }}\n\
                 PATH='{}':\"$PATH\" exec sh -c \"$*\"\n",
                bin.join("ssh.log").display(),
                remote.display()
            ),
        );
        // A shell under another name: with a shell in front an agent counts as ended.
        std::fs::copy("/bin/sh", tmux.folder().join("agent")).unwrap();
        let base = desk.home.config();
        Some(Self { desk, tmux, bin, base })
    }

    /// A `thrum` that reads the pane, and types into it unless it is told to refuse.
    fn thrum(&self, pane: &str) {
        let script = format!(
            "#!/bin/sh\necho \"$*\" >> '{log}'\ncase \"$1 $2\" in\n\
             'tmux capture') [ -e '{bin}/no-capture' ] && {{ echo 'capture: not entitled' >&2; exit 1; }}\n\
               exec '{remote}/tmux' capture-pane -p -J -e -t '{pane}' -S -40 ;;\n\
             'tmux send') [ -e '{bin}/send-dies' ] && kill -9 $$\n\
               [ -e '{bin}/no-send' ] && {{ echo 'peer does not grant can_send_keys' >&2; exit 1; }}\n\
               '{remote}/tmux' send-keys -t '{pane}' -l -- \"$4\"; sleep 0.3; exec '{remote}/tmux' send-keys -t '{pane}' Enter ;;\n\
             *) echo '{{}}' ;;\nesac\n",
            log = self.bin.join("thrum.log").display(),
            bin = self.bin.display(),
            remote = self.desk.home.outside("remote").display(),
        );
        std::fs::write(self.bin.join("thrum"), script).unwrap();
        make_executable(&self.bin.join("thrum"));
        let own = self.desk.home.outside("project").join(".thrum");
        std::fs::create_dir_all(own.join("agents/steward")).unwrap();
        std::fs::write(own.join("config.json"), json!({"project_name": "app"}).to_string()).unwrap();
        let params = json!({"roster": ["coord"]});
        std::fs::write(own.join("agents/steward/watch_params.json"), params.to_string()).unwrap();
    }

    /// Runs a script in a pane there.
    fn pane(&self, script: &str) -> String {
        let file = self.tmux.folder().join("script");
        std::fs::write(&file, script).unwrap();
        let agent = self.tmux.folder().join("agent");
        self.tmux.start((100, 30), &[&agent.to_string_lossy(), &file.to_string_lossy()])
    }

    /// Takes this `ssh:` list and these roster lines; the person confirms where `confirm` says so.
    fn config(&self, pane: &str, ssh: &str, more: &str, confirm: bool) {
        let text = format!(
            "\nquestions:\n  enabled: true\n  owner: leon\n  sources: [cli, pane]\n  ssh: [{ssh}]\n  roster:\n    \
             - {{agent: coord, project: app, host: build, pane: \"{pane}\"}}\n{more}"
        );
        self.desk.home.write_config(&(self.base.clone() + &text));
        if confirm {
            let shown = self.desk.person(&["config", "confirm", "--json"]).ok().json();
            let change = shown["change"].as_str().unwrap().to_owned();
            self.desk.person(&["config", "confirm", &change]).ok();
        }
    }

    fn serve(&self) -> Served {
        self.serve_until("")
    }

    /// A runtime that dies at this step.
    fn serve_until(&self, step: &str) -> Served {
        let path = format!("{}:{}", self.bin.display(), std::env::var("PATH").unwrap());
        let environment = [("PATH", path.as_str()), ("STEWARD_FAIL", step)];
        let mut command = pty::command(&self.desk.home, steward(), &["serve"], &environment);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Served(command.spawn().expect("starts"))
    }

    fn log(&self, program: &str) -> String {
        std::fs::read_to_string(self.bin.join(format!("{program}.log"))).unwrap_or_default()
    }

    fn needs(&self) -> Vec<Value> {
        let page = self.desk.script(&["needs", "list", "--all", "--json"]).ok().json();
        page["needs"].as_array().unwrap().clone()
    }

    fn raised(&self) -> Value {
        until("the question is raised", || self.needs().first().cloned())
    }

    fn stage(&self, stage: &str) -> Value {
        until(stage, || {
            let need = self.needs().first().cloned()?;
            let over = ["acknowledged", "returned"].map(Value::from).contains(&need["answer"]["stage"]);
            let is_it = need["answer"]["stage"] == stage;
            assert!(is_it || !over, "{stage} never comes: {}", need["answer"]);
            is_it.then_some(need)
        })
    }

    fn titles(&self) -> Vec<String> {
        let inbox = self.desk.script(&["inbox", "--json"]).ok().json();
        let entries = inbox["entries"].as_array().unwrap().clone();
        entries.iter().map(|entry| entry["title"].as_str().unwrap().to_owned()).collect()
    }

    fn looks(&self) {
        self.desk.script(&["needs", "look"]).ok();
    }
}

/// Claude Code's prompt, and what it was given.
fn prompting(answered: &Path) -> String {
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

#[test]
fn a_pane_elsewhere_is_read_and_takes_a_key_only_as_far_as_the_person_confirmed() {
    let Some(there) = Elsewhere::new() else { return };
    let answered = there.tmux.folder().join("key");
    let pane = there.pane(&prompting(&answered));
    there.tmux.until_shows(&pane, |text| text.contains("Esc to cancel"));
    there.config(&pane, "{host: build}", "", false);
    let _served = there.serve();
    // Nobody confirmed that this machine is asked at all.
    let roster = || there.desk.script(&["needs", "roster", "--json"]).ok().json();
    let seen = until("a tick", || Some(roster()).filter(|roster| roster["tick"].is_string()));
    assert!(seen["members"][0]["detail"].as_str().unwrap().contains("waits for your confirmation"), "{seen}");
    assert_eq!(there.log("ssh"), "");
    there.desk.person(&["config", "confirm", there.change().as_str()]).ok();
    there.looks();
    let need = there.raised();
    assert_eq!(
        (need["host"].as_str(), need["topic"].as_str()),
        (Some("build"), Some("permission")),
        "{need}"
    );
    assert_eq!(need["may"]["press"], json!(false));
    assert!(need["may"]["why"].as_str().unwrap().contains("`questions.ssh`"), "{need}");
    assert_eq!(there.desk.person(&["needs", "allow", "1"]).code, 1);
    there.looks();
    assert!(there.log("ssh").lines().all(|line| !line.contains("send-keys")), "{}", there.log("ssh"));
    // Keys are a power of their own.
    there.config(&pane, "{host: build, keys: true}", "", false);
    assert_eq!(there.desk.person(&["needs", "allow", "1"]).code, 1);
    there.desk.person(&["config", "confirm", there.change().as_str()]).ok();
    there.desk.person(&["needs", "allow", "1"]).ok();
    there.stage("acknowledged");
    there.tmux.until_shows(&pane, |text| text.contains("it went on"));
    // An agent that the roster does not name takes Enter, on the selected row.
    assert_eq!(std::fs::read_to_string(&answered).unwrap(), "\r");
}

impl Elsewhere {
    /// The change that waits for the person.
    fn change(&self) -> String {
        let shown = self.desk.person(&["config", "confirm", "--json"]).ok().json();
        shown["change"].as_str().unwrap().to_owned()
    }

    fn project(&self) -> String {
        format!("    - {{agent: steward, thrum: {}}}\n", self.desk.home.outside("project").display())
    }
}

#[test]
fn thrums_licence_closes_its_panes_until_the_next_start_and_ssh_is_asked() {
    let Some(there) = Elsewhere::new() else { return };
    let pane = there.pane(&prompting(&there.tmux.folder().join("key")));
    there.tmux.until_shows(&pane, |text| text.contains("Esc to cancel"));
    there.thrum(&pane);
    std::fs::write(there.bin.join("no-capture"), "").unwrap();
    there.config(&pane, "{host: build}", &there.project(), true);
    let served = there.serve();
    there.raised();
    let said = "Panes are not read through thrum";
    until("it is said", || there.titles().iter().any(|title| title == said).then_some(()));
    let captures = || there.log("thrum").lines().filter(|line| line.starts_with("tmux capture")).count();
    let before = captures();
    let ssh = there.log("ssh").lines().count();
    there.looks();
    until("another look by ssh", || (there.log("ssh").lines().count() > ssh).then_some(()));
    assert_eq!(captures(), before, "thrum is not asked again");
    assert_eq!(there.titles().iter().filter(|title| *title == said).count(), 1);
    drop(served);
    // The next start asks it again.
    std::fs::remove_file(there.bin.join("no-capture")).unwrap();
    let _served = there.serve();
    until("thrum is asked again", || (captures() > before).then_some(()));
    assert!(there.titles().iter().all(|title| title != said), "what is past is not said any more");
}

#[test]
fn the_prompt_of_a_member_that_only_thrum_knows_is_raised_and_goes_when_it_is_answered_there() {
    let Some(there) = Elsewhere::new() else { return };
    let answered = there.tmux.folder().join("key");
    let script = prompting(&answered).replace("echo 'it went on'", "printf 'it went on\n\n> '");
    let pane = there.pane(&script);
    there.tmux.until_shows(&pane, |text| text.contains("Esc to cancel"));
    there.thrum(&pane);
    let text = format!(
        "\nquestions:\n  enabled: true\n  owner: leon\n  keys: true\n  sources: [cli, pane]\n  roster:\n{}",
        there.project()
    );
    there.desk.home.write_config(&(there.base.clone() + &text));
    let _served = there.serve();
    let need = there.raised();
    assert_eq!(
        (need["agent"].as_str(), need["topic"].as_str()),
        (Some("coord"), Some("permission")),
        "{need}"
    );
    assert!(need["question"].as_str().unwrap().contains("touch built"), "{need}");
    assert_eq!((&need["pane"], &need["may"]["press"]), (&json!(null), &json!(false)), "{need}");
    assert!(need["may"]["why"].as_str().unwrap().contains("its own terminal"), "{need}");
    there.looks();
    there.tmux.type_keys(&pane, "1");
    there.tmux.until_shows(&pane, |text| text.contains("it went on"));
    there.looks();
    until("it is gone", || (there.needs()[0]["state"] == "gone").then_some(()));
    assert_eq!(there.needs().len(), 1, "and was asked once");
}

/// A line editor like an agent's under its question, and what was sent to it.
const EDITOR: &str = "printf 'WAL or the rollback journal?\n\n> '; while IFS= read -r line; do printf '%s\n' \"$line\" >> \"$0.got\"; \
                      printf 'taken\n\n> '; done\n";

/// The watcher seat as a script that points at the first line.
fn points_at_the_question(there: &Elsewhere) {
    let script = there.desk.home.outside("watcher");
    let lines = "#!/bin/sh\nhash=$(sha256sum \"$STEWARD_DIGEST\" | cut -d' ' -f1)\n\
                 cat > \"$STEWARD_SUBMISSION.new\" <<SUBMISSION\n\
                 {\"digestHash\":\"$hash\",\"submission\":{\"says\":\"question\",\"topic\":\"storage\",\"first\":1,\"last\":1}}\n\
                 SUBMISSION\nmv \"$STEWARD_SUBMISSION.new\" \"$STEWARD_SUBMISSION\"\n";
    std::fs::write(&script, lines).unwrap();
    make_executable(&script);
    let seat = format!("adapter: command\ncommand: [{}]\n", script.display());
    there.desk.home.write_seat("watcher", &seat);
}

fn boundary_or_say() -> bool {
    match steward_core::sandbox::Boundary::choose(Path::new(steward())) {
        steward_core::sandbox::Boundary::None { reason } => {
            eprintln!("skipped: no boundary ({reason})");
            false
        }
        _ => true,
    }
}

#[test]
fn words_go_through_thrum_first_and_by_ssh_on_the_owners_second_press() {
    let Some(there) = Elsewhere::new() else { return };
    if !boundary_or_say() {
        return;
    }
    let pane = there.pane(EDITOR);
    there.tmux.until_shows(&pane, |text| text.contains("journal?"));
    there.thrum(&pane);
    points_at_the_question(&there);
    there.config(&pane, "{host: build, keys: true}", &there.project(), true);
    let _served = there.serve();
    let need = there.raised();
    assert_eq!(need["question"], "WAL or the rollback journal?");
    assert_eq!((need["judged"].clone(), need["may"]["answer"].clone()), (json!(true), json!(true)), "{need}");
    let got = || std::fs::read_to_string(there.tmux.folder().join("script.got")).unwrap_or_default();
    // The peer grants no keys: it comes back, and nothing was typed.
    std::fs::write(there.bin.join("no-send"), "").unwrap();
    there.desk.person(&["needs", "answer", "1", "B, but keep the old files"]).ok();
    let back = there.stage("returned");
    let why = back["answer"]["why"].as_str().unwrap();
    assert!(why.contains("can_send_keys") && why.contains("answer once more"), "{why}");
    assert!(there.log("ssh").lines().all(|line| !line.contains("send-keys")), "ssh is never first");
    assert_eq!(got(), "");
    there.desk.person(&["needs", "answer", "1", "B, but keep the old files"]).ok();
    there.stage("acknowledged");
    assert_eq!(got().lines().count(), 1, "{}", got());
    assert!(got().trim_end().ends_with("B, but keep the old files"), "{}", got());
    assert_eq!(there.log("thrum").lines().filter(|line| line.starts_with("tmux send")).count(), 1);
}

#[test]
fn words_of_which_thrum_did_not_say_what_became_are_not_called_untyped_nor_sent_by_ssh() {
    let Some(there) = Elsewhere::new() else { return };
    if !boundary_or_say() {
        return;
    }
    let pane = there.pane(EDITOR);
    there.tmux.until_shows(&pane, |text| text.contains("journal?"));
    there.thrum(&pane);
    std::fs::write(there.bin.join("send-dies"), "").unwrap();
    points_at_the_question(&there);
    there.config(&pane, "{host: build, keys: true}", &there.project(), true);
    let _served = there.serve();
    there.raised();
    there.desk.person(&["needs", "answer", "1", "the rollback journal"]).ok();
    let back = there.stage("returned");
    let why = back["answer"]["why"].as_str().unwrap();
    assert!(why.contains("is not known") && !why.contains("by ssh"), "{why}");
    // The next press is thrum's again.
    std::fs::remove_file(there.bin.join("send-dies")).unwrap();
    there.desk.person(&["needs", "answer", "1", "the rollback journal"]).ok();
    there.stage("acknowledged");
    assert!(there.log("ssh").lines().all(|line| !line.contains("send-keys")), "{}", there.log("ssh"));
}

#[test]
fn what_thrums_licence_does_not_cover_the_watcher_seat_does_not_ask_it_either() {
    let Some(there) = Elsewhere::new() else { return };
    if !boundary_or_say() {
        return;
    }
    let pane = there.pane(EDITOR);
    there.tmux.until_shows(&pane, |text| text.contains("journal?"));
    there.thrum(&pane);
    std::fs::write(there.bin.join("no-capture"), "").unwrap();
    points_at_the_question(&there);
    there.config(&pane, "{host: build, keys: true}", &there.project(), true);
    let _served = there.serve();
    let need = there.raised();
    assert_eq!(need["judged"], json!(true), "{need}");
    let asked = || there.log("thrum").lines().filter(|line| line.starts_with("tmux ")).count();
    assert_eq!(asked(), 1, "{}", there.log("thrum"));
    // Words neither: they come back, and go by ssh on the owner's second press.
    there.desk.person(&["needs", "answer", "1", "the rollback journal"]).ok();
    let back = there.stage("returned");
    assert!(back["answer"]["why"].as_str().unwrap().contains("licence"), "{back}");
    there.desk.person(&["needs", "answer", "1", "the rollback journal"]).ok();
    there.stage("acknowledged");
    assert_eq!(asked(), 1, "{}", there.log("thrum"));
}

#[test]
fn thrum_types_the_owners_words_where_its_peer_lets_it() {
    let Some(there) = Elsewhere::new() else { return };
    if !boundary_or_say() {
        return;
    }
    let pane = there.pane(EDITOR);
    there.tmux.until_shows(&pane, |text| text.contains("journal?"));
    there.thrum(&pane);
    points_at_the_question(&there);
    there.config(&pane, "{host: build, keys: true}", &there.project(), true);
    let _served = there.serve();
    there.raised();
    there.desk.person(&["needs", "answer", "1", "the rollback journal"]).ok();
    there.stage("acknowledged");
    let got = std::fs::read_to_string(there.tmux.folder().join("script.got")).unwrap();
    assert!(got.starts_with("[app] leon answers coord@build") && got.lines().count() == 1, "{got}");
    assert!(there.log("ssh").lines().all(|line| !line.contains("send-keys")), "{}", there.log("ssh"));
}

#[test]
fn a_key_that_a_dying_runtime_had_under_way_comes_back_and_is_not_pressed_again() {
    for (step, pressed) in [("claimed", false), ("ready", false), ("carried", true)] {
        let Some(there) = Elsewhere::new() else { return };
        let answered = there.tmux.folder().join("key");
        let pane = there.pane(&prompting(&answered));
        there.tmux.until_shows(&pane, |text| text.contains("Esc to cancel"));
        there.config(&pane, "{host: build, keys: true}", "", true);
        let served = there.serve();
        there.raised();
        drop(served);
        let mut dying = there.serve_until(step);
        until("it serves", || there.served().then_some(()));
        there.desk.person(&["needs", "allow", "1"]).ok();
        until("it dies", || dying.0.try_wait().unwrap());
        let _served = there.serve();
        let back = there.stage("returned");
        let why = back["answer"]["why"].as_str().unwrap();
        assert!(why.contains("look whether it arrived"), "{step}: {why}");
        assert_eq!(back["state"], "open", "{step}");
        assert_eq!(answered.exists(), pressed, "{step}");
        let keys = there.log("ssh").lines().filter(|line| line.contains("send-keys")).count();
        assert_eq!(keys, usize::from(pressed), "{step}");
    }
}

impl Elsewhere {
    /// True while a runtime holds the folder.
    fn served(&self) -> bool {
        self.desk.script(&["status", "--json"]).ok().json()["holder"].is_object()
    }
}
