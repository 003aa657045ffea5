//! What landed, beside what must have: the table of ways to land, the table of judgements, and their laws.

use proptest::prelude::*;
use rstest::rstest;
use steward_rules::diff::RepoPath;
use steward_rules::engine::landed::{
    Commit, Expected, Facts, History, Kept, Landed, Method, Place, TRIES, Unproven, again, judge, place,
};
use steward_rules::ids::Sha;
use steward_rules::reading::{Cause, Reading};

fn sha(number: u32) -> Sha {
    Sha::new(&format!("{number:040x}")).unwrap()
}

fn commit(id: u32, parents: &[u32], mark: &str) -> Commit {
    Commit { id: sha(id), parents: parents.iter().map(|id| sha(*id)).collect(), mark: mark.to_owned() }
}

fn paths(names: &[&str]) -> Vec<RepoPath> {
    names.iter().map(|name| RepoPath::from(*name)).collect()
}

const HEAD: u32 = 0xbeef;
/// Landed commits are 20, 21 …, the base 10, own commits 1, 2 ….
const BASE: u32 = 10;

fn found(holds_head: bool, chain: &[Commit], own: &[Commit]) -> Result<Place, Unproven> {
    place(&History { head: &sha(HEAD), holds_head, chain, own })
}

/// The method, what it was landed onto, what was brought, and what was replayed.
fn said(found: Result<Place, Unproven>) -> String {
    let short = |sha: &Sha| sha.as_str().trim_start_matches('0').to_owned();
    match found {
        Err(why) => why.slug().to_owned(),
        Ok(place) => {
            let replayed: Vec<String> = place.replayed.iter().map(&short).collect();
            let onto = place.onto.as_ref().map_or("-".to_owned(), &short);
            format!("{} {onto} {} {}", place.method.as_str(), short(&place.brought), replayed.join(","))
                .trim_end()
                .to_owned()
        }
    }
}

#[rstest]
#[case::nothing_read(false, vec![], vec![], "shape")]
#[case::the_head_itself(true, vec![commit(HEAD, &[BASE], "a")], vec![], "pushed - beef")]
#[case::the_head_itself_a_merge(true, vec![commit(HEAD, &[BASE, 1], "a")], vec![], "pushed - beef")]
#[case::a_later_commit_that_has_it(true, vec![commit(20, &[1], "x")], vec![], "pushed - beef")]
#[case::a_first_commit(false, vec![commit(20, &[], "x")], vec![commit(HEAD, &[BASE], "a")], "shape")]
#[case::merge(true, vec![commit(20, &[BASE, HEAD], "m")], vec![], "merge a beef")]
#[case::merge_of_more_than_the_head(true, vec![commit(20, &[BASE, 7], "m")], vec![], "merge a 7")]
#[case::merge_of_something_else(false, vec![commit(20, &[BASE, 7], "m")], vec![commit(HEAD, &[1], "b")], "merge a beef")]
#[case::three_parents(true, vec![commit(20, &[BASE, HEAD, 7], "m")], vec![], "shape")]
#[case::squash(false, vec![commit(20, &[BASE], "s")], vec![commit(1, &[9], "a"), commit(HEAD, &[1], "b")], "squash a beef")]
#[case::squash_of_a_branch_with_merges_alone(false, vec![commit(20, &[BASE], "s")], vec![], "squash a beef")]
#[case::rebase_of_one(false, vec![commit(20, &[BASE], "b")], vec![commit(HEAD, &[9], "b")], "rebase a beef beef")]
#[case::rebase_of_two(
    false,
    vec![commit(21, &[20], "b"), commit(20, &[BASE], "a"), commit(BASE, &[9], "z")],
    vec![commit(1, &[9], "a"), commit(HEAD, &[1], "b")],
    "rebase a beef 1,beef"
)]
#[case::rebase_that_left_one_out(
    false,
    vec![commit(21, &[20], "c"), commit(20, &[BASE], "a"), commit(BASE, &[9], "z")],
    vec![commit(1, &[9], "a"), commit(2, &[1], "b"), commit(HEAD, &[2], "c")],
    "rebase a beef 1,beef"
)]
#[case::the_order_of_the_head_counts(
    false,
    vec![commit(21, &[20], "a"), commit(20, &[BASE], "b")],
    vec![commit(1, &[9], "a"), commit(HEAD, &[1], "b")],
    "rebase 14 beef 1"
)]
// The incident of April 2026: two squashes in a row, of which the second takes the first back.
#[case::a_squash_behind_another_is_no_rebase(
    false,
    vec![commit(21, &[20], "s2"), commit(20, &[BASE], "s1"), commit(BASE, &[9], "z")],
    vec![commit(1, &[9], "a"), commit(HEAD, &[1], "b")],
    "squash 14 beef"
)]
#[case::a_rebase_ends_at_what_is_not_its_own(
    false,
    vec![commit(22, &[21], "b"), commit(21, &[20], "theirs"), commit(20, &[BASE], "a")],
    vec![commit(1, &[9], "a"), commit(HEAD, &[1], "b")],
    "rebase 15 beef beef"
)]
fn how_a_head_landed(
    #[case] holds_head: bool,
    #[case] chain: Vec<Commit>,
    #[case] own: Vec<Commit>,
    #[case] expected: &str,
) {
    assert_eq!(said(found(holds_head, &chain, &own)), expected);
}

const RIGHT: u32 = 0x7ee;
const WRONG: u32 = 0xbad;

fn expected(tree: u32, conflicts: &[&str], differing: &[&str]) -> Reading<Expected> {
    Reading::known(Expected { tree: sha(tree), conflicts: paths(conflicts), differing: paths(differing) })
}

fn unread<T>() -> Reading<T> {
    Reading::unread(Cause::FetchFailed, "no network")
}

fn whole() -> Reading<Kept> {
    Reading::known(Kept::Whole)
}

fn lost(names: &[&str]) -> Reading<Kept> {
    Reading::known(Kept::Lost(paths(names)))
}

fn squash() -> Result<Place, Unproven> {
    found(false, &[commit(20, &[BASE], "s")], &[])
}

fn clean() -> Facts {
    Facts {
        place: squash(),
        tree: Reading::known(sha(RIGHT)),
        expected: vec![expected(RIGHT, &[], &[])],
        before: vec![whole()],
        now: Some(whole()),
    }
}

fn verdict(facts: &Facts) -> String {
    match judge(facts) {
        Landed::Proven => "proven".to_owned(),
        Landed::Different { paths } => {
            let names: Vec<String> = paths.iter().map(RepoPath::shown).collect();
            format!("different {}", names.join(" "))
        }
        Landed::Undecided(why) => format!("undecided {}", why.slug()),
    }
}

#[rstest]
#[case::clean(|_: &mut Facts| {}, "proven")]
#[case::no_merge_makes_such_a_commit(|f: &mut Facts| f.place = Err(Unproven::Shape { parents: 3 }), "undecided shape")]
#[case::lost_below_such_a_commit(
    |f: &mut Facts| { f.place = Err(Unproven::Shape { parents: 3 }); f.before.push(lost(&["x"])) },
    "different x"
)]
#[case::nothing_was_merged(|f: &mut Facts| f.expected.clear(), "proven")]
#[case::the_base_is_gone(|f: &mut Facts| f.now = None, "proven")]
#[case::nothing_known_of_before(|f: &mut Facts| f.before.clear(), "proven")]
#[case::another_rightful_way(|f: &mut Facts| f.expected.insert(0, expected(WRONG, &[], &["a"])), "proven")]
#[case::a_way_unread_beside_the_right_one(|f: &mut Facts| f.expected.insert(0, unread()), "proven")]
#[case::another_tree(|f: &mut Facts| f.expected = vec![expected(WRONG, &[], &["b", "a"])], "different a b")]
#[case::no_way_makes_it(
    |f: &mut Facts| f.expected = vec![expected(WRONG, &[], &["a"]), expected(1, &[], &["a", "b"])],
    "different a"
)]
#[case::a_way_unread(|f: &mut Facts| f.expected = vec![expected(WRONG, &[], &["a"]), unread()], "undecided unread")]
#[case::tree_unread(|f: &mut Facts| f.tree = unread(), "undecided unread")]
#[case::tree_unread_where_nothing_was_merged(|f: &mut Facts| { f.tree = unread(); f.expected.clear() }, "undecided unread")]
#[case::the_same_tree_with_a_conflict_in_it(|f: &mut Facts| f.expected = vec![expected(RIGHT, &["a"], &[])], "undecided conflict")]
#[case::a_conflict_decided(|f: &mut Facts| f.expected = vec![expected(WRONG, &["a"], &["a"])], "undecided conflict")]
#[case::more_than_the_conflict(|f: &mut Facts| f.expected = vec![expected(WRONG, &["a"], &["a", "b"])], "different b")]
#[case::differing_nowhere(|f: &mut Facts| f.expected = vec![expected(WRONG, &[], &[])], "undecided unread")]
#[case::lost_before(|f: &mut Facts| f.before.push(lost(&["x"])), "different x")]
#[case::lost_since(|f: &mut Facts| f.now = Some(lost(&["x"])), "different x")]
#[case::lost_and_another_tree(
    |f: &mut Facts| { f.now = Some(lost(&["x", "a"])); f.expected = vec![expected(WRONG, &[], &["a"])] },
    "different a x"
)]
#[case::lost_at_no_path(|f: &mut Facts| f.before.push(lost(&[])), "proven")]
#[case::before_unread(|f: &mut Facts| f.before.push(unread()), "undecided unread")]
#[case::now_unread(|f: &mut Facts| f.now = Some(unread()), "undecided unread")]
#[case::not_on_the_base_yet(|f: &mut Facts| f.now = Some(Reading::known(Kept::NotYet)), "undecided not_on_base")]
// What is seen to be wrong is told, whatever else is not known.
#[case::lost_and_the_tree_unread(|f: &mut Facts| { f.before.push(lost(&["x"])); f.tree = unread() }, "different x")]
#[case::another_tree_and_now_unread(
    |f: &mut Facts| { f.expected = vec![expected(WRONG, &[], &["a"])]; f.now = Some(unread()) },
    "different a"
)]
fn what_is_known_of_a_merge(#[case] change: fn(&mut Facts), #[case] expected: &str) {
    let mut facts = clean();
    change(&mut facts);
    assert_eq!(verdict(&facts), expected);
}

fn kept() -> impl Strategy<Value = Reading<Kept>> {
    prop_oneof![
        4 => Just(whole()),
        1 => Just(Reading::known(Kept::NotYet)),
        1 => Just(lost(&["x"])),
        1 => Just(unread()),
    ]
}

fn facts() -> impl Strategy<Value = Facts> {
    let way = prop_oneof![
        3 => Just(expected(RIGHT, &[], &[])),
        2 => Just(expected(WRONG, &[], &["a"])),
        1 => Just(expected(WRONG, &["a"], &["a"])),
        1 => Just(unread()),
    ];
    (
        prop_oneof![4 => Just(Reading::known(sha(RIGHT))), 1 => Just(unread())],
        proptest::collection::vec(way, 1..4),
        proptest::collection::vec(kept(), 0..3),
        proptest::option::of(kept()),
    )
        .prop_map(|(tree, expected, before, now)| Facts { place: squash(), tree, expected, before, now })
}

fn is_undecided(landed: &Landed) -> bool {
    matches!(landed, Landed::Undecided(_))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    /// Nothing is proven but by the tree itself, and with everything that was asked for in place.
    #[test]
    fn only_a_tree_that_was_read_and_a_base_that_was_seen_prove(facts in facts()) {
        let right = |one: &Reading<Expected>| one.get().is_ok_and(|one| one.tree == sha(RIGHT));
        let kept = facts.before.iter().chain(&facts.now).all(|one| one.get().is_ok_and(|one| *one == Kept::Whole));
        let read = facts.tree.get().is_ok() && facts.expected.iter().any(right) && kept;
        prop_assert_eq!(judge(&facts) == Landed::Proven, read, "{:?}", facts);
    }

    /// What could not be read never raises an alarm, and never proves what was not proven.
    #[test]
    fn forgetting_a_fact_neither_proves_nor_alarms(facts in facts(), at in 0_usize..8) {
        let mut less = facts.clone();
        let (before, expected) = (less.before.len(), less.expected.len());
        match at {
            0 => less.tree = unread(),
            1 if less.now.is_some() => less.now = Some(unread()),
            2 | 3 if before > 0 => less.before[at % before] = unread(),
            _ => less.expected[at % expected] = unread(),
        }
        match (judge(&facts), judge(&less)) {
            (Landed::Proven, Landed::Different { .. }) => prop_assert!(false, "an alarm of {:?}", less),
            (Landed::Undecided(_), after) => prop_assert!(is_undecided(&after), "{:?} of {:?}", after, less),
            (Landed::Different { .. }, after) => prop_assert_ne!(after, Landed::Proven),
            (Landed::Proven, Landed::Proven | Landed::Undecided(_)) => {}
        }
    }
}

#[test]
fn patience_grows_is_bounded_and_lasts_about_a_day() {
    let waits: Vec<i64> = (1..TRIES).map(|tries| again(tries).unwrap().num_minutes()).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360]);
    assert_eq!((again(TRIES), again(TRIES + 1), again(u32::MAX)), (None, None, None));
    assert!((18 * 60..30 * 60).contains(&waits.iter().sum::<i64>()));
}

#[test]
fn every_reason_has_a_sentence_and_shows_no_hidden_character() {
    use steward_rules::wording::landed::{different, left};
    let conflict = Unproven::Conflict { paths: paths(&["a\u{202e}.txt", "b"]) };
    let said = [
        different(12, &paths(&["docs/\u{1b}[2Ja", "b", "c", "d", "e"])),
        different(12, &paths(&["a"])),
        left(12, &Unproven::Unread(steward_rules::reading::Why::new(Cause::FetchFailed, "no\nnetwork"))),
        left(12, &Unproven::NotOnBase),
        left(12, &conflict),
        left(12, &Unproven::Shape { parents: 3 }),
    ];
    insta::assert_snapshot!(said.join("\n"), @r"
    what landed with #12 is not what its merge makes: it differs at docs/\u{1b}[2Ja, b, c and 2 more
    what landed with #12 is not what its merge makes: it differs at a
    the merge of #12 is not proven: the merge could not be read whole: no\nnetwork
    the merge of #12 is not proven: the base branch does not show the landed commit yet
    the merge of #12 is not proven: both sides changed a\u{202e}.txt, b, and somebody decided by hand what becomes of it; all else is as it must be
    the merge of #12 is not proven: the landed commit has 3 parents, as no merge of a pull request has
    ");
    assert!(
        said.iter().all(|text| !text.chars().any(|c| c != '\n' && steward_rules::untrusted::is_hidden(c)))
    );
    let finals = [(&conflict, true), (&Unproven::Shape { parents: 3 }, true), (&Unproven::NotOnBase, false)];
    for (why, is_final) in finals {
        assert_eq!(why.is_final(), is_final, "{why:?}");
        assert!(left(12, why).ends_with(&why.message()) && !why.message().is_empty(), "{why:?}");
    }
    assert_eq!(Method::Pushed.as_str(), "pushed");
}
