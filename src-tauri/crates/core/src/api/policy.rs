//! The policy of a watched repository as it is in force.

use super::error::ApiError;
use super::repositories::watched;
use super::requests::RepositoryByName;
use super::views as v;
use super::{Api, convert, settings};
use crate::config;

pub async fn show(api: &Api, request: RepositoryByName) -> Result<v::PolicyView, ApiError> {
    let loaded = api.context().config.reread();
    let repository = watched(&loaded.config, &request.name)?;
    Ok(v::PolicyView {
        host: convert::line(loaded.config.host_of(repository)),
        name: repository.name.to_string(),
        values: config::of_repository(&loaded, repository).iter().map(settings::effective).collect(),
    })
}
