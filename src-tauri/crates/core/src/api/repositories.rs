//! Watched repositories of the config file: adding, removing, and what Steward may do there.

use std::path::Path;

use steward_rules::ids::RepoName;

use super::error::{ApiError, ErrorCode};
use super::requests::{
    ModeWord, RepositoryAdd, RepositoryByName, RepositoryMode, WorkspaceAdd, WorkspaceInspect,
};
use super::views as v;
use super::{Api, convert, workspaces};
use crate::config::edit::Edit;
use crate::config::{Account, CLASSES, Config, PRESETS, RepoMode, Repository};
use crate::git::Remote;
use crate::github::GitHubError;
use crate::loops::accounts::NoAccount;
use crate::loops::landed;
use crate::store::repositories::{self as observed, Known};
use crate::store::{Durability, StoreError};

/// Watches a repository, by its name on GitHub as it is now where GitHub can be asked.
pub async fn add(api: &Api, request: RepositoryAdd) -> Result<v::RepositoryView, ApiError> {
    api.person("watch a repository")?;
    let config = api.context().config();
    let asked = Asked::parse(&request.name, &config)?;
    let account = account(&config, request.account.as_deref(), asked.host.as_deref())?;
    let preset = request.preset.filter(|preset| !preset.trim().is_empty());
    if let Some(preset) = preset.as_deref().filter(|preset| !PRESETS.contains(preset)) {
        let message = format!("preset: `{}` is none of {}", convert::line(preset), PRESETS.join(", "));
        return Err(ApiError::new(ErrorCode::BadRequest, message));
    }
    let name = match account {
        Some(account) => name_on_github(api, account, &asked.name).await?,
        None => asked.name.clone(),
    };
    let host = account.map_or("github.com", |account| account.host.as_str());
    if let Some(known) = config.repository(&name) {
        return Err(watched_already(&config, known, host));
    }
    let clone = match request.workspace_path {
        Some(path) => Some(clone_of(api, host, &[&name, &asked.name], path).await?),
        None => None,
    };
    // The first account is taken when none is named; the file says no more than it must.
    let is_first = |account: &&Account| config.accounts.first().is_some_and(|first| first == *account);
    let named = account.filter(|account| !is_first(account)).map(|account| {
        let alone = config.accounts.iter().filter(|other| other.is_named(&account.login)).count() == 1;
        if alone { account.login.clone() } else { format!("{}@{}", account.login, account.host) }
    });
    let edit = Edit::AddRepository { name: name.to_string(), account: named, preset };
    super::settings::change(api, &edit)?;
    if let Some(clone) = clone.flatten() {
        workspaces::add(api, clone).await?;
    }
    changed(api).await?;
    view(api, &name).await
}

/// Why a second repository of a name is not watched: the file tells them apart by their names alone.
fn watched_already(config: &Config, known: &Repository, host: &str) -> ApiError {
    let there = config.host_of(known);
    if there.eq_ignore_ascii_case(host) {
        let message = format!("{} is watched already", known.name);
        return ApiError::new(ErrorCode::Refused, message).hint("`steward repo show` shows it");
    }
    let message = format!(
        "{} of {} is watched already, and a name stands in the file once",
        known.name,
        convert::line(there)
    );
    ApiError::new(ErrorCode::Refused, message).hint("stop watching that one first: `steward repo remove`")
}

/// Takes a repository out of the config file and forgets what was observed of it.
pub async fn remove(api: &Api, request: RepositoryByName) -> Result<v::Done, ApiError> {
    api.person("stop watching a repository")?;
    let config = api.context().config();
    let found = watched(&config, &request.name)?;
    let name = found.name.clone();
    let host = config.host_of(found).to_owned();
    super::settings::change(api, &Edit::RemoveRepository { name: name.to_string() })?;
    let gone = name.clone();
    let known = api
        .store()
        .write(Durability::Normal, move |tx| -> Result<_, StoreError> {
            let known = match observed::find(tx, &host, &gone)? {
                Some(row) => observed::known(tx, row.id)?,
                None => Known::default(),
            };
            observed::remove(tx, &host, &gone)?;
            Ok(known)
        })
        .await?;
    let Known { pulls, issues } = known;
    Ok(v::Done {
        message: format!(
            "{name} is not watched any more: what was seen of it is forgotten ({pulls} pull requests, {issues} issues); \
             its tasks and reviews stay"
        ),
    })
}

/// Sets the mode, and the classes that act by themselves when they are given. What widens waits for the
/// person's confirmation.
pub async fn mode(api: &Api, request: RepositoryMode) -> Result<v::RepositoryView, ApiError> {
    api.person("change what Steward may do in a repository")?;
    let (name, edits) = mode_edits(api, request)?;
    super::settings::change_at_once(api, &edits)?;
    changed(api).await?;
    view(api, &name).await
}

/// What setting the mode would change in the config file. Nothing is written.
pub async fn mode_preview(api: &Api, request: RepositoryMode) -> Result<v::EditView, ApiError> {
    super::edits::preview(api, &mode_edits(api, request)?.1).await
}

fn mode_edits(api: &Api, request: RepositoryMode) -> Result<(RepoName, Vec<Edit>), ApiError> {
    let name = watched(&api.context().config(), &request.name)?.name.clone();
    let mode = match request.mode {
        ModeWord::Observe => RepoMode::Observe,
        ModeWord::Suggest => RepoMode::Suggest,
        ModeWord::Act => RepoMode::Act,
    };
    let mut edits = vec![Edit::SetMode { name: name.to_string(), mode }];
    if let Some(act) = request.act {
        if let Some(class) = act.iter().find(|class| !CLASSES.contains(&class.as_str())) {
            let message = format!("act: `{}` is no class of effects", convert::line(class));
            return Err(ApiError::new(ErrorCode::BadRequest, message)
                .hint(format!("the classes are {}", CLASSES.join(", "))));
        }
        edits.push(Edit::SetAct { name: name.to_string(), act });
    }
    Ok((name, edits))
}

/// Lifts the freeze after a merge that made something else than it must (engine.md 4.7).
pub async fn unfreeze(api: &Api, request: RepositoryByName) -> Result<v::RepositoryView, ApiError> {
    api.person("lift a freeze of merging")?;
    let config = api.context().config();
    let wanted = watched(&config, &request.name)?;
    let (host, name) = (config.host_of(wanted).to_owned(), wanted.name.clone());
    let lifted = api
        .store()
        .write(Durability::Full, {
            let name = name.clone();
            move |tx| -> Result<_, StoreError> {
                let row = observed::find(tx, &host, &name)?;
                landed::unfreeze(tx, &host, &name, row.map(|row| row.id))
            }
        })
        .await?;
    if !lifted {
        return Err(ApiError::new(ErrorCode::Refused, format!("merging is not frozen in {name}"))
            .hint("`steward repo list` shows where it is"));
    }
    view(api, &name).await
}

/// The watched repository of this name, which an address names with its host.
pub(super) fn watched<'c>(config: &'c Config, text: &str) -> Result<&'c Repository, ApiError> {
    let Asked { name, host } = Asked::parse(text, config)?;
    let there = |found: &&Repository| {
        host.as_ref().is_none_or(|host| config.host_of(found).eq_ignore_ascii_case(host))
    };
    config.repository(&name).filter(there).ok_or_else(|| {
        let at = host.as_deref().map(|host| format!(" of {}", convert::line(host))).unwrap_or_default();
        ApiError::new(ErrorCode::NotFound, format!("{name}{at} is not watched"))
            .hint("`steward repo list` lists what is, `steward repo add` adds it")
    })
}

/// A name as a person gives it.
struct Asked {
    name: RepoName,
    /// From an address.
    host: Option<String>,
}

impl Asked {
    /// Reads `owner/name` or the repository's address.
    fn parse(text: &str, config: &Config) -> Result<Self, ApiError> {
        let text = text.trim();
        let bare = |path: &str| {
            let path = path.trim_end_matches('/');
            RepoName::parse(path.strip_suffix(".git").unwrap_or(path))
        };
        let hosts: Vec<String> = config.accounts.iter().map(|account| account.host.clone()).collect();
        let found = match bare(text) {
            Some(name) => Some(Self { name, host: None }),
            None => match Remote::parse(text, Path::new("/"), &hosts) {
                Remote::GitHub { host, name } => Some(Self { name, host: Some(host) }),
                Remote::Other(shown) => shown
                    .split_once('/')
                    .and_then(|(host, path)| Some(Self { name: bare(path)?, host: Some(host.to_owned()) })),
                Remote::None | Remote::Path(_) => None,
            },
        };
        found.ok_or_else(|| {
            let message = format!("name: `{}` is not `owner/name`", convert::line(text));
            ApiError::new(ErrorCode::BadRequest, message)
        })
    }
}

/// The account a new repository is read as: the one that is named, else the first of its host.
fn account<'c>(
    config: &'c Config,
    named: Option<&str>,
    host: Option<&str>,
) -> Result<Option<&'c Account>, ApiError> {
    let on_host = |account: &&Account| host.is_none_or(|host| account.host.eq_ignore_ascii_case(host));
    if let Some(named) = named.map(str::trim).filter(|named| !named.is_empty()) {
        let mut found = config.accounts.iter().filter(|account| account.is_named(named)).filter(on_host);
        return match (found.next(), found.next()) {
            (Some(account), None) => Ok(Some(account)),
            (Some(_), Some(_)) => {
                let message = format!("account: {} is on several hosts", convert::line(named));
                Err(ApiError::new(ErrorCode::BadRequest, message).hint("write it as LOGIN@HOST"))
            }
            (None, _) => {
                let at = host.map(|host| format!(" on {}", convert::line(host))).unwrap_or_default();
                let message = format!("account: there is no account {}{at}", convert::line(named));
                Err(ApiError::new(ErrorCode::BadRequest, message).hint("`steward auth status` lists them"))
            }
        };
    }
    let found = config.accounts.iter().find(on_host);
    match (found, host) {
        // Without any account github.com is meant, and nothing is asked there.
        (None, Some(host)) if host != "github.com" || !config.accounts.is_empty() => {
            let message = format!("no account on {} is configured", convert::line(host));
            Err(ApiError::new(ErrorCode::SignedOut, message)
                .hint(format!("`steward auth login --host {}` adds one", convert::line(host))))
        }
        (found, _) => Ok(found),
    }
}

/// What GitHub calls the repository now. Where GitHub cannot be asked, the name stands as it was given.
async fn name_on_github(api: &Api, account: &Account, name: &RepoName) -> Result<RepoName, ApiError> {
    let client = match api.context().client(account).await {
        Ok(client) => client,
        Err(NoAccount::SignedOut { .. } | NoAccount::NotConfigured(_) | NoAccount::Keyring(_)) => {
            return Ok(name.clone());
        }
        Err(error) => return Err(error.into()),
    };
    match client.reader().repo(name).await {
        Ok(answer) => Ok(RepoName::parse(&answer.value.full_name).unwrap_or_else(|| name.clone())),
        Err(error @ (GitHubError::NotFound | GitHubError::Gone)) => {
            let message = format!("{name}: {error}");
            Err(ApiError::new(ErrorCode::NotFound, message).hint(error.hint()))
        }
        // The observer shows what stands in the way; the wish of the person is kept.
        Err(error) => {
            tracing::warn!(%name, error = error.slug(), "a new repository could not be looked up");
            Ok(name.clone())
        }
    }
}

/// What makes the clone at `path` a workspace; nothing when it is one already. Its origin may still have
/// the name that was asked for when GitHub has another one now, but no other host.
async fn clone_of(
    api: &Api,
    host: &str,
    names: &[&RepoName; 2],
    path: String,
) -> Result<Option<WorkspaceAdd>, ApiError> {
    let name = names[0];
    let found = workspaces::inspect(api, WorkspaceInspect { path }).await?;
    let remote = workspaces::remote(api, &found.path).await?;
    let fits = |at: &str, of: &RepoName| at.eq_ignore_ascii_case(host) && names.contains(&of);
    match &remote {
        Remote::GitHub { host: at, name: of } if fits(at, of) => {}
        Remote::GitHub { host: at, name: of } => {
            let message = format!(
                "workspacePath: this is a clone of {}/{of}, not of {}/{name}",
                convert::line(at),
                convert::line(host)
            );
            return Err(ApiError::new(ErrorCode::BadRequest, message));
        }
        Remote::None | Remote::Path(_) | Remote::Other(_) => {
            let message = format!("workspacePath: this is no clone of {name}: its origin leads elsewhere");
            return Err(ApiError::new(ErrorCode::BadRequest, message));
        }
    }
    let config = api.context().config();
    if config.workspaces.iter().any(|workspace| workspace.path.to_string_lossy() == found.path) {
        return Ok(None);
    }
    let taken = |title: &str| config.workspaces.iter().any(|workspace| workspace.title == title);
    let mut titles = [found.suggested_title, name.name.clone(), name.to_string()].into_iter();
    let title = titles.find(|title| !title.is_empty() && !taken(title)).ok_or_else(|| {
        ApiError::new(ErrorCode::Refused, "every title for this workspace is taken")
            .hint("`steward workspace add --title …` gives it one")
    })?;
    Ok(Some(WorkspaceAdd { title, path: found.path, forge: None }))
}

/// Tells every window and the runtime that what is watched has changed.
pub(super) async fn changed(api: &Api) -> Result<(), ApiError> {
    let told = api.store().write(Durability::Normal, |tx| tx.topic("repositories")).await;
    Ok(told?)
}

pub(super) async fn view(api: &Api, name: &RepoName) -> Result<v::RepositoryView, ApiError> {
    let config = api.context().config();
    let found = config.repository(name).ok_or_else(|| {
        ApiError::new(ErrorCode::Config, format!("{name} is in the config file, which is not in force"))
            .hint("`steward config check` says why")
    })?;
    super::board::view(api, found).await
}
