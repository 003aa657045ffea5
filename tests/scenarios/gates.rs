//! From a real branch to its gates: git reads, the rules judge.

use std::path::Path;

use rstest::rstest;
use steward_core::git::{BareClone, FactsRequest, Git, GitFacts, SecretPass, Tip, Workspace, facts};
use steward_kit::git::Repo;
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{BaseSource, Evidence, Forge};
use steward_rules::review::gate::{GateId, GateState, GateTable, cap, evaluate};
use steward_rules::review::policy::ReviewPolicy;
use steward_rules::review::verdict::Verdict;
use steward_rules::secret::Options;
use tokio_util::sync::CancellationToken;

use crate::git::{World, known, now, steward_kit_token};

/// The evidence of a purely local branch.
fn evidence(head: Sha, facts: GitFacts) -> Evidence {
    let absent = || Reading::unread(Cause::NotReadYet, "no forge");
    Evidence {
        head,
        branch: Some("fix".into()),
        forge: Forge::None,
        base: facts.base,
        diff: facts.diff,
        commits: facts.commits,
        tree: facts.tree,
        secrets: facts.secrets,
        pushed: facts.pushed,
        checks: Reading::unread(Cause::NotReadYet, "no forge"),
        pull: Reading::known(None),
        other_pulls: absent(),
        contract: None,
        validator: Vec::new(),
        frames: Vec::new(),
        handoffs: Vec::new(),
    }
}

fn judged(world: &World, branch: &str) -> GateTable {
    let head = world.workspace().branch_tip(branch).unwrap();
    evaluate(&evidence(head, world.facts(branch)), &ReviewPolicy::default(), now())
}

fn state(table: &GateTable, gate: GateId) -> GateState {
    table.results.iter().find(|r| r.id == gate).unwrap().state
}

type Files = &'static [(&'static str, Option<&'static str>)];

#[rstest]
#[case::c18_lockfile_alone(
    &[("package.json", Some("{}")), ("web/package.json", Some("{}"))],
    &[("package-lock.json", Some("{}")), ("web/package.json", Some("{ }"))],
    GateId::NoChurn, GateState::Fail
)]
#[case::c18_lockfile_with_a_member(
    &[("package.json", Some(r#"{"workspaces":["web"]}"#)), ("web/package.json", Some("{}"))],
    &[("package-lock.json", Some("{}")), ("web/package.json", Some("{ }"))],
    GateId::NoChurn, GateState::Pass
)]
#[case::c19_cargo_lock_without_manifest(
    &[("Cargo.toml", Some("[package]\n"))],
    &[("Cargo.lock", Some("x\n"))],
    GateId::NoChurn, GateState::Fail
)]
#[case::c19_cargo_lock_with_a_members_manifest(
    &[("Cargo.toml", Some("[workspace]\nmembers=[\"a/*\"]\n")), ("a/b/Cargo.toml", Some("\n"))],
    &[("Cargo.lock", Some("x\n")), ("a/b/Cargo.toml", Some("#\n"))],
    GateId::NoChurn, GateState::Pass
)]
#[case::cargo_lock_with_an_unlisted_path_dependency(
    &[("Cargo.toml", Some("[workspace]\n[target.'cfg(unix)'.dependencies]\nb={path=\"./b\"}\n")), ("b/Cargo.toml", Some("\n"))],
    &[("Cargo.lock", Some("x\n")), ("b/Cargo.toml", Some("#\n"))],
    GateId::NoChurn, GateState::Pass
)]
#[case::cargo_lock_with_a_manifest_of_others(
    &[("Cargo.toml", Some("[workspace]\n[dependencies]\nb={path=\"b\"}\n")), ("c/Cargo.toml", Some("\n"))],
    &[("Cargo.lock", Some("x\n")), ("c/Cargo.toml", Some("#\n"))],
    GateId::NoChurn, GateState::Fail
)]
#[case::c20_png_deleted(&[("a.png", Some("\u{89}PNG\0"))], &[("a.png", None)], GateId::NoBinaries, GateState::Pass)]
#[case::c20_png_renamed(
    &[("a.png", Some("\u{89}PNG\0"))],
    &[("a.png", None), ("b.png", Some("\u{89}PNG\0"))],
    GateId::NoBinaries, GateState::Pass
)]
#[case::c20_png_replaced(
    &[("a.png", Some("\u{89}PNG\0"))],
    &[("a.png", Some("\u{89}PNG\0other"))],
    GateId::NoBinaries, GateState::Fail
)]
#[case::binary_became_text(&[("a.x", Some("\0"))], &[("a.x", Some("text\n"))], GateId::NoBinaries, GateState::Pass)]
#[case::text_became_binary(&[("a.x", Some("text\n"))], &[("a.x", Some("\0"))], GateId::NoBinaries, GateState::Fail)]
#[case::c21_attributes_say_text(
    &[],
    &[(".gitattributes", Some("*.bin text\n")), ("a.bin", Some("\0\0"))],
    GateId::NoBinaries, GateState::Fail
)]
#[case::pointer(
    &[],
    &[("a.bin", Some("version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n"))],
    GateId::NoBinaries, GateState::Fail
)]
#[case::c22_build_files(&[], &[("scripts/build.rs", Some("\n")), ("x/build", Some("\n"))], GateId::NoChurn, GateState::Pass)]
#[case::c22_build_folder(&[], &[("pkg/build/x.js", Some("\n"))], GateId::NoChurn, GateState::Fail)]
#[case::c25_sample_key(
    &[],
    &[("a", Some("AKIAIOSFODNN7EXAMPLE\npassword: ${DB_PASS}\n"))],
    GateId::NoSecrets, GateState::Pass
)]
fn a_branch_gets_the_state_of_its_case(
    #[case] before: Files,
    #[case] change: Files,
    #[case] gate: GateId,
    #[case] expected: GateState,
) {
    let world = World::new();
    let bytes = |files: Files| files.iter().map(|(p, t)| (*p, t.map(str::as_bytes))).collect::<Vec<_>>();
    world.repo.commit("before", &bytes(before));
    world.repo.branch("fix");
    world.repo.commit("change", &bytes(change));
    let table = judged(&world, "fix");
    assert_eq!(state(&table, gate), expected, "{:?}", table.results);
}

#[test]
fn c23_a_secret_that_was_removed_again_still_blocks() {
    let world = World::new();
    world.repo.branch("fix");
    world.repo.commit("1", &[("k", Some(format!("{}\n", steward_kit_token()).as_bytes()))]);
    world.repo.commit("2", &[("k", Some(b"gone\n"))]);
    let table = judged(&world, "fix");
    assert_eq!(state(&table, GateId::NoSecrets), GateState::Fail);
    assert_eq!(cap(&table), Some(Verdict::Blocked));
    let shown = format!("{table:?}");
    assert!(!shown.contains(&steward_kit_token()), "{shown}");
}

#[test]
fn c24_a_secret_on_a_removed_line_passes() {
    let world = World::new();
    world.repo.commit("old", &[("k", Some(format!("{}\nb\n", steward_kit_token()).as_bytes()))]);
    world.repo.branch("fix");
    world.repo.commit("1", &[("k", Some(b"b\n"))]);
    world.repo.commit("2", &[("other", Some(b"o\n"))]);
    assert_eq!(state(&judged(&world, "fix"), GateId::NoSecrets), GateState::Pass);
}

#[test]
fn an_excepted_line_is_no_hit_and_the_salt_matters() {
    let world = World::new();
    world.repo.branch("fix");
    world.repo.commit("1", &[("k", Some(format!("{}\n", steward_kit_token()).as_bytes()))]);
    let hash = known(&world.facts("fix").secrets).hits[0].line_hash.clone();
    let exceptions = [hash];
    let hits = |salt: &'static str| {
        let facts = world.facts_with("fix", |r| {
            r.secrets = SecretPass {
                options: Options::default(),
                salt,
                exceptions: Box::leak(Box::new(exceptions.clone())),
            };
        });
        known(&facts.secrets).hits.len()
    };
    assert_eq!((hits("salt"), hits("other")), (0, 1));
}

#[test]
fn an_unreadable_object_holds_every_gate_that_needs_it() {
    let world = World::new();
    world.repo.branch("fix");
    world.repo.commit("one", &[("f", Some(b"f\n"))]);
    let id = world.repo.sha("fix:f");
    std::fs::remove_file(world.repo.path().join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
    let table = judged(&world, "fix");
    for gate in [GateId::NoBinaries, GateId::NoChurn, GateId::NoSecrets] {
        assert_eq!(state(&table, gate), GateState::Undecided, "{gate:?}");
    }
    assert_eq!(cap(&table), None);
}

#[test]
fn fifty_thousand_changed_lines_are_judged_whole() {
    let world = World::new();
    let text = |from: usize, word: &str| {
        (from..from + 1000).map(|n| format!("    let {word}_{n} = compute({n});\n")).collect::<String>()
    };
    let names: Vec<String> = (0..50).map(|n| format!("src/m{n}.rs")).collect();
    let write = |word: &str| {
        for (index, name) in names.iter().enumerate() {
            world.repo.write(name, text(index * 1000, word).as_bytes());
        }
        world.repo.git(&["add", "--all"]);
        world.repo.commit_index(word);
    };
    write("before");
    world.repo.branch("fix");
    write("middle");
    write("after");
    let facts = world.facts("fix");
    assert_eq!(known(&facts.diff).totals(), (50_000, 50_000));
    assert_eq!(known(&facts.secrets).lines, 100_000);
    let table = judged(&world, "fix");
    assert_eq!(cap(&table), Some(Verdict::Accepted), "{:?}", table.results);
}

#[test]
fn this_repositorys_own_history_passes_through_every_local_gate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().unwrap();
    let repo = Repo::at(&root);
    if !repo.try_git(&["rev-parse", "--git-dir"])
        || repo.git(&["rev-parse", "--is-shallow-repository"]) != "false"
    {
        eprintln!("skipped: this checkout has no full history");
        return;
    }
    let home = tempfile::tempdir().unwrap();
    let git = Git::find(&home.path().join("clones")).unwrap();
    let workspace = Workspace::open(&git, &root, &[]).unwrap();
    let clone = BareClone::open(&git, &home.path().join("clones"), &workspace).unwrap();
    let listed = repo.git(&["rev-list", "--first-parent", "--max-count=30", "HEAD"]);
    let ids: Vec<Sha> = listed.lines().map(|l| Sha::new(l).unwrap()).collect();
    for (head, tip) in ids.iter().zip(ids.iter().skip(3)) {
        let request = FactsRequest {
            head,
            branch: None,
            integration: "main",
            fork_point: Some(tip),
            forge: Forge::None,
            mutations: &[],
            claimed: &[],
            secrets: SecretPass { options: Options::default(), salt: "own", exceptions: &[] },
        };
        let tip = Tip {
            branch: "main".into(),
            sha: tip.clone(),
            fetched_at: now(),
            source: BaseSource::LocalBranch,
        };
        let facts = facts::read_against(&clone, Reading::known(tip), &request, &CancellationToken::new());
        let commits = known(&facts.commits).len();
        assert!(commits >= 1);
        assert_eq!(known(&facts.secrets).commits, commits as u64);
        let table = evaluate(&evidence(head.clone(), facts), &ReviewPolicy::default(), now());
        assert!(table.results.iter().all(|r| r.state != GateState::Undecided), "{head}: {:?}", table.results);
    }
}

#[test]
fn a_head_with_nothing_to_measure_it_against_says_which_key_names_it() {
    let world = World::new();
    world.repo.commit("first", &[("a", Some(b"a\n"))]);
    world.repo.git(&["checkout", "-q", "--orphan", "alone"]);
    world.repo.commit("alone", &[("b", Some(b"b\n"))]);
    let says = |table: &GateTable| {
        let result = table.results.iter().find(|result| result.id == GateId::NoBinaries).unwrap();
        assert_eq!(result.state, GateState::Undecided);
        result.detail.clone()
    };
    let orphan = says(&judged(&world, "alone"));
    assert!(
        orphan.contains("shares no history with main") && orphan.contains("integrationBranch"),
        "{orphan}"
    );
    world.repo.git(&["branch", "-q", "-m", "main", "trunk"]);
    let absent = says(&judged(&world, "alone"));
    assert!(absent.contains("there is no branch main") && absent.contains("integrationBranch"), "{absent}");
}
