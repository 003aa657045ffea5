//! Somebody else's branch: a pull request of ours takes its place, and the original is closed when its content
//! is seen on the base.

use std::process::{Command, Stdio};

use chrono::Duration;
use steward_core::git::BareClone;
use steward_core::loops::landed;
use steward_core::store::engine_tasks::{Ended, NewTask, TaskResult, What};
use steward_rules::engine::retry::TaskEnd;
use steward_rules::engine::supersede::Stage;
use steward_rules::ids::Sha;

use super::*;

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

    async fn go(&self) {
        self.tick().await;
        self.send().await;
        landed::pass(&self.desk.ctx, &CancellationToken::new()).await.unwrap();
    }

    async fn stage(&self, number: u64) -> Option<Stage> {
        self.item(number).await.supersede
    }
}

#[tokio::test]
async fn somebody_elses_branch_is_superseded_content_verified_and_closed_with_a_link() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    let app = den.app();
    app.push("change", "data: b", &[("data/works/b.json", "{\"b\": {\"v\": 1}}\n")]);
    let original = app.open_pull("maria", "change", "add b");
    let (number, head) = (original.number(), original.head());
    app.check(&head, "check").runs();
    den.tick().await;
    let branch = format!("steward/pr-{number}");
    let to = den.made(&head, "data/works/b.json", "{\"b\": {\"v\": 2}}\n");
    let at = Sha::new(&head).unwrap();
    let new = NewTask {
        repository: den.id().await,
        kind: engine_tasks::ItemKind::Pr,
        number: number as i64,
        what: What::Fix { checks: vec!["check".to_owned()], flag: false },
        head: Some(at.clone()),
        base: Sha::new(&app.tip("main")).unwrap(),
        branch: branch.clone(),
        lease: None,
        evidence: Vec::new(),
    };
    let ended = Ended {
        end: TaskEnd::Pushed,
        fault: None,
        detail: "mended".to_owned(),
        result: Some(TaskResult::Push { branch: branch.clone(), from: None, to: to.clone(), note: None }),
    };
    den.desk
        .ctx
        .store
        .write(Durability::Full, move |tx| {
            let task = engine_tasks::queue(tx, &new)?.unwrap();
            engine_tasks::end(tx, task, &ended).map(drop)
        })
        .await
        .unwrap();
    // The push, the pull request, and the link, one after the other.
    for _ in 0..5 {
        den.go().await;
    }
    assert_eq!(app.tip(&branch), to.as_str(), "{:?}", den.effects(EffectClass::Supersede).await);
    let Some(Stage::Opened { pull, original_head }) = den.stage(number).await else {
        panic!("{:?} {:?}", den.stage(number).await, den.effects(EffectClass::Supersede).await)
    };
    assert_eq!(original_head, at);
    let ours = app.pull(pull.0 as u64);
    let said = original.comments();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].2.contains(&format!("#{pull}")), "{said:?}");
    assert!(original.is_open());
    // Ours goes through the gate like any other.
    den.well(&ours);
    den.go().await;
    den.desk.pass(Duration::seconds(121));
    for _ in 0..6 {
        den.go().await;
    }
    assert!(ours.is_merged(), "{:?}", den.decided(pull.0 as u64).await);
    assert!(!original.is_open(), "{:?} {:?}", den.stage(number).await, den.item(number).await.stopped);
    assert_eq!(original.comments().len(), 1);
    den.desk.world.assert_contract();
}
