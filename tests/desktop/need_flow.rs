//! A question from a shell in a tmux pane to the owner's window, and exactly his words back to the shell.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use steward_desktop_tests::desk::{Desk, Furniture};
use steward_desktop_tests::notices::Shown;
use steward_desktop_tests::page::Page;
use steward_desktop_tests::process::built;
use steward_desktop_tests::{PATIENCE, until};
use steward_kit::tmux::{TmuxServer, is_there_or_say};

/// What the owner types: nothing in it may be taken for a command, a key or markup on its way.
const WORDS: &str = "B, but keep the old files: \"*.wal\" & $HOME, <b>é</b> too";
const ASK: &str = r#"steward need "WAL or rollback?" --topic storage --option WAL --option rollback --wait"#;

const ASK_MORE: &str =
    r#"steward need "Keep the old keys?" --topic config --option "for a release" --option never --wait"#;

/// An agent's terminal: a shell in a pane of a tmux server of this test's own.
struct Terminal {
    tmux: TmuxServer,
    pane: String,
    folder: PathBuf,
}

impl Terminal {
    /// Starts the shell with what this desk gives its programs; the app will find the same tmux server.
    fn start(desk: &mut Desk) -> Result<Self> {
        let tmux = TmuxServer::new();
        let folder = tmux.folder().to_owned();
        let mut dressed = Command::new(built("steward"));
        desk.dress(&mut dressed);
        let binaries = Path::new(dressed.get_program()).parent().context("BUG: a program has a folder")?;
        let binaries = binaries.to_string_lossy().into_owned();
        let mut words = vec!["env".to_owned()];
        for (name, value) in dressed.get_envs() {
            let value = value.unwrap_or_default().to_string_lossy();
            words.push(match name.to_string_lossy().as_ref() {
                "PATH" => format!("PATH={binaries}:{value}"),
                name => format!("{name}={value}"),
            });
        }
        words.extend(["PS1=$ ".to_owned(), "sh".to_owned()]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let pane = tmux.start((110, 30), &words);
        tmux.type_keys(&pane, &format!("cd '{}'", folder.display()));
        tmux.key(&pane, "Enter");
        desk.set("TMUX", &format!("{},1,0", tmux.socket().display()));
        Ok(Self { tmux, pane, folder })
    }

    /// Types a command whose answer also goes into a file, byte for byte.
    fn run(&self, command: &str, into: &str) {
        self.tmux.type_keys(&self.pane, &format!("{command} | tee {into}"));
        self.tmux.key(&self.pane, "Enter");
    }

    /// Waits until the command has printed something, and gives all of it.
    async fn printed(&self, into: &str) -> String {
        until(&format!("the answer in {into}"), PATIENCE, async || {
            std::fs::read_to_string(self.folder.join(into)).ok().filter(|text| text.ends_with('\n'))
        })
        .await
    }
}

fn configure(desk: &Desk, pane: &str) -> Result<()> {
    let text = format!(
        "questions:\n  enabled: true\n  owner: leon\n  roster:\n    - {{agent: coord, project: app, pane: \"{pane}\"}}\n    - {{agent: gone, project: app, pane: \"%99\"}}\n"
    );
    std::fs::write(desk.steward_home().join("config.yaml"), text).context("writing the config file")
}

/// The notifications of questions so far.
fn told(desk: &Desk) -> Vec<Shown> {
    desk.notices().shown().into_iter().filter(|shown| shown.title.contains("asks (NEED")).collect()
}

async fn questions(page: &Page, filter: &str) -> Result<Vec<Value>> {
    let page = page.call("inbox_list", json!({ "filter": filter, "limit": 50 })).await?;
    let entries = page["answer"]["entries"].as_array().context("the inbox has no entries")?;
    Ok(entries.iter().filter(|entry| entry["kind"] == "question").cloned().collect())
}

#[tokio::test]
async fn a_question_from_a_pane_is_told_once_and_answered_in_the_window_word_for_word() -> Result<()> {
    if !is_there_or_say() {
        return Ok(());
    }
    let mut desk = Desk::new(Furniture::All).await?;
    let terminal = Terminal::start(&mut desk)?;
    configure(&desk, &terminal.pane)?;
    let app = desk.open(&[]).await?;
    let page = &app.page;
    page.find("nav-inbox").await;

    terminal.run(ASK, "first");
    let shown = until("the notification", PATIENCE, async || told(&desk).into_iter().next()).await;
    assert!(shown.title.starts_with("[app] coord@"), "{shown:?}");
    assert!(shown.title.ends_with("asks (NEED [storage])"), "{shown:?}");
    assert_eq!(shown.body, "WAL or rollback? Options: A) WAL B) rollback");
    let open = questions(page, "open").await?;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!((&open[0]["title"], &open[0]["target"]), (&json!("WAL or rollback?"), &json!("question/1")));

    // The click opens it; the words typed there are what the shell prints.
    desk.notices().click(shown.id, "default").await?;
    page.is_at("question/1").await;
    page.says("question-state", "waits for you", PATIENCE).await;
    page.says("option-B", "rollback", PATIENCE).await;
    page.picture("question-light").await?;
    page.fill("answer-field", WORDS).await?;
    page.click("answer-send").await;
    assert_eq!(terminal.printed("first").await, format!("{WORDS}\n"));
    terminal.tmux.until_shows(&terminal.pane, |text| text.lines().any(|line| line == WORDS));
    page.says("answer-stands", "the asker has it", PATIENCE).await;
    page.says("answer-words", WORDS, PATIENCE).await;

    // One entry, which is done now, and one notification, however long one looks.
    assert_eq!(questions(page, "open").await?, Vec::<Value>::new());
    let done = questions(page, "done").await?;
    assert_eq!(done.len(), 1, "{done:?}");
    assert_eq!(done[0]["chip"], "ANSWERED");
    assert_eq!(told(&desk).len(), 1, "{:?}", desk.notices().shown());

    an_option_from_a_closed_window(&desk, page, &terminal).await?;
    the_roster(page).await?;
    assert_eq!(told(&desk).len(), 2, "{:?}", desk.notices().shown());
    app.close().await
}

/// The window is closed when the next question comes; its notification brings it back there.
async fn an_option_from_a_closed_window(desk: &Desk, page: &Page, terminal: &Terminal) -> Result<()> {
    page.click("nav-inbox").await;
    desk.display.close_window()?;
    until("the window to be hidden", PATIENCE, async || (!desk.display.shows_window().ok()?).then_some(()))
        .await;
    terminal.run(ASK_MORE, "second");
    let shown = until("the second notification", PATIENCE, async || told(desk).into_iter().nth(1)).await;
    desk.notices().click(shown.id, "open").await?;
    until("the window to come back", PATIENCE, async || desk.display.shows_window().ok()?.then_some(()))
        .await;
    page.is_at("question/2").await;
    page.click("option-B").await;
    page.click("answer-send").await;
    assert_eq!(terminal.printed("second").await, "B) never\n");
    Ok(())
}

/// The page behind the questions: who is watched, and who cannot be.
async fn the_roster(page: &Page) -> Result<()> {
    page.click("nav-roster").await;
    page.says("roster-tick", "capture-failed", PATIENCE).await;
    page.says("member-gone", "CAPTURE FAILED: there is no pane %99", PATIENCE).await;
    page.picture("roster-light").await?;
    page.click("member-coord").await;
    // The screen is the pane's own.
    page.says("capture", WORDS, PATIENCE).await;
    page.picture("roster-member-light").await
}
