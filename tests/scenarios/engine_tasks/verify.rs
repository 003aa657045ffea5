//! What stands in a tree after an agent: read whole, judged before and after the formatter, and put into our clone
//! byte for byte. And the entries of trees, for counting and for superseding.

use std::collections::BTreeSet;

use steward_core::git::laid::{CAPS, lay};
use steward_core::loops::engine::content::{self, Superseded};
use steward_core::loops::engine::verifying::{Judged, NotVerified, Verified, verify};
use steward_kit::git::Repo;
use steward_rules::diff::Kind;
use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::policy::{EntriesPolicy, Unit};
use steward_rules::engine::supersede::{Content, Stop};
use steward_rules::engine::verify::Refused;
use tokio_util::sync::CancellationToken;

use super::stage::{CHECK, FORMAT, Stage, sha, works};

/// Lays the catalogue out, lets `agent` loose on the folder, and judges what it left.
async fn left(
    stage: &Stage,
    format: &str,
    check: &str,
    agent: impl FnOnce(&std::path::Path, &Repo),
) -> Result<Verified, NotVerified> {
    let policy = stage.policy(format, check);
    let (clone, tools, stop) = (stage.clone(), stage.tools(&policy).await, CancellationToken::new());
    let head = sha(&stage.repo.git(&["rev-parse", "main"]));
    let folder = stage.home.outside("tree");
    let _ = std::fs::remove_dir_all(&folder);
    let laid = lay(&clone, &head, &folder, CAPS, &stop).expect("laid out");
    let git_before = clone.own_state().expect("git's own state");
    agent(&folder, &Repo::at(clone.dir()));
    let judged = Judged {
        clone: &clone,
        policy: &policy,
        tools: &tools,
        laid: &laid,
        of_pull: None,
        survivors: 0,
        git_before: &git_before,
    };
    verify(&judged, &stop).await
}

fn refused(result: Result<Verified, NotVerified>) -> Refused {
    match result {
        Err(NotVerified::Refused { why, .. }) => why,
        other => panic!("a refusal: {other:?}"),
    }
}

#[tokio::test]
async fn the_tree_is_made_of_the_bytes_that_were_judged_after_the_formatter() {
    let stage = Stage::new();
    let split =
        "#!/bin/sh\nif [ -f data/works/new.json ]; then mv data/works/new.json data/works/n.json; fi\n";
    let verified = left(&stage, split, CHECK, |tree, _| {
        std::fs::write(tree.join("data/works/new.json"), works(&[("n", "N")])).unwrap();
        std::fs::remove_file(tree.join("data/redirects.json")).unwrap();
    })
    .await
    .expect("it passes");
    let git = Repo::at(stage.clone().dir());
    let changed =
        git.git(&["diff-tree", "-r", "--name-status", "refs/steward/commit/main", verified.tree.as_str()]);
    assert_eq!(changed, "D\tdata/redirects.json\nA\tdata/works/n.json");
    let made = git.git(&["ls-tree", "-r", verified.tree.as_str(), "data/works/n.json"]);
    assert!(made.starts_with("100644 blob"), "{made}");
    assert_eq!(verified.entries.touched(), 2);
    assert_eq!(verified.paths.len(), 2);
}

#[tokio::test]
async fn git_itself_the_order_of_the_checks_and_a_validator_that_writes() {
    let stage = Stage::new();
    let edit = |tree: &std::path::Path| {
        std::fs::write(tree.join("data/works/n.json"), works(&[("n", "N")])).unwrap();
    };
    for (name, plant) in [
        ("hooks/pre-push", "hooks/pre-push"),
        ("config", "config"),
        ("info/attributes", "info/attributes"),
        ("refs/heads/x", "refs/heads/x"),
        ("HEAD", "HEAD"),
    ] {
        let stage = Stage::new();
        let why = refused(
            left(&stage, FORMAT, CHECK, |tree, clone| {
                edit(tree);
                let file = clone.path().join(plant);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                let text = match plant {
                    "refs/heads/x" => format!("{}\n", clone.git(&["rev-parse", "refs/steward/commit/main"])),
                    "HEAD" => "ref: refs/heads/other\n".to_owned(),
                    _ => "# planted\n".to_owned(),
                };
                std::fs::write(file, text).unwrap();
            })
            .await,
        );
        assert_eq!(why, Refused::GitTouched { what: vec![name.to_owned()] });
    }
    // What is refused for its place is never shown to a tool.
    let ran = stage.home.outside("ran");
    let tells = format!("#!/bin/sh\ntouch {}\n", ran.display());
    let why = refused(
        left(&stage, &tells, CHECK, |tree, _| {
            edit(tree);
            std::fs::write(tree.join("tools/build.sh"), "echo mine\n").unwrap();
        })
        .await,
    );
    assert!(matches!(why, Refused::Path { .. }), "{why:?}");
    assert!(!ran.exists());
    let strays = "#!/bin/sh\necho x > data/.formatted\n";
    let why = refused(left(&stage, strays, CHECK, |tree, _| edit(tree)).await);
    assert!(matches!(why, Refused::Dotfile { .. }), "{why:?}");
    let writes = "#!/bin/sh\necho '{\"w\": {}}' > data/works/w.json\n";
    let why = refused(left(&stage, FORMAT, writes, |tree, _| edit(tree)).await);
    assert!(matches!(&why, Refused::Unread(why) if why.detail.contains("validator")), "{why:?}");
    let undoes = "#!/bin/sh\nrm -f data/works/n.json\n";
    assert_eq!(refused(left(&stage, undoes, CHECK, |tree, _| edit(tree)).await), Refused::Nothing);
    let fails = "#!/bin/sh\nexit 4\n";
    let why = refused(left(&stage, fails, CHECK, |tree, _| edit(tree)).await);
    assert_eq!(why, Refused::Tool { name: "the formatter".to_owned(), exit: Some(4) });
}

#[tokio::test]
async fn links_and_odd_names_of_the_commit_stay_as_they_are() {
    let stage = Stage::new();
    stage.repo.link("data/link", "../tools");
    stage.repo.git(&["add", "--all"]);
    stage.repo.git(&["update-index", "--chmod=+x", "tools/build.sh"]);
    stage.repo.commit_index("a link and a script");
    let (clone, stop) = (stage.clone(), CancellationToken::new());
    let head = sha(&stage.repo.git(&["rev-parse", "main"]));
    let folder = stage.home.outside("tree");
    let laid = lay(&clone, &head, &folder, CAPS, &stop).expect("laid out");
    assert_eq!(laid.left_out.iter().map(|path| path.shown()).collect::<Vec<_>>(), ["data/link"]);
    assert!(std::fs::symlink_metadata(folder.join("data/link")).is_err());
    assert_eq!(laid.changes(1 << 20).unwrap(), []);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(folder.join("tools/build.sh"), mode).unwrap();
    let changes = laid.changes(1 << 20).unwrap();
    assert_eq!((changes.len(), changes[0].kind), (1, Kind::File), "a mode is a change too");
    std::fs::write(folder.join("data/link"), "mine").unwrap();
    let why = refused(
        left(&stage, FORMAT, CHECK, |tree, _| std::fs::write(tree.join("data/link"), "mine").unwrap()).await,
    );
    assert!(matches!(why, Refused::Mode { kind: Kind::Symlink, .. }), "{why:?}");
}

#[test]
fn a_superseding_change_is_verified_on_the_base_entry_by_entry() {
    let stage = Stage::new();
    let repo = &stage.repo;
    let policy = stage.policy(FORMAT, CHECK).entries;
    let all = |more: &[(&'static str, &'static str)]| {
        let mut entries = vec![("alpha", "Alpha"), ("beta", "Beta")];
        entries.extend_from_slice(more);
        entries.push(("gamma", "Gamma"));
        works(&entries)
    };
    repo.git(&["checkout", "--quiet", "-b", "original"]);
    let text = all(&[("delta", "Delta"), ("epsilon", "Epsilon")]);
    let original = sha(&repo.commit("theirs", &[("data/works/a.json", Some(&text))]));
    repo.git(&["checkout", "--quiet", "-b", "steward/pr-5", "main"]);
    let whole = sha(&repo.commit("ours", &[("data/works/a.json", Some(&text))]));
    repo.git(&["checkout", "--quiet", "-b", "steward/pr-6", "main"]);
    let part = sha(&repo.commit("half of it", &[("data/works/a.json", Some(&all(&[("delta", "Delta")])))]));
    repo.git(&["checkout", "--quiet", "main"]);
    repo.commit("the base moves", &[("README.md", Some(b"moved\n"))]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "steward/pr-5"]);
    let merged = sha(&repo.git(&["rev-parse", "main"]));
    let resplit: &[(&str, Option<&[u8]>)] = &[
        ("data/works/a.json", Some(&works(&[("alpha", "Alpha"), ("beta", "Beta"), ("gamma", "Gamma")]))),
        ("data/works/d.json", Some(&works(&[("delta", "Delta"), ("epsilon", "Epsilon")]))),
    ];
    let moved = sha(&repo.commit("split the file", resplit));
    let reverted =
        sha(&repo.commit("take it back", &[("data/works/d.json", Some(&works(&[("delta", "Delta")])))]));
    repo.git(&["checkout", "--quiet", "-b", "elsewhere", "main~3"]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "steward/pr-6"]);
    let merged_part = sha(&repo.git(&["rev-parse", "elsewhere"]));
    let (clone, stop) = (stage.clone(), CancellationToken::new());
    let look = |merged: &_, head: &_, tip: &_| {
        let commits = Superseded { merged, head, tip, original: &original };
        content::superseded(&clone, &policy, &commits, &stop).expect("it is counted")
    };
    assert_eq!(look(&merged, &whole, &merged), Content::Same);
    assert_eq!(look(&merged, &whole, &moved), Content::Same, "where an entry stands says nothing");
    let entries = |content: Content| match content {
        Content::Not(Stop::Differs { entries } | Stop::Lost { entries }) => {
            entries.into_iter().map(|key| key.id).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(entries(look(&merged, &whole, &reverted)), ["epsilon"], "a36");
    assert_eq!(look(&merged, &whole, &merged_part), Content::Not(Stop::Reverted));
    assert_eq!(entries(look(&merged_part, &part, &merged_part)), ["epsilon"], "the original's entry is lost");
    let ids = content::ids(&clone, &policy, &moved, &stop).expect("the ids");
    assert_eq!(ids, BTreeSet::from(["alpha", "beta", "gamma", "delta", "epsilon", "old"].map(str::to_owned)));
}

#[test]
fn a36_what_has_no_name_of_its_own_is_verified_by_its_file() {
    let stage = Stage::new();
    let repo = &stage.repo;
    let path = "data/list.txt";
    let commit = |said: &str, text: &str| sha(&repo.commit(said, &[(path, Some(text.as_bytes()))]));
    commit("a list", "k,1\n---\nk,2\n");
    repo.git(&["checkout", "--quiet", "-b", "original"]);
    let original = commit("theirs", "k,1\n---\nk,2\n---\nk,3\n");
    repo.git(&["checkout", "--quiet", "-b", "steward/pr-5", "main"]);
    let head = commit("ours, with the new one mended", "k,1\n---\nk,2\n---\nk,4\n");
    repo.git(&["checkout", "--quiet", "main"]);
    repo.commit("the base moves", &[("README.md", Some(b"moved\n"))]);
    repo.git(&["merge", "--quiet", "--no-ff", "-m", "merge", "steward/pr-5"]);
    let merged = sha(&repo.git(&["rev-parse", "main"]));
    let moved = sha(&repo.commit("the base moves on", &[("README.md", Some(b"moved on\n"))]));
    let dropped = commit("one is dropped", "k,1\n---\nk,4\n");
    let reverted = commit("it is taken back", "k,1\n---\nk,2\n");
    let (clone, stop) = (stage.clone(), CancellationToken::new());
    for unit in [Unit::Lines(20), Unit::Lines(1), Unit::YamlDocs, Unit::CsvRows] {
        let policy = EntriesPolicy { unit, globs: vec!["data/**".to_owned()], root: "data".to_owned() };
        let look = |tip: &_| {
            let commits = Superseded { merged: &merged, head: &head, tip, original: &original };
            content::superseded(&clone, &policy, &commits, &stop).expect("it is counted")
        };
        assert_eq!(look(&merged), Content::Same, "{unit:?}");
        assert_eq!(look(&moved), Content::Same, "{unit:?}");
        let differs = Content::Not(Stop::Differs { entries: vec![EntryKey::new("file", path)] });
        for tip in [&dropped, &reverted] {
            assert_eq!(look(tip), differs, "{unit:?}");
        }
    }
}
