//! The NEED message, and what becomes of one that arrives (questions.md 2).

use serde::{Deserialize, Serialize};

use crate::untrusted::is_hidden;

/// The most characters of a topic and of a project's name.
pub const NAME: usize = 80;
/// The most characters of a question.
pub const QUESTION: usize = 4_000;
/// The most characters of one option.
pub const OPTION: usize = 500;
/// The letters of options, in their order.
pub const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// A question as its asker wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Need {
    pub topic: String,
    pub question: String,
    /// Without their letters, from A.
    pub options: Vec<String>,
    pub project: Option<String>,
}

/// Why a text is no question that can be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NeedFault {
    #[error("the first line does not begin with `NEED [<topic>]:`")]
    NoHead,
    #[error("the topic in the brackets is empty")]
    NoTopic,
    #[error("there is no question behind `NEED [<topic>]:`")]
    NoQuestion,
    #[error("the {0} has {1} characters; the most is {2}")]
    TooLong(&'static str, usize, usize),
    #[error("there are {0} options; the most is 26")]
    TooMany(usize),
    #[error("the {0} is empty")]
    Empty(&'static str),
}

impl Need {
    /// Puts a question together from its parts, with the same limits as [`parse`].
    pub fn new(
        topic: &str,
        question: &str,
        options: &[String],
        project: Option<&str>,
    ) -> Result<Self, NeedFault> {
        let topic = one_line(topic);
        if topic.is_empty() {
            return Err(NeedFault::NoTopic);
        }
        let question = question.trim();
        if question.is_empty() {
            return Err(NeedFault::NoQuestion);
        }
        if options.len() > LETTERS.len() {
            return Err(NeedFault::TooMany(options.len()));
        }
        let options: Vec<String> = options.iter().map(|option| option.trim().to_owned()).collect();
        if options.iter().any(String::is_empty) {
            return Err(NeedFault::Empty("option"));
        }
        let project = project.map(one_line).filter(|project| !project.is_empty());
        fits("topic", &topic, NAME)?;
        fits("question", question, QUESTION)?;
        for option in &options {
            fits("option", option, OPTION)?;
        }
        fits("project", project.as_deref().unwrap_or_default(), NAME)?;
        Ok(Self { topic, question: question.to_owned(), options, project })
    }

    /// What tells two questions of one topic apart: everything but the project, without case and spaces.
    pub fn same_as(&self, other: &Self) -> bool {
        let folded = |need: &Self| -> Vec<String> {
            std::iter::once(&need.question).chain(&need.options).map(|text| topic_key(text)).collect()
        };
        folded(self) == folded(other)
    }
}

/// Reads a raw message. Its first line that is not blank begins with `NEED [<topic>]:`; the question
/// follows there or below, then lines `A) …` in the order of the letters, and `Project: …` anywhere.
pub fn parse(text: &str) -> Result<Need, NeedFault> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let first = lines.next().ok_or(NeedFault::NoHead)?;
    let rest = first.strip_prefix("NEED").ok_or(NeedFault::NoHead)?;
    let rest = rest.trim_start_matches([' ', '\t']);
    let rest = rest.strip_prefix('[').ok_or(NeedFault::NoHead)?;
    let (topic, first) = rest.split_once("]:").ok_or(NeedFault::NoHead)?;
    let mut question = vec![first.trim()];
    let mut options: Vec<String> = Vec::new();
    let mut project = None;
    for line in lines {
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("Project:") {
            project = project.or_else(|| Some(name.trim()).filter(|name| !name.is_empty()));
        } else if let Some(option) = next_option(line, options.len()) {
            options.push(option.to_owned());
        } else if line == "Options:" {
            // A head over the lines that follow.
        } else if let Some(last) = options.last_mut().filter(|_| line.starts_with([' ', '\t'])) {
            last.push(' ');
            last.push_str(line.trim());
        } else {
            question.push(line);
        }
    }
    Need::new(topic, question.join("\n").trim(), &options, project)
}

/// The words of an option line whose letter is the next one: `B) …` after A.
fn next_option(line: &str, taken: usize) -> Option<&str> {
    let letter = LETTERS.get(taken..=taken)?;
    let words = line.trim_start().strip_prefix(letter)?.strip_prefix(')')?.trim();
    (!words.is_empty()).then_some(words)
}

/// Under what a topic is kept once: without case, spaces collapsed.
pub fn topic_key(topic: &str) -> String {
    topic.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

/// Under what an asker is known: `agent@host` without case.
pub fn agent_key(agent: &str, host: &str) -> String {
    format!("{}@{}", topic_key(agent), topic_key(host))
}

fn one_line(text: &str) -> String {
    let visible: String =
        text.chars().map(|c| if is_hidden(c) && !c.is_whitespace() { '\u{fffd}' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fits(what: &'static str, text: &str, most: usize) -> Result<(), NeedFault> {
    let count = text.chars().count();
    if count > most { Err(NeedFault::TooLong(what, count, most)) } else { Ok(()) }
}

/// How a question came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// `steward need`.
    Cli,
    /// The tool `need_raise`.
    Mcp,
    /// An agent's own hook.
    Hook,
    /// A message of thrum.
    Thrum,
    /// Read off a pane: nobody asked Steward.
    Pane,
}

impl Origin {
    /// True when the agent itself asked.
    pub fn is_explicit(self) -> bool {
        match self {
            Self::Cli | Self::Mcp | Self::Hook | Self::Thrum => true,
            Self::Pane => false,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Mcp => "mcp",
            Self::Hook => "hook",
            Self::Thrum => "thrum",
            Self::Pane => "pane",
        }
    }
}

/// The open item of the same asker and topic, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    pub need: Need,
    pub origin: Origin,
}

/// What an arriving question becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// A new item.
    New,
    /// The item that stands; nothing is said again.
    Same,
    /// The item that stands gets these words; the owner is told of the change.
    Changed,
    /// The agent itself asks what was read off its pane: the item is the agent's from now on, and is
    /// told again only when the words differ.
    Supersedes { words_differ: bool },
    /// What a pane shows says nothing beyond what the agent asked itself.
    Covered,
}

/// Keeps one item per asking agent and topic.
pub fn arrive(standing: Option<&Standing>, need: &Need, origin: Origin) -> Arrival {
    let Some(standing) = standing else { return Arrival::New };
    let same = standing.need.same_as(need);
    match (standing.origin.is_explicit(), origin.is_explicit()) {
        (true, false) => Arrival::Covered,
        (false, true) => Arrival::Supersedes { words_differ: !same },
        (true, true) | (false, false) if same => Arrival::Same,
        (true, true) | (false, false) => Arrival::Changed,
    }
}
