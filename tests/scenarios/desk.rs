//! A maintainer's desk for tests: a home, a repository, a clock that is moved, and scripts as reviewers.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeZone, Utc};
use steward_core::clock::Clock;
use steward_core::config::ConfigWatch;
use steward_core::home::Home;
use steward_core::keychain::Keychain;
use steward_core::loops::review::{self, Ask, StartError, Stop};
use steward_core::loops::{Ctx, task};
use steward_core::store::inbox::{EntryRow, Shelf};
use steward_core::store::reviews::{ReviewRecord, Trigger};
use steward_core::store::{OpenOptions, Store, StoreError, inbox, notices, reviews};
use steward_kit::git::Repo;
use steward_rules::ids::{ReviewId, TaskId};
use steward_rules::review::lifecycle::Caller;

/// A clock that stands still until it is moved.
pub struct StandingClock(Mutex<DateTime<Utc>>);

impl StandingClock {
    pub fn forward(&self, by: chrono::Duration) {
        *self.0.lock().expect("clock") += by;
    }
}

impl Clock for StandingClock {
    fn now(&self) -> DateTime<Utc> {
        *self.0.lock().expect("clock")
    }
}

/// Everything one test works with.
pub struct Desk {
    pub root: PathBuf,
    pub home: Home,
    pub repo: Repo,
    pub ctx: Ctx,
    pub clock: Arc<StandingClock>,
    _folder: tempfile::TempDir,
}

/// Where there is no boundary no seat is started, so nothing of it can be shown.
pub fn boundary_is_here() -> bool {
    static HERE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *HERE.get_or_init(|| match steward_core::sandbox::Boundary::choose(Path::new("/nonexistent/steward")) {
        steward_core::sandbox::Boundary::None { reason } => {
            eprintln!("skipped: no boundary ({reason})");
            false
        }
        _ => true,
    })
}

/// Leaves the test where no seat can be started.
#[macro_export]
macro_rules! needs_boundary {
    () => {
        if !$crate::desk::boundary_is_here() {
            return;
        }
    };
}

pub const ACCEPTED: &str = r#"{"verdict":"ACCEPTED","summary":"well done"}"#;
pub const CHANGES: &str = r#"{"verdict":"CHANGES","summary":"one thing","findings":[
 {"title":"it subtracts","file":"src/lib.rs","line":2,"why":"minus instead of plus","check":"add(1, 2) == 3"}]}"#;

/// The lines of a reviewer that hands in this submission at once.
pub fn hand_in(submission: &str) -> String {
    format!(
        r#"hash=$(sha256sum "$STEWARD_DIGEST" | cut -d' ' -f1)
echo '{{"type":"usage","usd":0.25,"tokens":1000,"turns":2}}'
cat > "$STEWARD_SUBMISSION.new" <<SUBMISSION
{{"digestHash":"$hash","submission":{submission}}}
SUBMISSION
mv "$STEWARD_SUBMISSION.new" "$STEWARD_SUBMISSION"
"#
    )
}

impl Desk {
    /// A repository with one commit on `main` and the branch `fix` with one more, and reviews on.
    pub fn new() -> Self {
        Self::with(OpenOptions::default())
    }

    pub fn with(options: OpenOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("its real name");
        let repo = Repo::init(root.join("app"));
        repo.commit("first", &[("src/lib.rs", Some(b"pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"))]);
        repo.branch("fix");
        repo.commit(
            "fix: subtract",
            &[("src/lib.rs", Some(b"pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"))],
        );
        let home = Home::under(&root.join("home"));
        home.create().expect("the home");
        let clock = Arc::new(StandingClock(Mutex::new(
            Utc.with_ymd_and_hms(2026, 11, 30, 9, 0, 0).single().expect("a time"),
        )));
        let store = Store::open_with(&home, clock.clone(), options).expect("the store");
        std::fs::write(home.config_file(), config(&root, "")).expect("the config");
        let watch = ConfigWatch::watch(&home, Some(root.clone())).expect("the config is watched");
        let ctx = Ctx::new(
            home.clone(),
            store,
            clock.clone(),
            Arc::new(watch),
            PathBuf::from("/nonexistent/steward"),
        )
        .with_keychain(Keychain::with_environment(Some("made-up-credential".to_owned().into())));
        let desk = Self { root, home, repo, ctx, clock, _folder: folder };
        desk.reviewer(&hand_in(ACCEPTED));
        desk
    }

    /// Sets further keys of the `review:` block.
    pub fn review_keys(&self, keys: &str) {
        std::fs::write(self.home.config_file(), config(&self.root, keys)).expect("the config");
        self.ctx.config.reread();
    }

    /// Replaces the whole config.
    pub fn config(&self, text: &str) {
        std::fs::write(self.home.config_file(), text.replace("ROOT", &self.root.to_string_lossy()))
            .expect("written");
        self.ctx.config.reread();
    }

    /// Makes a shell script of these lines the reviewer.
    pub fn reviewer(&self, lines: &str) {
        self.reviewer_with(lines, "");
    }

    /// The same with limits in its seat file.
    pub fn reviewer_with(&self, lines: &str, limits: &str) {
        let script = self.root.join("reviewer");
        let fresh = self.root.join("reviewer.new");
        std::fs::write(&fresh, format!("#!/bin/sh\n{lines}")).expect("the script");
        std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).expect("executable");
        std::fs::rename(&fresh, &script).expect("in place");
        let seat = self.home.seat_file("reviewer");
        std::fs::create_dir_all(seat.parent().expect("a folder")).expect("made");
        let limits = if limits.is_empty() { String::new() } else { format!("limits: {{{limits}}}\n") };
        std::fs::write(seat, format!("adapter: command\ncommand: [\"{}\"]\n{limits}", script.display()))
            .expect("written");
    }

    /// The task of the branch `fix`.
    pub async fn task(&self) -> TaskId {
        task::add(&self.ctx, "app", "fix", Some("Fix the sum".to_owned())).await.expect("a task").id
    }

    pub async fn try_start(&self, task: TaskId) -> Result<ReviewId, StartError> {
        let ask = Ask { task, sha: None, trigger: Trigger::Manual, caller: Caller::Person };
        review::start(&self.ctx, ask).await
    }

    pub async fn start(&self, task: TaskId) -> ReviewId {
        self.try_start(task).await.expect("it may start")
    }

    /// The words of the refusal.
    pub async fn refused(&self, task: TaskId) -> String {
        match self.try_start(task).await {
            Ok(id) => panic!("review {id} was started"),
            Err(error) => error.to_string(),
        }
    }

    /// Drives a queued review as far as it goes, and gives its row.
    pub async fn drive(&self, id: ReviewId) -> ReviewRecord {
        review::drive(&self.ctx, id, &Stop::default()).await.expect("driven");
        self.row(id).await
    }

    /// Starts a review of a task and drives it.
    pub async fn review(&self, task: TaskId) -> ReviewRecord {
        let id = self.start(task).await;
        self.drive(id).await
    }

    pub async fn row(&self, id: ReviewId) -> ReviewRecord {
        let found = self.ctx.store.read(move |tx| reviews::get(tx, id)).await;
        found.expect("read").expect("there is such a review")
    }

    /// The open inbox.
    pub async fn inbox(&self) -> Vec<EntryRow> {
        self.ctx.store.read(|tx| inbox::page(tx, Shelf::Open, None, None, 50)).await.expect("read")
    }

    /// Notifications ever written for a review, and those still to be shown.
    pub async fn notices(&self, id: ReviewId) -> (u32, usize) {
        let target = format!("review/{id}");
        self.ctx
            .store
            .read(move |tx| {
                let waiting = notices::waiting(tx, 50)?.iter().filter(|one| one.target == target).count();
                Ok::<_, StoreError>((notices::count_for(tx, &target)?, waiting))
            })
            .await
            .expect("read")
    }

    /// Waits until a review's row satisfies `done`.
    pub async fn until(
        &self,
        id: ReviewId,
        what: &str,
        done: impl Fn(&ReviewRecord) -> bool,
    ) -> ReviewRecord {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let row = self.row(id).await;
            if done(&row) {
                return row;
            }
            assert!(Instant::now() < deadline, "not in time: {what}; {row:?}");
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    }
}

fn config(root: &Path, review_keys: &str) -> String {
    let comma = if review_keys.is_empty() { "" } else { ", " };
    format!(
        "workspaces:\n  - title: app\n    path: {}\nreview: {{enabled: true{comma}{review_keys}}}\n",
        root.join("app").display()
    )
}
