//! A person's desk: a fresh home, a repository with a branch, and the built `steward`.

use std::path::{Path, PathBuf};

use steward_kit::git::Repo;
use steward_kit::home::TestHome;
use steward_kit::pty::{self, Ran};

pub fn steward() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_steward"))
}

pub struct Desk {
    pub home: TestHome,
    pub repo: Repo,
}

impl Desk {
    /// A home with the workspace `app` and its branch `fix/etag`, one commit ahead of `main`.
    pub fn new() -> Self {
        let home = TestHome::new();
        let repo = Repo::init(home.outside("app"));
        repo.commit("feat: start", &[("src/a.rs", Some(b"fn a() {}\n"))]);
        repo.branch("fix/etag");
        repo.commit("fix: keep the etag", &[("src/a.rs", Some(b"fn a() {}\nfn b() {}\nfn c() {}\n"))]);
        let desk = Self { home, repo };
        desk.person(&["workspace", "add", "--title", "app", "--path", &desk.path()]).ok();
        desk
    }

    /// With a task for the branch, as number 1.
    pub fn with_task() -> Self {
        let desk = Self::new();
        let task = desk.person(&["task", "add", "--workspace", "app", "--branch", "fix/etag", "--json"]).ok();
        assert_eq!(task.json()["id"], 1);
        desk
    }

    /// With reviews on and a reviewer that hands in `submission`.
    pub fn with_reviewer(submission: &str) -> Self {
        let desk = Self::with_task();
        desk.reviewer(&format!(
            "hash=$(sha256sum \"$STEWARD_DIGEST\" | cut -d' ' -f1)\n\
             cat > \"$STEWARD_SUBMISSION\" <<END\n{{\"digestHash\":\"$hash\",\"submission\":{submission}}}\nEND\n"
        ));
        desk.enable();
        desk
    }

    /// Switches reviews on, keeping what the file has.
    pub fn enable(&self) {
        let mut text = self.home.config();
        text.push_str("\nreview:\n  enabled: true\n");
        self.home.write_config(&text);
    }

    /// Makes a shell script the reviewer.
    pub fn reviewer(&self, script: &str) {
        let path = self.home.outside("reviewer.sh");
        std::fs::write(&path, format!("#!/bin/sh\n{script}")).expect("a writable folder");
        make_executable(&path);
        self.home.write_seat("reviewer", &format!("adapter: command\ncommand: [{}]\n", path.display()));
    }

    pub fn path(&self) -> String {
        self.repo.path().to_string_lossy().into_owned()
    }

    pub fn person(&self, args: &[&str]) -> Ran {
        pty::person(&self.home, steward(), args)
    }

    pub fn script(&self, args: &[&str]) -> Ran {
        pty::script(&self.home, steward(), args, &[])
    }
}

pub fn make_executable(path: &PathBuf) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a file of ours");
}

/// What a reviewer hands in: CHANGES with one finding at line 3 of `src/a.rs`.
pub const CHANGES: &str = r#"{"verdict":"CHANGES","summary":"one thing is wrong","findings":[
  {"title":"c is never called","file":"src/a.rs","line":3,"why":"dead code","check":"cargo clippy"}],
  "frames":[],"earlier":[]}"#;

/// What a reviewer hands in who found nothing.
pub const ACCEPTED: &str =
    r#"{"verdict":"ACCEPTED","summary":"it holds","findings":[],"frames":[],"earlier":[]}"#;
