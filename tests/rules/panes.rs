//! The corpus of captures: what each must be judged as, and which keys its prompt has.
//!
//! `tests/fixtures/panes/table.toml` names every capture and what it is. A capture whose `truth` differs
//! from its `state` is one that the facts do not settle: it may only ever be judged `unknown`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use steward_rules::questions::keys::{Permission, key_for};
use steward_rules::questions::pane::{Agent, Composer, Judgement, PaneState, Screen, Seen, judge};

#[derive(Debug, Deserialize)]
struct Table {
    pane: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    name: String,
    source: String,
    agent: String,
    foreground: String,
    looks: usize,
    state: String,
    detail: String,
    composer: String,
    /// The state as a person sees it, where the facts do not settle it.
    truth: Option<String>,
    allow: Option<String>,
    deny: Option<String>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap().join("tests/fixtures/panes")
}

#[allow(clippy::disallowed_methods, reason = "the test reads its corpus; the rules get text")]
fn table() -> Vec<Row> {
    let text = std::fs::read_to_string(folder().join("table.toml")).unwrap();
    toml::from_str::<Table>(&text).unwrap().pane
}

#[allow(clippy::disallowed_methods, reason = "the test reads its corpus; the rules get text")]
fn look(row: &Row, number: usize) -> Screen {
    let name = format!("{}.{number}.txt", row.name);
    Screen::parse(&std::fs::read(folder().join(&name)).unwrap_or_else(|e| panic!("{name}: {e}")))
}

fn agent(row: &Row) -> Agent {
    Agent::named(&row.agent).unwrap()
}

fn judged(row: &Row) -> Judgement {
    let second = (row.looks == 2).then(|| look(row, 2));
    judge(agent(row), &row.foreground, &Seen::Looked { first: look(row, 1), second })
}

fn detail(state: &PaneState) -> String {
    let word = match state {
        PaneState::Waiting { prompt } => format!("{:?}", prompt.modal),
        PaneState::Error { fault } => format!("{fault:?}"),
        PaneState::Unknown { why } => format!("{why:?}"),
        PaneState::Working | PaneState::Idle | PaneState::Unwatchable => String::new(),
    };
    word.to_lowercase()
}

fn composer(composer: &Composer) -> &'static str {
    match composer {
        Composer::None => "none",
        Composer::Empty => "empty",
        Composer::Draft { .. } => "draft",
    }
}

#[test]
fn every_capture_is_judged_as_the_table_says() {
    let mut faults = Vec::new();
    for row in table() {
        let judged = judged(&row);
        let found = (judged.state.word(), detail(&judged.state), composer(&judged.composer));
        if found != (row.state.as_str(), row.detail.clone(), row.composer.as_str()) {
            faults
                .push(format!("{}: {found:?}, not {} {} {}", row.name, row.state, row.detail, row.composer));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_corpus_is_large_enough_and_nearly_all_of_it_is_right() {
    let rows = table();
    let real = rows.iter().filter(|row| row.source != "drawn").count();
    let missed: Vec<&Row> =
        rows.iter().filter(|row| row.truth.as_ref().is_some_and(|truth| *truth != row.state)).collect();
    println!("{} captures, {real} of real agents, {} not settled", rows.len(), missed.len());
    assert!(rows.len() >= 60 && real >= 20, "{} captures, {real} of real agents", rows.len());
    assert!(missed.len() * 20 <= rows.len(), "{missed:#?}");
    for row in missed {
        assert_eq!(row.state, "unknown", "{}: a miss is unknown, never another state", row.name);
    }
}

#[test]
fn every_prompt_has_the_keys_that_the_table_says() {
    let mut faults = Vec::new();
    for row in table() {
        let PaneState::Waiting { prompt } = judged(&row).state else { continue };
        for (decision, wanted) in [(Permission::AllowOnce, &row.allow), (Permission::Deny, &row.deny)] {
            let found = match key_for(agent(&row), &prompt, decision) {
                Ok(key) => format!("{key:?}").to_lowercase(),
                Err(no_key) => format!("none: {no_key:?}"),
            };
            let found = found.trim_start_matches("digit(").trim_end_matches(')').to_owned();
            if Some(&found) != wanted.as_ref() {
                faults.push(format!("{} {decision:?}: {found}, not {wanted:?}", row.name));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_key_that_allows_is_always_that_of_an_option_reading_exactly_yes() {
    let mut pressed = 0;
    for row in table() {
        let PaneState::Waiting { prompt } = judged(&row).state else { continue };
        let Ok(key) = key_for(agent(&row), &prompt, Permission::AllowOnce) else { continue };
        pressed += 1;
        let choice = prompt.choices.iter().find(|choice| {
            use steward_rules::questions::keys::Key;
            match key {
                Key::Digit(digit) => choice.digit == Some(digit),
                Key::Enter => choice.selected,
                Key::Escape => false,
            }
        });
        assert_eq!(choice.unwrap().label.as_data(), "Yes", "{}", row.name);
    }
    assert!(pressed > 8, "only {pressed} prompts of the corpus can be allowed");
}

/// What an agent writes can never make a capture that shows no prompt look like one: every line of the
/// transcript above a composer is a line above a composer.
#[test]
fn no_prompt_is_seen_while_a_composer_is_there() {
    for row in table() {
        let judged = judged(&row);
        let waits = matches!(judged.state, PaneState::Waiting { .. });
        assert!(!waits || judged.composer == Composer::None, "{}", row.name);
    }
}

#[test]
fn a_capture_that_fails_is_unwatchable_at_once_and_an_empty_one_from_the_second_tick() {
    use steward_rules::questions::pane::after_empty_ticks;
    let failed = judge(Agent::Claude, "claude", &Seen::Failed { why: "no server".to_owned() });
    assert_eq!(failed.state, PaneState::Unwatchable);
    let empty = judge(Agent::Claude, "claude", &Seen::Looked { first: Screen::default(), second: None });
    assert_eq!(after_empty_ticks(empty.state.clone(), 0).word(), "unknown");
    assert_eq!(after_empty_ticks(empty.state, 1), PaneState::Unwatchable);
    assert_eq!(after_empty_ticks(PaneState::Idle, 5), PaneState::Idle);
}

fn row(name: &str) -> Row {
    table().into_iter().find(|row| row.name == name).unwrap_or_else(|| panic!("{name} is in the corpus"))
}

/// The word of a state and what is beside it.
fn says(name: &str) -> (&'static str, String) {
    let state = judged(&row(name)).state;
    (state.word(), detail(&state))
}

#[test]
fn p42_a_ghost_text_is_no_input_and_an_answered_prompt_above_is_no_prompt() {
    let open = judged(&row("drawn-claude-modal-ghost"));
    assert_eq!((open.state.word(), open.composer), ("waiting", Composer::None));
    let rest = judged(&row("drawn-claude-ghost-yes"));
    assert_eq!((rest.state.word(), rest.composer), ("idle", Composer::Empty), "a suggestion is no draft");
    assert_ne!(says("drawn-claude-answered-in-scrollback").0, "waiting");
    assert_ne!(says("drawn-generic-prompt-far-above").0, "waiting");
}

#[test]
fn p43_nothing_is_typed_over_a_menu_a_lone_row_is_none_and_two_options_are_denied_by_escape() {
    use steward_rules::questions::keys::{Key, Obstacle, Refusal, may_type};
    let menu = judged(&row("claude-ask-one"));
    assert_eq!((menu.state.word(), detail(&menu.state)), ("waiting", "menu".to_owned()));
    assert_eq!(may_type(&menu, None), Err(Obstacle::Refused(Refusal::ModalOpen)));
    assert_ne!(says("drawn-claude-lone-row").0, "waiting");
    assert_ne!(says("claude-list-in-prose").0, "waiting");
    let two = row("drawn-claude-two-options");
    let PaneState::Waiting { prompt } = judged(&two).state else { panic!("it asks") };
    assert!(prompt.choices[1].label.as_data().starts_with("Yes, "), "{prompt:?}");
    assert_eq!(key_for(agent(&two), &prompt, Permission::Deny), Ok(Key::Escape));
}

#[test]
fn f9_a_fault_a_prompt_and_silence_are_told_apart_whatever_is_redrawn_around_them() {
    // The banner of a 401 with the composer drawn again below it.
    assert_eq!(says("drawn-claude-401-old"), ("error", "auth".to_owned()));
    assert_eq!(says("claude-error-auth"), ("error", "auth".to_owned()));
    // A spinner above an open prompt.
    assert_eq!(says("drawn-claude-spinner-above-prompt").0, "waiting");
    // Silence: nothing is finished by it, and nothing asks by it.
    assert_eq!(says("drawn-claude-silence").0, row("drawn-claude-silence").state);
    assert!(matches!(says("drawn-claude-silence").0, "idle" | "unknown"));
    // A question that was answered stands above.
    assert_ne!(says("drawn-claude-answered-in-scrollback").0, "waiting");
}

/// Codex asks `Yes, proceed`: that is not exactly *Yes*, so its prompts can only be denied.
#[test]
fn a_prompt_without_a_bare_yes_can_only_be_denied() {
    use steward_rules::questions::keys::{NoKey, may_allow};
    for name in ["codex-permission-command", "codex-permission-patch"] {
        let PaneState::Waiting { prompt } = judged(&row(name)).state else { panic!("{name} asks") };
        assert_eq!(may_allow(&prompt), Err(NoKey::OnlyStanding), "{name}");
        assert!(key_for(Agent::Codex, &prompt, Permission::Deny).is_ok(), "{name}");
    }
    let PaneState::Waiting { prompt } = judged(&row("claude-permission-bash")).state else {
        panic!("it asks")
    };
    assert_eq!(may_allow(&prompt), Ok(()));
}
