//! Keys, sent only to the pane that was meant.

use steward_rules::questions::keys::Key;
use steward_rules::questions::pane::PaneIdentity;

use super::sight::Witness;
use super::{Tmux, TmuxError};

/// Keys of one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keys<'a> {
    /// Characters, taken literally.
    Text(&'a str),
    /// Ctrl-J: a line break inside a composer.
    LineBreak,
    Key(Key),
}

/// Whether the keys went out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    Sent,
    /// The pane was no longer the one that was meant, its keys would not reach its program, or it no longer
    /// showed what was seen.
    Refused,
}

impl Tmux {
    /// Sends keys if, and only if, the pane is still the same one with the same program in front, not
    /// scrolled, not dead, alone in what it receives, and shows what was seen. tmux checks and types in one
    /// command, so that no prompt opens between the two.
    pub(super) async fn send(
        &self,
        to: &PaneIdentity,
        keys: Keys<'_>,
        seen: &Witness,
    ) -> Result<Sent, TmuxError> {
        let Some(guard) = guard(to, seen) else { return Ok(Sent::Refused) };
        let target = to.pane.as_str();
        let typed = match keys {
            Keys::Text(text) => format!("send-keys -t {target} -l -- {}", quoted(text)),
            Keys::LineBreak => format!("send-keys -t {target} C-j"),
            Keys::Key(Key::Enter) => format!("send-keys -t {target} Enter"),
            Keys::Key(Key::Escape) => format!("send-keys -t {target} Escape"),
            Keys::Key(Key::Digit(digit)) => format!("send-keys -t {target} -l -- {digit}"),
        };
        let sent = format!("{typed} ; display-message -p sent");
        let args = ["if-shell", "-F", "-t", target, &guard, &sent, "display-message -p refused"];
        let out = self.run(args, Some(&to.pane)).await?;
        match String::from_utf8_lossy(&out).trim() {
            "sent" => Ok(Sent::Sent),
            "refused" => Ok(Sent::Refused),
            other => Err(TmuxError::Odd { line: super::error::shown(other) }),
        }
    }
}

/// The condition under which the server types. `None` for a program name that could mean something
/// in a tmux format: such a pane is never typed into.
fn guard(to: &PaneIdentity, seen: &Witness) -> Option<String> {
    if !is_plain(&to.foreground) {
        return None;
    }
    let mut facts = vec![
        format!("#{{==:#{{pane_id}},{}}}", to.pane),
        format!("#{{==:#{{pid}},{}}}", to.server),
        format!("#{{==:#{{pane_pid}},{}}}", to.first),
        format!("#{{==:#{{pane_current_command}},{}}}", to.foreground),
        "#{==:#{pane_dead}#{pane_in_mode}#{pane_synchronized}#{pane_input_off},0000}".to_owned(),
    ];
    facts.extend(seen.conditions());
    // In pairs of pairs: tmux unfolds formats only so deep.
    while facts.len() > 1 {
        facts = facts
            .chunks(2)
            .map(|pair| match pair {
                [one, other] => format!("#{{&&:{one},{other}}}"),
                alone => alone.concat(),
            })
            .collect();
    }
    facts.pop()
}

/// True for a program's name that means nothing in a tmux format.
pub(super) fn is_plain(program: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    !program.is_empty() && program.chars().all(plain)
}

/// A word of tmux's command language that is taken as it is: nothing is special inside single quotes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use steward_rules::questions::pane::PaneId;

    #[test]
    fn a_program_that_names_itself_like_a_format_is_never_typed_into() {
        for name in ["", "a,b", "#{pane_id}", "x}", "two words", "é"] {
            let pane = PaneId::new("%1").unwrap();
            let to = PaneIdentity { pane, server: 1, first: 2, foreground: name.to_owned() };
            assert_eq!(guard(&to, &Witness::default()), None, "{name}");
        }
    }

    #[test]
    fn a_quote_ends_nothing() {
        assert_eq!(quoted("it's; #{x} $HOME"), "'it'\\''s; #{x} $HOME'");
    }
}
