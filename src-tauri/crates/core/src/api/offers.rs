//! What could be watched: clones on this machine, and the repositories of the accounts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use steward_rules::ids::RepoName;

use super::error::ApiError;
use super::requests::Nothing;
use super::views as v;
use super::{Api, convert};
use crate::config::Config;
use crate::git::{Remote, Workspace};
use crate::loops::Ctx;
use crate::loops::accounts::NoAccount;

/// Folders beside workspaces that are looked into, and entries of each.
const PARENTS: usize = 12;
const ENTRIES: usize = 500;
/// Clones that are opened, those used last first.
const CLONES: usize = 60;
/// Repositories shown of one account, pushed last first.
const OF_ACCOUNT: usize = 300;
const PATIENCE: Duration = Duration::from_secs(8);

/// Clones beside the workspaces and the repositories of every account. Reads only, and ends when its
/// caller goes away.
pub async fn list(api: &Api, _: Nothing) -> Result<v::OfferPage, ApiError> {
    let config = api.context().config();
    let (clones, account) = tokio::join!(clones(api, &config), of_accounts(api, &config));
    let (clones, mut problems) = clones;
    problems.extend(account.1);
    Ok(v::OfferPage { clones, account: account.0, problems })
}

type Half = (Vec<v::RepositoryOffer>, Vec<v::StatusReason>);

async fn of_accounts(api: &Api, config: &Config) -> Half {
    let (mut offers, mut problems) = (Vec::new(), Vec::new());
    // Accounts of one host share repositories.
    let mut seen = BTreeSet::new();
    for account in &config.accounts {
        let read = async {
            let client = api.context().client(account).await?;
            client.reader().own_repos().await.map_err(|error| NoAccount::Open(error.into()))
        };
        match read.await {
            Ok(repos) => {
                let open = repos.into_iter().filter(|repo| !repo.disabled).take(OF_ACCOUNT);
                let offer = |repo: crate::github::types::Repo| {
                    let name = RepoName::parse(&repo.full_name)?;
                    Some(v::RepositoryOffer {
                        host: convert::line(&account.host),
                        watched: is_watched(config, &account.host, &name),
                        name: name.to_string(),
                        path: None,
                        private: Some(repo.private),
                        archived: repo.archived,
                        active_at: repo.pushed_at,
                    })
                };
                offers.extend(
                    open.filter_map(offer).filter(|offer| seen.insert(key(&offer.host, &offer.name))),
                );
            }
            Err(error) => {
                let error = ApiError::from(error);
                problems.push(v::StatusReason {
                    code: "account".to_owned(),
                    message: format!(
                        "the repositories of {}@{} cannot be listed: {}",
                        convert::line(&account.login),
                        convert::line(&account.host),
                        error.message
                    ),
                    hint: error.hint,
                });
            }
        }
    }
    (offers, problems)
}

fn is_watched(config: &Config, host: &str, name: &RepoName) -> bool {
    config.repository(name).is_some_and(|known| config.host_of(known).eq_ignore_ascii_case(host))
}

/// What makes two offers the same one.
fn key(host: &str, name: &str) -> (String, String) {
    (host.to_ascii_lowercase(), name.to_ascii_lowercase())
}

async fn clones(api: &Api, config: &Config) -> Half {
    let ctx = api.context().clone();
    let config = config.clone();
    let gone = Arc::new(AtomicBool::new(false));
    let _caller = GoneWhenDropped(Arc::clone(&gone));
    let looked = tokio::task::spawn_blocking(move || look_around(&ctx, &config, &gone)).await;
    looked.unwrap_or_else(|_| (Vec::new(), vec![reason("the search for clones ended early".to_owned())]))
}

/// Says to the search that nobody waits for it any more.
struct GoneWhenDropped(Arc<AtomicBool>);

impl Drop for GoneWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn reason(message: String) -> v::StatusReason {
    v::StatusReason { code: "clones".to_owned(), message, hint: None }
}

fn look_around(ctx: &Ctx, config: &Config, gone: &AtomicBool) -> Half {
    let end = Instant::now() + PATIENCE;
    let git = match ctx.git() {
        Ok(git) => git,
        Err(error) => return (Vec::new(), vec![reason(error.to_string())]),
    };
    let (folders, mut problems) = candidates(config, gone);
    let (mut offers, mut seen) = (Vec::<v::RepositoryOffer>::new(), BTreeSet::new());
    for (folder, active_at) in folders {
        if gone.load(Ordering::Relaxed) {
            break;
        }
        if Instant::now() > end {
            problems.push(reason("the search for clones took too long, so some are not shown".to_owned()));
            break;
        }
        // What is no repository of its own, or broken, is no offer.
        let Ok(workspace) = Workspace::open(&git, &folder, &ctx.hosts()) else { continue };
        let Remote::GitHub { host, name } = workspace.remote() else { continue };
        if !seen.insert(key(host, &name.to_string())) {
            continue;
        }
        offers.push(v::RepositoryOffer {
            host: convert::line(host),
            watched: is_watched(config, host, name),
            name: name.to_string(),
            path: Some(workspace.root().to_string_lossy().into_owned()),
            private: None,
            archived: false,
            active_at,
        });
    }
    (offers, problems)
}

/// A folder that may be a clone, and when it was used last.
type Candidate = (PathBuf, Option<DateTime<Utc>>);

/// Folders with a `.git` in the workspaces and beside them, used last first.
fn candidates(config: &Config, gone: &AtomicBool) -> (Vec<Candidate>, Vec<v::StatusReason>) {
    let mut folders: BTreeSet<PathBuf> = config.workspaces.iter().map(|known| known.path.clone()).collect();
    let parents: BTreeSet<PathBuf> =
        config.workspaces.iter().filter_map(|known| Some(known.path.parent()?.to_owned())).collect();
    let mut problems = Vec::new();
    for parent in parents.iter().take(PARENTS) {
        let entries = match std::fs::read_dir(parent) {
            Ok(entries) => entries,
            Err(error) => {
                let shown = convert::line(&parent.to_string_lossy());
                problems.push(reason(format!("{shown} cannot be listed: {error}")));
                continue;
            }
        };
        for entry in entries.flatten().take(ENTRIES) {
            if gone.load(Ordering::Relaxed) {
                break;
            }
            // A link could lead anywhere; a folder that is meant is found beside its own workspace.
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.insert(entry.path());
            }
        }
    }
    let mut found: Vec<_> = folders
        .into_iter()
        .filter(|folder| folder.join(".git").exists())
        .map(|folder| (used_at(&folder), folder))
        .collect();
    found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    (found.into_iter().take(CLONES).map(|(at, folder)| (folder, at)).collect(), problems)
}

/// When git last wrote there: a checkout, a commit or a fetch.
fn used_at(folder: &Path) -> Option<DateTime<Utc>> {
    let files = ["index", "HEAD", "FETCH_HEAD", "logs/HEAD"];
    let times =
        files.iter().filter_map(|file| folder.join(".git").join(file).metadata().ok()?.modified().ok());
    times.max().map(DateTime::<Utc>::from)
}
