//! `kill -9` at every step of each deed, and two runtimes of one account.

use rstest::rstest;

use super::super::kill::dies_at;
use super::*;

const STEPS: [&str; 6] =
    ["effect_read", "effect_intended", "effect_sent", "effect_posted", "effect_finishing", "effect_done"];

#[rstest]
#[case::comment(Kind::Comment)]
#[case::rerun(Kind::Rerun)]
#[case::retry_verdict(Kind::RetryVerdict)]
#[case::delete_branch(Kind::DeleteBranch)]
#[case::label(Kind::Label)]
#[case::close_issue(Kind::CloseIssue)]
#[case::close_pull(Kind::ClosePull)]
#[case::open_pull(Kind::OpenPull)]
#[case::push_new(Kind::PushNew)]
#[case::push_over(Kind::PushOver)]
#[case::report(Kind::Report)]
#[tokio::test]
async fn fault_06_a_runtime_killed_at_any_step_of_a_deed_does_it_once(#[case] kind: Kind) {
    for step in STEPS {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let before = scene.writes();
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        dies_at(&office, id, step).await;
        let row = office.row().await;
        assert_eq!(row.state, State::Done, "{kind:?} {step}: {row:?}");
        assert_eq!((scene.times(kind), scene.writes() - before), (1, kind.writes()), "{kind:?} {step}");
        let trail = office.trail().await;
        assert_eq!(trail.iter().filter(|state| *state == "done").count(), 1, "{kind:?} {step}: {trail:?}");
        scene.world.assert_contract();
    }
}

#[tokio::test]
async fn a42_a_crash_between_comment_and_close_leaves_one_comment_and_then_closes() {
    for step in ["effect_sent", "effect_posted", "effect_done"] {
        let scene = Scene::new();
        let classes = [EffectClass::CommentIssue, EffectClass::CloseIssue];
        let office = office(&scene, &power("act", &classes), quick()).await;
        let said = office.want(scene.wanted(&office, Kind::Comment)).await.unwrap();
        dies_at(&office, said, step).await;
        assert_eq!((scene.times(Kind::Comment), scene.times(Kind::CloseIssue)), (1, 0), "{step}");
        let close = office.want(scene.wanted(&office, Kind::CloseIssue)).await.unwrap();
        assert_eq!(office.carry(close).await.state, State::Done, "{step}");
        assert_eq!(office.want(scene.wanted(&office, Kind::Comment)).await, Some(said), "{step}: it is said");
        office.carry(said).await;
        assert_eq!((scene.times(Kind::Comment), scene.times(Kind::CloseIssue)), (1, 1), "{step}");
        office.trail().await;
    }
}

#[tokio::test]
async fn fault_09_two_runtimes_of_one_account_do_each_deed_once() {
    for kind in KINDS {
        // How far the first comes before the second begins.
        for ahead in 0..4 {
            let scene = Scene::new();
            let (left, right) = (acting(&scene, kind).await, acting(&scene, kind).await);
            let mut hands = Vec::new();
            for office in [&left, &right] {
                let id = office.want(scene.wanted(office, kind)).await.unwrap();
                hands.push((office, id, Sending::new(id)));
            }
            for _ in 0..ahead {
                if hands[0].2.step(&left.ctx).await.unwrap() == Progress::Rests {
                    break;
                }
            }
            for turn in 0..8 {
                let (office, _, sending) = &mut hands[(turn + 1) % 2];
                sending.step(&office.ctx).await.unwrap();
            }
            for (office, id, _) in &hands {
                let row = office.carry(*id).await;
                // Whoever came second found it done, or found that it is not its to do any more.
                assert!(row.state.is_final() && row.state != State::Failed, "{kind:?} {ahead}: {row:?}");
                office.trail().await;
            }
            assert_eq!(scene.times(kind), 1, "{kind:?} {ahead}");
            let _ = scene.world.take_violations();
        }
    }
}
