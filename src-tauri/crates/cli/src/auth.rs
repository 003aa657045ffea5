//! `steward auth agent`: the credential of the agent that seats run.

use std::io::{BufRead, IsTerminal};

use steward_core::api::Api;
use steward_core::api::credentials;
use steward_core::api::error::{ApiError, ErrorCode};

use crate::args::{AgentAuthCommand, AuthCommand};
use crate::output::Output;

/// A credential is one line; more than this is a file pasted by mistake.
const KEY_LIMIT: usize = 4096;

pub async fn run(api: &Api, command: AuthCommand, out: &Output) -> Result<(), ApiError> {
    let AuthCommand::Agent { command } = command;
    let done = match command.unwrap_or(AgentAuthCommand::Set) {
        AgentAuthCommand::Set => credentials::set_agent(api, read_key()?).await?,
        AgentAuthCommand::Status => credentials::agent_status(api).await?,
        AgentAuthCommand::Clear => credentials::clear_agent(api).await?,
    };
    out.answer(&done, |d| d.message.clone());
    Ok(())
}

/// Reads one line from the terminal with echo off, or from a pipe.
fn read_key() -> Result<String, ApiError> {
    let wrong = |what: String| ApiError::new(ErrorCode::BadRequest, what);
    let stdin = std::io::stdin();
    let _echo_off = if stdin.is_terminal() {
        eprint!("Agent key (an API key, or the token of `claude setup-token`), not shown: ");
        Some(
            EchoOff::new()
                .map_err(|e| wrong(format!("the terminal's echo could not be switched off: {e}")))?,
        )
    } else {
        None
    };
    let mut line = String::new();
    stdin.lock().read_line(&mut line).map_err(|e| wrong(format!("the key could not be read: {e}")))?;
    if stdin.is_terminal() {
        eprintln!();
    }
    let key = line.trim();
    if key.is_empty() || key.len() > KEY_LIMIT || key.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(wrong("a key is one word without spaces".to_owned()).hint("paste it and press Enter"));
    }
    Ok(key.to_owned())
}

/// Keeps the terminal from showing what is typed, until dropped.
struct EchoOff {
    before: nix::sys::termios::Termios,
}

impl EchoOff {
    fn new() -> nix::Result<Self> {
        use nix::sys::termios::{LocalFlags, SetArg, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(std::io::stdin(), SetArg::TCSANOW, &quiet)?;
        Ok(Self { before })
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        let _ =
            nix::sys::termios::tcsetattr(std::io::stdin(), nix::sys::termios::SetArg::TCSANOW, &self.before);
    }
}
