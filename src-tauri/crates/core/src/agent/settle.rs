//! Decides how a run ended: success needs every sign of it, anything less has its reason.

use chrono::{DateTime, Utc};
use steward_rules::untrusted::Untrusted;

use super::invocation::Credential;
use super::outcome::{BudgetKind, SeatEnd};
use super::probe::Kind;
use super::run::SeatRun;
use super::submission::{self, REFUSED_FILE};
use crate::sandbox::{Exit, KillReport};

/// Longest piece of error output that is kept, in characters.
const STDERR_CAP: usize = 2_000;

/// What the agent said of itself.
#[derive(Debug, Default)]
pub(super) struct Claimed {
    pub started: bool,
    pub connected: bool,
    pub result: Option<OwnResult>,
    pub failed: Option<String>,
    /// The provider's limit was reached, and when it ends.
    pub limited: Option<Option<DateTime<Utc>>>,
}

#[derive(Debug)]
pub(super) struct OwnResult {
    pub subtype: String,
    pub is_error: bool,
    pub api_status: Option<u32>,
    pub errors: Vec<String>,
}

/// Everything known at the end.
pub(super) struct Ended<'a> {
    /// Steward stopped it, and why.
    pub stopped: Option<SeatEnd>,
    /// `None` when it had to be killed.
    pub exit: Option<Exit>,
    pub claimed: Claimed,
    /// What changed in the export.
    pub changed: Option<String>,
    pub kill: &'a KillReport,
    pub stderr: String,
}

pub(super) fn settle(seat: &SeatRun, ended: Ended<'_>) -> SeatEnd {
    let Ended { stopped, exit, claimed, changed, kill, stderr } = ended;
    let crashed = |reason: String| SeatEnd::Crashed { reason, stderr: stderr.clone() };
    if let Some(detail) = changed {
        return SeatEnd::ScopeViolation { detail };
    }
    let end = match stopped {
        Some(SeatEnd::Crashed { reason, .. }) => crashed(reason),
        Some(end) => end,
        None => own_end(seat, exit, claimed).unwrap_or_else(crashed),
    };
    match (kill.survivors.first(), &end) {
        (Some(survivor), SeatEnd::Submitted { .. }) => {
            crashed(format!("process {} of the seat could not be ended", survivor.pid))
        }
        (Some(_) | None, _) => end,
    }
}

/// The end of a run that Steward did not stop; `Err` is the reason of a crash.
fn own_end(seat: &SeatRun, exit: Option<Exit>, claimed: Claimed) -> Result<SeatEnd, String> {
    let exit = exit.ok_or("it closed its output and did not end")?;
    match &seat.adapter.0 {
        Kind::Claude { .. } => {
            if let Some(end) = claude_end(exit, &claimed)? {
                return Ok(end);
            }
        }
        Kind::Command { .. } => {
            if let Some(text) = claimed.failed {
                return Err(format!("it reported: {}", shown(&text)));
            }
        }
    }
    if !exit.success() {
        return Err(exited(exit));
    }
    let folders = &seat.folders;
    if folders.inbox.join(REFUSED_FILE).exists() {
        return Err("three submissions were refused".to_owned());
    }
    let digest =
        std::fs::read(&folders.digest).map_err(|error| format!("the digest cannot be read: {error}"))?;
    let submission = submission::read_file(&folders.inbox, &digest)?;
    seat.duty.check(&submission, &digest, &folders.review)?;
    Ok(SeatEnd::Submitted { submission })
}

fn claude_end(exit: Exit, claimed: &Claimed) -> Result<Option<SeatEnd>, String> {
    let Some(result) = &claimed.result else {
        if !claimed.started {
            return Err(format!("it did not start: {}", exited(exit)));
        }
        return Err(format!("it ended without a result: {}", exited(exit)));
    };
    match result.subtype.as_str() {
        "error_max_budget_usd" => return Ok(Some(SeatEnd::Budget { which: BudgetKind::Usd })),
        "error_max_turns" => return Ok(Some(SeatEnd::Budget { which: BudgetKind::Turns })),
        _ => {}
    }
    if result.is_error && (claimed.limited.is_some() || result.api_status == Some(429)) {
        let said = result.errors.first().map_or(result.subtype.as_str(), String::as_str);
        let until = claimed.limited.flatten();
        return Ok(Some(SeatEnd::Limited { until, detail: shown(said) }));
    }
    if result.is_error {
        let status =
            result.api_status.map(|status| format!("the model answered {status}: ")).unwrap_or_default();
        let said = result.errors.first().map_or(result.subtype.as_str(), String::as_str);
        return Err(format!("{status}{}", shown(said)));
    }
    if !claimed.connected {
        return Err("the tools server was not connected".to_owned());
    }
    Ok(None)
}

fn exited(exit: Exit) -> String {
    match (exit.code, exit.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "it ended in an unknown way".to_owned(),
    }
}

/// Text of an agent, made inert and short.
pub(super) fn shown(text: &str) -> String {
    Untrusted::new(text).one_line(200)
}

/// The last of the error output without the credential in any of its usual spellings.
pub(super) fn scrubbed(bytes: &[u8], credential: Option<&Credential>) -> String {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if let Some(secret) = credential.map(Credential::expose).filter(|secret| !secret.is_empty()) {
        let url: String = secret.bytes().fold(String::new(), |mut out, byte| {
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
                out.push(char::from(byte));
            } else {
                out.push_str(&format!("%{byte:02X}"));
            }
            out
        });
        for form in [secret.to_owned(), url, STANDARD.encode(secret), URL_SAFE.encode(secret)] {
            text = text.replace(&form, "[credential]");
        }
    }
    let count = text.chars().count();
    let tail: String = text.chars().skip(count.saturating_sub(STDERR_CAP)).collect();
    Untrusted::new(tail.trim()).escaped(STDERR_CAP)
}
