//! Two at once after one pull request: two machines of one maintainer, and two senders of one store.

use std::sync::Arc;

use chrono::Duration;
use steward_core::config::ConfigWatch;
use steward_core::keychain::Keychain;
use steward_core::loops::observer::Observer;
use steward_core::loops::{Ctx, landed};
use steward_core::store::effects::State;
use steward_core::store::inbox::Kind;
use steward_core::store::{Store, landings};
use steward_rules::power::EffectClass;

use super::refused::MERGE;
use super::*;
use crate::observer::quick;
use crate::store::fresh;

/// Another machine of the same maintainer, with a store of its own.
struct Other {
    ctx: Ctx,
    observer: Observer,
    _folder: tempfile::TempDir,
}

impl Other {
    async fn beside(den: &Den) -> Self {
        let (_folder, home) = fresh();
        std::fs::write(home.config_file(), den.text(ACT, CHECKS)).unwrap();
        let store = Store::open(&home, den.desk.hand.clone()).unwrap();
        let config = Arc::new(ConfigWatch::open(&home, None));
        let keychain = Keychain::default().with_github_token(Some(TOKEN.to_owned().into()));
        let ctx = Ctx::new(home, store, den.desk.hand.clone(), config, "/nowhere/steward".into())
            .with_keychain(keychain)
            .with_github(quick());
        let change = in_force::settle(&ctx).await.unwrap().change().unwrap();
        in_force::confirm(&ctx, &change).await.unwrap();
        Self { observer: Observer::new(ctx.clone()), ctx, _folder }
    }
}

/// One step of a sender; the clock goes on meanwhile, as every clock does.
async fn step(den: &Den, ctx: &Ctx, sending: &mut Sending) -> Progress {
    let clock = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            den.desk.pass(Duration::milliseconds(2));
        }
    };
    tokio::select! {
        done = sending.step(ctx) => done.unwrap(),
        () = clock => unreachable!("the clock never ends"),
    }
}

async fn sent(den: &Den, ctx: &Ctx) {
    for _ in 0..4 {
        for row in ctx.store.read(effects::to_do).await.unwrap() {
            let mut sending = Sending::new(row.id);
            while step(den, ctx, &mut sending).await == Progress::More {}
        }
        den.desk.pass(Duration::seconds(2));
    }
}

async fn merge_of(ctx: &Ctx) -> EffectRow {
    let rows = ctx.store.read(|tx| effects::page(tx, false, None, 50)).await.unwrap();
    rows.into_iter().find(|row| row.class == EffectClass::Merge).expect("a merge is wanted")
}

/// Both go on with everything for a while.
async fn both_go_on(den: &Den, other: &mut Other) {
    for _ in 0..5 {
        den.desk.pass(Duration::minutes(10));
        den.desk.turn().await;
        other.observer.whole_turn().await.unwrap();
        for ctx in [&den.desk.ctx, &other.ctx] {
            engine::pass(ctx, &CancellationToken::new()).await.unwrap();
        }
        for ctx in [&den.desk.ctx, &other.ctx] {
            sent(den, ctx).await;
            landed::pass(ctx, &CancellationToken::new()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn two_machines_after_one_pull_request_merge_it_once_say_it_once_and_raise_no_alarm() {
    for order in ["aaabbb", "ababab", "abbbaa", "aabbba"] {
        let den = Den::new(ACT, CHECKS).await;
        let mut other = Other::beside(&den).await;
        let issue = den.app().open_issue("maria", "add b", "please").label("data:add-work").number();
        let pull = den.intake(issue, "b");
        den.well(&pull);
        for wait in [Duration::minutes(10), Duration::seconds(121)] {
            den.desk.pass(wait);
            den.desk.turn().await;
            other.observer.whole_turn().await.unwrap();
            for ctx in [&den.desk.ctx, &other.ctx] {
                engine::pass(ctx, &CancellationToken::new()).await.unwrap();
            }
            den.desk.pass(Duration::seconds(1));
        }
        let ids = [merge_of(&den.desk.ctx).await.id, merge_of(&other.ctx).await.id];
        let mut hands = ids.map(Sending::new);
        for who in order.bytes() {
            let (at, ctx) = if who == b'a' { (0, &den.desk.ctx) } else { (1, &other.ctx) };
            step(&den, ctx, &mut hands[at]).await;
        }
        both_go_on(&den, &mut other).await;
        assert!(pull.is_merged(), "{order}");
        let won: Vec<u16> = den
            .desk
            .world
            .exchanges()
            .into_iter()
            .filter(|one| one.operation == MERGE)
            .map(|one| one.status)
            .collect();
        assert_eq!(won.iter().filter(|status| **status == 200).count(), 1, "{order}: {won:?}");
        let said = den.app().pull(issue).comments();
        assert_eq!(said.len(), 1, "{order}: {said:?}");
        assert!(!den.app().pull(issue).is_open(), "{order}");
        for ctx in [&den.desk.ctx, &other.ctx] {
            assert!(merge_of(ctx).await.state.is_final(), "{order}");
            let host = den.desk.host();
            let frozen = ctx.store.read(move |tx| landings::frozen(tx, &host, &name())).await.unwrap();
            assert_eq!(frozen, None, "{order}");
            let open = ctx.store.read(|tx| inbox::page(tx, Shelf::Open, None, None, 50)).await.unwrap();
            assert!(open.iter().all(|entry| entry.kind != Kind::Incident), "{order}: {open:?}");
        }
        den.desk.world.assert_contract();
    }
}

#[tokio::test]
async fn two_senders_of_one_store_send_a_merge_once_and_the_journal_says_that_it_is_done() {
    for order in ["aabbaabb", "abababab", "abbbaaab", "aabbbbaa"] {
        let den = Den::new(ACT, CHECKS).await;
        let pull = den.intake(101, "b");
        den.well(&pull);
        den.tick().await;
        den.later(Duration::seconds(121)).await;
        let id = den.effects(EffectClass::Merge).await[0].id;
        let mut hands = [Sending::new(id), Sending::new(id)];
        // Both read GitHub before one of them writes its intent down.
        let (one, two) = hands.split_at_mut(1);
        let ctx = &den.desk.ctx;
        let (first, second) = tokio::join!(step(&den, ctx, &mut one[0]), step(&den, ctx, &mut two[0]));
        assert!([first, second].contains(&Progress::More), "{order}");
        for who in order.bytes() {
            step(&den, ctx, &mut hands[usize::from(who == b'b')]).await;
        }
        den.send().await;
        for _ in 0..2 {
            den.tick().await;
            den.send().await;
        }
        assert!(pull.is_merged(), "{order}: {:?}", den.effects(EffectClass::Merge).await);
        assert_eq!(den.asked(MERGE), 1, "{order}");
        let merges = den.effects(EffectClass::Merge).await;
        assert_eq!(
            (merges.len(), merges[0].state, merges[0].attempt),
            (1, State::Done, 1),
            "{order}: {merges:?}"
        );
    }
}
