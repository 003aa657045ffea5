//! Text from others is shown inert.

use rstest::rstest;
use steward_rules::untrusted::{Untrusted, is_hidden};

use crate::world::soup;

#[rstest]
#[case::plain("a b", "a b")]
#[case::ansi("\u{1b}[31mred", "\\u{1b}[31mred")]
#[case::c1_control("a\u{9b}31m", "a\\u{9b}31m")]
#[case::bidi("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}")]
#[case::zero_width("a\u{200b}\u{feff}b", "a\\u{200b}\\u{feff}b")]
#[case::tags("a\u{e0041}", "a\\u{e0041}")]
#[case::lines("a\r\n\tb", "a\\r\\n\\tb")]
#[case::line_separators("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}")]
#[case::nul("a\0b", "a\\u{0}b")]
#[case::letters_stay("ü 漢 👍 e\u{301}", "ü 漢 👍 e\u{301}")]
fn one_line_shows_what_hides(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(Untrusted::new(text).one_line(100), shown);
}

#[test]
fn escaped_keeps_lines_and_tabs() {
    assert_eq!(Untrusted::new("a\n\tb\r\u{1b}").escaped(100), "a\n\tb\\r\\u{1b}");
}

#[rstest]
#[case("abc", 3, "abc")]
#[case("abcd", 3, "abc…")]
#[case("äöüß", 3, "äöü…")]
#[case("abc", 0, "…")]
#[case("", 0, "")]
fn a_text_is_cut_by_characters(#[case] text: &str, #[case] limit: usize, #[case] shown: &str) {
    assert_eq!(Untrusted::new(text).one_line(limit), shown);
}

#[test]
fn the_debug_form_is_inert_too() {
    assert_eq!(format!("{:?}", Untrusted::new("a\u{1b}\n")), r#"Untrusted("a\\u{1b}\\n")"#);
}

#[test]
fn nothing_hidden_is_left_of_any_text() {
    for seed in 0..20_000 {
        let text = Untrusted::new(soup(seed));
        assert!(!text.one_line(500).contains(is_hidden));
        assert!(!text.escaped(500).contains(|c| is_hidden(c) && c != '\n' && c != '\t'));
    }
}
