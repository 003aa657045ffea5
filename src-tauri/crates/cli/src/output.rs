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
            Ok(text) => self.verbatim(&json_shown(&text)),
            Err(error) => eprintln!("steward: the answer could not be written as JSON: {error}"),
        }
    }

    /// Prints text. What others wrote is in it, so nothing but our own colours reaches the terminal as a code.
    pub fn text(&self, text: &str) {
        self.verbatim(&shown(text, self.colour));
    }

    /// Prints exactly these bytes, ending the process quietly when the reader went away (`| head`).
    pub fn verbatim(&self, text: &str) {
        let mut stdout = std::io::stdout().lock();
        let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        if write!(stdout, "{text}{newline}").and_then(|()| stdout.flush()).is_err() {
            std::process::exit(0);
        }
    }

    /// Progress and hints: on stderr, never mixed with the answer.
    pub fn note(&self, text: &str) {
        if !self.json {
            eprintln!("{}", shown(text, self.colour));
        }
    }

    /// How far something is, on one line of a terminal that the next one writes over; elsewhere nothing.
    pub fn progress(&self, text: &str) {
        let mut stderr = std::io::stderr().lock();
        if !self.json && stderr.is_terminal() {
            // A terminal that is gone shows nothing; the work goes on.
            let _ = write!(stderr, "\r\x1b[2K{}", shown(text, false)).and_then(|()| stderr.flush());
        }
    }

    pub fn error(&self, error: &ApiError) {
        if self.json {
            self.object(&serde_json::json!({ "error": error }));
            return;
        }
        eprintln!("steward: {}", shown(&error.message, false));
        if let Some(hint) = &error.hint {
            eprintln!("  {}", shown(hint, false));
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

/// The colours that [`Output::paint`] writes.
const COLOURS: [&str; 6] = ["\x1b[32m", "\x1b[33m", "\x1b[31m", "\x1b[2m", "\x1b[1m", "\x1b[0m"];

/// The text with control and bidirectional characters shown as `\u{…}`; line breaks and tabs stay, and our own
/// colours where there are any.
fn shown(text: &str, colour: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let own = COLOURS.iter().find(|code| colour && rest.starts_with(**code));
        let taken = own.map_or(c.len_utf8(), |code| code.len());
        match c {
            _ if own.is_some() => out.push_str(&rest[..taken]),
            '\r' if rest[taken..].starts_with('\n') => {}
            '\n' | '\t' => out.push(c),
            c if changes_reading(c) => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            c => out.push(c),
        }
        rest = &rest[taken..];
    }
    out
}

/// JSON escapes the codes below a space by itself; the others are escaped here, as JSON does.
fn json_shown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push(c),
            c if changes_reading(c) => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out
}

/// True for what a terminal acts on instead of showing it. All of them have four hexadecimal digits.
fn changes_reading(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_no_code_of_a_terminal() {
        let hostile = "a\x1b]0;title\x07\x1b[2J\u{9b}31mb\r\nc\td\re \u{202e}";
        let plain = "a\\u{1b}]0;title\\u{7}\\u{1b}[2J\\u{9b}31mb\nc\td\\u{d}e \\u{202e}";
        for colour in [false, true] {
            assert_eq!(shown(hostile, colour), plain);
        }
        let output = Output { json: false, colour: true };
        let painted = output.paint(Tone::Bad, "no");
        assert_eq!(shown(&painted, true), painted);
        assert_eq!(shown(&painted, false), "\\u{1b}[31mno\\u{1b}[0m");
    }

    #[test]
    fn json_stays_the_same_object() {
        let value = serde_json::json!({ "text": "a\x1b[2J\u{9b}\u{7f}\u{202e}ü" });
        let text = json_shown(&serde_json::to_string_pretty(&value).expect("it is JSON"));
        assert!(!text.chars().any(|c| c != '\n' && changes_reading(c)), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("it is JSON"), value);
    }
}
