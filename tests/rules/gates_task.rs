//! The gates that hang on what was agreed and reported for a task: validator, scope, mutations, Peers.

use rstest::rstest;
use steward_rules::diff::{ChangedFile, RepoPath};
use steward_rules::ids::PullNumber;
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::*;
use steward_rules::review::gate::{GateId, GateState, cap};
use steward_rules::review::verdict::Verdict;

use crate::world::*;

// ---- contract: validator, scope, mutations

#[test]
fn c32_without_a_contract_three_gates_do_not_apply_and_lower_nothing() {
    let table = table(&good(), &policy());
    for id in [GateId::Validator, GateId::Scope, GateId::MutationsCommitted] {
        expect(&good(), id, NOT_APPLICABLE);
    }
    assert_eq!(cap(&table), Some(Verdict::Accepted));
}

fn agreed(scope: &[&str], verdicts: Vec<ValidatorVerdict>) -> Evidence {
    Evidence { contract: Some(contract(2, scope)), validator: verdicts, ..good() }
}

#[rstest]
#[case::none(vec![], FAIL)]
#[case::pass_at_the_head(vec![validated(2, head(), ValidatorOutcome::Pass, 5)], PASS)]
#[case::fail_at_the_head(vec![validated(2, head(), ValidatorOutcome::Fail, 5)], FAIL)]
#[case::running_at_the_head(vec![validated(2, head(), ValidatorOutcome::Running, 5)], UNDECIDED)]
#[case::running_elsewhere(vec![validated(2, sha(7), ValidatorOutcome::Running, 5)], FAIL)]
#[case::other_commit(vec![validated(2, sha(7), ValidatorOutcome::Pass, 5)], FAIL)]
#[case::older_version_only(vec![validated(1, head(), ValidatorOutcome::Pass, 5)], FAIL)]
#[case::older_version_failed(vec![validated(1, head(), ValidatorOutcome::Fail, 1), validated(2, head(), ValidatorOutcome::Pass, 5)], PASS)]
#[case::newest_fails(vec![validated(2, head(), ValidatorOutcome::Pass, 5), validated(2, head(), ValidatorOutcome::Fail, 1)], FAIL)]
#[case::newest_by_time_not_by_place(vec![validated(2, head(), ValidatorOutcome::Pass, 1), validated(2, head(), ValidatorOutcome::Fail, 5)], PASS)]
#[case::same_moment_later_told(vec![validated(2, head(), ValidatorOutcome::Fail, 5), validated(2, head(), ValidatorOutcome::Pass, 5)], PASS)]
#[case::scope_violation(vec![ValidatorVerdict { scope_violation: true, ..validated(2, head(), ValidatorOutcome::Pass, 5) }], FAIL)]
fn the_newest_verdict_for_the_contract_in_force_counts(
    #[case] verdicts: Vec<ValidatorVerdict>,
    #[case] state: GateState,
) {
    expect(&agreed(&["src/**"], verdicts), GateId::Validator, state);
}

#[test]
fn a_verdict_for_another_commit_says_which() {
    let evidence = agreed(&[], vec![validated(2, sha(7), ValidatorOutcome::Pass, 5)]);
    let result = expect(&evidence, GateId::Validator, FAIL);
    assert_eq!(result.detail, "the validator judged 0000000, the head is abcdef0");
}

#[rstest]
#[case::inside(&["src/**"], added("src/a/b.rs"), PASS)]
#[case::outside(&["src/**"], added("docs/a.md"), FAIL)]
#[case::star_stays_in_a_folder(&["src/*.rs"], added("src/a/b.rs"), FAIL)]
#[case::folder_with_a_slash(&["src/"], added("src/a/b.rs"), PASS)]
#[case::folder_prefix_of_another(&["src/"], added("src2/a.rs"), FAIL)]
#[case::dot_slash(&["./src/**"], added("src/a.rs"), PASS)]
#[case::deletion_outside(&["src/**"], deleted("docs/a.md"), FAIL)]
#[case::renamed_from_outside(&["src/**"], renamed("docs/a.md", "src/a.md", 100), FAIL)]
#[case::renamed_to_outside(&["src/**"], renamed("src/a.md", "docs/a.md", 100), FAIL)]
#[case::copied_from_outside(&["src/**"], copied("docs/a.md", "src/a.md"), PASS)]
#[case::c41_plan_file(&["src/**"], added("docs/plans/a/b.md"), PASS)]
#[case::empty_scope(&[], added("src/a.rs"), FAIL)]
#[case::empty_scope_plan(&[], added("docs/plans/a.md"), PASS)]
#[case::other_case(&["src/**"], added("Src/a.rs"), FAIL)]
#[case::broken_glob(&["src/[**"], added("src/a.rs"), FAIL)]
#[case::not_utf8(&["src/**"], added_raw(b"src/\xff"), PASS)]
fn every_changed_path_is_in_the_scope(
    #[case] scope: &[&str],
    #[case] file: ChangedFile,
    #[case] state: GateState,
) {
    expect(&Evidence { diff: diff([file]), ..agreed(scope, vec![]) }, GateId::Scope, state);
}

fn mutated(at: u64, paths: &[(&str, u64)], known: &[(&str, Option<u64>)]) -> Evidence {
    let at = if at == 0 { head() } else { sha(at) };
    let paths =
        paths.iter().map(|(path, blob)| MutatedPath { path: RepoPath::from(*path), blob: sha(*blob) });
    let mutations = Some(MutationRun { sha: at, paths: paths.collect() });
    let verdict = ValidatorVerdict { mutations, ..validated(2, head(), ValidatorOutcome::Pass, 5) };
    let blobs_at_head = known.iter().map(|(path, blob)| (RepoPath::from(*path), blob.map(sha))).collect();
    Evidence {
        contract: Some(Contract { mutations: Mutations::Required, ..contract(2, &["src/**"]) }),
        validator: vec![verdict],
        tree: Reading::known(TreeFacts { has_ci_definition: true, workspaces: vec![], blobs_at_head }),
        ..good()
    }
}

#[rstest]
#[case::restored(mutated(0, &[("a", 1)], &[("a", Some(1))]), PASS)]
#[case::left_changed(mutated(0, &[("a", 2)], &[("a", Some(1))]), FAIL)]
#[case::created_and_left(mutated(0, &[("a", 2)], &[("a", None)]), FAIL)]
#[case::created_and_removed(mutated(0, &[("a", 0)], &[("a", None)]), PASS)]
#[case::removed_and_left_so(mutated(0, &[("a", 0)], &[("a", Some(1))]), FAIL)]
#[case::not_read(mutated(0, &[("a", 1)], &[]), UNDECIDED)]
#[case::one_left_one_not_read(mutated(0, &[("a", 1), ("b", 2)], &[("b", Some(3))]), FAIL)]
#[case::at_another_commit(mutated(9, &[("a", 1)], &[("a", Some(1))]), FAIL)]
#[case::nothing_touched(mutated(0, &[], &[]), FAIL)]
fn mutations_ran_at_the_head_and_are_undone(#[case] evidence: Evidence, #[case] state: GateState) {
    expect(&evidence, GateId::MutationsCommitted, state);
}

#[test]
fn mutations_are_asked_for_by_the_contract_only() {
    let mut evidence = mutated(9, &[("a", 1)], &[]);
    evidence.contract = Some(contract(2, &[]));
    expect(&evidence, GateId::MutationsCommitted, NOT_APPLICABLE);
}

#[test]
fn a_verdict_without_mutations_is_no_mutation_run() {
    let mut evidence = mutated(0, &[("a", 1)], &[("a", Some(1))]);
    evidence.validator[0].mutations = None;
    expect(&evidence, GateId::MutationsCommitted, FAIL);
    evidence.validator[0].verdict = ValidatorOutcome::Running;
    expect(&evidence, GateId::MutationsCommitted, UNDECIDED);
    evidence.validator.clear();
    expect(&evidence, GateId::MutationsCommitted, FAIL);
}

// ---- peer_claims

fn peers(handoffs: Vec<Handoff>) -> Evidence {
    Evidence { handoffs, ..good() }
}

#[rstest]
#[case::none(vec![], NOT_APPLICABLE)]
#[case::done(vec![handoff("a", PeerStatus::Done, 1)], PASS)]
#[case::blocked(vec![handoff("a", PeerStatus::Blocked, 1)], FAIL)]
#[case::failed(vec![handoff("a", PeerStatus::Failed, 1)], FAIL)]
#[case::running(vec![handoff("a", PeerStatus::Running, 1)], UNDECIDED)]
#[case::c36_blocked_then_done(vec![handoff("a", PeerStatus::Blocked, 5), handoff("a", PeerStatus::Done, 1)], PASS)]
#[case::done_then_blocked(vec![handoff("a", PeerStatus::Done, 5), handoff("a", PeerStatus::Blocked, 1)], FAIL)]
#[case::two_peers(vec![handoff("a", PeerStatus::Blocked, 5), handoff("b", PeerStatus::Done, 1)], FAIL)]
#[case::failed_beside_running(vec![handoff("a", PeerStatus::Running, 5), handoff("b", PeerStatus::Failed, 1)], FAIL)]
#[case::same_moment(vec![handoff("a", PeerStatus::Blocked, 1), handoff("a", PeerStatus::Done, 1)], PASS)]
fn the_newest_handoff_per_peer_counts(#[case] handoffs: Vec<Handoff>, #[case] state: GateState) {
    expect(&peers(handoffs), GateId::PeerClaims, state);
}

fn claimed(id: &str, patch_id: Option<&str>) -> PeerClaims {
    let commits = vec![ClaimedCommit { text: id.into(), patch_id: patch_id.map(str::to_owned) }];
    PeerClaims { commits, ..PeerClaims::default() }
}

#[rstest]
#[case::in_range(claimed(sha(0xc1).as_str(), None), PASS)]
#[case::abbreviated(claimed(&sha(0xc1).as_str()[..39], None), PASS)]
#[case::too_short(claimed("000000", None), FAIL)]
#[case::outside(claimed(sha(0xdd).as_str(), None), FAIL)]
#[case::rebased_same_patch(claimed(sha(0xdd).as_str(), Some("patch-193")), PASS)]
#[case::other_patch(claimed(sha(0xdd).as_str(), Some("patch-1")), FAIL)]
#[case::changed_file(PeerClaims { files: vec![RepoPath::from("src/cache.rs")], ..PeerClaims::default() }, PASS)]
#[case::unchanged_file(PeerClaims { files: vec![RepoPath::from("src/other.rs")], ..PeerClaims::default() }, FAIL)]
#[case::the_pull(PeerClaims { pull: Some(PullNumber(12)), ..PeerClaims::default() }, PASS)]
#[case::another_pull(PeerClaims { pull: Some(PullNumber(13)), ..PeerClaims::default() }, FAIL)]
fn claims_agree_with_the_facts(#[case] claims: PeerClaims, #[case] state: GateState) {
    let handoff = Handoff { claims, ..handoff("a", PeerStatus::Done, 1) };
    expect(&peers(vec![handoff]), GateId::PeerClaims, state);
}

#[test]
fn a_commit_without_a_patch_id_matches_no_other_such_commit() {
    let mut evidence =
        peers(vec![Handoff { claims: claimed("ffffffff", None), ..handoff("a", PeerStatus::Done, 1) }]);
    evidence.commits = Reading::known(vec![CommitFacts { patch_id: None, ..commit(0xc1) }]);
    expect(&evidence, GateId::PeerClaims, FAIL);
}

#[test]
fn only_what_is_claimed_must_be_read() {
    let unread = || Reading::unread(Cause::ForgeFailed, "502");
    let claims = PeerClaims { pull: Some(PullNumber(12)), ..PeerClaims::default() };
    let with = |claims| Evidence {
        pull: unread(),
        handoffs: vec![Handoff { claims, ..handoff("a", PeerStatus::Done, 1) }],
        ..good()
    };
    expect(&with(claims), GateId::PeerClaims, UNDECIDED);
    expect(&with(PeerClaims::default()), GateId::PeerClaims, PASS);
}

#[test]
fn a_claimed_pull_of_a_local_repository_is_not_judged() {
    let claims = PeerClaims { pull: Some(PullNumber(12)), ..PeerClaims::default() };
    let evidence =
        Evidence { handoffs: vec![Handoff { claims, ..handoff("a", PeerStatus::Done, 1) }], ..local() };
    expect(&evidence, GateId::PeerClaims, PASS);
}
