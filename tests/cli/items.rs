//! `steward items` and `steward why` from the command line.

use chrono::Utc;
use steward_core::clock::SystemClock;
use steward_core::home::Home;
use steward_core::store::engine_items::{self, ItemKind, ItemRow};
use steward_core::store::{Durability, Store, repositories};
use steward_kit::pty::{self, Ran};
use steward_rules::ids::RepoName;

use crate::desk::{Desk, steward};

fn person(desk: &Desk, args: &[&str]) -> Ran {
    pty::person_with(&desk.home, steward(), args, &[])
}

fn home(desk: &Desk) -> Home {
    Home::under(&desk.home.path())
}

/// A desk with this switch, and one item that failed three times.
fn desk(enabled: bool) -> Desk {
    let desk = Desk::new();
    desk.home.write_config(&format!(
        "accounts: [{{host: github.com, login: octo}}]\nengine: {{enabled: {enabled}}}\n\
         repositories: [{{name: octo/app, preset: docs-site}}]\n"
    ));
    let store = Store::open(&home(&desk), std::sync::Arc::new(SystemClock)).unwrap();
    let kept = store.write(Durability::Full, |tx| {
        let id = repositories::ensure(tx, "github.com", &RepoName::parse("octo/app").unwrap())?.id;
        let mut item = ItemRow::fresh(ItemKind::Pr, 12, Utc::now());
        (item.class, item.decision) = ("data".to_owned(), "wait".to_owned());
        item.state = "failed checks: build".to_owned();
        item.attempts.spent = 3;
        item.stuck = true;
        engine_items::put(tx, id, &item)
    });
    tokio::runtime::Runtime::new().unwrap().block_on(kept).unwrap();
    desk
}

#[test]
fn items_are_listed_tried_and_asked_why() {
    let desk = desk(true);
    let page = person(&desk, &["items", "--json"]).ok().json();
    let item = &page["items"][0];
    assert_eq!(
        (item["repository"].as_str(), item["number"].as_i64()),
        (Some("octo/app"), Some(12)),
        "{page}"
    );
    assert_eq!((item["attempts"].as_i64(), item["stuck"].as_bool()), (Some(3), Some(true)));
    let text = person(&desk, &["items", "octo/app"]).ok().stdout;
    assert!(text.contains("octo/app#12") && text.contains("stuck"), "{text}");
    let why = person(&desk, &["why", "octo/app#12", "--json"]).ok().json();
    assert_eq!(
        (why["item"]["message"].as_str(), &why["steps"]),
        (Some("failed checks: build"), &serde_json::json!([]))
    );
    let tried = person(&desk, &["items", "try", "octo/app#12", "--json"]).ok().json();
    assert!(tried["askedAt"].is_string(), "{tried}");
    let left = person(&desk, &["items", "undo", "octo/app#12", "--json"]).ok().json();
    assert!(left["askedAt"].is_null(), "{left}");
    let again = person(&desk, &["items", "undo", "octo/app#12"]);
    assert_eq!(again.code, 1, "{}", again.stdout);
    let status = person(&desk, &["status", "--json"]).ok().json();
    assert_eq!(status["steward"]["stuck"][0]["failures"], 3, "{status}");

    assert_eq!(person(&desk, &["why", "octo/app"]).code, 2);
    assert_eq!(person(&desk, &["why", "octo/app#13"]).code, 1);
    assert_eq!(person(&desk, &["items", "octo/none"]).code, 1);
    let same = home(&desk).config_file().to_string_lossy().into_owned();
    let found = person(&desk, &["why", "octo/app", "--simulate", &same, "--json"]).ok().json();
    assert_eq!((&found["judged"], &found["differences"]), (&0.into(), &serde_json::json!([])));
    let script = person(&desk, &["completions", "bash"]).ok().stdout;
    assert!(script.contains("--simulate"));
}

#[test]
fn off_means_that_nothing_is_followed_and_nothing_stands_in_the_status() {
    let desk = desk(false);
    let page = person(&desk, &["items", "--json"]).ok().json();
    assert_eq!(page, serde_json::json!({ "items": [] }));
    let status = person(&desk, &["status", "--json"]).ok().json();
    assert!(status.get("steward").is_none(), "{status}");
    assert_eq!(person(&desk, &["why", "octo/app#12"]).code, 1);
}
