//! Every class in one world: only what is ready is written to, and code gets its one comment.

use chrono::Duration;
use steward_core::loops::effects::want_comment;
use steward_core::store::reviews::{self, Outcome, ReviewState, RunStart, Submitted};
use steward_core::store::tasks;
use steward_rules::ids::PullNumber;
use steward_rules::power::EffectClass;
use steward_rules::review::coverage::Coverage;
use steward_rules::review::verdict::Verdict;

use super::refused::MERGE;
use super::*;

impl Den {
    /// The review that the engine asked for of a pull request comes to its end, as the seat's does.
    async fn reviewed(&self, number: u64) {
        let (host, config) = (self.desk.host(), self.desk.ctx.config());
        let publish = move |tx: &steward_core::store::WriteTx<'_>| {
            let task = tasks::find_by_pull(tx, &host, &name(), PullNumber(number as i64))?.unwrap();
            let past = reviews::past(tx, task.id)?;
            assert_eq!(past.iter().map(|one| one.state).collect::<Vec<_>>(), [ReviewState::Queued]);
            let id = past[0].id;
            let start = RunStart {
                model: None,
                adapter: "command".to_owned(),
                boundary: "none".to_owned(),
                budget_usd: 1.5,
            };
            let said = Submitted {
                seat_verdict: Verdict::Accepted,
                summary: "It does what it says.".to_owned(),
                coverage: Coverage::default(),
                lowered_because: Vec::new(),
            };
            let outcome = Outcome {
                verdict: Verdict::Accepted,
                cap: Verdict::Accepted,
                lowered_by: Vec::new(),
                lowered_because: Vec::new(),
            };
            assert!(reviews::begin_digest(tx, id)? && reviews::begin_run(tx, id, &start)?);
            assert!(reviews::submit(tx, id, &said)? && reviews::publish(tx, id, &outcome)?);
            want_comment(tx, &config, id)
        };
        self.desk.ctx.store.write(Durability::Full, publish).await.unwrap();
    }
}

#[tokio::test]
async fn of_an_oversize_a_fork_a_code_a_draft_and_a_ready_one_only_the_ready_one_is_written_to() {
    let den = Den::new(ACT, CHECKS).await;
    let power = ACT.replace("[merge", "[comment_review, merge");
    let text = format!("{}review: {{enabled: true}}\n", den.text(&power, CHECKS));
    std::fs::write(den.desk.home.config_file(), text).unwrap();
    assert_eq!(den.desk.ctx.config.reread().problems, []);
    let waits = in_force::settle(&den.desk.ctx).await.unwrap();
    in_force::confirm(&den.desk.ctx, &waits.change().unwrap()).await.unwrap();
    let seat = den.desk.home.seat_file("reviewer");
    std::fs::create_dir_all(seat.parent().unwrap()).unwrap();
    std::fs::write(seat, "adapter: command\ncommand: [/bin/true]\n").unwrap();

    let app = den.app();
    let ready = den.intake(101, "b");
    let many: Vec<String> = (0..101).map(|at| format!("\"m{at}\": {{\"v\": 1}}")).collect();
    app.push(
        "intake/issue-102",
        "data: many",
        &[("data/works/m.json", &format!("{{{}}}\n", many.join(", ")))],
    );
    let oversize = app.open_pull("maria", "intake/issue-102", "[intake] many").label("data");
    let fork = app.fork("maria");
    fork.push("intake/issue-103", "data: f", &[("data/works/f.json", "{\"f\": {\"v\": 1}}\n")]);
    let foreign = app.open_pull_from("maria", "maria/data", "intake/issue-103", "main", "[intake] f");
    let files = [("data/works/t.json", "{\"t\": {\"v\": 1}}\n"), ("tools/x.sh", "x\n")];
    app.push("intake/issue-104", "feat: tool", &files);
    let code = app.open_pull("maria", "intake/issue-104", "[intake] t").label("data");
    let draft = den.intake(105, "d").draft();
    for pull in [&ready, &oversize, &foreign, &code, &draft] {
        den.well(pull);
    }
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    for (pull, class) in [(&oversize, "oversize"), (&foreign, "foreign"), (&code, "code"), (&draft, "draft")]
    {
        assert_eq!(den.item(pull.number()).await.class, class, "{:?}", den.item(pull.number()).await);
    }
    assert!(ready.is_merged(), "{:?}", den.decided(ready.number()).await);
    den.reviewed(code.number()).await;
    for _ in 0..3 {
        den.send().await;
        den.tick().await;
    }
    let said = code.comments();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].2.starts_with(&format!("<!-- steward:review head={} -->", code.head())), "{said:?}");
    for pull in [&oversize, &foreign, &code, &draft] {
        assert!(pull.is_open() && !pull.is_merged(), "#{}", pull.number());
    }
    for pull in [&oversize, &foreign, &draft] {
        assert!(pull.comments().is_empty(), "#{}", pull.number());
    }
    for branch in ["intake/issue-102", "intake/issue-104", "intake/issue-105"] {
        app.tip(branch);
    }
    assert_eq!(den.effects(EffectClass::DeleteBranch).await.len(), 1, "the ready one's branch alone");
    let mut writes = den.writes();
    writes.dedup();
    writes.sort();
    writes.dedup();
    let comment = "POST /repos/{owner}/{repo}/issues/{issue_number}/comments";
    assert_eq!(writes, [comment, MERGE, "git-receive-pack"]);
    den.desk.world.assert_contract();
}
