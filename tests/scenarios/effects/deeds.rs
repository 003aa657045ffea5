//! Every deed of the engine on the double: done once in `act`, shown first in `suggest`, not at all in
//! `observe`.

mod faults;
mod merge;
mod modes;
mod refusals;
mod survive;

use steward_core::git::{Access, BareClone, Git, Line, Wanted as Fetched, Way};
use steward_core::loops::effects::{Wanted, want};
use steward_rules::deed::{Closes, Deed, Reason};
use steward_rules::outgoing;
use steward_rules::power::EffectClass;
use tokio_util::sync::CancellationToken;

use super::*;

/// The kinds of deeds, each with the class it goes out by here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Comment,
    Rerun,
    RetryVerdict,
    DeleteBranch,
    Label,
    CloseIssue,
    ClosePull,
    OpenPull,
    PushNew,
    PushOver,
    Report,
}

pub(super) const KINDS: [Kind; 11] = [
    Kind::Comment,
    Kind::Rerun,
    Kind::RetryVerdict,
    Kind::DeleteBranch,
    Kind::Label,
    Kind::CloseIssue,
    Kind::ClosePull,
    Kind::OpenPull,
    Kind::PushNew,
    Kind::PushOver,
    Kind::Report,
];

/// The pull request of `maria`, of another repository's ways: 1. Merged, of a branch that may go: 2. Ours: 3.
const ISSUE: u64 = 4;
const REPORT: u64 = 5;

/// A world in which each deed has something to do, and what is named by it.
pub(super) struct Scene {
    pub world: World,
    /// The head of pull request 1, its red run, and its run of the verdict.
    head: String,
    run: u64,
    verdict: u64,
    /// The head of the merged pull request 2.
    merged: String,
    /// Where `steward/pr-1` stands, and a commit on top of it that stands in our clone.
    own: String,
    next: String,
    /// The head of `steward/issue-4`, of which no pull request is open.
    fix: String,
}

impl Scene {
    pub fn new() -> Self {
        Self::of(super::world())
    }

    fn of(world: World) -> Self {
        let app = world.repo("octo/app");
        let head = app.pull(1).head();
        app.check(&head, "check").printing("no\n").fails();
        app.check(&head, "site").succeeds();
        app.check(&head, "verify").workflow("verify").fails();
        let runs = app.runs_at(&head);
        let merged = app.push("steward/done", "feat: done", &[("done.txt", "done\n")]);
        app.open_pull("octo", "steward/done", "feat: done").merge("octo");
        let own = app.push("steward/pr-1", "feat: x again", &[("x.txt", "x\n")]);
        app.open_pull("octo", "steward/pr-1", "feat: x again");
        app.open_issue("maria", "More", "Please.").label("old");
        app.open_issue("octo", "Report", "<!-- steward:report -->\nnothing yet\n");
        let fix = app.push("steward/issue-4", "feat: more", &[("more.txt", "more\n")]);
        // Made where our clone can be given it, and gone from there before anything is pushed.
        let next = app.commit("tmp", "feat: y").from("steward/pr-1").write("y.txt", "y\n").push();
        Self { head, run: runs[0], verdict: runs[1], merged, own, next, fix, world }
    }

    /// Puts the commits that are to be pushed into our own clone, as a task of an agent would have.
    pub fn fill(&self, office: &Office) {
        let git = Git::find(&office.home.clones()).unwrap();
        let clone = BareClone::open_alone(&git, &office.home.clones(), &office.host, &repo()).unwrap();
        let access = Access::Https { token: TOKEN.to_owned().into(), way: Way::default() };
        let line = Line { host: office.host.clone(), name: repo(), access };
        let wanted = [&self.next, &self.own].map(|sha| Fetched::commit(&Sha::new(sha).unwrap()));
        clone.fetch(&line, &wanted, &[], &CancellationToken::new()).unwrap();
    }

    pub fn wanted(&self, office: &Office, kind: Kind) -> Wanted {
        use EffectClass as C;
        let sha = |text: &String| Sha::new(text).unwrap();
        let text = |what: &str| {
            let marker = outgoing::marker_for(what, &format!("issue={ISSUE}"));
            outgoing::say(&marker, "It is there already.", &[(Some("why"), "ask @maria, fixes #1")]).unwrap()
        };
        let branch = |name: &str| name.to_owned();
        let (class, deed, number, head) = match kind {
            Kind::Comment => (C::CommentIssue, Deed::Comment { body: text("declined") }, ISSUE, None),
            Kind::Rerun => (C::RerunCheck, Deed::Rerun { run: self.run, attempt: 1 }, 1, Some(&self.head)),
            Kind::RetryVerdict => {
                let deed = Deed::RetryVerdict { run: self.verdict, attempt: 1, n: 1 };
                (C::RetryVerdict, deed, 1, Some(&self.head))
            }
            Kind::DeleteBranch => {
                let deed = Deed::DeleteBranch { branch: branch("steward/done"), at: sha(&self.merged) };
                (C::DeleteBranch, deed, 2, Some(&self.merged))
            }
            Kind::Label => {
                let (add, remove) = (vec![branch("steward:declined"), branch("b/c d")], vec![branch("old")]);
                (C::Label, Deed::Label { add, remove }, ISSUE, None)
            }
            Kind::CloseIssue => {
                let deed = Deed::Close { what: Closes::Issue, reason: Some(Reason::NotPlanned) };
                (C::CloseIssue, deed, ISSUE, None)
            }
            Kind::ClosePull => {
                (C::Supersede, Deed::Close { what: Closes::Pull, reason: None }, 1, Some(&self.head))
            }
            Kind::OpenPull => {
                let deed = Deed::OpenPull {
                    branch: branch("steward/issue-4"),
                    at: sha(&self.fix),
                    base: branch("main"),
                    title: "[steward] More".to_owned(),
                    body: outgoing::pull_body(Some(4), "What issue 4 asks for.", &[(None, "@maria")])
                        .unwrap(),
                    labels: vec![branch("data"), branch("bot-steward")],
                };
                (C::OpenPr, deed, ISSUE, None)
            }
            Kind::PushNew => {
                let deed = Deed::Push { branch: branch("steward/new"), from: None, to: sha(&self.next) };
                (C::OpenPr, deed, ISSUE, None)
            }
            Kind::PushOver => {
                let (from, to) = (Some(sha(&self.own)), sha(&self.next));
                (C::PushFix, Deed::Push { branch: branch("steward/pr-1"), from, to }, 3, Some(&self.own))
            }
            Kind::Report => {
                let body = "<!-- steward:report -->\nall is well\n".to_owned();
                (C::Report, Deed::Report { body }, REPORT, None)
            }
        };
        Wanted {
            class,
            deed,
            host: office.host.clone(),
            repo: repo(),
            number: Some(number as i64),
            head: head.map(sha),
            line: "the check is red".to_owned(),
        }
    }

    /// How often it was done, as GitHub shows it: never more than once.
    pub fn times(&self, kind: Kind) -> usize {
        let app = self.world.repo("octo/app");
        let events = |number: u64, name: &str| {
            app.pull(number).events().iter().filter(|(event, who)| event == name && who == "octo").count()
        };
        match kind {
            Kind::Comment => {
                let said = app.pull(ISSUE).comments();
                said.iter().filter(|(_, who, text)| who == "octo" && text.contains("declined")).count()
            }
            Kind::Rerun => app.run(self.run).attempt() as usize - 1,
            Kind::RetryVerdict => app.run(self.verdict).attempt() as usize - 1,
            Kind::DeleteBranch => usize::from(!self.has_branch("steward/done")),
            Kind::Label => {
                let labels = app.pull(ISSUE).labels();
                let added = events(ISSUE, "labeled");
                // The first of them was put on by the world.
                assert!(added <= 3, "a label is put on once");
                usize::from(labels == ["steward:declined", "b/c d"])
            }
            Kind::CloseIssue => {
                if events(ISSUE, "closed") > 0 {
                    assert_eq!(app.pull(ISSUE).close_reason().as_deref(), Some("not_planned"));
                }
                events(ISSUE, "closed")
            }
            Kind::ClosePull => events(1, "closed"),
            Kind::OpenPull => self.opened().len(),
            Kind::PushNew => {
                usize::from(self.has_branch("steward/new") && app.tip("steward/new") == self.next)
            }
            Kind::PushOver => usize::from(app.tip("steward/pr-1") == self.next),
            Kind::Report => {
                let (_, body) = app.pull(REPORT).title_and_body();
                usize::from(body.contains("all is well"))
            }
        }
    }

    fn has_branch(&self, name: &str) -> bool {
        let path = self.world.repo("octo/app").path().join("refs/heads").join(name);
        path.exists()
    }

    /// The pull requests of `steward/issue-4`, with their labels.
    fn opened(&self) -> Vec<(u64, Vec<String>)> {
        let app = self.world.repo("octo/app");
        let all = (REPORT + 1..REPORT + 4).filter(|number| app.has(*number)).map(|number| app.pull(number));
        all.filter(|pull| pull.head() == self.fix).map(|pull| (pull.number(), pull.labels())).collect()
    }

    /// What the person is shown of a deed beside its text.
    fn facts(&self, kind: Kind) -> Vec<String> {
        let list: Vec<String> = match kind {
            Kind::Comment | Kind::Report | Kind::ClosePull => Vec::new(),
            Kind::Rerun => vec![format!("Workflow run: {}", self.run), "After attempt: 1".to_owned()],
            Kind::RetryVerdict => vec![format!("Workflow run: {}", self.verdict), "Try: 1".to_owned()],
            Kind::DeleteBranch => {
                vec!["Branch: steward/done".to_owned(), format!("Ends at: {}", self.merged)]
            }
            Kind::Label => {
                vec!["Puts on: steward:declined, b/c d".to_owned(), "Takes off: old".to_owned()]
            }
            Kind::CloseIssue => vec!["As: not_planned".to_owned()],
            Kind::OpenPull => vec![
                "Branch: steward/issue-4".to_owned(),
                "Into: main".to_owned(),
                "Title: [steward] More".to_owned(),
                "Labels: data, bot-steward".to_owned(),
                format!("Ends at: {}", self.fix),
            ],
            Kind::PushNew => vec!["Branch: steward/new".to_owned(), "From: nothing, it is new".to_owned()],
            Kind::PushOver => {
                vec![
                    "Branch: steward/pr-1".to_owned(),
                    format!("From: {}", self.own),
                    format!("To: {}", self.next),
                ]
            }
        };
        list
    }

    /// Writes to the API and pushes since the last mark.
    pub fn writes(&self) -> usize {
        let all = self.world.exchanges();
        let is_write = |operation: &str| {
            !operation.starts_with("GET ") && operation != "POST /graphql" && !operation.starts_with("git-")
        };
        all.iter().filter(|one| is_write(&one.operation) || one.target.ends_with("/git-receive-pack")).count()
    }
}

impl Kind {
    pub fn class(self) -> EffectClass {
        match self {
            Self::Comment => EffectClass::CommentIssue,
            Self::Rerun => EffectClass::RerunCheck,
            Self::RetryVerdict => EffectClass::RetryVerdict,
            Self::DeleteBranch => EffectClass::DeleteBranch,
            Self::Label => EffectClass::Label,
            Self::CloseIssue => EffectClass::CloseIssue,
            Self::ClosePull => EffectClass::Supersede,
            Self::OpenPull | Self::PushNew => EffectClass::OpenPr,
            Self::PushOver => EffectClass::PushFix,
            Self::Report => EffectClass::Report,
        }
    }

    /// The write that counts, as the double names it, and what its address holds.
    pub fn operation(self) -> (&'static str, &'static str) {
        match self {
            Self::Comment => (POST, ""),
            Self::Rerun | Self::RetryVerdict => {
                ("POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs", "")
            }
            Self::DeleteBranch | Self::PushNew | Self::PushOver => ("git-receive-pack", "/git-receive-pack"),
            Self::Label => ("POST /repos/{owner}/{repo}/issues/{issue_number}/labels", ""),
            Self::CloseIssue | Self::Report => ("PATCH /repos/{owner}/{repo}/issues/{issue_number}", ""),
            Self::ClosePull => ("PATCH /repos/{owner}/{repo}/pulls/{pull_number}", ""),
            Self::OpenPull => ("POST /repos/{owner}/{repo}/pulls", ""),
        }
    }

    /// Writes it takes.
    pub fn writes(self) -> usize {
        match self {
            Self::OpenPull | Self::Label => 2,
            Self::Comment
            | Self::Rerun
            | Self::RetryVerdict
            | Self::DeleteBranch
            | Self::CloseIssue
            | Self::ClosePull
            | Self::PushNew
            | Self::PushOver
            | Self::Report => 1,
        }
    }
}

/// The repository's mode with its classes, and the branches the app may touch.
pub(super) fn power(mode: &str, classes: &[EffectClass]) -> String {
    let act: Vec<&str> = classes.iter().map(|class| class.as_str()).collect();
    let globs = "base: main, push: {allowed: [\"steward/*\"]}, deleteBranchGlobs: [\"steward/*\"]";
    // Merging by itself asks for a policy of its own; no other class does.
    format!("mode: {mode}, act: [{}], policy: {{engine: {{{globs}}}}}", act.join(", "))
}

/// An office in which this deed acts by itself, with everything it needs.
pub(super) async fn acting(scene: &Scene, kind: Kind) -> Office {
    office(scene, &power("act", &[kind.class()]), quick()).await
}

pub(super) async fn office(scene: &Scene, power: &str, options: Options) -> Office {
    let office = Office::with(&scene.world, power, options).await;
    scene.fill(&office);
    office
}

impl Office {
    /// Wants a deed; the number of its row.
    pub(super) async fn want(&self, wanted: Wanted) -> Option<i64> {
        let config = self.ctx.config();
        self.ctx.store.write(Durability::Full, move |tx| want(tx, &config, &wanted)).await.unwrap()
    }
}
