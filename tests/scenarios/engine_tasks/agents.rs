//! The real agent CLI with a scripted model: a fix, a change put onto the base by hand, and the four decisions
//! about an issue.

use serde_json::json;
use steward_core::store::engine_tasks::{Decided, TaskResult};
use steward_kit::model::{ScriptedModel, Turn};
use steward_rules::engine::retry::TaskEnd;

use super::desk::*;
use super::stage::{NAME, Stage, sha, works};

#[tokio::test]
async fn a_fix_ends_as_a_commit_whose_tree_is_exactly_the_verified_one() {
    if !has_own_names() {
        return;
    }
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    let model = ScriptedModel::start(vec![
        get_task(),
        read(FILE),
        edit(FILE, "BROKEN", "Delta"),
        write("/review/tree/tools/new.sh", "echo mine"),
        write("/review/tree/.github/workflows/x.yml", "on: push"),
        say_fixed(),
        done(),
    ])
    .await;
    if !desk.claude("fixer", &model) {
        return;
    }
    let row = desk.run(desk.fix(&head, &base)).await;
    assert_eq!((row.end, row.fault), (Some(TaskEnd::Pushed), None), "{:?}", row.detail);
    let Some(TaskResult::Push { branch, from, to, note }) = &row.result else { panic!("{:?}", row.result) };
    assert_eq!((branch.as_str(), from.as_ref()), ("intake/issue-7", Some(&head)));
    assert_eq!(note.as_deref(), Some("The title was a placeholder; it is Delta now."));
    let git = desk.git();
    assert_eq!(git.git(&["rev-parse", &format!("refs/steward/work/{}", row.id)]), to.as_str());
    assert_eq!(git.git(&["rev-parse", &format!("{to}^")]), head.as_str());
    assert_eq!(
        git.git(&["diff-tree", "-r", "--raw", "--no-abbrev", head.as_str(), to.as_str()]).lines().count(),
        1,
        "one file, and nothing of what it tried elsewhere"
    );
    let expected = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("delta", "Delta"), ("gamma", "Gamma")]);
    let shown = git.git(&["show", &format!("{to}:data/works/a.json")]);
    assert_eq!(shown, String::from_utf8_lossy(expected.trim_ascii_end()));
    assert_eq!(
        git.git(&["log", "-1", "--format=%an <%ae>|%cn|%s", to.as_str()]),
        "Octo Steward <steward@example.org>|Octo Steward|fix: what failed in pull request 12"
    );
    let asked = model.turns_asked();
    let mut tools = asked[0].tools();
    tools.sort_unstable();
    assert_eq!(
        tools,
        [
            "Edit",
            "Glob",
            "Grep",
            "Read",
            "Write",
            "mcp__steward__file_remove",
            "mcp__steward__fix_submit",
            "mcp__steward__task_get"
        ]
    );
    let told = asked.last().expect("a last request").results();
    let digest: serde_json::Value = serde_json::from_str(&told[0]).expect("the digest is handed over whole");
    assert_eq!((&digest["task"], &digest["repository"]), (&json!("fix"), &json!(NAME)));
    assert_eq!(
        digest["evidence"][0],
        json!({"what": "log of check", "untrusted": true, "text": "delta: BROKEN"})
    );
    assert_eq!(digest["staysWithin"], json!([{"untrusted": true, "text": "works delta"}]));
    assert!(digest["change"]["text"].as_str().is_some_and(|text| text.contains("+  \"delta\"")));
    for secret in [CREDENTIAL, &desk.ctx.home.data_dir().to_string_lossy()] {
        assert!(!asked.iter().any(|one| one.raw.contains(secret)), "{secret}");
    }
    let refusals = told.iter().filter(|text| text.contains("denied")).count();
    assert!(refusals >= 2, "what is not safe was closed to it: {told:?}");
    assert!(desk.folders().is_empty(), "its folder is gone");
}

#[tokio::test]
async fn a21_and_a_fix_beyond_the_pull_request_are_refused() {
    if !has_own_names() {
        return;
    }
    let stage = Stage::new();
    let (head, base) = broken(&stage);
    let desk = Desk::with(stage).await;
    for (name, turns, end, words) in [
        ("no change", vec![get_task(), say_fixed(), done()], TaskEnd::NoChange, "nothing was changed"),
        (
            "the validator fails",
            vec![get_task(), read(FILE), edit(FILE, "BROKEN", "still BROKEN"), say_fixed(), done()],
            TaskEnd::Refused,
            "the validator failed with 3",
        ),
        (
            "another entry",
            vec![
                get_task(),
                read(FILE),
                edit(FILE, "BROKEN", "Delta"),
                edit(FILE, "Alpha", "Alphabet"),
                say_fixed(),
                done(),
            ],
            TaskEnd::Refused,
            "touches what the pull request does not: works alpha",
        ),
        (
            "no word",
            vec![get_task(), read(FILE), edit(FILE, "BROKEN", "Delta"), done()],
            TaskEnd::Crashed,
            "no verdict",
        ),
        (
            "turns without end",
            vec![get_task(), Turn::tool("Glob", json!({"pattern": "**"}))],
            TaskEnd::TurnLimit,
            "maxTurns",
        ),
    ] {
        let model = ScriptedModel::start(turns).await;
        if !desk.claude("fixer", &model) {
            return;
        }
        desk.policy.lock().unwrap().agent.max_turns = 12;
        let row = desk.run(desk.fix(&head, &base)).await;
        let detail = row.detail.clone().unwrap_or_default();
        assert_eq!(row.end, Some(end), "{name}: {detail}");
        assert!(row.end.is_some_and(TaskEnd::spends), "{name}");
        assert!(detail.contains(words) || end == TaskEnd::Crashed, "{name}: {detail}");
        assert_eq!((row.result, desk.work_refs()), (None, String::new()), "{name}");
    }
}

#[tokio::test]
async fn where_the_driver_refuses_an_agent_puts_the_change_onto_the_base() {
    if !has_own_names() {
        return;
    }
    let stage = Stage::new();
    let (head, base) = contradicting(&stage);
    let desk = Desk::with(stage).await;
    let model = ScriptedModel::start(vec![
        get_task(),
        read(FILE),
        edit(FILE, "Beta of theirs", "Beta of both"),
        say_fixed(),
        done(),
    ])
    .await;
    if !desk.claude("fixer", &model) {
        return;
    }
    let row = desk.run(desk.rebase(&head, &base)).await;
    let to = pushed(&row);
    let git = desk.git();
    assert_eq!(git.git(&["rev-parse", &format!("{to}^")]), base.as_str());
    assert_eq!(git.git(&["diff-tree", "-r", "--name-only", base.as_str(), to.as_str()]), "data/works/a.json");
    assert!(row.agent_at.is_some());
    let told = model.turns_asked().pop().expect("a last request").results();
    let digest: serde_json::Value = serde_json::from_str(&told[0]).expect("the digest");
    assert_eq!(digest["task"], "reapply");
    let why = digest["notRebased"]["text"].as_str().expect("why the driver refused");
    assert!(why.contains("beta.title"), "{why}");
}

#[tokio::test]
async fn a_rebase_that_the_driver_makes_needs_no_agent() {
    let stage = Stage::new();
    stage.repo.git(&["checkout", "--quiet", "-b", "intake/issue-7"]);
    let mine = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("delta", "Delta"), ("gamma", "Gamma")]);
    let head = sha(&stage.repo.commit("delta", &[("data/works/a.json", Some(&mine))]));
    stage.repo.git(&["checkout", "--quiet", "main"]);
    let theirs = works(&[("alpha", "Alpha"), ("beta", "Beta"), ("epsilon", "Epsilon"), ("gamma", "Gamma")]);
    let base = sha(&stage.repo.commit("epsilon", &[("data/works/a.json", Some(&theirs))]));
    let desk = Desk::with(stage).await;
    // Not even a boundary: the validator runs all the same.
    desk.ctx.use_boundary(steward_core::sandbox::Boundary::None { reason: "none here".to_owned() });
    let row = desk.run(desk.rebase(&head, &base)).await;
    let Some(TaskResult::Push { note: None, to, .. }) = &row.result else { panic!("{row:?}") };
    assert_eq!(row.agent_at, None);
    assert_eq!(desk.git().git(&["rev-parse", &format!("{to}^")]), base.as_str());
}

#[tokio::test]
async fn an_issue_ends_in_each_of_the_four_decisions_once_they_are_proven() {
    if !has_own_names() {
        return;
    }
    let desk = Desk::new().await;
    let base = sha(&desk.stage.repo.git(&["rev-parse", "main"]));
    let new_file = "/review/tree/data/works/e.json";
    let evidence = "Both stand in data/works/a.json: alpha and beta.";
    let cases = [
        (
            "change",
            vec![
                get_task(),
                write(new_file, "{\n  \"epsilon\": {\"title\": \"Epsilon\"}\n}\n"),
                decide(json!({"decision": "change", "note": "Adds epsilon."})),
                done(),
            ],
            Ok(None),
        ),
        (
            "already present",
            vec![
                get_task(),
                decide(
                    json!({"decision": "already-present", "ids": ["alpha", "beta"], "evidence": evidence}),
                ),
                done(),
            ],
            Ok(Some(Decided::AlreadyPresent {
                ids: vec!["alpha".to_owned(), "beta".to_owned()],
                evidence: evidence.to_owned(),
            })),
        ),
        (
            "a34: one of them is missing",
            vec![
                get_task(),
                decide(
                    json!({"decision": "already-present", "ids": ["alpha", "omega"], "evidence": "alpha and omega"}),
                ),
                done(),
            ],
            Err(TaskEnd::BadAnswer),
        ),
        (
            "declined",
            vec![
                get_task(),
                decide(
                    json!({"decision": "declined", "reason": "Out of scope.", "claims": [{"id": "omega", "present": false}]}),
                ),
                done(),
            ],
            Ok(Some(Decided::Declined {
                reason: "Out of scope.".to_owned(),
                claims: vec![steward_rules::engine::triage::Claim {
                    id: "omega".to_owned(),
                    is_present: false,
                }],
            })),
        ),
        (
            "declined against the tree",
            vec![
                get_task(),
                decide(
                    json!({"decision": "declined", "reason": "alpha is missing.", "claims": [{"id": "alpha", "present": false}]}),
                ),
                done(),
            ],
            Err(TaskEnd::BadAnswer),
        ),
        (
            "need info",
            vec![
                get_task(),
                decide(json!({"decision": "need-info", "question": "Which edition do you mean?"})),
                done(),
            ],
            Ok(Some(Decided::NeedInfo { question: "Which edition do you mean?".to_owned() })),
        ),
        (
            "asked before",
            vec![
                get_task(),
                decide(json!({"decision": "need-info", "question": "Which  YEAR, please?"})),
                done(),
            ],
            Err(TaskEnd::BadAnswer),
        ),
        (
            "no decision",
            vec![
                get_task(),
                decide(json!({"decision": "merge-it"})),
                decide(json!({"decision": "close"})),
                decide(json!({"note": "x"})),
                done(),
            ],
            Err(TaskEnd::Crashed),
        ),
    ];
    for (name, turns, expected) in cases {
        let model = ScriptedModel::start(turns).await;
        if !desk.claude("triager", &model) {
            return;
        }
        let row = desk.run(desk.triage(&base, &["Which year, please?"])).await;
        match expected {
            Ok(None) => {
                let to = pushed(&row);
                assert_eq!(row.branch, "steward/issue-9");
                let changed =
                    desk.git().git(&["diff-tree", "-r", "--name-status", base.as_str(), to.as_str()]);
                assert_eq!(changed, "A\tdata/works/e.json", "{name}");
                assert!(
                    model.turns_asked()[0].tools().contains(&"WebSearch".to_owned()),
                    "as the preset says"
                );
            }
            Ok(Some(answer)) => {
                assert_eq!(row.result, Some(TaskResult::Answer { answer }), "{name}: {:?}", row.detail);
                assert_eq!(row.end, Some(TaskEnd::Answered), "{name}");
            }
            Err(end) => {
                assert_eq!((row.end, row.result), (Some(end), None), "{name}: {:?}", row.detail);
                assert!(end.spends(), "{name}");
            }
        }
    }
}
