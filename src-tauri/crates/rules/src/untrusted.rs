//! Text that someone else wrote.

use serde::{Deserialize, Serialize};

/// Text from a branch, a pull request, a comment, a pane or an agent. It has no `Display` and no
/// `Deref`: it reaches a screen as inert text and a seat only inside an untrusted envelope
/// (product.md, rule 5).
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "ts", derive(ts_rs::TS), ts(type = "string"))]
pub struct Untrusted(String);

impl Untrusted {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text as data, to be parsed or stored. Never to be formatted into a sentence or prompt.
    pub fn as_data(&self) -> &str {
        &self.0
    }

    /// The text with control, bidirectional and invisible characters shown as `\u{…}`, cut to
    /// `limit` characters. Line breaks and tabs stay.
    pub fn escaped(&self, limit: usize) -> String {
        escape(&self.0, limit, |c| matches!(c, '\n' | '\t'))
    }

    /// Like [`Self::escaped`], on one line: line breaks and tabs are escaped too.
    pub fn one_line(&self, limit: usize) -> String {
        escape(&self.0, limit, |_| false)
    }
}

impl std::fmt::Debug for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Untrusted({:?})", self.one_line(80))
    }
}

fn escape(text: &str, limit: usize, keep: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len().min(limit) + 8);
    for (count, c) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        if keep(c) || !is_hidden(c) {
            out.push(c);
        } else {
            match c {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                c => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
            }
        }
    }
    out
}

/// True for characters that change how text is read without being seen: control characters,
/// bidirectional controls, zero-width and tag characters, variation selectors, Hangul fillers.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c as u32,
            0x00AD | 0x034F | 0x061C | 0x115F | 0x1160 | 0x17B4 | 0x17B5
            | 0x180B..=0x180F | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F
            | 0x3164 | 0xFE00..=0xFE0F | 0xFEFF | 0xFFA0 | 0xFFF0..=0xFFFB
            | 0x1D173..=0x1D17A | 0xE0000..=0xE0FFF)
}
