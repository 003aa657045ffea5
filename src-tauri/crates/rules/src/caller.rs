//! Who is calling: a person, or an agent that a person started.

use serde::{Deserialize, Serialize};

/// The terminal a call came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Terminal {
    /// No standard stream is a terminal: a hook, a script, an agent's tool.
    None,
    /// A terminal that is no agent's pane.
    Plain,
    /// A pane of the roster or of a pipeline's worker.
    AgentPane,
}

/// Who is calling, as far as can be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    Person,
    /// With what gave it away.
    Agent(String),
}

/// Names of environment variables that coding agents set for what they run. A trailing `*` stands
/// for any rest.
const MARKS: [&str; 8] = [
    "CLAUDECODE",
    "CLAUDE_CODE_*",
    "CLAUDE_PROJECT_DIR",
    "CODEX_*",
    "GEMINI_CLI",
    "CURSOR_AGENT",
    "AIDER_*",
    SEAT_MARK,
];

/// The variable that Steward sets for every seat it starts.
pub const SEAT_MARK: &str = "STEWARD_SEAT";

/// Tells a person from an agent (review.md 4): an agent's mark in the caller's own environment, an
/// agent's pane, or no terminal at all make it an agent.
pub fn caller<'a>(environment: impl IntoIterator<Item = &'a str>, terminal: Terminal) -> Caller {
    for name in environment {
        let marked = MARKS.iter().any(|mark| match mark.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == *mark,
        });
        if marked {
            return Caller::Agent(format!("its environment has {name}"));
        }
    }
    match terminal {
        Terminal::Plain => Caller::Person,
        Terminal::AgentPane => Caller::Agent("its terminal is an agent's pane".to_owned()),
        Terminal::None => Caller::Agent("it has no terminal".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::plain_terminal(&["HOME", "PATH"], Terminal::Plain, true)]
    #[case::claude(&["HOME", "CLAUDECODE"], Terminal::Plain, false)]
    #[case::claude_hook(&["CLAUDE_PROJECT_DIR"], Terminal::Plain, false)]
    #[case::codex(&["CODEX_SANDBOX"], Terminal::Plain, false)]
    #[case::own_seat(&["STEWARD_SEAT"], Terminal::Plain, false)]
    #[case::near_miss_prefix(&["MY_CODEX_HOME"], Terminal::Plain, true)]
    #[case::near_miss_suffix(&["CLAUDECODE_NOT"], Terminal::Plain, true)]
    #[case::rostered_pane(&[], Terminal::AgentPane, false)]
    #[case::no_terminal(&[], Terminal::None, false)]
    fn c16_a_mark_a_pane_or_no_terminal_makes_an_agent(
        #[case] environment: &[&str],
        #[case] terminal: Terminal,
        #[case] person: bool,
    ) {
        assert_eq!(caller(environment.iter().copied(), terminal) == Caller::Person, person);
    }
}
