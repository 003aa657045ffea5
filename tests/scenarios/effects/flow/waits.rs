//! How long an effect waits: for what must be waited for, and for nothing and nobody else.

use steward_github_double::Fault;

use super::*;

#[tokio::test]
async fn what_a_clock_that_was_ahead_put_off_goes_out_when_the_clock_is_right_again() {
    let day = chrono::Duration::days(1);
    // Before the intent, and after it with nobody knowing the end.
    for (operation, fault, state) in
        [("GET /user", Fault::Status(500), State::Wanted), (POST, Fault::Status(502), State::Intended)]
    {
        let world = world();
        let office = Office::new(&world, ACT).await;
        office.hand.pass(day);
        office.review(&world).await;
        let id = office.row().await.id;
        world.when(operation).always().answers(fault);
        let row = office.drive(id).await;
        assert_eq!(row.state, state);
        world.calm();
        office.hand.pass(-day);
        assert!(row.retry_at.unwrap() > office.hand.now() + chrono::Duration::hours(23), "{row:?}");
        let runtime = host_runtime(&office).await;
        // A second of the clock for each look, so an hour at most.
        eventually("it is sent", async || {
            office.hand.pass(chrono::Duration::seconds(1));
            office.ctx.store.write(Durability::Normal, |tx| tx.topic("effects")).await.unwrap();
            office.row().await.state == State::Done
        })
        .await;
        assert_eq!(own(&world, 1).len(), 1);
        runtime.stop().await;
    }
}
