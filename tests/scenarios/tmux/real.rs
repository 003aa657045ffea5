//! Answers and keys into the real agents: what the model hears is what the owner said.

use std::time::{Duration, Instant};

use steward_core::tmux::{Answer, Delivery, Journal, Press, Pressed, Reached, Tmux};
use steward_kit::model::Turn;
use steward_kit::responses::Say;
use steward_rules::questions::keys::{NoKey, Permission, Typable};
use steward_rules::questions::pane::{Agent, PaneId, PaneState, Seen, judge};

use super::claude::{self, Claude, Start};
use super::codex::{self, Codex};

struct Go;

impl Journal for Go {
    async fn reached(&mut self, _at: Reached) -> bool {
        true
    }
}

async fn answer(tmux: &Tmux, agent: Agent, pane: &str, text: &str) -> Answer {
    let capture = tmux.capture(&PaneId::new(pane).unwrap()).await.unwrap();
    let to = capture.pane.identity;
    let seen = Seen::Looked { first: capture.screen, second: None };
    let question = judge(agent, &to.foreground, &seen).question;
    assert!(question.is_some(), "a composer shows what stands above it");
    Answer { agent, to, question, text: Typable::new(text).unwrap() }
}

/// Decides as an owner does: a prompt that has only just opened takes no key, and is decided again.
async fn press(tmux: &Tmux, agent: Agent, pane: &str, decision: Permission) -> Pressed {
    for _decision in 0..2 {
        match press_once(tmux, agent, pane, decision).await {
            Pressed::StillOpen => {}
            end => return end,
        }
    }
    press_once(tmux, agent, pane, decision).await
}

async fn press_once(tmux: &Tmux, agent: Agent, pane: &str, decision: Permission) -> Pressed {
    let capture = tmux.capture(&PaneId::new(pane).unwrap()).await.unwrap();
    let to = capture.pane.identity;
    let seen = Seen::Looked { first: capture.screen, second: None };
    let PaneState::Waiting { prompt } = judge(agent, &to.foreground, &seen).state else {
        panic!("no prompt")
    };
    tmux.press(&Press { agent, to, prompt: prompt.hash, decision }, &mut Go).await
}

/// Answers that agents treat in their own way: a stand-in for a paste, a list that opens on `@`, a
/// backslash that would break the line.
fn answers() -> Vec<String> {
    vec![
        "[app] octo answers: B, but keep the old files; it's #{x} $HOME \"é → 日本\"".to_owned(),
        format!("[app] octo answers: {}end", "words and more words ".repeat(60)),
        "[app] octo answers: two lines,\nthis is the second".to_owned(),
        "[app] octo answers: ask @octo".to_owned(),
        "[app] octo answers: the path ends in C:\\".to_owned(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_hears_every_answer_word_for_word() {
    let Some(binary) = claude::binary() else { return };
    let claude =
        Claude::start(&binary, Start::manual(vec![Turn::text("Which journal, WAL or rollback?")])).await;
    let tmux = &claude.gallery.tmux;
    claude.say("ask me");
    claude.shows(" done ");
    for text in answers() {
        claude.gallery.until_still(&claude.pane).await;
        let answer = answer(tmux, Agent::Claude, &claude.pane, &text).await;
        let end = tmux.type_answer(&answer, &mut Go).await;
        assert!(
            matches!(end, Delivery::Acknowledged),
            "{text}: {end:?}\n{}",
            claude.gallery.server.plain(&claude.pane)
        );
        // It shows the answer a moment before it asks its model.
        until(&text, || texts(&claude.model.turns_asked().last().unwrap().body["messages"])).await;
    }
}

/// Waits until what the model heard holds the answer, word for word.
async fn until(text: &str, heard: impl Fn() -> Vec<String>) {
    let until = Instant::now() + Duration::from_secs(15);
    while !heard().iter().any(|words| words.trim() == text) {
        assert!(Instant::now() < until, "{text:?} is not in {:#?}", heard());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Every text in a message list, however deep.
fn texts(value: &serde_json::Value) -> Vec<String> {
    match value {
        serde_json::Value::String(text) => vec![text.clone()],
        serde_json::Value::Array(all) => all.iter().flat_map(texts).collect(),
        serde_json::Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _number_or_nothing => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_is_allowed_once_and_denied() {
    let Some(binary) = claude::binary() else { return };
    let bash =
        |command: &str| Turn::tool("Bash", serde_json::json!({"command": command, "description": "Do it"}));
    let turns = vec![bash("touch allowed.txt"), bash("touch denied.txt"), Turn::text("Done.")];
    let claude = Claude::start(&binary, Start::manual(turns)).await;
    let app = claude.gallery.server.folder().join("app");
    claude.say("do it");
    claude.shows("Esc to cancel");
    let end = press(&claude.gallery.tmux, Agent::Claude, &claude.pane, Permission::AllowOnce).await;
    assert!(matches!(end, Pressed::Done), "{end:?}");
    claude
        .gallery
        .server
        .until_shows(&claude.pane, |text| text.contains("denied.txt") && text.contains("Esc to cancel"));
    assert!(app.join("allowed.txt").exists());
    let end = press(&claude.gallery.tmux, Agent::Claude, &claude.pane, Permission::Deny).await;
    assert!(matches!(end, Pressed::Done), "{end:?}");
    claude.shows("? for shortcuts");
    assert!(!app.join("denied.txt").exists());
    // Nothing was allowed for good: the file that holds such rules is not there.
    assert!(!app.join(".claude/settings.local.json").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_hears_every_answer_word_for_word() {
    let Some(binary) = codex::binary() else { return };
    let says = vec![Say::text("Which journal, WAL or rollback?")];
    let codex = Codex::start(&binary, says, &["-a", "never", "-s", "read-only"]).await;
    let tmux = &codex.gallery.tmux;
    codex.say("ask me");
    codex.shows("Worked for");
    for text in answers() {
        codex.gallery.until_still(&codex.pane).await;
        let answer = answer(tmux, Agent::Codex, &codex.pane, &text).await;
        let end = tmux.type_answer(&answer, &mut Go).await;
        assert!(
            matches!(end, Delivery::Acknowledged),
            "{text}: {end:?}\n{}",
            codex.gallery.server.plain(&codex.pane)
        );
        until(&text, || codex.model.heard()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_is_denied_and_never_allowed_by_a_standing_option() {
    let Some(binary) = codex::binary() else { return };
    let arguments = serde_json::json!({"cmd": "touch codex-denied.txt", "sandbox_permissions": "require_escalated",
        "justification": "a file"});
    let says = vec![Say::call("exec_command", &arguments), Say::text("Done.")];
    let codex = Codex::start(&binary, says, &["-a", "on-request", "-s", "read-only"]).await;
    codex.say("do it");
    codex.shows("Press enter to confirm");
    codex.gallery.until_still(&codex.pane).await;
    let tmux = &codex.gallery.tmux;
    let end = press(tmux, Agent::Codex, &codex.pane, Permission::AllowOnce).await;
    assert!(matches!(end, Pressed::NoKey(NoKey::OnlyStanding)), "{end:?}");
    let end = press(tmux, Agent::Codex, &codex.pane, Permission::Deny).await;
    assert!(matches!(end, Pressed::Done), "{end:?}");
    codex.shows("canceled the request");
    assert!(!codex.gallery.server.folder().join("app/codex-denied.txt").exists());
}
