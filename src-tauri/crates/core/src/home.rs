//! Where Steward keeps its files (product.md, *Files*).

use std::path::{Path, PathBuf};

/// The folders of one installation. With `STEWARD_HOME` set everything lies under it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// Holds `config.yaml` and `seats/<role>.yaml`.
    config: PathBuf,
    data: PathBuf,
    logs: PathBuf,
}

/// Why no home could be found.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error("neither STEWARD_HOME nor HOME is set, so there is no place for the configuration")]
    NoHome,
    #[error("STEWARD_HOME must be an absolute path, it is {0}")]
    Relative(PathBuf),
    #[error("could not create {path}: {source}")]
    Create { path: PathBuf, source: std::io::Error },
}

impl Home {
    /// Reads `STEWARD_HOME`, `XDG_*` and `HOME` of this process.
    pub fn from_env() -> Result<Self, HomeError> {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        if let Some(root) = var("STEWARD_HOME") {
            if root.is_relative() {
                return Err(HomeError::Relative(root));
            }
            return Ok(Self::under(&root));
        }
        let home = var("HOME").ok_or(HomeError::NoHome)?;
        let xdg =
            |name: &str, rest: &str| var(name).filter(|p| p.is_absolute()).unwrap_or_else(|| home.join(rest));
        if cfg!(target_os = "macos") {
            let support = home.join("Library/Application Support/steward");
            return Ok(Self {
                config: support.clone(),
                data: support,
                logs: home.join("Library/Logs/steward"),
            });
        }
        Ok(Self {
            config: xdg("XDG_CONFIG_HOME", ".config").join("steward"),
            data: xdg("XDG_DATA_HOME", ".local/share").join("steward"),
            logs: xdg("XDG_STATE_HOME", ".local/state").join("steward/logs"),
        })
    }

    /// Everything under one folder.
    pub fn under(root: &Path) -> Self {
        Self { config: root.to_owned(), data: root.to_owned(), logs: root.join("logs") }
    }

    /// Makes the folders, readable by the person alone.
    pub fn create(&self) -> Result<(), HomeError> {
        for path in [&self.config, &self.data, &self.logs] {
            let mut builder = std::fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(path).map_err(|source| HomeError::Create { path: path.clone(), source })?;
        }
        Ok(())
    }

    pub fn config_dir(&self) -> &Path {
        &self.config
    }

    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.yaml")
    }

    /// `seats/<role>.yaml` of the config folder.
    pub fn seat_file(&self, role: &str) -> PathBuf {
        self.config.join("seats").join(format!("{role}.yaml"))
    }

    pub fn data_dir(&self) -> &Path {
        &self.data
    }

    pub fn database(&self) -> PathBuf {
        self.data.join("steward.db")
    }

    pub fn backups(&self) -> PathBuf {
        self.data.join("backups")
    }

    /// Bare clones, one per repository or workspace.
    pub fn clones(&self) -> PathBuf {
        self.data.join("clones")
    }

    /// Evidence frames, by content hash.
    pub fn frames(&self) -> PathBuf {
        self.data.join("frames")
    }

    /// One folder per review: digest, tree, submission inbox, stream.
    pub fn seat_runs(&self) -> PathBuf {
        self.data.join("seats")
    }

    /// What a caller of the local HTTP door must show to ask for a run.
    pub fn http_token(&self) -> PathBuf {
        self.data.join("http-token")
    }

    pub fn runtime_lock(&self) -> PathBuf {
        self.data.join("runtime.lock")
    }

    pub fn logs(&self) -> &Path {
        &self.logs
    }
}
