//! What of the change the seat was given or read.

use proptest::prelude::*;
use rstest::rstest;
use steward_rules::review::coverage::*;
use steward_rules::review::verdict::Verdict;

fn lines(ranges: &[(u32, u32)]) -> Vec<(Side, LineRange)> {
    ranges.iter().map(|(from, to)| (Side::Head, LineRange::new(*from, *to))).collect()
}

fn manifest(changed: &[(u32, u32)], given: &[(u32, u32)]) -> Manifest {
    let given = Given::Lines { lines: lines(given) };
    Manifest { files: vec![ManifestFile { file: "a.rs".into(), changed: lines(changed), given }] }
}

fn read(ranges: &[(u32, u32)]) -> Vec<ReadLines> {
    lines(ranges).into_iter().map(|(side, lines)| ReadLines { file: "a.rs".into(), side, lines }).collect()
}

#[rstest]
#[case::all_given(&[(1, 9)], &[(1, 9)], &[], &[])]
#[case::all_read(&[(1, 9)], &[], &[(1, 100)], &[])]
#[case::given_and_read_meet(&[(1, 9)], &[(1, 4)], &[(5, 9)], &[])]
#[case::a_gap_between(&[(1, 9)], &[(1, 4)], &[(6, 9)], &[(5, 5)])]
#[case::both_ends(&[(3, 9)], &[], &[(5, 6)], &[(3, 4), (7, 9)])]
#[case::nothing(&[(3, 9), (20, 20)], &[], &[], &[(3, 9), (20, 20)])]
#[case::one_read_over_two_changes(&[(3, 4), (8, 9)], &[], &[(4, 8)], &[(3, 3), (9, 9)])]
#[case::touching_changes_are_one(&[(3, 4), (5, 6)], &[], &[], &[(3, 6)])]
#[case::unordered_and_overlapping(&[(8, 9), (1, 5), (4, 6)], &[], &[(9, 9), (1, 1)], &[(2, 6), (8, 8)])]
#[case::inside_out_ranges_are_none(&[(9, 1)], &[], &[], &[])]
#[case::up_to_the_last_number(&[(1, u32::MAX)], &[], &[(1, u32::MAX)], &[])]
#[case::no_change(&[], &[], &[], &[])]
fn every_changed_line_is_given_or_read(
    #[case] changed: &[(u32, u32)],
    #[case] given: &[(u32, u32)],
    #[case] seen: &[(u32, u32)],
    #[case] unread: &[(u32, u32)],
) {
    let coverage = cover(&manifest(changed, given), &read(seen));
    let left: Vec<(u32, u32)> = coverage.unread.iter().map(|one| (one.from, one.to)).collect();
    assert_eq!(left, unread);
    assert_eq!(coverage.complete, unread.is_empty());
}

#[test]
fn reading_another_file_or_side_does_not_count() {
    let mut seen = read(&[(1, 9)]);
    seen[0].file = "b.rs".into();
    assert!(!cover(&manifest(&[(1, 9)], &[]), &seen).complete);
    let mut seen = read(&[(1, 9)]);
    seen[0].side = Side::Base;
    assert!(!cover(&manifest(&[(1, 9)], &[]), &seen).complete);
}

#[test]
fn removed_lines_are_changed_lines_of_the_base() {
    let changed = vec![(Side::Base, LineRange::new(4, 6))];
    let of = |given| {
        let given = Given::Lines { lines: given };
        Manifest { files: vec![ManifestFile { file: "a.rs".into(), changed: changed.clone(), given }] }
    };
    assert!(cover(&of(changed.clone()), &[]).complete);
    assert!(!cover(&of(vec![]), &read(&[(1, 100)])).complete);
}

#[test]
fn a_declared_exclusion_is_listed_and_need_not_be_read() {
    let mut manifest = manifest(&[(1, 2)], &[(1, 2)]);
    let given = Given::Excluded { why: Exclusion::Lockfile };
    manifest.files.push(ManifestFile { file: "Cargo.lock".into(), changed: lines(&[(1, 900)]), given });
    let coverage = cover(&manifest, &[]);
    assert!(coverage.complete);
    assert_eq!(coverage.excluded, [Excluded { file: "Cargo.lock".into(), why: Exclusion::Lockfile }]);
}

#[rstest]
#[case(Verdict::Accepted, Verdict::Changes, Some("not read: a.rs:3-9, a.rs:20"))]
#[case(Verdict::Changes, Verdict::Changes, None)]
#[case(Verdict::Blocked, Verdict::Blocked, None)]
fn accepted_with_unread_lines_is_lowered(
    #[case] said: Verdict,
    #[case] verdict: Verdict,
    #[case] reason: Option<&str>,
) {
    let coverage = cover(&manifest(&[(3, 9), (20, 20)], &[]), &[]);
    assert_eq!(lower(said, &coverage), (verdict, reason.map(str::to_owned)));
}

#[test]
fn accepted_with_all_read_stays() {
    let coverage = cover(&manifest(&[(3, 9)], &[(3, 9)]), &[]);
    assert_eq!(lower(Verdict::Accepted, &coverage), (Verdict::Accepted, None));
}

fn ranges() -> impl Strategy<Value = Vec<(u32, u32)>> {
    prop::collection::vec((1_u32..40, 0_u32..6).prop_map(|(from, more)| (from, from + more)), 0..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Held against an oracle that looks at one line after the other.
    #[test]
    fn what_is_left_is_what_a_line_by_line_look_leaves(changed in ranges(), given in ranges(), seen in ranges()) {
        let holds = |list: &[(u32, u32)], line: u32| list.iter().any(|(from, to)| (*from..=*to).contains(&line));
        let coverage = cover(&manifest(&changed, &given), &read(&seen));
        let left: Vec<(u32, u32)> = coverage.unread.iter().map(|one| (one.from, one.to)).collect();
        for line in 0..50 {
            let expected = holds(&changed, line) && !holds(&given, line) && !holds(&seen, line);
            prop_assert_eq!(holds(&left, line), expected, "line {}", line);
        }
    }
}
