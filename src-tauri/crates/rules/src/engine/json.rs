//! JSON as it is written: keys in their order, numbers as their digits, and no key twice.
//!
//! A reader that keeps the last of two equal keys would hide what a line merge doubled, and one that reads
//! numbers as floating point would change them.

use std::fmt::Write as _;

/// How deep values may nest.
const DEPTH: usize = 64;

/// A JSON value.
#[derive(Debug, Clone, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As it was written.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

/// Why a text is not JSON that can be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    #[error("no JSON at byte {0}")]
    Syntax(usize),
    #[error("a key stands twice, the second time before byte {at}")]
    Twice { at: usize },
    #[error("it nests deeper than {DEPTH} levels")]
    Deep,
}

/// Equal as values: the order of keys says nothing.
impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Number(a), Self::Number(b)) | (Self::Text(a), Self::Text(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => {
                let other = |key: &str| b.iter().find(|(name, _)| name == key).map(|(_, value)| value);
                a.len() == b.len() && a.iter().all(|(key, value)| other(key) == Some(value))
            }
            _ => false,
        }
    }
}

impl Json {
    /// Reads a whole text.
    pub fn parse(text: &str) -> Result<Self, JsonError> {
        let mut reader = Reader { text: text.as_bytes(), at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at == text.len() { Ok(value) } else { Err(JsonError::Syntax(reader.at)) }
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(members) => members.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::List(_) => None,
        }
    }

    /// A text or a number, as what names something.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::List(_) | Self::Map(_) => None,
        }
    }

    /// True for `{}` and `[]`.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::List(items) => items.is_empty(),
            Self::Map(members) => members.is_empty(),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => false,
        }
    }

    /// One spelling for equal values: keys sorted, no space.
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None, true, 0);
        out
    }

    /// On one line, keys in their order.
    pub fn compact(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, None, false, 0);
        out
    }

    /// With a line for each member, indented by so many spaces a level, and a line break at the end.
    pub fn pretty(&self, indent: usize) -> String {
        let mut out = String::new();
        self.write(&mut out, Some(indent), false, 0);
        out.push('\n');
        out
    }

    fn write(&self, out: &mut String, indent: Option<usize>, sorted: bool, level: usize) {
        let line = |out: &mut String, level: usize| {
            if let Some(width) = indent {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', width * level));
            }
        };
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Number(digits) => out.push_str(digits),
            Self::Text(text) => quote(out, text),
            Self::List(items) if items.is_empty() => out.push_str("[]"),
            Self::Map(members) if members.is_empty() => out.push_str("{}"),
            Self::List(items) => {
                out.push('[');
                for (number, item) in items.iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    line(out, level + 1);
                    item.write(out, indent, sorted, level + 1);
                }
                line(out, level);
                out.push(']');
            }
            Self::Map(members) => {
                let mut members: Vec<&(String, Self)> = members.iter().collect();
                if sorted {
                    members.sort_by(|a, b| a.0.cmp(&b.0));
                }
                out.push('{');
                for (number, (key, value)) in members.into_iter().enumerate() {
                    out.push_str(if number > 0 { "," } else { "" });
                    line(out, level + 1);
                    quote(out, key);
                    out.push_str(if indent.is_some() { ": " } else { ":" });
                    value.write(out, indent, sorted, level + 1);
                }
                line(out, level);
                out.push('}');
            }
        }
    }
}

fn quote(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn fault<T>(&self) -> Result<T, JsonError> {
        Err(JsonError::Syntax(self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn word(&mut self, word: &str, value: Json) -> Result<Json, JsonError> {
        if self.text[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            self.fault()
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEPTH {
            return Err(JsonError::Deep);
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'"') => self.string().map(Json::Text),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) | None => self.fault(),
        }
    }

    fn map(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut members: Vec<(String, Json)> = Vec::new();
        let mut keys = std::collections::HashSet::new();
        self.space();
        if self.take(b'}') {
            return Ok(Json::Map(members));
        }
        loop {
            self.space();
            let key = self.string()?;
            if !keys.insert(key.clone()) {
                return Err(JsonError::Twice { at: self.at });
            }
            self.space();
            if !self.take(b':') {
                return self.fault();
            }
            members.push((key, self.value(depth + 1)?));
            self.space();
            if self.take(b'}') {
                return Ok(Json::Map(members));
            }
            if !self.take(b',') {
                return self.fault();
            }
        }
    }

    fn list(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut items = Vec::new();
        self.space();
        if self.take(b']') {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.space();
            if self.take(b']') {
                return Ok(Json::List(items));
            }
            if !self.take(b',') {
                return self.fault();
            }
        }
    }

    fn digits(&mut self) -> usize {
        let from = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - from
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let from = self.at;
        self.take(b'-');
        let zero = self.peek() == Some(b'0');
        let whole = self.digits();
        if whole == 0 || (zero && whole > 1) {
            return self.fault();
        }
        if self.take(b'.') && self.digits() == 0 {
            return self.fault();
        }
        if self.take(b'e') || self.take(b'E') {
            let _ = self.take(b'+') || self.take(b'-');
            if self.digits() == 0 {
                return self.fault();
            }
        }
        Ok(Json::Number(String::from_utf8_lossy(&self.text[from..self.at]).into_owned()))
    }

    fn string(&mut self) -> Result<String, JsonError> {
        if !self.take(b'"') {
            return self.fault();
        }
        let mut out = Vec::new();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    // The text was valid UTF-8 and escapes add whole characters.
                    return String::from_utf8(out).or_else(|_| self.fault());
                }
                Some(b'\\') => {
                    self.at += 1;
                    let c = self.escape()?;
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(byte) if byte >= 0x20 => {
                    out.push(byte);
                    self.at += 1;
                }
                Some(_) | None => return self.fault(),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let Some(byte) = self.peek() else { return self.fault() };
        self.at += 1;
        Ok(match byte {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let high = self.hex()?;
                let point = if (0xd800..0xdc00).contains(&high) {
                    if !(self.take(b'\\') && self.take(b'u')) {
                        return self.fault();
                    }
                    let low = self.hex()?;
                    if !(0xdc00..0xe000).contains(&low) {
                        return self.fault();
                    }
                    0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00)
                } else {
                    high
                };
                return char::from_u32(point).map_or_else(|| self.fault(), Ok);
            }
            _ => return self.fault(),
        })
    }

    fn hex(&mut self) -> Result<u32, JsonError> {
        let mut value = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|byte| char::from(byte).to_digit(16)) else {
                return self.fault();
            };
            value = value * 16 + digit;
            self.at += 1;
        }
        Ok(value)
    }
}
