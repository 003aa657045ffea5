//! Powers, effects and the log at the terminal, with GitHub on loopback.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::Arc;

use steward_core::clock::SystemClock;
use steward_core::home::Home;
use steward_core::store::effects::{self, NewEffect, Start};
use steward_core::store::inbox::{self, Kind, NewEntry};
use steward_core::store::{Durability, Store, StoreError};
use steward_github_double::World;
use steward_kit::home::TestHome;
use steward_kit::process::Running;
use steward_kit::pty::{self, Ran};
use steward_rules::ids::Sha;
use steward_rules::outgoing::marker;
use steward_rules::power::EffectClass;

use crate::desk::steward;

const TOKEN: &str = "made-up-token-at-the-terminal";

struct Desk {
    world: World,
    home: TestHome,
    host: String,
}

impl Desk {
    fn new(power: &str) -> Self {
        let world = World::start();
        world.token("octo", TOKEN, &["repo"]);
        world.repo("octo/app").push("feat", "feat: x", &[("x", "x\n")]);
        world.repo("octo/app").open_pull("maria", "feat", "feat: x");
        let host = world.base().trim_start_matches("http://").to_owned();
        let desk = Self { world, home: TestHome::new(), host };
        desk.power(power);
        desk
    }

    fn power(&self, power: &str) {
        self.home.write_config(&format!(
            "accounts: [{{host: \"{}\", login: octo}}]\nrepositories: [{{name: octo/app, {power}}}]\n",
            self.host
        ));
    }

    fn person(&self, args: &[&str]) -> Ran {
        pty::person_with(&self.home, steward(), args, &[("STEWARD_GITHUB_TOKEN", TOKEN)])
    }

    /// Puts a suggestion before the person, and gives the text that would go out.
    fn suggest(&self) -> String {
        let head = self.world.repo("octo/app").pull(1).head();
        let head = Sha::new(&head).unwrap();
        let content = format!("{}\n**Review: ACCEPTED** at `{head}`\n", marker(&head));
        let new = NewEffect {
            key: format!("comment_review:{}/octo/app#1@{head}", self.host),
            class: EffectClass::CommentReview,
            host: self.host.clone(),
            repository: "octo/app".to_owned(),
            number: Some(1),
            head: Some(head),
            account: "octo".to_owned(),
            review: None,
            content: content.clone(),
            deed: None,
            line: None,
            start: Start::Suggested,
        };
        let store = Store::open(&Home::under(&self.home.path()), Arc::new(SystemClock)).unwrap();
        store
            .write_blocking(Durability::Full, |tx| {
                let (id, _) = effects::put(tx, &new)?;
                inbox::upsert(
                    tx,
                    &NewEntry {
                        kind: Kind::Suggestion,
                        subject: format!("effect:{id}"),
                        target: format!("effect/{id}"),
                        title: "Comment the review of octo/app#1".to_owned(),
                        source: "octo/app#1".to_owned(),
                        chip: "send?".to_owned(),
                    },
                )?;
                Ok::<_, StoreError>(())
            })
            .unwrap();
        content
    }

    /// Puts in force whatever the file asks for.
    fn confirm(&self) {
        let shown = self.person(&["config", "confirm", "--json"]).ok().json();
        let change = shown["change"].as_str().expect("something waits").to_owned();
        self.person(&["config", "confirm", &change]).ok();
    }
}

/// A command with an answer typed at its question.
fn answered(desk: &Desk, args: &[&str], question: &str, answer: &str) -> Ran {
    let mut command = pty::command(&desk.home, steward(), args, &[("STEWARD_GITHUB_TOKEN", TOKEN)]);
    pty::typed(&mut command, question, answer).0
}

/// `steward config confirm` with an answer typed at its question.
fn typed(desk: &Desk, answer: &str) -> Ran {
    answered(desk, &["config", "confirm"], "in force: ", answer).ok()
}

#[test]
fn a_wider_power_is_shown_and_confirmed_by_a_typed_yes() {
    let desk = Desk::new("mode: act, act: [comment_review]");
    let asked = typed(&desk, "no");
    assert!(asked.stderr.contains("comment_review") && asked.stderr.contains("observe"), "{asked:?}");
    assert!(asked.stdout.contains("nothing is changed"), "{asked:?}");
    let shown = desk.person(&["config", "confirm", "--json"]).ok().json();
    assert_eq!(shown["pending"].as_array().map(Vec::len), Some(2), "{shown}");
    let wrong = desk.person(&["config", "confirm", "0123456789abcdef", "--json"]);
    assert_eq!((wrong.code, wrong.json()["error"]["code"].as_str()), (1, Some("refused")));
    let marks = [("CLAUDECODE", "1")];
    for args in
        [&["config", "confirm"][..], &["config", "confirm", shown["change"].as_str().unwrap(), "--json"]]
    {
        let refused = pty::person_with(&desk.home, steward(), args, &marks);
        assert_eq!(refused.code, 1, "{refused:?}");
    }
    let done = typed(&desk, "yes");
    assert!(done.stdout.contains("is in force"), "{done:?}");
    let log = desk.person(&["log", "--kind", "power"]).ok();
    assert!(
        log.stdout.contains("person power.confirm") && log.stdout.contains("mode: observe -> act"),
        "{log:?}"
    );
    let nothing = desk.person(&["config", "confirm"]).ok();
    assert!(nothing.stdout.contains("everything the config file asks for is in force"));
}

#[test]
fn a_suggestion_is_shown_whole_and_sent_once() {
    let desk = Desk::new("mode: suggest");
    let text = desk.suggest();
    let shown = desk.person(&["inbox", "show", "1"]).ok();
    assert!(shown.stdout.contains(&text), "exactly what would go out: {shown:?}");
    let refused = pty::script(&desk.home, steward(), &["inbox", "send", "1", "--json"], &[]);
    assert_eq!(refused.json()["error"]["code"], "not_a_person");
    // Nobody confirmed yet that this repository may hear anything.
    let hash =
        desk.person(&["inbox", "show", "1", "--json"]).ok().json()["hash"].as_str().unwrap().to_owned();
    assert!(shown.stdout.contains(&hash), "{shown:?}");
    let early = desk.person(&["inbox", "send", "1", "--hash", &hash, "--json"]);
    assert_eq!((early.code, early.json()["error"]["code"].as_str()), (1, Some("refused")));
    desk.confirm();
    // A script says which text it read; another one is refused, and so is none.
    let other = desk.person(&["inbox", "send", "1", "--hash", &"0".repeat(64), "--json"]);
    assert_eq!((other.code, other.json()["error"]["code"].as_str()), (1, Some("refused")));
    let none = desk.person(&["inbox", "send", "1", "--json"]);
    assert_eq!((none.code, none.json()["error"]["code"].as_str()), (2, Some("bad_request")));
    assert!(desk.world.repo("octo/app").pull(1).comments().is_empty());
    let sent = desk.person(&["inbox", "send", "1", "--hash", &hash, "--json"]).ok().json();
    assert_eq!(sent["state"], "done", "{sent}");
    let said = desk.world.repo("octo/app").pull(1).comments();
    assert_eq!(
        said.iter().map(|(_, who, body)| (who.as_str(), body.as_str())).collect::<Vec<_>>(),
        [("octo", text.as_str())]
    );
    let again = desk.person(&["inbox", "send", "1"]);
    assert!(again.code == 1 && again.stderr.contains("sent already"), "{again:?}");
    assert!(desk.person(&["log", "verify"]).ok().stdout.contains("whole"));
    let log = desk.person(&["log", "--kind", "effect", "--json"]).ok().json();
    let kinds: Vec<_> =
        log["rows"].as_array().unwrap().iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(
        kinds,
        ["effect.suggested", "effect.approved", "effect.intended", "effect.posted", "effect.done"]
    );
    desk.world.assert_contract();
}

#[test]
fn at_the_terminal_the_text_is_shown_and_sent_on_a_typed_yes() {
    let desk = Desk::new("mode: suggest");
    let text = desk.suggest();
    desk.confirm();
    let no = answered(&desk, &["inbox", "send", "1"], "send this: ", "no").ok();
    assert!(no.stderr.contains(&text) && no.stdout.contains("nothing was sent"), "{no:?}");
    assert!(desk.world.repo("octo/app").pull(1).comments().is_empty());
    let yes = answered(&desk, &["inbox", "send", "1"], "send this: ", "yes").ok();
    assert!(yes.stderr.contains(&text) && yes.stdout.contains("sent: "), "{yes:?}");
    assert_eq!(desk.world.repo("octo/app").pull(1).comments()[0].2, text);
}

#[test]
fn a_suggestion_is_dismissed_and_other_entries_have_nothing_to_send() {
    let desk = Desk::new("mode: suggest");
    desk.suggest();
    desk.person(&["inbox", "dismiss", "1"]).ok();
    let late = desk.person(&["inbox", "send", "1"]);
    assert!(late.code == 1 && late.stderr.contains("dismissed"), "{late:?}");
    assert_eq!(desk.person(&["inbox", "send", "7"]).code, 1);
    // The no is taken back, and it waits again.
    assert!(desk.person(&["inbox", "undo", "1"]).ok().stdout.contains("dismissed"));
    let shown = desk.person(&["inbox", "show", "1", "--json"]).ok().json();
    assert_eq!((&shown["state"], &shown["canSend"]), (&"suggested".into(), &true.into()));
    assert!(desk.world.exchanges().is_empty());
}

#[test]
fn the_log_is_followed_line_by_line() {
    let desk = Desk::new("mode: suggest");
    desk.person(&["pause", "--why", "first"]).ok();
    let mut follow = pty::command(&desk.home, steward(), &["log", "--follow"], &[]);
    let mut follow = Running::start(follow.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()));
    let mut lines = BufReader::new(follow.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.next().unwrap().contains("first"));
    desk.person(&["resume"]).ok();
    desk.person(&["pause", "--why", "second"]).ok();
    assert!(lines.next().unwrap().contains("person resume"));
    assert!(lines.next().unwrap().contains("second"));
    follow.kill().unwrap();
    follow.wait().unwrap();
}
