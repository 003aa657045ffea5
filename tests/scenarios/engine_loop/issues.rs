//! Issues: listed, waited for, triaged, and answered one effect at a time.

use chrono::Duration;
use steward_core::store::effects::State;
use steward_core::store::engine_tasks::{Decided, Ended, NewTask, TaskResult, What};
use steward_github_double::Fault;
use steward_rules::engine::retry::TaskEnd;
use steward_rules::ids::Sha;
use steward_rules::power::EffectClass;

use super::*;

impl Den {
    /// The decision about an issue.
    async fn about(&self, issue: u64) -> String {
        self.kept(ItemKind::Issue, issue).await.unwrap().decision
    }

    async fn triages(&self, issue: u64) -> Vec<TaskRow> {
        let id = self.id().await;
        self.read(move |tx| engine_tasks::of_item(tx, id, engine_tasks::ItemKind::Issue, issue as i64)).await
    }

    /// The open triage of an issue ends with this answer, as its agent would end it.
    pub(super) async fn answers(&self, issue: u64, answer: Decided) {
        let task = self.triages(issue).await[0].id;
        let ended = Ended {
            end: TaskEnd::Answered,
            fault: None,
            detail: "answered".to_owned(),
            result: Some(TaskResult::Answer { answer }),
        };
        let done =
            self.desk.ctx.store.write(Durability::Full, move |tx| engine_tasks::end(tx, task, &ended)).await;
        assert!(done.unwrap());
        self.desk.pass(Duration::seconds(1));
    }

    async fn go_on(&self) {
        self.tick().await;
        self.send().await;
    }
}

fn policy() -> String {
    format!("{CHECKS}, {VALIDATE}")
}

#[tokio::test]
async fn a35_an_issue_out_of_scope_is_listed_and_never_commented_on_or_read() {
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "the build is slow", "@octo look").number();
    den.tick().await;
    den.later(Duration::hours(2)).await;
    den.go_on().await;
    assert_eq!(den.about(issue).await, "list_only");
    assert!(den.triages(issue).await.is_empty());
    assert_eq!(den.writes(), Vec::<String>::new());
}

#[tokio::test]
async fn an_issue_waits_for_its_intake_and_for_a_pull_request_that_is_about_it() {
    let den = Den::new(ACT, &policy()).await;
    let waiting = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
    let taken = den.app().open_issue("maria", "add c", "please").label("data:add-work").number();
    den.intake(taken, "c");
    den.tick().await;
    assert_eq!(den.about(waiting).await, "waits_for_intake");
    assert_eq!(den.about(taken).await, "waits_for_pr");
    den.later(Duration::minutes(31)).await;
    assert_eq!(den.about(waiting).await, "triage");
    let tasks = den.triages(waiting).await;
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].what, What::Triage { asked: Vec::new() });
    assert_eq!(tasks[0].branch, format!("steward/issue-{waiting}"));
    assert!(tasks[0].evidence[0].text.contains("add b"), "{:?}", tasks[0].evidence);
    den.go_on().await;
    assert_eq!(den.triages(waiting).await.len(), 1, "one at a time");
    assert!(den.triages(taken).await.is_empty());
}

#[tokio::test]
async fn a_declined_issue_is_commented_on_labelled_and_closed_in_this_order_each_once() {
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.answers(number, Decided::Declined { reason: "It is no work.".to_owned(), claims: Vec::new() }).await;
    for _ in 0..6 {
        den.go_on().await;
    }
    let words: Vec<String> = den
        .writes()
        .into_iter()
        .map(|operation| operation.rsplit('/').next().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(words, ["comments", "labels", "{issue_number}"]);
    assert!(!issue.is_open());
    assert_eq!(issue.close_reason().as_deref(), Some("not_planned"));
    assert!(issue.labels().contains(&"steward:declined".to_owned()));
    let [(_, author, text)] = issue.comments().try_into().unwrap();
    assert!(author == "octo" && text.contains("It is no work."), "{text}");
}

#[tokio::test]
async fn a33_a_question_is_asked_once_and_only_a_persons_reply_wakes_the_issue() {
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.answers(number, Decided::NeedInfo { question: "Which edition?".to_owned() }).await;
    for _ in 0..4 {
        den.go_on().await;
    }
    assert_eq!(den.writes().len(), 2, "{:?}", den.writes());
    assert_eq!(den.about(number).await, "needs_info");
    assert_eq!(den.triages(number).await.len(), 1);
    issue.comment(BOT, "beep");
    den.go_on().await;
    assert_eq!(den.about(number).await, "needs_info", "a bot is nobody");
    issue.comment("maria", "The second one.");
    den.go_on().await;
    assert_ne!(den.about(number).await, "needs_info");
    den.later(Duration::hours(2)).await;
    let tasks = den.triages(number).await;
    assert_eq!(tasks.len(), 2);
    assert_eq!(tasks[0].what, What::Triage { asked: vec!["Which edition?".to_owned()] });
    assert_eq!(den.writes().len(), 2);
}

#[tokio::test]
async fn an_issue_that_asks_for_what_is_there_is_closed_as_completed_after_one_comment() {
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "add a", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    let answer = Decided::AlreadyPresent { ids: vec!["a".to_owned()], evidence: "a is there".to_owned() };
    den.answers(number, answer).await;
    den.go_on().await;
    let said = den.effects(EffectClass::CommentIssue).await;
    assert_eq!((said.len(), said[0].state), (1, State::Done));
    for _ in 0..4 {
        den.go_on().await;
    }
    assert_eq!(issue.comments().len(), 1);
    assert!(!issue.is_open());
    assert_eq!(issue.close_reason().as_deref(), Some("completed"));
}

/// An issue that was asked a question by its triage.
async fn asked(den: &Den) -> PullVerbs<'_> {
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.answers(number, Decided::NeedInfo { question: "Which edition?".to_owned() }).await;
    for _ in 0..3 {
        den.go_on().await;
    }
    assert_eq!(den.about(number).await, "needs_info");
    issue
}

#[tokio::test]
async fn a33_f7_a_question_wakes_at_once_by_a_persons_reply_or_the_reporters_edit_and_by_nothing_else() {
    type Happens = fn(&PullVerbs<'_>);
    let silent: [(&str, Happens); 7] = [
        ("its own second comment", |issue| {
            _ = issue.comment("octo", "<!-- steward:merged pull=9 -->\nDone.")
        }),
        ("its own label", |issue| issue.label_by("octo", "seen")),
        ("a bot's comment", |issue| _ = issue.comment(BOT, "beep")),
        ("a bot's edit", |issue| issue.edit_by(BOT, "formatted")),
        ("a stranger's edit", |issue| issue.edit_by("zoe", "buy this")),
        ("a person's label", |issue| issue.label_by("zoe", "data:correction")),
        ("Steward's account edits", |issue| issue.edit_by("octo", "please, now")),
    ];
    let den = Den::new(ACT, &policy()).await;
    let issue = asked(&den).await;
    let number = issue.number();
    for (name, happens) in silent {
        happens(&issue);
        den.go_on().await;
        assert_eq!(den.about(number).await, "needs_info", "{name}");
        assert_eq!(den.triages(number).await.len(), 1, "{name}");
    }
    let wakes: [(&str, &str, Happens); 4] = [
        ("the reporter's reply", "The second.", |issue| _ = issue.comment("maria", "The second.")),
        ("a stranger's reply", "I know it.", |issue| _ = issue.comment("zoe", "I know it.")),
        ("the maintainer's own words", "Mine.", |issue| _ = issue.comment("octo", "Mine.")),
        ("the reporter's edit", "the 2nd edition", |issue| issue.edit_by("maria", "the 2nd edition")),
    ];
    for (name, said, happens) in wakes {
        let den = Den::new(ACT, &policy()).await;
        let issue = asked(&den).await;
        let number = issue.number();
        happens(&issue);
        den.go_on().await;
        assert_eq!(den.about(number).await, "triage", "{name}");
        let tasks = den.triages(number).await;
        assert_eq!(tasks.len(), 2, "{name}");
        assert_eq!(tasks[0].what, What::Triage { asked: vec!["Which edition?".to_owned()] }, "{name}");
        assert!(tasks[0].evidence.iter().any(|piece| piece.text.contains(said)), "{name}");
    }
}

#[tokio::test]
async fn a_declined_issue_that_is_opened_again_is_remembered_and_waits_for_a_newer_word() {
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.answers(number, Decided::Declined { reason: "It is no work.".to_owned(), claims: Vec::new() }).await;
    for _ in 0..5 {
        den.go_on().await;
    }
    assert!(!issue.is_open());
    let before = den.kept(ItemKind::Issue, number).await.unwrap();
    den.later(Duration::hours(30)).await;
    issue.reopen("maria");
    for _ in 0..2 {
        den.go_on().await;
    }
    let item = den.kept(ItemKind::Issue, number).await.unwrap();
    assert_eq!(item.decision, "declined");
    assert_eq!((item.attempts.spent, before.declined_at.is_some()), (1, true));
    assert_eq!(item.declined_at, before.declined_at, "nothing of it is forgotten");
    assert_eq!((den.triages(number).await.len(), den.writes().len()), (1, 3));
    issue.comment("maria", "It is one: see the catalogue.");
    den.go_on().await;
    assert_eq!(den.triages(number).await.len(), 2);
}

#[tokio::test]
async fn an_issue_that_was_answered_and_is_opened_again_is_not_closed_again_without_a_word() {
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "add a", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    let there = Decided::AlreadyPresent { ids: vec!["a".to_owned()], evidence: "a is there".to_owned() };
    den.answers(number, there).await;
    for _ in 0..4 {
        den.go_on().await;
    }
    assert!(!issue.is_open());
    let writes = den.writes().len();
    issue.reopen("maria");
    for _ in 0..3 {
        den.later(Duration::hours(30)).await;
        den.go_on().await;
    }
    assert_eq!(den.about(number).await, "turned_down");
    assert_eq!((den.triages(number).await.len(), den.writes().len()), (1, writes));
    issue.comment("maria", "That is another edition.");
    den.go_on().await;
    assert_eq!(den.triages(number).await.len(), 2);
}

#[tokio::test]
async fn what_was_decided_of_an_issue_that_was_closed_meanwhile_is_dropped_and_a_waiting_triage_never_starts()
{
    let den = Den::new(ACT, &policy()).await;
    let triaged = den.app().open_issue("maria", "add b", "please").label("data:add-work");
    let waits = den.app().open_issue("maria", "add c", "please").label("data:add-work");
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    let declined = Decided::Declined { reason: "It is no work.".to_owned(), claims: Vec::new() };
    den.answers(triaged.number(), declined).await;
    for issue in [&triaged, &waits] {
        issue.close("maria");
    }
    den.tick().await;
    let runner = super::walled::Runner::start(den.desk.ctx.clone());
    let is_over = |task: &TaskRow| task.state == engine_tasks::State::Ended;
    let task = den.until(&runner, engine_tasks::ItemKind::Issue, waits.number(), is_over).await;
    runner.close().await;
    assert_eq!((task.end, task.started_at), (Some(TaskEnd::PullClosed), None), "{:?}", task.detail);

    triaged.reopen("maria");
    den.go_on().await;
    assert_eq!(den.writes(), Vec::<String>::new(), "nobody is told what is not so any more");
    let tasks = den.triages(triaged.number()).await;
    assert_eq!(tasks.len(), 2, "it is looked at anew: {}", den.about(triaged.number()).await);
    assert_eq!(den.kept(ItemKind::Issue, triaged.number()).await.unwrap().attempts.spent, 0);
}

#[tokio::test]
async fn an_answer_that_a_fault_of_the_configuration_stops_waits_and_is_neither_said_twice_nor_decided_anew()
{
    const LABEL: &str = "POST /repos/{owner}/{repo}/issues/{issue_number}/labels";
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.desk.world.when(LABEL).times(1).answers(steward_github_double::Fault::Status(403));
    den.answers(number, Decided::Declined { reason: "It is no work.".to_owned(), claims: Vec::new() }).await;
    for _ in 0..4 {
        den.go_on().await;
    }
    for _ in 0..3 {
        den.later(Duration::hours(25)).await;
        den.go_on().await;
    }
    let label = den.effects(EffectClass::Label).await;
    assert_eq!((label.len(), label[0].why.as_deref()), (1, Some("config_fault")), "{label:?}");
    assert_eq!((issue.comments().len(), den.triages(number).await.len(), issue.is_open()), (1, 1, true));
    assert_eq!(den.kept(ItemKind::Issue, number).await.unwrap().attempts.spent, 0);
    // Somebody mended it, and says so.
    super::asked::call(&den, "item_try", serde_json::json!({ "item": format!("{REPO}#{number}") })).await;
    for _ in 0..4 {
        den.go_on().await;
    }
    assert_eq!((issue.comments().len(), den.triages(number).await.len(), issue.is_open()), (1, 1, false));
    assert!(issue.labels().contains(&"steward:declined".to_owned()));
}

#[tokio::test]
async fn an_answer_that_the_person_turned_down_is_not_decided_anew_until_somebody_says_something() {
    let den = Den::new("mode: suggest", &policy()).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work");
    let number = issue.number();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    den.answers(number, Decided::NeedInfo { question: "Which edition?".to_owned() }).await;
    den.tick().await;
    let said = den.effects(EffectClass::CommentIssue).await;
    assert_eq!((said.len(), said[0].state), (1, State::Suggested));
    let id = said[0].id;
    let store = &den.desk.ctx.store;
    assert!(store.write(Durability::Full, move |tx| effects::dismiss(tx, id)).await.unwrap());
    for _ in 0..3 {
        den.later(Duration::hours(25)).await;
        den.go_on().await;
    }
    assert_eq!((den.triages(number).await.len(), den.writes()), (1, Vec::new()));
    assert_eq!(den.about(number).await, "turned_down");
    issue.comment("maria", "The second one.");
    den.go_on().await;
    assert_eq!(den.triages(number).await.len(), 2);
}

/// A commit that nobody has.
fn nowhere() -> Sha {
    Sha::new(&"d".repeat(40)).unwrap()
}

#[tokio::test]
async fn a20_a_push_whose_branch_moved_is_dropped_and_spends_nothing() {
    let den = Den::new(ACT, &policy()).await;
    let pull = den.intake(101, "b");
    den.app().check(&pull.head(), "check").runs();
    den.tick().await;
    let (id, head) = (den.id().await, Sha::new(&pull.head()).unwrap());
    let new = NewTask {
        repository: id,
        kind: engine_tasks::ItemKind::Pr,
        number: pull.number() as i64,
        what: What::Fix { checks: vec!["check".to_owned()], flag: false },
        head: Some(head.clone()),
        base: head.clone(),
        branch: "intake/issue-101".to_owned(),
        lease: Some(head.clone()),
        evidence: Vec::new(),
    };
    let ended = Ended {
        end: TaskEnd::Pushed,
        fault: None,
        detail: "a fix".to_owned(),
        result: Some(TaskResult::Push {
            branch: "intake/issue-101".to_owned(),
            from: Some(head),
            to: nowhere(),
            note: None,
        }),
    };
    den.desk
        .ctx
        .store
        .write(Durability::Full, move |tx| {
            let task = engine_tasks::queue(tx, &new)?.unwrap();
            engine_tasks::agent_starts(tx, task)?;
            engine_tasks::end(tx, task, &ended).map(drop)
        })
        .await
        .unwrap();
    den.tick().await;
    let pushes = den.effects(EffectClass::PushFix).await;
    assert_eq!(pushes.len(), 1, "{pushes:?}");
    // Its author was faster.
    den.app().push("intake/issue-101", "data: mine", &[("data/works/b.json", "{\"b\": {\"v\": 3}}\n")]);
    den.send().await;
    den.go_on().await;
    let item = den.item(pull.number()).await;
    assert_eq!((item.attempts.spent, item.pushed_head), (0, None));
    assert!(item.task_seen > 0, "the result is dropped");
    assert_eq!(den.effects(EffectClass::PushFix).await.len(), 1);
}

#[tokio::test]
async fn a_push_that_the_host_forbids_is_a_fault_that_asks_no_agent_again_until_somebody_mended_it() {
    let den = Den::new(ACT, &policy()).await;
    let pull = den.intake(101, "b");
    let head = pull.head();
    let red = || den.app().check(&head, "check").fails();
    red();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    den.desk.pass(Duration::seconds(20));
    red();
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    let task = den.tasks(pull.number()).await.remove(0);
    let to = den.made(&head, "data/works/b.json", "{\"b\": {\"v\": 2}}\n");
    let push = TaskResult::Push { branch: task.branch, from: task.lease, to: to.clone(), note: None };
    let (id, detail) = (task.id, String::new());
    let ended = Ended { end: TaskEnd::Pushed, fault: None, detail, result: Some(push) };
    let store = &den.desk.ctx.store;
    let end = move |tx: &steward_core::store::WriteTx<'_>| {
        engine_tasks::agent_starts(tx, id)?;
        engine_tasks::end(tx, id, &ended)
    };
    store.write(Durability::Full, end).await.unwrap();
    let rule = steward_github_double::Protection::default();
    let _ = den.app().protect("intake/issue-101", rule);
    for _ in 0..3 {
        den.later(Duration::hours(5)).await;
        den.go_on().await;
    }
    let pushes = den.effects(EffectClass::PushFix).await;
    assert_eq!((pushes.len(), pushes[0].why.as_deref()), (1, Some("config_fault")), "{pushes:?}");
    assert_eq!((den.tasks(pull.number()).await.len(), den.item(pull.number()).await.attempts.spent), (1, 0));
    // The rule is gone, and the person says so: what was made is pushed, and no agent runs for it.
    den.app().unprotect("intake/issue-101");
    let request = serde_json::json!({ "item": format!("{REPO}#{}", pull.number()) });
    super::asked::call(&den, "item_try", request).await;
    for _ in 0..3 {
        den.go_on().await;
    }
    assert_eq!(pull.head(), to.as_str());
    assert_eq!((den.tasks(pull.number()).await.len(), den.item(pull.number()).await.attempts.spent), (1, 1));
}

#[tokio::test]
async fn a_branch_that_could_not_be_read_is_not_taken_for_one_that_is_not_there() {
    let den = Den::new(ACT, &policy()).await;
    let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
    let path = [("data/works/z.json", "{\"z\": {\"v\": 1}}\n")];
    let tip = den.app().push(&format!("steward/issue-{issue}"), "data: of before", &path);
    let branch = "GET /repos/{owner}/{repo}/branches/{branch}";
    den.desk.world.when(branch).containing("issue-").always().answers(Fault::Status(500));
    den.tick().await;
    den.later(Duration::minutes(31)).await;
    assert_eq!(den.about(issue).await, "triage");
    assert!(den.triages(issue).await.is_empty(), "nothing is made over what nobody read");
    den.desk.world.calm();
    den.tick().await;
    let tasks = den.triages(issue).await;
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].lease.as_ref().map(|sha| sha.as_str()), Some(tip.as_str()));
}
