//! The seat's word on a pull request: its newest published review, for which head, and whether it still holds.

use steward_core::store::reviews::{self as stored, NewReview, Outcome, RunStart, Submitted};
use steward_core::store::tasks::{self, NewPullTask, PullHead, RunState};
use steward_core::store::{Durability, StoreError};
use steward_rules::ids::ReviewId;
use steward_rules::review::coverage::Coverage;
use steward_rules::review::lifecycle::Trigger;
use steward_rules::review::verdict::{StaleReason, Verdict};
use steward_rules::untrusted::Untrusted;

use super::*;

async fn reviewed(desk: &Desk, number: u64, head: &str, verdict: Option<Verdict>) -> ReviewId {
    reviewed_in(desk, REPO, number, head, verdict).await
}

/// Queues a review of this head, and publishes it when there is a verdict.
pub(crate) async fn reviewed_in(
    desk: &Desk,
    repo: &str,
    number: u64,
    head: &str,
    verdict: Option<Verdict>,
) -> ReviewId {
    let new = NewPullTask {
        host: desk.host(),
        repository: RepoName::parse(repo).unwrap(),
        pull: PullNumber(number as i64),
        seen: PullHead {
            title: Untrusted::new("[intake] b"),
            branch: "intake/issue-9".to_owned(),
            head: sha(head),
            state: RunState::Done,
            updated_at: None,
        },
    };
    let written = desk.ctx.store.write(Durability::Full, move |tx| {
        let (task, _) = tasks::ensure_for_pull(tx, &new)?;
        let queued = NewReview {
            task,
            sha: new.seen.head.clone(),
            contract_version: None,
            ci_fingerprint: "none".to_owned(),
            trigger: Trigger::Manual,
            budget_usd: 1.5,
        };
        let id = stored::insert_queued(tx, &queued)?;
        let Some(verdict) = verdict else { return Ok(id) };
        let (adapter, boundary) = ("command".to_owned(), "none".to_owned());
        let start = RunStart { model: None, adapter, boundary, budget_usd: 1.5 };
        let said = Submitted {
            seat_verdict: verdict,
            summary: "Well done.".to_owned(),
            coverage: Coverage::default(),
            lowered_because: Vec::new(),
        };
        let outcome =
            Outcome { verdict, cap: Verdict::Accepted, lowered_by: Vec::new(), lowered_because: Vec::new() };
        assert!(stored::begin_digest(tx, id)? && stored::begin_run(tx, id, &start)?);
        assert!(stored::submit(tx, id, &said)? && stored::publish(tx, id, &outcome)?);
        Ok::<_, StoreError>(id)
    });
    written.await.unwrap()
}

#[tokio::test]
async fn the_newest_published_review_is_the_seats_word() {
    let desk = desk();
    let pull = intake(&desk);
    let (number, head) = (pull.number(), pull.head());
    let word = |head: &str, verdict, stale| Some(SeatReview { head: sha(head), verdict, stale });
    assert_eq!(known(&read(&desk, number).await.seat), None);
    reviewed(&desk, number, &head, Some(Verdict::Changes)).await;
    assert_eq!(known(&read(&desk, number).await.seat), word(&head, Verdict::Changes, false));
    let second = reviewed(&desk, number, &head, Some(Verdict::Accepted)).await;
    assert_eq!(known(&read(&desk, number).await.seat), word(&head, Verdict::Accepted, false));
    // One that is not published says nothing yet, and one of an earlier head names that head.
    let new = app(&desk).push("intake/issue-9", "data: more", &[("data/works/b.json", "{\"b\": {}}\n")]);
    reviewed(&desk, number, &new, None).await;
    assert_eq!(known(&read(&desk, number).await.seat), word(&head, Verdict::Accepted, false));
    let stale =
        move |tx: &steward_core::store::WriteTx<'_>| stored::set_stale(tx, second, StaleReason::NewerReview);
    assert!(desk.ctx.store.write(Durability::Full, stale).await.unwrap());
    assert_eq!(known(&read(&desk, number).await.seat), word(&head, Verdict::Accepted, true));
}
