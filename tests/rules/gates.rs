//! The gates that git and the frames decide, and the table as a whole.

use rstest::rstest;
use steward_rules::diff::{ChangedFile, Content, Kind, RepoPath, Status};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::*;
use steward_rules::review::gate::{EvidenceItem, GateId, GateState, cap, cap_so_far, lowered_by, undecided};
use steward_rules::review::policy::ReviewPolicy;
use steward_rules::review::verdict::Verdict;
use steward_rules::secret::{Place, Tier};

use crate::world::*;

// ---- frames_fresh

#[rstest]
#[case::in_the_folder(added("web/a.ts"), FAIL)]
#[case::deletion(deleted("web/a.ts"), FAIL)]
#[case::rename_out(renamed("web/a.ts", "src/a.ts", 100), FAIL)]
#[case::rename_in(renamed("src/a.ts", "mobile/a.ts", 90), FAIL)]
#[case::copy_out(copied("web/a.ts", "src/a.ts"), NOT_APPLICABLE)]
#[case::other_component(added("webhooks/x.ts"), NOT_APPLICABLE)]
#[case::not_at_the_root(added("src/web/x.ts"), NOT_APPLICABLE)]
#[case::other_case(added("Web/x.ts"), NOT_APPLICABLE)]
fn frames_are_asked_for_by_component_prefix(#[case] file: ChangedFile, #[case] state: GateState) {
    expect(&Evidence { diff: diff([file]), ..good() }, GateId::FramesFresh, state);
}

#[test]
fn c33_a_readme_below_a_ui_path_needs_frames() {
    let result =
        expect(&Evidence { diff: diff([modified("web/README.md")]), ..good() }, GateId::FramesFresh, FAIL);
    assert_eq!(result.detail, "no fresh frame for 1280 light, 1280 dark, 390 light and 1 more");
}

fn with_frames(frames: Vec<Frame>) -> Evidence {
    Evidence { diff: diff([modified("web/a.ts")]), frames, ..good() }
}

#[test]
fn four_frames_at_the_head_are_fresh() {
    let result = expect(&with_frames(frames()), GateId::FramesFresh, PASS);
    assert!(result.evidence.contains(&EvidenceItem::Frame { id: 4, note: "390 dark".to_owned() }));
}

#[test]
fn c34_four_frames_at_the_previous_head_are_not_fresh() {
    let old = frames().into_iter().map(|frame| Frame { sha: sha(7), ..frame }).collect();
    let result = expect(&with_frames(old), GateId::FramesFresh, FAIL);
    assert!(result.evidence.iter().any(|item| matches!(item,
        EvidenceItem::Fact { value, .. } if value == "captured at 0000000")));
}

#[test]
fn c35_one_image_for_light_and_dark_fails() {
    let mut same = frames();
    same[1].image_hash = same[0].image_hash.clone();
    let result = expect(&with_frames(same), GateId::FramesFresh, FAIL);
    assert_eq!(result.detail, "1280 light and 1280 dark are one image");
}

#[test]
fn a_frame_attached_again_replaces_the_shared_image() {
    let mut list = frames();
    list[1].image_hash = list[0].image_hash.clone();
    list.push(Frame { attached_at: minutes_ago(0), ..frame(9, 1280, "dark") });
    expect(&with_frames(list), GateId::FramesFresh, PASS);
}

#[test]
fn two_routes_of_one_cell_may_show_one_image_and_two_cells_may_not() {
    let mut list = frames();
    list.push(Frame { route: Some(text("/b")), image_hash: "image-1".into(), ..frame(5, 1280, "light") });
    expect(&with_frames(list.clone()), GateId::FramesFresh, PASS);
    list.push(Frame { route: Some(text("/b")), image_hash: "image-1".into(), ..frame(6, 390, "light") });
    expect(&with_frames(list), GateId::FramesFresh, FAIL);
}

#[rstest]
#[case::dirty(|f: Frame| Frame { clean: false, ..f }, FAIL)]
#[case::does_not_decode(|f: Frame| Frame { pixels: None, ..f }, FAIL)]
#[case::wrong_width(|f: Frame| Frame { pixels: Some((1279, 1)), ..f }, FAIL)]
#[case::scale_two_of_double_width(|f: Frame| Frame { scale: 2, pixels: Some((f.width * 2, 1)), ..f }, PASS)]
#[case::scale_two_of_single_width(|f: Frame| Frame { scale: 2, ..f }, FAIL)]
#[case::scale_four(|f: Frame| Frame { scale: 4, pixels: Some((f.width * 4, 1)), ..f }, FAIL)]
#[case::scale_zero(|f: Frame| Frame { scale: 0, pixels: Some((0, 1)), ..f }, FAIL)]
#[case::other_theme(|f: Frame| Frame { theme: "sepia".into(), ..f }, FAIL)]
fn a_frame_counts_when_it_shows_what_it_says(#[case] spoil: fn(Frame) -> Frame, #[case] state: GateState) {
    let list = frames().into_iter().map(|frame| if frame.width == 1280 { spoil(frame) } else { frame });
    expect(&with_frames(list.collect()), GateId::FramesFresh, state);
}

#[test]
fn a_scale_beyond_all_bounds_is_no_overflow() {
    let list = vec![Frame { scale: u32::MAX, width: u32::MAX, ..frame(1, 1280, "light") }];
    let policy = ReviewPolicy { widths: vec![u32::MAX], themes: vec!["light".into()], ..policy() };
    assert_eq!(judge(&with_frames(list), &policy, GateId::FramesFresh).state, FAIL);
}

// ---- no_binaries

#[rstest]
#[case::c20_png_deleted(binary(deleted("a.png")), PASS)]
#[case::c20_png_renamed(binary(renamed("a.png", "b.png", 100)), PASS)]
#[case::c20_png_replaced(binary(modified("a.png")), FAIL)]
#[case::png_added(binary(added("a.png")), FAIL)]
#[case::png_copied(binary(copied("a.png", "b.png")), FAIL)]
#[case::renamed_and_changed(binary(renamed("a.png", "b.png", 80)), FAIL)]
#[case::mode_change(binary(chmod("tool")), PASS)]
// C21: attributes are never read, the content is judged from the blob's bytes.
#[case::c21_text_by_attribute(binary(added("data.bin")), FAIL)]
#[case::text_file_named_png(added("a.png"), PASS)]
#[case::lfs_pointer(ChangedFile { content: Content::LfsPointer, ..added("a.psd") }, FAIL)]
#[case::submodule_moved(
    ChangedFile { old_kind: Kind::Submodule, new_kind: Kind::Submodule, content: Content::None, ..modified("dep") },
    FAIL
)]
#[case::submodule_removed(ChangedFile { old_kind: Kind::Submodule, ..deleted("dep") }, PASS)]
#[case::submodule_became_a_file(
    ChangedFile { status: Status::TypeChanged, old_kind: Kind::Submodule, ..modified("dep") },
    PASS
)]
fn no_binary_is_brought_to_the_head(#[case] file: ChangedFile, #[case] state: GateState) {
    expect(&Evidence { diff: diff([file]), ..good() }, GateId::NoBinaries, state);
}

// ---- no_churn

#[rstest]
#[case::c22_build_rs(added("scripts/build.rs"), PASS)]
#[case::c22_file_called_build(added("build"), PASS)]
#[case::c22_below_build(added("pkg/build/x.js"), FAIL)]
#[case::dist_at_the_root(added("dist/x.js"), FAIL)]
#[case::out_deep_down(modified("a/out/b/c"), FAIL)]
#[case::folder_that_begins_with_build(added("builders/x.rs"), PASS)]
#[case::removed_output(deleted("dist/x.js"), PASS)]
#[case::renamed_out_of_output(renamed("dist/x.js", "src/x.js", 100), PASS)]
#[case::renamed_into_output(renamed("src/x.js", "dist/x.js", 100), FAIL)]
#[case::copied_into_output(copied("src/x.js", "dist/x.js"), FAIL)]
#[case::schemas(added("src-tauri/gen/schemas/a.json"), FAIL)]
#[case::schemas_alone(added("schemas/a.json"), PASS)]
#[case::file_named_schemas(added("gen/schemas"), PASS)]
#[case::modules(added("web/node_modules/a/b.js"), FAIL)]
#[case::modules_as_a_file(added("node_modules"), PASS)]
#[case::modules_in_a_name(added("old_node_modules/a.js"), PASS)]
#[case::ds_store(added("a/.DS_Store"), FAIL)]
#[case::ds_store_removed(deleted(".DS_Store"), PASS)]
#[case::ds_store_in_a_name(added("a/x.DS_Store"), PASS)]
fn no_output_is_brought(#[case] file: ChangedFile, #[case] state: GateState) {
    expect(&Evidence { diff: diff([file]), ..good() }, GateId::NoChurn, state);
}

#[rstest]
#[case::listed("pkg/build/x.js", PASS)]
#[case::another_build("web/build/x.js", FAIL)]
#[case::output_inside_the_sources("pkg/build/dist/x.js", FAIL)]
#[case::modules_inside_the_sources("pkg/build/node_modules/x.js", FAIL)]
#[case::by_glob("crates/a/out/x.rs", PASS)]
#[case::glob_stays_within_a_component("crates/a/b/out/x.rs", FAIL)]
fn source_dirs_are_no_output(#[case] path: &str, #[case] state: GateState) {
    let policy = ReviewPolicy { source_dirs: vec!["pkg/build/".into(), "crates/*/out".into()], ..policy() };
    let evidence = Evidence { diff: diff([added(path)]), ..good() };
    assert_eq!(judge(&evidence, &policy, GateId::NoChurn).state, state);
}

#[rstest]
#[case("gen/a.snap", FAIL)]
#[case("a.snap", FAIL)]
#[case("a.snapshot", PASS)]
fn further_globs_are_churn(#[case] path: &str, #[case] state: GateState) {
    let policy = ReviewPolicy { churn_globs: vec!["**/*.snap".into(), "[".into()], ..policy() };
    let evidence = Evidence { diff: diff([added(path)]), ..good() };
    let result = judge(&evidence, &policy, GateId::NoChurn);
    assert_eq!(result.state, state);
    // A glob that is none is said, not swallowed.
    assert!(
        result.evidence.contains(&EvidenceItem::Fact { name: "no valid glob".into(), value: "[".into() })
    );
}

fn workspace(folder: &str, manifest: &str, members: &[&str]) -> WorkspaceRoot {
    WorkspaceRoot {
        folder: RepoPath::from(folder),
        manifest: manifest.to_owned(),
        members: members.iter().map(|member| RepoPath::from(*member)).collect(),
    }
}

fn locked(files: Vec<ChangedFile>, workspaces: Vec<WorkspaceRoot>) -> Evidence {
    Evidence {
        diff: diff(files),
        tree: Reading::known(TreeFacts { has_ci_definition: true, workspaces, blobs_at_head: Vec::new() }),
        ..good()
    }
}

#[rstest]
#[case::with_its_manifest(&["package-lock.json", "package.json"], PASS)]
#[case::c18_without(&["package-lock.json", "web/package.json"], FAIL)]
#[case::in_one_folder(&["web/package-lock.json", "web/package.json"], PASS)]
#[case::of_another_folder(&["web/package-lock.json", "package.json"], FAIL)]
#[case::shrinkwrap(&["npm-shrinkwrap.json"], FAIL)]
#[case::yarn(&["yarn.lock"], FAIL)]
#[case::bun(&["bun.lock"], FAIL)]
#[case::bun_binary(&["bun.lockb", "package.json"], PASS)]
#[case::pnpm(&["pnpm-lock.yaml"], FAIL)]
#[case::pnpm_catalog(&["pnpm-lock.yaml", "pnpm-workspace.yaml"], PASS)]
#[case::catalog_is_no_manifest_of_npm(&["package-lock.json", "pnpm-workspace.yaml"], FAIL)]
#[case::c19_cargo(&["Cargo.lock"], FAIL)]
#[case::cargo_with(&["Cargo.lock", "Cargo.toml"], PASS)]
#[case::go(&["go.sum"], FAIL)]
#[case::go_with(&["go.sum", "go.mod"], PASS)]
#[case::poetry(&["poetry.lock"], FAIL)]
#[case::uv_with(&["uv.lock", "pyproject.toml"], PASS)]
#[case::ruby(&["Gemfile.lock"], FAIL)]
#[case::ruby_with(&["Gemfile.lock", "Gemfile"], PASS)]
#[case::composer(&["composer.lock"], FAIL)]
#[case::composer_with(&["composer.lock", "composer.json"], PASS)]
#[case::a_name_that_ends_alike(&["my-Cargo.lock"], PASS)]
fn a_lockfile_moves_with_its_manifest(#[case] paths: &[&str], #[case] state: GateState) {
    let files = paths.iter().map(|path| modified(path)).collect();
    expect(&locked(files, Vec::new()), GateId::NoChurn, state);
}

#[rstest]
#[case::c18_member("package-lock.json", "web/package.json", workspace("", "package.json", &["web"]), PASS)]
#[case::not_a_member("package-lock.json", "web/package.json", workspace("", "package.json", &["api"]), FAIL)]
#[case::member_of_another_root("package-lock.json", "web/package.json", workspace("a", "package.json", &["web"]), FAIL)]
#[case::npm_does_not_read_pnpm("package-lock.json", "web/package.json", workspace("", "pnpm-workspace.yaml", &["web"]), FAIL)]
#[case::pnpm("pnpm-lock.yaml", "web/package.json", workspace("", "pnpm-workspace.yaml", &["web"]), PASS)]
#[case::pnpm_does_not_read_npm("pnpm-lock.yaml", "web/package.json", workspace("", "package.json", &["web"]), FAIL)]
#[case::cargo("Cargo.lock", "crates/a/Cargo.toml", workspace("", "Cargo.toml", &["crates/a"]), PASS)]
#[case::cargo_other_manifest("Cargo.lock", "crates/a/package.json", workspace("", "Cargo.toml", &["crates/a"]), FAIL)]
#[case::nested_root("x/Cargo.lock", "x/a/Cargo.toml", workspace("x", "Cargo.toml", &["x/a"]), PASS)]
#[case::go("go.sum", "a/go.mod", workspace("", "go.work", &["a"]), PASS)]
#[case::uv("uv.lock", "a/pyproject.toml", workspace("", "pyproject.toml", &["a"]), PASS)]
#[case::poetry_has_no_workspaces("poetry.lock", "a/pyproject.toml", workspace("", "pyproject.toml", &["a"]), FAIL)]
fn a_member_of_the_lockfiles_own_workspace_counts(
    #[case] lock: &str,
    #[case] manifest: &str,
    #[case] root: WorkspaceRoot,
    #[case] state: GateState,
) {
    expect(&locked(vec![modified(lock), modified(manifest)], vec![root]), GateId::NoChurn, state);
}

#[rstest]
#[case::removed_lock(vec![deleted("Cargo.lock")], PASS)]
#[case::renamed_lock(vec![renamed("a/Cargo.lock", "Cargo.lock", 100)], PASS)]
#[case::renamed_and_changed(vec![renamed("a/Cargo.lock", "b/Cargo.lock", 90)], FAIL)]
#[case::folder_renamed(vec![renamed("a/Cargo.lock", "b/Cargo.lock", 90), renamed("a/Cargo.toml", "b/Cargo.toml", 100)], PASS)]
#[case::added_lock(vec![added("Cargo.lock")], FAIL)]
#[case::copied_lock(vec![copied("a/Cargo.lock", "b/Cargo.lock")], FAIL)]
#[case::mode_of_the_manifest_only(vec![modified("Cargo.lock"), chmod("Cargo.toml")], FAIL)]
#[case::mode_of_the_lock_only(vec![chmod("Cargo.lock")], PASS)]
#[case::manifest_removed(vec![modified("Cargo.lock"), deleted("Cargo.toml")], PASS)]
fn only_moved_content_moves_a_lockfile(#[case] files: Vec<ChangedFile>, #[case] state: GateState) {
    expect(&locked(files, Vec::new()), GateId::NoChurn, state);
}

#[test]
fn a_removed_member_explains_the_lockfile_of_its_root() {
    let files = || vec![modified("Cargo.lock"), deleted("crates/old/Cargo.toml")];
    expect(&locked(files(), vec![workspace("", "Cargo.toml", &[])]), GateId::NoChurn, PASS);
    expect(&locked(files(), Vec::new()), GateId::NoChurn, FAIL);
    let beside = vec![modified("a/Cargo.lock"), deleted("ab/Cargo.toml")];
    expect(&locked(beside, vec![workspace("a", "Cargo.toml", &[])]), GateId::NoChurn, FAIL);
}

#[test]
fn further_lock_pairs_are_held_too() {
    let policy = ReviewPolicy { lock_pairs: vec![("mix.lock".into(), "mix.exs".into())], ..policy() };
    let of = |paths: &[&str]| {
        let files = paths.iter().map(|path| modified(path)).collect();
        judge(&locked(files, Vec::new()), &policy, GateId::NoChurn).state
    };
    assert_eq!(of(&["mix.lock"]), FAIL);
    assert_eq!(of(&["mix.lock", "mix.exs"]), PASS);
}

#[test]
fn an_unread_tree_leaves_only_the_lockfile_undecided() {
    let tree = || Reading::unread(Cause::GitFailed, "bad object");
    let with = |files: Vec<ChangedFile>| Evidence { diff: diff(files), tree: tree(), ..good() };
    expect(&with(vec![modified("Cargo.lock")]), GateId::NoChurn, UNDECIDED);
    expect(&with(vec![modified("Cargo.lock"), modified("Cargo.toml")]), GateId::NoChurn, PASS);
    expect(&with(vec![modified("Cargo.lock"), added("dist/a")]), GateId::NoChurn, FAIL);
}

// ---- no_secrets

#[test]
fn c23_a_secret_of_any_commit_blocks() {
    let evidence = Evidence { secrets: secrets([hit(Tier::High, at_line(0xc1, "src/a.rs", 3))]), ..good() };
    let result = expect(&evidence, GateId::NoSecrets, FAIL);
    assert_eq!(result.detail, "GitHub token at src/a.rs:3");
    assert_eq!(
        result.evidence[0],
        EvidenceItem::File {
            path: "src/a.rs".into(),
            line: Some(3),
            note: "GitHub token, begins with ghp_, commit 0000000".into()
        }
    );
    assert_eq!(cap(&table(&evidence, &policy())), Some(Verdict::Blocked));
}

/// C24 and C25 are decided by the scan itself, which hands no hit over then.
#[test]
fn c24_c25_a_scan_without_hits_passes() {
    expect(&good(), GateId::NoSecrets, PASS);
}

#[rstest]
#[case(Place::Message { commit: sha(0xc1).to_string(), line: 2 }, "(message of 0000000)", 2)]
#[case(at_line(0xc1, "a.env", 7), "a.env", 7)]
#[case(Place::FileName { commit: sha(0xc1).to_string(), path: "k.pem".into() }, "k.pem", 1)]
#[case(Place::Binary { commit: sha(0xc1).to_string(), path: "k.bin".into() }, "k.bin", 1)]
fn a_generic_hit_is_a_finding_of_our_own(#[case] place: Place, #[case] file: &str, #[case] line: u32) {
    let evidence = Evidence { secrets: secrets([hit(Tier::Generic, place)]), ..good() };
    expect(&evidence, GateId::NoSecrets, PASS);
    let table = table(&evidence, &policy());
    assert_eq!((table.own_findings[0].file.as_str(), table.own_findings[0].line), (file, line));
    assert_eq!(cap(&table), Some(Verdict::Changes));
    assert_eq!(lowered_by(Verdict::Accepted, &table), []);
}

#[test]
fn a_line_listed_in_the_config_is_no_secret() {
    let policy = ReviewPolicy { secret_exceptions: vec!["h1".into()], ..policy() };
    let hits = [hit(Tier::High, at_line(1, "a", 1)), hit(Tier::Generic, at_line(1, "a", 1))];
    let table = table(&Evidence { secrets: secrets(hits), ..good() }, &policy);
    assert_eq!(cap(&table), Some(Verdict::Accepted));
}

#[test]
fn bytes_that_were_not_scanned_leave_it_undecided_unless_a_secret_was_found() {
    let with = |hits: Vec<_>| {
        let report =
            secrets(hits).map(|report| steward_rules::secret::SecretReport { skipped_bytes: 9, ..report });
        Evidence { secrets: report, ..good() }
    };
    expect(&with(vec![]), GateId::NoSecrets, UNDECIDED);
    expect(&with(vec![hit(Tier::High, at_line(1, "a", 1))]), GateId::NoSecrets, FAIL);
}

// ---- odd paths

#[rstest]
#[case::plain(added("src/a b.rs"), None)]
#[case::bidi(added("src/a\u{202e}cod.rs"), Some("turns the reading direction"))]
#[case::zero_width(added("src/a\u{200b}.rs"), Some("hidden"))]
#[case::newline(added("src/a\n.rs"), Some("hidden"))]
#[case::escape(added("src/\u{1b}[2J"), Some("hidden"))]
#[case::not_utf8(added_raw(b"src/\xff.rs"), Some("UTF-8"))]
#[case::decomposed(added("cafe\u{301}.md"), Some("decomposed"))]
#[case::composed(added("caf\u{e9}.md"), None)]
#[case::device(added("src/AUX.rs"), Some("device"))]
#[case::device_folder(added("con/a.rs"), Some("device"))]
#[case::port(added("Com1.txt"), Some("device"))]
#[case::no_port(added("com10.txt"), None)]
#[case::nearly_a_device(added("console.rs"), None)]
#[case::git_folder(added("a/.GIT/config"), Some("git keeps"))]
#[case::git_short_name(added("git~1/x"), Some("git keeps"))]
#[case::gitignore(added(".gitignore"), None)]
#[case::trailing_dot(added("a./b"), Some("drops"))]
#[case::colon(added("a:b"), Some("does not allow"))]
#[case::device_that_was_there(modified("src/aux.rs"), None)]
#[case::device_that_goes(deleted("src/aux.rs"), None)]
#[case::hidden_that_was_there(modified("a\u{200b}"), Some("hidden"))]
fn an_odd_path_is_a_finding_of_our_own(#[case] file: ChangedFile, #[case] said: Option<&str>) {
    let table = table(&Evidence { diff: diff([file]), ..good() }, &policy());
    match said {
        None => assert_eq!(table.own_findings, []),
        Some(said) => {
            assert!(table.own_findings[0].why.contains(said), "{:?}", table.own_findings);
            assert!(!table.own_findings[0].file.contains(['\u{202e}', '\n', '\u{1b}']));
            assert_eq!(cap(&table), Some(Verdict::Changes));
        }
    }
}

#[test]
fn paths_that_differ_by_case_only_are_both_named() {
    let files = [added("README.md"), added("readme.md"), added("Readme.txt")];
    let table = table(&Evidence { diff: diff(files), ..good() }, &policy());
    assert_eq!(table.own_findings.len(), 1);
    assert_eq!(table.own_findings[0].file, "readme.md");
    assert!(table.own_findings[0].why.contains("README.md"));
}

#[test]
fn a_rename_of_case_only_collides_with_nothing() {
    let files = [renamed("readme.md", "README.md", 100)];
    assert_eq!(table(&Evidence { diff: diff(files), ..good() }, &policy()).own_findings, []);
}

#[test]
fn own_findings_are_capped_and_the_rest_is_counted() {
    let files = (0..500).map(|number| added(&format!("a{number}:")));
    let table = table(&Evidence { diff: diff(files), ..good() }, &policy());
    assert_eq!(table.own_findings.len(), 201);
    assert!(table.own_findings[200].why.starts_with("300 more"));
}

// ---- the table as a whole

#[test]
fn a_good_head_passes_and_a_purely_local_one_too() {
    for evidence in [good(), local()] {
        let table = table(&evidence, &policy());
        assert_eq!(table.results.iter().map(|result| result.id).collect::<Vec<_>>(), GateId::ALL);
        assert_eq!((cap(&table), table.head), (Some(Verdict::Accepted), head()));
    }
}

#[test]
fn an_unread_diff_leaves_its_gates_undecided_with_the_cause() {
    let evidence = Evidence {
        diff: Reading::unread(Cause::GitFailed, "missing blob\u{1b}[2J"),
        contract: Some(contract(1, &["**"])),
        ..good()
    };
    let table = table(&evidence, &policy());
    let open = undecided(&table);
    assert_eq!(open, [GateId::FramesFresh, GateId::NoBinaries, GateId::NoChurn, GateId::Scope]);
    assert_eq!(cap(&table), None);
    let detail = &table.results[3].detail;
    assert_eq!(detail, "git could not read its objects (missing blob\\u{1b}[2J); run git fsck in the clone");
}

#[test]
fn c6_a_secret_while_ci_runs_is_held_though_the_cap_is_blocked() {
    let mut evidence = Evidence {
        secrets: secrets([hit(Tier::High, at_line(1, "a", 1))]),
        checks: checks([run("verify", 1, "in_progress")]),
        ..good()
    };
    let held = table(&evidence, &policy());
    assert_eq!((cap(&held), cap_so_far(&held)), (None, Verdict::Blocked));
    evidence.checks = checks([run("verify", 1, "success")]);
    assert_eq!(cap(&table(&evidence, &policy())), Some(Verdict::Blocked));
}

#[test]
fn a_gate_can_be_switched_off_but_never_the_two_that_block() {
    let policy = ReviewPolicy { gates_off: GateId::ALL.to_vec(), ..policy() };
    let mut evidence = good();
    evidence.secrets = secrets([hit(Tier::High, at_line(1, "a", 1))]);
    evidence.other_pulls = Reading::known(vec![other_pull(13, &[0xc1], &[])]);
    for id in GateId::ALL {
        let result = judge(&evidence, &policy, id);
        match id {
            GateId::NoSecrets | GateId::NotStacked => assert_eq!(result.state, FAIL),
            _ => assert_eq!(
                (result.state, result.detail.as_str()),
                (NOT_APPLICABLE, "switched off in the config")
            ),
        }
    }
}

#[test]
fn evidence_of_a_huge_change_is_cut_and_counted() {
    let files = (0..1000).map(|number| binary(added(&format!("a{number}.png"))));
    let result = expect(&Evidence { diff: diff(files), ..good() }, GateId::NoBinaries, FAIL);
    assert_eq!(result.evidence.len(), 101);
    assert_eq!(result.evidence[100], EvidenceItem::Fact { name: "not listed".into(), value: "900".into() });
    assert_eq!(result.detail, "a0.png: binary, and 999 more");
}
