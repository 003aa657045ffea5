//! How a review ends when it does not publish: every end state, by real scripts in the real boundary.

use steward_core::api::{Api, dispatch};
use steward_core::keychain::Keychain;
use steward_core::lock::{HolderKind, RuntimeLock};
use steward_core::loops::review::{self, Stop, StopWhy};
use steward_core::loops::{pause, task};
use steward_core::sandbox::Boundary;
use steward_core::store::reviews::{self, EndReason, ReviewRecord, ReviewState, Trigger};
use steward_core::store::{Durability, steps};
use steward_rules::caller::Caller::Person;
use steward_rules::review::lifecycle::Caller;
use steward_rules::review::verdict::Verdict;

use crate::desk::{ACCEPTED, Desk, hand_in};
use crate::needs_boundary;

/// Runs one review with this reviewer and limits.
async fn ends(desk: &Desk, reviewer: &str, limits: &str) -> ReviewRecord {
    desk.reviewer_with(reviewer, limits);
    let task = desk.task().await;
    desk.review(task).await
}

fn check(row: &ReviewRecord, reason: EndReason, words: &str) {
    assert_eq!(
        (row.state, row.reason, row.verdict),
        (ReviewState::Ended, Some(reason), Some(Verdict::Blocked)),
        "{row:?}"
    );
    let detail = row.reason_detail.as_deref().unwrap_or_default();
    assert!(detail.contains(words), "{detail:?} does not say {words:?}");
}

#[tokio::test]
async fn a_gate_can_block_what_the_seat_accepts() {
    needs_boundary!();
    let desk = Desk::new();
    let secret = format!("token = \"AKIA{}\"\n", "Q3EGRZ7XVJ2YTN5W");
    desk.repo.commit("chore: key", &[("src/key.rs", Some(secret.as_bytes()))]);
    let row = ends(&desk, &hand_in(ACCEPTED), "").await;
    assert_eq!((row.state, row.verdict), (ReviewState::Published, Some(Verdict::Blocked)), "{row:?}");
    assert_eq!((row.seat_verdict, row.cap), (Some(Verdict::Accepted), Some(Verdict::Blocked)));
}

#[tokio::test]
async fn c3_the_seat_can_block_what_every_gate_passes() {
    needs_boundary!();
    let desk = Desk::new();
    let row =
        ends(&desk, &hand_in(r#"{"verdict":"BLOCKED","summary":"it deletes the wrong table"}"#), "").await;
    assert_eq!(
        (row.state, row.verdict, row.cap),
        (ReviewState::Published, Some(Verdict::Blocked), Some(Verdict::Accepted))
    );
    assert_eq!(row.reason, None, "a verdict of the seat is no end reason");
}

#[tokio::test]
async fn a_silent_seat_ends_as_timeout() {
    needs_boundary!();
    let desk = Desk::new();
    let row = ends(&desk, "sleep 600\n", "idleSeconds: 1").await;
    check(&row, EndReason::Timeout, "silent");
}

#[tokio::test]
async fn a_seat_that_forks_daemons_and_ignores_signals_leaves_nothing_behind() {
    needs_boundary!();
    let desk = Desk::new();
    let stubborn =
        "trap '' TERM INT HUP\n(setsid sleep 6061 &)\n(setsid sh -c 'setsid sleep 6061' &)\nsleep 6061\n";
    let row = ends(&desk, stubborn, "idleSeconds: 1").await;
    check(&row, EndReason::Timeout, "silent");
    let id = row.id;
    let steps = desk.ctx.store.read(move |tx| steps::of(tx, id, 50)).await.expect("read");
    assert!(!steps.iter().any(|step| step.text.contains("could not be ended")), "{steps:?}");
    let left = std::fs::read_dir("/proc").expect("proc").flatten().any(|entry| {
        std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| line.starts_with(b"sleep\x006061"))
    });
    assert!(!left, "a process of the seat still runs");
}

#[tokio::test]
async fn money_above_the_budget_ends_as_budget() {
    needs_boundary!();
    let desk = Desk::new();
    desk.review_keys("budgetUsd: 0.5");
    let row =
        ends(&desk, "echo '{\"type\":\"usage\",\"usd\":0.75,\"tokens\":10,\"turns\":1}'\nsleep 60\n", "")
            .await;
    check(&row, EndReason::Budget, "budgetUsd");
    assert_eq!(row.cost_usd, Some(0.75), "what it cost is kept");
    let spent = desk.ctx.store.read(steward_core::store::spending::today_and_month).await.expect("read").0;
    assert_eq!((spent.usd, spent.unknown), (0.75, 0));
}

#[tokio::test]
async fn c40_without_a_reported_cost_the_token_ceiling_still_holds() {
    needs_boundary!();
    let desk = Desk::new();
    desk.review_keys("maxTokens: 5000");
    let row = ends(&desk, "echo '{\"type\":\"usage\",\"tokens\":6000,\"turns\":1}'\nsleep 60\n", "").await;
    check(&row, EndReason::Budget, "maxTokens");
    assert_eq!(row.cost_usd, None, "unknown is not zero");
    let spent = desk.ctx.store.read(steward_core::store::spending::today_and_month).await.expect("read").0;
    assert_eq!((spent.usd, spent.unknown, spent.tokens), (0.0, 1, 6000));
}

#[tokio::test]
async fn the_spend_cap_over_all_agents_stops_a_running_seat() {
    needs_boundary!();
    let desk = Desk::new();
    desk.config(
        "workspaces: [{title: app, path: ROOT/app}]\nreview: {enabled: true}\nspend: {dailyUsd: 0.3, monthlyUsd: 100}\n",
    );
    let row =
        ends(&desk, "echo '{\"type\":\"usage\",\"usd\":0.35,\"tokens\":10,\"turns\":1}'\nsleep 60\n", "")
            .await;
    check(&row, EndReason::Budget, "spend cap");
}

#[tokio::test]
async fn a_seat_that_exits_without_a_verdict_crashed() {
    needs_boundary!();
    let desk = Desk::new();
    check(&ends(&desk, "exit 0\n", "").await, EndReason::Crashed, "no verdict");
}

#[tokio::test]
async fn a_seat_that_fails_crashed_with_its_exit_code() {
    needs_boundary!();
    let desk = Desk::new();
    check(
        &ends(&desk, "echo 'the model is gone' >&2\nexit 4\n", "").await,
        EndReason::Crashed,
        "exit code 4",
    );
}

#[tokio::test]
async fn garbage_is_no_verdict() {
    needs_boundary!();
    let desk = Desk::new();
    let garbage =
        "printf '\\000\\033]0;x\\007\\377\\n{\"type\":'\nprintf 'not json' > \"$STEWARD_SUBMISSION\"\n";
    check(&ends(&desk, garbage, "").await, EndReason::Crashed, "submission");
}

#[tokio::test]
async fn a_verdict_about_another_digest_is_no_verdict() {
    needs_boundary!();
    let desk = Desk::new();
    let row = ends(&desk, &hand_in(ACCEPTED).replace("$hash\",", "0123\","), "").await;
    check(&row, EndReason::Crashed, "another digest");
}

#[tokio::test]
async fn c38_changes_without_a_finding_is_no_verdict() {
    needs_boundary!();
    let desk = Desk::new();
    let row = ends(&desk, &hand_in(r#"{"verdict":"CHANGES","summary":"hm"}"#), "").await;
    check(&row, EndReason::Crashed, "finding");
}

#[tokio::test]
async fn a_gigabyte_of_output_ends_as_crashed_and_does_not_grow_memory() {
    needs_boundary!();
    let desk = Desk::new();
    let before = resident();
    let row = ends(&desk, "head -c 1000000000 /dev/zero | tr '\\0' x\n", "").await;
    let grown = resident().saturating_sub(before);
    check(&row, EndReason::Crashed, "printed more");
    assert!(grown < 48 << 20, "memory grew by {grown} bytes");
}

fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}

#[tokio::test]
async fn a_cancel_ends_a_running_review_and_a_second_one_is_an_error() {
    needs_boundary!();
    let desk = Desk::new();
    desk.reviewer("echo '{\"type\":\"progress\",\"text\":\"thinking\"}'\nsleep 600\n");
    let task = desk.task().await;
    let id = desk.start(task).await;
    let (stop, ctx) = (Stop::default(), desk.ctx.clone());
    let driven = tokio::spawn({
        let stop = stop.clone();
        async move { review::drive(&ctx, id, &stop).await }
    });
    desk.until(id, "it thinks", |row| row.phase.as_deref() == Some("thinking")).await;
    review::cancel(&desk.ctx, id).await.expect("asked");
    assert!(desk.row(id).await.cancel_asked);
    stop.stop(StopWhy::Person);
    driven.await.expect("joined").expect("driven");
    check(&desk.row(id).await, EndReason::Cancelled, "person");
    assert!(review::cancel(&desk.ctx, id).await.is_err(), "it is over");
}

#[tokio::test]
async fn a_queued_and_a_held_review_are_cancelled_at_once() {
    needs_boundary!();
    let desk = Desk::new();
    let task = desk.task().await;
    let queued = desk.start(task).await;
    review::cancel(&desk.ctx, queued).await.expect("cancelled");
    check(&desk.row(queued).await, EndReason::Cancelled, "person");
    task::attach_handoff(&desk.ctx, task, r#"{"peer":"ada","status":"running"}"#).await.expect("attached");
    let held = desk.review(task).await;
    review::cancel(&desk.ctx, held.id).await.expect("cancelled");
    check(&desk.row(held.id).await, EndReason::Cancelled, "person");
}

#[tokio::test]
async fn a_change_to_the_task_s_checkout_is_a_scope_violation_where_the_wall_is_not_a_mount_namespace() {
    needs_boundary!();
    let desk = Desk::new();
    let steward = steward_kit::binary::steward();
    desk.ctx.use_boundary(Boundary::Landlock { steward });
    let marker = desk.root.join("app/planted.txt");
    desk.reviewer(&format!(
        "echo '{{\"type\":\"progress\",\"text\":\"started\"}}'\nsleep 2\n{}",
        hand_in(ACCEPTED)
    ));
    let task = desk.task().await;
    let id = desk.start(task).await;
    let ctx = desk.ctx.clone();
    let driven = tokio::spawn(async move { review::drive(&ctx, id, &Stop::default()).await });
    let row = desk.until(id, "the seat runs", |row| {
        row.phase.as_deref() == Some("started") || row.state == ReviewState::Ended
    });
    if row.await.state == ReviewState::Ended {
        eprintln!("skipped: no Landlock here");
        return;
    }
    std::fs::write(marker, "from somewhere").expect("written");
    driven.await.expect("joined").expect("driven");
    check(&desk.row(id).await, EndReason::ScopeViolation, "checkout changed");
}

#[tokio::test]
async fn work_of_others_in_the_checkout_is_no_violation_behind_bubblewrap() {
    needs_boundary!();
    let desk = Desk::new();
    if !matches!(desk.ctx.boundary(), Boundary::Bubblewrap { .. }) {
        eprintln!("skipped: no bubblewrap here");
        return;
    }
    desk.reviewer(&format!(
        "echo '{{\"type\":\"progress\",\"text\":\"started\"}}'\nsleep 1\n{}",
        hand_in(ACCEPTED)
    ));
    let task = desk.task().await;
    let id = desk.start(task).await;
    let ctx = desk.ctx.clone();
    let driven = tokio::spawn(async move { review::drive(&ctx, id, &Stop::default()).await });
    desk.until(id, "the seat runs", |row| row.phase.as_deref() == Some("started")).await;
    std::fs::write(desk.root.join("app/notes.txt"), "mine").expect("written");
    driven.await.expect("joined").expect("driven");
    assert_eq!(desk.row(id).await.state, ReviewState::Published);
}

#[tokio::test]
async fn the_seat_can_change_neither_export_nor_checkout_nor_database() {
    needs_boundary!();
    let desk = Desk::new();
    let app = desk.root.join("app");
    let tries = format!(
        "for f in \"$STEWARD_TREE/src/lib.rs\" \"$STEWARD_DIGEST\" '{0}/src/lib.rs' '{1}/steward.db' '{1}/config.yaml'; do\n  (echo x >> \"$f\") 2>/dev/null && exit 9\n  done\ncat '{0}/src/lib.rs' '{1}/config.yaml' >/dev/null 2>&1 && exit 8\n{2}",
        app.display(),
        desk.home.data_dir().display(),
        hand_in(ACCEPTED)
    );
    let row = ends(&desk, &tries, "").await;
    assert_eq!(row.state, ReviewState::Published, "{row:?}");
    assert_eq!(std::fs::read_to_string(app.join("src/lib.rs")).expect("read").lines().count(), 3);
}

#[tokio::test]
async fn no_agent_and_no_boundary_are_said_with_the_next_step() {
    let desk = Desk::new();
    let task = desk.task().await;
    std::fs::write(desk.home.seat_file("reviewer"), "adapter: command\ncommand: [/nonexistent/reviewer]\n")
        .expect("written");
    let row = desk.review(task).await;
    check(&row, EndReason::Crashed, "was not found");
    desk.ctx.use_boundary(Boundary::None { reason: "made up for this test".to_owned() });
    let row = desk.review(task).await;
    check(&row, EndReason::Crashed, "no boundary");
}

#[tokio::test]
async fn claude_without_a_credential_is_not_started() {
    needs_boundary!();
    let Some(program) = steward_kit::claude::find_or_say() else { return };
    let desk = Desk::new();
    let task = desk.task().await;
    let seat = format!("adapter: claude\ncommand: [\"{}\"]\n", program.display());
    std::fs::write(desk.home.seat_file("reviewer"), seat).expect("written");
    let ctx = desk.ctx.clone().with_keychain(Keychain::with_environment(None));
    let id = desk.start(task).await;
    review::drive(&ctx, id, &Stop::default()).await.expect("driven");
    let row = desk.row(id).await;
    assert_eq!(row.reason, Some(EndReason::Crashed), "{row:?}");
}

#[tokio::test]
async fn a_workspace_that_is_gone_ends_the_review_with_its_words() {
    let desk = Desk::new();
    let task = desk.task().await;
    let id = desk.start(task).await;
    std::fs::rename(desk.root.join("app"), desk.root.join("moved")).expect("moved");
    let row = desk.drive(id).await;
    check(&row, EndReason::Crashed, "is not a git repository");
}

async fn automatic(
    desk: &Desk,
    task: steward_rules::ids::TaskId,
) -> Result<steward_rules::ids::ReviewId, String> {
    let ask = review::Ask { task, sha: None, trigger: Trigger::Automatic, caller: Caller::Runtime };
    review::start(&desk.ctx, ask).await.map_err(|error| error.to_string())
}

#[tokio::test]
async fn c14_three_crashes_in_a_row_pause_automatic_reviews_until_a_manual_one_completes() {
    needs_boundary!();
    let desk = Desk::new();
    desk.review_keys("maxReviewsPerTask: 50, maxReviewsPerHour: 24");
    desk.reviewer("exit 3\n");
    let task = desk.task().await;
    for _ in 0..3 {
        assert_eq!(desk.review(task).await.reason, Some(EndReason::Crashed));
    }
    let words = automatic(&desk, task).await.expect_err("the breaker is open");
    assert!(words.contains('3'), "{words}");
    desk.reviewer(&hand_in(ACCEPTED));
    assert_eq!(desk.review(task).await.state, ReviewState::Published, "by hand it may");
    desk.repo.commit("fix: more", &[("src/more.rs", Some(b"// more\n"))]);
    automatic(&desk, task).await.expect("lifted");
}

#[tokio::test]
async fn c15_a_budget_end_between_crashes_neither_adds_nor_resets() {
    needs_boundary!();
    let desk = Desk::new();
    desk.review_keys("maxReviewsPerTask: 50, maxReviewsPerHour: 24, budgetUsd: 0.5");
    let task = desk.task().await;
    let broke = "echo '{\"type\":\"usage\",\"usd\":0.75,\"tokens\":10,\"turns\":1}'\nsleep 60\n";
    for (reviewer, reason) in [
        ("exit 3\n", EndReason::Crashed),
        ("exit 3\n", EndReason::Crashed),
        (broke, EndReason::Budget),
        ("exit 3\n", EndReason::Crashed),
    ] {
        desk.reviewer(reviewer);
        assert_eq!(desk.review(task).await.reason, Some(reason));
    }
    automatic(&desk, task).await.expect_err("three, with a budget end among them");
}

#[tokio::test]
async fn a_head_gets_one_automatic_review_and_none_while_paused() {
    needs_boundary!();
    let desk = Desk::new();
    let task = desk.task().await;
    pause::pause(&desk.ctx, "travelling").await.expect("paused");
    let words = automatic(&desk, task).await.expect_err("paused");
    assert!(words.contains("travelling"), "{words}");
    assert!(pause::resume(&desk.ctx).await.expect("resumed"));
    desk.reviewer("exit 3\n");
    let first = automatic(&desk, task).await.expect("the first");
    desk.drive(first).await;
    let second = automatic(&desk, task).await.expect("an ended one is repeated once");
    desk.drive(second).await;
    automatic(&desk, task).await.expect_err("not twice");
}

#[tokio::test]
async fn an_ended_review_stands_in_the_inbox_unless_the_person_cancelled_it() {
    needs_boundary!();
    let desk = Desk::new();
    let task = desk.task().await;
    desk.reviewer("exit 3\n");
    let first = desk.review(task).await;
    let second = desk.review(task).await;
    assert_eq!((first.reason, second.reason), (Some(EndReason::Crashed), Some(EndReason::Crashed)));
    let inbox = desk.inbox().await;
    assert_eq!(inbox.len(), 1, "the newer end replaces the older one: {inbox:?}");
    assert_eq!((inbox[0].target.as_str(), inbox[0].chip.as_str()), ("review/2", "BLOCKED"));
    let cancelled = desk.start(task).await;
    review::cancel(&desk.ctx, cancelled).await.expect("cancelled");
    assert_eq!(desk.row(cancelled).await.reason, Some(EndReason::Cancelled));
    let targets: Vec<_> = desk.inbox().await.into_iter().map(|entry| entry.target).collect();
    assert_eq!(targets, ["review/2"], "whoever cancelled it knows");
    assert_eq!(desk.notices(cancelled).await.0, 0);
}

#[tokio::test]
async fn a_review_whose_runtime_was_killed_is_told_as_crashed_by_whoever_looks_first() {
    let desk = Desk::new();
    let task = desk.task().await;
    let id = desk.start(task).await;
    let begin = reviews::RunStart {
        model: None,
        adapter: "command".to_owned(),
        boundary: "bubblewrap".to_owned(),
        budget_usd: 1.5,
    };
    desk.ctx
        .store
        .write(Durability::Full, move |tx| {
            reviews::begin_digest(tx, id)?;
            reviews::begin_run(tx, id, &begin)
        })
        .await
        .expect("it runs");
    let held = RuntimeLock::take(&desk.home, HolderKind::Serve, desk.ctx.clock.now()).expect("the lock");
    let open = || Api::open_at(&desk.home, Person, desk.clock.clone());
    open().await.expect("open");
    assert_eq!(desk.row(id).await.state, ReviewState::Running, "its runtime lives");
    drop(held);
    let api = open().await.expect("open");
    check(&desk.row(id).await, EndReason::Crashed, "ended while the seat ran");
    let refused = dispatch(&api, "review_cancel", serde_json::json!({ "id": id.0 })).await;
    assert!(refused.is_err_and(|error| error.message.contains("over already")));
}

#[tokio::test]
async fn a_review_without_a_verdict_has_nothing_to_copy() {
    let desk = Desk::new();
    let task = desk.task().await;
    let id = desk.start(task).await;
    let api = Api::open_at(&desk.home, Person, desk.clock.clone()).await.expect("open");
    let refused = dispatch(&api, "review_copy", serde_json::json!({ "id": id.0 })).await;
    assert!(refused.is_err_and(|error| error.message.contains("has no verdict")));
}
