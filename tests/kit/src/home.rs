//! A fresh home for one test: nothing of the machine's person is read or written.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Everything of one installation under a temporary folder that goes with it.
pub struct TestHome {
    dir: TempDir,
}

impl Default for TestHome {
    fn default() -> Self {
        Self::new()
    }
}

impl TestHome {
    pub fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("steward-home-").tempdir().expect("a temporary folder");
        std::fs::create_dir_all(dir.path().join("steward")).expect("a folder for STEWARD_HOME");
        Self { dir }
    }

    /// `STEWARD_HOME`.
    pub fn path(&self) -> PathBuf {
        self.dir.path().join("steward")
    }

    /// A place for repositories and other files of the test, outside `STEWARD_HOME`.
    pub fn outside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write_config(&self, text: &str) {
        std::fs::write(self.path().join("config.yaml"), text).expect("a writable home");
    }

    pub fn config(&self) -> String {
        std::fs::read_to_string(self.path().join("config.yaml")).unwrap_or_default()
    }

    /// Writes `seats/<role>.yaml`.
    pub fn write_seat(&self, role: &str, text: &str) {
        let folder = self.path().join("seats");
        std::fs::create_dir_all(&folder).expect("a writable home");
        std::fs::write(folder.join(format!("{role}.yaml")), text).expect("a writable home");
    }

    /// The whole environment of a process of this home.
    pub fn environment(&self) -> Vec<(String, String)> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        vec![
            ("PATH".to_owned(), std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned())),
            ("HOME".to_owned(), text(self.dir.path())),
            ("STEWARD_HOME".to_owned(), text(&self.path())),
            ("LANG".to_owned(), "C.UTF-8".to_owned()),
            ("TERM".to_owned(), "dumb".to_owned()),
        ]
    }
}
