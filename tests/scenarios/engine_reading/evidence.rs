//! Logs of failed jobs: where they are fetched from, how much is held, what is shown (A10, A11).

use steward_github_double::Fault;
use steward_rules::engine::ladder::{LOG_BYTES, LOG_LINES};

use super::*;

#[tokio::test]
async fn the_end_of_a_failed_jobs_log_is_read_without_the_token_and_redacted() {
    let desk = desk();
    let pull = intake(&desk);
    let head = pull.head();
    let mut log: String = (0..5000).map(|at| format!("2026-01-05T09:00:00.{at:07}Z line {at}\n")).collect();
    let token = format!("ghp_{}", "1a2B3c4D5e6F7g8H9i0JkLmNoPqRsTuVwX12");
    log.push_str(&format!("2026-01-05T09:00:01.0000000Z \u{1b}[31merror\u{1b}[0m: token {token}\n"));
    app(&desk).check(&head, "check").printing(&log).fails();
    app(&desk).check(&head, "site").printing("fine\n").succeeds();
    app(&desk).check(&head, "compose").printing("short\n").concludes("timed_out");
    let run = app(&desk).runs_at(&head)[0];
    let found = reading::job_log(&desk.ctx, &place(&desk), run).await.unwrap();
    let names: Vec<_> = found.iter().map(|one| (one.check.as_str(), one.is_cut)).collect();
    assert_eq!(names, [("check", true), ("compose", false)]);
    let excerpt = found[0].excerpt.as_deref().unwrap();
    let lines: Vec<&str> = excerpt.lines().collect();
    assert_eq!((lines.len(), lines[0]), (LOG_LINES, "line 4801"));
    let last = lines[LOG_LINES - 1];
    assert!(
        last.starts_with("error: token ") && !last.contains(&token) && !last.contains('\u{1b}'),
        "{last}"
    );
    assert_eq!(found[1].excerpt.as_deref(), Some("short"));
    let fetched: Vec<_> =
        desk.world.exchanges().into_iter().filter(|one| one.operation == "GET log").collect();
    assert_eq!(fetched.len(), 2);
    assert!(fetched.iter().all(|one| one.login.is_empty()), "the other host sees no token");
}

#[tokio::test]
async fn of_a_huge_log_the_end_is_held() {
    let desk = desk();
    let head = intake(&desk).head();
    let mut log = "x".repeat(900);
    log.push('\n');
    let log = log.repeat(9000) + "the end\n";
    app(&desk).check(&head, "check").printing(&log).fails();
    let run = app(&desk).runs_at(&head)[0];
    let found = reading::job_log(&desk.ctx, &place(&desk), run).await.unwrap();
    let excerpt = found[0].excerpt.as_deref().unwrap();
    assert!(excerpt.ends_with("the end") && excerpt.len() <= LOG_BYTES && found[0].is_cut);
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_evidence_that_says_so() {
    let desk = desk();
    let head = intake(&desk).head();
    app(&desk).check(&head, "check").printing("gone\n").fails();
    let run = app(&desk).runs_at(&head)[0];
    let excerpt = async || {
        let found = reading::job_log(&desk.ctx, &place(&desk), run).await.unwrap();
        assert_eq!(found[0].check, "check");
        found[0].excerpt.clone()
    };
    assert_eq!(excerpt().await.as_deref(), Some("gone"));
    let address = "GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs";
    for to in ["http://logs.example.org/x", "ftp://127.0.0.1/x", "not an address", "https:///x"] {
        desk.world.when(address).answers(Fault::Moved { status: 302, to: to.to_owned() });
        assert_eq!(excerpt().await, None, "{to}");
    }
    for fault in [Fault::Status(404), Fault::Status(500), Fault::Cut, Fault::Truncated] {
        desk.world.when("GET log").answers(fault.clone());
        assert_eq!(excerpt().await, None, "{fault:?}");
    }
    app(&desk).run(run).forget_logs();
    assert_eq!(excerpt().await, None);
    drop(desk.world.take_violations());
    desk.world.when("GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs").answers(Fault::PrimaryLimit);
    let error = reading::job_log(&desk.ctx, &place(&desk), run).await.unwrap_err();
    assert_eq!(error.slug(), "rate_limited");
}
