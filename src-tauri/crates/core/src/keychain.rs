//! Secrets in the keyring of the system, and nowhere else (product.md, *Files*).
//!
//! Every call blocks on D-Bus somewhere below, so all of them run on a blocking thread.

use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

/// The name under which all secrets of Steward lie.
pub const SERVICE: &str = "steward";
/// The general credential of agents.
pub const AGENT: &str = "agent";
/// Gives the agents' credential where no keyring can be, such as on a server.
pub const AGENT_VARIABLE: &str = "STEWARD_AGENT_KEY";
/// Gives the token of the GitHub accounts of one host where no keyring can be.
pub const GITHUB_VARIABLE: &str = "STEWARD_GITHUB_TOKEN";

/// The name under which the token of an account lies.
pub fn github(host: &str, login: &str) -> String {
    format!("github:{}@{}", login.to_ascii_lowercase(), host.to_ascii_lowercase())
}

/// What the keyring of the system can do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "state", content = "why")]
pub enum KeyringState {
    Ready,
    /// There is one, and it must be unlocked first.
    Locked,
    /// There is none, and why.
    Absent(String),
    /// The person, or the system, said no.
    Denied,
}

impl KeyringState {
    /// What to do about it; nothing when it is ready.
    pub fn next_step(&self) -> Option<&'static str> {
        match self {
            Self::Ready => None,
            Self::Locked => {
                Some("unlock the keyring (log in to the desktop, or open its password manager) and try again")
            }
            Self::Absent(_) => Some(
                "start a Secret Service such as gnome-keyring or KWallet; on a machine without one set STEWARD_GITHUB_TOKEN or STEWARD_AGENT_KEY for this command",
            ),
            Self::Denied => Some("allow Steward to use the keyring when it asks"),
        }
    }
}

/// Where a secret was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretSource {
    Keyring,
    /// From the environment of this process; it goes before the keyring.
    Environment,
}

/// A secret and where it was found. Its text is not in its `Debug`.
#[derive(Debug, Clone)]
pub struct Found {
    pub secret: SecretString,
    pub source: SecretSource,
}

#[derive(Debug, thiserror::Error)]
pub enum KeychainError {
    #[error("the keyring is locked; unlock it and try again")]
    Locked,
    #[error(
        "there is no keyring here ({0}); start a Secret Service, or set STEWARD_GITHUB_TOKEN or STEWARD_AGENT_KEY for this command"
    )]
    Absent(String),
    #[error("the keyring refused; allow Steward to use it")]
    Denied,
    #[error("a secret must be one line of 1 to 4096 printable characters")]
    Unfit,
    #[error("the keyring failed: {0}")]
    Failed(String),
}

impl KeychainError {
    /// The state of the keyring that this error shows, where it shows one.
    pub fn state(&self) -> Option<KeyringState> {
        match self {
            Self::Locked => Some(KeyringState::Locked),
            Self::Absent(why) => Some(KeyringState::Absent(why.clone())),
            Self::Denied => Some(KeyringState::Denied),
            Self::Unfit | Self::Failed(_) => None,
        }
    }
}

/// The keyring, and what the environment puts before it.
#[derive(Debug, Clone, Default)]
pub struct Keychain {
    agent: Option<SecretString>,
    github: Option<SecretString>,
}

impl Keychain {
    /// The keyring of this session, with what `STEWARD_AGENT_KEY` and `STEWARD_GITHUB_TOKEN` give before it.
    pub fn from_env() -> Self {
        let given = |name| {
            let value = std::env::var(name).ok().filter(|value| !value.trim().is_empty());
            value.map(|value| SecretString::from(value.trim().to_owned()))
        };
        Self { agent: given(AGENT_VARIABLE), github: given(GITHUB_VARIABLE) }
    }

    /// A keyring with this text before it, for the agents' credential.
    pub fn with_environment(value: Option<SecretString>) -> Self {
        Self { agent: value, github: None }
    }

    /// The same with this token before it, for the GitHub accounts of one host.
    pub fn with_github_token(self, value: Option<SecretString>) -> Self {
        Self { github: value, ..self }
    }

    /// The token that the environment gives, for the accounts of one host.
    pub fn github_token(&self) -> Option<SecretString> {
        self.github.clone()
    }

    /// The secret of an account; `None` only when the open keyring holds none.
    pub async fn get(&self, account: &str) -> Result<Option<Found>, KeychainError> {
        let given = match account {
            AGENT => self.agent.as_ref(),
            name if name.starts_with("github:") => self.github.as_ref(),
            _ => None,
        };
        if let Some(secret) = given {
            return Ok(Some(Found { secret: secret.clone(), source: SecretSource::Environment }));
        }
        let account = account.to_owned();
        let found = blocking(move || get(&account)).await?;
        Ok(found.map(|secret| Found { secret, source: SecretSource::Keyring }))
    }

    /// Keeps a secret in the keyring.
    pub async fn set(&self, account: &str, secret: SecretString) -> Result<(), KeychainError> {
        let text = secret.expose_secret();
        if text.is_empty() || text.len() > 4096 || text.chars().any(char::is_control) {
            return Err(KeychainError::Unfit);
        }
        let account = account.to_owned();
        blocking(move || with_entry(&account, |entry| entry.set_password(secret.expose_secret()))).await
    }

    /// Removes a secret from the keyring; true when there was one.
    pub async fn delete(&self, account: &str) -> Result<bool, KeychainError> {
        let account = account.to_owned();
        blocking(move || {
            if get(&account)?.is_none() {
                return Ok(false);
            }
            with_entry(&account, |entry| entry.delete_credential()).map(|()| true)
        })
        .await
    }

    /// Whether secrets can be read and kept now. Asks without making anything appear on the screen.
    pub async fn state(&self) -> KeyringState {
        match blocking(probe).await {
            Ok(()) => KeyringState::Ready,
            Err(error) => error.state().unwrap_or_else(|| KeyringState::Absent(error.to_string())),
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, KeychainError> + Send + 'static,
) -> Result<T, KeychainError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|_| Err(KeychainError::Failed("its thread ended".to_owned())))
}

fn get(account: &str) -> Result<Option<SecretString>, KeychainError> {
    match with_entry_raw(account, |entry| entry.get_password())? {
        Ok(text) => Ok(Some(SecretString::from(text))),
        // A locked keyring says the same as an empty one, so it is asked whether it is locked.
        Err(keyring::Error::NoEntry) => probe().map(|()| None),
        Err(error) => Err(named(error)),
    }
}

fn with_entry<T>(
    account: &str,
    work: impl Fn(&keyring::Entry) -> keyring::Result<T>,
) -> Result<T, KeychainError> {
    with_entry_raw(account, work)?.map_err(named)
}

/// Runs `work` on the entry; once more with a new connection when the service came or came back since
/// this process first asked.
fn with_entry_raw<T>(
    account: &str,
    work: impl Fn(&keyring::Entry) -> keyring::Result<T>,
) -> Result<keyring::Result<T>, KeychainError> {
    let first = match keyring::Entry::new(SERVICE, account) {
        Ok(entry) => match work(&entry) {
            Err(keyring::Error::PlatformFailure(_)) => None,
            other => Some(other),
        },
        Err(keyring::Error::NoDefaultStore) => None,
        Err(error) => return Err(named(error)),
    };
    match first {
        Some(result) => Ok(result),
        None => system::reconnected(account).map(|entry| work(&entry)),
    }
}

fn named(error: keyring::Error) -> KeychainError {
    match error {
        // A locked keyring without a screen to ask on says that the prompt was dismissed, so the words
        // tell nothing. One that is open and still gives nothing was told not to.
        keyring::Error::NoStorageAccess(_) => probe().err().unwrap_or(KeychainError::Denied),
        keyring::Error::NoDefaultStore => KeychainError::Absent(cause_of_absence()),
        keyring::Error::PlatformFailure(cause) => KeychainError::Absent(first_line(&cause.to_string())),
        other => KeychainError::Failed(first_line(&other.to_string())),
    }
}

fn cause_of_absence() -> String {
    match keyring::Entry::store_status() {
        Ok(()) => "it went away".to_owned(),
        Err(error) => first_line(&error.to_string()),
    }
}

/// The causes come from D-Bus; they are shown, so they are cut and cleaned.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control()).take(200).collect()
}

fn probe() -> Result<(), KeychainError> {
    system::probe()
}

#[cfg(target_os = "linux")]
mod system {
    use super::{KeychainError, SERVICE, first_line, named};
    use zbus::blocking::{Connection, Proxy};
    use zbus::zvariant::OwnedObjectPath;

    /// An entry over a new connection.
    pub(super) fn reconnected(account: &str) -> Result<keyring::Entry, KeychainError> {
        let store = zbus_secret_service_keyring_store::Store::new().map_err(named)?;
        keyring_core::set_default_store(store);
        let inner = keyring_core::Entry::new(SERVICE, account).map_err(named)?;
        Ok(keyring::Entry { inner })
    }

    /// Asks the Secret Service whether its default collection is there and open.
    pub(super) fn probe() -> Result<(), KeychainError> {
        const NAME: &str = "org.freedesktop.secrets";
        let absent = |error: zbus::Error| KeychainError::Absent(first_line(&error.to_string()));
        let bus = Connection::session().map_err(absent)?;
        let service = Proxy::new(&bus, NAME, "/org/freedesktop/secrets", "org.freedesktop.Secret.Service")
            .map_err(absent)?;
        let collection: OwnedObjectPath = service.call("ReadAlias", &("default",)).map_err(absent)?;
        if collection.as_str() == "/" {
            // No collection yet: the first unlock makes one.
            return Err(KeychainError::Locked);
        }
        let collection =
            Proxy::new(&bus, NAME, collection, "org.freedesktop.Secret.Collection").map_err(absent)?;
        match collection.get_property::<bool>("Locked").map_err(absent)? {
            true => Err(KeychainError::Locked),
            false => Ok(()),
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::{KeychainError, SERVICE, cause_of_absence, named};

    pub(super) fn reconnected(account: &str) -> Result<keyring::Entry, KeychainError> {
        keyring::Entry::new(SERVICE, account).map_err(named)
    }

    /// Here a locked keychain answers with an error of its own, never like an empty one.
    pub(super) fn probe() -> Result<(), KeychainError> {
        match keyring::Entry::store_status() {
            Ok(()) => Ok(()),
            Err(_) => Err(KeychainError::Absent(cause_of_absence())),
        }
    }
}
