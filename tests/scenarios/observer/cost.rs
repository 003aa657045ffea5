//! What a look costs, counted by the double (engine.md 2). Counts are no timings: they are the same everywhere.

use steward_github_double::World;

use super::{Desk, TOKEN};

const REPOSITORIES: usize = 10;

fn names() -> Vec<String> {
    (0..REPOSITORIES).map(|at| format!("octo/app{at}")).collect()
}

fn crowded() -> Desk {
    let world = World::start();
    world.token("octo", TOKEN, &["repo"]);
    for name in names() {
        let repo = world.repo(&name);
        repo.open_pulls("octo", 20);
        repo.open_issue("maria", "an issue", "");
    }
    let names = names();
    Desk::of(world, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

#[tokio::test]
async fn two_hundred_quiet_pull_requests_in_ten_repositories_cost_at_most_four_requests_and_five_points() {
    let desk = crowded();
    desk.turn().await;
    // What was opened a moment ago is found by searches for a while.
    desk.tick().await;
    desk.tick().await;
    desk.world.mark();
    let standing = desk.tick().await;
    let cost = desk.world.tally();
    assert!(cost.requests <= 4 && cost.points <= 5, "{cost:?}");
    // As it is built: two probes and one search.
    assert_eq!((cost.requests, cost.points), (3, 3), "{cost:?}");
    assert_eq!(u64::from(standing.requests), cost.requests);
    assert_eq!(u64::from(standing.points), cost.points);
    assert_eq!((cost.writes, cost.git_requests), (0, 0));

    // Checks that move are in the probe.
    for name in names() {
        let repo = desk.world.repo(&name);
        repo.check(&repo.pull(1).head(), "build").succeeds();
    }
    desk.world.mark();
    desk.tick().await;
    assert_eq!(desk.world.tally().requests, 3);
    for name in names() {
        assert_eq!(desk.pull(&name, 1).await.unwrap().rollup.as_deref(), Some("SUCCESS"));
    }

    // Every 25 that changed cost one request more.
    let all: Vec<(String, u64)> =
        names().into_iter().flat_map(|name| (1..=20).map(move |number| (name.clone(), number))).collect();
    for (changed, requests) in [(1, 4), (25, 4), (26, 5), (60, 6)] {
        for (name, number) in all.iter().take(changed) {
            desk.world.repo(name).pull(*number).title(&format!("feat: {changed} of them changed"));
        }
        desk.world.mark();
        desk.tick().await;
        let cost = desk.world.tally();
        assert_eq!(cost.requests, requests, "{changed}: {cost:?}");
        assert!(cost.points <= requests, "{changed}: {cost:?}");
    }
}

#[tokio::test]
async fn past_three_fifths_of_the_hour_nothing_is_asked_until_it_is_over() {
    let desk = Desk::watching(&["octo/app"]);
    desk.turn().await;
    desk.world.leave_points(TOKEN, 2001);
    let standing = desk.tick().await;
    assert_eq!(standing.state, steward_rules::observing::ObserverState::Waiting);
    // That look left less than two fifths.
    desk.world.mark();
    let standing = desk.tick().await;
    assert_eq!(standing.state, steward_rules::observing::ObserverState::Limited);
    assert_eq!(standing.problem.as_ref().unwrap().code, "reserved");
    assert_eq!(desk.world.tally().requests, 0);
    let until = standing.next_tick.unwrap();
    assert!(until > desk.now() && until <= desk.now() + chrono::Duration::hours(1));
    let left = until - desk.now();
    desk.pass(left - chrono::Duration::seconds(1));
    desk.turn().await;
    assert_eq!(desk.world.tally().requests, 0);
    desk.pass(chrono::Duration::seconds(1));
    let standing = desk.turn().await;
    assert_eq!(standing.state, steward_rules::observing::ObserverState::Waiting, "{standing:?}");
}
