//! Workflow runs: what the API shows of them, and how they are run again or are not.

use serde_json::{Value, json};
use steward_github_double::{Fault, Grant, Role, World};

use crate::client::{ask, get, send, world};

const RUNS: &str = "/repos/octo/app/actions/runs";

/// A world with a red run of two jobs at the head of a pull request; its number and the head.
fn red() -> (World, u64, String) {
    let world = world();
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    app.open_pull("octo", "feat", "feat: x");
    app.check(&head, "check").printing("line 1\nerror: no\n").fails();
    app.check(&head, "site").printing("fine\n").succeeds();
    let run = app.runs_at(&head)[0];
    (world, run, head)
}

fn rerun(world: &World, run: u64, what: &str) -> (u16, Value) {
    let answer = ask(world, "POST", &format!("{RUNS}/{run}/{what}"), &Value::Null);
    (answer.status, answer.json())
}

#[test]
fn a_run_its_jobs_its_checks_and_its_suite_name_one_another() {
    let (world, run, head) = red();
    let body = get(&world, &format!("{RUNS}/{run}")).json();
    assert_eq!((&body["run_attempt"], &body["conclusion"]), (&json!(1), &json!("failure")));
    assert_eq!((&body["path"], &body["head_branch"]), (&json!(".github/workflows/ci.yml"), &json!("feat")));
    assert_eq!(body["pull_requests"][0]["number"], json!(1));
    let jobs = get(&world, &format!("{RUNS}/{run}/jobs")).json();
    assert_eq!(jobs["total_count"], json!(2));
    let checks = get(&world, &format!("/repos/octo/app/commits/{head}/check-runs")).json();
    for job in jobs["jobs"].as_array().unwrap() {
        let same = checks["check_runs"].as_array().unwrap().iter().find(|check| check["id"] == job["id"]);
        let same = same.unwrap();
        assert_eq!(same["check_suite"]["id"], body["check_suite_id"]);
        let place = format!("{}/octo/app/actions/runs/{run}/job/{}", world.base(), job["id"]);
        assert_eq!(same["details_url"], json!(place));
        assert_eq!(
            get(&world, &format!("/repos/octo/app/actions/jobs/{}", job["id"])).json()["run_id"],
            json!(run)
        );
    }
    assert_ne!(body["check_suite_id"], json!(run));
}

#[test]
fn runs_are_listed_by_head_workflow_branch_and_event() {
    let (world, run, head) = red();
    let app = world.repo("octo/app");
    app.check(&head, "verify").workflow("verify").on("pull_request_target").succeeds();
    app.check(&app.tip("main"), "check").on("push").succeeds();
    for (query, wanted) in [
        (format!("{RUNS}?head_sha={head}"), 2),
        (format!("{RUNS}?head_sha={head}&event=pull_request"), 1),
        (format!("{RUNS}?branch=feat"), 2),
        (format!("{RUNS}?branch=main"), 1),
        (format!("{RUNS}?status=failure"), 1),
        (format!("/repos/octo/app/actions/workflows/ci.yml/runs?head_sha={head}"), 1),
        ("/repos/octo/app/actions/workflows/verify.yml/runs".to_owned(), 1),
        (RUNS.to_owned(), 3),
    ] {
        assert_eq!(get(&world, &query).json()["total_count"], json!(wanted), "{query}");
    }
    assert_eq!(get(&world, "/repos/octo/app/actions/workflows/none.yml/runs").status, 404);
    let workflows = get(&world, "/repos/octo/app/actions/workflows").json();
    assert_eq!(workflows["total_count"], json!(2));
    let id = &workflows["workflows"][0]["id"];
    let by_id = get(&world, &format!("/repos/octo/app/actions/workflows/{id}/runs?head_sha={head}")).json();
    assert_eq!(by_id["workflow_runs"][0]["id"], json!(run));
}

#[test]
fn a_re_run_of_what_failed_makes_the_next_attempt_and_leaves_the_rest() {
    let (world, run, head) = red();
    assert_eq!(rerun(&world, run, "rerun-failed-jobs"), (201, json!({})));
    let body = get(&world, &format!("{RUNS}/{run}")).json();
    assert_eq!((&body["run_attempt"], &body["status"]), (&json!(2), &json!("queued")));
    assert_eq!(body["triggering_actor"]["login"], json!("octo"));
    let first = get(&world, &format!("{RUNS}/{run}/attempts/1")).json();
    assert_eq!((&first["run_attempt"], &first["conclusion"]), (&json!(1), &json!("failure")));
    assert_eq!(get(&world, &format!("{RUNS}/{run}/attempts/3")).status, 404);
    let jobs = get(&world, &format!("{RUNS}/{run}/jobs")).json();
    let attempts: Vec<(&Value, &Value)> =
        jobs["jobs"].as_array().unwrap().iter().map(|job| (&job["name"], &job["run_attempt"])).collect();
    assert_eq!(attempts, [(&json!("site"), &json!(1)), (&json!("check"), &json!(2))]);
    assert_eq!(get(&world, &format!("{RUNS}/{run}/jobs?filter=all")).json()["total_count"], json!(3));
    assert_eq!(rerun(&world, run, "rerun").1["message"], json!("This workflow is already running"));
    world.repo("octo/app").check(&head, "check").succeeds();
    let body = get(&world, &format!("{RUNS}/{run}")).json();
    assert_eq!((&body["run_attempt"], &body["conclusion"]), (&json!(2), &json!("success")));
    assert_eq!(rerun(&world, run, "rerun-failed-jobs").0, 403);
    assert_eq!(rerun(&world, run, "rerun"), (201, json!({})));
    assert_eq!(world.repo("octo/app").run(run).attempt(), 3);
}

#[test]
fn what_is_too_old_running_or_not_permitted_is_not_run_again() {
    let (world, run, head) = red();
    let app = world.repo("octo/app");
    app.check(&head, "check").runs();
    assert_eq!(rerun(&world, run, "rerun-failed-jobs").0, 403);
    app.check(&head, "check").fails();
    world.grant(
        "octo",
        "reader",
        Grant::FineGrained { permissions: vec![("contents".into(), "write".into())], repositories: vec![] },
    );
    world.token("eve", "eve", &["repo"]);
    app.clone().collaborator("eve", Role::Triage);
    for (token, words) in [
        ("reader", "Resource not accessible by personal access token"),
        ("eve", "Must have admin rights to Repository."),
    ] {
        let bearer = format!("Bearer {token}");
        let refused =
            send(&world, "POST", &format!("{RUNS}/{run}/rerun"), &[("authorization", &bearer)], "").unwrap();
        assert_eq!((refused.status, &refused.json()["message"]), (403, &json!(words)));
    }
    let attempt = app.run(run).attempt();
    app.run(run).too_old();
    let (status, body) = rerun(&world, run, "rerun-failed-jobs");
    assert_eq!(status, 403);
    assert!(body["message"].as_str().unwrap().contains("over a month ago"));
    assert_eq!(app.run(run).attempt(), attempt);
    assert_eq!(ask(&world, "POST", &format!("{RUNS}/1/rerun"), &Value::Null).status, 404);
}

#[test]
fn what_a_job_printed_is_behind_a_redirect_until_it_is_gone() {
    let (world, run, _) = red();
    let jobs = get(&world, &format!("{RUNS}/{run}/jobs")).json();
    let log = format!("/repos/octo/app/actions/jobs/{}/logs", jobs["jobs"][0]["id"]);
    let moved = get(&world, &log);
    assert_eq!(moved.status, 302);
    let text = send(&world, "GET", moved.header("location").unwrap(), &[], "").unwrap();
    assert_eq!(String::from_utf8_lossy(&text.bytes), "line 1\nerror: no\n");
    world.when("GET log").answers(Fault::Status(403));
    assert_eq!(send(&world, "GET", moved.header("location").unwrap(), &[], "").unwrap().status, 403);
    world.repo("octo/app").run(run).forget_logs();
    assert_eq!(get(&world, &log).status, 410);
}

#[test]
fn a_branch_is_deleted_once_and_never_the_default_or_a_protected_one() {
    let world = world();
    let app = world.repo("octo/app");
    app.push("feat", "feat: x", &[("x", "x\n")]);
    let pull = app.open_pull("octo", "feat", "feat: x");
    let refs = "/repos/octo/app/git/refs/heads";
    assert_eq!(ask(&world, "DELETE", &format!("{refs}/main"), &Value::Null).status, 422);
    assert_eq!(ask(&world, "DELETE", &format!("{refs}/feat"), &Value::Null).status, 204);
    assert!(!pull.is_open(), "GitHub closes what has no branch any more");
    let again = ask(&world, "DELETE", &format!("{refs}/feat"), &Value::Null);
    assert_eq!((again.status, &again.json()["message"]), (422, &json!("Reference does not exist")));
}

#[test]
fn a_commit_knows_the_pull_requests_it_belongs_to() {
    let world = world();
    let app = world.repo("octo/app");
    let head = app.push("feat", "feat: x", &[("x", "x\n")]);
    let pull = app.open_pull("octo", "feat", "feat: x");
    let of = |sha: &str| get(&world, &format!("/repos/octo/app/commits/{sha}/pulls")).list().len();
    assert_eq!((of(&head), of(&app.tip("main"))), (1, 0));
    assert_eq!(of(&pull.merge("octo")), 1);
}

#[test]
fn a_label_in_the_timeline_names_who_put_it_there() {
    let world = world();
    let issue = world.repo("octo/app").open_issue("octo", "one", "");
    world.bot("github-actions[bot]");
    issue.label_by("github-actions[bot]", "ai-verified");
    issue.unlabel_by("eve", "ai-verified");
    let timeline = get(&world, "/repos/octo/app/issues/1/timeline").list();
    let told: Vec<(&Value, &Value, &Value)> =
        timeline.iter().map(|one| (&one["event"], &one["actor"]["login"], &one["label"]["name"])).collect();
    let label = json!("ai-verified");
    assert_eq!(
        told,
        [
            (&json!("labeled"), &json!("github-actions[bot]"), &label),
            (&json!("unlabeled"), &json!("eve"), &label)
        ]
    );
}
