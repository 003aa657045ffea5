//! Which repository each workspace is a clone of, as git last said. It is kept, so that a view waits for no git
//! and no slow disk (desktop.md 7).

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use steward_rules::ids::RepoName;
use tokio::task::JoinSet;

use super::Ctx;
use crate::config::Workspace;
use crate::git::Remote;
use crate::store::{Durability, ReadTx, StoreError, WriteTx, settings};

const KEY: &str = "origins";

/// A repository on GitHub.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    host: String,
    name: String,
}

impl Origin {
    /// True when it is this repository.
    pub fn is(&self, host: &str, name: &RepoName) -> bool {
        self.host.eq_ignore_ascii_case(host) && RepoName::parse(&self.name).is_some_and(|own| own == *name)
    }
}

/// What is known, by the folder of a workspace.
#[derive(Debug, Default)]
pub struct Kept(BTreeMap<String, Origin>);

impl Kept {
    /// What cannot be read is not known.
    pub fn read(tx: &ReadTx<'_>) -> Result<Self, StoreError> {
        let text = settings::get(tx, KEY)?;
        Ok(Self(text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()))
    }

    pub fn of(&self, workspace: &Workspace) -> Option<&Origin> {
        self.0.get(workspace.path.to_string_lossy().as_ref())
    }
}

/// Reads the origin of every workspace of the config file. Each is kept as soon as git has said it, and windows
/// are told where it is another one; what cannot be opened now stays as it was. This waits for git.
pub async fn look(ctx: &Ctx) -> Result<(), StoreError> {
    let known = ctx.config.current().config.workspaces.clone();
    let hosts = ctx.hosts();
    let mut looks = JoinSet::new();
    for path in known.iter().map(|workspace| workspace.path.clone()) {
        let (ctx, hosts) = (ctx.clone(), hosts.clone());
        looks.spawn_blocking(move || {
            let remote = ctx.git().ok().and_then(|git| ctx.origins().of(&git, &path, &hosts));
            (path, remote)
        });
    }
    while let Some(done) = looks.join_next().await {
        if let Ok((path, Some(remote))) = done {
            keep(ctx, path, remote).await?;
        }
    }
    let kept = ctx.store.read(Kept::read).await?;
    let is_known =
        |path: &String| known.iter().any(|workspace| workspace.path.to_string_lossy() == path.as_str());
    if kept.0.keys().all(is_known) {
        return Ok(());
    }
    ctx.store
        .write(Durability::Normal, move |tx| {
            let mut kept = Kept::read(tx)?.0;
            kept.retain(|path, _| {
                known.iter().any(|workspace| workspace.path.to_string_lossy() == path.as_str())
            });
            set(tx, &kept)
        })
        .await
}

/// Keeps where the origin of one workspace leads.
pub async fn keep(ctx: &Ctx, path: PathBuf, remote: Remote) -> Result<(), StoreError> {
    let path = path.to_string_lossy().into_owned();
    let found = match remote {
        Remote::GitHub { host, name } => Some(Origin { host, name: name.to_string() }),
        Remote::None | Remote::Path(_) | Remote::Other(_) => None,
    };
    let (before, of) = (found.clone(), path.clone());
    let same = ctx.store.read(move |tx| Ok::<_, StoreError>(Kept::read(tx)?.0.get(&of) == before.as_ref()));
    if same.await? {
        return Ok(());
    }
    ctx.store
        .write(Durability::Normal, move |tx| {
            let mut kept = Kept::read(tx)?.0;
            match found {
                Some(origin) => drop(kept.insert(path, origin)),
                None => drop(kept.remove(&path)),
            }
            set(tx, &kept)
        })
        .await
}

fn set(tx: &WriteTx<'_>, kept: &BTreeMap<String, Origin>) -> Result<(), StoreError> {
    let text = serde_json::to_string(kept).map_err(|error| StoreError::Value(error.to_string()))?;
    settings::set(tx, KEY, &text)?;
    tx.topic("repositories")
}
