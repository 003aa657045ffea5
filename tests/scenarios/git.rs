//! Git itself: facts about a head, from real repositories, without touching the workspace.

use std::path::Path;

use chrono::{DateTime, Utc};
use steward_core::git::{BareClone, FactsRequest, Git, GitFacts, Remote, SecretPass, Workspace, facts};
use steward_kit::git::{Repo, clone as clone_repo};
use steward_rules::diff::{Content, Diff, RepoPath, Status};
use steward_rules::ids::{Sha, TaskId};
use steward_rules::reading::{Cause, Reading};
use steward_rules::review::facts::{BaseSource, Forge, Pushed};
use steward_rules::secret::{Options, Place, Tier};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// A repository, our git, and the clone of it.
pub struct World {
    pub home: TempDir,
    pub repo: Repo,
    pub git: Git,
}

impl World {
    /// One commit on `main`.
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let repo = Repo::init(home.path().join("work"));
        repo.commit("start", &[("README.md", Some(b"hello\n")), ("src/lib.rs", Some(b"one\ntwo\nthree\n"))]);
        let git = Git::find(&home.path().join("clones")).unwrap();
        Self { home, repo, git }
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::open(&self.git, self.repo.path(), &[]).unwrap()
    }

    pub fn clone(&self) -> BareClone {
        BareClone::open(&self.git, &self.home.path().join("clones"), &self.workspace()).unwrap()
    }

    /// The facts about a branch against `main`.
    pub fn facts(&self, branch: &str) -> GitFacts {
        self.facts_with(branch, |_| {})
    }

    pub fn facts_with(&self, branch: &str, change: impl FnOnce(&mut FactsRequest<'_>)) -> GitFacts {
        let workspace = self.workspace();
        let head = workspace.branch_tip(branch).unwrap();
        let mut request = FactsRequest {
            head: &head,
            branch: Some(branch),
            integration: "main",
            fork_point: None,
            forge: Forge::None,
            mutations: &[],
            claimed: &[],
            secrets: SecretPass { options: Options::default(), salt: "salt", exceptions: &[] },
        };
        change(&mut request);
        facts::read(&self.clone(), &workspace, &request, now(), &CancellationToken::new())
    }
}

pub fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_800_000_000, 0).unwrap()
}

pub fn known<T: std::fmt::Debug>(reading: &Reading<T>) -> &T {
    match reading {
        Reading::Known { value } => value,
        Reading::Unread { why } => panic!("unread: {why:?}"),
    }
}

pub fn file<'d>(diff: &'d Diff, path: &str) -> &'d steward_rules::diff::ChangedFile {
    diff.files
        .iter()
        .find(|f| f.path == RepoPath::from(path))
        .unwrap_or_else(|| panic!("{path} is not in {diff:?}"))
}

fn sha(text: &str) -> Sha {
    Sha::new(text).unwrap()
}

#[test]
fn a_branch_of_one_commit_yields_its_diff_commit_and_base() {
    let world = World::new();
    let base = world.repo.head();
    world.repo.branch("fix");
    let head = world.repo.commit("fix: two\n\nbody", &[("src/lib.rs", Some(b"one\n2\nthree\n"))]);
    let facts = world.facts("fix");
    let found = known(&facts.base);
    assert_eq!(found.merge_base, sha(&base));
    assert_eq!(found.source, BaseSource::LocalBranch);
    let diff = known(&facts.diff);
    let changed = file(diff, "src/lib.rs");
    assert_eq!(
        (changed.status, changed.lines, changed.content),
        (Status::Modified, Some((1, 1)), Content::Text)
    );
    assert_eq!(changed.hunks[0].added[0].text, b"2");
    assert_eq!(changed.hunks[0].added[0].number, 2);
    let commits = known(&facts.commits);
    assert_eq!(commits.len(), 1);
    assert_eq!(commits[0].sha, sha(&head));
    assert_eq!(commits[0].subject.as_data(), "fix: two");
    assert!(commits[0].patch_id.is_some());
    assert_eq!(known(&facts.secrets).lines, 1);
    assert_eq!(known(&facts.pushed), &Pushed::No { remote: None });
}
