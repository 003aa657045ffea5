//! What the engine reads: one pull request or issue whole, from the GitHub double and by real git.

mod cost;
mod evidence;
mod faults;
mod issues;
pub(crate) mod seat;
mod setup;
mod trees;
mod verdicts;

use steward_core::loops::engine::reading::{self, Place, ReadFault};
use steward_core::store::repositories::RepositoryId;
use steward_github_double::{PullVerbs, RepoVerbs, Role};
use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::entries::EntryKey;
use steward_rules::engine::facts::*;
use steward_rules::engine::policy::{Policy, Preset};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{CheckState, PullState};

use crate::observer::Desk;

const REPO: &str = "octo/app";
const VERIFY: &str = ".github/workflows/ai-verify.yml";
const BOT: &str = "github-actions[bot]";

/// A desk over a catalogue with one work in it.
fn desk() -> Desk {
    let desk = Desk::watching(&[REPO]);
    desk.world.bot(BOT);
    desk.world.repo(REPO).push("main", "data: first", &[("data/works/a.json", "{\"a\": {\"v\": 1}}\n")]);
    desk
}

fn app(desk: &Desk) -> RepoVerbs<'_> {
    desk.world.repo(REPO)
}

/// A pull request of the intake that adds one work.
fn intake(desk: &Desk) -> PullVerbs<'_> {
    let app = app(desk);
    app.push("intake/issue-9", "data: b", &[("data/works/b.json", "{\"b\": {\"v\": 1}}\n")]);
    app.open_pull("maria", "intake/issue-9", "[intake] b")
}

fn place(desk: &Desk) -> Place {
    place_by(desk, Preset::DataCatalogue.policy().on(Some("main")))
}

fn place_by(desk: &Desk, policy: Policy) -> Place {
    Place { host: desk.host(), repo: RepoName::parse(REPO).unwrap(), repository_id: RepositoryId(1), policy }
}

async fn tried(desk: &Desk, number: u64) -> Result<PrObs, ReadFault> {
    reading::pull(&desk.ctx, &place(desk), PullNumber(number as i64)).await
}

async fn read(desk: &Desk, number: u64) -> PrObs {
    tried(desk, number).await.unwrap()
}

fn sha(text: &str) -> Sha {
    Sha::new(text).unwrap()
}

fn known<T: Clone>(reading: &Reading<T>) -> T {
    reading.get().unwrap_or_else(|why| panic!("unread: {why:?}")).clone()
}

fn cause<T>(reading: &Reading<T>) -> Cause {
    match reading {
        Reading::Known { .. } => panic!("it was read"),
        Reading::Unread { why } => why.cause,
    }
}

fn paths(paths: &[RepoPath]) -> Vec<String> {
    paths.iter().map(RepoPath::shown).collect()
}

#[tokio::test]
async fn a_pull_request_is_read_with_every_field() {
    let desk = desk();
    let app = app(&desk).collaborator("wanda", Role::Write);
    let issue = app.open_issue("maria", "add b", "please").label("data:add-work");
    let pull = intake(&desk).body(&format!("Adds b.\n\nCloses #{}\n", issue.number()));
    let number = pull.number();
    let head = pull.head();
    let check = app.check(&head, "check").succeeds();
    app.check(&head, "verify").workflow(VERIFY).succeeds();
    app.check(&head, "lint").app("linter").concludes("neutral");
    app.status(&head, "preview", "pending");
    pull.label_by(BOT, "ai-verified");
    pull.label_by("octo", "data");
    pull.approve("wanda");
    pull.approve("sven");
    pull.request_changes("sven");
    let before = desk.world.now();

    let seen = read(&desk, number).await;
    assert_eq!((seen.number, seen.state, seen.draft), (PullNumber(number as i64), PullState::Open, false));
    assert_eq!((seen.author.login.as_str(), seen.author.is_bot), ("maria", false));
    assert_eq!(seen.head.sha, sha(&head));
    assert_eq!(seen.head.branch, "intake/issue-9");
    assert_eq!((seen.head.repo, seen.base.name.to_string().as_str()), (Some(seen.base.repo), REPO));
    assert_eq!((seen.base.branch.as_str(), &seen.base.sha), ("main", &sha(&app.tip("main"))));
    assert_eq!(known(&seen.labels), ["ai-verified", "data"]);
    assert_eq!(seen.labels_read_at, before, "by the clock of who answered");
    let [file] = seen.files.items.as_slice() else { panic!("{:?}", seen.files) };
    assert_eq!((file.path.shown().as_str(), &file.old_path), ("data/works/b.json", &None));
    assert_eq!((known(&file.old_kind), known(&file.new_kind)), (Kind::Absent, Kind::File));
    assert!(seen.files.complete && known(&seen.links).is_empty());
    let entries = known(&seen.entries);
    assert_eq!(entries.added, [EntryKey::new("works", "b")].into());
    assert_eq!(entries.touched(), 1);
    let runs: Vec<_> = seen.check_runs.items.iter().map(|run| (run.check.name.as_str(), run)).collect();
    let of = |name: &str| runs.iter().find(|(found, _)| *found == name).unwrap().1;
    assert_eq!((runs.len(), seen.check_runs.complete), (3, true));
    assert_eq!((of("check").check.id, of("check").workflow.as_deref()), (check, Some("ci.yml")));
    assert_eq!(of("verify").workflow.as_deref(), Some("ai-verify.yml"));
    assert!(of("verify").ended_at.is_some() && of("check").workflow_run != of("verify").workflow_run);
    assert_eq!((of("lint").workflow.clone(), of("lint").workflow_run), (None, None), "of another app");
    assert_eq!(app.runs_at(&head).len(), 2);
    assert_eq!(seen.statuses.items[0].context, "preview");
    let verdicts: Vec<_> = seen.verdict_runs.items.iter().map(|run| run.check.name.as_str()).collect();
    assert_eq!((verdicts, seen.verdict_runs.complete), (vec!["verify"], true));
    let compare = known(&seen.compare);
    assert_eq!((compare.behind_by, compare.ahead_by, compare.merge_base), (0, 1, sha(&app.tip("main"))));
    let labelled = known(&seen.labelled);
    let by: Vec<_> = labelled.iter().map(|one| (one.label.as_str(), one.actor.login.as_str())).collect();
    assert_eq!(by, [("ai-verified", BOT), ("data", "octo")]);
    assert!(labelled[0].actor.is_bot && labelled[0].actor.id != labelled[1].actor.id);
    let said: Vec<_> = seen
        .reviews
        .items
        .iter()
        .map(|one| (one.by.login.as_str(), one.state, one.can_write.get().ok()))
        .collect();
    assert_eq!(
        said,
        [
            ("wanda", ReviewState::Approved, Some(&true)),
            ("sven", ReviewState::Approved, Some(&false)),
            ("sven", ReviewState::ChangesRequested, Some(&false)),
        ]
    );
    assert_eq!(seen.reviews.items[0].head, Some(sha(&head)));
    assert_eq!(known(&seen.seat), None);
    let issue = LinkedIssue { number: issue.number() as i64, labels: vec!["data:add-work".to_owned()] };
    assert_eq!(seen.linked_issues, Listing::whole([issue]));
    assert_eq!(known(&seen.flag), []);
    assert_eq!(seen.read_at, desk.ctx.clock.now());
}

/// Drafts, merged ones, and what came from elsewhere say so.
#[tokio::test]
async fn how_a_pull_request_stands_is_read() {
    let desk = desk();
    let pull = intake(&desk).draft();
    assert!(read(&desk, pull.number()).await.draft);
    let pull = pull.ready();
    pull.merge("octo");
    let seen = read(&desk, pull.number()).await;
    assert_eq!((seen.state, known(&seen.compare).ahead_by), (PullState::Merged, 0));

    let fork = app(&desk).fork("maria");
    fork.push("far", "data: c", &[("data/works/c.json", "{\"c\": {}}\n")]);
    let pull = app(&desk).open_pull_from("maria", "maria/app", "far", "main", "data: c");
    let seen = read(&desk, pull.number()).await;
    assert!(seen.head.repo.is_some_and(|repo| repo != seen.base.repo));
    assert_eq!(
        paths(&seen.files.items.iter().map(|file| file.path.clone()).collect::<Vec<_>>()),
        ["data/works/c.json"]
    );
    fork.delete();
    assert_eq!(read(&desk, pull.number()).await.head.repo, None);
    // Whoever opened it is gone: nobody else is taken for them.
    desk.world.forget_user("maria");
    let seen = read(&desk, pull.number()).await;
    assert_eq!((seen.author.login.as_str(), seen.author.id), ("ghost", 10_137));
}
