//! Section 10: which issues are worked on, and what a decision about one must prove.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, Utc};
use steward_rules::engine::facts::Listing;
use steward_rules::engine::policy::{Policy, Preset};
use steward_rules::engine::retry::Attempts;
use steward_rules::engine::triage::*;
use steward_rules::ids::PullNumber;
use steward_rules::reading::Reading;
use steward_rules::untrusted::Untrusted;

use super::world::*;

const OWN: Own = Own { account: 1, report: Some(77) };

/// A data issue of two hours ago that the intake said a person must look at.
fn issue() -> IssueObs {
    IssueObs {
        number: 9,
        is_pull: false,
        is_open: true,
        reporter: account(50, "reader"),
        created_at: minutes_ago(120),
        labels: labels(&["data:add-work", "data:needs-human"]),
        comments: Listing::whole([comment(60, "github-actions[bot]", false, 110)]),
        edits: Listing::whole([]),
        open_pulls: Listing::whole([]),
    }
}

fn comment(id: u64, login: &str, has_marker: bool, minutes: i64) -> Comment {
    Comment { by: account(id, login), has_marker, is_answer: false, at: minutes_ago(minutes) }
}

/// Steward's answer, by GitHub's clock.
fn answer(minutes: i64) -> Comment {
    Comment { is_answer: true, ..comment(1, "maintainer", true, minutes) }
}

fn decide(issue: &IssueObs, memory: &IssueMemory) -> IssueStep {
    step(issue, memory, OWN, &policy(), now())
}

fn fresh(issue: &IssueObs) -> IssueStep {
    decide(issue, &IssueMemory::default())
}

fn asked(minutes: i64) -> IssueMemory {
    IssueMemory { asked_at: Some(minutes_ago(minutes)), ..IssueMemory::default() }
}

#[test]
fn what_the_intake_could_not_finish_is_triaged() {
    assert_eq!(fresh(&issue()), IssueStep::Triage);
    for label in ["data:needs-human", "Data:Invalid", "data:duplicate"] {
        let young = IssueObs { created_at: minutes_ago(1), labels: labels(&["data", label]), ..issue() };
        assert_eq!(fresh(&young), IssueStep::Triage, "{label}");
    }
}

#[test]
fn pull_requests_the_report_and_what_is_closed_are_no_issues() {
    for skipped in [
        IssueObs { is_pull: true, ..issue() },
        IssueObs { is_open: false, ..issue() },
        IssueObs { number: 77, ..issue() },
    ] {
        assert_eq!(fresh(&skipped), IssueStep::Skip);
    }
}

#[test]
fn a35_an_issue_out_of_scope_is_listed_and_left_alone() {
    for out in [&[][..], &["bug"], &["database"], &["metadata"], &["xdata:y"]] {
        let mut issue = IssueObs { labels: labels(out), ..issue() };
        issue.comments.items.push(comment(50, "reader", false, 1));
        assert_eq!(fresh(&issue), IssueStep::ListOnly, "{out:?}");
    }
    for scoped in ["data", "DATA", "data:correction", "Data:x"] {
        assert_ne!(fresh(&IssueObs { labels: labels(&[scoped]), ..issue() }), IssueStep::ListOnly);
    }
    let nothing: Policy = Preset::CodeApp.policy();
    assert_eq!(step(&issue(), &IssueMemory::default(), OWN, &nothing, now()), IssueStep::ListOnly);
}

#[test]
fn an_open_pull_request_that_refers_to_it_comes_first() {
    let mut issue = issue();
    issue.open_pulls = Listing::whole([PullNumber(14), PullNumber(12)]);
    assert_eq!(fresh(&issue), IssueStep::WaitsForPull { pull: PullNumber(12) });
    issue.open_pulls.complete = false;
    assert_eq!(fresh(&issue), IssueStep::WaitsForPull { pull: PullNumber(12) });
}

#[test]
fn what_was_not_read_whole_does_nothing() {
    for cut in [
        IssueObs { labels: unread(), ..issue() },
        IssueObs { open_pulls: Listing::cut([]), ..issue() },
        IssueObs { comments: Listing::cut([]), ..issue() },
        IssueObs { edits: Listing::cut([]), ..issue() },
    ] {
        assert_eq!(fresh(&cut), IssueStep::Unreadable);
    }
}

#[test]
fn the_intake_has_half_an_hour() {
    let unanswered = |minutes| IssueObs {
        created_at: minutes_ago(minutes),
        labels: labels(&["data:add-work"]),
        comments: Listing::whole([]),
        ..issue()
    };
    let until = now() + Duration::minutes(1);
    assert_eq!(fresh(&unanswered(29)), IssueStep::WaitsForIntake { until });
    assert_eq!(fresh(&unanswered(30)), IssueStep::Triage);
    let with = |by: Comment| IssueObs { comments: Listing::whole([by]), ..unanswered(1) };
    assert_eq!(fresh(&with(comment(60, "github-actions[bot]", false, 0))), IssueStep::Triage);
    for other in [comment(61, "helper[bot]", false, 0), comment(50, "reader", false, 0)] {
        assert!(matches!(fresh(&with(other)), IssueStep::WaitsForIntake { .. }));
    }
    // Somebody who calls himself like the intake's bot is no bot.
    let mut named = comment(62, "github-actions[bot]", false, 0);
    named.by.is_bot = false;
    assert!(matches!(fresh(&with(named)), IssueStep::WaitsForIntake { .. }));
}

#[test]
fn a33_f7_only_a_person_other_than_steward_wakes_a_question() {
    let asking = |more: &[Comment]| {
        let mut issue = IssueObs { labels: labels(&["data", "steward:needs-info"]), ..issue() };
        issue.comments.items.push(comment(1, "maintainer", true, 60));
        issue.comments.items.extend(more.iter().cloned());
        issue
    };
    let memory = asked(60);
    assert_eq!(decide(&asking(&[]), &memory), IssueStep::NeedsInfo);
    for silent in [
        comment(1, "maintainer", true, 30),
        comment(61, "helper[bot]", false, 30),
        comment(61, "helper[bot]", true, 30),
        comment(50, "reader", false, 60),
        comment(50, "reader", false, 61),
    ] {
        assert_eq!(
            decide(&asking(std::slice::from_ref(&silent)), &memory),
            IssueStep::NeedsInfo,
            "{silent:?}"
        );
    }
    for wakes in [
        comment(50, "reader", false, 59),
        comment(51, "stranger", false, 30),
        // The maintainer himself, from the account Steward acts with: no marker.
        comment(1, "maintainer", false, 30),
        // A planted marker in somebody else's comment says nothing.
        comment(51, "stranger", true, 30),
        // A name that looks like ours is compared by id.
        comment(52, "maintainer", true, 30),
    ] {
        assert_eq!(decide(&asking(std::slice::from_ref(&wakes)), &memory), IssueStep::Triage, "{wakes:?}");
    }
}

#[test]
fn an_edit_by_the_reporter_after_the_question_is_an_answer() {
    let edited = |id: u64, login: &str, minutes: i64| {
        let mut issue = IssueObs { labels: labels(&["data", "steward:needs-info"]), ..issue() };
        issue.edits = Listing::whole([Edit { by: account(id, login), at: minutes_ago(minutes) }]);
        decide(&issue, &asked(60))
    };
    assert_eq!(edited(50, "reader", 59), IssueStep::Triage);
    assert_eq!(edited(50, "reader", 60), IssueStep::NeedsInfo);
    assert_eq!(edited(51, "stranger", 5), IssueStep::NeedsInfo);
    assert_eq!(edited(1, "maintainer", 5), IssueStep::NeedsInfo);
    let mut by_bot = IssueObs { labels: labels(&["data", "steward:needs-info"]), ..issue() };
    by_bot.reporter = account(70, "form[bot]");
    by_bot.edits = Listing::whole([Edit { by: account(70, "form[bot]"), at: minutes_ago(5) }]);
    assert_eq!(decide(&by_bot, &asked(60)), IssueStep::NeedsInfo, "a bot's edit answers nothing");
}

#[test]
fn a_question_that_is_not_remembered_is_found_by_its_marker() {
    let mut issue = IssueObs { labels: labels(&["data", "steward:needs-info"]), ..issue() };
    assert_eq!(fresh(&issue), IssueStep::Triage, "Steward never asked; the label is somebody else's");
    issue.comments.items.push(comment(1, "maintainer", true, 60));
    assert_eq!(fresh(&issue), IssueStep::NeedsInfo);
    issue.comments.items.push(comment(50, "reader", false, 30));
    assert_eq!(fresh(&issue), IssueStep::Triage);
}

#[test]
fn githubs_clock_tells_whether_a_word_came_after_ours() {
    for (label, is_declined) in [("steward:needs-info", false), ("steward:declined", true)] {
        // The clock of this machine is an hour ahead, or behind: what it noted of the answer is wrong.
        for noted in [0, 120] {
            let at = Some(minutes_ago(noted));
            let memory = match is_declined {
                true => IssueMemory { declined_at: at, ..IssueMemory::default() },
                false => IssueMemory { asked_at: at, ..IssueMemory::default() },
            };
            let after = |more: &[Comment]| {
                let mut issue = IssueObs { labels: labels(&["data", label]), ..issue() };
                issue.comments.items.push(comment(50, "reader", false, 61));
                issue.comments.items.push(answer(60));
                issue.comments.items.extend(more.iter().cloned());
                decide(&issue, &memory)
            };
            assert_ne!(after(&[]), IssueStep::Triage, "{label} {noted}");
            assert_ne!(after(&[comment(1, "maintainer", true, 10)]), IssueStep::Triage, "{label} {noted}");
            assert_eq!(after(&[comment(50, "reader", false, 59)]), IssueStep::Triage, "{label} {noted}");
            assert_ne!(
                after(&[comment(50, "reader", false, 59), answer(30)]),
                IssueStep::Triage,
                "{label} {noted}: answered anew"
            );
        }
    }
    // An answer that somebody else made up is none.
    let planted = Comment { by: account(51, "stranger"), ..answer(30) };
    let mut issue = IssueObs { labels: labels(&["data", "steward:needs-info"]), ..issue() };
    issue.comments.items.extend([answer(60), comment(50, "reader", false, 50), planted]);
    assert_eq!(decide(&issue, &asked(60)), IssueStep::Triage);
}

#[test]
fn a_declined_issue_that_was_reopened_waits_for_a_newer_word() {
    let mut issue = IssueObs { labels: labels(&["data", "steward:declined"]), ..issue() };
    let memory = IssueMemory { declined_at: Some(minutes_ago(60)), ..IssueMemory::default() };
    assert_eq!(decide(&issue, &memory), IssueStep::Declined);
    assert_eq!(fresh(&issue), IssueStep::Triage, "the label is somebody else's");
    let mut found = issue.clone();
    found.comments.items.push(comment(1, "maintainer", true, 60));
    assert_eq!(fresh(&found), IssueStep::Declined, "not remembered, and found by its marker");
    issue.comments.items.push(comment(50, "reader", false, 61));
    assert_eq!(decide(&issue, &memory), IssueStep::Declined);
    issue.edits = Listing::whole([Edit { by: account(50, "reader"), at: minutes_ago(1) }]);
    assert_eq!(decide(&issue, &memory), IssueStep::Declined, "an edit is no comment");
    issue.comments.items.push(comment(50, "reader", false, 59));
    assert_eq!(decide(&issue, &memory), IssueStep::Triage);
}

#[test]
fn an_attempt_that_is_not_due_waits() {
    let memory = |at: DateTime<Utc>| IssueMemory {
        attempts: Attempts { spent: 2, next_at: Some(at), ..Attempts::default() },
        ..IssueMemory::default()
    };
    let until = now() + Duration::minutes(1);
    assert_eq!(decide(&issue(), &memory(until)), IssueStep::Backoff { until });
    assert_eq!(decide(&issue(), &memory(now())), IssueStep::Triage);
}

fn tree() -> Reading<BTreeSet<String>> {
    Reading::known(strings(&["dune", "dune-messiah", "B0ABC"]).into_iter().collect())
}

fn text(text: &str) -> Untrusted {
    Untrusted::new(text)
}

fn proves(answer: &Answer) -> Result<(), NotProven> {
    prove(answer, &tree(), &[text("Which edition do you mean?")])
}

#[test]
fn a34_already_present_names_only_what_is_there() {
    let present = |ids: &[&str], evidence: &str| {
        proves(&Answer::AlreadyPresent { ids: strings(ids), evidence: text(evidence) })
    };
    assert_eq!(present(&["dune", "B0ABC"], "works/dune has ASIN B0ABC."), Ok(()));
    let missing = NotProven::Missing { ids: strings(&["arrakis"]) };
    assert_eq!(present(&["dune", "arrakis"], "dune, arrakis"), Err(missing));
    assert_eq!(present(&[], "it is there"), Err(NotProven::NoClaim));
    assert_eq!(present(&["", " "], "it is there"), Err(NotProven::NoClaim));
    let quoted = Err(NotProven::QuotedOnly { ids: strings(&["dune"]) });
    assert_eq!(present(&["dune"], "> please add dune\n\nIt is there."), quoted);
    assert_eq!(present(&["dune"], "  > dune\ndune-messiah and dunes are there"), quoted, "whole words");
    assert_eq!(present(&["dune"], "the old-dune and redune are there"), quoted, "whole words");
    assert_eq!(present(&["dune"], "> add it\n`dune` is there"), Ok(()));
    let answer = Answer::AlreadyPresent { ids: strings(&["dune"]), evidence: text("dune") };
    assert_eq!(prove(&answer, &unread(), &[]), Err(NotProven::Unread));
}

#[test]
fn declined_gives_a_reason_the_tree_does_not_contradict() {
    let declined = |reason: &str, claims: &[(&str, bool)]| {
        let claims = claims.iter().map(|(id, is)| Claim { id: (*id).to_owned(), is_present: *is }).collect();
        proves(&Answer::Declined { reason: text(reason), claims })
    };
    assert_eq!(declined("Out of scope.", &[]), Ok(()));
    for empty in ["", " \n", "…", "---"] {
        assert_eq!(declined(empty, &[]), Err(NotProven::NoReason), "{empty:?}");
    }
    assert_eq!(declined("A duplicate.", &[("dune", true), ("arrakis", false)]), Ok(()));
    let wrong = |id: &str| Err(NotProven::Contradicted { ids: strings(&[id]) });
    assert_eq!(declined("A duplicate.", &[("arrakis", true)]), wrong("arrakis"));
    assert_eq!(declined("No such work.", &[("dune", false)]), wrong("dune"));
    let claims = vec![Claim { id: "dune".to_owned(), is_present: true }];
    let answer = Answer::Declined { reason: text("A duplicate."), claims };
    assert_eq!(prove(&answer, &unread(), &[]), Err(NotProven::Unread));
}

#[test]
fn need_info_asks_exactly_one_new_question() {
    let ask = |question: &str| proves(&Answer::NeedInfo { question: text(question) });
    assert_eq!(ask("Which narrator is it (see https://x.example/?a=1)?"), Ok(()));
    assert_eq!(ask("Who reads it?!"), Ok(()));
    assert_eq!(ask("Please tell us the narrator."), Err(NotProven::Questions { number: 0 }));
    assert_eq!(ask("Who reads it? And when?"), Err(NotProven::Questions { number: 2 }));
    assert_eq!(ask("  which EDITION do you mean?? "), Err(NotProven::AskedBefore));
    assert_eq!(proves(&Answer::Change), Ok(()));
}

#[test]
fn a42_after_a_crash_one_comment_then_the_close() {
    let at = |comment, label, closed| next_act(Done { comment, label, closed });
    assert_eq!(at(false, Some(false), false), Some(Act::Comment));
    assert_eq!(at(true, Some(false), false), Some(Act::Label));
    assert_eq!(at(true, Some(true), false), Some(Act::Close));
    assert_eq!(at(true, Some(true), true), None);
    assert_eq!(at(false, None, false), Some(Act::Comment));
    assert_eq!(at(true, None, false), Some(Act::Close));
    assert_eq!(at(false, None, true), None, "somebody closed it meanwhile: nothing more is said");
}

#[test]
fn a_branch_tells_the_issue_it_is_about() {
    assert_eq!(issue_of_branch("intake/issue-9"), Some(9));
    assert_eq!(issue_of_branch("steward/issue-120"), Some(120));
    for other in [
        "intake/issue-",
        "intake/issue-09",
        "intake/issue-9a",
        "intake/issue-+9",
        "my/intake/issue-9",
        "steward/pr-9",
        "intake/issue-99999999999999999999",
    ] {
        assert_eq!(issue_of_branch(other), None, "{other}");
    }
}
