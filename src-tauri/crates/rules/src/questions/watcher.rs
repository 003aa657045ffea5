//! What the watcher seat is asked, what it may say, and what becomes of it (questions.md 2 and 6).
//!
//! The words of a question are the pane's own lines: the seat points at them and names a topic. Nothing it
//! writes reaches the asker, and nothing it says about a prompt presses a key.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::need::NAME;
use super::pane::{PaneState, Screen, Unsure};
use crate::review::submission::FieldError;
use crate::secret::Engine;
use crate::untrusted::{Untrusted, is_hidden};

/// Lines of a pane that the seat sees, and characters of each.
pub const ROWS: usize = 30;
pub const COLUMNS: usize = 140;
/// Characters of the seat's own reason.
pub const WHY: usize = 400;
/// Grows when the digest's shape changes in a way a seat must know.
const VERSION: u32 = 1;

/// The last lines of a pane: secrets redacted, nothing hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    lines: Vec<String>,
}

impl Excerpt {
    /// Redacts the whole screen before it is cut: half a secret would not be recognised.
    pub fn of(screen: &Screen) -> Self {
        let redacted = Engine::shared().redact(&screen.tail(usize::MAX, usize::MAX));
        let lines: Vec<&str> = redacted.lines().collect();
        let from = lines.len().saturating_sub(ROWS);
        let cut = |line: &&str| Untrusted::new(*line).one_line(COLUMNS).trim_end().to_owned();
        Self { lines: lines[from..].iter().map(cut).collect() }
    }

    /// How many lines there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
    }

    /// Each line behind its number, from 1.
    pub fn numbered(&self) -> String {
        let lines = self.lines.iter().enumerate().map(|(at, line)| format!("{}: {line}", at + 1));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The pane's own words in these lines, both included, without the signs agents draw before them.
    /// `None` where there are none.
    pub fn words(&self, first: u32, last: u32) -> Option<String> {
        let (first, last) = (usize::try_from(first).ok()?, usize::try_from(last).ok()?);
        let lines = self.lines.get(first.checked_sub(1)?..last)?;
        let signs = |c: char| c.is_whitespace() || matches!(c, '●' | '⏺' | '•' | '│' | '⎿');
        let words: Vec<&str> = lines.iter().map(|line| line.trim_matches(signs)).collect();
        let text = words.join("\n");
        let text = text.trim();
        text.chars().any(char::is_alphanumeric).then(|| text.to_owned())
    }

    /// Same lines, same hash; blanks do not count.
    pub fn hash(&self) -> String {
        let text: String =
            self.lines.iter().flat_map(|line| line.chars()).filter(|c| !c.is_whitespace()).collect();
        hex::encode(Sha256::digest(text.as_bytes()))
    }
}

/// True for a state that facts did not settle: a composer at rest may stand below a question, and what
/// nothing was recognised on, or whose spinner stands still, may be anything.
pub fn asks(state: &PaneState) -> bool {
    match state {
        PaneState::Idle => true,
        PaneState::Unknown { why } => match why {
            Unsure::Unrecognised | Unsure::Stuck => true,
            // It moves, or there is nothing to judge: the next look says more.
            Unsure::LookAgain | Unsure::Empty => false,
        },
        PaneState::Working | PaneState::Waiting { .. } | PaneState::Error { .. } | PaneState::Unwatchable => {
            false
        }
    }
}

/// What a run of the seat is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// What is the agent of this pane doing?
    State,
    /// What would speak for and against this permission prompt? Advice alone.
    Advice,
}

/// What the seat says a pane shows, or advises about a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Says {
    /// A question to the person stands there.
    Question,
    Working,
    /// Nothing is asked.
    Idle,
    /// It stopped at a fault.
    Error,
    /// Advice: nothing speaks against it.
    Allow,
    /// Advice: something speaks against it.
    Deny,
    Unsure,
}

impl Says {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Question => "question",
            Self::Working => "working",
            Self::Idle => "idle",
            Self::Error => "error",
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Unsure => "unsure",
        }
    }

    fn answers(self, ask: Ask) -> bool {
        match self {
            Self::Question | Self::Working | Self::Idle | Self::Error => ask == Ask::State,
            Self::Allow | Self::Deny => ask == Ask::Advice,
            Self::Unsure => true,
        }
    }
}

/// Text of others, marked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Foreign {
    pub untrusted: bool,
    pub text: String,
}

impl Foreign {
    fn new(text: String) -> Self {
        Self { untrusted: true, text }
    }
}

/// What the seat is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchDigest {
    pub digest_version: u32,
    pub ask: Ask,
    /// What facts alone say: `idle`, `unknown`, `waiting`.
    pub facts: String,
    /// Numbered from 1.
    pub lines: Foreign,
    pub count: u32,
    /// Topics of this agent that wait for the owner already.
    pub open_topics: Vec<Foreign>,
}

impl WatchDigest {
    pub fn new(ask: Ask, facts: &PaneState, excerpt: &Excerpt, open_topics: &[String]) -> Self {
        let topic =
            |topic: &String| Foreign::new(Untrusted::new(Engine::shared().redact(topic)).one_line(NAME));
        Self {
            digest_version: VERSION,
            ask,
            facts: facts.word().to_owned(),
            lines: Foreign::new(excerpt.numbered()),
            count: excerpt.count(),
            open_topics: open_topics.iter().map(topic).collect(),
        }
    }
}

/// What the seat hands in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Judged {
    pub says: Says,
    /// Of a question: a few words that stay the same while it is the same question.
    #[serde(default)]
    pub topic: Option<String>,
    /// Of a question: its first and last line.
    #[serde(default)]
    pub first: Option<u32>,
    #[serde(default)]
    pub last: Option<u32>,
    /// The seat's own reason, for the owner to read beside what it is about.
    #[serde(default)]
    pub why: Option<Untrusted>,
}

fn fault<T>(field: &str, error: impl Into<String>) -> Result<T, FieldError> {
    Err(FieldError { field: field.to_owned(), error: error.into() })
}

/// Checks a judgement by every rule and gives it back as it is kept. The first fault names its field.
pub fn validate(said: Judged, digest: &WatchDigest) -> Result<Judged, FieldError> {
    let mut said = said;
    if !said.says.answers(digest.ask) {
        let words = match digest.ask {
            Ask::State => "question, working, idle, error or unsure",
            Ask::Advice => "allow, deny or unsure",
        };
        return fault("says", format!("what is asked is answered by {words}"));
    }
    if let Some(why) = said.why.take() {
        let why = Engine::shared().redact(why.as_data().trim());
        if why.chars().count() > WHY {
            return fault("why", format!("it is longer than {WHY} characters"));
        }
        said.why = (!why.is_empty()).then(|| Untrusted::new(why));
    }
    match said.says {
        Says::Question => {
            let topic = said.topic.as_deref().unwrap_or_default();
            said.topic = Some(checked_topic(topic)?);
            let (Some(first), Some(last)) = (said.first, said.last) else {
                return fault("first", "a question names its first and its last line");
            };
            if !(1..=digest.count).contains(&first) || !(first..=digest.count).contains(&last) {
                return fault("last", format!("these are no lines from 1 to {}", digest.count));
            }
        }
        Says::Allow | Says::Deny if said.why.is_none() => {
            return fault("why", "advice says what it rests on");
        }
        Says::Working | Says::Idle | Says::Error | Says::Unsure | Says::Allow | Says::Deny => {
            // Nothing of these means anything without a question.
            (said.topic, said.first, said.last) = (None, None, None);
        }
    }
    Ok(said)
}

/// A topic that can stand in a line: one to six words without secret or hidden character.
fn checked_topic(topic: &str) -> Result<String, FieldError> {
    let topic = topic.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | '/');
    if topic.is_empty() || topic.chars().count() > NAME || topic.split(' ').count() > 6 {
        return fault("topic", format!("a topic has 1 to 6 words and at most {NAME} characters"));
    }
    if topic.chars().any(|c| is_hidden(c) || !plain(c)) {
        return fault("topic", "a topic has letters, digits, spaces and - _ . / only");
    }
    if Engine::shared().redact(&topic) != topic {
        return fault("topic", "a topic holds no secret");
    }
    Ok(topic)
}

/// Why no run of the seat begins now.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Rest {
    #[error("it ran {0} times in the last hour; `questions.watcher.maxPerHour` is {1}")]
    Hour(u32, u32),
    #[error("it failed: {0}; it is tried again later")]
    Failed(String),
}

/// Whether a run may begin, by how many began within the last hour and why the last one failed, when
/// that was within [`AFTER_FAILURE`] seconds.
pub fn may_run(in_last_hour: u32, most: u32, failed: Option<&str>) -> Result<(), Rest> {
    if let Some(why) = failed {
        return Err(Rest::Failed(why.to_owned()));
    }
    if in_last_hour >= most {
        return Err(Rest::Hour(in_last_hour, most));
    }
    Ok(())
}

/// Seconds without a run behind one that failed.
pub const AFTER_FAILURE: i64 = 15 * 60;
