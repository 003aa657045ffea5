//! The queue as text, what the owner is told, and when he is reminded (questions.md 4 and 5).

use chrono::{DateTime, Duration, Utc};

use super::need::{LETTERS, Need, Origin};

/// A question with its asker, as the queue shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    pub number: i64,
    pub agent: String,
    pub host: String,
    pub need: Need,
    pub origin: Origin,
    pub asked_at: DateTime<Utc>,
}

impl Item {
    /// `agent@host`.
    pub fn asker(&self) -> String {
        format!("{}@{}", self.agent, self.host)
    }

    /// The project, or a word that there is none.
    pub fn project(&self) -> &str {
        self.need.project.as_deref().unwrap_or("no project")
    }

    /// One line of the queue: `[#] <project> / <agent>@<host> · <topic> · <question + options> · waiting <age>`.
    pub fn line(&self, now: DateTime<Utc>) -> String {
        let options = options(&self.need);
        let gap = if options.is_empty() { "" } else { " " };
        format!(
            "[{}] {} / {} · {} · {}{}{gap}{options} · waiting {}",
            self.number,
            self.project(),
            self.asker(),
            self.need.topic,
            self.tag(),
            one_line(&self.need.question),
            age(now - self.asked_at),
        )
    }

    /// What the owner is told: `[<project>] <agent>@<host> asks (NEED [<topic>]): <question>. Options: A) … B) …`.
    pub fn told(&self) -> String {
        let question = one_line(&self.need.question);
        let stop = if question.ends_with(['.', '?', '!', ':', '…']) { "" } else { "." };
        let options = match options(&self.need) {
            options if options.is_empty() => options,
            options => format!(" Options: {options}"),
        };
        format!(
            "[{}] {} asks (NEED [{}]): {}{question}{stop}{options}",
            self.project(),
            self.asker(),
            self.need.topic,
            self.tag()
        )
    }

    fn tag(&self) -> &'static str {
        match self.origin {
            Origin::Pane => "[pane-judged] ",
            Origin::Cli | Origin::Mcp | Origin::Hook | Origin::Thrum => "",
        }
    }
}

/// `A) WAL B) rollback`; empty without options.
pub fn options(need: &Need) -> String {
    lettered(need)
        .map(|(letter, words)| format!("{letter}) {}", one_line(words)))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The options with their letters.
pub fn lettered(need: &Need) -> impl Iterator<Item = (char, &str)> {
    LETTERS.chars().zip(need.options.iter().map(String::as_str))
}

/// How long something waits, in its two largest units at most: `40s`, `12m`, `3h 5m`, `2d 4h`.
pub fn age(passed: Duration) -> String {
    let seconds = passed.num_seconds().max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let two = |large: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit} {small}{part}"),
    };
    match () {
        () if days > 0 => two(days, "d", hours % 24, "h"),
        () if hours > 0 => two(hours, "h", minutes % 60, "m"),
        () if minutes > 0 => format!("{minutes}m"),
        () => format!("{seconds}s"),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// An open item as the reminder sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub number: i64,
    /// Grows when the words change.
    pub version: u32,
    /// When this version was told.
    pub told_at: DateTime<Utc>,
    /// The version the owner was last reminded of.
    pub reminded: Option<u32>,
}

/// The items that one reminder lists now; empty when nothing is to be said. It is said when an item is
/// overdue of which the owner was not reminded in these words, and then lists all that are overdue.
pub fn remind(items: &[Waiting], now: DateTime<Utc>, after: Duration) -> Vec<i64> {
    let overdue: Vec<&Waiting> = items.iter().filter(|item| now - item.told_at >= after).collect();
    if overdue.iter().all(|item| item.reminded == Some(item.version)) {
        return Vec::new();
    }
    overdue.iter().map(|item| item.number).collect()
}
