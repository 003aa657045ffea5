//! All panes in one command.

use steward_rules::questions::pane::{PaneId, PaneIdentity};
use steward_rules::untrusted::Untrusted;

use super::error::shown;
use super::{Tmux, TmuxError};

/// Numbers first; then the session's name, which tmux keeps free of colons; last the foreground
/// program, which may hold anything.
pub(super) const FACTS: &str = "#{pane_id} #{pid} #{pane_pid} #{window_activity} #{pane_dead} \
    #{pane_in_mode} #{pane_synchronized} #{pane_input_off} #{pane_width} #{pane_height} \
    #{window_index}.#{pane_index} #{session_name}:#{pane_current_command}";

/// One pane as tmux lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pane {
    pub identity: PaneIdentity,
    /// When its window last had output, in seconds of the epoch.
    pub activity: i64,
    /// Its first process has ended and the pane is kept open.
    pub dead: bool,
    /// Somebody scrolls or searches in it: keys would go to tmux, not to the program.
    pub in_mode: bool,
    /// Keys typed here would reach every pane of its window.
    pub synchronized: bool,
    /// The person switched its input off.
    pub input_off: bool,
    pub width: u32,
    pub height: u32,
    /// `session:window.pane`, for people. Not an address.
    pub place: Untrusted,
}

impl Tmux {
    /// Every pane of the server: one subprocess, whatever their number.
    pub async fn panes(&self) -> Result<Vec<Pane>, TmuxError> {
        let out = self.run(["list-panes", "-a", "-F", FACTS], None).await?;
        String::from_utf8_lossy(&out).lines().map(parse).collect()
    }

    /// One pane as it is now.
    pub async fn pane(&self, pane: &PaneId) -> Result<Pane, TmuxError> {
        let out = self.run(["display-message", "-p", "-t", pane.as_str(), FACTS], Some(pane)).await?;
        facts_of(&String::from_utf8_lossy(&out), pane)
    }
}

/// The facts of `pane`. A pane that is gone is shown as empty fields.
pub(super) fn facts_of(text: &str, pane: &PaneId) -> Result<Pane, TmuxError> {
    let line = text.lines().next().unwrap_or_default();
    if !line.starts_with('%') {
        return Err(TmuxError::NoPane { pane: pane.clone() });
    }
    let found = parse(line)?;
    if found.identity.pane == *pane { Ok(found) } else { Err(TmuxError::NoPane { pane: pane.clone() }) }
}

fn parse(line: &str) -> Result<Pane, TmuxError> {
    parsed(line).ok_or_else(|| TmuxError::Odd { line: shown(line) })
}

fn parsed(line: &str) -> Option<Pane> {
    let mut words = line.splitn(12, ' ');
    let pane = PaneId::new(words.next()?).ok()?;
    let mut number = || words.next()?.parse::<i64>().ok();
    let (server, first, activity) = (number()?, number()?, number()?);
    let (dead, in_mode, synchronized, input_off) =
        (number()? != 0, number()? != 0, number()? != 0, number()? != 0);
    let (width, height) = (u32::try_from(number()?).ok()?, u32::try_from(number()?).ok()?);
    let place = words.next()?;
    let (session, foreground) = words.next()?.split_once(':')?;
    Some(Pane {
        identity: PaneIdentity { pane, server, first, foreground: foreground.to_owned() },
        activity,
        dead,
        in_mode,
        synchronized,
        input_off,
        width,
        height,
        place: Untrusted::new(format!("{session}:{place}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_in_their_field() {
        let pane = parsed("%7 10 11 1796041846 0 1 0 1 100 30 2.0 my session:%9 evil:x 1").unwrap();
        assert_eq!(pane.identity.pane.as_str(), "%7");
        assert_eq!(pane.identity.foreground, "%9 evil:x 1");
        assert_eq!(pane.place.as_data(), "my session:2.0");
        assert!(pane.in_mode && pane.input_off && !pane.dead && !pane.synchronized);
    }

    #[test]
    fn a_line_with_a_field_missing_is_refused() {
        assert!(parsed("%7 10 11 1796041846 0 0 0 0 100 30 2.0").is_none());
        assert!(parsed("7 10 11 1796041846 0 0 0 0 100 30 2.0 s:cat").is_none());
    }
}
