//! A merge keeps what both sides did to entries, and a formatter makes and loses none.

use rstest::rstest;
use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::kept::{reshaped, unkept};
use steward_rules::engine::supersede::Values;

fn values(text: &str) -> Values {
    let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
    pairs.map(|(key, value)| (EntryKey::new("works", key), value.to_owned())).collect()
}

fn ids(keys: Vec<EntryKey>) -> Vec<String> {
    keys.into_iter().map(|key| key.id).collect()
}

#[rstest]
#[case::nothing_moved("a=1", "a=1", "a=1", "a=1", &[])]
#[case::ours_changed("a=1", "a=2", "a=1", "a=2", &[])]
#[case::theirs_changed("a=1", "a=1", "a=2", "a=2", &[])]
#[case::both_alike("a=1", "a=2", "a=2", "a=2", &[])]
#[case::both_changed_and_it_is_there("a=1", "a=2", "a=3", "a=4", &[])]
#[case::added_on_each_side("", "a=1", "b=1", "a=1 b=1", &[])]
#[case::removed_here("a=1 b=1", "b=1", "a=1 b=1", "b=1", &[])]
#[case::our_change_is_lost("a=1", "a=2", "a=1", "a=1", &["a"])]
#[case::their_addition_is_lost("", "a=1", "b=1", "a=1", &["b"])]
#[case::a_removal_came_back("a=1 b=1", "b=1", "a=1 b=1", "a=1 b=1", &["a"])]
#[case::deleted_and_changed("a=1", "", "a=2", "a=2", &["a"])]
#[case::deleted_and_changed_the_other_way("a=1", "a=2", "", "", &["a"])]
#[case::both_changed_and_it_is_gone("a=1", "a=2", "a=3", "", &["a"])]
#[case::out_of_nowhere("a=1", "a=1", "a=1", "a=1 z=1", &["z"])]
fn each_entry_says_what_it_must(
    #[case] below: &str,
    #[case] ours: &str,
    #[case] theirs: &str,
    #[case] merged: &str,
    #[case] wrong: &[&str],
) {
    let (below, merged) = (values(below), values(merged));
    let (ours, theirs) = (values(ours), values(theirs));
    assert_eq!(ids(unkept(&below, &ours, &theirs, &merged)), wrong);
    assert_eq!(ids(unkept(&below, &theirs, &ours, &merged)), wrong, "the sides are alike");
}

#[test]
fn a_formatter_writes_values_anew_and_neither_makes_nor_loses_an_entry() {
    assert!(reshaped(&values("a=1 b=1"), &values("a=2 b=2")).is_empty());
    assert_eq!(ids(reshaped(&values("a=1 b=1"), &values("a=1"))), ["b"]);
    assert_eq!(ids(reshaped(&values("a=1"), &values("a=1 c=1"))), ["c"]);
}
