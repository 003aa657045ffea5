//! What a person may point Steward at by mistake, and what a hostile repository tries.

use std::path::{Path, PathBuf};
use std::time::Duration;

use steward_core::git::export::{self, Caps, Changed};
use steward_core::git::{BareClone, Flow, Git, GitError, LeftOut, Limits, Workspace};
use steward_kit::git::{Repo, clone as clone_repo};
use steward_rules::diff::{Content, RepoPath};
use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::Cause;
use tokio_util::sync::CancellationToken;

use crate::git::{World, file, known, now, steward_kit_token};

/// The code a folder is refused with.
fn refusal(git: &Git, path: &Path) -> &'static str {
    match Workspace::open(git, path, &[]) {
        Ok(_) => "opened",
        Err(error) => {
            assert!(!error.hint().is_empty() && !error.to_string().is_empty());
            error.code()
        }
    }
}

#[test]
fn what_is_no_usable_checkout_is_refused_with_its_own_code() {
    let world = World::new();
    let at = |name: &str| world.home.path().join(name);
    let source = world.repo.path().to_string_lossy().into_owned();
    world.repo.commit("second", &[("b", Some(b"b\n"))]);
    std::fs::create_dir(at("plain")).unwrap();
    std::fs::write(at("file"), b"x").unwrap();
    Repo::init(at("empty"));
    clone_repo(&source, &at("bare"), &["--bare"]);
    clone_repo(&format!("file://{source}"), &at("shallow"), &["--depth=1"]);
    assert_eq!(refusal(&world.git, &at("plain")), "not_a_repository");
    assert_eq!(refusal(&world.git, &at("file")), "not_a_repository");
    assert_eq!(refusal(&world.git, &at("absent")), "not_a_repository");
    assert_eq!(refusal(&world.git, &at("empty")), "empty");
    assert_eq!(refusal(&world.git, &at("bare")), "bare");
    assert_eq!(refusal(&world.git, &at("shallow")), "shallow");
    assert_eq!(refusal(&world.git, world.repo.path()), "opened");
    assert_eq!(refusal(&world.git, &world.repo.path().join("src")), "opened");
    assert_eq!(refusal(&world.git, &world.repo.path().join(".git")), "not_a_repository");
}

#[test]
fn other_object_formats_are_named() {
    let world = World::new();
    let path = world.home.path().join("sha256");
    std::fs::create_dir(&path).unwrap();
    Repo::at(&path).git(&["init", "--quiet", "--object-format=sha256"]);
    assert_eq!(refusal(&world.git, &path), "object_format");
}

#[test]
fn a_detached_head_is_a_workspace_without_a_branch() {
    let world = World::new();
    world.repo.git(&["checkout", "--quiet", "--detach"]);
    let workspace = world.workspace();
    assert_eq!(workspace.head().unwrap().unwrap().branch, None);
    assert_eq!(workspace.current_branch().unwrap_err().code(), "detached");
}

#[test]
fn a_linked_worktree_shares_the_clone_of_its_repository() {
    let world = World::new();
    let linked = world.home.path().join("linked");
    world.repo.git(&["worktree", "add", "--quiet", "-b", "side", &linked.to_string_lossy()]);
    Repo::at(&linked).commit("in the linked one", &[("l", Some(b"l\n"))]);
    let workspace = Workspace::open(&world.git, &linked, &[]).unwrap();
    assert_eq!(workspace.current_branch().unwrap().0, "side");
    assert_eq!(workspace.common_dir(), world.workspace().common_dir());
    assert!(!workspace.is_dirty().unwrap());
    let clones = world.home.path().join("clones");
    let one = BareClone::open(&world.git, &clones, &workspace).unwrap();
    assert_eq!(one.dir(), world.clone().dir());
}

#[test]
fn a_branch_that_is_not_there_is_named_and_never_taken_as_an_option_or_pattern() {
    let world = World::new();
    let workspace = world.workspace();
    for name in
        ["absent", "", "--all", "*", "ma", "main/", "HEAD", "refs/heads/main", "main\n", "../heads/main"]
    {
        let error = workspace.branch_tip(name).unwrap_err();
        assert_eq!(error.code(), "missing_branch", "{name:?}: {error}");
    }
    assert!(Sha::new(&world.repo.head().to_uppercase()).is_err());
}

#[test]
fn a_missing_or_old_git_is_said_so() {
    let home = tempfile::tempdir().unwrap();
    let bin = home.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    assert_eq!(Git::find_on(home.path(), bin.as_os_str()).unwrap_err().code(), "git_missing");
    script(&bin.join("git"), "#!/bin/sh\necho git version 2.38.9\n");
    let error = Git::find_on(home.path(), bin.as_os_str()).unwrap_err();
    assert_eq!(error.code(), "git_too_old");
    assert!(error.to_string().contains("2.38.9"));
}

fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A git that answers its version and then does what the script says.
fn odd_git(home: &Path, then: &str) -> Git {
    let bin = home.join("odd");
    std::fs::create_dir_all(&bin).unwrap();
    script(
        &bin.join("git"),
        &format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo git version 2.50.0; exit; fi\n{then}\n"),
    );
    let mut path = bin.into_os_string();
    path.push(":/usr/bin:/bin");
    Git::find_on(home, &path).unwrap()
}

#[test]
fn a_hanging_git_is_ended_with_all_it_started() {
    let home = tempfile::tempdir().unwrap();
    let git = odd_git(home.path(), "sleep 987 & echo $! >\"$HOME/pid\"; wait");
    let limits = Limits { time: Duration::from_millis(400), bytes: 1000 };
    let error = git.call(Path::new("/"), ["hang"]).limits(limits).bytes().unwrap_err();
    assert_eq!(error.code(), "timeout");
    let pid = std::fs::read_to_string(home.path().join(".room/home/pid")).unwrap();
    let gone = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(5);
    while !gone() {
        assert!(std::time::Instant::now() < deadline, "the child of git lives on");
        std::thread::yield_now();
    }
}

#[test]
fn a_cancelled_git_ends_at_once() {
    let home = tempfile::tempdir().unwrap();
    let git = odd_git(home.path(), "exec sleep 987");
    let token = CancellationToken::new();
    token.cancel();
    let error = git.call(Path::new("/"), ["hang"]).cancel(&token).bytes().unwrap_err();
    assert_eq!(error.code(), "cancelled");
}

#[test]
fn a_flood_is_stopped_and_does_not_grow_memory() {
    let home = tempfile::tempdir().unwrap();
    let git = odd_git(home.path(), "exec cat /dev/zero");
    let resident = || {
        let text = std::fs::read_to_string("/proc/self/statm").unwrap();
        text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    };
    let before = resident();
    let mut seen = 0_u64;
    let limits = Limits { bytes: 1 << 30, time: Duration::from_secs(120) };
    let error = git
        .call(Path::new("/"), ["flood"])
        .limits(limits)
        .stream(|chunk| {
            seen += chunk.len() as u64;
            Ok(Flow::More)
        })
        .unwrap_err();
    assert_eq!(error.code(), "too_large");
    assert!(seen > (1 << 30) - (1 << 20));
    assert!(resident() < before + (32 << 20), "{} grew from {before}", resident());
    let words = odd_git(home.path(), "cat /dev/zero | head -c 50000000 >&2; exit 3");
    assert_eq!(words.call(Path::new("/"), ["x"]).bytes().unwrap_err().code(), "git_failed");
}

#[test]
fn nothing_of_our_environment_reaches_git() {
    let home = tempfile::tempdir().unwrap();
    let git = odd_git(home.path(), "env; exit 0");
    let said = git.call(Path::new("/"), ["show-env"]).bytes().unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    let names: Vec<_> = said.lines().filter_map(|l| l.split_once('=')).map(|(n, _)| n).collect();
    for name in names {
        let ours =
            ["PATH", "HOME", "XDG_CONFIG_HOME", "LC_ALL", "SSH_ASKPASS", "PWD", "_", "SHLVL", "OLDPWD"];
        assert!(name.starts_with("GIT_") || ours.contains(&name), "{name}");
    }
    for wanted in
        ["GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none"]
    {
        assert!(said.contains(wanted), "{wanted}");
    }
}

#[test]
fn an_address_in_an_error_loses_its_password() {
    let world = World::new();
    let from = "https://me:hunter2@127.0.0.1:9/x.git";
    let error = world.git.call(world.repo.path(), ["ls-remote", from]).bytes().unwrap_err();
    assert!(!error.to_string().contains("hunter2"), "{error}");
}

/// Puts a program that leaves a mark everywhere a checkout can configure one.
fn booby_trap(repo: &Repo) -> PathBuf {
    let mark = repo.path().parent().unwrap().join("mark");
    let trap = repo.path().parent().unwrap().join("trap.sh");
    script(&trap, &format!("#!/bin/sh\necho \"$0 $*\" >>{}\ncat\n", mark.display()));
    let trap = trap.to_string_lossy().into_owned();
    for key in [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.alternateRefsCommand",
        "core.gitProxy",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "credential.helper",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "remote.origin.uploadpack",
        "sequence.editor",
        "pager.log",
        "pager.diff",
        "pager.for-each-ref",
        "interactive.diffFilter",
    ] {
        repo.git(&["config", key, &trap]);
    }
    repo.git(&["config", "filter.evil.required", "true"]);
    repo.git(&["config", "log.showSignature", "true"]);
    repo.git(&["config", "alias.for-each-ref", &format!("!{trap}")]);
    repo.git(&["config", "extensions.partialClone", "origin"]);
    repo.git(&["config", "remote.origin.promisor", "true"]);
    std::fs::create_dir_all(repo.path().join(".git/hooks")).unwrap();
    for hook in [
        "post-checkout",
        "pre-commit",
        "reference-transaction",
        "post-index-change",
        "fsmonitor-watchman",
        "pre-auto-gc",
    ] {
        script(&repo.path().join(".git/hooks").join(hook), &format!("#!/bin/sh\nexec {trap}\n"));
    }
    std::fs::create_dir_all(repo.path().join(".git/info")).unwrap();
    std::fs::write(repo.path().join(".git/info/attributes"), "* filter=evil diff=evil\n").unwrap();
    mark
}

#[test]
fn a_hostile_checkout_runs_nothing() {
    let world = World::new();
    world.repo.commit("attributes", &[(".gitattributes", Some(b"* filter=evil diff=evil merge=evil\n"))]);
    world.repo.branch("fix");
    world.repo.commit("fix", &[("f.txt", Some(b"f\n")), ("x.bin", Some(b"\0"))]);
    world.repo.remote("origin", "ext::sh -c touch% /tmp/steward-never");
    let mark = booby_trap(&world.repo);
    // Touched, so that telling dirty from clean needs the content.
    world.repo.write("README.md", b"hello\n");
    world.repo.write("src/lib.rs", b"changed\n");
    let workspace = world.workspace();
    let dirty = workspace.is_dirty();
    let state = workspace.state();
    workspace.branches().unwrap();
    workspace.integration_branch().unwrap();
    let facts = world.facts("fix");
    known(&facts.diff);
    known(&facts.secrets);
    let head = workspace.branch_tip("fix").unwrap();
    world.clone().pin(TaskId(7), &head, None).unwrap();
    let dest = world.home.path().join("export");
    let cancel = CancellationToken::new();
    export::tree(&world.clone(), &head, None, &dest, Caps::default(), &cancel).unwrap();
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap_or_default());
    assert!(dirty.unwrap());
    state.unwrap();
    // The trap has teeth: git itself, asked in the checkout, falls into it.
    world.repo.try_git(&["status"]);
    assert!(mark.exists());
}

#[test]
fn a_remote_on_this_machine_runs_nothing_either() {
    let world = World::new();
    let copy = clone_repo(&world.repo.path().to_string_lossy(), &world.home.path().join("copy"), &[]);
    world.repo.commit("more", &[("m", Some(b"m\n"))]);
    let mark = booby_trap(&world.repo);
    let workspace = Workspace::open(&world.git, copy.path(), &[]).unwrap();
    let clone = BareClone::open(&world.git, &world.home.path().join("clones"), &workspace).unwrap();
    let cancel = CancellationToken::new();
    let forge = steward_rules::review::facts::Forge::None;
    let tip = clone.integration_tip(&workspace, "main", forge, now(), &cancel);
    known(&tip);
    assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap_or_default());
}

#[test]
fn a_checkout_that_points_elsewhere_is_no_checkout() {
    let world = World::new();
    world.repo.git(&["config", "core.worktree", "/"]);
    let opened = Workspace::open(&world.git, &world.repo.path().join(".git"), &[]);
    assert!(opened.is_err());
    world.repo.git(&["config", "core.worktree", "/usr"]);
    assert_eq!(refusal(&world.git, world.repo.path()), "not_a_repository");
}

/// Overwrites the loose object of an id.
fn damage(repo: &Repo, id: &str) {
    let path = repo.path().join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(path, b"not a zlib stream").unwrap();
}

#[test]
fn a_damaged_or_missing_object_leaves_the_facts_unread() {
    for missing in [false, true] {
        let world = World::new();
        world.repo.branch("fix");
        world.repo.commit("one", &[("f", Some(b"f\n"))]);
        world.repo.commit("two", &[("g", Some(b"g\n"))]);
        let id = world.repo.sha("fix:g");
        if missing {
            std::fs::remove_file(world.repo.path().join(".git/objects").join(&id[..2]).join(&id[2..]))
                .unwrap();
        } else {
            damage(&world.repo, &id);
        }
        let facts = world.facts("fix");
        for why in [facts.diff.get().map(drop), facts.secrets.get().map(drop), facts.base.get().map(drop)] {
            assert_eq!(why.unwrap_err().cause, Cause::GitFailed);
        }
    }
}

#[test]
fn a_lock_left_in_our_clone_is_cleared_and_a_damaged_clone_is_made_anew() {
    let world = World::new();
    let clone = world.clone();
    let head = world.workspace().branch_tip("main").unwrap();
    clone.pin(TaskId(1), &head, None).unwrap();
    std::fs::write(clone.dir().join("packed-refs.lock"), b"").unwrap();
    let folder = clone.dir().join("refs/steward/task/2");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{head}.lock")), b"").unwrap();
    clone.pin(TaskId(2), &head, None).unwrap();
    assert!(!clone.dir().join("packed-refs.lock").exists());
    std::fs::write(clone.dir().join("HEAD"), b"garbage").unwrap();
    let anew = world.clone();
    assert_ne!(anew.dir(), clone.dir());
    assert!(clone.dir().exists(), "nothing is deleted");
    assert!(anew.has_commit(&head).unwrap());
    assert_eq!(world.clone().dir(), anew.dir());
}

#[test]
fn a_file_of_100_mb_is_judged_and_does_not_fill_memory() {
    let world = World::new();
    world.repo.branch("fix");
    let mut text = vec![b'a'; 100 << 20];
    for at in (79..text.len()).step_by(80) {
        text[at] = b'\n';
    }
    world.repo.commit("big", &[("big.txt", Some(&text)), ("small.txt", Some(b"s\n"))]);
    drop(text);
    let facts = world.facts("fix");
    let diff = known(&facts.diff);
    assert_eq!((file(diff, "big.txt").content, file(diff, "big.txt").lines), (Content::Text, None));
    assert_eq!(file(diff, "small.txt").lines, Some((1, 0)));
    assert_eq!(known(&facts.secrets).skipped_bytes, 0, "all of it was looked through, piece by piece");
    let head = world.workspace().branch_tip("fix").unwrap();
    let dest = world.home.path().join("export");
    let manifest =
        export::tree(&world.clone(), &head, None, &dest, Caps::default(), &CancellationToken::new()).unwrap();
    assert_eq!(manifest.left_out, [(RepoPath::from("big.txt"), LeftOut::TooLarge)]);
}

#[test]
fn names_that_would_leave_the_export_stay_in_its_manifest() {
    let world = World::new();
    world.repo.branch("fix");
    let long = vec![b'l'; 300];
    let entries: &[(&str, &[u8], &[u8])] = &[
        ("100644", b"good.txt", b"good\n"),
        ("100644", b"bytes\xff\xfe.txt", b"kept\n"),
        ("100644", b"..", b"up\n"),
        ("100644", b".git", b"x\n"),
        ("100644", b".GIT", b"x\n"),
        ("100644", b"git~1", b"x\n"),
        ("100644", b".git. ", b"x\n"),
        ("100644", b".g\xe2\x80\x8cit", b"x\n"),
        ("100644", b".git::$INDEX_ALLOCATION", b"x\n"),
        ("100644", b"new\nline", b"x\n"),
        ("100644", b"esc\x1b[2J", b"x\n"),
        ("100644", b"rtl\xe2\x80\xaetxt.exe", b"x\n"),
        ("100644", b"back\\slash", b"x\n"),
        ("100644", b"Readme", b"x\n"),
        ("100644", b"README", b"x\n"),
        ("100644", b"caf\xc3\xa9", b"x\n"),
        ("100644", b"cafe\xcc\x81", b"x\n"),
        ("100644", &long, b"x\n"),
        ("120000", b"link", b"/etc/passwd"),
        ("100644", b"bin", b"\0\0"),
        ("100644", b"twin", b"a file\n"),
    ];
    let head = Sha::new(&world.repo.commit_raw_tree("hostile", entries)).unwrap();
    let dest = world.home.path().join("export");
    let cancel = CancellationToken::new();
    let manifest = export::tree(&world.clone(), &head, None, &dest, Caps::default(), &cancel).unwrap();
    let written: Vec<_> = manifest.tree.iter().map(|w| w.path.raw().to_vec()).collect();
    assert_eq!(written, [b"bytes\xff\xfe.txt".to_vec(), b"good.txt".to_vec(), b"twin".to_vec()]);
    let reason = |name: &[u8]| {
        manifest
            .left_out
            .iter()
            .find(|(p, _)| p.raw() == name)
            .map(|(_, why)| *why)
            .unwrap_or_else(|| panic!("{name:?}"))
    };
    for git in
        [b".git".as_slice(), b".GIT", b"git~1", b".git. ", b".g\xe2\x80\x8cit", b".git::$INDEX_ALLOCATION"]
    {
        assert_eq!(reason(git), LeftOut::GitName);
    }
    for hidden in [b"new\nline".as_slice(), b"esc\x1b[2J", b"rtl\xe2\x80\xaetxt.exe"] {
        assert_eq!(reason(hidden), LeftOut::HiddenCharacter);
    }
    for twin in [b"Readme".as_slice(), b"README", b"caf\xc3\xa9", b"cafe\xcc\x81"] {
        assert_eq!(reason(twin), LeftOut::Collides);
    }
    assert_eq!(reason(b".."), LeftOut::Escapes);
    assert_eq!(reason(b"back\\slash"), LeftOut::Escapes);
    assert_eq!(reason(&long), LeftOut::TooLong);
    assert_eq!(reason(b"link"), LeftOut::Symlink);
    assert_eq!(reason(b"bin"), LeftOut::Binary);
    assert_eq!(std::fs::read_dir(manifest.tree_dir()).unwrap().count(), 3);
    assert!(export::verify(&manifest).unwrap().is_empty());
    export::remove(&dest).unwrap();
    assert!(!dest.exists());
}

#[test]
fn a_change_to_the_export_is_seen() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.repo.branch("fix");
    world.repo.commit("fix", &[("src/lib.rs", Some(b"one\n2\nthree\n")), ("README.md", None)]);
    let head = world.workspace().branch_tip("fix").unwrap();
    let facts = world.facts("fix");
    let dest = world.home.path().join("export");
    let cancel = CancellationToken::new();
    let manifest =
        export::tree(&world.clone(), &head, Some(known(&facts.diff)), &dest, Caps::default(), &cancel)
            .unwrap();
    assert_eq!(std::fs::read(manifest.tree_dir().join("src/lib.rs")).unwrap(), b"one\n2\nthree\n");
    assert_eq!(std::fs::read(manifest.base_dir().join("src/lib.rs")).unwrap(), b"one\ntwo\nthree\n");
    assert_eq!(std::fs::read(manifest.base_dir().join("README.md")).unwrap(), b"hello\n");
    assert!(!manifest.tree_dir().join(".git").exists());
    let mode = std::fs::metadata(manifest.tree_dir().join("src/lib.rs")).unwrap().permissions().mode();
    assert_eq!(mode & 0o222, 0);
    assert!(export::verify(&manifest).unwrap().is_empty());
    let folder = manifest.tree_dir().join("src");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
    std::fs::remove_file(folder.join("lib.rs")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", folder.join("lib.rs")).unwrap();
    std::fs::write(folder.join("more"), b"x").unwrap();
    let mut changed = export::verify(&manifest).unwrap();
    changed.sort_by_key(|c| format!("{c:?}"));
    assert_eq!(changed, [Changed::Content(folder.join("lib.rs")), Changed::New(folder.join("more"))]);
    export::remove(&dest).unwrap();
}

#[test]
fn what_is_no_file_any_more_is_seen_and_neither_followed_nor_waited_for() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.repo.branch("fix");
    world.repo.commit("fix", &[("src/lib.rs", Some(b"one\n2\nthree\n"))]);
    let head = world.workspace().branch_tip("fix").unwrap();
    let facts = world.facts("fix");
    let cancel = CancellationToken::new();
    // A pipe that nobody writes into, a file without an end, and a folder.
    for kind in ["pipe", "endless", "folder"] {
        let dest = world.home.path().join(format!("export-{kind}"));
        let known = Some(known(&facts.diff));
        let manifest = export::tree(&world.clone(), &head, known, &dest, Caps::default(), &cancel).unwrap();
        let folder = manifest.tree_dir().join("src");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        let file = folder.join("lib.rs");
        std::fs::remove_file(&file).unwrap();
        match kind {
            "pipe" => nix::unistd::mkfifo(&file, nix::sys::stat::Mode::S_IRWXU).unwrap(),
            "endless" => std::os::unix::fs::symlink("/dev/zero", &file).unwrap(),
            _ => std::fs::create_dir(&file).unwrap(),
        }
        let (done, heard) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(export::verify(&manifest).unwrap()));
        let changed = heard.recv_timeout(std::time::Duration::from_secs(30)).expect("it ends");
        assert_eq!(changed, [Changed::Content(file)], "{kind}");
        export::remove(&dest).unwrap();
    }
}

#[test]
fn a_borrowed_object_folder_that_vanished_is_no_pass() {
    let world = World::new();
    world.repo.branch("fix");
    world.repo.commit("fix", &[("f", Some(format!("{}\n", steward_kit_token()).as_bytes()))]);
    let (clone, workspace) = (world.clone(), world.workspace());
    let (head, tip) = (workspace.branch_tip("fix").unwrap(), workspace.branch_tip("main").unwrap());
    std::fs::rename(world.repo.path().join(".git/objects"), world.home.path().join("moved")).unwrap();
    let error = steward_core::git::facts::diff(&clone, &tip, &head, &CancellationToken::new()).unwrap_err();
    assert!(matches!(error, GitError::MissingObject { .. }), "{error:?}");
    assert!(error.is_damage());
}
