//! What may be typed when, in which pieces, and that nothing an agent writes opens a prompt.

use proptest::prelude::*;
use rstest::rstest;
use steward_rules::questions::keys::{Hold, Obstacle, Piece, Refusal, Typable, TypableError, may_type};
use steward_rules::questions::pane::{
    Agent, Composer, Fault, Judgement, Last, PaneId, PaneState, Screen, Seen, Shown, Unsure, judge,
    sent_pastes, shown, shown_after, wants_look,
};
use steward_rules::untrusted::Untrusted;

fn seen(state: PaneState, composer: Composer) -> Judgement {
    Judgement { state, composer, busy: false, question: Some("asked".to_owned()) }
}

fn draft() -> Composer {
    Composer::Draft { text: Untrusted::new("wait") }
}

const LOOK_AGAIN: PaneState = PaneState::Unknown { why: Unsure::LookAgain };

#[rstest]
#[case::idle(PaneState::Idle, Composer::Empty, None)]
#[case::one_look(LOOK_AGAIN, Composer::Empty, None)]
#[case::after_a_fault(PaneState::Error { fault: Fault::Limit }, Composer::Empty, None)]
#[case::draft(PaneState::Idle, draft(), Some(Obstacle::Held(Hold::Draft)))]
#[case::working(PaneState::Working, Composer::Empty, Some(Obstacle::Held(Hold::Working)))]
#[case::stuck(PaneState::Unknown { why: Unsure::Stuck }, Composer::Empty, Some(Obstacle::Held(Hold::Working)))]
#[case::gone(PaneState::Unwatchable, Composer::None, Some(Obstacle::Refused(Refusal::PaneGone)))]
#[case::ended(PaneState::Error { fault: Fault::Ended }, Composer::None, Some(Obstacle::Refused(Refusal::Shell)))]
#[case::empty(PaneState::Unknown { why: Unsure::Empty }, Composer::None, Some(Obstacle::Refused(Refusal::NoComposer)))]
#[case::no_composer(LOOK_AGAIN, Composer::None, Some(Obstacle::Refused(Refusal::NoComposer)))]
fn an_answer_is_typed_only_into_an_empty_composer_at_rest(
    #[case] state: PaneState,
    #[case] composer: Composer,
    #[case] obstacle: Option<Obstacle>,
) {
    assert_eq!(may_type(&seen(state, composer), Some("asked")).err(), obstacle);
}

#[test]
fn a_question_that_changed_is_not_answered_and_one_from_elsewhere_needs_none() {
    let now = seen(PaneState::Idle, Composer::Empty);
    assert_eq!(may_type(&now, Some("another")), Err(Obstacle::Refused(Refusal::QuestionChanged)));
    assert_eq!(may_type(&now, None), Ok(()));
    let busy = Judgement { busy: true, ..now };
    assert_eq!(may_type(&busy, None), Err(Obstacle::Held(Hold::Working)));
}

#[rstest]
#[case("", TypableError::Empty)]
#[case(" \n ", TypableError::Empty)]
#[case("/clear", TypableError::Command('/'))]
#[case("!rm -rf x", TypableError::Command('!'))]
#[case("# remember", TypableError::Command('#'))]
#[case("a\u{1b}[31m", TypableError::Control)]
#[case("a\tb", TypableError::Control)]
#[case("a\rb", TypableError::Control)]
#[case("a\u{202e}b", TypableError::Control)]
#[case("a\u{3}", TypableError::Control)]
fn what_is_a_key_or_a_command_is_no_answer(#[case] text: &str, #[case] error: TypableError) {
    assert_eq!(Typable::new(text), Err(error));
}

#[test]
fn an_answer_keeps_its_words_and_its_length_has_a_limit() {
    assert_eq!(Typable::new(" B, but\r\nkeep 👩‍👩‍👧 ").unwrap().as_str(), "B, but\nkeep 👩‍👩‍👧");
    assert!(Typable::new(&"é".repeat(4_000)).is_ok());
    assert_eq!(Typable::new(&"é".repeat(4_001)), Err(TypableError::TooLong { limit: 4_000 }));
    for (text, wants) in
        [("ask @octo", true), ("C:\\", true), ("see $x", true), ("B", false), ("a@b.example", false)]
    {
        assert_eq!(Typable::new(text).unwrap().wants_space(), wants, "{text}");
    }
}

#[test]
fn a_pane_is_looked_at_when_something_may_have_moved() {
    let last = |activity, looked_at, hot| Some(Last { activity, looked_at, hot });
    for (activity, last, wanted) in [
        (100, None, true),
        (100, last(100, 105, false), false),
        (100, last(100, 105, true), true),
        (106, last(100, 105, false), true),
        // Output within the second of the look may have come after it.
        (105, last(105, 105, false), true),
        // A clock that was set back.
        (90, last(100, 105, false), true),
    ] {
        assert_eq!(wants_look(activity, last), wanted, "{activity} {last:?}");
    }
}

#[rstest]
#[case("%0", true)]
#[case("%123456789", true)]
#[case("%1234567890", false)]
#[case("%", false)]
#[case("12", false)]
#[case("%1 ;kill-server", false)]
#[case("app:0.1", false)]
#[case("{last}", false)]
fn only_a_number_names_a_pane(#[case] text: &str, #[case] is_one: bool) {
    assert_eq!(PaneId::new(text).is_ok(), is_one);
}

const RULE: &str = "────────────────────────────────────────";

fn with_composer(above: &str, inside: &str) -> Screen {
    Screen::parse(format!("{above}\n\n{RULE}\n❯\u{a0}{inside}\n{RULE}\n  ? for shortcuts").as_bytes())
}

#[rstest]
#[case("● Which?", "the answer", Shown::Composer)]
#[case("● Which?", "the  answer", Shown::Composer)]
#[case("● Which?", "the answers", Shown::Other)]
#[case("● Which?", "x the answer", Shown::Other)]
#[case("● Which?", "[Pasted text #1 +3 lines]", Shown::Placeholder)]
#[case("● Which?", "the [Pasted text #1]", Shown::Placeholder)]
#[case("● Which?", "not [Pasted text #1]", Shown::Other)]
#[case("● Which?", "the answer [Pasted text #1]", Shown::Other)]
#[case("● Which?", "[Pasted text #1] the answer", Shown::Other)]
#[case("❯ [Pasted text #1 +3 lines]", "", Shown::Nowhere)]
#[case("● Which?", "", Shown::Nowhere)]
#[case("❯ the answer", "", Shown::Transcript)]
#[case("❯ the\n  answer", "", Shown::Transcript)]
#[case("✻ Working… (2s)", "", Shown::Working)]
fn each_step_of_a_delivery_has_its_proof(#[case] above: &str, #[case] inside: &str, #[case] wanted: Shown) {
    assert_eq!(shown(Agent::Claude, &with_composer(above, inside), "the answer"), wanted);
}

#[test]
fn a_sent_stand_in_is_ours_only_when_it_came_after_our_enter() {
    let before = with_composer("❯ [Pasted text #1 +3 lines]\n● Which?", "[Pasted text #2 +9 lines]");
    let pastes = Some(sent_pastes(Agent::Claude, &before));
    let none_came = with_composer("❯ [Pasted text #1 +3 lines]\n● Which?", "");
    let one_came = with_composer("❯ [Pasted text #1 +3 lines]\n● Which?\n❯ [Pasted text #2 +9 lines]", "");
    let shown = |screen| shown_after(Agent::Claude, screen, "the answer", pastes);
    assert_eq!(
        (shown(&before), shown(&none_came), shown(&one_came)),
        (Shown::Placeholder, Shown::Nowhere, Shown::Transcript)
    );
}

#[test]
fn a_composer_that_scrolled_shows_the_end_of_a_long_answer() {
    let answer = "words and more words ".repeat(20);
    let end: String = answer.trim().chars().skip(200).collect();
    let screen = Screen::parse(format!("● Which?\n─── ↑ 3 more {RULE}\n  {end}\n{RULE}\n  ⏸").as_bytes());
    assert_eq!(shown(Agent::Claude, &screen, &answer), Shown::Composer);
    assert_eq!(shown(Agent::Claude, &screen, &format!("{answer}!")), Shown::Other);
}

/// What an agent could write to look like its own program.
const PIECES: &[&str] = &[
    "Do you want to proceed?",
    "❯ 1. Yes",
    "  2. No",
    "  3. Yes, and don't ask again",
    "Esc to cancel",
    RULE,
    "❯ ",
    "│ > │",
    "╭──────────────╮",
    "╰──────────────╯",
    "● API Error: 401",
    "✻ Baking… (esc to interrupt)",
    "",
    "› 1. Yes, proceed (y)",
    "Press enter to confirm or esc to cancel",
    "\u{1b}[31m● API Error\u{1b}[0m",
    "[y/N]",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_written_above_a_composer_is_a_prompt(lines in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        let above = lines.join("\n");
        let screen = with_composer(&above, "");
        let looked = Seen::Looked { first: screen.clone(), second: Some(screen) };
        let judged = judge(Agent::Claude, "claude", &looked);
        prop_assert_ne!(judged.state.word(), "waiting", "{}", above);
        prop_assert_eq!(judged.composer, Composer::Empty, "{}", above);
    }

    #[test]
    fn no_capture_makes_the_judgement_fall_over(bytes in prop::collection::vec(any::<u8>(), 0..400), drawn in prop::collection::vec(prop::sample::select(PIECES), 0..8)) {
        let mut raw = bytes;
        raw.extend(format!("\n{}", drawn.join("\n")).bytes());
        for agent in [Agent::Claude, Agent::Codex, Agent::Generic] {
            let screen = Screen::parse(&raw);
            let seen = Seen::Looked { first: screen.clone(), second: Some(screen.clone()) };
            let judged = judge(agent, "agent", &seen);
            let waits = matches!(judged.state, PaneState::Waiting { .. });
            prop_assert!(!waits || judged.composer == Composer::None);
            prop_assert_ne!(judged.state, PaneState::Working, "the same picture twice is no work");
            shown(agent, &screen, "the answer");
        }
    }

    #[test]
    fn pieces_are_small_whole_and_make_up_the_text(text in "[a-zé日🦀 '\n]{1,300}", size in 4_usize..64) {
        let Ok(answer) = Typable::new(&text) else { return Ok(()) };
        let mut joined = String::new();
        for piece in answer.pieces(size) {
            match piece {
                Piece::Text(part) => {
                    prop_assert!(!part.is_empty() && part.len() <= size);
                    joined.push_str(part);
                }
                Piece::LineBreak => joined.push('\n'),
            }
        }
        prop_assert_eq!(joined, answer.as_str());
    }
}
