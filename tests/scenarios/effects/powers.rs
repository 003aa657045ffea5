//! Powers: what the file asks for holds once a person confirmed it; less of it holds at once.

use steward_core::api::effects as api;
use steward_core::api::error::ErrorCode;
use steward_core::api::requests::{Nothing, PowerConfirm, RepositoryByName};
use steward_core::api::{Api, policy};
use steward_rules::caller::Caller;
use steward_rules::power::{EffectClass, Mode};

use super::*;

async fn lines(office: &Office) -> Vec<String> {
    let powers = in_force::settle(&office.ctx).await.unwrap();
    powers.pending.iter().map(|line| format!("{}: {} -> {}", line.key, line.now, line.asked)).collect()
}

async fn mode(office: &Office) -> Mode {
    in_force::settle(&office.ctx).await.unwrap().in_force.of(&office.host, &repo()).mode()
}

async fn approvals(office: &Office) -> Vec<String> {
    let open = office.entries(Shelf::Open).await;
    open.into_iter().filter(|entry| entry.kind == Kind::Approval).map(|entry| entry.target).collect()
}

#[tokio::test]
async fn a_wider_power_waits_for_the_person_and_a_narrower_one_holds_at_once() {
    let world = world();
    let office = Office::unconfirmed(&world, ACT, quick());
    let name = format!("{}/octo/app", office.host);
    assert_eq!(
        lines(&office).await,
        [
            format!("repositories[{name}].mode: observe -> act"),
            format!("repositories[{name}].act: none -> comment_review")
        ]
    );
    assert_eq!(mode(&office).await, Mode::Observe);
    assert_eq!(approvals(&office).await, ["settings/powers"]);
    office.review(&world).await;
    assert!(office.rows().await.is_empty(), "until then it is observed");

    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    let agent = Api::open(&office.home, Caller::Agent("no terminal".to_owned())).await.unwrap();
    let shown = api::power_show(&person, Nothing {}).await.unwrap();
    assert_eq!(shown.pending.len(), 2);
    let change = shown.change.unwrap();
    let refused = api::power_confirm(&agent, PowerConfirm { change: change.clone() }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NotAPerson);
    // The file changes while the diff is on the screen: that one is not confirmed.
    office.config("preset: data-catalogue, mode: act, act: [comment_review, merge]");
    let refused = api::power_confirm(&person, PowerConfirm { change: change.clone() }).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Refused);
    office.config(ACT);
    let after = api::power_confirm(&person, PowerConfirm { change }).await.unwrap();
    assert_eq!((after.pending.len(), after.change), (0, None));
    assert!(approvals(&office).await.is_empty());
    let power = in_force::settle(&office.ctx).await.unwrap().in_force.of(&office.host, &repo());
    assert!(power.acts(EffectClass::CommentReview) && !power.acts(EffectClass::Merge));
    let told = office.ctx.store.read(|tx| audit::page(tx, Some("power"), None, 5)).await.unwrap();
    assert_eq!((told.len(), told[0].actor.as_str()), (1, "person"));
    assert!(told[0].detail.contains("mode: observe -> act"), "{}", told[0].detail);
    assert_eq!(
        api::power_confirm(&person, PowerConfirm { change: "0".repeat(16) }).await.unwrap_err().code,
        ErrorCode::Refused
    );

    // Taken away it is gone at once, and asked for again it waits again.
    office.config(SUGGEST);
    assert_eq!((mode(&office).await, lines(&office).await.len()), (Mode::Suggest, 0));
    office.config(ACT);
    assert_eq!(mode(&office).await, Mode::Suggest);
    assert_eq!(lines(&office).await.len(), 2);
    assert_eq!(approvals(&office).await.len(), 1);
    // Given up, nothing waits any more.
    office.config(SUGGEST);
    assert!(lines(&office).await.is_empty() && approvals(&office).await.is_empty());
}

#[tokio::test]
async fn a_file_in_error_takes_no_confirmed_power_away() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.config("mode: nonsense");
    assert_eq!(mode(&office).await, Mode::Observe, "what is in error is not in force");
    office.config("mode: [not: closed");
    mode(&office).await;
    std::fs::remove_file(office.home.config_file()).unwrap();
    office.ctx.config.reread();
    assert_eq!(mode(&office).await, Mode::Observe);
    office.config(ACT);
    assert_eq!(mode(&office).await, Mode::Act, "a slip of the pen is not the person's word");
}

#[tokio::test]
async fn a_larger_cap_on_money_waits_and_the_first_file_is_the_first_word() {
    let world = world();
    let office = Office::unconfirmed(&world, "mode: observe", quick());
    let spend = async |daily: &str| {
        let text = format!("{}spend: {{dailyUsd: {daily}}}\n", config(&office.host, "mode: observe"));
        std::fs::write(office.home.config_file(), text).unwrap();
        let settled = in_force::settle(&office.ctx).await.unwrap();
        (settled.in_force.daily_usd, settled.pending.len())
    };
    assert_eq!(spend("5").await, (5.0, 0), "what was there first needs no second word");
    assert_eq!(spend("7").await, (5.0, 1));
    let config = office.ctx.config();
    let caps = office.ctx.store.read(move |tx| in_force::spend(tx, &config)).await.unwrap();
    assert_eq!(caps.daily_usd, 5.0, "the cap that starts are judged by");
    assert_eq!(spend("3").await, (3.0, 0));
    assert_eq!(spend("5").await, (3.0, 1), "what was once given up is given anew");
    office.confirm().await;
    assert_eq!(spend("5").await, (5.0, 0));
}

#[tokio::test]
async fn a_larger_cap_of_a_policy_waits_and_the_smaller_one_holds() {
    let world = world();
    let office = Office::new(&world, ACT).await;
    office.config(&format!("{ACT}, policy: {{engine: {{mergeMaxEntries: 500, agent: {{dailyRuns: 5}}}}}}"));
    let name = format!("{}/octo/app", office.host);
    let wider = format!("repositories[{name}].policy.engine.mergeMaxEntries: 100 -> 500");
    assert_eq!(lines(&office).await, [wider]);
    let caps = async || {
        let powers = in_force::settle(&office.ctx).await.unwrap();
        let config = office.ctx.config();
        let policy = powers.policy(&office.host, &config.repositories[0]);
        (policy.merge_max_entries, policy.agent.daily_runs)
    };
    assert_eq!(caps().await, (100, 5));
    let person = Api::open(&office.home, Caller::Person).await.unwrap();
    let shown = async || {
        let name = RepositoryByName { name: "octo/app".to_owned() };
        let view = policy::show(&person, name).await.unwrap();
        let found =
            view.values.into_iter().find(|value| value.key == "policy.engine.mergeMaxEntries").unwrap();
        (found.value, found.origin)
    };
    assert_eq!(shown().await, ("100".to_owned(), "more waits for a confirmation".to_owned()));
    office.confirm().await;
    assert_eq!(caps().await, (500, 5));
    let (value, origin) = shown().await;
    assert_eq!((value.as_str(), origin.starts_with("line ")), ("500", true));
}
