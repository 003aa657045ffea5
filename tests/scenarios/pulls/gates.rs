//! The gates that need GitHub, from what it really says and from objects that were really fetched.

use steward_core::loops::task;
use steward_core::store::attached;
use steward_github_double::Fault;
use steward_rules::review::gate::{GateId, GateState, cap};
use steward_rules::review::verdict::Verdict;

use super::scene::{BODY, Scene, WORKFLOW, is, said};
use GateState::{Fail, NotApplicable, Pass, Undecided};

#[tokio::test]
async fn a_pull_request_without_any_checkout_is_judged_by_every_gate() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("src/more.rs", "pub fn more() {}\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    let table = scene.gates(task).await;
    assert_eq!(cap(&table), Some(Verdict::Accepted), "{:?}", table.results);
    is(said(&table, GateId::Ci), NotApplicable, "");
    is(said(&table, GateId::NotStacked), Pass, "");
    is(said(&table, GateId::PrHygiene), Pass, "");
    is(said(&table, GateId::NoSecrets), Pass, "");
    let row = task::get(&scene.desk.ctx, task).await.unwrap();
    assert_eq!(row.head.map(|head| head.to_string()), Some(app.tip("feat")));
    assert_eq!(row.fork_point.map(|sha| sha.to_string()), Some(app.tip("main")), "recorded when first seen");
    scene.world.assert_contract();
}

#[tokio::test]
async fn judging_an_unchanged_pull_request_again_costs_no_point_and_no_fetch() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("more", "more\n"), WORKFLOW]);
    let pull = app.open_pull("octo", "feat", "feat: more").body(BODY);
    app.check(&pull.head(), "build").runs();
    app.push("other", "feat: other", &[("other", "other\n")]);
    app.open_pull("octo", "other", "feat: other");
    let task = scene.add(1).await;
    is(scene.gate(task, GateId::Ci).await, Undecided, "build");
    scene.world.mark();
    for _ in 0..3 {
        is(scene.gate(task, GateId::Ci).await, Undecided, "build");
    }
    let tally = scene.world.tally();
    assert_eq!((tally.points, tally.git_requests, tally.writes), (0, 0, 0), "{tally:?}");
    assert_eq!(tally.not_modified, tally.requests, "{tally:?}");
    assert!(tally.requests <= 3 * 7, "a look asks for seven things: {tally:?}");
}

#[tokio::test]
async fn ci_goes_through_all_its_states_from_real_checks() {
    let scene = Scene::new();
    let app = scene.app();
    let head = app.push("feat", "feat: more", &[("more", "more\n"), WORKFLOW]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    let ci = async || scene.gate(task, GateId::Ci).await;
    is(ci().await, Undecided, "no check");
    // Ten minutes after it was first seen here a check should be there.
    scene.desk.clock.forward(chrono::Duration::minutes(9));
    is(ci().await, Undecided, "no check");
    scene.desk.clock.forward(chrono::Duration::minutes(2));
    is(ci().await, Fail, "");
    app.check(&head, "build").queued();
    is(ci().await, Undecided, "build: queued");
    app.check(&head, "build").runs();
    is(ci().await, Undecided, "build: in progress");
    app.check(&head, "build").fails();
    is(ci().await, Fail, "build: failure");
    // A re-run replaces it: first running, then well.
    app.check(&head, "build").runs();
    is(ci().await, Undecided, "build: in progress");
    app.check(&head, "build").succeeds();
    is(ci().await, Pass, "");
    app.status(&head, "deploy", "pending");
    is(ci().await, Undecided, "deploy: pending");
    app.status(&head, "deploy", "error");
    is(ci().await, Fail, "deploy: error");
    app.status(&head, "deploy", "success");
    is(ci().await, Pass, "");
    // A required one that is absent, skipped, and well.
    scene.config("repositories: [{name: octo/app, policy: {review: {requiredChecks: [{name: audit}]}}}]\n");
    is(ci().await, Undecided, "audit");
    app.check(&head, "audit").concludes("skipped");
    is(ci().await, Fail, "audit: skipped");
    app.check(&head, "audit").succeeds();
    is(ci().await, Pass, "");
    scene.world.assert_contract();
}

#[tokio::test]
async fn checks_that_cannot_be_read_whole_decide_nothing() {
    let scene = Scene::new();
    let app = scene.app();
    let head = app.push("feat", "feat: more", &[("more", "more\n"), WORKFLOW]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    app.check(&head, "build").succeeds();
    let task = scene.add(1).await;
    let runs = "GET /repos/{owner}/{repo}/commits/{ref}/check-runs";
    for fault in [Fault::Status(500), Fault::Truncated, Fault::WrongType, Fault::EmptyPage, Fault::Html] {
        // Something new, so that nothing is answered from before.
        app.check(&head, "build").runs();
        app.check(&head, "build").succeeds();
        scene.world.when(runs).always().answers(fault.clone());
        let (state, words) = scene.gate(task, GateId::Ci).await;
        assert_eq!(state, Undecided, "{fault:?}: {words}");
        scene.world.calm();
        is(scene.gate(task, GateId::Ci).await, Pass, "");
    }
}

#[tokio::test]
async fn a_commit_of_another_open_pull_request_blocks_and_a_picked_one_is_noted() {
    let scene = Scene::new();
    let app = scene.app();
    let shared = app.push("feat", "feat: one", &[("one", "one\n")]);
    app.push("feat", "feat: two", &[("two", "two\n")]);
    app.open_pull("octo", "feat", "feat: both").body(BODY);
    let task = scene.add(1).await;
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
    // Another one stands on the first commit of this one, and wants to go to main too.
    app.commit("stolen", "feat: three").from(&shared).write("three", "3\n").push();
    let other = app.open_pull("octo", "stolen", "feat: three");
    is(scene.gate(task, GateId::NotStacked).await, Fail, "#2");
    assert_eq!(scene.cap(task).await, Some(Verdict::Blocked));
    // Once that is merged the commit is on main.
    other.merge("octo");
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
    // The same change as another commit is a cherry-pick.
    app.commit("picked", "feat: two again").from("main").write("two", "two\n").push();
    app.open_pull("octo", "picked", "feat: two");
    is(scene.gate(task, GateId::NotStacked).await, Pass, "#3");
    scene.world.assert_contract();
}

#[tokio::test]
async fn what_stands_on_this_branch_and_wants_to_go_into_it_is_not_held_against_it() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: one", &[("one", "one\n")]);
    app.open_pull("octo", "feat", "feat: one").body(BODY);
    app.commit("next", "feat: two").from("feat").write("two", "two\n").push();
    app.open_pull_from("octo", "octo/app", "next", "feat", "feat: two").body(BODY);
    let (first, second) = (scene.add(1).await, scene.add(2).await);
    is(scene.gate(first, GateId::NotStacked).await, Pass, "");
    is(scene.gate(second, GateId::NotStacked).await, Fail, "feat");
}

#[tokio::test]
async fn a_base_that_was_moved_by_force_and_a_wrong_target_are_told() {
    let scene = Scene::new();
    let app = scene.app();
    let first = app.tip("main");
    app.push("main", "feat: base", &[("base", "base\n")]);
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
    app.push("main", "feat: ahead", &[("ahead", "ahead\n")]);
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
    app.commit("main", "feat: rewritten").from(&first).write("base", "other\n").push();
    is(scene.gate(task, GateId::NotStacked).await, Fail, "main");

    app.commit("release", "feat: release").from("main").write("r", "r\n").push();
    app.commit("fix", "fix: it").from("release").write("f", "f\n").push();
    app.open_pull_from("octo", "octo/app", "fix", "release", "fix: it").body(BODY);
    let astray = scene.add(2).await;
    is(scene.gate(astray, GateId::NotStacked).await, Fail, "release");
    // The person says what is right, not the repository.
    scene.config("repositories: [{name: octo/app, policy: {review: {integrationBranch: release}}}]\n");
    is(scene.gate(astray, GateId::NotStacked).await, Pass, "");
}

#[tokio::test]
async fn c39_other_pull_requests_that_cannot_be_listed_or_fetched_decide_nothing() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
    app.push("other", "feat: other", &[("other", "other\n")]);
    app.open_pull("octo", "other", "feat: other");
    scene.world.when("GET /repos/{owner}/{repo}/pulls").always().answers(Fault::Status(502));
    is(scene.gate(task, GateId::NotStacked).await, Undecided, "502");
    scene.world.calm();
    // Git cannot bring it, and GitHub's own list of its commits does.
    scene.world.when("git-upload-pack").always().answers(Fault::Status(503));
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
    scene.world.when("GET /repos/{owner}/{repo}/pulls/{pull_number}/commits").always().answers(Fault::Cut);
    app.push("third", "feat: third", &[("third", "third\n")]);
    app.open_pull("octo", "third", "feat: third");
    is(scene.gate(task, GateId::NotStacked).await, Undecided, "");
    scene.world.calm();
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
}

#[tokio::test]
async fn pr_hygiene_reads_title_body_and_state_as_they_are_now() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("more", "more\n")]);
    let pull = app.open_pull("octo", "feat", "update stuff");
    let task = scene.add(1).await;
    let hygiene = async || scene.gate(task, GateId::PrHygiene).await;
    is(hygiene().await, Fail, "title");
    let pull = pull.title("feat(api)!: more");
    is(hygiene().await, Fail, "validated");
    let pull = pull.body("## Not validated\n\nyet\n");
    is(hygiene().await, Fail, "validated");
    let pull = pull.body("```\n## Validated\nx\n```\n## Not done\n\nNone\n");
    is(hygiene().await, Fail, "validated");
    let pull = pull.body(BODY);
    is(hygiene().await, Pass, "");
    let pull = pull.draft();
    is(hygiene().await, Pass, "draft");
    let pull = pull.ready();
    pull.close("octo");
    is(hygiene().await, Fail, "closed");
    pull.reopen("octo");
    pull.merge("octo");
    is(hygiene().await, Pass, "merged");
    scene.world.when("GET /repos/{owner}/{repo}/pulls/{pull_number}").always().answers(Fault::Truncated);
    scene.app().push("other", "feat: x", &[("x", "x\n")]);
    pull.comment("octo", "so that nothing is answered from before");
    is(hygiene().await, Undecided, "");
}

#[tokio::test]
async fn peer_claims_are_held_against_the_pull_request_its_commits_and_files() {
    let scene = Scene::new();
    let app = scene.app();
    let head = app.push("feat", "feat: more", &[("src/more.rs", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    let claims = async |claims: &str| {
        let handoff = format!(r#"{{"peer":"ada","status":"done","claims":{{{claims}}}}}"#);
        task::attach_handoff(&scene.desk.ctx, task, &handoff).await.expect("attached");
        scene.gate(task, GateId::PeerClaims).await
    };
    is(scene.gate(task, GateId::PeerClaims).await, NotApplicable, "");
    let good = format!(r#""commits":["{}"],"files":["src/more.rs"],"pr":1"#, &head[..9]);
    is(claims(&good).await, Pass, "");
    is(claims(r#""pr":2"#).await, Fail, "#2");
    is(claims(r#""files":["src/other.rs"]"#).await, Fail, "src/other.rs");
    is(claims(r#""commits":["0123456789abcdef0123456789abcdef01234567"]"#).await, Fail, "0123456");
    // The commit as it was before a rebase has the same patch.
    app.push("main", "docs: ahead", &[("docs.md", "docs\n")]);
    app.commit("feat", "feat: more").from("main").write("src/more.rs", "more\n").push();
    is(claims(&format!(r#""commits":["{head}"]"#)).await, Pass, "");
    scene.world.when("GET /repos/{owner}/{repo}/pulls/{pull_number}").always().answers(Fault::Status(500));
    is(claims(r#""pr":1"#).await, Undecided, "");
}

#[tokio::test]
async fn a_branch_of_a_checkout_is_judged_by_its_own_pull_request() {
    let scene = Scene::new();
    let app = scene.app();
    let checkout = scene.checkout();
    scene.config(Scene::WORKSPACE);
    checkout.branch("fix/etag");
    let head = checkout.commit("fix: etag", &[("etag", Some(b"etag\n"))]);
    let task = task::add(&scene.desk.ctx, "app", "fix/etag", None).await.unwrap();
    assert_eq!((task.repository.as_deref(), task.host.as_deref()), (Some("octo/app"), Some(scene.host())));
    let task = task.id;
    is(scene.gate(task, GateId::Ci).await, Fail, "not pushed");
    is(scene.gate(task, GateId::PrHygiene).await, Fail, "pull request");
    is(scene.gate(task, GateId::NotStacked).await, Pass, "");
    checkout.git(&["push", "--quiet", "origin", "fix/etag"]);
    is(scene.gate(task, GateId::Ci).await, NotApplicable, "");
    is(scene.gate(task, GateId::PrHygiene).await, Fail, "pull request");
    // A fork has a branch of the same name.
    let fork = app.fork("friend");
    fork.commit("fix/etag", "fix: theirs").from("main").write("theirs", "theirs\n").push();
    app.open_pull_from("friend", "friend/app", "fix/etag", "main", "no title");
    is(scene.gate(task, GateId::PrHygiene).await, Fail, "no pull request");
    app.open_pull("octo", "fix/etag", "fix: etag").body(BODY);
    is(scene.gate(task, GateId::PrHygiene).await, Pass, "");
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
    let more = checkout.commit("fix: more", &[("more", Some(b"more\n"))]);
    is(scene.gate(task, GateId::Ci).await, Fail, "not pushed");
    assert_ne!(head, more);
    // Nothing was written into the checkout.
    assert!(!checkout.try_git(&["rev-parse", "--verify", "--quiet", "refs/steward/base/main"]));
    scene.world.assert_contract();
}

#[tokio::test]
async fn a_pull_request_of_a_fork_is_judged_from_its_own_ref_even_when_the_fork_is_gone() {
    let scene = Scene::new();
    let app = scene.app();
    let fork = app.fork("friend");
    fork.push("feat", "feat: theirs", &[("theirs", "theirs\n")]);
    app.open_pull_from("friend", "friend/app", "feat", "main", "feat: theirs").body(BODY);
    let task = scene.add(1).await;
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
    fork.delete();
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
}

#[tokio::test]
async fn frames_of_a_pull_request_are_stamped_with_its_head_or_that_of_the_checkout_they_lie_in() {
    let scene = Scene::new();
    let app = scene.app();
    let head = app.push("feat", "feat: more", &[("web/a.html", "<p>a</p>\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    is(scene.gate(task, GateId::FramesFresh).await, Fail, "");
    let mut shade = 0;
    for width in [1280, 390] {
        for theme in ["light", "dark"] {
            shade += 1;
            crate::frames::attach(&scene.desk, task, width, theme, shade).await.expect("attached");
        }
    }
    is(scene.gate(task, GateId::FramesFresh).await, Pass, "");
    // A picture out of somebody's checkout shows what stands there.
    let checkout = scene.checkout();
    let stands = checkout.head();
    let inside = checkout.path().join("shot.png");
    std::fs::rename(scene.desk.root.join("shot.png"), &inside).unwrap();
    let document = task::documents::FrameDocument { width: 390, theme: "dark".into(), scale: 1, route: None };
    let id = task::attach_frame(&scene.desk.ctx, task, &inside, document).await.expect("attached");
    let rows = scene.desk.ctx.store.read(move |tx| attached::frames(tx, task)).await.unwrap();
    let of = |wanted| rows.iter().find(|row| row.frame.id == wanted).unwrap().frame.sha.to_string();
    assert_eq!((of(id), of(rows[0].frame.id)), (stands, head));
}

#[tokio::test]
async fn signed_out_the_gates_that_need_github_wait_for_a_sign_in() {
    let scene = Scene::new();
    let app = scene.app();
    app.push("feat", "feat: more", &[("more", "more\n")]);
    app.open_pull("octo", "feat", "feat: more").body(BODY);
    let task = scene.add(1).await;
    assert_eq!(scene.cap(task).await, Some(Verdict::Accepted));
    scene.desk.config("review: {enabled: true}\nrepositories: [{name: octo/app}]\n");
    let requests = scene.world.tally().requests;
    let table = scene.gates(task).await;
    for gate in [GateId::Ci, GateId::NotStacked, GateId::PrHygiene] {
        is(said(&table, gate), Undecided, "sign in to GitHub");
    }
    assert_eq!(cap(&table), None);
    assert_eq!(scene.world.tally().requests, requests, "nobody is asked in nobody's name");
    let words = scene.desk.refused(task).await;
    assert!(words.contains("sign in to GitHub"), "{words}");
}
