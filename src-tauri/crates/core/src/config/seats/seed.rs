//! The first seat files.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use super::SeatError;
use crate::config::Role;
use crate::home::Home;

/// What seeding did for one role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeded {
    pub role: Role,
    pub path: PathBuf,
    /// False when the file was there already; it is left as it is.
    pub written: bool,
}

/// Writes one seat file per role, skipping any that exist.
pub fn seed(home: &Home) -> Result<Vec<Seeded>, SeatError> {
    let mut seeded = Vec::new();
    for role in Role::ALL {
        let path = home.seat_file(role.as_str());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|source| SeatError::Io {
                doing: "create",
                path: folder.to_owned(),
                source,
            })?;
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = match options.open(&path) {
            Ok(mut file) => {
                file.write_all(template(role).as_bytes())
                    .and_then(|()| file.sync_all())
                    .map_err(|source| SeatError::Io { doing: "write", path: path.clone(), source })?;
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => false,
            Err(source) => return Err(SeatError::Io { doing: "create", path, source }),
        };
        seeded.push(Seeded { role, path, written });
    }
    Ok(seeded)
}

/// The first seat file of a role.
pub fn template(role: Role) -> String {
    format!(
        "\
# What the seat of the {role} is started as. `agents.{role}` in config.yaml goes before
# adapter, model and command.
adapter: claude
# model: claude-opus-5-5
# command: [/path/to/claude]        # where it is not on PATH
# endpoint: https://api.example.org # where the model is not the agent's own
# prompt: Your own words            # in place of Steward's
# limits: {{idleSeconds: 300, maxTurns: 60, maxTokens: 2000000}}
",
        role = role.as_str(),
    )
}
