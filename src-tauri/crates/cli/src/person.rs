//! Tells whether a person is calling.

use std::io::IsTerminal;

use steward_rules::caller::{Caller, Terminal, caller};

/// Who runs this process, by its own environment and standard streams (review.md 4).
pub fn caller_of_this_process() -> Caller {
    let names: Vec<String> = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    let terminal = if std::io::stdin().is_terminal()
        || std::io::stdout().is_terminal()
        || std::io::stderr().is_terminal()
    {
        Terminal::Plain
    } else {
        Terminal::None
    };
    caller(names.iter().map(String::as_str), terminal)
}
