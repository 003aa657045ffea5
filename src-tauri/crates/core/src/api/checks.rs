//! Which checks a repository requires: proposed from what it does already, and written to the config file
//! (engine.md 16, set-up help).

use steward_rules::engine::policy::Policy;
use steward_rules::engine::setup::{self, Practice, Proposal};

use super::error::ApiError;
use super::repositories::{changed, view, watched};
use super::requests::{RepositoryByName, RepositoryChecks};
use super::{Api, convert, edits, settings, views as v};
use crate::config::Repository;
use crate::config::edit::Edit;
use crate::loops::engine::reading::{self, Place};
use crate::store::repositories::{self, Description, RepositoryId};

/// Checks to require, and where they come from.
pub(super) struct Proposed {
    pub names: Vec<String>,
    pub source: v::CheckSource,
    /// As a person reads it.
    pub says: String,
}

/// Reads by which checks a repository goes, and proposes which to require.
pub async fn propose(api: &Api, request: RepositoryByName) -> Result<v::ChecksView, ApiError> {
    let config = api.context().config();
    let repository = watched(&config, &request.name)?.clone();
    let host = config.host_of(&repository).to_owned();
    let (name, of) = (repository.name.clone(), host.clone());
    let row = api.store().read(move |tx| repositories::find(tx, &of, &name)).await?;
    // One that was not looked at yet can be asked about as well; nothing of this reading is kept.
    let repository_id = row.as_ref().map_or(RepositoryId(0), |row| row.id);
    let policy = on_base(api, &host, &repository, row.and_then(|row| row.seen)).await?;
    let place = Place { host, repo: repository.name, repository_id, policy };
    let practice = reading::practice(api.context(), &place).await?;
    let proposed = proposed(&practice, &place.policy.required_app);
    Ok(v::ChecksView {
        repository: place.repo.to_string(),
        base: place.policy.base.as_deref().map_or_else(|| "the default branch".to_owned(), convert::line),
        required: place.policy.required_checks.iter().map(|name| convert::line(name)).collect(),
        proposed: proposed.names,
        source: proposed.source,
        proposal: proposed.says,
    })
}

/// The policy as the file has it, with the default branch where it names no base: as the last look showed it, or
/// as GitHub names it now.
pub(super) async fn on_base(
    api: &Api,
    host: &str,
    repository: &Repository,
    seen: Option<Description>,
) -> Result<Policy, ApiError> {
    let mut default_branch = seen.and_then(|seen| seen.default_branch);
    if repository.engine.base.is_none() && default_branch.is_none() {
        default_branch = reading::default_branch(api.context(), host, &repository.name).await?;
    }
    Ok(repository.engine.clone().on(default_branch.as_deref()))
}

/// What requiring these checks would change in the config file. Nothing is written.
pub async fn preview(api: &Api, request: RepositoryChecks) -> Result<v::EditView, ApiError> {
    let name = watched(&api.context().config(), &request.name)?.name.to_string();
    edits::preview(api, &[Edit::SetRequiredChecks { name, checks: request.checks }]).await
}

/// Writes which checks must be well before a merge.
pub async fn set(api: &Api, request: RepositoryChecks) -> Result<v::RepositoryView, ApiError> {
    api.person("change which checks a repository requires")?;
    let name = watched(&api.context().config(), &request.name)?.name.clone();
    let edit = Edit::SetRequiredChecks { name: name.to_string(), checks: request.checks };
    settings::change(api, &edit)?;
    changed(api).await?;
    view(api, &name).await
}

/// The checks to require, from what the forge and the last merges say.
pub(super) fn proposed(practice: &Practice, app: &str) -> Proposed {
    let shown = |names: &[String]| names.iter().map(|name| convert::line(name)).collect();
    match setup::propose(practice, app) {
        Proposal::Required { names } => Proposed {
            names: shown(&names),
            source: v::CheckSource::Forge,
            says: "GitHub requires these checks already:".to_owned(),
        },
        Proposal::Usual { names, heads } => Proposed {
            names: shown(&names),
            source: v::CheckSource::Usual,
            says: format!("Each of the last {heads} merged heads had these checks, all well:"),
        },
        Proposal::None { heads } => Proposed {
            names: Vec::new(),
            source: v::CheckSource::None,
            says: format!(
                "No check can be proposed: {heads} merged heads were read, and none was well at all of them."
            ),
        },
        Proposal::Unread(why) => Proposed {
            names: Vec::new(),
            source: v::CheckSource::Unread,
            says: convert::line(&format!("No check can be proposed: {}", why.detail)),
        },
    }
}
