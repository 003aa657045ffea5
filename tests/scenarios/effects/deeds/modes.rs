//! What each mode lets out of each deed.

use steward_core::api::requests::EffectSend;
use steward_core::api::{Api, effects as api};
use steward_rules::caller::Caller;

use super::*;

#[tokio::test]
async fn in_act_each_deed_is_done_once_and_wanting_it_again_does_nothing() {
    for kind in KINDS {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let before = scene.writes();
        let id = office.want(scene.wanted(&office, kind)).await.expect("it is wanted");
        assert_eq!(office.get(id).await.state, State::Wanted, "{kind:?}");
        let row = office.carry(id).await;
        assert_eq!(stands(&row), (State::Done, None), "{kind:?}: {row:?}");
        assert_eq!((scene.times(kind), scene.writes() - before), (1, kind.writes()), "{kind:?}");
        assert_eq!(office.want(scene.wanted(&office, kind)).await, Some(id), "{kind:?}");
        assert_eq!(office.carry(id).await, row, "{kind:?}");
        assert_eq!(scene.writes() - before, kind.writes(), "{kind:?}: nothing more went out");
        assert_eq!(office.suggestions().await, [], "{kind:?}");
        office.trail().await;
        scene.world.assert_contract();
    }
}

#[tokio::test]
async fn a_deed_that_is_done_already_is_found_and_nothing_is_sent() {
    for kind in KINDS {
        let scene = Scene::new();
        // Another installation of the same person was first.
        let first = acting(&scene, kind).await;
        let id = first.want(scene.wanted(&first, kind)).await.unwrap();
        assert_eq!(first.carry(id).await.state, State::Done);
        let office = acting(&scene, kind).await;
        let before = scene.writes();
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        let row = office.carry(id).await;
        assert_eq!((row.state, row.attempt), (State::Done, 0), "{kind:?}: {row:?}");
        assert_eq!((scene.times(kind), scene.writes()), (1, before), "{kind:?}");
    }
}

#[tokio::test]
async fn in_observe_not_one_deed_is_written_down_or_out() {
    let scene = Scene::new();
    let all: Vec<EffectClass> =
        EffectClass::ALL.iter().copied().filter(|c| *c != EffectClass::Merge).collect();
    let office = office(&scene, &power("observe", &all), quick()).await;
    let (writes, requests) = (scene.writes(), scene.world.exchanges().len());
    for kind in KINDS {
        assert_eq!(office.want(scene.wanted(&office, kind)).await, None, "{kind:?}");
    }
    assert_eq!(office.rows().await, []);
    assert_eq!((scene.writes(), scene.world.exchanges().len()), (writes, requests));
}

#[tokio::test]
async fn in_suggest_nothing_goes_out_before_the_yes_and_exactly_what_was_shown_after_it() {
    for kind in KINDS {
        let scene = Scene::new();
        let office = office(&scene, &power("suggest", &[]), quick()).await;
        let before = scene.writes();
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        let row = office.carry(id).await;
        assert_eq!((row.state, scene.writes()), (State::Suggested, before), "{kind:?}");
        let listed = office.suggestions().await;
        assert_eq!(listed.len(), 1, "{kind:?}");
        assert!(listed[0].0.ends_with(": the check is red"), "{listed:?}");
        // Wanted again, it is neither asked twice nor changed.
        assert_eq!(office.want(scene.wanted(&office, kind)).await, Some(id));
        assert_eq!(office.get(id).await, row, "{kind:?}");

        let client = Api::of(office.ctx.clone(), Caller::Person);
        let shown = api::show(&client, steward_core::api::requests::ById { id }).await.unwrap();
        assert_eq!(shown.hash, row.hash(), "{kind:?}");
        assert!(shown.can_send, "{kind:?}: {shown:?}");
        let facts =
            shown.facts.iter().map(|fact| format!("{}: {}", fact.name, fact.value)).collect::<Vec<_>>();
        for fact in scene.facts(kind) {
            assert!(facts.contains(&fact), "{kind:?}: {fact} in {facts:?}");
        }
        let diff = shown.diff.unwrap_or_default();
        let is_push = matches!(kind, Kind::PushNew | Kind::PushOver);
        assert_eq!(diff.contains("+++ b/y.txt") && diff.contains("+y"), is_push, "{kind:?}: {diff}");
        let other = EffectSend { id, hash: "0".repeat(64) };
        assert!(api::send(&client, other).await.is_err(), "{kind:?}: a yes to something else");
        api::send(&client, EffectSend { id, hash: shown.hash.clone() }).await.unwrap();
        let row = office.carry(id).await;
        assert_eq!(stands(&row), (State::Done, None), "{kind:?}: {row:?}");
        assert_eq!((scene.times(kind), scene.writes() - before), (1, kind.writes()), "{kind:?}");
        let sent = scene.world.exchanges();
        let sent = sent.iter().rev().find(|one| one.operation == kind.operation().0).unwrap();
        if let Some(body) = sent.request["body"].as_str() {
            assert_eq!(body, shown.content, "{kind:?}: exactly what was shown");
        }
        assert_eq!(office.trail().await.first().map(String::as_str), Some("suggested"));
    }
}

#[tokio::test]
async fn a_no_stands_although_the_same_is_wanted_again() {
    let scene = Scene::new();
    let office = office(&scene, &power("suggest", &[]), quick()).await;
    for kind in KINDS {
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        let no = office.ctx.store.write(Durability::Full, move |tx| effects::dismiss(tx, id)).await;
        assert!(no.unwrap());
        assert_eq!(office.want(scene.wanted(&office, kind)).await, Some(id));
        assert_eq!(office.get(id).await.state, State::Dismissed, "{kind:?}");
    }
}

#[tokio::test]
async fn a_newer_deed_takes_the_place_of_one_that_waits_and_a_switch_of_another_class_lets_none_out() {
    let scene = Scene::new();
    let office = acting(&scene, Kind::PushOver).await;
    let wanted = scene.wanted(&office, Kind::PushOver);
    // The label's switch is off, and the push's is no help to it.
    let label = office.want(scene.wanted(&office, Kind::Label)).await.unwrap();
    assert_eq!(office.get(label).await.state, State::Suggested);
    let foreign = Wanted { class: EffectClass::PushFix, ..scene.wanted(&office, Kind::Label) };
    assert_eq!(office.want(foreign).await, None);
    // A push to the base, or to a branch the policy does not name, is not even written down.
    for branch in ["main", "feat"] {
        let deed = Deed::Push { branch: branch.to_owned(), from: None, to: Sha::new(&scene.next).unwrap() };
        assert_eq!(office.want(Wanted { deed, ..wanted.clone() }).await, None, "{branch}");
    }
    let Deed::Push { branch, from, .. } = wanted.deed.clone() else { panic!("it is a push") };
    let older =
        Wanted { deed: Deed::Push { branch, from, to: Sha::new(&scene.merged).unwrap() }, ..wanted.clone() };
    let older = office.want(older).await.unwrap();
    let newer = office.want(wanted).await.unwrap();
    assert_eq!(stands(&office.get(older).await), (State::Obsolete, Some("replaced")));
    assert_eq!(office.carry(newer).await.state, State::Done);
    assert_eq!(scene.times(Kind::PushOver), 1);
}
