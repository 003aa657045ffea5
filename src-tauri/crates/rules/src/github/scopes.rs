//! What a token may do, held against what the switched-on systems want of it.

use serde::{Deserialize, Serialize};

/// The five systems, each with its own wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum System {
    Review,
    Engine,
    Memory,
    Questions,
    Pipeline,
}

/// How much a scope is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Need {
    /// The system works with less.
    Recommended,
    /// The system does not work without it.
    Required,
}

/// Whether a token has a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub enum Held {
    Granted,
    Missing,
    /// A fine-grained token does not tell; the first use shows it.
    Unknown,
}

/// What a token says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Granted {
    /// A classic token with its scopes.
    Scopes(Vec<String>),
    /// A fine-grained token.
    Untold,
}

/// One want of one system.
struct Want {
    system: System,
    need: Need,
    scope: &'static str,
    /// The same in the words of a fine-grained token.
    permission: &'static str,
    why: &'static str,
}

const WANTS: [Want; 13] = [
    want(
        System::Review,
        Need::Required,
        "public_repo",
        "Metadata, Contents, Issues, Checks, Commit statuses: read; Pull requests: read, and write to post reviews",
        "reads pull requests and checks of public repositories",
    ),
    want(
        System::Review,
        Need::Recommended,
        "repo",
        "access to the private repositories",
        "reads private repositories too",
    ),
    want(
        System::Engine,
        Need::Required,
        "public_repo",
        "Contents, Pull requests, Actions: read and write",
        "merges, labels and comments in public repositories",
    ),
    want(
        System::Engine,
        Need::Recommended,
        "repo",
        "access to the private repositories",
        "works in private repositories too",
    ),
    want(
        System::Engine,
        Need::Recommended,
        "workflow",
        "Workflows: read and write",
        "brings a branch up to date when its base changed a workflow file",
    ),
    want(
        System::Memory,
        Need::Required,
        "gist",
        "Gists: read and write",
        "keeps the shared memory in a private Gist",
    ),
    want(
        System::Memory,
        Need::Required,
        "public_repo",
        "Issues, Pull requests: read and write",
        "answers mentions in public repositories",
    ),
    want(
        System::Memory,
        Need::Recommended,
        "notifications",
        "none: only a classic token can",
        "finds mentions through notifications instead of a search",
    ),
    want(
        System::Memory,
        Need::Recommended,
        "repo",
        "access to the private repositories",
        "answers in private repositories too",
    ),
    want(
        System::Pipeline,
        Need::Required,
        "public_repo",
        "Contents, Issues, Pull requests: read and write",
        "claims issues and opens pull requests in public repositories",
    ),
    want(
        System::Pipeline,
        Need::Recommended,
        "repo",
        "access to the private repositories",
        "works in private repositories too",
    ),
    want(
        System::Pipeline,
        Need::Recommended,
        "workflow",
        "Workflows: read and write",
        "pushes a branch that changes a workflow file",
    ),
    want(
        System::Pipeline,
        Need::Recommended,
        "read:org",
        "Members: read",
        "tells members of the organisation from others",
    ),
];

const fn want(
    system: System,
    need: Need,
    scope: &'static str,
    permission: &'static str,
    why: &'static str,
) -> Want {
    Want { system, need, scope, permission, why }
}

/// A scope that some system wants, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ScopeRow {
    pub scope: String,
    /// The strongest want of all systems.
    pub need: Need,
    pub held: Held,
    /// Each system that wants it, and what for.
    pub wanted_by: Vec<ScopeUse>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "ts", derive(ts_rs::TS))]
pub struct ScopeUse {
    pub system: System,
    /// What to tick for a fine-grained token.
    pub permission: String,
    pub why: String,
}

/// The scopes of the switched-on systems: required first, each once.
pub fn judge(granted: &Granted, systems: &[System]) -> Vec<ScopeRow> {
    let mut rows: Vec<ScopeRow> = Vec::new();
    for want in WANTS.iter().filter(|want| systems.contains(&want.system)) {
        let wanted = ScopeUse {
            system: want.system,
            permission: want.permission.to_owned(),
            why: want.why.to_owned(),
        };
        match rows.iter_mut().find(|row| row.scope == want.scope) {
            Some(row) => {
                row.need = row.need.max(want.need);
                row.wanted_by.push(wanted);
            }
            None => rows.push(ScopeRow {
                scope: want.scope.to_owned(),
                need: want.need,
                held: held(granted, want.scope),
                wanted_by: vec![wanted],
            }),
        }
    }
    rows.sort_by_key(|row| std::cmp::Reverse(row.need));
    rows
}

/// The required scopes that a token is known to lack.
pub fn missing(rows: &[ScopeRow]) -> Vec<&str> {
    let lacking = rows.iter().filter(|row| row.need == Need::Required && row.held == Held::Missing);
    lacking.map(|row| row.scope.as_str()).collect()
}

/// Scopes that nobody asked for and that would let a thief do more: shown, so that they can be left out.
pub fn unneeded<'g>(granted: &'g Granted, systems: &[System]) -> Vec<&'g str> {
    let Granted::Scopes(scopes) = granted else { return Vec::new() };
    let wanted: Vec<&str> =
        WANTS.iter().filter(|want| systems.contains(&want.system)).map(|want| want.scope).collect();
    let useless = |scope: &&String| !wanted.iter().any(|want| includes(scope, want));
    scopes.iter().filter(useless).map(String::as_str).collect()
}

fn held(granted: &Granted, scope: &str) -> Held {
    match granted {
        Granted::Untold => Held::Unknown,
        Granted::Scopes(scopes) if scopes.iter().any(|held| includes(held, scope)) => Held::Granted,
        Granted::Scopes(_) => Held::Missing,
    }
}

/// GitHub's own order: some scopes hold others.
fn includes(held: &str, wanted: &str) -> bool {
    held == wanted
        || match held {
            "repo" => matches!(wanted, "public_repo" | "repo:status" | "repo_deployment" | "notifications"),
            "admin:org" => matches!(wanted, "write:org" | "read:org"),
            "write:org" => wanted == "read:org",
            "user" => matches!(wanted, "read:user" | "user:email" | "user:follow"),
            _ => false,
        }
}
