//! The real Codex in real tmux, its model played from a script.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use steward_kit::responses::{Say, ScriptedResponses};
use steward_rules::questions::pane::Agent;
use tempfile::TempDir;

use super::gallery::{Expected, Gallery};

/// What a started Codex lives in.
pub struct Codex {
    pub gallery: Gallery,
    pub pane: String,
    pub model: ScriptedResponses,
    _home: Home,
}

/// The home of one Codex. Whatever was started with it, its own daemon too, ends with it.
struct Home(TempDir);

impl Drop for Home {
    fn drop(&mut self) {
        steward_kit::codex::end_all_of(self.0.path());
    }
}

impl Codex {
    /// Starts it and waits for its composer.
    pub async fn start(binary: &Path, says: Vec<Say>, args: &[&str]) -> Self {
        let model = ScriptedResponses::start(says).await;
        let mut gallery = Gallery::new(Agent::Codex, "codex 0.171.0");
        let folder = gallery.server.folder().to_owned();
        let (app, person) = (folder.join("app"), folder.join("home"));
        for made in [&app, &person] {
            std::fs::create_dir_all(made).unwrap();
        }
        let app = app.canonicalize().unwrap();
        gallery.hide(&app.to_string_lossy(), "/tmp/app");
        // Under /tmp its sandbox helper is not found, so its home is beside this test's own binary.
        let beside = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let home = tempfile::Builder::new().prefix("codex-").tempdir_in(beside).unwrap();
        let config = format!(
            "model = \"gpt-5.5-codex\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{}\"\nenv_key = \"SCRIPTED_KEY\"\n\
             wire_api = \"responses\"\nrequest_max_retries = 1\nstream_max_retries = 1\n\
             [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
            model.url(),
            app.display(),
        );
        std::fs::write(home.path().join("config.toml"), config).unwrap();
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let environment = [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("HOME", text(&person)),
            ("CODEX_HOME", text(home.path())),
            ("SCRIPTED_KEY", "made-up".to_owned()),
            ("TERM", "tmux-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
        ];
        let mut words = vec!["env".to_owned(), "-C".to_owned(), text(&app), "-i".to_owned()];
        words.extend(environment.iter().map(|(name, value)| format!("{name}={value}")));
        words.push(text(binary));
        words.extend(args.iter().map(|arg| (*arg).to_owned()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let pane = gallery.server.start((100, 30), &words);
        gallery.server.keep_ended_panes();
        gallery.server.until_shows(&pane, |text| text.contains("? for shortcuts"));
        Self { gallery, pane, model, _home: Home(home) }
    }

    pub fn shows(&self, words: &str) -> String {
        self.gallery.server.until_shows(&self.pane, |text| text.contains(words))
    }

    /// Presses Escape until it is seen to have been taken: a prompt that has just opened takes no key.
    fn leave(&self, words: &str) {
        let mut tries = 0;
        while !self.gallery.server.plain(&self.pane).contains(words) {
            tries += 1;
            assert!(tries < 60, "it never showed {words:?}");
            self.gallery.server.key(&self.pane, "Escape");
            std::thread::sleep(Duration::from_millis(250));
        }
    }

    /// Types a message and presses Enter until the composer has let it go: an Enter during its start
    /// or close behind fast keys is not taken.
    pub fn say(&self, text: &str) {
        self.gallery.server.type_keys(&self.pane, text);
        self.shows(text);
        let is_held = |shown: &str| {
            let last = shown.lines().rev().find(|line| line.starts_with('›')).unwrap_or_default();
            last.contains(text)
        };
        let mut tries = 0;
        while is_held(&self.gallery.server.plain(&self.pane)) {
            tries += 1;
            assert!(tries < 60, "it never took {text:?}");
            self.gallery.server.key(&self.pane, "Enter");
            std::thread::sleep(Duration::from_millis(250));
        }
    }
}

fn expected(state: &'static str, detail: &'static str, composer: &'static str) -> Expected {
    Expected { state, detail, composer }
}

pub fn binary() -> Option<PathBuf> {
    if steward_kit::tmux::is_there_or_say() { steward_kit::codex::find_or_say() } else { None }
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_at_rest_and_at_work_is_read_right() {
    let Some(binary) = binary() else { return };
    let says = vec![
        Say::text("Shall I use WAL or the rollback journal for storage?"),
        Say::call("exec_command", &json!({"cmd": "sleep 60"})),
        Say::text("Done."),
    ];
    let codex = Codex::start(&binary, says, &["-a", "never", "-s", "danger-full-access"]).await;
    let (gallery, pane) = (&codex.gallery, codex.pane.as_str());
    codex.say("pick one");
    codex.shows("Worked for");
    let asked = gallery.twice("codex-question-in-prose", pane, &expected("idle", "", "empty")).await;
    gallery.server.type_keys(pane, "let me think");
    codex.shows("let me think");
    let drafted = gallery.twice("codex-draft", pane, &expected("idle", "", "draft")).await;
    assert_eq!(asked.question, drafted.question, "a draft changes nothing of the question");
    codex.say(" about it");
    codex.shows("esc to interrupt");
    gallery.once("codex-working-once", pane, &expected("unknown", "lookagain", "empty")).await;
    gallery.twice("codex-working", pane, &expected("working", "", "empty")).await;
    codex.say("queued words");
    gallery.twice("codex-working-queue", pane, &expected("working", "", "empty")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_asking_is_read_right() {
    let Some(binary) = binary() else { return };
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: notes.md\n+# Notes\n*** End Patch\nEOF";
    let says = vec![
        Say::call(
            "exec_command",
            &json!({"cmd": "cargo test --workspace && touch /etc/x",
            "sandbox_permissions": "require_escalated", "justification": "Do you want to let me run the tests?"}),
        ),
        Say::call("exec_command", &json!({"cmd": patch})),
        Say::text("Done."),
    ];
    let codex = Codex::start(&binary, says, &["-a", "on-request", "-s", "read-only"]).await;
    let (gallery, pane) = (&codex.gallery, codex.pane.as_str());
    codex.say("run the tests");
    codex.shows("Press enter to confirm");
    gallery.once("codex-permission-command", pane, &expected("waiting", "permission", "none")).await;
    codex.leave("Conversation interrupted");
    gallery.twice("codex-denied", pane, &expected("idle", "", "empty")).await;
    codex.say("edit");
    codex.shows("following edits");
    gallery.once("codex-permission-patch", pane, &expected("waiting", "permission", "none")).await;
    codex.leave("? for shortcuts");
    codex.say("/model");
    codex.shows("Select Model");
    gallery.once("codex-menu-model", pane, &expected("waiting", "menu", "none")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_stopped_at_a_fault_is_read_right() {
    let Some(binary) = binary() else { return };
    for (name, status, fault) in [
        ("codex-error-auth", 401, "auth"),
        ("codex-error-limit", 429, "limit"),
        ("codex-error-service", 500, "service"),
    ] {
        let codex = Codex::start(&binary, vec![Say::error(status)], &[]).await;
        codex.say("go on");
        codex.gallery.server.until_shows(&codex.pane, |text| text.contains('■'));
        codex.gallery.twice(name, &codex.pane, &expected("error", fault, "empty")).await;
    }
    let codex = Codex::start(&binary, vec![Say::text("hi")], &[]).await;
    codex.gallery.server.until_shows(&codex.pane, |text| text.contains('›'));
    let Codex { gallery, pane, model, _home } = codex;
    drop(model);
    gallery.server.type_keys(&pane, "go on");
    gallery.server.until_shows(&pane, |text| text.contains("go on"));
    for _try in 0..40 {
        if gallery.server.plain(&pane).contains("esc to interrupt") {
            break;
        }
        gallery.server.key(&pane, "Enter");
        std::thread::sleep(Duration::from_millis(250));
    }
    gallery.server.until_shows(&pane, |text| text.contains("waiting for network"));
    gallery.twice("codex-reconnecting", &pane, &expected("working", "", "empty")).await;
}
