//! What is wrong with a configuration file, where, and what to do.

use std::fmt;

use serde::Serialize;
use steward_rules::secret::Engine;
use steward_rules::untrusted::{Untrusted, is_hidden};

use super::raw::Spot;

/// How much a problem changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The file holds, as it stands.
    Warning,
    /// The part it stands in is off.
    Error,
    /// The file is not read; the last good one is in force.
    Fatal,
}

/// One problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    pub severity: Severity,
    /// From 1; 0 when it has no place.
    pub line: u32,
    pub column: u32,
    /// `review.budgetUsd`, `workspaces[2].path`; empty for the file as a whole.
    pub key: String,
    pub message: String,
    pub hint: Option<String>,
    /// The line, and a mark under the place.
    pub snippet: Option<String>,
}

impl Problem {
    pub(crate) fn at(severity: Severity, spot: Spot, key: &str, message: impl Into<String>) -> Self {
        Self {
            severity,
            line: spot.line,
            column: spot.column,
            key: inert(key, 200),
            message: inert(&message.into(), 600),
            hint: None,
            snippet: None,
        }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The line it is about, without its number.
    pub(crate) fn snippet_line(&self) -> Option<&str> {
        self.snippet.as_deref()?.lines().next()?.split_once(" | ").map(|(_, line)| line)
    }

    /// Adds the line it is about, cut around the place and safe to print.
    pub(crate) fn with_snippet(mut self, text: &str) -> Self {
        const WIDTH: usize = 100;
        let Some(line) = (self.line as usize).checked_sub(1).and_then(|index| text.lines().nth(index)) else {
            return self;
        };
        // A token put into the file by mistake is not said again.
        let line = Engine::shared().redact(line);
        let column = (self.column as usize).saturating_sub(1).min(line.chars().count());
        let from = column.saturating_sub(WIDTH / 2);
        let shown: String =
            line.chars().skip(from).take(WIDTH).map(|c| if is_hidden(c) { '\u{fffd}' } else { c }).collect();
        let number = self.line.to_string();
        let mark = " ".repeat(column - from);
        self.snippet = Some(format!("{number} | {shown}\n{} | {mark}^", " ".repeat(number.len())));
        self
    }
}

/// Words of the file in ours: on one line, nothing hidden, no secret.
fn inert(text: &str, limit: usize) -> String {
    Untrusted::new(Engine::shared().redact(text)).one_line(limit)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
            Severity::Fatal => "not read",
        };
        if self.line > 0 {
            write!(f, "{}:{}: ", self.line, self.column)?;
        }
        write!(f, "{word}: ")?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        Ok(())
    }
}

/// The word nearest to `typed`, when it is near enough to be meant.
pub(crate) fn did_you_mean<'a>(typed: &str, known: &[&'a str]) -> Option<&'a str> {
    let limit = match typed.chars().count() {
        0..=2 => 1,
        3..=5 => 2,
        _ => 3,
    };
    known
        .iter()
        .map(|word| (distance(&typed.to_lowercase(), &word.to_lowercase()), *word))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// How many letters must be typed, dropped, changed or swapped to get from one word to the other.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}
