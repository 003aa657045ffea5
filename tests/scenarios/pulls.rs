//! Pull requests as tasks: their heads from GitHub, their objects fetched, their gates from real facts.

mod fetching;
mod gates;
mod lifecycle;
pub(crate) mod scene;

use steward_core::store::tasks::{self, NewPullTask, PullHead, RunState};
use steward_core::store::{Durability, Store, StoreError, outbox};
use steward_rules::ids::{PullNumber, RepoName, Sha};
use steward_rules::untrusted::Untrusted;

use crate::store::{clock, fresh};

fn seen(digit: char, title: &str, state: RunState) -> PullHead {
    PullHead {
        title: Untrusted::new(title),
        branch: "fix/etag".to_owned(),
        head: Sha::new(&digit.to_string().repeat(40)).unwrap(),
        state,
        updated_at: None,
    }
}

#[tokio::test]
async fn a_pull_request_has_one_task_that_follows_it() {
    let (_folder, home) = fresh();
    let store = Store::open(&home, clock()).unwrap();
    let new = |host: &str, seen: PullHead| NewPullTask {
        host: host.to_owned(),
        repository: RepoName::parse("octo/app").unwrap(),
        pull: PullNumber(12),
        seen,
    };
    let first = new("github.com", seen('a', "fix: one\u{202e}", RunState::Running));
    let other_host = new("GitHub.Corp.example", seen('a', "fix: one", RunState::Running));
    let (id, again, elsewhere, last) = store
        .write(Durability::Full, move |tx| {
            let (id, new) = tasks::ensure_for_pull(tx, &first)?;
            assert!(new);
            let again = tasks::ensure_for_pull(tx, &first)?;
            let elsewhere = tasks::ensure_for_pull(tx, &other_host)?;
            assert!(elsewhere.1 && elsewhere.0 != id);
            Ok::<_, StoreError>((id, again, elsewhere.0, outbox::since(tx, 0)?.last))
        })
        .await
        .unwrap();
    assert_eq!(again, (id, false));
    let task = store.read(move |tx| tasks::get(tx, id)).await.unwrap().unwrap();
    assert_eq!((task.host, task.pull, task.state), (None, Some(PullNumber(12)), RunState::Running));
    assert!(!task.title.contains('\u{202e}'), "a foreign title is kept escaped: {}", task.title);
    let other = store.read(move |tx| tasks::get(tx, elsewhere)).await.unwrap().unwrap();
    assert_eq!(other.host.as_deref(), Some("github.corp.example"));
    // A push moves the head, and says so; the same again says nothing.
    let (moved, topics, quiet) = store
        .write(Durability::Full, move |tx| {
            let moved = tasks::record_pull_head(tx, id, &seen('b', "fix: two", RunState::Done))?;
            let topics = outbox::since(tx, last)?;
            let same = tasks::record_pull_head(tx, id, &seen('b', "fix: two", RunState::Done))?;
            Ok::<_, StoreError>((
                moved,
                topics.names,
                !same && outbox::since(tx, topics.last)?.names.is_empty(),
            ))
        })
        .await
        .unwrap();
    assert!(moved && quiet && topics.contains(&format!("task:{id}")), "{topics:?}");
    // A run that was stopped by hand is not finished by a push.
    let task = store
        .write(Durability::Full, move |tx| {
            tasks::set_state(tx, id, RunState::Stopped)?;
            tasks::record_pull_head(tx, id, &seen('c', "fix: two", RunState::Done))?;
            tasks::get(tx, id)
        })
        .await
        .unwrap()
        .unwrap();
    assert_eq!((task.state, task.title.as_str()), (RunState::Stopped, "fix: two"));
    assert_eq!(task.head.map(|head| head.to_string()), Some("c".repeat(40)));
}
