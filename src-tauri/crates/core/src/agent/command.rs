//! Any command that speaks the small contract of `docs/agents.md`.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::invocation::Invocation;
use super::reads::Place;
use super::run::SeatRun;
use super::stream::Event;
use super::submission::SUBMISSION_FILE;
use crate::sandbox::{Bind, Network};

/// What a command may reach of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandNetwork {
    #[default]
    None,
    Host,
}

/// Builds the start of one seat.
pub(super) fn invocation(
    seat: &SeatRun,
    program: &Path,
    args: &[String],
    network: CommandNetwork,
) -> Invocation {
    let boundary = &seat.boundary;
    let folders = &seat.folders;
    let review = Bind::new(&folders.review, "/review");
    let digest = Bind::new(&folders.digest, "/opt/steward/digest.json");
    let inbox = Bind::new(&folders.inbox, "/inbox");
    let name = program.file_name().unwrap_or_default();
    let place = boundary.place(&review).to_owned();
    let home = boundary.home(&folders.scratch);
    let mut env = vec![
        ("PATH".to_owned(), "/usr/bin:/bin".into()),
        ("LANG".to_owned(), "C.UTF-8".into()),
        ("TERM".to_owned(), "dumb".into()),
        ("TMPDIR".to_owned(), boundary.tmp(&folders.scratch).into()),
        ("HOME".to_owned(), home.into()),
        ("STEWARD_SEAT".to_owned(), "1".into()),
        ("STEWARD_TREE".to_owned(), place.join("tree").into()),
        ("STEWARD_FRAMES".to_owned(), place.join("frames").into()),
        ("STEWARD_BASE".to_owned(), place.join("base").into()),
        ("STEWARD_DIGEST".to_owned(), boundary.place(&digest).into()),
        ("STEWARD_SUBMISSION".to_owned(), boundary.place(&inbox).join(SUBMISSION_FILE).into()),
    ];
    if let Some(model) = &seat.model {
        env.push(("STEWARD_MODEL".to_owned(), model.into()));
    }
    if let Some(url) = seat.endpoint.url() {
        env.push(("STEWARD_ENDPOINT".to_owned(), url.into()));
    }
    Invocation {
        program: Bind::new(program, Path::new("/opt/agent").join(name)),
        args: args.iter().map(Into::into).collect(),
        env,
        cwd: place,
        read_only: vec![review, digest],
        writable: super::invocation::writable(folders, inbox),
        sockets: Vec::new(),
        network: match network {
            CommandNetwork::None => Network::None,
            CommandNetwork::Host => Network::Host,
        },
        stdin: seat.prompt.clone(),
    }
}

/// One line of a command's output. Every figure is a running total.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said {
    Progress {
        text: String,
    },
    Tool {
        name: String,
        subject: Option<String>,
    },
    Usage {
        usd: Option<f64>,
        tokens: Option<u64>,
        turns: Option<u32>,
    },
    Read {
        path: String,
        first: u32,
        last: u32,
    },
    Error {
        text: String,
    },
    #[serde(other)]
    Unknown,
}

/// Reads one line; anything that is not of the contract is not an error, only not understood.
pub(super) fn parse_line(line: &[u8]) -> Event {
    match serde_json::from_slice::<Said>(line) {
        Ok(Said::Progress { text }) => Event::Note { text },
        Ok(Said::Tool { name, subject }) => Event::OwnTool { name, subject },
        Ok(Said::Usage { usd, tokens, turns }) => Event::Total {
            usd: usd.filter(|usd| usd.is_finite() && *usd >= 0.0),
            tokens: tokens.unwrap_or(0),
            turns: turns.unwrap_or(0),
        },
        Ok(Said::Read { path, first, last }) => Event::OwnRead { place: Place::Tree, path, first, last },
        Ok(Said::Error { text }) => Event::Failed { text },
        Ok(Said::Unknown) => Event::Unknown,
        Err(_) => Event::Unreadable,
    }
}
