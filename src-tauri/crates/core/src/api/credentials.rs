//! The agent's credential: it goes in and can be deleted, and never comes out to a client.

use secrecy::SecretString;

use super::Api;
use super::error::ApiError;
use super::views::Done;
use crate::keychain::{AGENT, SecretSource};

pub async fn set_agent(api: &Api, key: String) -> Result<Done, ApiError> {
    api.person("set a credential")?;
    api.keychain().set(AGENT, SecretString::from(key)).await?;
    Ok(Done { message: "the agent's key is in the keyring".to_owned() })
}

pub async fn agent_status(api: &Api) -> Result<Done, ApiError> {
    let message = match api.keychain().get(AGENT).await? {
        Some(found) => match found.source {
            SecretSource::Keyring => "there is a key in the keyring",
            SecretSource::Environment => "the key comes from STEWARD_AGENT_KEY of the environment",
        },
        None => "there is no key; `steward auth agent` sets one",
    };
    Ok(Done { message: message.to_owned() })
}

pub async fn clear_agent(api: &Api) -> Result<Done, ApiError> {
    api.person("delete a credential")?;
    let had = api.keychain().delete(AGENT).await?;
    Ok(Done { message: if had { "the key is deleted".to_owned() } else { "there was no key".to_owned() } })
}
