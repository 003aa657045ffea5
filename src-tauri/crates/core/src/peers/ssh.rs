//! Captures a pane of another machine. Captures only: no key goes this way by itself.

use std::ffi::OsStr;
use std::path::Path;
use std::time::Duration;

use steward_rules::questions::roster::{is_host, is_pane_id};

use super::PeerError;
use super::run::{Line, find, run};

const PROGRAM: &str = "ssh";
const TIME: Duration = Duration::from_secs(15);
/// What ssh needs to find its keys and its configuration.
const KEPT: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SSH_AUTH_SOCK"];
/// No question of ssh's own is ever answered, and a host that does not answer is given up soon.
const OPTIONS: &[&str] =
    &["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-o", "ClearAllForwardings=yes", "--"];

/// What `tmux capture-pane` printed on `host` for one of its panes.
pub async fn capture(host: &str, pane: &str) -> Result<Vec<u8>, PeerError> {
    if !is_host(host) || !is_pane_id(pane) {
        return Err(PeerError::Odd { program: PROGRAM, why: "this is no host or no pane".to_owned() });
    }
    let path = find(PROGRAM)?;
    let words = ["tmux", "capture-pane", "-p", "-J", "-e", "-t", pane, "-S", "-40"];
    let args: Vec<&OsStr> = OPTIONS.iter().copied().chain([host]).chain(words).map(OsStr::new).collect();
    run(Line {
        program: PROGRAM,
        path: &path,
        args,
        folder: Path::new("/"),
        kept: KEPT,
        set: vec![("LC_ALL", "C.UTF-8")],
        input: None,
        time: TIME,
    })
    .await
}
