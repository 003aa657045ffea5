//! What a reading costs, counted by the double. Counts are no timings: they are the same everywhere.

use super::*;

/// A pull request with everything that is asked about one.
fn full(desk: &Desk) -> u64 {
    let app = app(desk).collaborator("wanda", Role::Write);
    let issue = app.open_issue("maria", "add b", "please").label("data:add-work").number();
    let pull = intake(desk).body(&format!("Closes #{issue}"));
    let head = pull.head();
    for name in ["check", "compose", "site"] {
        app.check(&head, name).succeeds();
    }
    app.check(&head, "verify").workflow(VERIFY).succeeds();
    app.status(&head, "preview", "success");
    pull.label_by(BOT, "ai-verified");
    pull.approve("wanda");
    pull.number()
}

#[tokio::test]
async fn reading_an_unchanged_pull_request_again_costs_ten_requests_and_no_point() {
    let desk = desk();
    let number = full(&desk);
    desk.world.mark();
    let first = read(&desk, number).await;
    let cost = desk.world.tally();
    // The pull, its base, checks, statuses, workflow runs here and of the branch, timeline, reviews, the rights
    // of who approved, the issue.
    assert_eq!((cost.requests, cost.points, cost.writes), (10, 10, 0), "{cost:?}");
    assert!(cost.git_requests > 0);

    desk.world.mark();
    let again = read(&desk, number).await;
    let cost = desk.world.tally();
    assert_eq!((cost.requests, cost.not_modified, cost.points), (10, 10, 0), "{cost:?}");
    assert_eq!((cost.git_requests, cost.writes, cost.graphql_requests), (0, 0, 0), "the commits are here");
    assert_eq!(again, PrObs { read_at: again.read_at, labels_read_at: again.labels_read_at, ..first });

    // A check that ended costs its list, and nothing else.
    let app = app(&desk);
    app.check(&app.pull(number).head(), "late").succeeds();
    desk.world.mark();
    read(&desk, number).await;
    let cost = desk.world.tally();
    assert!((cost.requests, cost.git_requests) == (10, 0) && cost.points <= 3, "{cost:?}");
}

#[tokio::test]
async fn an_issue_that_has_not_changed_costs_the_point_of_its_edits() {
    let desk = desk();
    let number = app(&desk).open_issue("maria", "add b", "please").label("data").number() as i64;
    let place = place(&desk);
    reading::issue(&desk.ctx, &place, number).await.unwrap();
    desk.world.mark();
    reading::issue(&desk.ctx, &place, number).await.unwrap();
    let cost = desk.world.tally();
    assert_eq!((cost.requests, cost.points, cost.graphql_points), (5, 1, 1), "{cost:?}");
}
