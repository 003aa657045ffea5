//! A data pull request that is ready to merge, and short ways to spoil it.

use chrono::{DateTime, Duration, Utc};
use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::decision::{Decision, Listed, WaitFor};
use steward_rules::engine::entries::{EntryDiff, EntryKey};
use steward_rules::engine::facts::*;
use steward_rules::engine::memory::{HeadSeen, Memory};
use steward_rules::engine::merge::assess;
use steward_rules::engine::policy::{Policy, Preset, ValidatePolicy};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{CheckRun, CheckState, CommitStatus, PullState};

pub use crate::world::{minutes_ago, now, sha};

pub const REPO: u64 = 7;

/// One thing that goes wrong with a pull request.
pub type Spoil = fn(&mut PrObs);

pub fn head() -> Sha {
    sha(0xaaaa)
}

/// The head before the sweep moved the branch.
pub fn old_head() -> Sha {
    sha(0xbbbb)
}

/// The policy of the first catalogue, with a validator.
pub fn policy() -> Policy {
    let validate = ValidatePolicy {
        format: vec!["metafmt".to_owned(), "--write".to_owned()],
        check: vec!["metacheck".to_owned()],
        pin: None,
        timeout_secs: 600,
        heavy: true,
    };
    Policy { validate: Some(validate), ..Preset::DataCatalogue.policy() }.on(Some("main"))
}

pub fn unread<T>() -> Reading<T> {
    Reading::unread(Cause::ForgeFailed, "502")
}

pub fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|one| (*one).to_owned()).collect()
}

pub fn labels(list: &[&str]) -> Reading<Vec<String>> {
    Reading::known(strings(list))
}

pub fn account(id: u64, login: &str) -> Account {
    Account { id, login: login.to_owned(), is_bot: login.ends_with("[bot]") }
}

pub fn modified(path: &str) -> FileChange {
    FileChange {
        path: RepoPath::from(path),
        old_path: None,
        old_kind: Reading::known(Kind::File),
        new_kind: Reading::known(Kind::File),
    }
}

pub fn entries(number: usize) -> Reading<EntryDiff> {
    let key = |n: usize| EntryKey::new("works", format!("w{n}"));
    Reading::known(EntryDiff { modified: (0..number).map(key).collect(), ..EntryDiff::default() })
}

/// A run that ended (or not) some minutes ago at this head. Its id is its attempt.
pub fn run_at(head: &Sha, name: &str, attempt: u32, word: &str, ended: i64) -> Run {
    let state = match word {
        "queued" => CheckState::Queued,
        "in_progress" => CheckState::InProgress,
        word => CheckState::Ended(word.to_owned()),
    };
    let has_ended = matches!(state, CheckState::Ended(_));
    Run {
        head: head.clone(),
        check: CheckRun {
            id: u64::from(attempt),
            name: name.to_owned(),
            app: "github-actions".to_owned(),
            attempt,
            started_at: Some(minutes_ago(ended + 2)),
            state,
            url: None,
        },
        workflow: Some(if name == "verify" { "ai-verify.yml" } else { "ci.yml" }.to_owned()),
        workflow_run: Some(if name == "verify" { 900 } else { 100 }),
        ended_at: has_ended.then(|| minutes_ago(ended)),
    }
}

pub fn run(name: &str, attempt: u32, word: &str, ended: i64) -> Run {
    run_at(&head(), name, attempt, word, ended)
}

pub fn status(context: &str, state: &str) -> CommitStatus {
    CommitStatus {
        id: 1,
        context: context.to_owned(),
        creator: "somebody".to_owned(),
        state: state.to_owned(),
        created_at: minutes_ago(5),
        url: None,
    }
}

pub fn review(by: &Account, state: ReviewState, minutes: i64) -> PersonReview {
    PersonReview {
        id: u64::try_from(1000 - minutes).unwrap(),
        by: by.clone(),
        can_write: Reading::known(true),
        state,
        head: Some(head()),
        at: Some(minutes_ago(minutes)),
    }
}

/// An intake pull request whose every condition holds: green for ten minutes, verified, up to date.
pub fn ready() -> PrObs {
    PrObs {
        number: PullNumber(12),
        state: PullState::Open,
        draft: false,
        author: account(31, "contributor"),
        head: HeadRef { sha: head(), branch: "intake/issue-9".to_owned(), repo: Some(REPO) },
        base: BaseRef {
            name: RepoName::parse("octo/catalogue").unwrap(),
            repo: REPO,
            branch: "main".to_owned(),
            sha: sha(0x100),
        },
        labels: labels(&["data", "bot-intake", "ai-verified"]),
        labels_read_at: now(),
        files: Listing::whole([modified("data/works/a.json")]),
        links: Reading::known(Vec::new()),
        entries: entries(1),
        check_runs: Listing::whole([
            run("check", 1, "success", 20),
            run("compose", 1, "success", 20),
            run("site", 1, "success", 20),
            run("verify", 1, "success", 10),
        ]),
        statuses: Listing::whole([]),
        verdict_runs: Listing::whole([run("verify", 1, "success", 10)]),
        compare: Reading::known(Compare { behind_by: 0, ahead_by: 1, merge_base: sha(0x100) }),
        labelled: Reading::known(Vec::new()),
        reviews: Listing::whole([]),
        seat: Reading::known(None),
        linked_issues: Listing::whole([LinkedIssue { number: 9, labels: strings(&["data:add-work"]) }]),
        flag: Reading::known(Vec::new()),
        read_at: now(),
    }
}

/// The head was first seen half an hour ago.
pub fn memory() -> Memory {
    seen_for(Duration::minutes(30))
}

pub fn seen_for(time: Duration) -> Memory {
    let head = HeadSeen { sha: head(), first_seen_at: now() - time, last_seen_at: now() };
    Memory { head: Some(head), ..Memory::default() }
}

/// The ready one with this run of the verdict job at its head instead.
pub fn with_verdict(runs: &[Run]) -> PrObs {
    let mut pr = ready();
    pr.check_runs.items.retain(|run| run.check.name != "verify");
    pr.verdict_runs = Listing::whole(runs.iter().cloned());
    pr
}

/// The ready one with the run of one check replaced.
pub fn with_check(run: Run) -> PrObs {
    let mut pr = ready();
    pr.check_runs.items.retain(|one| one.check.name != run.check.name);
    pr.check_runs.items.push(run);
    pr
}

pub fn behind(mut pr: PrObs, by: u32) -> PrObs {
    pr.compare = Reading::known(Compare { behind_by: by, ahead_by: 1, merge_base: sha(0xff) });
    pr
}

pub fn decide(pr: &PrObs) -> Decision {
    assess(pr, &memory(), &policy(), now())
}

pub fn is_merge(decision: &Decision) -> bool {
    matches!(decision, Decision::Merge(_))
}

#[track_caller]
pub fn waits(decision: &Decision) -> (WaitFor, Option<DateTime<Utc>>) {
    match decision {
        Decision::Wait(wait) => (wait.reason.clone(), wait.not_before),
        other => panic!("it does not wait: {other:?}"),
    }
}

#[track_caller]
pub fn waits_for(decision: &Decision, reason: WaitFor) {
    assert_eq!(waits(decision).0, reason);
}

#[track_caller]
pub fn listed(decision: &Decision) -> Listed {
    match decision {
        Decision::ListOnly(listed) => listed.clone(),
        other => panic!("it is not listed only: {other:?}"),
    }
}
