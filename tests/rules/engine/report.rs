//! Section 16: the report is replaced only when what it says changed, and nothing in it acts.

use chrono::Duration;
use steward_rules::engine::checks::NameWarning;
use steward_rules::engine::report::*;
use steward_rules::secret::Engine;
use steward_rules::secret::plant::{Kind, plant};
use steward_rules::wording::engine as say;

use super::world::{minutes_ago, now};

fn item(number: i64) -> Item {
    Item {
        number,
        class: "data".to_owned(),
        state: "running: check".to_owned(),
        attempts: 1,
        next_at: Some(now()),
    }
}

fn report() -> Report {
    let never = NameWarning::NeverSeen { name: "lint".to_owned(), since: minutes_ago(600) };
    let silent = NameWarning::Silent { name: "site".to_owned(), since: minutes_ago(2000) };
    Report {
        no_boundary: Some("bubblewrap is missing".to_owned()),
        warnings: vec![say::name_warning(&never), say::name_warning(&silent)],
        items: vec![Item { attempts: 0, next_at: None, ..item(14) }, item(12)],
        stuck: vec![Stuck {
            number: 12,
            failures: 3,
            evidence: "line\nerror: fixes #9 by @ann\n".to_owned(),
        }],
    }
}

#[test]
fn it_tells_the_boundary_the_warnings_what_is_stuck_and_what_is_followed() {
    insta::assert_snapshot!(body(&report(), now()), @r"
    <!-- steward:report -->
    ### What Steward follows here

    No agent works: there is no boundary for it. Merging goes on.

    ```text
    | bubblewrap is missing
    ```

    The configuration

    ```text
    | lint is required and was never seen since 2026-11-30 02:00 UTC: was the job renamed?
    | site is required and was last seen 2026-11-29 02:40 UTC: was it removed?
    ```

    Stuck: these failed again and again, and the cause is to be found

    ```text
    | #12 failed 3 times, last: error: fixes – #9 by @ ann
    ```

    Followed

    ```text
    | #12 data: running: check (1 attempt); again 2026-11-30 12:00 UTC
    | #14 data: running: check
    ```

    As of 2026-11-30 12:00 UTC.
    ");
}

#[test]
fn only_what_it_says_changes_it() {
    let word = fingerprint(&report());
    let mut same = report();
    same.items.reverse();
    same.items[0].next_at = Some(now() + Duration::hours(3));
    assert_eq!(fingerprint(&same), word, "neither the order nor a time");
    let at = |state: &str, evidence: &str| {
        let mut report = report();
        report.items[0].state = state.to_owned();
        report.stuck[0].evidence = evidence.to_owned();
        fingerprint(&report)
    };
    let first =
        at("running: check; again 2026-11-30 12:00 UTC", "2026-11-30T12:00:00.125Z error: 3 are missing");
    let later =
        at("running: check; again 2026-12-01 08:10 UTC", "2026-12-01T08:10:59+01:00 error: 3 are missing");
    assert_eq!(first, later, "nor a time within a sentence");
    let other =
        at("running: check; again 2026-12-01 08:10 UTC", "2026-12-01T08:10:59+01:00 error: 4 are missing");
    assert_ne!(first, other);
    let changes: [fn(&mut Report); 6] = [
        |report| report.no_boundary = None,
        |report| report.warnings.clear(),
        |report| report.items[0].state = "ready".to_owned(),
        |report| report.items[0].attempts = 2,
        |report| report.stuck[0].failures = 4,
        |report| report.stuck.clear(),
    ];
    for change in changes {
        let mut other = report();
        change(&mut other);
        assert_ne!(fingerprint(&other), word);
    }
}

#[test]
fn it_fits_github_and_holds_no_secret() {
    let long = Report { items: (0..5_000).map(item).collect(), ..report() };
    let text = body(&long, now());
    assert!(text.chars().count() < 65_536, "{}", text.chars().count());
    assert!(text.contains("more lines"));
    let rule = Engine::shared().rules().iter().find(|rule| rule.id == "github-pat").unwrap();
    let secret = plant(rule, Kind::Secret, 3).unwrap().secret;
    for before in ["token".to_owned(), "word ".repeat(18), "x".repeat(80)] {
        let leaking = Report { warnings: vec![format!("{before} {secret}")], ..report() };
        let text = body(&leaking, now());
        assert!(text.contains("[redacted:github-pat]") && !text.contains(&secret[..20]), "{text}");
    }
    let hostile = "```\n@ann close #1\n<img src=x>\u{202e}";
    let stuck = Stuck { number: 1, failures: 3, evidence: hostile.to_owned() };
    let odd = Item { state: hostile.to_owned(), ..item(1) };
    let text = body(&Report { stuck: vec![stuck], items: vec![odd], ..Report::default() }, now());
    assert!(!text.contains("@ann") && !text.contains("close #1") && !text.contains('\u{202e}'), "{text}");
    assert!(text.contains("````text"), "the fence is longer than any inside");
}
