//! One repository on the double, and a desk that is signed in to it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use steward_core::github::{Options, Retry};
use steward_core::keychain::Keychain;
use steward_core::loops::{review, task};
use steward_github_double::{RepoVerbs, World};
use steward_kit::git::{Repo, clone as clone_repo};
use steward_rules::ids::{PullRef, TaskId};
use steward_rules::review::gate::{GateId, GateState, GateTable, cap};
use steward_rules::review::verdict::Verdict;

use crate::desk::Desk;

pub const TOKEN: &str = "made-up-token-of-octo";
/// A description that `pr_hygiene` takes.
pub const BODY: &str = "It adds.\n\n## Validated\n\ncargo test\n\n## Not done\n\nNone\n";
/// A workflow, so that the tree says there is CI.
pub const WORKFLOW: (&str, &str) = (".github/workflows/ci.yml", "on: push\njobs: {}\n");

pub struct Scene {
    pub world: World,
    pub desk: Desk,
}

impl Scene {
    /// `octo/app` with one commit, nothing of it on this machine, and its owner signed in.
    pub fn new() -> Self {
        let world = World::start();
        world.token("octo", TOKEN, &["repo"]);
        world.repo("octo/app");
        let mut desk = Desk::new();
        let keychain = Keychain::with_environment(Some("made-up-credential".to_owned().into()))
            .with_github_token(Some(TOKEN.to_owned().into()));
        let retry = Retry { first: Duration::from_millis(1), jitter: Arc::new(|| 1.0), ..Retry::default() };
        let options = Options { retry, timeout: Duration::from_secs(20), ..Options::default() };
        desk.ctx = desk.ctx.clone().with_keychain(keychain).with_github(options);
        let scene = Self { world, desk };
        scene.config("repositories: [{name: octo/app}]\n");
        scene
    }

    pub fn host(&self) -> &str {
        self.world.base().trim_start_matches("http://")
    }

    pub fn app(&self) -> RepoVerbs<'_> {
        self.world.repo("octo/app")
    }

    /// The account, reviews on, and these blocks.
    pub fn config(&self, more: &str) {
        self.config_with("enabled: true", more);
    }

    pub fn config_with(&self, review: &str, more: &str) {
        let host = self.host();
        self.desk
            .config(&format!("accounts: [{{host: \"{host}\", login: octo}}]\nreview: {{{review}}}\n{more}"));
    }

    /// A checkout of the repository, with its address and a token in it as people have them.
    pub fn checkout(&self) -> Repo {
        let url = format!("http://octo:{TOKEN}@{}/octo/app.git", self.host());
        clone_repo(&url, &self.place(), &[])
    }

    /// Where [`Self::checkout`] lies.
    pub fn place(&self) -> PathBuf {
        self.desk.root.join("checkout")
    }

    /// That checkout as a workspace called `app`.
    pub const WORKSPACE: &str =
        "workspaces: [{title: app, path: ROOT/checkout}]\nrepositories: [{name: octo/app}]\n";

    /// The task of a pull request.
    pub async fn add(&self, number: u64) -> TaskId {
        let asked = PullRef::parse(&format!("octo/app#{number}")).unwrap();
        task::add_pull(&self.desk.ctx, &asked).await.expect("a task").id
    }

    pub async fn gates(&self, task: TaskId) -> GateTable {
        review::gates(&self.desk.ctx, task).await.expect("judged").table
    }

    /// What one gate says.
    pub async fn gate(&self, task: TaskId, gate: GateId) -> (GateState, String) {
        said(&self.gates(task).await, gate)
    }

    pub async fn cap(&self, task: TaskId) -> Option<Verdict> {
        cap(&self.gates(task).await)
    }
}

pub fn said(table: &GateTable, gate: GateId) -> (GateState, String) {
    let result = table.results.iter().find(|result| result.id == gate).unwrap();
    (result.state, result.detail.clone())
}

/// Holds one gate's answer against a state and a part of its words.
#[track_caller]
pub fn is(found: (GateState, String), state: GateState, words: &str) {
    assert!(found.0 == state && found.1.contains(words), "{state:?} with {words:?} was expected: {found:?}");
}
