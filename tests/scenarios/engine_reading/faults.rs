//! A part that fails is a part; what fails all of them is the error of the whole.

use rstest::rstest;
use steward_core::loops::accounts::NoAccount;
use steward_github_double::{Fault, Retry};

use super::*;

fn missing(seen: &PrObs) -> Vec<&'static str> {
    [
        ("checks", !seen.check_runs.complete),
        ("statuses", !seen.statuses.complete),
        ("verdicts", !seen.verdict_runs.complete),
        ("labelled", seen.labelled.get().is_err()),
        ("reviews", !seen.reviews.complete),
        ("issues", !seen.linked_issues.complete),
        ("files", !seen.files.complete),
        ("links", seen.links.get().is_err()),
        ("entries", seen.entries.get().is_err()),
        ("compare", seen.compare.get().is_err()),
    ]
    .into_iter()
    .filter_map(|(name, is_missing)| is_missing.then_some(name))
    .collect()
}

const TREES: [&str; 4] = ["files", "links", "entries", "compare"];

#[rstest]
#[case::checks("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", Fault::Status(500), &["checks", "verdicts"])]
#[case::cut_checks("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", Fault::EmptyPage, &["checks", "verdicts"])]
#[case::statuses("GET /repos/{owner}/{repo}/commits/{ref}/statuses", Fault::Truncated, &["statuses"])]
#[case::runs("GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs", Fault::Status(502), &["verdicts"])]
#[case::timeline("GET /repos/{owner}/{repo}/issues/{issue_number}/timeline", Fault::Status(403), &["labelled"])]
#[case::reviews("GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews", Fault::WrongType, &["reviews"])]
#[case::issues("GET /repos/{owner}/{repo}/issues/{issue_number}", Fault::Status(500), &["issues"])]
#[case::branch("GET /repos/{owner}/{repo}/branches/{branch}", Fault::Status(404), &TREES)]
#[case::git("git-upload-pack", Fault::Status(500), &TREES)]
#[tokio::test]
async fn a_part_that_fails_is_missing_and_the_rest_is_there(
    #[case] operation: &str,
    #[case] fault: Fault,
    #[case] expected: &[&str],
) {
    let desk = desk();
    let issue = app(&desk).open_issue("maria", "add b", "please").number();
    let pull = intake(&desk).body(&format!("closes #{issue}"));
    app(&desk).check(&pull.head(), "check").succeeds();
    app(&desk).check(&pull.head(), "verify").workflow(VERIFY).succeeds();
    desk.world.when(operation).always().answers(fault);
    assert_eq!(missing(&read(&desk, pull.number()).await), expected);
    desk.world.calm();
    assert_eq!(missing(&read(&desk, pull.number()).await), [""; 0], "the next reading is whole");
}

/// A14: a page in the middle of a list is missing, so there is no list.
#[tokio::test]
async fn a_list_that_fails_on_its_third_page_is_none() {
    let desk = desk();
    let pull = intake(&desk);
    for at in 0..250 {
        app(&desk).check(&pull.head(), &format!("check-{at}")).succeeds();
    }
    let runs = "GET /repos/{owner}/{repo}/commits/{ref}/check-runs";
    desk.world.when(runs).page(3).always().answers(Fault::Status(500));
    let seen = read(&desk, pull.number()).await;
    assert_eq!((seen.check_runs.items.len(), seen.check_runs.complete), (0, false));
    desk.world.calm();
    assert_eq!(read(&desk, pull.number()).await.check_runs.items.len(), 250);
}

/// A13: what was pushed between two readings is read, and shows.
#[tokio::test]
async fn a_script_pushed_meanwhile_is_in_the_second_reading() {
    use steward_rules::engine::classify::{Class, classify};
    let desk = desk();
    let pull = intake(&desk);
    let policy = Preset::DataCatalogue.policy().on(Some("main"));
    let first = read(&desk, pull.number()).await;
    assert!(matches!(classify(&first, &policy), Class::Data { touched: 1 }));
    app(&desk).push("intake/issue-9", "feat: tool", &[("tools/run.sh", "#!/bin/sh\n")]);
    let second = read(&desk, pull.number()).await;
    assert_ne!(first.head.sha, second.head.sha);
    assert!(matches!(classify(&second, &policy), Class::Code(_)));
}

/// The head moves while the reading is under way: the commits that were named do not come, so no tree counts.
#[tokio::test]
async fn a_head_that_moves_while_it_is_read_has_no_trees() {
    let desk = desk();
    let pull = intake(&desk);
    read(&desk, pull.number()).await;
    app(&desk).push("intake/issue-9", "feat: tool", &[("tools/run.sh", "#!/bin/sh\n")]);
    let one = "GET /repos/{owner}/{repo}/pulls/{pull_number}";
    desk.world.when(one).answers(Fault::Stale);
    let seen = read(&desk, pull.number()).await;
    assert_ne!(seen.head.sha, sha(&pull.head()));
    // The old head is in the clone already, and it is that head's files that are told.
    assert_eq!(seen.files.items.len(), 1);
    assert_eq!(seen.files.items[0].path.shown(), "data/works/b.json");
}

#[rstest]
#[case::limit("GET *", Fault::PrimaryLimit, "rate_limited")]
#[case::limit_of_a_part(
    "GET /repos/{owner}/{repo}/issues/{issue_number}/timeline",
    Fault::PrimaryLimit,
    "rate_limited"
)]
#[case::secondary("GET /repos/{owner}/{repo}/commits/{ref}/check-runs", Fault::Secondary { status: 403, retry: Retry::Seconds(90) }, "secondary_limited")]
#[case::portal("GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews", Fault::Html, "captive_portal")]
#[case::gone("GET /repos/{owner}/{repo}/pulls/{pull_number}", Fault::Status(404), "not_found")]
#[case::server("GET /repos/{owner}/{repo}/pulls/{pull_number}", Fault::Status(503), "server")]
#[case::forbidden("GET /repos/{owner}/{repo}/pulls/{pull_number}", Fault::Status(403), "forbidden")]
#[tokio::test]
async fn what_fails_everything_is_the_error_of_the_whole(
    #[case] operation: &str,
    #[case] fault: Fault,
    #[case] slug: &str,
) {
    let desk = desk();
    let pull = intake(&desk);
    desk.world.when(operation).always().answers(fault);
    let error = tried(&desk, pull.number()).await.unwrap_err();
    assert_eq!(error.slug(), slug, "{error}");
    assert_eq!(error.limited_until().is_some(), slug.ends_with("limited"));
    assert_eq!(error.is_config(), slug == "forbidden");
}

#[tokio::test]
async fn a_token_that_is_not_accepted_and_a_host_that_is_not_there_are_told_apart() {
    let desk = desk();
    let pull = intake(&desk);
    let number = pull.number();
    desk.world.revoke("made-up-token-of-this-test");
    let error = tried(&desk, number).await.unwrap_err();
    assert!(error.slug() == "auth" && error.is_config(), "{error}");
    let nowhere = Place { host: "nowhere.example.org".to_owned(), ..place(&desk) };
    let error = reading::pull(&desk.ctx, &nowhere, PullNumber(1)).await.unwrap_err();
    assert!(matches!(error, ReadFault::NoAccount(NoAccount::NotConfigured(_))));
    let Desk { world, ctx, .. } = desk;
    let place = Place { host: world.base().trim_start_matches("http://").to_owned(), ..nowhere };
    drop(world);
    let error = reading::pull(&ctx, &place, PullNumber(1)).await.unwrap_err();
    assert_eq!(error.slug(), "network", "{error}");
}
