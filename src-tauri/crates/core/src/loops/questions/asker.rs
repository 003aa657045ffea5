//! Who asks, and about which project: what is not said is taken from where the question comes.

use std::path::{Path, PathBuf};

use steward_rules::questions::pane::PaneId;
use steward_rules::questions::roster::{self, Member};

use crate::config::Config;
use crate::loops::Ctx;
use crate::store::needs::Place;
use crate::store::{Durability, StoreError, settings};

/// What is known of the process that asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// The name it gives itself.
    pub agent: Option<String>,
    /// `$TMUX_PANE`.
    pub pane: Option<String>,
    /// `$TMUX`: the socket of the server whose pane that is, and more behind a comma.
    pub tmux: Option<String>,
    /// The login name.
    pub user: Option<String>,
    /// The terminal, `pts/3`.
    pub tty: Option<String>,
    /// Where it works.
    pub folder: Option<PathBuf>,
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    pub agent: String,
    pub host: String,
    /// The project of the roster, or of the folder.
    pub project: Option<String>,
    pub place: Place,
    /// It is on the roster.
    pub is_member: bool,
}

/// The name of this machine.
pub fn here() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let name = name.unwrap_or_default();
    let short = name.split('.').next().unwrap_or_default();
    if short.is_empty() { "localhost".to_owned() } else { short.to_owned() }
}

impl Asker {
    /// The asker of this process: the name it gives, else the member whose pane it is in, else
    /// `user@tty`.
    pub async fn find(ctx: &Ctx, known: &Known) -> Result<Self, StoreError> {
        let config = ctx.config();
        let is_ours = is_our_server(ctx, known.tmux.as_deref()).await?;
        let pane = known.pane.as_deref().filter(|pane| is_ours && roster::is_pane_id(pane));
        let members = super::roster(&config.questions).await.members;
        let in_pane = pane.and_then(|pane| roster::in_pane(&members, pane));
        let named = known.agent.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let member: Option<&Member> = match named {
            Some(name) => members.iter().find(|member| member.agent == name),
            None => in_pane,
        };
        let user = || known.user.clone().unwrap_or_else(|| "someone".to_owned());
        let (agent, host) = match (named, member, &known.tty) {
            (Some(name), _, _) => (name.to_owned(), here()),
            (None, Some(member), _) => (member.agent.clone(), here()),
            (None, None, Some(tty)) => (user(), tty.clone()),
            (None, None, None) => (user(), here()),
        };
        let project = match member.and_then(|member| member.project.clone()) {
            Some(project) => Some(project),
            None => known.folder.as_deref().and_then(|folder| project_of(&config, folder)),
        };
        let place =
            Place { pane: pane.map(str::to_owned), identity: identity(ctx, pane).await, ..Place::default() };
        Ok(Self { agent, host, project, place, is_member: member.is_some() })
    }
}

/// The socket of the tmux server whose panes the roster means, as the last runtime found it.
const SERVER: &str = "questions.tmux";

/// Notes which server's panes the roster means: the one that this runtime talks to.
pub async fn know_server(ctx: &Ctx) -> Result<(), StoreError> {
    let Some(socket) = ctx.tmux().ok().and_then(|tmux| tmux.socket()) else { return Ok(()) };
    let socket = socket.to_string_lossy().into_owned();
    ctx.store.write(Durability::Normal, move |tx| settings::set(tx, SERVER, &socket)).await
}

/// True when a pane of the server that `tmux` names is one of those the roster means: `%1` of another server of
/// this machine is another pane. Without a name it is taken for the usual one.
async fn is_our_server(ctx: &Ctx, tmux: Option<&str>) -> Result<bool, StoreError> {
    let Some(asked) = tmux.and_then(|tmux| tmux.split(',').next()).filter(|socket| !socket.is_empty()) else {
        return Ok(true);
    };
    let known = ctx.store.read(|tx| settings::get(tx, SERVER)).await?;
    let ours = known.map_or_else(crate::tmux::usual_socket, PathBuf::from);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    Ok(real(Path::new(asked)) == real(&ours))
}

/// Which pane that is now, as JSON: an answer goes to no other that has its name later.
async fn identity(ctx: &Ctx, pane: Option<&str>) -> Option<String> {
    let pane = PaneId::new(pane?).ok()?;
    let found = ctx.tmux().ok()?.pane(&pane).await.ok()?;
    serde_json::to_string(&found.identity).ok()
}

/// The project of a folder: the title of the workspace it lies in, else the name of the folder that
/// holds its `.git`.
pub fn project_of(config: &Config, folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let inside = |path: &Path| path.canonicalize().is_ok_and(|path| folder.starts_with(path));
    if let Some(workspace) = config.workspaces.iter().find(|workspace| inside(&workspace.path)) {
        return Some(workspace.title.clone());
    }
    let top = folder.ancestors().find(|path| path.join(".git").exists())?;
    Some(top.file_name()?.to_string_lossy().into_owned())
}
