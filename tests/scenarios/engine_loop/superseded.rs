//! A superseding pull request whose ground moves: the original, the base or a person goes another way.

use chrono::Duration;
use steward_core::loops::landed;
use steward_core::store::effects::State;
use steward_core::store::engine_tasks::What;
use steward_core::store::inbox::Kind;
use steward_github_double::Fault;
use steward_rules::engine::supersede::Stage;
use steward_rules::power::EffectClass;

use super::supersede::{B, MENDED, Pair};
use super::*;

const BRANCH: &str = "GET /repos/{owner}/{repo}/branches/{branch}";

async fn den() -> Den {
    // A merge commit would hold the original's own commits, and GitHub would count it as merged itself.
    Den::new(ACT, &format!("{CHECKS}, {VALIDATE}, mergeMethod: squash")).await
}

impl Den {
    async fn pair(&self) -> Pair<'_> {
        self.superseded(&B, |head| self.made(head, B[0].0, MENDED)).await
    }

    /// What the inbox says of one that stands still.
    async fn stands_still(&self, number: u64) -> Vec<String> {
        let target = format!("repository/{REPO}?item=pr-{number}");
        let stuck = self.entries(Kind::Stuck).await.into_iter().filter(|entry| entry.target == target);
        stuck.map(|entry| entry.title).collect()
    }

    async fn closes(&self) -> Vec<EffectRow> {
        let all = self.effects(EffectClass::Supersede).await.into_iter();
        all.filter(|row| row.deed.as_ref().is_some_and(|deed| deed.kind() == "close")).collect()
    }

    /// The original is red at its head, is run again, and is red still: a task is queued for it.
    async fn red_and_red_again(&self, original: &PullVerbs<'_>) {
        let head = original.head();
        let red = || self.app().check(&head, "check").printing("error: b is wrong\n").fails();
        red();
        self.tick().await;
        self.later(Duration::seconds(121)).await;
        self.send().await;
        self.desk.pass(Duration::seconds(20));
        red();
        self.tick().await;
        self.later(Duration::minutes(31)).await;
    }
}

#[tokio::test]
async fn a36_what_was_merged_and_reverted_before_it_was_seen_leaves_the_original_open_and_lists_it() {
    let den = den().await;
    let Pair { original, ours } = den.pair().await;
    den.merges(&ours).await;
    // Before the next tick can look at the base.
    den.app().commit("main", "revert: b").remove(B[0].0).push();
    for _ in 0..5 {
        den.go().await;
    }
    let number = original.number();
    assert!(matches!(den.stage(number).await, Some(Stage::Merged { .. })), "{:?}", den.stage(number).await);
    assert!(original.is_open() && den.closes().await.is_empty());
    let told = den.stands_still(number).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("works b") && told[0].contains("not as merged"), "{told:?}");
    assert_eq!(original.comments().len(), 1);
    // It is there again as it was merged.
    den.app().push("main", "data: b again", &[(B[0].0, MENDED)]);
    for _ in 0..4 {
        den.go().await;
    }
    assert!(!original.is_open(), "{:?}", den.stage(number).await);
    assert!(den.stands_still(number).await.is_empty());
}

#[tokio::test]
async fn an_entry_that_the_superseding_change_lost_keeps_the_original_open_and_is_named() {
    let den = den().await;
    let both = [B[0], ("data/works/c.json", "{\"c\": {\"v\": 1}}\n")];
    let base = den.app().tip("main");
    let Pair { original, ours } = den.superseded(&both, |_| den.made(&base, B[0].0, MENDED)).await;
    den.merges(&ours).await;
    for _ in 0..4 {
        den.go().await;
    }
    assert!(original.is_open() && den.closes().await.is_empty());
    let told = den.stands_still(original.number()).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("lost: works c"), "{told:?}");
    den.desk.world.assert_contract();
}

#[tokio::test]
async fn a37_a_push_to_the_original_closes_nothing_and_ours_is_rebuilt_from_the_new_head() {
    let den = den().await;
    let Pair { original, ours } = den.pair().await;
    let (number, before) = (original.number(), ours.head());
    // Ours is ready, and the author pushes.
    den.well(&ours);
    let again = [("data/works/b.json", "{\"b\": {\"v\": 3}}\n")];
    let head = den.app().push("change", "data: b, again", &again);
    den.app().check(&head, "check").runs();
    den.tick().await;
    den.later(Duration::seconds(121)).await;
    den.go().await;
    let (decision, why) = den.decided(ours.number()).await;
    assert!(decision == "wait" && why.contains(&format!("#{number}")), "{decision} {why}");
    assert!(!ours.is_merged() && original.is_open());
    assert_ne!(original_head(&den, number).await, head);

    // Its new head is judged like any: red, and red again.
    den.red_and_red_again(&original).await;
    let task = den.tasks(number).await.remove(0);
    assert_eq!(task.what, What::Fix { checks: vec!["check".to_owned()], flag: false });
    assert_eq!(task.branch, format!("steward/pr-{number}"));
    assert_eq!((task.head.unwrap().as_str(), task.lease.unwrap().as_str()), (head.as_str(), before.as_str()));
    let to = den.made(&head, B[0].0, "{\"b\": {\"v\": 4}}\n");
    den.queued_ends_with(number, &to).await;
    for _ in 0..4 {
        den.go().await;
    }
    assert_eq!(ours.head(), to.as_str(), "{:?}", den.effects(EffectClass::Supersede).await);
    assert_eq!(original_head(&den, number).await, head);
    assert!(!den.app().has(ours.number() + 1), "there is one pull request of ours");
    assert_eq!(original.comments().len(), 1, "linked once");
    den.merges(&ours).await;
    for _ in 0..4 {
        den.go().await;
    }
    assert!(!original.is_open(), "{:?} {:?}", den.stage(number).await, den.item(number).await.stopped);
    den.desk.world.assert_contract();
}

async fn original_head(den: &Den, number: u64) -> String {
    match den.stage(number).await {
        Some(Stage::Opened { original_head, .. } | Stage::Merged { original_head, .. }) => {
            original_head.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a37_a_push_after_the_merge_and_even_after_the_content_was_seen_closes_nothing() {
    for is_seen in [false, true] {
        let den = den().await;
        let Pair { original, ours } = den.pair().await;
        let number = original.number();
        den.merges(&ours).await;
        if is_seen {
            // The close is wanted, and not sent yet.
            for _ in 0..6 {
                if den.closes().await.is_empty() {
                    den.tick().await;
                    landed::pass(&den.desk.ctx, &CancellationToken::new()).await.unwrap();
                }
            }
            assert_eq!(den.closes().await.len(), 1, "{:?}", den.stage(number).await);
        }
        let more = [("data/works/d.json", "{\"d\": {\"v\": 1}}\n")];
        let head = den.app().push("change", "data: d", &more);
        den.app().check(&head, "check").runs();
        den.send().await;
        for _ in 0..5 {
            den.go().await;
        }
        assert!(original.is_open(), "{is_seen}: what is new in it is on no base");
        assert!(den.closes().await.iter().all(|row| row.state == State::Obsolete), "{is_seen}");
        assert_eq!(den.stage(number).await, None, "{is_seen}: it is judged by itself again");
    }
}

#[tokio::test]
async fn closed_by_its_author_meanwhile_it_stops_ours_which_is_listed_and_not_merged() {
    let den = den().await;
    let Pair { original, ours } = den.pair().await;
    den.well(&ours);
    original.close("maria");
    den.tick().await;
    let before = den.writes();
    den.later(Duration::seconds(121)).await;
    for _ in 0..3 {
        den.go().await;
    }
    assert_eq!(den.decided(ours.number()).await.0, "list_only");
    assert!(!ours.is_merged() && ours.is_open());
    let told = den.stands_still(ours.number()).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&format!("#{}", original.number())) && told[0].contains("closed"), "{told:?}");
    assert_eq!(den.writes(), before, "nothing is written for what nobody waits for");
    // Its author thinks better of it.
    original.reopen("maria");
    for _ in 0..4 {
        den.go().await;
    }
    assert!(ours.is_merged(), "{:?}", den.decided(ours.number()).await);
    assert!(den.stands_still(ours.number()).await.is_empty());
}

#[tokio::test]
async fn ours_closed_by_a_person_is_a_no_which_is_listed_and_holds_for_the_next_head_too() {
    let den = den().await;
    let Pair { original, ours } = den.pair().await;
    let number = original.number();
    ours.close("carol");
    for _ in 0..3 {
        den.go().await;
    }
    let told = den.stands_still(number).await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("a person closed"), "{told:?}");
    let (tasks, writes) = (den.tasks(number).await.len(), den.writes());
    den.app().push("change", "data: b, again", &[(B[0].0, "{\"b\": {\"v\": 5}}\n")]);
    den.red_and_red_again(&original).await;
    for _ in 0..3 {
        den.go().await;
    }
    assert_eq!(den.tasks(number).await.len(), tasks, "{:?}", den.decided(number).await);
    let since: Vec<String> = den.writes().into_iter().skip(writes.len()).collect();
    assert!(since.iter().all(|write| write.contains("rerun")), "{since:?}");
    assert!(!ours.is_open() && original.is_open() && !den.app().has(ours.number() + 1));
    assert_eq!(den.stands_still(number).await.len(), 1);
}

#[tokio::test]
async fn a_branch_of_ours_that_could_not_be_read_is_not_taken_for_one_that_is_not_there() {
    let den = den().await;
    let app = den.app();
    app.push("change", "data: b", &B);
    let original = app.open_pull("maria", "change", "add b");
    let number = original.number();
    let tip = app.push(&format!("steward/pr-{number}"), "data: of before", &B);
    den.desk.world.when(BRANCH).containing("pr-").always().answers(Fault::Status(500));
    den.red_and_red_again(&original).await;
    assert_eq!(den.decided(number).await.0, "fix");
    assert!(den.tasks(number).await.is_empty(), "nothing is made over what nobody read");
    den.desk.world.calm();
    den.tick().await;
    let tasks = den.tasks(number).await;
    assert_eq!(tasks.len(), 1, "{:?}", den.decided(number).await);
    assert_eq!(tasks[0].lease.as_ref().map(|sha| sha.as_str()), Some(tip.as_str()));
}

#[tokio::test]
async fn ours_is_known_by_its_number_when_its_head_moved_before_it_was_seen() {
    let den = Den::new(ACT, &format!("{CHECKS}, {VALIDATE}")).await;
    den.app().push("change", "data: b", &B);
    let original = den.app().open_pull("maria", "change", "add b");
    let (number, head) = (original.number(), original.head());
    den.app().check(&head, "check").runs();
    den.tick().await;
    let to = den.made(&head, B[0].0, MENDED);
    den.mended(number, &head, None, &to).await;
    let branch = format!("steward/pr-{number}");
    let is_open = async || {
        let opened = den.effects(EffectClass::Supersede).await;
        opened.iter().any(|row| {
            matches!(row.deed, Some(steward_rules::deed::Deed::OpenPull { .. }))
                && row.state == steward_core::store::effects::State::Done
        })
    };
    for _ in 0..6 {
        if !is_open().await {
            den.judge().await;
            den.send().await;
        }
    }
    assert!(is_open().await, "{:?}", den.effects(EffectClass::Supersede).await);
    // The sweep, or a person, is there before the look.
    den.app().push(&branch, "data: more", &[("data/works/b.json", "{\"b\": {\"v\": 3}}\n")]);
    den.tick().await;
    let stage = den.stage(number).await;
    assert!(matches!(stage, Some(Stage::Opened { .. })), "{stage:?}");
    for _ in 0..3 {
        den.go().await;
    }
    assert_eq!(original.comments().len(), 1, "and the original says where its change goes on");
}
