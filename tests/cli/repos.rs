//! Watched repositories from the command line.

use std::io::Read;
use std::process::Stdio;
use std::sync::Arc;

use steward_core::clock::SystemClock;
use steward_core::home::Home;
use steward_core::store::{Durability, Store, landings, repositories};
use steward_github_double::{Fault, World};
use steward_kit::git::Repo;
use steward_kit::pty::{self, Ran};
use steward_rules::ids::RepoName;

use crate::desk::{Desk, steward};

const TOKEN: &str = "made-up-token-1";

/// A desk signed in to a world with `octo/app` and `octo/lib`.
fn signed_in() -> (Desk, World) {
    let (desk, world) = (Desk::new(), World::start());
    world.token("octo", TOKEN, &["repo"]);
    world.repo("octo/app");
    world.repo("octo/lib");
    person(&desk, &["auth", "login", "--host", world.base().trim_start_matches("http://")]).ok();
    (desk, world)
}

fn person(desk: &Desk, args: &[&str]) -> Ran {
    pty::person_with(&desk.home, steward(), args, &[("STEWARD_GITHUB_TOKEN", TOKEN)])
}

#[test]
fn a_repository_is_added_widened_shown_and_removed() {
    let (desk, world) = signed_in();
    let host = world.base().trim_start_matches("http://").to_owned();
    let clone = Repo::init(desk.home.outside("lib"));
    clone.commit("first", &[("a", Some(b"a\n"))]);
    clone.remote("origin", &world.clone_url("octo/lib"));
    let path = clone.path().to_string_lossy().into_owned();

    assert_eq!(person(&desk, &["repo", "list", "--json"]).ok().json()["repositories"], serde_json::json!([]));
    let offers = person(&desk, &["repo", "offers"]).ok().stdout;
    assert!(offers.contains("octo/lib") && offers.contains(&path), "{offers}");
    person(&desk, &["repo", "add", "octo/app", "--preset", "code-app"]).ok();
    let added = person(&desk, &["repo", "add", "OCTO/lib", "--workspace", &path, "--json"]).ok().json();
    assert_eq!((added["name"].as_str(), added["workspace"].as_str()), (Some("octo/lib"), Some("lib")));
    let offers = person(&desk, &["repo", "offers", "--json"]).ok().json();
    assert!(offers["account"].as_array().unwrap().iter().all(|offer| offer["watched"] == true), "{offers}");

    let mode = ["repo", "mode", "octo/app", "act", "--act", "comment_review,label", "--json"];
    let app = person(&desk, &mode).ok().json();
    // Nobody confirmed it yet: it is observed, and what waits stands beside it.
    let asked = &app["asked"];
    let classes = serde_json::json!(["comment_review", "label"]);
    assert_eq!((&asked["mode"], &asked["act"]), (&"act".into(), &classes));
    assert_eq!((&app["mode"], &app["act"]), (&"observe".into(), &serde_json::json!([])));
    let line = |name: &str| {
        let list = person(&desk, &["repo", "list"]).ok().stdout;
        list.lines().find(|line| line.contains(name)).unwrap().to_owned()
    };
    let waits = "act (comment_review, label) waits for your confirmation";
    assert!(line("octo/app").contains("octo/app  observe  ") && line("octo/app").contains(waits));
    let shown = person(&desk, &["repo", "show", "octo/app"]).ok().stdout;
    assert!(shown.contains(waits) && shown.contains("observe\n"), "{shown}");
    let store = Store::open(&Home::under(&desk.home.path()), Arc::new(SystemClock)).unwrap();
    let name = RepoName::parse("octo/app").unwrap();
    let fault = repositories::Fault {
        slug: "not_found".to_owned(),
        detail: "GitHub knows no such thing".to_owned(),
        hint: String::new(),
    };
    store
        .write_blocking(Durability::Full, |tx| {
            let row = repositories::ensure(tx, &host, &name)?;
            repositories::failed(tx, row.id, &fault)
        })
        .unwrap();
    drop(store);
    let both = line("octo/app");
    assert!(both.contains("GitHub knows no such thing") && both.contains(waits), "{both}");
    let app = person(&desk, &["repo", "mode", "octo/app", "suggest", "--act", "", "--json"]).ok().json();
    assert_eq!((&app["asked"]["mode"], &app["mode"]), (&"suggest".into(), &"observe".into()));
    assert_eq!(person(&desk, &["repo", "mode", "octo/app", "act", "--act", "merg"]).code, 2);
    assert_eq!(person(&desk, &["repo", "mode", "octo/app", "everything"]).code, 2);
    assert_eq!(person(&desk, &["repo", "mode", "octo/none", "act"]).code, 1);

    let list = person(&desk, &["repo", "list"]).ok().stdout;
    assert!(list.contains(&format!("{host}/octo/app  observe  -      -       not yet  ")), "{list}");
    let shown = person(&desk, &["repo", "show", "octo/app"]).ok().stdout;
    assert!(shown.contains(&format!("octo/app on {host}")) && shown.contains("code-app"), "{shown}");
    let policy = person(&desk, &["repo", "policy", "octo/app"]).ok().stdout;
    assert!(policy.contains("policy.review.uiPaths") && policy.contains("default"), "{policy}");
    let json = person(&desk, &["repo", "policy", "octo/app", "--json"]).ok().json();
    let mode =
        json["values"].as_array().unwrap().iter().find(|value| value["key"] == "mode").unwrap().clone();
    assert_eq!(mode["value"], "suggest");
    assert!(mode["origin"].as_str().unwrap().starts_with("line "), "{mode}");

    let removed = person(&desk, &["repo", "remove", "octo/lib"]).ok().stdout;
    assert!(removed.contains("its tasks and reviews stay"), "{removed}");
    assert_eq!(person(&desk, &["repo", "remove", "octo/lib"]).code, 1);
    let check = person(&desk, &["config", "check", "--json"]).ok().json();
    assert_eq!(check["problems"], serde_json::json!([]));
    world.assert_contract();
}

#[test]
fn a_freeze_is_shown_and_lifted_by_the_person_alone() {
    let (desk, world) = signed_in();
    let host = world.base().trim_start_matches("http://").to_owned();
    person(&desk, &["repo", "add", "octo/app"]).ok();
    person(&desk, &["repo", "add", "octo/lib"]).ok();
    let why = "what landed with #12 is not what its merge makes: it differs at a.txt";
    let store = Store::open(&Home::under(&desk.home.path()), Arc::new(SystemClock)).unwrap();
    let name = RepoName::parse("octo/app").unwrap();
    let frozen = store.write_blocking(Durability::Full, |tx| landings::freeze(tx, &host, &name, why));
    assert!(frozen.unwrap());
    let list = person(&desk, &["repo", "list"]).ok().stdout;
    let line = |name: &str| list.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("octo/app").contains("merging is frozen") && !line("octo/lib").contains("frozen"), "{list}");
    let shown = person(&desk, &["repo", "show", "octo/app"]).ok().stdout;
    assert!(shown.contains(why) && shown.contains("steward repo unfreeze octo/app"), "{shown}");
    // A command without a terminal is nobody.
    let ran = desk.script(&["repo", "unfreeze", "octo/app", "--json"]);
    assert_eq!(ran.json()["error"]["code"], "not_a_person");
    let lifted = person(&desk, &["repo", "unfreeze", "octo/app"]).ok().stdout;
    assert!(lifted.contains("merging is not frozen any more in octo/app"), "{lifted}");
    assert_eq!(person(&desk, &["repo", "unfreeze", "octo/app"]).code, 1);
    let log = person(&desk, &["log", "--kind", "landed", "--json"]).ok().json();
    assert_eq!((log["rows"].as_array().unwrap().len(), &log["rows"][0]["actor"]), (1, &"person".into()));
}

#[test]
fn a_name_that_leads_nowhere_is_refused() {
    let (desk, world) = signed_in();
    let before = desk.home.config();
    let ran = person(&desk, &["repo", "add", "octo/nothing", "--json"]);
    assert_eq!((ran.code, ran.json()["error"]["code"].as_str().unwrap()), (1, "not_found"));
    assert_eq!(person(&desk, &["repo", "add", "octo"]).code, 2);
    assert_eq!(person(&desk, &["repo", "add", "octo/app", "--preset", "code"]).code, 2);
    assert_eq!(person(&desk, &["repo", "add", "octo/app", "--account", "nobody"]).code, 2);
    assert_eq!(person(&desk, &["repo", "add", "octo/app", "--workspace", &desk.path()]).code, 2);
    assert_eq!(desk.home.config(), before);
    world.assert_contract();
}

/// Three merges in `octo/app`, each with one check that was well.
fn with_merges(world: &World) {
    let app = world.repo("octo/app");
    app.push("main", "begin", &[("a", "a\n")]);
    for n in 1..=3 {
        let branch = format!("b{n}");
        app.push(&branch, "more", &[(&format!("f{n}"), "x\n")]);
        let pull = app.open_pull("maria", &branch, "more");
        app.check(&pull.head(), "build").succeeds();
        pull.merge_by("octo", "squash");
    }
}

#[test]
fn required_checks_are_proposed_written_and_shown_as_a_difference() {
    let (desk, world) = signed_in();
    with_merges(&world);
    person(&desk, &["repo", "add", "octo/app"]).ok();
    let found = person(&desk, &["repo", "checks", "octo/app", "--json"]).ok().json();
    assert_eq!((&found["source"], &found["proposed"]), (&"usual".into(), &serde_json::json!(["build"])));
    let text = person(&desk, &["repo", "checks", "octo/app"]).ok().stdout;
    assert!(text.contains("no check is required") && text.contains("--write"), "{text}");
    let text = person(&desk, &["repo", "checks", "octo/app", "--write"]).ok().stdout;
    assert!(text.contains("+         requiredChecks: [build]"), "{text}");
    let text = person(&desk, &["repo", "checks", "octo/app", "--require", "build,test"]).ok().stdout;
    assert!(text.contains("- ") && text.contains("octo/app requires build, test"), "{text}");
    let found = person(&desk, &["repo", "checks", "octo/app", "--json"]).ok().json();
    assert_eq!(found["required"], serde_json::json!(["build", "test"]));
    assert_eq!(person(&desk, &["repo", "checks", "octo/app", "--write", "--require", "x"]).code, 2);
    assert_eq!(person(&desk, &["repo", "checks", "octo/none"]).code, 1);
}

#[test]
fn a_shadow_run_in_a_terminal_says_how_far_it_is_and_ctrl_c_ends_it_with_what_was_read() {
    let (desk, world) = signed_in();
    with_merges(&world);
    person(&desk, &["repo", "add", "octo/app"]).ok();
    let args = ["repo", "shadow", "octo/app"];
    let unseen = person(&desk, &args);
    assert!(unseen.code == 1 && unseen.stderr.contains("not looked at yet"), "{unseen:?}");
    let host = world.base().trim_start_matches("http://").to_owned();
    let store = Store::open(&Home::under(&desk.home.path()), Arc::new(SystemClock)).unwrap();
    let name = RepoName::parse("octo/app").unwrap();
    store.write_blocking(Durability::Full, |tx| repositories::ensure(tx, &host, &name)).unwrap();
    let whole = person(&desk, &args).ok();
    assert!(whole.stdout.contains("of the last 3 merges") && whole.stderr.is_empty(), "{whole:?}");

    let slow = Fault::Slow(std::time::Duration::from_secs(60));
    world.when("GET /repos/{owner}/{repo}/pulls/{pull_number}").after(1).always().answers(slow);
    let terminal = nix::pty::openpty(None, None).unwrap();
    let input = terminal.slave.try_clone().unwrap();
    let mut command = pty::command(&desk.home, steward(), &args, &[("STEWARD_GITHUB_TOKEN", TOKEN)]);
    command.stdin(input).stdout(Stdio::piped()).stderr(terminal.slave);
    let child = command.spawn().unwrap();
    // This end of the terminal is the last one, once the command is gone.
    drop(command);
    let (mut master, mut said, mut byte) = (std::fs::File::from(terminal.master), Vec::new(), [0]);
    while !said.ends_with(b"1 of 3 merges read") && master.read(&mut byte).is_ok_and(|read| read == 1) {
        said.extend(byte);
    }
    let pid = nix::unistd::Pid::from_raw(child.id().try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
    let ended = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success(), "{ended:?}");
    assert!(
        text.contains("stopped: 1 of 3 merges were read") && text.contains("1 of the last 1 merge ")
            || text.contains("0 of the last 1 merge "),
        "{text}"
    );
}
