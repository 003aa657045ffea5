//! The inbox from the command line.

use crate::desk::{CHANGES, Desk};

#[test]
fn an_entry_is_shown_done_undone_and_snoozed() {
    let desk = Desk::with_reviewer(CHANGES);
    if desk.person(&["seats", "check", "--json"]).ok().json()["boundary"] == "none" {
        eprintln!("skipped: no boundary on this machine");
        return;
    }
    desk.person(&["review", "1"]).ok();
    let open = |which: &str| {
        let page = desk.person(&["inbox", "list", "--which", which, "--json"]).ok().json();
        page["entries"].as_array().map_or(0, Vec::len)
    };
    assert_eq!((open("open"), open("done")), (1, 0));
    let shown = desk.person(&["inbox", "show", "1"]).ok().stdout;
    assert!(shown.contains("c is never called"), "{shown}");
    let entry = desk.person(&["inbox", "--json"]).ok().json()["entries"][0].clone();
    assert_eq!(entry["read"], true, "showing an entry on purpose reads it");
    desk.person(&["inbox", "done", "1"]).ok();
    assert_eq!((open("open"), open("done")), (0, 1));
    desk.person(&["inbox", "undo"]).ok();
    assert_eq!((open("open"), open("done")), (1, 0));
    desk.person(&["inbox", "done", "1"]).ok();
    desk.person(&["inbox", "reopen", "1"]).ok();
    assert_eq!((open("open"), open("done")), (1, 0));
    for (act, key, is) in [
        ("unread", "read", false),
        ("read", "read", true),
        ("save", "saved", true),
        ("unsave", "saved", false),
    ] {
        let entry = desk.person(&["inbox", act, "1", "--json"]).ok().json();
        assert_eq!(entry[key], is, "{act}");
    }
    let again = desk.person(&["inbox", "read", "1"]).ok();
    assert!(!again.stderr.contains("take it back"), "nothing changed: {again:?}");
    desk.person(&["inbox", "snooze", "1", "--until", "2h"]).ok();
    assert_eq!((open("open"), open("snoozed")), (0, 1));
    let past = desk.person(&["inbox", "snooze", "1", "--until", "2020-01-01T00:00:00Z", "--json"]);
    assert_eq!((past.code, &past.json()["error"]["code"]), (2, &"bad_request".into()));
    let missing = desk.person(&["inbox", "done", "99", "--json"]);
    assert_eq!((missing.code, &missing.json()["error"]["code"]), (1, &"not_found".into()));
}
