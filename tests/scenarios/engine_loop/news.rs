//! What wakes an item that rests after a failure: another failure than the one its last attempt started from.

use chrono::Duration;
use steward_core::store::engine_tasks::{Ended, State as TaskState};
use steward_rules::engine::retry::TaskEnd;

use super::*;

const KNOWN: &str = "step one\n2026-11-30T10:00:00Z error: b has no author in /srv/run1/data/b.json:3\n";
/// The same, from another machine at another time.
const AGAIN: &str =
    "\u{1b}[31m2026-11-30T12:34:56Z error: b has no author in /tmp/x/data/b.json:4\u{1b}[0m\n";
const OTHER: &str = "step one\nerror: b has no title\n";

impl Den {
    /// One whose check is red after its re-run, whose first task ended without a change, and which rests for
    /// twenty hours.
    async fn resting(&self) -> u64 {
        let pull = self.intake(101, "b");
        let number = pull.number();
        self.app().check(&pull.head(), "check").printing(KNOWN).fails();
        self.tick().await;
        self.later(Duration::seconds(121)).await;
        self.send().await;
        self.desk.pass(Duration::seconds(20));
        self.app().check(&pull.head(), "check").printing(KNOWN).fails();
        self.tick().await;
        self.later(Duration::minutes(31)).await;
        let id = self.tasks(number).await[0].id;
        self.no_change(id).await;
        self.tick().await;
        let until = self.desk.ctx.clock.now() + Duration::hours(20);
        self.change_item(number, |item| item.attempts.next_at = Some(until)).await;
        self.tick().await;
        let item = self.item(number).await;
        assert_eq!((item.decision.as_str(), item.attempts.spent), ("wait", 1), "{}", item.state);
        number
    }

    async fn no_change(&self, id: i64) {
        let ended =
            Ended { end: TaskEnd::NoChange, fault: None, detail: "no change".to_owned(), result: None };
        let store = &self.desk.ctx.store;
        let end = move |tx: &steward_core::store::WriteTx<'_>| {
            engine_tasks::agent_starts(tx, id)?;
            engine_tasks::end(tx, id, &ended)
        };
        store.write(Durability::Full, end).await.unwrap();
    }

    /// A person has the check run once more, and two hours pass.
    async fn fails_anew(&self, number: u64, name: &str, log: &str) {
        let head = self.app().pull(number).head();
        self.app().check(&head, name).printing(log).fails();
        self.desk.pass(Duration::hours(2));
        self.tick().await;
    }
}

#[tokio::test]
async fn another_first_error_line_makes_the_next_attempt_due_and_the_same_one_does_not() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let number = den.resting().await;
    den.fails_anew(number, "check", AGAIN).await;
    assert_eq!(den.tasks(number).await.len(), 1, "the same failure from another machine is no news");
    den.fails_anew(number, "check", OTHER).await;
    let tasks = den.tasks(number).await;
    assert_eq!(tasks.len(), 2, "{:?}", den.decided(number).await);
    assert!(tasks[0].evidence[0].text.contains("b has no title"), "{:?}", tasks[0].evidence);
    assert_eq!(den.item(number).await.attempts.spent, 1, "the count goes on");
    // Once a day, whatever comes.
    den.no_change(tasks[0].id).await;
    den.tick().await;
    let until = den.desk.ctx.clock.now() + Duration::hours(20);
    den.change_item(number, |item| item.attempts.next_at = Some(until)).await;
    den.fails_anew(number, "check", "error: b has no year\n").await;
    assert_eq!(den.tasks(number).await.len(), 2, "{:?}", den.decided(number).await);
}

#[tokio::test]
async fn another_failing_check_makes_the_next_attempt_due() {
    let den =
        Den::new(ACT, &format!("requiredChecks: [check, site, verify], skippable: [], {VALIDATE}")).await;
    let number = den.resting().await;
    let head = den.app().pull(number).head();
    den.app().check(&head, "site").succeeds();
    den.desk.pass(Duration::hours(2));
    den.tick().await;
    assert_eq!(den.tasks(number).await.len(), 1);
    // Red, and red again after its own re-run.
    den.fails_anew(number, "site", "error: the page is gone\n").await;
    den.send().await;
    den.fails_anew(number, "site", "error: the page is gone\n").await;
    let tasks = den.tasks(number).await;
    assert_eq!((tasks.len(), tasks[0].state), (2, TaskState::Queued), "{:?}", den.decided(number).await);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_no_news() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let number = den.resting().await;
    const LOG: &str = "GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs";
    den.desk.world.when(LOG).always().answers(steward_github_double::Fault::Status(404));
    den.fails_anew(number, "check", OTHER).await;
    assert_eq!(den.tasks(number).await.len(), 1, "{:?}", den.decided(number).await);
}
