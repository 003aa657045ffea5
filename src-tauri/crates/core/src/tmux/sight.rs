//! A look that a key may rely on: what it saw is what tmux finds again in the moment of the key.

use steward_rules::questions::pane::{Agent, PaneId, Prompt, Screen, composer_lines, prompt_marks};

use super::list::{FACTS, Pane, facts_of};
use super::{Tmux, TmuxError};

/// Bytes of all rows that one key relies on: a command has room for no more than 16 kB.
const ROWS_CAP: usize = 6_000;

/// A pane, its screen, and the rows of it that tmux can be asked for again.
#[derive(Debug, Clone)]
pub(super) struct Sight {
    pub pane: Pane,
    pub screen: Screen,
    /// The visible screen, row for row, as it is drawn.
    rows: Vec<String>,
    /// Where the cursor stood.
    cursor: String,
    /// The marks of prompts that were nowhere on it.
    unseen: Vec<&'static str>,
}

/// What must be so when the key goes out: conditions in tmux's formats.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Witness(Vec<String>);

impl Witness {
    pub fn conditions(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().cloned()
    }
}

impl Tmux {
    /// Captures a pane as [`Tmux::capture`] does, in one command with the rows a key relies on.
    pub(super) async fn sight(&self, pane: &PaneId) -> Result<Sight, TmuxError> {
        let target = pane.as_str();
        let marks: String = prompt_marks().map(|mark| format!(" #{{C/ri:{mark}}}")).collect();
        let cursor = format!("#{{cursor_x}}/#{{cursor_y}}{marks}");
        let show = |format| ["display-message", "-p", "-t", target, format, ";"];
        let rows = ["capture-pane", "-p", "-t", target, ";"];
        let screen = super::capture::words(target);
        let args = show(FACTS).into_iter().chain(show(&cursor)).chain(rows).chain(screen);
        let out = self.run(args, Some(pane)).await?;
        let mut rest = out.as_slice();
        let facts = facts_of(&line(&mut rest), pane)?;
        let seen = line(&mut rest);
        let mut words = seen.split(' ');
        let cursor = words.next().unwrap_or_default().to_owned();
        let counts: Vec<&str> = words.collect();
        if counts.len() != prompt_marks().count() {
            return Err(TmuxError::Odd { line: super::error::shown(&seen) });
        }
        let unseen =
            prompt_marks().zip(counts).filter(|(_, row)| *row == "0").map(|(mark, _)| mark).collect();
        let rows = (0..facts.height).map(|_row| line(&mut rest)).collect();
        Ok(Sight { pane: facts, screen: Screen::parse(rest), rows, cursor, unseen })
    }
}

impl Sight {
    /// For keys into a composer: its rows and those below it stand there still, the cursor did not move, and
    /// no mark of a prompt came up.
    pub fn composer(&self, agent: Agent) -> Witness {
        let own: String = composer_lines(agent, &self.screen).into_iter().map(squeezed).collect();
        let mut witness = self.rows_of(&own);
        witness.0.push(format!("#{{==:#{{cursor_x}}/#{{cursor_y}},{}}}", self.cursor));
        if !self.unseen.is_empty() {
            witness.0.push(format!("#{{==:#{{C/ri:({})}},0}}", self.unseen.join("|")));
        }
        witness
    }

    /// For a key that answers a prompt: its rows stand there still, with the same one selected.
    pub fn prompt(&self, prompt: &Prompt) -> Witness {
        let labels = prompt.choices.iter().map(|choice| squeezed(choice.label.as_data()));
        let words = [&prompt.subject, &prompt.title].map(|text| squeezed(text.as_data()));
        self.rows_of(&words.into_iter().chain(labels).collect::<Vec<_>>().join("\n"))
    }

    /// What is on the screen now, without what scrolled off it.
    pub fn visible(&self) -> Screen {
        Screen::parse(self.rows.join("\n").as_bytes())
    }

    /// The rows that show some of `own`, which has no blanks.
    fn rows_of(&self, own: &str) -> Witness {
        let edge = |c: char| matches!(c, '│' | '❯' | '›' | '>' | '▶' | '●' | '→');
        let is_own = |row: &&String| {
            let text = squeezed(row);
            let bare = text.trim_matches(edge);
            let label = bare.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ')'));
            !bare.is_empty() && [text.as_str(), bare, label].into_iter().any(|part| own.contains(part))
        };
        let mut left = ROWS_CAP;
        let kept = self.rows.iter().rev().filter(is_own).filter_map(|row| pattern(row));
        let fitting = kept.take_while(|pattern| {
            left = left.saturating_sub(pattern.len());
            left > 0
        });
        Witness(fitting.map(|pattern| format!("#{{!=:#{{C/r:{pattern}}},0}}")).collect())
    }
}

/// Takes the next line off an answer.
fn line(rest: &mut &[u8]) -> String {
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let text = String::from_utf8_lossy(&rest[..end]).into_owned();
    *rest = rest.get(end + 1..).unwrap_or_default();
    text
}

fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// A pattern for exactly this row: whatever could mean something in a pattern or a format stands for any
/// one character. `None` for an edge, which says nothing.
fn pattern(row: &str) -> Option<String> {
    let row = row.trim_end_matches(' ');
    let first = row.trim_start().chars().next()?;
    if row.trim_start().chars().filter(|c| *c == first).count() > 9 && row.trim().chars().all(|c| c == first)
    {
        return None;
    }
    let mut pattern = String::from("^");
    for c in row.chars() {
        match c {
            '\u{fffd}' => pattern.push_str(".+"),
            c if c.is_control() => pattern.push_str(".+"),
            c if c.is_ascii_alphanumeric() || c == ' ' || !c.is_ascii() => pattern.push(c),
            _means_something => pattern.push('.'),
        }
    }
    // Whether a blank of another kind at the end is cut off depends on the machine.
    if !row.ends_with(char::is_whitespace) {
        pattern.push_str(" *$");
    }
    Some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_a_hostile_program_means_nothing_in_a_pattern_or_a_format() {
        assert_eq!(pattern("❯ a#{b},c}  ").as_deref(), Some("^❯ a..b..c. *$"));
        assert_eq!(pattern("$(rm) 100% 'x' é").as_deref(), Some("^..rm. 100. .x. é *$"));
        assert_eq!(pattern("❯\u{a0}").as_deref(), Some("^❯\u{a0}"));
        assert_eq!(pattern(&"─".repeat(70)), None);
        assert_eq!(pattern("   "), None);
    }
}
