//! How answers are printed: aligned text for people, one JSON object for scripts.

use std::io::{IsTerminal, Write};

use serde::Serialize;
use steward_core::api::error::ApiError;

/// Where answers go, and in which form.
pub struct Output {
    json: bool,
    colour: bool,
}

/// What a word means, so that colour never carries it alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Good,
    Warn,
    Bad,
    Dim,
    Bold,
}

impl Output {
    pub fn new(json: bool) -> Self {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        Self { json, colour: !json && !plain && std::io::stdout().is_terminal() }
    }

    pub fn is_json(&self) -> bool {
        self.json
    }

    /// Prints an answer: the object itself with `--json`, else what `text` makes of it.
    pub fn answer<T: Serialize>(&self, value: &T, text: impl FnOnce(&T) -> String) {
        if self.json {
            self.object(value);
        } else {
            self.text(&text(value));
        }
    }

    pub fn object<T: Serialize>(&self, value: &T) {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.text(&text),
            Err(error) => eprintln!("steward: the answer could not be written as JSON: {error}"),
        }
    }

    /// Prints text, ending the process quietly when the reader went away (`| head`).
    pub fn text(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        if write!(stdout, "{text}{newline}").and_then(|()| stdout.flush()).is_err() {
            std::process::exit(0);
        }
    }

    /// Progress and hints: on stderr, never mixed with the answer.
    pub fn note(&self, text: &str) {
        if !self.json {
            eprintln!("{text}");
        }
    }

    /// How far something is, on one line of a terminal that the next one writes over; elsewhere nothing.
    pub fn progress(&self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        if !self.json && stderr.is_terminal() {
            // A terminal that is gone shows nothing; the work goes on.
            let _ = write!(stderr, "\r\x1b[2K{text}").and_then(|()| stderr.flush());
        }
    }

    pub fn error(&self, error: &ApiError) {
        if self.json {
            self.object(&serde_json::json!({ "error": error }));
            return;
        }
        eprintln!("steward: {}", error.message);
        if let Some(hint) = &error.hint {
            eprintln!("  {hint}");
        }
    }

    pub fn paint(&self, tone: Tone, text: &str) -> String {
        if !self.colour {
            return text.to_owned();
        }
        let code = match tone {
            Tone::Good => "32",
            Tone::Warn => "33",
            Tone::Bad => "31",
            Tone::Dim => "2",
            Tone::Bold => "1",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}
