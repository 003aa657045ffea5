//! The policy of a watched repository as it is in force.

use super::error::ApiError;
use super::repositories::watched;
use super::requests::RepositoryByName;
use super::views as v;
use super::{Api, convert, settings};
use crate::config;
use crate::loops::effects::powers;

pub async fn show(api: &Api, request: RepositoryByName) -> Result<v::PolicyView, ApiError> {
    let loaded = api.context().config.reread();
    let repository = watched(&loaded.config, &request.name)?;
    let host = loaded.config.host_of(repository).to_owned();
    let config = loaded.config.clone();
    let powers = api.store().read(move |tx| powers::read(tx, &config)).await?;
    let engine = powers.policy(&host, repository);
    Ok(v::PolicyView {
        host: convert::line(&host),
        name: repository.name.to_string(),
        values: config::of_repository(&loaded, repository, &engine).iter().map(settings::effective).collect(),
    })
}
