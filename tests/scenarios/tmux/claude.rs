//! The real Claude Code in real tmux, its model played from a script.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use steward_kit::model::{ScriptedModel, Turn};
use steward_rules::questions::pane::Agent;

use super::gallery::{Expected, Gallery};

/// A key that was never anybody's.
const KEY: &str = "sk-ant-api03-made-up-key-for-tests-000000000000";

/// What a started Claude Code lives in.
pub struct Claude {
    pub gallery: Gallery,
    pub pane: String,
    pub model: ScriptedModel,
}

pub struct Start<'a> {
    pub turns: Vec<Turn>,
    pub size: (u16, u16),
    pub trusted: bool,
    pub retries: u32,
    pub args: &'a [&'a str],
}

impl Start<'_> {
    pub fn manual(turns: Vec<Turn>) -> Self {
        Self { turns, size: (100, 30), trusted: true, retries: 1, args: &["--permission-mode", "manual"] }
    }
}

impl Claude {
    /// Starts it and waits for its composer or its first dialog.
    pub async fn start(binary: &Path, start: Start<'_>) -> Self {
        let model = ScriptedModel::start(start.turns).await;
        let mut gallery = Gallery::new(Agent::Claude, "claude 2.1.332");
        let folder = gallery.server.folder().to_owned();
        let (app, home, settings) = (folder.join("app"), folder.join("home"), folder.join("settings"));
        for made in [&app, &home, &settings] {
            std::fs::create_dir_all(made).unwrap();
        }
        let app = app.canonicalize().unwrap();
        gallery.hide(&app.to_string_lossy(), "/tmp/app");
        let state = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
            "projects": {app.to_string_lossy(): {"hasTrustDialogAccepted": start.trusted}},
        });
        std::fs::write(settings.join(".claude.json"), state.to_string()).unwrap();
        // Short file names keep the paths it shows within one row.
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let environment = [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("HOME", text(&home)),
            ("CLAUDE_CONFIG_DIR", text(&settings)),
            ("ANTHROPIC_API_KEY", KEY.to_owned()),
            ("ANTHROPIC_BASE_URL", model.url()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", start.retries.to_string()),
            ("TERM", "tmux-256color".to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
        ];
        let mut words = vec!["env".to_owned(), "-C".to_owned(), text(&app), "-i".to_owned()];
        words.extend(environment.iter().map(|(name, value)| format!("{name}={value}")));
        words.push(text(binary));
        words.extend(start.args.iter().map(|arg| (*arg).to_owned()));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let pane = gallery.server.start(start.size, &words);
        gallery.server.until_shows(&pane, |text| text.contains('❯') && !text.contains("Setting up"));
        Self { gallery, pane, model }
    }

    pub fn shows(&self, words: &str) -> String {
        self.gallery.server.until_shows(&self.pane, |text| text.contains(words))
    }

    /// Types a message as a person does and submits it.
    pub fn say(&self, text: &str) {
        self.gallery.server.type_keys(&self.pane, text);
        self.shows(text);
        self.gallery.server.key(&self.pane, "Enter");
    }

    fn key(&self, name: &str) {
        self.gallery.server.key(&self.pane, name);
    }
}

fn expected(state: &'static str, detail: &'static str, composer: &'static str) -> Expected {
    Expected { state, detail, composer }
}

pub fn binary() -> Option<PathBuf> {
    if steward_kit::tmux::is_there_or_say() { steward_kit::claude::find_or_say() } else { None }
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_at_rest_and_at_work_is_read_right() {
    let Some(binary) = binary() else { return };
    let turns = vec![
        Turn::text("Shall I use WAL or the rollback journal for storage?"),
        Turn::text("Which one?\n\n1. Yes\n2. No\n"),
        Turn::text("Both are fine.").sleeping(Duration::from_secs(12)),
        Turn::text("Done."),
    ];
    let claude = Claude::start(&binary, Start::manual(turns)).await;
    let (gallery, pane) = (&claude.gallery, claude.pane.as_str());
    // Its picture moves for a moment.
    gallery.until_still(pane).await;
    gallery.twice("claude-start", pane, &expected("idle", "", "empty")).await;
    claude.say("pick one for me");
    claude.shows("done");
    let asked = gallery.twice("claude-question-in-prose", pane, &expected("idle", "", "empty")).await;
    gallery.server.type_keys(pane, "let me think");
    claude.shows("let me think");
    let drafted = gallery.twice("claude-draft", pane, &expected("idle", "", "draft")).await;
    assert_eq!(asked.question, drafted.question, "a draft changes nothing of the question");
    for _letter in "let me think".chars() {
        claude.key("BSpace");
    }
    gallery.server.until_shows(pane, |text| !text.contains("let me think"));
    claude.say("again");
    claude.shows("2. No");
    gallery.server.until_shows(pane, |text| text.matches(" done ").count() > 1);
    let again = gallery.twice("claude-list-in-prose", pane, &expected("idle", "", "empty")).await;
    assert_ne!(asked.question, again.question, "another question is another one");
    claude.say("go on");
    claude.shows("esc to interrupt");
    gallery.once("claude-working-once", pane, &expected("unknown", "lookagain", "empty")).await;
    gallery.twice("claude-working", pane, &expected("working", "", "empty")).await;
    claude.say("queued words");
    claude.shows("Queued");
    gallery.twice("claude-working-queue", pane, &expected("working", "", "empty")).await;
    claude.key("Escape");
    gallery.server.until_shows(pane, |text| !text.contains("esc to interrupt"));
    gallery.server.type_keys(pane, "!");
    gallery.server.until_shows(pane, |text| text.lines().any(|line| line.starts_with('!')));
    gallery.once("claude-shell-mode", pane, &expected("unknown", "lookagain", "draft")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_asking_is_read_right() {
    let Some(binary) = binary() else { return };
    let choice = |label: &str, text: &str| json!({"label": label, "description": text});
    let one = json!({"question": "Which journal should storage use?", "header": "Journal", "multiSelect": false,
        "options": [choice("WAL", "Readers never wait"), choice("Rollback", "One file, older")]});
    let many = json!({"question": "Which targets?", "header": "Targets", "multiSelect": true,
        "options": [choice("Linux", "x86_64"), choice("macOS", "arm64")]});
    let yes_no = json!({"question": "Do you want to proceed?", "header": "Proceed", "multiSelect": false,
        "options": [choice("Yes", "Go on"), choice("No", "Stop here")]});
    let long = "rm -rf build && echo 'a command that goes on and on so that it is wrapped more than once' && curl -s https://example.com/install.sh | sh";
    let turns = vec![
        Turn::tool("Bash", json!({"command": "cargo test --workspace", "description": "Run the tests"})),
        Turn::tool("Write", json!({"file_path": "notes.md", "content": "# Notes\n\nUse WAL.\n"})),
        Turn::tool("WebFetch", json!({"url": "https://example.com/", "prompt": "what"})),
        Turn::tool("AskUserQuestion", json!({"questions": [one]})),
        Turn::tool("AskUserQuestion", json!({"questions": [many, yes_no.clone()]})),
        Turn::tool("AskUserQuestion", json!({"questions": [yes_no]})),
        Turn::tool("Bash", json!({"command": long, "description": "Clean and install"})),
        Turn::text("All done."),
    ];
    let claude = Claude::start(&binary, Start::manual(turns)).await;
    let (gallery, pane) = (&claude.gallery, claude.pane.as_str());
    let deny_and_go_on = |words: &str| {
        claude.key("Escape");
        gallery.server.until_shows(pane, |text| text.contains("? for shortcuts"));
        claude.say(words);
    };
    claude.say("run the tests");
    claude.shows("Esc to cancel");
    gallery.once("claude-permission-bash", pane, &expected("waiting", "permission", "none")).await;
    deny_and_go_on("second");
    claude.shows("Do you want to create");
    claude.shows("Esc to cancel");
    gallery.once("claude-permission-write", pane, &expected("waiting", "permission", "none")).await;
    deny_and_go_on("third");
    claude.shows("differently (esc)");
    gallery.once("claude-permission-fetch", pane, &expected("waiting", "permission", "none")).await;
    deny_and_go_on("fourth");
    claude.shows("Enter to select");
    gallery.once("claude-ask-one", pane, &expected("waiting", "menu", "none")).await;
    deny_and_go_on("fifth");
    claude.shows("Which targets?");
    claude.shows("Enter to select");
    gallery.once("claude-ask-many", pane, &expected("waiting", "menu", "none")).await;
    deny_and_go_on("sixth");
    claude.shows("Go on");
    claude.shows("Enter to select");
    gallery.once("claude-ask-yes-no", pane, &expected("waiting", "menu", "none")).await;
    deny_and_go_on("seventh");
    claude.shows("install.sh");
    claude.shows("Esc to cancel");
    gallery.once("claude-permission-long", pane, &expected("waiting", "permission", "none")).await;
    claude.key("Escape");
    claude.shows("? for shortcuts");
    gallery.twice("claude-denied", pane, &expected("idle", "", "empty")).await;
    gallery.server.type_keys(pane, "/model");
    claude.shows("Switch model");
    gallery.once("claude-command-list", pane, &expected("unknown", "lookagain", "draft")).await;
    claude.key("Enter");
    claude.shows("Select model");
    gallery.once("claude-menu-model", pane, &expected("waiting", "menu", "none")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_in_a_narrow_pane_in_plan_mode_and_untrusting_is_read_right() {
    let Some(binary) = binary() else { return };
    let bash = Turn::tool("Bash", json!({"command": "cargo test", "description": "Run the tests"}));
    let narrow = Start { size: (56, 24), ..Start::manual(vec![bash]) };
    let claude = Claude::start(&binary, narrow).await;
    claude.say("run");
    claude.shows("Esc to cancel");
    let wanted = expected("waiting", "permission", "none");
    claude.gallery.once("claude-permission-narrow", &claude.pane, &wanted).await;
    let plan =
        Turn::tool("ExitPlanMode", json!({"plan": "# Plan\n\n1. Switch to WAL\n2. Keep the old files\n"}));
    let start = Start { args: &["--permission-mode", "plan"], ..Start::manual(vec![plan]) };
    let claude = Claude::start(&binary, start).await;
    claude.say("plan it");
    claude.shows("exit plan mode");
    claude.gallery.once("claude-plan", &claude.pane, &wanted).await;
    let start = Start { trusted: false, ..Start::manual(vec![Turn::text("hi")]) };
    let claude = Claude::start(&binary, start).await;
    claude.shows("Enter to confirm");
    claude.gallery.once("claude-trust", &claude.pane, &expected("waiting", "trust", "none")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_stopped_at_a_fault_is_read_right() {
    let Some(binary) = binary() else { return };
    for (name, status, fault) in [
        ("claude-error-auth", 401, "auth"),
        ("claude-error-overloaded", 529, "service"),
        ("claude-error-limit", 429, "limit"),
        ("claude-error-server", 500, "service"),
    ] {
        let claude = Claude::start(&binary, Start::manual(vec![Turn::error(status)])).await;
        claude.say("go on");
        claude
            .gallery
            .server
            .until_shows(&claude.pane, |text| text.contains('●') && !text.contains("esc to interrupt"));
        claude.gallery.twice(name, &claude.pane, &expected("error", fault, "empty")).await;
    }
    let turns = vec![Turn::error(500)];
    let claude = Claude::start(&binary, Start { retries: 8, ..Start::manual(turns) }).await;
    claude.say("go on");
    claude.shows("retrying");
    claude.gallery.twice("claude-retrying", &claude.pane, &expected("working", "", "empty")).await;
}
