//! What is remembered and kept of readings: never a default for what cannot be read.

use chrono::{DateTime, Duration, Utc};
use steward_core::store::engine_items::{self, ItemKind, ItemRow};
use steward_core::store::observations;
use steward_core::store::repositories::{self, RepositoryId};
use steward_core::store::{Durability, Store, StoreError, engine};
use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::entries::EntryDiff;
use steward_rules::engine::facts::{Account, BaseRef, Compare, FileChange, HeadRef, Listing, PrObs};
use steward_rules::engine::hold::{Hold, Round};
use steward_rules::engine::memory::HeadSeen;
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::reading::Reading;
use steward_rules::review::facts::PullState;

use crate::store::{Hand, beside, fresh};

fn sha(letter: char) -> Sha {
    Sha::new(&letter.to_string().repeat(40)).unwrap()
}

/// A whole reading of a pull request that changes one file.
pub(super) fn seen(number: i64, head: Sha, at: DateTime<Utc>) -> PrObs {
    let name = RepoName::parse("octo/app").unwrap();
    PrObs {
        number: PullNumber(number),
        state: PullState::Open,
        draft: false,
        author: Account { id: 7, login: "maria".to_owned(), is_bot: false },
        head: HeadRef { sha: head, branch: format!("change-{number}"), repo: Some(1) },
        base: BaseRef { name, repo: 1, branch: "main".to_owned(), sha: sha('b') },
        labels: Reading::known(vec!["data".to_owned()]),
        labels_read_at: at,
        files: Listing::whole([FileChange {
            path: RepoPath::from("data/works/one.json"),
            old_path: None,
            old_kind: Reading::known(Kind::Absent),
            new_kind: Reading::known(Kind::File),
        }]),
        links: Reading::known(Vec::new()),
        entries: Reading::known(EntryDiff::default()),
        check_runs: Listing::whole([]),
        statuses: Listing::whole([]),
        verdict_runs: Listing::whole([]),
        compare: Reading::known(Compare { behind_by: 0, ahead_by: 1, merge_base: sha('b') }),
        labelled: Reading::known(Vec::new()),
        reviews: Listing::whole([]),
        seat: Reading::known(None),
        linked_issues: Listing::cut([]),
        flag: Reading::known(Vec::new()),
        read_at: at,
    }
}

async fn repository(store: &Store) -> RepositoryId {
    let name = RepoName::parse("octo/app").unwrap();
    store
        .write(Durability::Full, move |tx| {
            Ok::<_, StoreError>(repositories::ensure(tx, "github.com", &name)?.id)
        })
        .await
        .unwrap()
}

#[tokio::test]
async fn a_row_that_cannot_be_read_is_unread_and_stands_in_nobodys_way() {
    let (_folder, home) = fresh();
    let hand = Hand::at("2026-11-30T10:00:00Z");
    let store = Store::open(&home, hand).unwrap();
    let id = repository(&store).await;
    let now: DateTime<Utc> = "2026-11-30T10:00:00Z".parse().unwrap();
    let mut item = ItemRow::fresh(ItemKind::Pr, 3, now);
    item.head = Some(HeadSeen { sha: sha('a'), first_seen_at: now, last_seen_at: now });
    item.rebases = 2;
    let written = item.clone();
    store
        .write(Durability::Full, move |tx| {
            engine_items::put(tx, id, &written)?;
            engine_items::put(tx, id, &ItemRow::fresh(ItemKind::Pr, 4, now))
        })
        .await
        .unwrap();
    beside(&home).execute("UPDATE engine_items SET attempts = '{\"spent\":' WHERE number = 4", []).unwrap();
    let items = store.read(move |tx| engine_items::open_of(tx, id)).await.unwrap();
    assert_eq!(items.len(), 2);
    assert_eq!(items[0].row.get().unwrap(), &item);
    assert!(items[1].row.get().is_err() && items[1].number == 4, "{items:?}");
    // And what holds a repository is no empty hold when it cannot be read.
    store
        .write(Durability::Full, move |tx| {
            let hold = Some(Hold { pull: PullNumber(3), since: now });
            engine::put(tx, id, &engine::RepoRow { hold, ..Default::default() })
        })
        .await
        .unwrap();
    beside(&home).execute("UPDATE engine_repos SET hold = 'none'", []).unwrap();
    assert!(store.read(move |tx| engine::get(tx, id)).await.is_err());
}

#[tokio::test]
async fn a_reading_is_kept_when_it_differs_and_else_its_time_moves() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, Hand::at("2026-11-30T10:00:00Z")).unwrap();
    let id = repository(&store).await;
    let first: DateTime<Utc> = "2026-11-30T10:00:00Z".parse().unwrap();
    let keep = async |observed: PrObs| {
        store.write(Durability::Normal, move |tx| observations::keep_pull(tx, id, &observed)).await.unwrap()
    };
    assert!(keep(seen(3, sha('a'), first)).await);
    let later = first + Duration::minutes(10);
    assert!(!keep(seen(3, sha('a'), later)).await, "the same again");
    let kept = store.read(move |tx| observations::pull(tx, id, 3)).await.unwrap().unwrap();
    assert_eq!((kept.at, kept.read_at), (first, later));
    assert_eq!(kept.seen.get().unwrap(), &seen(3, sha('a'), later));
    assert!(keep(seen(3, sha('c'), later)).await);
    let history = store.read(move |tx| observations::history(tx, id, 3, first)).await.unwrap();
    let heads: Vec<Sha> = history.iter().map(|kept| kept.seen.get().unwrap().head.sha.clone()).collect();
    assert_eq!(heads, [sha('a'), sha('c')]);
    beside(&home).execute("UPDATE observations SET body = '{' WHERE id = 2", []).unwrap();
    let kept = store.read(move |tx| observations::pull(tx, id, 3)).await.unwrap().unwrap();
    assert!(kept.seen.get().is_err(), "a text that cannot be parsed is no reading");
}

#[tokio::test]
async fn old_readings_go_and_the_last_one_of_what_is_followed_stays() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, Hand::at("2026-11-30T10:00:00Z")).unwrap();
    let id = repository(&store).await;
    let old: DateTime<Utc> = "2026-10-01T10:00:00Z".parse().unwrap();
    let new: DateTime<Utc> = "2026-11-29T10:00:00Z".parse().unwrap();
    store
        .write(Durability::Full, move |tx| {
            for number in [3, 4] {
                observations::keep_pull(tx, id, &seen(number, sha('a'), old))?;
                observations::keep_pull(tx, id, &seen(number, sha('c'), old))?;
            }
            observations::keep_pull(tx, id, &seen(5, sha('a'), new))?;
            observations::keep_pull(tx, id, &seen(5, sha('c'), new))?;
            engine_items::put(tx, id, &ItemRow::fresh(ItemKind::Pr, 3, new))
        })
        .await
        .unwrap();
    let left = async || {
        let count = async |number| {
            store.read(move |tx| observations::history(tx, id, number, old)).await.unwrap().len()
        };
        [count(3).await, count(4).await, count(5).await]
    };
    let prune = async |before: DateTime<Utc>, most: u64| {
        store.write(Durability::Normal, move |tx| observations::prune(tx, before, most)).await.unwrap()
    };
    assert_eq!((prune(new - Duration::days(30), u64::MAX).await, left().await), (3, [1, 0, 2]));
    assert_eq!((prune(old, 1).await, left().await), (2, [1, 0, 0]), "over the cap the oldest go first");
}

#[tokio::test]
async fn a_called_run_is_queued_until_it_is_taken_and_a_dead_one_is_none() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, Hand::at("2026-11-30T10:00:00Z")).unwrap();
    let id = repository(&store).await;
    let set = async |round| {
        store.write(Durability::Full, move |tx| engine::set_round(tx, id, round)).await.unwrap();
        store
            .read(move |tx| Ok::<_, StoreError>((engine::round(tx, id)?, engine::is_called(tx)?)))
            .await
            .unwrap()
    };
    assert_eq!(set(Round::Queued).await, (Round::Queued, true));
    assert_eq!(set(Round::Active).await, (Round::Active, false));
    store.write(Durability::Full, engine::recover).await.unwrap();
    assert_eq!(store.read(move |tx| engine::round(tx, id)).await.unwrap(), Round::Idle);
}
