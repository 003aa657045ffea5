//! The runs of the verdict job, the labels, and what a flag names (engine.md 4.3).

use super::*;

fn verdicts(seen: &PrObs) -> Vec<(&str, bool, bool)> {
    let runs = seen.verdict_runs.items.iter();
    runs.map(|run| {
        let is_open = !matches!(run.check.state, CheckState::Ended(_));
        (run.head.short(), is_open, run.ended_at.is_some())
    })
    .collect()
}

#[tokio::test]
async fn a_run_of_an_earlier_head_is_seen_while_it_may_rewrite_the_labels() {
    let desk = desk();
    let pull = intake(&desk);
    let old = pull.head();
    app(&desk).check(&old, "verify").workflow(VERIFY).runs();
    let new =
        app(&desk).push("intake/issue-9", "data: more", &[("data/works/b.json", "{\"b\": {\"v\": 2}}\n")]);
    app(&desk).check(&new, "verify").workflow(VERIFY).succeeds();
    let seen = read(&desk, pull.number()).await;
    assert_eq!(verdicts(&seen), [(&new[..7], false, true), (&old[..7], true, false)]);
    // It ends after the verdict of this head.
    app(&desk).check(&old, "verify").workflow(VERIFY).concludes("cancelled");
    let seen = read(&desk, pull.number()).await;
    assert_eq!(verdicts(&seen), [(&new[..7], false, true), (&old[..7], false, true)]);
    let [own, other] = seen.verdict_runs.items.as_slice() else { panic!() };
    assert!(other.ended_at > own.ended_at);
    assert_eq!(other.check.state, CheckState::Ended("cancelled".to_owned()));
    assert!(seen.verdict_runs.complete);
}

#[tokio::test]
async fn another_job_of_the_workflow_is_no_verdict() {
    let desk = desk();
    let pull = intake(&desk);
    let old = pull.head();
    app(&desk).check(&old, "prepare").workflow(VERIFY).succeeds();
    let new =
        app(&desk).push("intake/issue-9", "data: more", &[("data/works/b.json", "{\"b\": {\"v\": 2}}\n")]);
    app(&desk).check(&new, "verify").workflow(VERIFY).succeeds();
    app(&desk).check(&old, "notes").workflow(VERIFY).succeeds();
    // The workflow of the old head ended last, but its verdict job never ran.
    let seen = read(&desk, pull.number()).await;
    assert_eq!(verdicts(&seen), [(&new[..7], false, true)]);
}

#[tokio::test]
async fn without_the_right_to_see_workflow_runs_the_lists_are_cut() {
    let desk = desk();
    let pull = intake(&desk);
    app(&desk).check(&pull.head(), "verify").workflow(VERIFY).succeeds();
    desk.world
        .when("GET /repos/{owner}/{repo}/actions/runs")
        .always()
        .answers(steward_github_double::Fault::Status(403));
    let seen = read(&desk, pull.number()).await;
    assert!(!seen.check_runs.complete && !seen.verdict_runs.complete);
    assert_eq!(seen.check_runs.items[0].workflow, None);
}

#[tokio::test]
async fn a_flag_names_what_the_bot_says_in_the_one_form_that_is_read() {
    let desk = desk();
    let pull = intake(&desk);
    let (number, head) = (pull.number(), pull.head());
    let says = |head: &str| {
        format!(
            "### AI verification: flagged\n<!-- steward:findings {{\"head\":\"{head}\",\"findings\":[{{\"family\":\"works\",\"id\":\"b\"}},{{\"path\":\"data/works/z.json\"}}]}} -->\n"
        )
    };
    pull.comment(BOT, &says(&head));
    assert_eq!(known(&read(&desk, number).await.flag), [], "there is no flag");
    pull.label_by(BOT, "AI-flagged");
    let named = known(&read(&desk, number).await.flag);
    let entry = FlagFinding { entry: Some(EntryKey::new("works", "b")), path: None };
    assert_eq!(named, [entry, FlagFinding { entry: None, path: Some(RepoPath::from("data/works/z.json")) }]);
    // Comments of others, and of another head, name nothing.
    let other =
        app(&desk).push("intake/issue-9", "data: more", &[("data/works/b.json", "{\"b\": {\"v\": 2}}\n")]);
    pull.comment("mallory", &says(&other));
    assert_eq!(known(&read(&desk, number).await.flag), []);
    let comments = "GET /repos/{owner}/{repo}/issues/{issue_number}/comments";
    desk.world.when(comments).always().answers(steward_github_double::Fault::Status(500));
    assert_eq!(cause(&read(&desk, number).await.flag), Cause::ForgeFailed);
}
