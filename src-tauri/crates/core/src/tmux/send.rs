//! Keys, sent only to the pane that was meant.

use steward_rules::questions::keys::Key;
use steward_rules::questions::pane::PaneIdentity;

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
    /// The pane was no longer the one that was meant, its keys would not reach its program, or the
    /// witness was not on its screen.
    Refused,
}

impl Tmux {
    /// Sends keys if, and only if, the pane is still the same one with the same program in front, not
    /// scrolled, not dead, alone in what it receives, and shows `witness`. tmux checks and types in one
    /// command.
    pub(super) async fn send(
        &self,
        to: &PaneIdentity,
        keys: Keys<'_>,
        witness: Option<&str>,
    ) -> Result<Sent, TmuxError> {
        let Some(guard) = guard(to, witness) else { return Ok(Sent::Refused) };
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
fn guard(to: &PaneIdentity, witness: Option<&str>) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+');
    if to.foreground.is_empty() || !to.foreground.chars().all(plain) {
        return None;
    }
    let mut facts = vec![
        format!("#{{==:#{{pane_id}},{}}}", to.pane),
        format!("#{{==:#{{pid}},{}}}", to.server),
        format!("#{{==:#{{pane_pid}},{}}}", to.first),
        format!("#{{==:#{{pane_current_command}},{}}}", to.foreground),
        "#{==:#{pane_dead}#{pane_in_mode}#{pane_synchronized}#{pane_input_off},0000}".to_owned(),
    ];
    if let Some(words) = witness {
        facts.push(format!("#{{!=:#{{C:{words}}},0}}"));
    }
    facts.into_iter().reduce(|all, next| format!("#{{&&:{all},{next}}}"))
}

/// The longest stretch of a text that tmux can look for on a screen as it stands: letters, digits and
/// single spaces, which mean nothing in its patterns. `None` where there is hardly any.
pub(super) fn witness(text: &str) -> Option<String> {
    const SHORTEST: usize = 3;
    const LONGEST: usize = 24;
    let stretches = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ' ' || c == '-' || c == '.'));
    let longest = stretches.flat_map(|part| part.split("  ")).map(str::trim).max_by_key(|part| part.len())?;
    let cut = longest.get(..longest.len().min(LONGEST))?.trim();
    (cut.len() >= SHORTEST).then(|| cut.to_owned())
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
            assert_eq!(guard(&to, None), None, "{name}");
        }
    }

    #[test]
    fn a_quote_ends_nothing() {
        assert_eq!(quoted("it's; #{x} $HOME"), "'it'\\''s; #{x} $HOME'");
    }

    #[test]
    fn a_witness_means_nothing_in_a_pattern() {
        assert_eq!(witness("rm -rf build && echo '#{x}'").as_deref(), Some("rm -rf build"));
        assert_eq!(witness("#{C:*}"), None);
        assert_eq!(witness(""), None);
    }
}
