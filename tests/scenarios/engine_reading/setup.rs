//! What the set-up help reads: what the forge requires, the last merges, and how they stood before.

use std::sync::Arc;
use std::time::{Duration, Instant};

use steward_core::api::error::ErrorCode;
use steward_core::api::requests::{RepositoryByName, RepositoryChecks};
use steward_core::api::views::{CheckSource, EditSide, EditView};
use steward_core::api::{Api, checks, shadow};
use steward_github_double::{Exchange, Fault, Protection, Retry};
use steward_rules::caller::Caller;
use steward_rules::engine::memory::{HeadSeen, Memory};
use steward_rules::engine::merge;
use steward_rules::engine::setup::{Proposal, propose};

use super::*;

/// Opens, checks and merges a change of one work.
fn merged(desk: &Desk, name: &str, method: &str) -> u64 {
    let app = app(desk);
    let text = format!("{{\"{name}\": {{\"v\": 1}}}}\n");
    let path = format!("data/works/{name}.json");
    let branch = format!("intake/{name}");
    app.commit(&branch, &format!("data: {name}")).from("main").write(&path, &text).push();
    let pull = app.open_pull("maria", &branch, name);
    for check in ["check", "compose", "site"] {
        app.check(&pull.head(), check).succeeds();
    }
    app.check(&pull.head(), "verify").workflow(VERIFY).succeeds();
    pull.label_by(BOT, "ai-verified");
    pull.merge_by("octo", method);
    pull.number()
}

#[tokio::test]
async fn the_required_checks_come_from_protection_rulesets_or_the_last_merges() {
    let desk = desk();
    let practice = async || reading::practice(&desk.ctx, &place(&desk)).await.unwrap();
    for name in ["b", "c", "d"] {
        merged(&desk, name, "squash");
    }
    let seen = practice().await;
    assert_eq!((known(&seen.protection), known(&seen.rulesets)), (vec![], vec![]));
    assert_eq!(seen.merged_heads.len(), 3);
    let usual = ["check", "compose", "site", "verify"].map(str::to_owned).to_vec();
    assert_eq!(propose(&seen, "github-actions"), Proposal::Usual { names: usual, heads: 3 });

    let rule = |ruleset: bool, check: &str| Protection {
        required_checks: vec![check.to_owned()],
        ruleset,
        ..Protection::default()
    };
    app(&desk).protect("main", rule(true, "build"));
    assert_eq!(known(&practice().await.rulesets), ["build"]);
    app(&desk).protect("main", rule(false, "test"));
    let seen = practice().await;
    assert_eq!((known(&seen.protection), known(&seen.rulesets)), (vec!["test".to_owned()], vec![]));
    let rules = "GET /repos/{owner}/{repo}/rules/branches/{branch}";
    desk.world.when(rules).always().answers(Fault::Status(500));
    let seen = practice().await;
    assert_eq!(cause(&seen.rulesets), Cause::ForgeFailed);
    assert!(matches!(propose(&seen, "github-actions"), Proposal::Unread(_)));
}

#[tokio::test]
async fn past_merges_are_read_as_they_stood_before() {
    let desk = desk();
    let policy = Preset::DataCatalogue.policy().on(Some("main"));
    let numbers = [merged(&desk, "b", "merge"), merged(&desk, "c", "squash"), merged(&desk, "d", "rebase")];
    let closed = intake(&desk);
    closed.close("octo");
    let past = reading::merged(&desk.ctx, &place(&desk), 50).await.unwrap();
    let found: Vec<u64> = past.iter().map(|one| one.before.number.0 as u64).collect();
    assert_eq!(found, numbers.iter().rev().copied().collect::<Vec<_>>(), "the newest first");
    for one in &past {
        let seen = &one.before;
        assert_eq!((seen.state, known(&seen.compare).behind_by), (PullState::Open, 0));
        assert_eq!((seen.files.items.len(), known(&seen.entries).touched()), (1, 1), "{seen:?}");
        // What the gate would have done: everything held, once the head had been there for its two minutes.
        let mut memory = Memory::default();
        let first_seen_at = one.merged_at - chrono::Duration::hours(1);
        memory.head =
            Some(HeadSeen { sha: seen.head.sha.clone(), first_seen_at, last_seen_at: one.merged_at });
        let decision = merge::assess(seen, &memory, &policy, seen.read_at);
        assert!(format!("{decision:?}").contains("Merge"), "{decision:?}");
    }
    assert_eq!(reading::merged(&desk.ctx, &place(&desk), 1).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_shadow_run_says_what_the_gate_would_have_done_by_the_file_as_it_is_written() {
    let desk = desk();
    let request = || RepositoryByName { name: REPO.to_owned() };
    let api = Api::of(desk.ctx.clone(), Caller::Person);
    let unseen = shadow::run(&api, request()).await.unwrap_err();
    assert_eq!(unseen.code, ErrorCode::Refused, "{unseen:?}");
    for name in ["b", "c", "d"] {
        merged(&desk, name, "squash");
    }
    let app = app(&desk);
    app.commit("tools", "feat: a tool").from("main").write("tools/x.sh", "x\n").push();
    let code = app.open_pull("maria", "tools", "a \u{202e}tool");
    code.merge_by("octo", "merge");
    desk.tick().await;

    // The default policy has no safe path.
    let cautious = shadow::run(&api, request()).await.unwrap();
    assert_eq!(cautious.rows.iter().filter(|row| row.would_merge).count(), 0);
    let file = desk.home.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    let written =
        text.replace(&format!("name: {REPO}"), &format!("name: {REPO}\n    preset: data-catalogue"));
    std::fs::write(&file, written).unwrap();
    let seen = shadow::run(&api, request()).await.unwrap();
    let said: Vec<_> = seen.rows.iter().map(|row| (row.class.as_str(), row.would_merge)).collect();
    assert_eq!(said, [("code", false), ("data", true), ("data", true), ("data", true)], "{seen:?}");
    assert_eq!(seen.rows[0].title, "a \\u{202e}tool");
    assert!(seen.rows[0].message.contains("tools/x.sh"), "{:?}", seen.rows[0]);
    // The heads of all that was merged are looked at, and the tool had no checks.
    assert_eq!(seen.proposed_checks, Vec::<String>::new(), "{}", seen.proposal);
    let exchanges = desk.world.exchanges();
    let reads = |one: &&Exchange| {
        one.method == "GET" || ["POST /graphql", "git-upload-pack"].contains(&one.operation.as_str())
    };
    let writes = exchanges.iter().filter(|one| !reads(one));
    assert_eq!(writes.count(), 0, "a shadow run reads alone");
}

const ONE: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";

fn by_name() -> RepositoryByName {
    RepositoryByName { name: REPO.to_owned() }
}

/// Three merges, and the first look at them.
async fn with_merges() -> (Desk, Arc<Api>) {
    let desk = desk();
    for name in ["b", "c", "d"] {
        merged(&desk, name, "squash");
    }
    desk.tick().await;
    let api = Arc::new(Api::of(desk.ctx.clone(), Caller::Person));
    (desk, api)
}

#[tokio::test]
async fn a_shadow_run_that_is_cut_off_keeps_what_it_read_and_says_what_to_do() {
    let (desk, api) = with_merges().await;
    let mut told = Vec::new();
    let whole = shadow::run_telling(&api, by_name(), |read, of| told.push((read, of))).await.unwrap();
    assert_eq!((whole.read, whole.of, whole.rows.len()), (3, 3, 3));
    assert!(whole.ended.is_none());
    assert_eq!(told.last(), Some(&(3, 3)), "{told:?}");
    assert!(told.contains(&(1, 3)), "each is told: {told:?}");

    desk.world
        .when(ONE)
        .after(2)
        .always()
        .answers(Fault::Secondary { status: 403, retry: Retry::Seconds(600) });
    let cut = shadow::run(&api, by_name()).await.unwrap();
    assert_eq!((cut.read, cut.of, cut.rows.len()), (2, 3, 2));
    let ended = cut.ended.unwrap();
    assert!(ended.message.contains("2 of 3 merges were read") && ended.hint.is_some(), "{ended:?}");
    assert_eq!(cut.proposed_checks.len(), 4, "the checks were read before: {}", cut.proposal);
    desk.world.calm();
    let state = shadow::state(&api, by_name()).await.unwrap();
    assert!(!state.running);
}

#[tokio::test]
async fn a_shadow_run_is_stopped_within_a_second_and_says_what_it_read() {
    let (desk, api) = with_merges().await;
    let idle = shadow::stop(&api, by_name()).await.unwrap_err();
    assert_eq!(idle.code, ErrorCode::Refused);
    desk.world.when(ONE).after(1).always().answers(Fault::Slow(Duration::from_secs(60)));
    let running = tokio::spawn({
        let api = Arc::clone(&api);
        async move { shadow::run(&api, by_name()).await }
    });
    let waits = Instant::now();
    loop {
        let state = shadow::state(&api, by_name()).await.unwrap();
        if (state.running, state.read, state.of) == (true, 1, 3) {
            break;
        }
        assert!(waits.elapsed() < Duration::from_secs(60), "{state:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let stopped = Instant::now();
    shadow::stop(&api, by_name()).await.unwrap();
    let found = running.await.unwrap().unwrap();
    assert!(stopped.elapsed() < Duration::from_secs(1), "{:?}", stopped.elapsed());
    assert_eq!((found.read, found.of, found.rows.len()), (1, 3, 1));
    let ended = found.ended.unwrap();
    assert_eq!(
        (ended.code.as_str(), ended.message.as_str()),
        ("stopped", "stopped: 1 of 3 merges were read")
    );
    assert!(!shadow::state(&api, by_name()).await.unwrap().running);
}

/// The lines that change, signed.
fn changed(edit: &EditView) -> Vec<String> {
    let lines = edit.parts.iter().flat_map(|part| &part.lines);
    lines
        .filter_map(|line| match line.side {
            EditSide::Same => None,
            EditSide::Removed => Some(format!("-{}", line.text.trim())),
            EditSide::Added => Some(format!("+{}", line.text.trim())),
        })
        .collect()
}

#[tokio::test]
async fn proposed_checks_are_shown_as_a_difference_and_written_with_comments_kept() {
    let (desk, api) = with_merges().await;
    let proposed = checks::propose(&api, by_name()).await.unwrap();
    assert_eq!((proposed.source, proposed.required.len()), (CheckSource::Usual, 0), "{proposed:?}");
    assert_eq!(proposed.proposed, ["check", "compose", "site", "verify"]);
    let file = desk.home.config_file();
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("# mine\n{text}")).unwrap();

    let wanted = |names: &[&str]| RepositoryChecks {
        name: REPO.to_owned(),
        checks: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let edit = checks::preview(&api, wanted(&["check", "site"])).await.unwrap();
    assert_eq!(changed(&edit), ["+policy:", "+engine:", "+requiredChecks: [check, site]"], "{edit:?}");
    assert!(edit.pending.is_empty(), "more checks are no more power: {edit:?}");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("requiredChecks"), "a preview writes nothing");

    checks::set(&api, wanted(&["check", "site"])).await.unwrap();
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written.starts_with("# mine\n") && written.contains("requiredChecks: [check, site]"),
        "{written}"
    );
    let edit = checks::preview(&api, wanted(&["site"])).await.unwrap();
    assert_eq!(changed(&edit), ["-requiredChecks: [check, site]", "+requiredChecks: [site]"]);
    assert_eq!(checks::propose(&api, by_name()).await.unwrap().required, ["check", "site"]);
    let stranger = Api::of(desk.ctx.clone(), Caller::Agent("an agent".to_owned()));
    let refused = checks::set(&stranger, wanted(&[])).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotAPerson);
}
