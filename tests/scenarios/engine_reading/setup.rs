//! What the set-up help reads: what the forge requires, the last merges, and how they stood before.

use steward_github_double::{Fault, Protection};
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
    let policy = Preset::DataCatalogue.policy();
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
