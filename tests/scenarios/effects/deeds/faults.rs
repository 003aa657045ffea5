//! What GitHub and the line do to each deed: one effect, however its answer was lost.

use steward_github_double::Fault;

use super::*;

#[tokio::test]
async fn a_lost_answer_is_looked_for_and_the_deed_is_done_once() {
    for kind in KINDS {
        for fault in [
            Fault::LostReply,
            Fault::Cut,
            Fault::Status(500),
            Fault::Status(502),
            Fault::StatusAfterEffect(502),
            Fault::Truncated,
            Fault::Html,
        ] {
            let (operation, part) = kind.operation();
            let is_git = operation == "git-receive-pack";
            if is_git && !matches!(fault, Fault::LostReply | Fault::Cut | Fault::Status(_)) {
                continue;
            }
            let name = format!("{kind:?} {fault:?}");
            let scene = Scene::new();
            let office = acting(&scene, kind).await;
            let id = office.want(scene.wanted(&office, kind)).await.unwrap();
            scene.world.when(operation).containing(part).answers(fault);
            let row = office.carry(id).await;
            assert_eq!(scene.world.faults_left(), 0, "{name}");
            assert_eq!(stands(&row), (State::Done, None), "{name}: {row:?}");
            assert_eq!(scene.times(kind), 1, "{name}");
            office.trail().await;
            let _ = scene.world.take_violations();
        }
    }
}

#[tokio::test]
async fn a_limit_spends_nothing_and_the_deed_goes_out_after_it() {
    use steward_github_double::Retry as Says;
    for kind in KINDS.into_iter().filter(|kind| kind.operation().0 != "git-receive-pack") {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        let limit = Fault::Secondary { status: 403, retry: Says::Seconds(30) };
        scene.world.when(kind.operation().0).answers(limit);
        let row = office.drive(id).await;
        assert_eq!(stands(&row), (State::Wanted, Some("secondary_limited")), "{kind:?}: {row:?}");
        assert_eq!((row.attempt, scene.times(kind)), (0, 0), "{kind:?}");
        let row = office.carry(id).await;
        assert_eq!((row.state, row.attempt as usize), (State::Done, kind.writes()), "{kind:?}: {row:?}");
        assert_eq!(scene.times(kind), 1);
    }
}

#[tokio::test]
async fn a_pause_holds_each_deed() {
    for kind in KINDS {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        steward_core::loops::pause::pause(&office.ctx, "lunch").await.unwrap();
        let before = scene.world.exchanges().len();
        assert_eq!(stands(&office.drive(id).await), (State::Wanted, Some("paused")), "{kind:?}");
        assert_eq!(scene.world.exchanges().len(), before, "{kind:?}: nothing is asked");
        steward_core::loops::pause::resume(&office.ctx).await.unwrap();
        assert_eq!(office.carry(id).await.state, State::Done, "{kind:?}");
    }
}

#[tokio::test]
async fn a_push_that_is_under_way_ends_within_a_second_once_its_power_is_taken_away() {
    // What the file says from then on, and what becomes of the push that was not done.
    for (mode, classes, ends) in [
        ("observe", &[][..], (State::Obsolete, Some("observed"))),
        ("suggest", &[], (State::Suggested, None)),
        ("act", &[EffectClass::Label], (State::Suggested, None)),
    ] {
        let scene = Scene::new();
        let office = acting(&scene, Kind::PushOver).await;
        let id = office.want(scene.wanted(&office, Kind::PushOver)).await.unwrap();
        scene.world.when("git-receive-pack").answers(Fault::Slow(Duration::from_secs(300)));
        let ctx = office.ctx.clone();
        let pushing = tokio::spawn(async move {
            let mut sending = Sending::new(id);
            while sending.step(&ctx).await.unwrap() == Progress::More {}
        });
        eventually("git is under way", async || scene.world.faults_left() == 0).await;
        let since = Instant::now();
        office.config(&power(mode, classes));
        pushing.await.unwrap();
        // A second is the goal; a machine with other work gets three.
        assert!(since.elapsed() < Duration::from_secs(3), "{mode}: {:?}", since.elapsed());
        assert_eq!(office.get(id).await.state, State::Intended, "{mode}: nobody knows how far it came");
        assert_eq!(stands(&office.carry(id).await), ends, "{mode}");
        assert_eq!(scene.times(Kind::PushOver), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_push_that_a_person_said_yes_to_goes_on_whatever_acts_by_itself() {
    let scene = Scene::new();
    let office = office(&scene, &power("suggest", &[]), quick()).await;
    let id = office.want(scene.wanted(&office, Kind::PushOver)).await.unwrap();
    office.approve(id).await;
    scene.world.when("git-receive-pack").answers(Fault::Slow(Duration::from_secs(2)));
    let row = office.drive(id).await;
    assert_eq!((row.state, scene.times(Kind::PushOver)), (State::Done, 1), "{row:?}");
}

#[tokio::test]
async fn a_push_that_is_under_way_ends_within_a_second_of_a_pause_or_of_the_switch() {
    async fn switch(office: &Office, is_on: bool) {
        let text = std::fs::read_to_string(office.home.config_file()).unwrap();
        let (was, is) = (format!("enabled: {}}}", !is_on), format!("enabled: {is_on}}}"));
        let at = text.find("engine: {").unwrap();
        std::fs::write(office.home.config_file(), text[..at].to_owned() + &text[at..].replace(&was, &is))
            .unwrap();
        office.ctx.config.reread();
        office.confirm().await;
    }
    for word in ["paused", "off"] {
        let scene = Scene::new();
        let office = acting(&scene, Kind::PushOver).await;
        let id = office.want(scene.wanted(&office, Kind::PushOver)).await.unwrap();
        let slow = Fault::Slow(Duration::from_secs(300));
        scene.world.when("git-receive-pack").answers(slow);
        let mut sending = Sending::new(id);
        assert_eq!(sending.step(&office.ctx).await.unwrap(), Progress::More);
        let ctx = office.ctx.clone();
        let pushing = tokio::spawn(async move {
            let more = sending.step(&ctx).await.unwrap();
            (sending, more)
        });
        eventually("git is under way", async || scene.world.faults_left() == 0).await;
        let since = Instant::now();
        match word {
            "paused" => drop(steward_core::loops::pause::pause(&office.ctx, "stop").await.unwrap()),
            _ => switch(&office, false).await,
        }
        let (mut sending, _) = pushing.await.unwrap();
        // A second is the goal; a machine with other work gets three.
        assert!(since.elapsed() < Duration::from_secs(3), "{word}: {:?}", since.elapsed());
        while sending.step(&office.ctx).await.unwrap() == Progress::More {}
        let row = office.get(id).await;
        assert_eq!(stands(&row), (State::Intended, Some(word)), "{row:?}");
        match word {
            "paused" => drop(steward_core::loops::pause::resume(&office.ctx).await.unwrap()),
            _ => switch(&office, true).await,
        }
        assert_eq!(office.carry(id).await.state, State::Done, "{word}");
        assert_eq!(scene.times(Kind::PushOver), 1, "{word}");
    }
}

#[tokio::test]
async fn a_stop_ends_a_push_and_the_next_start_reads_what_became_of_it() {
    // Before anything of it arrived, and after all of it did.
    for (kind, part) in [
        (Kind::PushOver, "/info/refs"),
        (Kind::DeleteBranch, "/info/refs"),
        (Kind::PushNew, "/git-receive-pack"),
    ] {
        let scene = Scene::new();
        let office = acting(&scene, kind).await;
        let id = office.want(scene.wanted(&office, kind)).await.unwrap();
        let slow = Fault::Slow(Duration::from_secs(300));
        scene.world.when("git-receive-pack").containing(part).answers(slow);
        let stop = CancellationToken::new();
        let (ctx, heard) = (office.ctx.clone(), stop.clone());
        let pushing = tokio::spawn(async move {
            let mut sending = Sending::until(id, &heard);
            while !heard.is_cancelled() && sending.step(&ctx).await.unwrap() == Progress::More {}
        });
        eventually("git is under way", async || scene.world.faults_left() == 0).await;
        let since = Instant::now();
        stop.cancel();
        pushing.await.unwrap();
        assert!(since.elapsed() < Duration::from_secs(3), "{kind:?}: {:?}", since.elapsed());
        let row = office.get(id).await;
        assert_eq!(row.state, State::Intended, "{kind:?}: nobody knows how far it came: {row:?}");
        // The next start.
        assert_eq!(office.carry(id).await.state, State::Done, "{kind:?}");
        assert_eq!(scene.times(kind), 1, "{kind:?}");
    }
}
