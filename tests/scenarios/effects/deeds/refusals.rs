//! What GitHub refuses, and what stands otherwise by now: told apart, and never tried blindly.

use steward_github_double::{Fault, Protection};

use super::*;

#[tokio::test]
async fn a31_a_right_that_is_missing_is_a_fault_of_the_configuration() {
    for kind in KINDS.into_iter().filter(|kind| *kind != Kind::Comment) {
        for status in [401, 403] {
            let (operation, part) = kind.operation();
            // Git answers a 401 by asking once more.
            if operation == "git-receive-pack" && status == 401 {
                continue;
            }
            let scene = Scene::new();
            let office = acting(&scene, kind).await;
            let id = office.want(scene.wanted(&office, kind)).await.unwrap();
            scene.world.when(operation).containing(part).answers(Fault::Status(status));
            let row = office.carry(id).await;
            assert_eq!(stands(&row), (State::Failed, Some("config_fault")), "{kind:?} {status}: {row:?}");
            assert_eq!(scene.times(kind), 0, "{kind:?} {status}");
            // It stands before the person, and is not tried with each tick.
            assert_eq!(office.suggestions().await.len(), 1, "{kind:?} {status}");
            assert_eq!(office.want(scene.wanted(&office, kind)).await, Some(id));
            assert_eq!(office.get(id).await.state, State::Failed);
            // A while later somebody may have mended it.
            office.hand.pass(chrono::Duration::minutes(16));
            office.want(scene.wanted(&office, kind)).await.unwrap();
            assert_eq!(office.carry(id).await.state, State::Done, "{kind:?} {status}");
            let _ = scene.world.take_violations();
        }
    }
}

#[tokio::test]
async fn a20_a_branch_that_moved_is_left_as_it_is_and_a_protected_one_is_a_fault_of_the_configuration() {
    // Moved before the look, and between the look and the push.
    for late in [false, true] {
        for kind in [Kind::PushOver, Kind::DeleteBranch, Kind::PushNew] {
            let scene = Scene::new();
            let office = acting(&scene, kind).await;
            let id = office.want(scene.wanted(&office, kind)).await.unwrap();
            let mut sending = Sending::new(id);
            if late {
                assert_eq!(sending.step(&office.ctx).await.unwrap(), Progress::More);
            }
            let branch = match kind {
                Kind::PushOver => "steward/pr-1",
                Kind::DeleteBranch => "steward/done",
                _ => "steward/new",
            };
            let tip = scene.world.repo("octo/app").push(branch, "feat: theirs", &[("theirs.txt", "t\n")]);
            while sending.step(&office.ctx).await.unwrap() == Progress::More {}
            let row = office.get(id).await;
            let why = row.why.as_deref();
            assert_eq!(row.state, State::Obsolete, "{kind:?} {late}: {row:?}");
            assert!(matches!(why, Some("lease" | "head_moved")), "{kind:?} {late}: {row:?}");
            assert_eq!(scene.world.repo("octo/app").tip(branch), tip, "{kind:?} {late}");
            assert_eq!(office.suggestions().await, [], "it is the engine's to decide anew");
        }
    }
    for kind in [Kind::PushOver, Kind::DeleteBranch] {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let branch = if kind == Kind::PushOver { "steward/pr-1" } else { "steward/done" };
        let _ = scene.world.repo("octo/app").protect(branch, Protection::default());
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        let row = office.carry(id).await;
        assert_eq!(stands(&row), (State::Failed, Some("config_fault")), "{kind:?}: {row:?}");
        assert_eq!(scene.times(kind), 0);
    }
}

#[tokio::test]
async fn a_run_that_cannot_be_run_again_is_left_to_the_next_rung() {
    for kind in [Kind::Rerun, Kind::RetryVerdict] {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let run = if kind == Kind::Rerun { scene.run } else { scene.verdict };
        let _ = scene.world.repo("octo/app").run(run).too_old();
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        let row = office.carry(id).await;
        assert_eq!(stands(&row), (State::Failed, Some("cannot_rerun")), "{row:?}");
        assert!(row.detail.unwrap().contains("over a month ago"));
        assert_eq!(office.suggestions().await, [], "the engine takes it up by itself");
    }
    // One that runs already is waited for.
    let scene = Scene::new();
    let office = acting(&scene, Kind::Rerun).await;
    let app = scene.world.repo("octo/app");
    let id = office.want(scene.wanted(&office, Kind::Rerun)).await.unwrap();
    app.check(&scene.head, "extra").runs();
    assert_eq!(stands(&office.carry(id).await), (State::Obsolete, Some("next_tick")));
    app.check(&scene.head, "extra").succeeds();
    assert_eq!(
        office.want(scene.wanted(&office, Kind::Rerun)).await,
        Some(id),
        "the next tick wants it again"
    );
    assert_eq!(office.carry(id).await.state, State::Done);
    assert_eq!(app.run(scene.run).attempt(), 2);
}

#[tokio::test]
async fn what_stands_otherwise_by_now_is_not_done() {
    for kind in [Kind::Comment, Kind::Label, Kind::OpenPull, Kind::PushNew, Kind::Rerun, Kind::PushOver] {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let wanted = scene.wanted(&office, kind);
        let id = office.want(wanted.clone()).await.unwrap();
        scene.world.repo("octo/app").pull(wanted.number.unwrap() as u64).close("maria");
        let row = office.carry(id).await;
        assert_eq!(stands(&row), (State::Obsolete, Some("closed")), "{kind:?}: {row:?}");
        assert_eq!(scene.times(kind), 0, "{kind:?}");
    }
    let scene = Scene::new();
    let office = acting(&scene, Kind::Rerun).await;
    let id = office.want(scene.wanted(&office, Kind::Rerun)).await.unwrap();
    scene.world.repo("octo/app").push("feat", "feat: z", &[("src/x.rs", "z\n")]);
    assert_eq!(stands(&office.carry(id).await), (State::Obsolete, Some("head_moved")));
    assert_eq!(scene.times(Kind::Rerun), 0);
}

#[tokio::test]
async fn a_pull_request_that_a_person_closed_is_not_opened_again() {
    let scene = Scene::new();
    let office = acting(&scene, Kind::OpenPull).await;
    let app = scene.world.repo("octo/app");
    app.open_pull("octo", "steward/issue-4", "by hand").close("maria");
    let id = office.want(scene.wanted(&office, Kind::OpenPull)).await.unwrap();
    let row = office.carry(id).await;
    assert_eq!((stands(&row), row.turned_down), ((State::Failed, Some("removed")), true), "{row:?}");
    assert_eq!(scene.opened().len(), 1);
}

#[tokio::test]
async fn a_branch_of_what_was_not_merged_stays() {
    let scene = Scene::new();
    let office = acting(&scene, Kind::DeleteBranch).await;
    let deed = Deed::DeleteBranch { branch: "steward/pr-1".to_owned(), at: Sha::new(&scene.own).unwrap() };
    let wanted = Wanted {
        deed,
        number: Some(3),
        head: Some(Sha::new(&scene.own).unwrap()),
        ..scene.wanted(&office, Kind::DeleteBranch)
    };
    let id = office.want(wanted).await.unwrap();
    assert_eq!(stands(&office.carry(id).await), (State::Obsolete, Some("not_merged")));
    assert!(scene.has_branch("steward/pr-1"));
}

#[tokio::test]
async fn a_label_or_a_close_that_a_person_undid_is_done_again_only_after_another_word() {
    let scene = Scene::new();
    let classes = [EffectClass::CloseIssue, EffectClass::CommentIssue];
    let office = office(&scene, &power("act", &classes), quick()).await;
    let issue = scene.world.repo("octo/app").pull(ISSUE);
    let first = office.want(scene.wanted(&office, Kind::CloseIssue)).await.unwrap();
    assert_eq!(office.carry(first).await.state, State::Done);
    issue.reopen("maria");
    // The same decision closes nothing twice.
    assert_eq!(office.want(scene.wanted(&office, Kind::CloseIssue)).await, Some(first));
    assert_eq!(office.carry(first).await.state, State::Done);
    assert!(issue.is_open());
    // A new one begins with a word of its own.
    let said = office.want(scene.wanted(&office, Kind::Comment)).await.unwrap();
    assert_eq!(office.carry(said).await.state, State::Done);
    let second = office.want(scene.wanted(&office, Kind::CloseIssue)).await.unwrap();
    assert_ne!(first, second);
    assert_eq!(office.carry(second).await.state, State::Done);
    assert!(!issue.is_open());
}
