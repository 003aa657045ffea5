//! Section 5: superseding somebody else's pull request.

use std::collections::BTreeSet;

use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::supersede::*;
use steward_rules::ids::PullNumber;
use steward_rules::reading::Reading;
use steward_rules::review::facts::PullState;

use super::world::{head, old_head, sha, unread};

/// One fact that could not be read.
type Spoil = fn(&mut Both);

const PULL: PullNumber = PullNumber(40);

fn both(original: PullState, superseding: PullState) -> Both {
    let commit = (superseding == PullState::Merged).then(|| sha(0xc0));
    Both {
        original: Reading::known((original, old_head())),
        superseding: Reading::known((superseding, commit)),
        is_linked: Reading::known(true),
        content: Reading::known(Content::Same),
    }
}

fn opened() -> Stage {
    Stage::Opened { pull: PULL, original_head: old_head() }
}

fn merged() -> Stage {
    Stage::Merged { pull: PULL, original_head: old_head(), commit: sha(0xc0) }
}

fn verified() -> Stage {
    Stage::ContentVerified { pull: PULL, original_head: Some(old_head()) }
}

#[test]
fn it_goes_from_stage_to_stage() {
    use PullState::*;
    assert_eq!(next(&Stage::None, &both(Open, Open)), Next::Open { from: old_head() });
    assert_eq!(next(&opened(), &both(Open, Open)), Next::Wait);
    let unlinked = Both { is_linked: Reading::known(false), ..both(Open, Open) };
    assert_eq!(next(&opened(), &unlinked), Next::Link);
    assert_eq!(next(&opened(), &both(Open, Merged)), Next::HasMerged { commit: sha(0xc0) });
    assert_eq!(next(&merged(), &both(Open, Merged)), Next::IsVerified);
    let verified = verified();
    assert_eq!(next(&verified, &both(Open, Merged)), Next::CloseOriginal);
    assert_eq!(next(&verified, &both(Closed, Merged)), Next::Done);
    assert_eq!(next(&Stage::OriginalClosed { pull: PULL }, &both(Open, Merged)), Next::Done);
}

#[test]
fn a37_a_push_to_the_original_closes_nothing_and_rebuilds() {
    use PullState::*;
    let moved = |stage, superseding| {
        let facts = Both { original: Reading::known((Open, head())), ..both(Open, superseding) };
        next(&stage, &facts)
    };
    assert_eq!(moved(opened(), Open), Next::Rebuild { from: head() });
    assert_eq!(moved(merged(), Merged), Next::Rebuild { from: head() });
    assert_eq!(moved(verified(), Merged), Next::Rebuild { from: head() });
}

#[test]
fn a_row_that_does_not_say_which_head_was_verified_is_verified_anew() {
    let old: Stage = serde_json::from_str(r#"{"stage": "content_verified", "pull": 40}"#).unwrap();
    assert_eq!(old, Stage::ContentVerified { pull: PULL, original_head: None });
    let step = next(&old, &both(PullState::Open, PullState::Merged));
    assert_eq!(step, Next::Rebuild { from: old_head() });
}

#[test]
fn what_a_person_ended_stops_it() {
    use PullState::*;
    for ended in [Closed, Merged] {
        assert_eq!(next(&Stage::None, &both(ended, Open)), Next::Stop(Stop::OriginalEnded));
        assert_eq!(next(&opened(), &both(ended, Open)), Next::Stop(Stop::OriginalEnded));
        assert_eq!(next(&opened(), &both(ended, Closed)), Next::Stop(Stop::OriginalEnded));
        assert_eq!(next(&merged(), &both(ended, Merged)), Next::Stop(Stop::OriginalEnded));
    }
    assert_eq!(next(&opened(), &both(Open, Closed)), Next::Stop(Stop::Refused));
}

#[test]
fn a_missing_fact_does_nothing() {
    use PullState::*;
    let cases: [(Stage, Spoil); 6] = [
        (Stage::None, |facts| facts.original = unread()),
        (opened(), |facts| facts.original = unread()),
        (opened(), |facts| facts.superseding = unread()),
        (opened(), |facts| facts.is_linked = unread()),
        (merged(), |facts| facts.content = unread()),
        (verified(), |facts| facts.original = unread()),
    ];
    for (stage, spoil) in cases {
        let mut facts = both(Open, if stage == merged() { Merged } else { Open });
        spoil(&mut facts);
        assert!(matches!(next(&stage, &facts), Next::Unread(_)), "{stage:?}");
    }
    let commitless = Both { superseding: Reading::known((Merged, None)), ..both(Open, Merged) };
    assert_eq!(next(&opened(), &commitless), Next::Wait);
}

fn keys(ids: &[&str]) -> BTreeSet<EntryKey> {
    ids.iter().map(|id| EntryKey::new("works", *id)).collect()
}

fn values(list: &[(&str, &str)]) -> Values {
    list.iter().map(|(id, value)| (EntryKey::new("works", *id), (*value).to_owned())).collect()
}

fn test_content(change: impl FnOnce(&mut [Values; 3], &mut bool)) -> Content {
    // Superseding: a changed, b added, c removed. The original changed a otherwise and touched d, too.
    let mut trees = [
        values(&[("a", "2"), ("b", "1"), ("d", "1")]),
        values(&[("a", "2"), ("b", "1"), ("d", "1"), ("z", "9")]),
        values(&[("a", "3"), ("d", "1"), ("c", "7")]),
    ];
    let mut is_on_base = true;
    change(&mut trees, &mut is_on_base);
    let [merged, base, original] = &trees;
    content(&ContentFacts {
        is_on_base,
        touched: &keys(&["a", "b", "c"]),
        merged,
        base,
        original_touched: &keys(&["a", "d"]),
        original,
    })
}

#[test]
fn a36_the_content_must_be_on_the_base_as_it_was_merged() {
    assert_eq!(test_content(|_, _| ()), Content::Same);
    assert_eq!(test_content(|_, on_base| *on_base = false), Content::Not(Stop::Reverted));
    let differs = |id: &str| {
        let entries = keys(&[id]).into_iter().collect();
        Content::Not(Stop::Differs { entries })
    };
    let set = |trees: &mut [Values; 3], tree: usize, id: &str, value: Option<&str>| {
        let key = EntryKey::new("works", id);
        match value {
            Some(value) => trees[tree].insert(key, value.to_owned()),
            None => trees[tree].remove(&key),
        };
    };
    // Reverted on the base: the commit is there, its content is not.
    assert_eq!(test_content(|trees, _| set(trees, 1, "a", Some("1"))), differs("a"));
    assert_eq!(test_content(|trees, _| set(trees, 1, "b", None)), differs("b"));
    assert_eq!(test_content(|trees, _| set(trees, 1, "c", Some("7"))), differs("c"));
    let lost = Content::Not(Stop::Lost { entries: keys(&["d"]).into_iter().collect() });
    assert_eq!(test_content(|trees, _| set(trees, 2, "d", Some("5"))), lost);
    assert_eq!(test_content(|trees, _| set(trees, 2, "d", None)), lost);
}
