//! The real Claude Code with the hook that Steward installs, its model played from a script.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use steward_core::loops::questions::{self, carry};
use steward_core::store::need_answers::Press;
use steward_core::store::needs::{self, NeedRow, NeedState};
use steward_core::tmux::Tmux;
use steward_kit::binary;
use steward_kit::model::{ScriptedModel, Turn};
use steward_kit::tmux::{TmuxServer, is_there_or_say};
use steward_rules::questions::delivery::Stage;
use steward_rules::questions::need::Origin;

use super::{confirmed, newest, waiting};
use crate::desk::Desk;

/// A key that was never anybody's.
const KEY: &str = "sk-ant-api03-made-up-key-for-tests-000000000000";

/// Waits until the newest question satisfies `is_so`.
async fn until(desk: &Desk, what: &str, is_so: impl Fn(&NeedRow) -> bool) -> NeedRow {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let all = desk
            .ctx
            .store
            .read(|tx| {
                Ok::<_, steward_core::store::StoreError>([needs::open(tx)?, needs::closed(tx, 5)?].concat())
            })
            .await
            .unwrap();
        if let Some(found) = all.into_iter().find(&is_so) {
            return found;
        }
        assert!(Instant::now() < deadline, "not in time: {what}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hook_of_the_real_cli_brings_its_prompt_and_the_owner_allows_it_from_afar() {
    if !is_there_or_say() {
        return;
    }
    let Some(claude) = steward_kit::claude::find_or_say() else { return };
    let desk = Desk::new();
    confirmed(&desk, "workspaces: [{title: app, path: ROOT/app}]\nquestions: {enabled: true, keys: true, sources: [hook]}\n").await;
    let app = desk.root.join("app");
    let plan = questions::plan(&app, &binary::steward()).unwrap();
    assert!(plan.diff().contains("hook claude"));
    assert!(!plan.path.exists(), "a plan writes nothing");
    questions::install(&app, &binary::steward(), &plan.after).unwrap();
    assert!(questions::plan(&app, &binary::steward()).unwrap().is_installed());

    let command = "touch built-by-claude";
    let model = ScriptedModel::start(vec![
        Turn::tool("Bash", json!({"command": command, "description": "Make a file"})),
        Turn::text("It is built."),
    ])
    .await;
    let server = TmuxServer::new();
    desk.ctx.use_tmux(Tmux::at(&server.socket()).unwrap());
    questions::know_server(&desk.ctx).await.unwrap();
    let (home, settings) = (server.folder().join("home"), server.folder().join("settings"));
    for made in [&home, &settings] {
        std::fs::create_dir_all(made).unwrap();
    }
    let state = json!({
        "hasCompletedOnboarding": true,
        "theme": "dark",
        "customApiKeyResponses": {"approved": [&KEY[KEY.len() - 20..]], "rejected": []},
        "projects": {app.to_string_lossy(): {"hasTrustDialogAccepted": true}},
    });
    std::fs::write(settings.join(".claude.json"), state.to_string()).unwrap();
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let environment = [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", text(&home)),
        ("STEWARD_HOME", text(&desk.root.join("home"))),
        ("CLAUDE_CONFIG_DIR", text(&settings)),
        ("ANTHROPIC_API_KEY", KEY.to_owned()),
        ("ANTHROPIC_BASE_URL", model.url()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
        ("TERM", "tmux-256color".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
    ];
    let set: Vec<String> = environment.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
    // The pane's own variables are kept, as a person's shell keeps them.
    let line = format!(
        "exec env -C '{}' -i TMUX=\"$TMUX\" TMUX_PANE=\"$TMUX_PANE\" {} '{}' --permission-mode manual",
        text(&app),
        set.join(" "),
        text(&claude)
    );
    let pane = server.start((100, 30), &["sh", "-c", &line]);
    server.until_shows(&pane, |text| text.contains('❯') && !text.contains("Setting up"));
    server.type_keys(&pane, "build it");
    server.until_shows(&pane, |text| text.contains("build it"));
    server.key(&pane, "Enter");

    // The request says what it is about; the notification that follows lets the prompt be read.
    let asked = until(&desk, "the prompt is asked about", |need| need.origin == Origin::Hook).await;
    assert_eq!(asked.need.question, format!("May Bash run?\n{command}"));
    assert_eq!((asked.need.topic.as_str(), asked.need.project.as_deref()), ("permission", Some("app")));
    assert!(asked.agent.starts_with("claude-"), "{asked:?}");
    let read =
        until(&desk, "the prompt is read", |need| need.id == asked.id && need.place.seen.is_some()).await;
    assert_eq!(read.place.pane.as_deref(), Some(pane.as_str()));
    assert_eq!(waiting(&desk.ctx).await.len(), 1, "one notification");
    questions::press(&desk.ctx, asked.id, Press::Allow).await.unwrap();
    assert_eq!(carry(&desk.ctx).await.unwrap(), 1);
    let answer = newest(&desk.ctx, asked.id).await;
    assert_eq!((answer.stage, answer.why), (Stage::Acknowledged, None));
    server.until_shows(&pane, |text| text.contains("It is built."));
    assert!(app.join("built-by-claude").exists());
    assert_eq!(until(&desk, "it is over", |need| need.id == asked.id).await.state, NeedState::Answered);
}
