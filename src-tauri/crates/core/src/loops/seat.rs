//! From a role's seat in the configuration to what an agent is started with.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::ExposeSecret;

use super::Ctx;
use crate::agent::{self, CommandNetwork, Endpoint, EndpointError};
use crate::config::seats::{self, Network};
use crate::config::{Adapter, Role};
use crate::keychain::AGENT;
use crate::sandbox::Boundary;

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

/// A seat with everything it is started with.
#[derive(Debug)]
pub struct Ready {
    pub seat: Seat,
    pub boundary: Boundary,
    pub adapter: agent::Adapter,
    /// `claude` or `command`.
    pub adapter_name: &'static str,
    pub credential: Option<agent::Credential>,
}

/// Reads the seat of a role, and finds its wall, its agent and its credential; the error is a sentence.
pub async fn ready(ctx: &Ctx, role: Role) -> Result<Ready, String> {
    let seat = read(ctx, role).map_err(|error| error.to_string())?;
    let boundary = {
        let ctx = ctx.clone();
        tokio::task::spawn_blocking(move || ctx.boundary()).await.map_err(|error| error.to_string())?
    };
    if let Boundary::None { reason } = &boundary {
        return Err(format!("no boundary, so no seat is started: {reason}"));
    }
    let report = agent::probe(&seat.choice, &boundary).await;
    let adapter = report.confinable.map_err(|refusal| {
        let hint = report.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
        format!("{refusal}{hint}")
    })?;
    let credential = credential(ctx, &seat).await?;
    Ok(Ready { seat, boundary, adapter, adapter_name: report.adapter, credential })
}

/// The agent's credential. Claude needs one; a command gets one when there is one.
async fn credential(ctx: &Ctx, seat: &Seat) -> Result<Option<agent::Credential>, String> {
    let found = ctx.keychain.get(AGENT).await;
    let needed = match seat.choice {
        agent::AgentChoice::Claude { .. } => true,
        agent::AgentChoice::Command { .. } => false,
    };
    match found {
        Ok(Some(found)) => Ok(Some(agent::Credential::new(found.secret.expose_secret()))),
        Ok(None) if needed => {
            Err("the agent has no credential; run `steward auth agent`, or set one in Settings".to_owned())
        }
        Err(error) if needed => Err(error.to_string()),
        Ok(None) | Err(_) => Ok(None),
    }
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
