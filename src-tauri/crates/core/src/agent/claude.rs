//! Claude Code as a seat.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::invocation::{Credential, Invocation};
use super::run::SeatRun;
use crate::sandbox::{Bind, Boundary, Network};

/// Name of our tools server, as the agent sees it.
pub const SERVER: &str = "steward";

/// Largest tool result the agent takes, in tokens: a digest is handed over whole.
const TOOL_RESULT_TOKENS: &str = "400000";

/// Flags without which it cannot be confined.
pub(super) const REQUIRED: [&str; 8] = [
    "--tools",
    "--setting-sources",
    "--strict-mcp-config",
    "--mcp-config",
    "--permission-mode",
    "--allowedTools",
    "--output-format",
    "--no-session-persistence",
];

/// What this binary can do beyond the required.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct ClaudeFeatures {
    /// `--restricted`: file tools confined to the working folder.
    pub restricted: bool,
    /// `--permission-prompts none`.
    pub permission_prompts: bool,
    /// `--max-budget-usd`.
    pub budget: bool,
    /// `--disable-slash-commands`.
    pub slash_commands: bool,
    /// It speaks to its model through a unix socket, so it needs no network.
    pub unix_socket: bool,
}

impl ClaudeFeatures {
    pub(super) fn of_help(help: &str) -> Self {
        let has = |flag: &str| mentions(help, flag);
        Self {
            restricted: has("--restricted"),
            permission_prompts: has("--permission-prompts"),
            budget: has("--max-budget-usd"),
            slash_commands: has("--disable-slash-commands"),
            unix_socket: false,
        }
    }
}

/// True when the help lists the flag as a word of its own.
pub(super) fn mentions(help: &str, flag: &str) -> bool {
    help.match_indices(flag).any(|(at, _)| {
        let after = help[at + flag.len()..].chars().next();
        let before = help[..at].chars().next_back();
        !after.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-')
            && !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '-')
    })
}

/// The environment of every start: nothing else is inherited.
pub(super) fn environment(boundary: &Boundary, scratch: &Path) -> Vec<(String, OsString)> {
    let home = boundary.home(scratch);
    let fixed = [
        ("PATH", "/usr/bin:/bin"),
        ("LANG", "C.UTF-8"),
        ("TERM", "dumb"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1"),
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("API_TIMEOUT_MS", "120000"),
        ("MCP_TIMEOUT", "20000"),
        ("MAX_MCP_OUTPUT_TOKENS", TOOL_RESULT_TOKENS),
        ("STEWARD_SEAT", "1"),
    ];
    let mut env: Vec<(String, OsString)> =
        fixed.iter().map(|(k, v)| ((*k).to_owned(), (*v).into())).collect();
    env.push(("CLAUDE_CONFIG_DIR".into(), home.join(".claude").into()));
    env.push(("TMPDIR".into(), boundary.tmp(scratch).into()));
    env.push(("HOME".into(), home.into()));
    env
}

/// Which variable carries the credential: a key, or a token of `claude setup-token`.
pub(super) fn credential_variable(credential: &Credential) -> &'static str {
    if credential.expose().starts_with("sk-ant-oat") {
        "CLAUDE_CODE_OAUTH_TOKEN"
    } else {
        "ANTHROPIC_API_KEY"
    }
}

#[derive(Serialize)]
struct McpConfig<'a> {
    #[serde(rename = "mcpServers")]
    servers: std::collections::BTreeMap<&'a str, McpServer<'a>>,
}

#[derive(Serialize)]
struct McpServer<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    command: &'a Path,
    args: [&'a str; 2],
    env: std::collections::BTreeMap<&'a str, &'a Path>,
}

/// Builds the start of one seat. Writes the tools server's configuration into the scratch folder.
pub(super) fn invocation(
    seat: &SeatRun,
    program: &Path,
    features: ClaudeFeatures,
    socket: Option<&Path>,
) -> std::io::Result<Invocation> {
    let boundary = &seat.boundary;
    let folders = &seat.folders;
    let review = Bind::new(&folders.review, "/review");
    let digest = Bind::new(&folders.digest, "/opt/steward/digest.json");
    let inbox = Bind::new(&folders.inbox, "/inbox");
    let steward = Bind::new(&seat.steward, "/opt/steward/steward");
    let config_file: PathBuf = folders.scratch.join("mcp.json");
    let config = Bind::new(&config_file, "/opt/steward/mcp.json");
    let servers = McpConfig {
        servers: [(
            SERVER,
            McpServer {
                kind: "stdio",
                command: boundary.place(&steward),
                args: ["mcp", seat.duty.server()],
                env: [
                    ("STEWARD_DIGEST", boundary.place(&digest)),
                    ("STEWARD_INBOX", boundary.place(&inbox)),
                    ("STEWARD_REVIEW", boundary.place(&review)),
                ]
                .into(),
            },
        )]
        .into(),
    };
    std::fs::write(&config_file, serde_json::to_vec(&servers)?)?;

    let mut args: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
    add(&["-p", "--output-format", "stream-json", "--verbose"]);
    if let Some(model) = &seat.model {
        add(&["--model", model]);
    }
    add(&["--max-turns", &seat.limits.turns.to_string()]);
    if features.budget {
        add(&["--max-budget-usd", &format!("{:.4}", seat.limits.usd)]);
    }
    add(&["--setting-sources", "", "--strict-mcp-config", "--mcp-config"]);
    add(&[&boundary.place(&config).to_string_lossy()]);
    add(&["--permission-mode", "dontAsk", "--no-session-persistence"]);
    if features.slash_commands {
        add(&["--disable-slash-commands"]);
    }
    add(&["--tools", &seat.duty.own_tools()]);
    let mut allowed: Vec<String> = seat.duty.free_tools().into_iter().map(str::to_owned).collect();
    if seat.duty.writes() {
        // One rule for every tool that edits; without a place it would open the whole disk.
        let tree = boundary.place(&review).join("tree");
        allowed.extend(folders.writable.iter().map(|part| {
            let place = if part.path.is_empty() { tree.clone() } else { tree.join(&part.path) };
            let end = if part.is_folder { "/**" } else { "" };
            format!("Edit(/{}{end})", place.display())
        }));
    }
    add(&["--allowedTools", &allowed.join(",")]);
    if features.restricted {
        add(&["--restricted"]);
    }
    if features.permission_prompts {
        add(&["--permission-prompts", "none"]);
    }

    let mut env = environment(boundary, &folders.scratch);
    if let Some(url) = seat.endpoint.url() {
        env.push(("ANTHROPIC_BASE_URL".into(), url.into()));
    }
    let mut sockets = Vec::new();
    let network = match socket {
        Some(socket) => {
            let bind = Bind::new(socket, "/opt/steward/model");
            env.push(("ANTHROPIC_UNIX_SOCKET".into(), boundary.place(&bind).into()));
            sockets.push(bind);
            Network::None
        }
        None => Network::Host,
    };
    Ok(Invocation {
        program: Bind::new(program, "/opt/agent/claude"),
        args,
        env,
        cwd: boundary.place(&review).to_owned(),
        read_only: vec![review, digest, steward, config],
        writable: super::invocation::writable(folders, inbox),
        sockets,
        network,
        stdin: seat.prompt.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_found_as_a_word_only() {
        let help = "  --tools <tools...>  x\n  --allowedTools, --allowed-tools <t>\n  --restricted-x\n";
        for (flag, found) in [
            ("--tools", true),
            ("--allowedTools", true),
            ("--allowed-tools", true),
            ("--restricted", false),
            ("--setting-sources", false),
        ] {
            assert_eq!(mentions(help, flag), found, "{flag}");
        }
    }
}
