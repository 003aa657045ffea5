//! Git itself: facts about a head, from real repositories, without touching the workspace.

use std::path::Path;

use chrono::{DateTime, Utc};
use steward_core::git::{BareClone, FactsRequest, Git, GitFacts, Remote, SecretPass, Workspace, facts};
use steward_kit::git::{Repo, clone as clone_repo};
use steward_rules::diff::{Content, Diff, RepoPath, Status};
use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{BaseSource, Forge, Pushed};
use steward_rules::secret::{Options, Place, Tier};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A repository, our git, and the clone of it.
pub struct World {
    pub home: TempDir,
    pub repo: Repo,
    pub git: Git,
}

impl World {
    /// One commit on `main`.
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let repo = Repo::init(home.path().join("work"));
        repo.commit("start", &[("README.md", Some(b"hello\n")), ("src/lib.rs", Some(b"one\ntwo\nthree\n"))]);
        let git = Git::find(&home.path().join("clones")).unwrap();
        Self { home, repo, git }
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::open(&self.git, self.repo.path(), &[]).unwrap()
    }

    pub fn clone(&self) -> BareClone {
        BareClone::open(&self.git, &self.home.path().join("clones"), &self.workspace()).unwrap()
    }

    /// The facts about a branch against `main`.
    pub fn facts(&self, branch: &str) -> GitFacts {
        self.facts_with(branch, |_| {})
    }

    pub fn facts_with(&self, branch: &str, change: impl FnOnce(&mut FactsRequest<'_>)) -> GitFacts {
        let workspace = self.workspace();
        let head = workspace.branch_tip(branch).unwrap();
        let mut request = FactsRequest {
            head: &head,
            branch: Some(branch),
            integration: "main",
            fork_point: None,
            forge: Forge::None,
            mutations: &[],
            claimed: &[],
            secrets: SecretPass { options: Options::default(), salt: "salt", exceptions: &[] },
        };
        change(&mut request);
        facts::read(&self.clone(), &workspace, &request, now(), &CancellationToken::new())
    }
}

pub fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

pub fn known<T: std::fmt::Debug>(reading: &Reading<T>) -> &T {
    match reading {
        Reading::Known { value } => value,
        Reading::Unread { why } => panic!("unread: {why:?}"),
    }
}

pub fn file<'d>(diff: &'d Diff, path: &str) -> &'d steward_rules::diff::ChangedFile {
    diff.files
        .iter()
        .find(|f| f.path == RepoPath::from(path))
        .unwrap_or_else(|| panic!("{path} is not in {diff:?}"))
}

fn sha(text: &str) -> Sha {
    Sha::new(text).unwrap()
}

#[test]
fn a_branch_of_one_commit_yields_its_diff_commit_and_base() {
    let world = World::new();
    let base = world.repo.head();
    world.repo.branch("fix");
    let head = world.repo.commit("fix: two\n\nbody", &[("src/lib.rs", Some(b"one\n2\nthree\n"))]);
    let facts = world.facts("fix");
    let found = known(&facts.base);
    assert_eq!(found.merge_base, sha(&base));
    assert_eq!(found.source, BaseSource::LocalBranch);
    let diff = known(&facts.diff);
    let changed = file(diff, "src/lib.rs");
    assert_eq!(
        (changed.status, changed.lines, changed.content),
        (Status::Modified, Some((1, 1)), Content::Text)
    );
    assert_eq!(changed.hunks[0].added[0].text, b"2");
    assert_eq!(changed.hunks[0].added[0].number, 2);
    let commits = known(&facts.commits);
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].sha, sha(&head));
    assert_eq!(commits[0].subject.as_data(), "fix: two");
    assert!(commits[0].patch_id.is_some());
    assert_eq!(known(&facts.secrets).lines, 1);
    assert_eq!(known(&facts.pushed), &Pushed::No { remote: None });
}

#[test]
fn a_branch_of_many_commits_is_diffed_as_a_whole_and_scanned_one_by_one() {
    let world = World::new();
    let token = steward_kit_token();
    world.repo.branch("fix");
    let leak = world.repo.commit("one", &[("k.txt", Some(format!("key = {token}\n").as_bytes()))]);
    world.repo.commit("two", &[("k.txt", Some(b"key = removed\n"))]);
    world.repo.commit("three", &[("README.md", None)]);
    let facts = world.facts("fix");
    let diff = known(&facts.diff);
    assert_eq!(file(diff, "k.txt").lines, Some((1, 0)));
    assert_eq!(file(diff, "README.md").status, Status::Deleted);
    let subjects: Vec<_> = known(&facts.commits).iter().map(|c| c.subject.as_data().to_owned()).collect();
    assert_eq!(subjects, ["one", "two", "three"]);
    let hits = &known(&facts.secrets).hits;
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0].tier, Tier::High);
    assert_eq!(hits[0].place, Place::Line { commit: leak, path: "k.txt".into(), line: 1 });
}

/// A secret of a provider's format with a right checksum, made anew so that none stands in our tree.
pub fn steward_kit_token() -> String {
    ["AKIA", "Q3EG", "RIVW", "7XPL", "MZ2T"].concat()
}

#[test]
fn every_place_of_a_commit_is_scanned() {
    let world = World::new();
    let token = steward_kit_token();
    world.repo.branch("fix");
    world.repo.commit(&format!("note\n\nuse {token} here"), &[("a.txt", Some(b"a\n"))]);
    world.repo.commit("name", &[(&format!("dir/{token}.txt"), Some(b"b\n"))]);
    let mut blob = vec![0_u8, 1, 2, 0];
    blob.extend_from_slice(format!("  aws {token} \0").as_bytes());
    world.repo.commit("blob", &[("b.bin", Some(&blob))]);
    let places: Vec<_> = known(&world.facts("fix").secrets).hits.iter().map(|h| h.place.clone()).collect();
    assert!(places.iter().any(|p| matches!(p, Place::Message { line: 3, .. })), "{places:?}");
    assert!(places.iter().any(|p| matches!(p, Place::FileName { .. })), "{places:?}");
    assert!(places.iter().any(|p| matches!(p, Place::Binary { path, .. } if path == "b.bin")), "{places:?}");
}

#[test]
fn no_added_line_escapes_in_a_merge_and_merged_in_main_is_not_ours() {
    let world = World::new();
    let token = steward_kit_token();
    world.repo.branch("fix");
    world.repo.commit("ours", &[("src/lib.rs", Some(b"ONE\ntwo\nthree\n"))]);
    world.repo.checkout("main");
    world
        .repo
        .commit("theirs", &[("src/lib.rs", Some(format!("one\ntwo\nthree\nmain = {token}\n").as_bytes()))]);
    world.repo.checkout("fix");
    world.repo.git(&["merge", "--quiet", "--no-commit", "main"]);
    let evil = ["AKIA", "W4RT", "5KQZ", "N6BV", "2XHD"].concat();
    world.repo.write("src/lib.rs", format!("ONE\ntwo\nevil = {evil}\nthree\nmain = {token}\n").as_bytes());
    world.repo.git(&["add", "--all"]);
    let merge = world.repo.commit_index("merge main");
    let facts = world.facts("fix");
    let hits: Vec<_> = known(&facts.secrets).hits.iter().map(|h| h.place.clone()).collect();
    assert_eq!(hits, [Place::Line { commit: merge, path: "src/lib.rs".into(), line: 3 }]);
    // The fork moved with the merge: what main brought is no change of ours.
    assert_eq!(file(known(&facts.diff), "src/lib.rs").lines, Some((2, 1)));
    assert_eq!(known(&facts.base).merge_base.as_str(), world.repo.sha("main"));
    assert!(known(&facts.commits).last().unwrap().patch_id.is_none());
}

#[test]
fn attributes_of_the_branch_change_nothing() {
    let world = World::new();
    world.repo.git(&["config", "diff.evil.textconv", "touch /tmp/steward-never; cat"]);
    world.repo.git(&["config", "diff.evil.command", "touch /tmp/steward-never"]);
    world.repo.branch("fix");
    let attributes = b"*.bin text diff\n*.rs -diff\n*.md diff=evil\n*.txt binary export-ignore\n";
    world.repo.commit(
        "one",
        &[
            (".gitattributes", Some(attributes)),
            ("x.bin", Some(b"\0\0data\n")),
            ("src/lib.rs", Some(b"one\n2\nthree\n")),
            ("README.md", Some(b"changed\n")),
            ("n.txt", Some(b"text\n")),
        ],
    );
    std::fs::create_dir_all(world.repo.path().join(".git/info")).unwrap();
    std::fs::write(world.repo.path().join(".git/info/attributes"), attributes).unwrap();
    let facts = world.facts("fix");
    let diff = known(&facts.diff);
    assert_eq!((file(diff, "x.bin").content, file(diff, "x.bin").lines), (Content::Binary, None));
    for text in ["src/lib.rs", "README.md", "n.txt"] {
        assert_eq!(file(diff, text).content, Content::Text, "{text}");
        assert!(file(diff, text).lines.is_some(), "{text}");
    }
    assert_eq!(known(&facts.secrets).lines, 4 + 1 + 1 + 1);
}

#[test]
fn odd_entries_are_told_apart_by_their_raw_modes() {
    let world = World::new();
    world.repo.branch("fix");
    let sub = world.repo.head();
    world.repo.commit_entries(
        "odd",
        &[
            ("120000", b"link", b"/etc/passwd"),
            ("160000", b"sub", sub.as_bytes()),
            ("100755", b"run.sh", b"#!/bin/sh\n"),
            ("100644", b"bad\xff\nname", b"text\n"),
            (
                "100644",
                b"model.lfs",
                b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
            ),
            ("100644", b"empty", b""),
        ],
    );
    let facts = world.facts("fix");
    let diff = known(&facts.diff);
    use steward_rules::diff::Kind;
    assert_eq!(file(diff, "link").new_kind, Kind::Symlink);
    assert_eq!((file(diff, "sub").new_kind, file(diff, "sub").content), (Kind::Submodule, Content::None));
    assert_eq!(file(diff, "run.sh").new_kind, Kind::Executable);
    assert_eq!(file(diff, "model.lfs").content, Content::LfsPointer);
    assert_eq!(file(diff, "empty").content, Content::Text);
    assert!(diff.files.iter().any(|f| f.path.raw() == b"bad\xff\nname"));
}

#[test]
fn renames_and_unchanged_binaries_are_looked_at() {
    let world = World::new();
    world.repo.commit("png", &[("a.png", Some(b"\x89PNG\0\0")), ("t.txt", Some(b"1\n2\n3\n4\n5\n6\n"))]);
    world.repo.branch("fix");
    world.repo.git(&["mv", "a.png", "b.png"]);
    world.repo.git(&["mv", "t.txt", "u.txt"]);
    world.repo.commit("move", &[("u.txt", Some(b"1\n2\n3\n4\n5\nsix\n"))]);
    world.repo.commit("second", &[("x", Some(b"x\n"))]);
    let facts = world.facts("fix");
    let diff = known(&facts.diff);
    assert_eq!(file(diff, "b.png").status, Status::Renamed { similarity: 100 });
    assert_eq!(file(diff, "b.png").content, Content::Binary);
    assert!(matches!(file(diff, "u.txt").status, Status::Renamed { similarity: 50..100 }));
    assert_eq!(file(diff, "u.txt").lines, Some((1, 1)));
}

#[test]
fn a_cherry_pick_keeps_its_patch_id_and_claims_find_it() {
    let world = World::new();
    world.repo.branch("one");
    let first = world.repo.commit("pick me", &[("new.rs", Some(b"fn a() {}\n"))]);
    world.repo.checkout("main");
    world.repo.branch("two");
    world.repo.commit("else", &[("README.md", Some(b"other\n"))]);
    world.repo.git(&["cherry-pick", &first]);
    let claims =
        [first.clone(), first[..9].to_owned(), "ffffffff".to_owned(), "HEAD".to_owned(), "--all".to_owned()];
    let facts = world.facts_with("two", |r| r.claimed = Box::leak(Box::new(claims.clone())));
    let picked = known(&facts.commits)[1].patch_id.clone();
    assert!(picked.is_some());
    let ids: Vec<_> = facts.claimed.iter().map(|c| c.patch_id.clone()).collect();
    assert_eq!(ids, [picked.clone(), picked, None, None, None]);
}

#[test]
fn an_integration_branch_on_this_machine_is_fetched_freshly() {
    let world = World::new();
    let copy = clone_repo(&world.repo.path().to_string_lossy(), &world.home.path().join("copy"), &[]);
    copy.branch("fix");
    let head = copy.commit("fix", &[("f", Some(b"f\n"))]);
    let moved = world.repo.commit("moved on", &[("m", Some(b"m\n"))]);
    let before = std::fs::read(copy.path().join(".git/packed-refs")).ok();
    let workspace = Workspace::open(&world.git, copy.path(), &[]).unwrap();
    assert!(matches!(workspace.remote(), Remote::Path(_)));
    let clone = BareClone::open(&world.git, &world.home.path().join("clones"), &workspace).unwrap();
    let read = || {
        let head = sha(&head);
        let request = FactsRequest {
            head: &head,
            branch: Some("fix"),
            integration: "main",
            fork_point: None,
            forge: Forge::None,
            mutations: &[],
            claimed: &[],
            secrets: SecretPass { options: Options::default(), salt: "s", exceptions: &[] },
        };
        facts::read(&clone, &workspace, &request, now(), &CancellationToken::new())
    };
    let facts = read();
    let base = known(&facts.base);
    assert_eq!((base.source, base.tip.as_str()), (BaseSource::Fetched, moved.as_str()));
    assert_eq!(known(&facts.pushed), &Pushed::No { remote: None });
    // The workspace itself was not fetched into.
    assert_eq!(std::fs::read(copy.path().join(".git/packed-refs")).ok(), before);
    assert!(!copy.try_git(&["cat-file", "-e", &moved]));
    copy.git(&["push", "--quiet", "origin", "fix"]);
    assert_eq!(known(&read().pushed), &Pushed::Yes);
    std::fs::rename(world.repo.path(), world.home.path().join("gone")).unwrap();
    let facts = read();
    assert_eq!(facts.base.get().unwrap_err().cause, Cause::FetchFailed);
    assert!(facts.secrets.get().is_err() && facts.diff.get().is_err() && facts.commits.get().is_err());
}

#[test]
fn a_remote_is_named_without_its_credentials() {
    let hosts = ["git.corp.example".to_owned(), "127.0.0.1:8443".to_owned()];
    let parse = |url: &str| Remote::parse(url, Path::new("/w"), &hosts);
    for url in [
        "https://user:token@github.com/Owner/name.git",
        "git@github.com:Owner/name.git",
        "ssh://git@ssh.github.com:443/Owner/name",
        "https://github.com/Owner/name/",
        "git://GitHub.com/Owner/name",
    ] {
        assert_eq!(parse(url).shown(), "github.com/Owner/name", "{url}");
    }
    assert_eq!(parse("https://x:y@git.corp.example/a/b").shown(), "git.corp.example/a/b");
    assert!(matches!(parse("https://x:y@git.corp.example/a/b"), Remote::GitHub { .. }));
    assert_eq!(parse("https://git.corp.example:8443/a/b").shown(), "git.corp.example/a/b");
    assert_eq!(parse("http://x:y@127.0.0.1:8443/a/b.git").shown(), "127.0.0.1:8443/a/b");
    assert!(matches!(parse("http://127.0.0.1:8443/a/b.git"), Remote::GitHub { .. }));
    assert_eq!(parse("http://127.0.0.1:8444/a/b"), Remote::Other("127.0.0.1/a/b".into()));
    assert_eq!(parse("https://me:pw@gitlab.com/a/b/c.git"), Remote::Other("gitlab.com/a/b/c.git".into()));
    assert_eq!(parse("../up"), Remote::Path("/w/../up".into()));
    assert_eq!(parse("file:///srv/x"), Remote::Path("/srv/x".into()));
    assert_eq!(parse("/srv/a:b"), Remote::Path("/srv/a:b".into()));
    assert_eq!(parse(" "), Remote::None);
}

#[test]
fn a_clone_of_many_packs_is_put_together_and_keeps_what_its_workspace_forgets() {
    let world = World::new();
    let clone = world.clone();
    let main = world.workspace().branch_tip("main").unwrap();
    world.repo.branch("fix");
    let heads: Vec<Sha> = (0..40)
        .map(|n| sha(&world.repo.commit(&format!("fix {n}"), &[("f", Some(format!("{n}\n").as_bytes()))])))
        .collect();
    for (n, head) in heads.iter().enumerate() {
        clone.pin(TaskId(n as i64 + 1), head, Some(&main)).unwrap();
    }
    let packs = || {
        let folder = std::fs::read_dir(clone.dir().join("objects/pack")).unwrap().flatten();
        folder.filter(|entry| entry.path().extension().is_some_and(|end| end == "pack")).count()
    };
    assert_eq!(packs(), 40);
    assert!(clone.tidy().unwrap());
    assert!(packs() < 10, "{} packs are left", packs());
    assert!(!clone.tidy().unwrap(), "it is tidy now");
    world.repo.checkout("main");
    world.repo.git(&["branch", "--quiet", "-D", "fix"]);
    world.repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.repo.git(&["gc", "--quiet", "--prune=now"]);
    for head in &heads {
        assert!(clone.has_commit(head).unwrap(), "{head}");
    }
}

#[test]
fn a_pinned_head_outlives_its_branch() {
    let world = World::new();
    world.repo.branch("fix");
    let head = sha(&world.repo.commit("fix", &[("f", Some(b"f\n"))]));
    let clone = world.clone();
    let main = world.workspace().branch_tip("main").unwrap();
    clone.pin(TaskId(1), &head, Some(&main)).unwrap();
    clone.pin(TaskId(1), &head, Some(&main)).unwrap();
    world.repo.checkout("main");
    world.repo.git(&["branch", "--quiet", "-D", "fix"]);
    world.repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    world.repo.git(&["gc", "--quiet", "--prune=now"]);
    assert!(!world.repo.try_git(&["cat-file", "-e", head.as_str()]));
    assert!(clone.has_commit(&head).unwrap());
    let diff = facts::diff(&clone, &main, &head, &CancellationToken::new()).unwrap();
    assert_eq!(file(&diff, "f").lines, Some((1, 0)));
    clone.unpin(TaskId(1)).unwrap();
}

#[test]
fn the_fork_point_is_judged_against_the_tip() {
    let world = World::new();
    let start = sha(&world.repo.head());
    world.repo.branch("fix");
    world.repo.commit("fix", &[("f", Some(b"f\n"))]);
    let facts = world.facts_with("fix", |r| r.fork_point = Some(Box::leak(Box::new(start.clone()))));
    assert!(known(&facts.base).fork_point.as_ref().unwrap().is_ancestor_of_tip);
    world.repo.checkout("main");
    world.repo.git(&["commit", "--quiet", "--amend", "-m", "forced"]);
    let forced = sha(&world.repo.head());
    let clone = world.clone();
    assert!(facts::fork_point_now(&clone, &forced, &start).is_err());
    // A base that was force-pushed away shares nothing any more: undecided, not passed.
    let facts = world.facts_with("fix", |r| r.fork_point = Some(Box::leak(Box::new(start.clone()))));
    assert_eq!(facts.base.get().unwrap_err().cause, Cause::NoBase);
}

#[test]
fn the_tree_tells_ci_members_and_asked_blobs() {
    let world = World::new();
    world.repo.branch("fix");
    world.repo.commit(
        "set up",
        &[
            (".github/workflows/ci.yml", Some(b"on: push\n")),
            ("package.json", Some(br#"{"workspaces": {"packages": ["web", "pkg/*", "!pkg/out"]}}"#)),
            ("package-lock.json", Some(b"{}\n")),
            ("web/package.json", Some(b"{}\n")),
            ("pkg/a/package.json", Some(b"{}\n")),
            ("pkg/out/package.json", Some(b"{}\n")),
            ("pkg/a/deep/package.json", Some(b"{}\n")),
            ("rust/Cargo.toml", Some(b"[workspace]\nmembers = [\"crates/*\"]\nexclude = [\"crates/no\"]\n")),
            ("rust/Cargo.lock", Some(b"\n")),
            ("rust/crates/yes/Cargo.toml", Some(b"\n")),
            ("rust/crates/no/Cargo.toml", Some(b"\n")),
            ("js/pnpm-workspace.yaml", Some(b"packages:\n  # all\n  - 'apps/**'\n  - \"!apps/old\"\n")),
            ("js/pnpm-lock.yaml", Some(b"\n")),
            ("js/apps/x/y/package.json", Some(b"{}\n")),
            ("js/apps/old/package.json", Some(b"{}\n")),
            ("go/go.work", Some(b"go 1.22\nuse (\n\t./svc // note\n)\n")),
            ("go/go.sum", Some(b"\n")),
            ("go/svc/go.mod", Some(b"module x\n")),
        ],
    );
    let asked = [RepoPath::from("web/package.json"), RepoPath::from("absent"), RepoPath::from(":(glob)**")];
    let facts = world.facts_with("fix", |r| r.mutations = Box::leak(Box::new(asked.clone())));
    let tree = known(&facts.tree);
    assert!(tree.has_ci_definition);
    let roots: Vec<_> = tree
        .workspaces
        .iter()
        .map(|root| {
            let members: Vec<_> = root.members.iter().map(RepoPath::shown).collect();
            format!("{}/{}: {}", root.folder.shown(), root.manifest, members.join(" "))
        })
        .collect();
    assert_eq!(
        roots,
        [
            "/package.json: pkg/a web",
            "go/go.work: go/svc",
            "js/pnpm-workspace.yaml: js/apps/x/y",
            "rust/Cargo.toml: rust/crates/yes",
        ]
    );
    let blobs: Vec<_> =
        tree.blobs_at_head.iter().map(|(_, blob)| blob.clone().map(|b| b.to_string())).collect();
    assert_eq!(blobs, [Some(world.repo.sha("fix:web/package.json")), None, None]);
}

#[test]
fn excerpts_are_numbered_and_capped() {
    use steward_core::git::{excerpt, file_lines};
    let world = World::new();
    let head = sha(&world.repo.head());
    let clone = world.clone();
    let path = RepoPath::from("src/lib.rs");
    let lines = excerpt(&clone, &head, &path, 3, 1).unwrap();
    assert_eq!(lines, [(2, "two".to_owned()), (3, "three".to_owned())]);
    assert!(excerpt(&clone, &head, &path, 4, 1).unwrap().is_empty());
    assert!(excerpt(&clone, &head, &path, 0, 1).unwrap().is_empty());
    assert!(excerpt(&clone, &head, &RepoPath::from("none"), 1, 1).unwrap().is_empty());
    assert!(excerpt(&clone, &head, &RepoPath::from("src"), 1, 1).unwrap().is_empty());
    assert_eq!(file_lines(&clone, &head, &path).unwrap(), Some(3));
    assert_eq!(file_lines(&clone, &head, &RepoPath::from("none")).unwrap(), None);
}

#[test]
fn the_picker_lists_branches_and_the_integration_branch_is_found() {
    let world = World::new();
    world.repo.branch("fix/a-é");
    world.repo.commit("fix: é\u{202e}", &[("f", Some(b"f\n"))]);
    let workspace = world.workspace();
    let names: Vec<_> = workspace.branches().unwrap().iter().map(|b| b.name.clone()).collect();
    assert_eq!(names, ["fix/a-é", "main"]);
    assert_eq!(workspace.branches().unwrap()[0].subject.as_data(), "fix: é\u{202e}");
    assert_eq!(workspace.integration_branch().unwrap().as_deref(), Some("main"));
    assert_eq!(workspace.current_branch().unwrap().0, "fix/a-é");
    world.repo.git(&["branch", "-m", "main", "trunk"]);
    assert_eq!(workspace.integration_branch().unwrap(), None);
    world.repo.git(&["update-ref", "refs/remotes/origin/dev", "HEAD"]);
    world.repo.git(&["symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/dev"]);
    assert_eq!(workspace.integration_branch().unwrap().as_deref(), Some("dev"));
}

#[test]
fn dirty_means_changed_staged_or_untracked_but_not_ignored() {
    let world = World::new();
    world.repo.commit("ignore", &[(".gitignore", Some(b"target/\n"))]);
    let workspace = world.workspace();
    assert!(!workspace.is_dirty().unwrap());
    world.repo.write("target/x", b"x");
    assert!(!workspace.is_dirty().unwrap());
    // Touched, not changed.
    world.repo.write("README.md", b"hello\n");
    assert!(!workspace.is_dirty().unwrap());
    let index = std::fs::read(world.repo.path().join(".git/index")).unwrap();
    world.repo.write("README.md", b"other\n");
    assert!(workspace.is_dirty().unwrap());
    world.repo.git(&["add", "README.md"]);
    assert!(workspace.is_dirty().unwrap());
    world.repo.git(&["reset", "--quiet", "--hard"]);
    world.repo.write("new", b"");
    assert!(workspace.is_dirty().unwrap());
    std::fs::remove_file(world.repo.path().join("new")).unwrap();
    assert!(!index.is_empty());
}

#[test]
fn a_change_of_head_refs_or_files_shows_in_the_state() {
    let world = World::new();
    let workspace = world.workspace();
    let before = workspace.state().unwrap();
    assert_eq!(workspace.state().unwrap(), before);
    world.repo.write("README.md", b"other\n");
    let dirty = workspace.state().unwrap();
    assert_ne!(dirty.status, before.status);
    // An already changed file that changes again is seen too.
    world.repo.write("README.md", b"OTHER\n");
    assert_ne!(workspace.state().unwrap().status, dirty.status);
    world.repo.git(&["checkout", "--quiet", "--", "README.md"]);
    world.repo.git(&["tag", "t"]);
    assert_ne!(workspace.state().unwrap().refs, before.refs);
    world.repo.git(&["tag", "-d", "t"]);
    world.repo.branch("other");
    let after = workspace.state().unwrap();
    assert_ne!(after.head, before.head);
}
