//! Somebody else's branch: a pull request of ours takes its place, and the original is closed when its content
//! is seen on the base.

use std::process::{Command, Stdio};

use chrono::Duration;
use steward_core::git::BareClone;
use steward_core::loops::landed;
use steward_core::store::WriteTx;
use steward_core::store::engine_tasks::{Ended, NewTask, TaskResult, What};
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::supersede::Stage;
use steward_rules::ids::{PullNumber, Sha};

use super::*;

/// What the original adds.
pub(super) const B: [(&str, &str); 1] = [("data/works/b.json", "{\"b\": {\"v\": 1}}\n")];
/// What of it is better.
pub(super) const MENDED: &str = "{\"b\": {\"v\": 2}}\n";

impl Den {
    /// A commit over `head` in our own clone, with this file in it.
    pub(super) fn made(&self, head: &str, path: &str, text: &str) -> Sha {
        let ctx = &self.desk.ctx;
        let clone =
            BareClone::open_alone(&ctx.git().unwrap(), &ctx.home.clones(), &self.desk.host(), &name())
                .unwrap();
        let index = self.desk.home.data_dir().join("made.index");
        let git = |args: &[&str], stdin: Option<&str>| {
            let mut child = Command::new("git")
                .args(args)
                .env("GIT_DIR", clone.dir())
                .env("GIT_INDEX_FILE", &index)
                .envs([("GIT_AUTHOR_NAME", "Octo"), ("GIT_COMMITTER_NAME", "Octo")])
                .envs([("GIT_AUTHOR_EMAIL", "octo@example.org"), ("GIT_COMMITTER_EMAIL", "octo@example.org")])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin.unwrap_or("").as_bytes())
                .unwrap();
            let done = child.wait_with_output().unwrap();
            assert!(done.status.success(), "git {args:?}");
            String::from_utf8(done.stdout).unwrap().trim().to_owned()
        };
        let blob = git(&["hash-object", "-w", "--stdin"], Some(text));
        git(&["read-tree", head], None);
        git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{path}")], None);
        let tree = git(&["write-tree"], None);
        Sha::new(&git(&["commit-tree", &tree, "-p", head, "-m", "data: mended"], None)).unwrap()
    }

    pub(super) async fn go(&self) {
        self.tick().await;
        self.send().await;
        landed::pass(&self.desk.ctx, &CancellationToken::new()).await.unwrap();
    }

    pub(super) async fn stage(&self, number: u64) -> Option<Stage> {
        self.item(number).await.supersede
    }

    /// A task over this head ends with a push of this commit, as one of an agent does that mended it.
    pub(super) async fn mended(&self, number: u64, head: &str, lease: Option<Sha>, to: &Sha) {
        let branch = format!("steward/pr-{number}");
        let new = NewTask {
            repository: self.id().await,
            kind: engine_tasks::ItemKind::Pr,
            number: number as i64,
            what: What::Fix { checks: vec!["check".to_owned()], flag: false },
            head: Some(Sha::new(head).unwrap()),
            base: Sha::new(&self.app().tip("main")).unwrap(),
            branch: branch.clone(),
            lease: lease.clone(),
            evidence: Vec::new(),
        };
        let ended = ended(branch, lease, to);
        self.desk
            .ctx
            .store
            .write(Durability::Full, move |tx| {
                let task = engine_tasks::queue(tx, &new)?.unwrap();
                engine_tasks::end(tx, task, &ended).map(drop)
            })
            .await
            .unwrap();
    }

    /// The task that the loop queued ends with a push of this commit.
    pub(super) async fn queued_ends_with(&self, number: u64, to: &Sha) {
        let task = self.tasks(number).await.remove(0);
        assert_eq!(task.state, engine_tasks::State::Queued, "{task:?}");
        let ended = ended(task.branch.clone(), task.lease.clone(), to);
        let end = move |tx: &WriteTx<'_>| engine_tasks::end(tx, task.id, &ended).map(drop);
        self.desk.ctx.store.write(Durability::Full, end).await.unwrap();
    }

    /// A pull request of somebody else's branch, and the one of ours that goes on with its change: both open,
    /// and linked. The commit over the original's head is made by `make`.
    pub(super) async fn superseded(
        &self,
        files: &[(&str, &str)],
        make: impl FnOnce(&str) -> Sha,
    ) -> Pair<'_> {
        let app = self.app();
        app.push("change", "data: b", files);
        let original = app.open_pull("maria", "change", "add b");
        let (number, head) = (original.number(), original.head());
        app.check(&head, "check").runs();
        self.tick().await;
        let to = make(&head);
        self.mended(number, &head, None, &to).await;
        // The push, the pull request, and the link, one after the other.
        for _ in 0..5 {
            self.go().await;
        }
        let branch = format!("steward/pr-{number}");
        assert_eq!(app.tip(&branch), to.as_str(), "{:?}", self.effects(EffectClass::Supersede).await);
        let Some(Stage::Opened { pull, original_head }) = self.stage(number).await else {
            panic!("{:?} {:?}", self.stage(number).await, self.effects(EffectClass::Supersede).await)
        };
        assert_eq!(original_head.as_str(), head);
        let said = original.comments();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].2.contains(&format!("#{pull}")), "{said:?}");
        assert!(original.is_open());
        Pair { ours: app.pull(pull.0 as u64), original }
    }

    /// Our own goes through the gate like any other, and merges.
    pub(super) async fn merges(&self, ours: &PullVerbs<'_>) {
        self.well(ours);
        self.go().await;
        self.desk.pass(Duration::seconds(121));
        for _ in 0..4 {
            if !ours.is_merged() {
                self.go().await;
            }
        }
        assert!(ours.is_merged(), "{:?}", self.decided(ours.number()).await);
    }
}

/// The original and the one that supersedes it.
pub(super) struct Pair<'w> {
    pub original: PullVerbs<'w>,
    pub ours: PullVerbs<'w>,
}

fn ended(branch: String, from: Option<Sha>, to: &Sha) -> Ended {
    Ended {
        end: TaskEnd::Pushed,
        fault: None,
        detail: "mended".to_owned(),
        result: Some(TaskResult::Push { branch, from, to: to.clone(), note: None }),
    }
}

#[tokio::test]
async fn somebody_elses_branch_is_superseded_content_verified_and_closed_with_a_link() {
    for method in ["squash", "merge"] {
        let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}, mergeMethod: {method}")).await;
        let Pair { original, ours } = den.superseded(&B, |head| den.made(head, B[0].0, MENDED)).await;
        den.merges(&ours).await;
        for _ in 0..6 {
            den.go().await;
        }
        let (number, stage) = (original.number(), den.stage(original.number()).await);
        assert!(!original.is_open(), "{method}: {stage:?} {:?}", den.item(number).await.stopped);
        // A merge commit holds the original's own commits, so that GitHub counts it as merged itself.
        let closes = "PATCH /repos/{owner}/{repo}/pulls/{pull_number}";
        let closed = den.writes().iter().filter(|write| *write == closes).count();
        assert_eq!((closed, original.is_merged()), (usize::from(method == "squash"), method == "merge"));
        let pull = PullNumber(ours.number() as i64);
        assert_eq!(stage, Some(Stage::OriginalClosed { pull }), "{method}");
        assert_eq!(original.comments().len(), 1, "{method}");
        den.desk.world.assert_contract();
    }
}
