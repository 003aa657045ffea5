//! What was looked for in vain and may not go out by itself any more; and that no effect is ever asked about
//! without a pause.

use rstest::rstest;
use steward_github_double::Fault;

use super::deeds::{KINDS, Scene, acting, power};
use super::*;

#[rstest]
#[case::suggested_only(SUGGEST, false)]
#[case::of_another_class(OTHER, false)]
#[case::suggested_only_after_a_lost_line(SUGGEST, true)]
#[case::of_another_class_after_a_lost_line(OTHER, true)]
#[tokio::test]
async fn what_was_looked_for_in_vain_waits_for_the_person_once_it_may_only_be_suggested(
    #[case] power: &str,
    #[case] lost: bool,
) {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    let mut sending = Sending::new(id);
    sending.step(&office.ctx).await.unwrap();
    if lost {
        world.when(POST).answers(Fault::Cut);
        sending.step(&office.ctx).await.unwrap();
    }
    assert_eq!(office.row().await.state, State::Intended);
    // Killed there, and it may not go out by itself from now on.
    office.config(power);
    world.mark();
    let row = office.carry(id).await;
    assert_eq!(stands(&row), (State::Suggested, None));
    assert_eq!((row.intent_at, row.attempt, row.looks, row.part, row.decided_by), (None, 0, 0, None, None));
    let asked = world.tally().requests;
    assert!(asked <= 12, "three looks are enough: {asked}");
    let waiting = office.suggestions().await;
    assert!(waiting.len() == 1 && waiting[0].1 == "send?", "{waiting:?}");
    assert_eq!(office.trail().await, ["wanted", "intended", "suggested"]);
    // Nobody asks about it any more, until the person says yes: then it goes out once.
    world.mark();
    office.hand.pass(chrono::Duration::hours(1));
    assert_eq!((office.drive(id).await.state, world.tally().requests), (State::Suggested, 0));
    office.approve(id).await;
    assert_eq!(office.carry(id).await.state, State::Done);
    assert_eq!(own(&world, 1).len(), 1);
}

/// The class may act no more, and another may.
const OTHER: &str = "mode: act, act: [label]";

#[tokio::test]
async fn what_had_gone_out_is_found_and_not_suggested() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    world.when(POST).answers(Fault::LostReply);
    let mut sending = Sending::new(id);
    sending.step(&office.ctx).await.unwrap();
    sending.step(&office.ctx).await.unwrap();
    office.config(SUGGEST);
    assert_eq!(stands(&office.carry(id).await), (State::Done, None));
    assert_eq!((posts(&world), own(&world, 1).len(), office.suggestions().await.len()), (1, 1, 0));
}

#[tokio::test]
async fn each_deed_that_was_looked_for_in_vain_waits_for_the_person_once_it_may_only_be_suggested() {
    for kind in KINDS {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let before = scene.writes();
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        assert_eq!(Sending::new(id).step(&office.ctx).await.unwrap(), Progress::More);
        assert_eq!(office.get(id).await.state, State::Intended, "{kind:?}");
        office.config(&power("suggest", &[]));
        assert_eq!(stands(&office.carry(id).await), (State::Suggested, None), "{kind:?}");
        assert_eq!((scene.times(kind), scene.writes() - before), (0, 0), "{kind:?}");
        assert_eq!(office.suggestions().await.len(), 1, "{kind:?}");
        office.approve(id).await;
        assert_eq!(office.carry(id).await.state, State::Done, "{kind:?}");
        assert_eq!((scene.times(kind), scene.writes() - before), (1, kind.writes()), "{kind:?}");
        office.trail().await;
    }
}

#[tokio::test]
async fn an_effect_whose_row_keeps_its_state_whatever_is_decided_is_not_asked_about_without_a_pause() {
    // The row stays what it is: what ends it, sends it and puts it before the person changes nothing.
    for (power, state) in [(ACT, State::Wanted), (ACT, State::Intended), (SUGGEST, State::Intended)] {
        let world = world();
        let office = Office::new(&world, ACT).await;
        office.review(&world).await;
        let id = office.row().await.id;
        if state == State::Intended {
            assert_eq!(Sending::new(id).step(&office.ctx).await.unwrap(), Progress::More);
        }
        office.config(power);
        crate::store::beside(&office.home)
            .execute_batch(
                "UPDATE effects SET looks = 2, retry_at = created_at;
                 CREATE TRIGGER stays BEFORE UPDATE OF state ON effects BEGIN SELECT RAISE(IGNORE); END;",
            )
            .unwrap();
        office.hand.pass(chrono::Duration::minutes(10));
        for _ in 0..3 {
            world.mark();
            let row = office.drive(id).await;
            assert_eq!(row.state, state, "{power}");
            assert!(world.tally().requests <= 8, "{power} {state:?}: {}", world.tally().requests);
            let pause = row.retry_at.map(|at| at - office.hand.now());
            assert!(pause >= Some(chrono::Duration::minutes(1)), "{power} {state:?}: {pause:?}");
            office.hand.pass(pause.unwrap());
        }
        assert_eq!(posts(&world), 0);
    }
}
