//! A newer review of the same head takes an effect's place: what was read, shown, counted or turned down of
//! the older text is not taken for the newer one.

use steward_github_double::Fault;

use super::*;

/// Another review of the head is published, and the older ones are stale then.
async fn newer(office: &Office, world: &World, summary: &str) {
    let retired = office.ctx.store.write(Durability::Full, |tx| {
        for row in effects::page(tx, false, None, 9)? {
            let (Some(task), Some(review)) = (row.task, row.review) else { continue };
            for older in reviews::fresh_of(tx, task)? {
                reviews::set_stale(tx, older.id, StaleReason::NewerReview)?;
            }
            loops::turned_stale(tx, review, StaleReason::NewerReview)?;
        }
        Ok::<_, StoreError>(())
    });
    retired.await.unwrap();
    let head = world.repo("octo/app").pull(1).head();
    office.review_of(1, &head, summary).await;
}

/// What stands below the pull request.
fn said(world: &World) -> Vec<String> {
    world.repo("octo/app").pull(1).comments().into_iter().map(|(.., body)| body).collect()
}

#[tokio::test]
async fn the_text_that_goes_out_is_the_one_that_was_judged_and_journalled() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.review(&world).await;
    let id = office.row().await.id;
    // While GitHub answers the last question before the decision, a newer review is published.
    world.when(LIST).answers(Fault::Slow(Duration::from_secs(2)));
    let (row, ()) = tokio::join!(office.drive(id), async {
        eventually("the thread is being read", async || world.faults_left() == 0).await;
        newer(&office, &world, "Look again.").await;
    });
    assert_eq!(row.state, State::Done);
    assert!(row.content.contains("Look again."), "the newer one took its place: {}", row.content);
    assert_eq!(said(&world), [row.content]);
    assert_eq!(office.trail().await, ["wanted", "obsolete", "wanted", "intended", "posted", "done"]);
}
