//! Logs: one file per day, nothing secret in it, nothing that moves a terminal.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use chrono::{DateTime, Utc};
use secrecy::SecretString;
use steward_core::telemetry::{Scrub, prune, subscriber};

const SECRET: &str = "gh/made+up=Secret?0123456789";

fn scrub() -> Scrub {
    let scrub = Scrub::new(|text| text.replace("RULE-HIT", "[rule]"));
    scrub.register(&SecretString::from(SECRET.to_owned()));
    scrub
}

/// What stands in the log after `say`.
fn logged(say: impl FnOnce()) -> String {
    let folder = tempfile::tempdir().unwrap();
    let subscriber = subscriber(folder.path(), scrub(), "").unwrap();
    tracing::subscriber::with_default(subscriber, say);
    let files: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = files.as_slice() else { panic!("{files:?}") };
    let name = file.file_stem().unwrap().to_str().unwrap();
    name.parse::<chrono::NaiveDate>().expect("the file is named by its date");
    std::fs::read_to_string(file).unwrap()
}

#[test]
fn a_registered_secret_is_masked_in_every_form() {
    let forms = [
        SECRET.to_owned(),
        "gh%2Fmade%2Bup%3DSecret%3F0123456789".to_owned(),
        STANDARD.encode(SECRET),
        URL_SAFE.encode(SECRET),
        STANDARD.encode(format!("u:{SECRET}")),
        STANDARD.encode(format!("x:{SECRET}@host")),
        STANDARD.encode(format!("xyz:{SECRET}")),
    ];
    for form in forms {
        let text = logged(|| tracing::info!(header = %form, "sent {form}"));
        assert!(text.contains("[secret]"), "{form} -> {text}");
        // What base64 leaves over holds at most the few bits it shares with its surroundings.
        for start in 0..=form.len() - 10 {
            let piece = &form[start..start + 10];
            if STANDARD.encode(SECRET).contains(piece) || SECRET.contains(piece) {
                assert!(!text.contains(piece), "{piece} of {form} in {text}");
            }
        }
    }
}

#[test]
fn what_the_rules_find_is_masked_too() {
    assert!(logged(|| tracing::warn!("a RULE-HIT here")).contains("a [rule] here"));
}

#[test]
fn a_log_line_is_one_line_without_control_characters() {
    let text = logged(|| {
        tracing::info!(title = "a\nb\u{1b}]0;x\u{7}\u{202e}\r", "pulled \u{1b}[2J\n2026 INFO forged")
    });
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!text.trim_end_matches('\n').chars().any(char::is_control), "{text:?}");
    assert!(!text.contains('\u{202e}') && text.contains("forged"));
}

#[test]
fn a_level_below_the_filter_is_not_written() {
    let text = logged(|| {
        tracing::debug!("quiet");
        tracing::info!("loud");
    });
    assert!(text.contains("loud") && !text.contains("quiet"));
}

#[test]
fn old_logs_are_removed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "2026-11-01.log",
        "2026-11-15.log",
        "2026-11-16.log",
        "2026-11-30.log",
        "notes.log",
        "2026-11-01.txt",
    ];
    for name in names {
        std::fs::write(folder.path().join(name), "x").unwrap();
    }
    let now: DateTime<Utc> = "2026-11-30T08:00:00Z".parse().unwrap();
    assert_eq!(prune(folder.path(), now, 14).unwrap(), 2);
    let mut left: Vec<_> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["2026-11-01.txt", "2026-11-16.log", "2026-11-30.log", "notes.log"]);
}
