//! What a screen shows that must show it still in the moment of a key.

use super::layout::Layout;
use super::modal::HINTS;
use super::{Agent, Composer, Screen};

/// The lines of a composer and what stands below it: what goes when a prompt opens. Nothing where no
/// composer is recognised.
pub fn composer_lines(agent: Agent, screen: &Screen) -> Vec<&str> {
    let layout = Layout::of(agent, screen);
    if layout.composer == Composer::None {
        return Vec::new();
    }
    screen.lines()[layout.above.len()..].iter().map(super::Line::text).collect()
}

/// Marks of which every recognised prompt shows one: a selected row with its number, a question for `y/n`,
/// a hint under a list. POSIX extended patterns for one row in any case, free of what tmux's formats take
/// for their own.
pub fn prompt_marks() -> impl Iterator<Item = &'static str> {
    const ROW: &str = "^( |│)*(❯|›|>|▶|●|→) *[0-9]+[.)] ";
    const YES_NO: &str = "[[(](y/n|yes/no)[])]";
    [ROW, YES_NO].into_iter().chain(HINTS.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_means_nothing_in_a_format() {
        for mark in prompt_marks() {
            assert!(!mark.contains(['#', '{', '}', ',', '%', '\'', ';']), "{mark}");
        }
    }

    #[test]
    fn what_goes_with_the_composer_begins_at_its_upper_edge() {
        let drawn =
            "● Which one?\n\n──────────────\n❯ B, but\n  two rows\n──────────────\n  ? for shortcuts\n";
        let screen = Screen::parse(drawn.as_bytes());
        let lines = composer_lines(Agent::Claude, &screen);
        assert_eq!(lines[1..3], ["❯ B, but", "  two rows"]);
        assert_eq!(lines.last(), Some(&"  ? for shortcuts"));
        assert!(composer_lines(Agent::Claude, &Screen::parse(b"nothing\n")).is_empty());
    }
}
