//! Questions of agents and the roster. Foreign text is escaped already; every state has its words.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use ts_rs::TS;

view!(
    /// One option of a question, and the answer that choosing it gives.
    NeedOption { letter: String, text: String, answer: String }
);
view!(
    /// What the person may do with a question now.
    NeedMay {
        /// Words may be sent.
        answer: bool,
        /// Allow once and deny.
        press: bool,
        /// Why a permission prompt may only be denied here, although keys may be pressed.
        why_not_allow: Option<String>,
        drop: bool,
        /// The answer is not on its way yet and may be taken back.
        take_back: bool,
        /// The answer that waits to be fetched may be typed into the asker's pane instead.
        type_answer: bool,
        /// Why no answer can be carried.
        why: Option<String>,
    }
);
view!(
    /// A permission prompt as the pane shows it.
    NeedPrompt { title: String, subject: String, choices: Vec<String> }
);
view!(
    /// What the watcher seat advises about a permission prompt. It does nothing; the person decides.
    NeedAdvice {
        /// `allow`, `deny`, `unsure`.
        says: String,
        /// As a sentence.
        text: String,
        /// The seat's own reason.
        why: Option<String>,
        at: DateTime<Utc>,
    }
);
view!(
    /// The owner's answer and how far it has come.
    NeedAnswerView {
        id: i64,
        words: String,
        /// `fetch`, `thrum`, `type`, `key`, `nowhere`.
        way: String,
        /// `queued`, `carrying`, `typed`, `submitted`, `acknowledged`, `returned`.
        stage: String,
        /// The stage as a sentence.
        text: String,
        /// Why it is held or came back.
        why: Option<String>,
        answered_at: DateTime<Utc>,
        updated_at: DateTime<Utc>,
    }
);
view!(
    /// One question.
    NeedView {
        id: i64,
        agent: String,
        host: String,
        project: Option<String>,
        topic: String,
        question: String,
        options: Vec<NeedOption>,
        /// `cli`, `mcp`, `hook`, `thrum`, `pane`.
        origin: String,
        /// Read off a pane: nobody asked Steward.
        judged: bool,
        /// `open`, `answered`, `withdrawn`, `dropped`, `gone`.
        state: String,
        /// The state as a sentence.
        text: String,
        version: u32,
        /// Its line of the queue.
        line: String,
        prompt: Option<NeedPrompt>,
        /// While `review.annotate` is on.
        advice: Option<NeedAdvice>,
        answer: Option<NeedAnswerView>,
        may: NeedMay,
        /// The asker's pane, `%12`, where it is known.
        pane: Option<String>,
        /// The inbox entry.
        entry: Option<i64>,
        asked_at: DateTime<Utc>,
        closed_at: Option<DateTime<Utc>>,
    }
);
view!(NeedPage {
    needs: Vec<NeedView>,
    open: u32,
    /// The open ones as text, oldest first.
    queue: String,
});
view!(
    /// What became of a question that was handed in.
    RaisedView {
        id: i64,
        /// `new`, `same`, `changed`, `superseded`, `covered`.
        arrival: String,
        need: NeedView,
    }
);
view!(
    /// One member of the roster as it was last seen.
    MemberView {
        agent: String,
        host: String,
        project: Option<String>,
        pane: Option<String>,
        adapter: Option<String>,
        /// `working`, `waiting`, `idle`, `error`, `unwatchable`, `unknown`.
        state: String,
        detail: String,
        /// `FLAGGED: CAPTURE FAILED: …` where it cannot be watched.
        flagged: Option<String>,
        /// `inactive` or `sleeping`: absent on purpose.
        absent: Option<String>,
        /// How its pane is read: `local`, `thrum`, `ssh`, `messages`, `refused`.
        reach: String,
        since: Option<DateTime<Utc>>,
        captured_at: Option<DateTime<Utc>>,
        /// Its open questions.
        needs: Vec<i64>,
        /// The briefing was typed into its pane.
        briefed: bool,
    }
);
view!(
    /// Whether the watcher seat says what facts do not settle.
    WatcherView {
        /// `ready`, `resting`, `absent`.
        state: String,
        /// As a sentence: why it rests or is absent.
        text: String,
    }
);
view!(RosterView {
    members: Vec<MemberView>,
    watcher: WatcherView,
    /// The line of the last tick.
    tick: Option<String>,
    tick_at: Option<DateTime<Utc>>,
    /// True when no member could be captured.
    resolution_fail: bool,
    /// Thrum folders that could not be read, and other faults of the roster.
    faults: Vec<String>,
    keys: bool,
    owner: String,
});
view!(
    /// The last lines of a pane, without escape sequences.
    CaptureView { agent: String, at: DateTime<Utc>, lines: Vec<String> }
);
view!(
    /// The questions' part of the status.
    QuestionsStatus {
        open: u32,
        oldest: Option<DateTime<Utc>>,
        tick: Option<String>,
        tick_at: Option<DateTime<Utc>>,
        resolution_fail: bool,
        capture_failed: u32,
        /// Those of them that are not declared absent.
        flagged: u32,
    }
);
view!(
    /// What installing a hook would write, or wrote.
    HookView {
        path: String,
        /// What changes, line by line, for a person to read.
        diff: String,
        /// The file as it will be.
        text: String,
        /// True when it stands there already.
        installed: bool,
    }
);
