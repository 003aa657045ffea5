//! The base where the policy names none: the default branch, as GitHub names it, and no guess.

use chrono::Duration;

use super::*;

#[tokio::test]
async fn without_a_base_of_the_policy_pull_requests_go_to_the_default_branch_whatever_its_name() {
    let den = Den::new(ACT, CHECKS).await;
    den.app().push("trunk", "docs: more", &[("README.md", "more\n")]);
    let to_main = den.intake(101, "b");
    den.well(&to_main);
    den.app().makes_default("trunk");
    let to_trunk = den.intake(102, "c");
    den.well(&to_trunk);
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert!(to_trunk.is_merged(), "{:?}", den.decided(to_trunk.number()).await);
    let item = den.item(to_main.number()).await;
    assert_eq!((item.class.as_str(), item.class_reason.as_str()), ("foreign", "it wants to go to main"));
    // The file's own word goes first.
    den.config(ACT, &format!("{CHECKS}, base: main")).await;
    den.tick().await;
    assert_eq!(den.item(to_main.number()).await.class, "data");
}

#[tokio::test]
async fn while_github_names_no_default_branch_nothing_is_merged_and_it_says_why() {
    let den = Den::new(ACT, CHECKS).await;
    let pull = den.intake(101, "b");
    den.well(&pull);
    den.app().makes_default("nowhere");
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    let item = den.item(pull.number()).await;
    assert_eq!((item.class.as_str(), item.decision.as_str()), ("unreadable", "list_only"));
    assert!(item.state.contains("GitHub has not named the default branch"), "{}", item.state);
    assert_eq!(den.writes(), [""; 0]);
    assert!(pull.is_open());
    den.app().makes_default("main");
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.send().await;
    assert!(pull.is_merged(), "{:?}", den.decided(pull.number()).await);
}
