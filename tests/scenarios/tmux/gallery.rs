//! Looks at a pane as the product does, says what it must show, and keeps the capture when asked to.

use std::time::{Duration, Instant};

use steward_core::tmux::Tmux;
use steward_kit::tmux::TmuxServer;
use steward_rules::questions::pane::{Agent, Composer, Judgement, PaneId, Seen, judge};

/// One pane that is looked at, and where its captures are kept.
pub struct Gallery {
    pub server: TmuxServer,
    pub tmux: Tmux,
    agent: Agent,
    source: &'static str,
    /// What the captures must not name: folders of this machine.
    hidden: Vec<(String, &'static str)>,
}

/// What a look must find.
pub struct Expected {
    pub state: &'static str,
    /// The modal, fault or reason beside the state's word.
    pub detail: &'static str,
    pub composer: &'static str,
}

impl Gallery {
    pub fn new(agent: Agent, source: &'static str) -> Self {
        let server = TmuxServer::new();
        let tmux = Tmux::at(&server.socket()).unwrap();
        Self { server, tmux, agent, source, hidden: Vec::new() }
    }

    pub fn hide(&mut self, words: &str, shown: &'static str) {
        self.hidden.push((words.to_owned(), shown));
    }

    /// Waits until the pane draws the same for a second.
    pub async fn until_still(&self, pane: &str) {
        let until = Instant::now() + Duration::from_secs(20);
        let mut last = (self.server.plain(pane), Instant::now());
        while last.1.elapsed() < Duration::from_secs(1) {
            assert!(Instant::now() < until, "{pane} never stands still\n{}", last.0);
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = self.server.plain(pane);
            if now != last.0 {
                last = (now, Instant::now());
            }
        }
    }

    /// Looks as a tick does, and compares what is judged with what must be.
    pub async fn twice(&self, name: &str, pane: &str, expected: &Expected) -> Judgement {
        let first = self.server.coloured(pane);
        let watched = self.tmux.watch(self.agent, &PaneId::new(pane).unwrap()).await;
        let foreground = watched.pane.unwrap().identity.foreground;
        self.keep(name, &foreground, &[first, self.server.coloured(pane)], expected);
        self.compare(name, pane, &watched.judgement, expected);
        watched.judgement
    }

    /// Looks once.
    pub async fn once(&self, name: &str, pane: &str, expected: &Expected) -> Judgement {
        let capture = self.tmux.capture(&PaneId::new(pane).unwrap()).await.unwrap();
        let seen = Seen::Looked { first: capture.screen, second: None };
        let judged = judge(self.agent, &capture.pane.identity.foreground, &seen);
        self.keep(name, &capture.pane.identity.foreground, &[self.server.coloured(pane)], expected);
        self.compare(name, pane, &judged, expected);
        judged
    }

    fn compare(&self, name: &str, pane: &str, judged: &Judgement, expected: &Expected) {
        let found = (judged.state.word(), detail(judged), composer(judged));
        let wanted = (expected.state, expected.detail.to_owned(), expected.composer);
        assert_eq!(found, wanted, "{name}\n{}\n{judged:#?}", self.server.plain(pane));
    }

    /// With `STEWARD_RECORD_PANES` naming a folder, writes the captures and their row of the table.
    fn keep(&self, name: &str, foreground: &str, looks: &[String], expected: &Expected) {
        let Some(folder) = std::env::var_os("STEWARD_RECORD_PANES").map(std::path::PathBuf::from) else {
            return;
        };
        for (at, look) in looks.iter().enumerate() {
            let mut text = look.clone();
            for (words, shown) in &self.hidden {
                text = text.replace(words, shown);
            }
            std::fs::write(folder.join(format!("{name}.{}.txt", at + 1)), text).unwrap();
        }
        let agent = format!("{:?}", self.agent).to_lowercase();
        let row = format!(
            "[[pane]]\nname = \"{name}\"\nsource = \"{}\"\nagent = \"{agent}\"\nforeground = \"{foreground}\"\n\
             looks = {}\nstate = \"{}\"\ndetail = \"{}\"\ncomposer = \"{}\"\n\n",
            self.source,
            looks.len(),
            expected.state,
            expected.detail,
            expected.composer,
        );
        std::fs::write(folder.join(format!("{name}.row")), row).unwrap();
    }
}

/// The word beside a state's own, as the table spells it.
pub fn detail(judged: &Judgement) -> String {
    use steward_rules::questions::pane::PaneState as S;
    let word = |text: String| text.to_lowercase();
    match &judged.state {
        S::Waiting { prompt } => word(format!("{:?}", prompt.modal)),
        S::Error { fault } => word(format!("{fault:?}")),
        S::Unknown { why } => word(format!("{why:?}")),
        S::Working | S::Idle | S::Unwatchable => String::new(),
    }
}

/// The composer's word, as the table spells it.
pub fn composer(judged: &Judgement) -> &'static str {
    match judged.composer {
        Composer::None => "none",
        Composer::Empty => "empty",
        Composer::Draft { .. } => "draft",
    }
}
