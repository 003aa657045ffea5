//! How objects come: exactly what is needed, with the token where it belongs, or not at all.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use steward_core::git::{Access, BareClone, Git, GitError, Line, Wanted, Workspace};
use steward_core::loops::task;
use steward_github_double::Fault;
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::review::gate::{GateId, GateState};
use steward_rules::review::verdict::Verdict;
use tokio_util::sync::CancellationToken;

use super::scene::{BODY, Scene, TOKEN, is};

/// Every file below a folder that holds this text.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(holding(&path, text));
        } else if std::fs::read(&path)
            .is_ok_and(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[tokio::test]
async fn only_the_named_refs_are_fetched_and_the_token_is_left_nowhere() {
    let scene = Scene::new();
    let app = scene.app().private();
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    app.push("secret/plans", "feat: plans", &[("plans", "plans\n")]);
    let task = scene.add(1).await;
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
    assert!(scene.world.tally().git_requests > 0);
    let basic = "eC1hY2Nlc3MtdG9rZW46";
    for text in [TOKEN, basic] {
        assert_eq!(holding(scene.desk.home.data_dir(), text), Vec::<String>::new());
    }
    let clones = std::fs::read_dir(scene.desk.home.clones()).unwrap().flatten().map(|entry| entry.path());
    let clone = clones.into_iter().find(|path| path.extension().is_some_and(|end| end == "git")).unwrap();
    let git = Git::find(&scene.desk.home.clones()).unwrap();
    let refs =
        git.call(&clone, ["for-each-ref", "--format=%(refname)"]).env("GIT_DIR", &clone).line().unwrap();
    let head = app.tip("feat");
    assert_eq!(
        refs.lines().collect::<Vec<_>>(),
        ["refs/steward/base/main", "refs/steward/pull/1", &format!("refs/steward/task/{task}/{head}"),]
    );
    let plans = git.call(&clone, ["cat-file", "-e", &app.tip("secret/plans")]).env("GIT_DIR", &clone);
    assert!(!plans.ok().unwrap(), "a branch nobody asked about stays where it is");
}

#[tokio::test]
async fn a_fetch_that_fails_leaves_every_gate_undecided_with_its_cause_and_recovers_alone() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    for fault in [Fault::Status(500), Fault::Status(403), Fault::Status(404), Fault::Cut] {
        scene.world.when("git-upload-pack").always().answers(fault);
        let table = scene.gates(task).await;
        for gate in [GateId::NoBinaries, GateId::NoSecrets, GateId::NotStacked] {
            is(super::scene::said(&table, gate), GateState::Undecided, "fetch");
        }
        assert!(table.results.iter().all(|result| !result.detail.contains(TOKEN)));
        scene.world.calm();
    }
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
}

#[test]
fn a_commit_that_is_not_the_one_github_named_is_refused() {
    let scene = Scene::new();
    let app = scene.app();
    let before = app.push("feat", "feat: one", &[("one", "one\n")]);
    app.open_pull("octo", "feat", "feat: one");
    app.push("feat", "feat: two", &[("two", "two\n")]);
    let git = Git::find(&scene.desk.home.clones()).unwrap();
    let name = RepoName::parse("octo/app").unwrap();
    let clone = BareClone::open_alone(&git, &scene.desk.home.clones(), scene.host(), &name).unwrap();
    let access = Access::Https { token: TOKEN.to_owned().into(), way: steward_core::git::Way::default() };
    let line = Line { host: scene.host().to_owned(), name, access };
    let fetch = |is: &str| {
        let wanted = [Wanted::pull(PullNumber(1), &Sha::new(is).unwrap())];
        clone.fetch(&line, &wanted, &[], &CancellationToken::new())
    };
    let error = fetch(&before).unwrap_err();
    assert!(matches!(&error, GitError::Fetch { detail, .. } if detail.contains("moved")), "{error}");
    fetch(&app.tip("feat")).unwrap();
    // A wrong token is refused in words that do not hold it.
    let access =
        Access::Https { token: "wrong-token".to_owned().into(), way: steward_core::git::Way::default() };
    let line = Line { access, ..line.clone() };
    app.push("feat", "feat: three", &[("three", "three\n")]);
    let wanted = [Wanted::pull(PullNumber(1), &Sha::new(&app.tip("feat")).unwrap())];
    let error = clone.fetch(&line, &wanted, &[], &CancellationToken::new()).unwrap_err().to_string();
    assert!(error.contains("octo/app") && !error.contains("wrong-token"), "{error}");
    // Nothing is asked for by a wildcard, and nothing that is here is asked for again.
    scene.world.mark();
    let wanted = [Wanted::pull(PullNumber(1), &Sha::new(&before).unwrap())];
    assert!(clone.fetch(&line, &wanted, &[], &CancellationToken::new()).is_err());
    let bodies = scene.world.exchanges();
    assert!(bodies.iter().all(|one| !one.target.contains('*')));
}

#[tokio::test]
async fn a_checkout_lends_its_objects_so_that_only_what_is_new_is_fetched() {
    let scene = Scene::new();
    let app = scene.app();
    let large: String = (0..20_000).map(|n| format!("{n} {}\n", n * 7919)).collect();
    app.push("main", "feat: large", &[("large.txt", &large)]);
    let checkout = scene.checkout();
    scene.config(Scene::WORKSPACE);
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
    let folder = scene.desk.home.clones();
    let packed: u64 = sizes(&folder);
    assert!(packed < 60_000, "the large file was not fetched again: {packed}");
    // The checkout itself is as it was.
    assert!(!checkout.try_git(&["cat-file", "-e", &app.tip("feat")]));
    drop(Workspace::open(&Git::find(&folder).unwrap(), &scene.place(), &[]).unwrap());
}

fn sizes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => sizes(&entry.path()),
            Ok(meta) if entry.path().to_string_lossy().contains("/objects/") => meta.len(),
            _ => 0,
        })
        .sum()
}

#[tokio::test]
async fn a_renamed_repository_is_read_and_fetched_under_its_new_name() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    app.rename("octo/better");
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
    let git: Vec<String> = scene
        .world
        .exchanges()
        .into_iter()
        .filter(|one| one.target.contains("git-upload-pack"))
        .map(|one| one.target)
        .collect();
    assert!(!git.is_empty() && git.iter().all(|target| target.contains("octo/better.git")), "{git:?}");
}

#[tokio::test]
async fn one_pull_request_with_a_broken_object_holds_up_no_other() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    // Git refuses to take this one in: its submodule's address is an option.
    let evil = "[submodule \"x\"]\n\tpath = x\n\turl = -u./payload\n";
    app.push("evil", "feat: evil", &[(".gitmodules", evil)]);
    app.open_pull("mallory", "evil", "feat: evil").body(BODY);
    for pull in scene.app().open_pulls("maria", 30) {
        let _ = pull.body(BODY);
    }
    let (good, bad) = (scene.add(1).await, scene.add(2).await);
    assert_eq!(scene.cap(good).await, Some(Verdict::Accepted));
    // What was found out once is not found out again.
    scene.world.mark();
    assert_eq!(scene.cap(good).await, Some(Verdict::Accepted));
    let tally = scene.world.tally();
    assert_eq!((tally.points, tally.git_requests), (0, 0), "{tally:?}");
    is(scene.gate(bad, GateId::NoSecrets).await, GateState::Undecided, "fetch");
}

#[test]
fn over_ssh_the_person_s_own_key_is_used_and_no_token() {
    let scene = Scene::new();
    let app = scene.app();
    let head = app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more");
    // A program in the place of ssh that notes how it is called and serves the repository itself.
    let bin = scene.desk.root.join("bin");
    std::fs::create_dir(&bin).unwrap();
    let ssh = bin.join("ssh");
    let script = format!(
        "#!/bin/sh\necho \"$@\" > {0}/called\nenv > {0}/env\nexec git-upload-pack {1}\n",
        scene.desk.root.display(),
        app.path().display()
    );
    std::fs::write(&ssh, script).unwrap();
    std::fs::set_permissions(&ssh, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths(
        std::iter::once(bin).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    let git = Git::find_on(&scene.desk.home.clones(), &path.unwrap()).unwrap();
    let name = RepoName::parse("octo/app").unwrap();
    let clone = BareClone::open_alone(&git, &scene.desk.home.clones(), scene.host(), &name).unwrap();
    let access = Access::Ssh { agent: Some("/nowhere/agent".into()) };
    let line = Line { host: scene.host().to_owned(), name, access };
    let wanted = [Wanted::pull(PullNumber(1), &Sha::new(&head).unwrap())];
    clone.fetch(&line, &wanted, &[], &CancellationToken::new()).unwrap();
    let called = std::fs::read_to_string(scene.desk.root.join("called")).unwrap();
    assert!(called.contains("BatchMode=yes") && called.contains("git@127.0.0.1"), "{called}");
    assert!(called.contains("git-upload-pack '/octo/app.git'"), "{called}");
    let env = std::fs::read_to_string(scene.desk.root.join("env")).unwrap();
    assert!(env.contains("SSH_AUTH_SOCK=/nowhere/agent") && !env.contains("extraHeader"), "{env}");
    assert_eq!(scene.world.tally().git_requests, 0);
}

#[tokio::test]
async fn a_task_of_a_pull_request_names_what_is_wrong_with_it() {
    let scene = Scene::new();
    let add = async |text: &str| {
        let asked = steward_rules::ids::PullRef::parse(text).unwrap();
        task::add_pull(&scene.desk.ctx, &asked).await.map(|task| task.id).map_err(|error| error.to_string())
    };
    let missing = add("octo/app#7").await.unwrap_err();
    assert!(missing.contains("octo/app#7"), "{missing}");
    let elsewhere = add("https://git.example.org/octo/app/pull/1").await.unwrap_err();
    assert!(elsewhere.contains("git.example.org"), "{elsewhere}");
    scene.app().push("feat", "feat: more", &[("more", "more\n")]);
    scene.app().open_pull("octo", "feat", "feat: more");
    let by_address = add(&format!("http://{}/octo/app/pull/1", scene.host())).await.unwrap();
    assert_eq!(add("OCTO/App#1").await, Ok(by_address), "it is one task, however it is written");
}
