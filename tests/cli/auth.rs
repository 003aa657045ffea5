//! Signing in, looking at it and signing out from the command line, in real keyring sessions.

use std::path::Path;
use std::process::Command;

use steward_github_double::World;
use steward_kit::dbus::{self, Keyring};
use steward_kit::home::TestHome;
use steward_kit::pty::{self, Ran};

use crate::desk::{make_executable, steward};

const TOKEN: &str = "made-up-token-1";
const OTHER: &str = "made-up-token-2";

/// A fresh home, a GitHub, and the session the commands run in.
struct Person {
    home: TestHome,
    world: World,
    keyring: Keyring,
    extra: Vec<(String, String)>,
}

impl Person {
    /// `None` where no session can be started; the reason is printed then.
    fn new(keyring: Keyring) -> Option<Self> {
        if let Some(program) = dbus::missing() {
            println!("skipped: no gnome-keyring ({program} is not installed)");
            return None;
        }
        let world = World::start();
        world.token("octo", TOKEN, &["repo"]);
        let home = TestHome::new();
        std::fs::create_dir_all(home.outside("person")).unwrap();
        Some(Self { home, world, keyring, extra: Vec::new() })
    }

    fn host(&self) -> String {
        self.world.base().trim_start_matches("http://").to_owned()
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.extra.push((name.to_owned(), value.to_owned()));
        self
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = dbus::command(self.keyring, &self.home.outside("person"), steward()).unwrap();
        command.args(args).env("STEWARD_HOME", self.home.path()).envs(self.extra.iter().cloned());
        command
    }

    /// A command of a person who pipes this into it.
    fn run(&self, args: &[&str], input: &str) -> Ran {
        pty::piped(&mut self.command(args), input)
    }

    fn login(&self, token: &str) -> Ran {
        self.run(&["auth", "login", "--host", &self.host(), "--with-token", "--json"], &format!("{token}\n"))
    }

    fn status(&self) -> serde_json::Value {
        self.run(&["auth", "status", "--json"], "").ok().json()
    }

    /// A program called `gh` before all others on PATH.
    fn with_gh(self, script: &str) -> Self {
        let folder = self.home.outside("bin");
        std::fs::create_dir_all(&folder).unwrap();
        let gh = folder.join("gh");
        std::fs::write(&gh, format!("#!/bin/sh\n{script}")).unwrap();
        make_executable(&gh);
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        self.with("PATH", &path)
    }
}

/// No file of the home but the encrypted keyring holds the text.
fn nowhere_under(folder: &Path, text: &str) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            nowhere_under(&entry.path(), text);
        } else if let Ok(bytes) = std::fs::read(entry.path()) {
            let found = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!found, "{} holds the token", entry.path().display());
        }
    }
}

#[test]
fn a_piped_token_signs_in_is_shown_and_goes_at_logout() {
    let Some(person) = Person::new(Keyring::Unlocked) else { return };
    person.home.write_config("# mine\nreview: {enabled: true}\n");
    let account = person.login(TOKEN).ok().json();
    assert_eq!((account["login"].as_str(), account["token"].as_str()), (Some("octo"), Some("keyring")));
    assert_eq!(account["problem"], serde_json::Value::Null);
    let entry = format!("accounts:\n  - host: \"{}\"\n    login: octo\n", person.host());
    assert_eq!(person.home.config(), format!("# mine\nreview: {{enabled: true}}\n{entry}"));
    nowhere_under(&person.home.path(), TOKEN);
    nowhere_under(&person.home.outside("person"), TOKEN);

    let text = person.run(&["auth", "status", "--check"], "").ok().stdout;
    assert!(text.contains("token    in the keyring, classic"), "{text}");
    assert!(text.contains("public_repo required, granted"), "{text}");
    assert!(text.contains("repo recommended, granted"), "{text}");
    assert!(text.contains("core   4999 of 5000"), "{text}");

    let done = person.run(&["auth", "logout", "--json"], "").ok().json();
    assert!(done["message"].as_str().unwrap().contains("its token is deleted"), "{done}");
    let status = person.status();
    assert_eq!(status["accounts"][0]["token"], "missing");
    assert_eq!(status["accounts"][0]["problem"]["code"], "signed_out");
    person.login(TOKEN).ok();
    person.run(&["auth", "logout", "octo", "--remove"], "").ok();
    assert_eq!(person.status()["accounts"], serde_json::json!([]));
    assert_eq!(person.run(&["auth", "logout"], "").code, 1);
    person.world.assert_contract();
}

#[test]
fn a_typed_token_is_not_shown() {
    let Some(person) = Person::new(Keyring::Unlocked) else { return };
    let mut command = person.command(&["auth", "login", "--host", &person.host(), "--json"]);
    let (ran, seen) = pty::typed(&mut command, "not shown: ", TOKEN);
    let ran = ran.ok();
    assert_eq!(ran.json()["login"], "octo");
    for text in [&ran.stdout, &ran.stderr, &seen] {
        assert!(!text.contains(TOKEN), "{text}");
    }
}

#[test]
fn a_wrong_token_is_refused_and_nothing_is_kept() {
    let Some(person) = Person::new(Keyring::Unlocked) else { return };
    let ran = person.login("made-up-wrong");
    assert_eq!(ran.code, 1);
    let error = ran.json()["error"].clone();
    assert_eq!(error["code"], "signed_out");
    assert!(!error.to_string().contains("made-up-wrong"), "{error}");
    assert_eq!(person.login("two words").code, 2);
    assert_eq!(person.login("").code, 2);
    assert_eq!(person.run(&["auth", "login", "--host", "a b", "--with-token"], "x\n").code, 2);
    assert_eq!(person.home.config(), "");
    assert_eq!(person.status()["accounts"], serde_json::json!([]));
}

#[test]
fn a_missing_scope_is_named_and_a_new_token_mends_it() {
    let Some(person) = Person::new(Keyring::Unlocked) else { return };
    person.home.write_config("review: {enabled: true}\nmemory: {enabled: true}\n");
    let account = person.login(TOKEN).ok().json();
    assert_eq!(account["problem"]["code"], "scope_missing");
    let text = person.run(&["auth", "status"], "").ok().stdout;
    assert!(text.contains("gist required, MISSING"), "{text}");
    person.world.token("octo", OTHER, &["repo", "gist", "admin:org"]);
    person.world.revoke(TOKEN);
    let account = person.login(OTHER).ok().json();
    assert_eq!(
        (&account["problem"], &account["unneeded"]),
        (&serde_json::Value::Null, &serde_json::json!(["admin:org"]))
    );
    let checked = person.run(&["auth", "status", "--check", "--json"], "").ok().json();
    assert_eq!(checked["accounts"].as_array().unwrap().len(), 1);
    assert_eq!(checked["accounts"][0]["problem"], serde_json::Value::Null);
}

/// A small script stands for `gh` here, as a program that is asked: what it is given, what it may answer.
#[test]
fn the_program_gh_is_asked_with_a_clean_environment() {
    let Some(person) = Person::new(Keyring::Unlocked) else { return };
    let log = person.home.outside("asked");
    let script =
        format!("echo \"$@\" > {0}\nenv >> {0}\necho 'a warning' >&2\necho {TOKEN}\n", log.display());
    let person = person.with_gh(&script).with("GH_TOKEN", "made-up-env").with("GITHUB_TOKEN", "made-up-env");
    let account =
        person.run(&["auth", "login", "--host", &person.host(), "--from-gh", "--json"], "").ok().json();
    assert_eq!(account["login"], "octo");
    let asked = std::fs::read_to_string(log).unwrap();
    assert_eq!(asked.lines().next(), Some(format!("auth token --hostname {}", person.host()).as_str()));
    assert!(asked.contains("GH_PROMPT_DISABLED=1") && asked.contains("HOME="), "{asked}");
    assert!(!asked.contains("made-up-env") && !asked.contains("STEWARD_HOME"), "{asked}");
}

#[test]
fn a_gh_that_gives_no_token_is_told_from_one_that_is_absent() {
    let Some(person) = Person::new(Keyring::Unlocked) else { return };
    let host = person.host();
    let from_gh = ["auth", "login", "--host", &host, "--from-gh", "--json"];
    let person = person.with_gh("echo 'no oauth token' >&2\nexit 1\n");
    let ran = person.run(&from_gh, "");
    assert_eq!((ran.code, ran.json()["error"]["code"].as_str().unwrap()), (1, "signed_out"));
    let person = person.with("PATH", "/nonexistent");
    // The session itself needs programs, so this one runs without: gh is looked for before the keyring.
    let mut command = pty::command(&person.home, steward(), &from_gh, &[("PATH", "/nonexistent")]);
    let ran = pty::piped(&mut command, "");
    assert_eq!((ran.code, ran.json()["error"]["code"].as_str().unwrap()), (1, "not_found"));
    assert_eq!(person.world.exchanges().len(), 0);
}

/// The real program, with a file of its own that holds a made-up token.
#[test]
fn the_real_gh_hands_its_token_over() {
    let Some(person) = Person::new(Keyring::Unlocked) else { return };
    let found = std::env::var_os("PATH")
        .is_some_and(|paths| std::env::split_paths(&paths).any(|folder| folder.join("gh").is_file()));
    if !found {
        println!("skipped: no gh on PATH");
        return;
    }
    let folder = person.home.outside("person").join("config/gh");
    std::fs::create_dir_all(&folder).unwrap();
    let hosts = format!(
        "\"{}\":\n    user: octo\n    oauth_token: {TOKEN}\n    git_protocol: https\n",
        person.host()
    );
    std::fs::write(folder.join("hosts.yml"), hosts).unwrap();
    let offered = person.status();
    assert_eq!(
        offered["gh"],
        serde_json::json!([{ "host": person.host(), "login": "octo", "watched": false }])
    );
    assert!(!offered.to_string().contains(TOKEN));
    let account =
        person.run(&["auth", "login", "--host", &person.host(), "--from-gh", "--json"], "").ok().json();
    assert_eq!((account["login"].as_str(), account["token"].as_str()), (Some("octo"), Some("keyring")));
    assert_eq!(person.status()["gh"][0]["watched"], true);
    let nobody = person.run(&["auth", "login", "--host", "git.example.org", "--from-gh", "--json"], "");
    assert_eq!(nobody.json()["error"]["code"], "signed_out");
}

#[test]
fn without_an_open_keyring_nothing_is_kept_and_the_way_out_is_named() {
    for (keyring, word) in [(Keyring::Locked, "unlock"), (Keyring::NoService, "STEWARD_GITHUB_TOKEN")] {
        let Some(person) = Person::new(keyring) else { return };
        let ran = person.login(TOKEN);
        let error = ran.json()["error"].clone();
        assert_eq!((ran.code, error["code"].as_str()), (1, Some("keyring")), "{error}");
        assert!(error["hint"].as_str().unwrap().contains(word), "{error}");
        assert_eq!(person.world.exchanges().len(), 0, "the token did not travel");
        assert_eq!(person.home.config(), "");

        let person = person.with("STEWARD_GITHUB_TOKEN", TOKEN);
        let account = person.run(&["auth", "login", "--host", &person.host(), "--json"], "").ok().json();
        assert_eq!(
            (account["login"].as_str(), account["token"].as_str()),
            (Some("octo"), Some("environment"))
        );
        let checked = person.run(&["auth", "status", "--check", "--json"], "").ok().json();
        assert_eq!(checked["accounts"][0]["problem"], serde_json::Value::Null, "{checked}");
        assert!(checked["keyring"]["code"].as_str().unwrap().starts_with("keyring_"), "{checked}");
        nowhere_under(&person.home.path(), TOKEN);
    }
}
