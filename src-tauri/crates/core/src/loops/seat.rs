//! From a role's seat in the configuration to what an agent is started with.

use std::path::PathBuf;
use std::time::Duration;

use super::Ctx;
use crate::agent::{self, CommandNetwork, Endpoint, EndpointError};
use crate::config::seats::{self, Network};
use crate::config::{Adapter, Role};

/// Why a role has no seat.
#[derive(Debug, thiserror::Error)]
pub enum SeatError {
    #[error("there is no {path}; run `steward seats seed`", path = .0.display())]
    Missing(PathBuf),
    #[error(transparent)]
    File(#[from] seats::SeatError),
    #[error("{path}: endpoint: {source}", path = path.display())]
    Endpoint { path: PathBuf, source: EndpointError },
}

/// A seat as it will be started.
#[derive(Debug, Clone, PartialEq)]
pub struct Seat {
    pub choice: agent::AgentChoice,
    pub adapter: Adapter,
    pub model: Option<String>,
    pub endpoint: Endpoint,
    pub prompt: String,
    /// The agent's default when absent, as with each limit.
    pub idle: Option<Duration>,
    pub max_turns: Option<u32>,
    pub max_tokens: Option<u64>,
}

/// Reads the seat of a role, as it stands in the files now.
pub fn read(ctx: &Ctx, role: Role) -> Result<Seat, SeatError> {
    let path = ctx.home.seat_file(role.as_str());
    let seat = seats::read(&ctx.home, role, ctx.config().agent(role))?
        .ok_or_else(|| SeatError::Missing(path.clone()))?;
    let endpoint = match &seat.endpoint {
        Some(text) => Endpoint::parse(text).map_err(|source| SeatError::Endpoint { path, source })?,
        None => Endpoint::Default,
    };
    Ok(Seat {
        choice: choice(&seat),
        adapter: seat.adapter,
        model: seat.model,
        endpoint,
        prompt: seat.prompt,
        idle: seat.limits.idle_seconds.map(|seconds| Duration::from_secs(u64::from(seconds))),
        max_turns: seat.limits.max_turns,
        max_tokens: seat.limits.max_tokens,
    })
}

fn choice(seat: &seats::Seat) -> agent::AgentChoice {
    let mut words = seat.command.iter().flatten();
    let program = words.next().map(PathBuf::from);
    match seat.adapter {
        Adapter::Claude => agent::AgentChoice::Claude { program },
        Adapter::Command => agent::AgentChoice::Command {
            program: program.expect("BUG: a seat of the adapter `command` is read with its program"),
            args: words.cloned().collect(),
            network: match seat.network {
                Network::Host => CommandNetwork::Host,
                Network::None => CommandNetwork::None,
            },
        },
    }
}
