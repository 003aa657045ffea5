//! Reads `name = "value"` in the many ways that code and settings write it.

use std::ops::Range;

use super::placeholder;

/// How the value stands in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    Quoted,
    Bare,
}

/// The value that a name is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// End of the name, before its closing quote.
    pub name_end: usize,
    pub value: Range<usize>,
    pub quote: Quote,
}

/// How far behind the keyword the operator may stand.
const NAME_REST: usize = 40;
/// The longest value that is read.
const LONGEST: usize = 512;

/// Reads assignments of one text, and remembers the last: many keywords stand in one name, and one
/// long value may hold many names.
#[derive(Debug, Default)]
pub struct Reader {
    operator_end: usize,
    given: Option<Assigned>,
    bare: Range<usize>,
}

impl Reader {
    /// The assignment whose name holds the keyword that ends at `at`.
    pub fn read(&mut self, text: &[u8], at: usize) -> Option<Assigned> {
        let mut at = at;
        let far = (at + NAME_REST).min(text.len());
        while at < far && is_name(text[at]) {
            at += 1;
        }
        let name_end = at;
        // `"name"`, `name]`, `'name')`, `\"name\"`
        let mut closers = 0;
        while closers < 3 && at < text.len() && matches!(text[at], b'"' | b'\'' | b'`' | b']' | b')' | b'\\')
        {
            at += 1;
            closers += 1;
        }
        let at = operator(text, skip_blanks(text, at))?;
        if at != self.operator_end {
            self.operator_end = at;
            self.given = self.given_at(text, at);
        }
        self.given.clone().map(|given| Assigned { name_end, ..given })
    }

    fn given_at(&mut self, text: &[u8], at: usize) -> Option<Assigned> {
        let first = self.value(text, at)?;
        // `name: Type = "value"`: the type stood where the value was looked for.
        if first.quote == Quote::Bare {
            let next = skip_blanks(text, first.value.end);
            if text.get(next) == Some(&b'=') && text.get(next + 1) != Some(&b'=') {
                return self.value(text, next + 1);
            }
        }
        Some(first)
    }

    fn value(&mut self, text: &[u8], at: usize) -> Option<Assigned> {
        let mut at = skip_blanks(text, at);
        // String prefixes (`b"`, `f'`, `@"`), an escaped quote, an opening bracket.
        for _ in 0..3 {
            let opens = matches!(text.get(at + 1), Some(b'"' | b'\''));
            match text.get(at)? {
                b'b' | b'f' | b'r' | b'u' | b'@' | b'$' | b'\\' if opens => at += 1,
                b'(' | b'[' => at = skip_blanks(text, at + 1),
                _ => break,
            }
        }
        let (mut start, close) = match text.get(at)? {
            quote @ (b'"' | b'\'' | b'`') => (at + 1, Some(*quote)),
            _ => (at, None),
        };
        for scheme in [&b"Bearer "[..], b"bearer ", b"Basic ", b"Token ", b"token "] {
            if text[start..].starts_with(scheme) {
                start += scheme.len();
            }
        }
        let limit = (start + LONGEST).min(text.len());
        let (end, quote) = match close {
            Some(quote) => {
                let ends = |byte: &u8| *byte == quote || matches!(byte, b'\n' | b'\r' | b'\\' | 0);
                (text[start..limit].iter().position(ends).map_or(limit, |len| start + len), Quote::Quoted)
            }
            None => {
                if !self.bare.contains(&start) {
                    let len = text[start..].iter().position(|byte| ENDS_BARE[*byte as usize]);
                    self.bare = start..len.map_or(text.len(), |len| start + len);
                }
                (self.bare.end.min(limit), Quote::Bare)
            }
        };
        (end > start).then_some(Assigned { name_end: at, value: start..end, quote })
    }
}

/// What ends a value without quotes.
const ENDS_BARE: [bool; 256] = {
    let mut ends = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        ends[byte] = !b.is_ascii_graphic()
            || matches!(b, b'"' | b'\'' | b'`' | b',' | b';' | b')' | b'}' | b']' | b'<' | b'\\' | b'&');
        byte += 1;
    }
    ends
};

fn operator(text: &[u8], at: usize) -> Option<usize> {
    let rest = &text[at.min(text.len())..];
    // `<add key="Password" value="…" />`
    if rest.starts_with(b"value=") {
        return Some(at + b"value=".len());
    }
    const OPERATORS: &[&[u8]] = &[
        b"===", b"!==", b"||=", b"??=", b":=", b"=>", b"->", b"==", b"!=", b"?=", b"+=", b"=", b":", b",",
        b">", b"(",
    ];
    OPERATORS.iter().find(|op| rest.starts_with(op)).map(|op| at + op.len())
}

fn skip_blanks(text: &[u8], at: usize) -> usize {
    let limit = (at + 16).min(text.len());
    let mut at = at.min(text.len());
    while at < limit && matches!(text[at], b' ' | b'\t') {
        at += 1;
    }
    at
}

/// Whether the rest of a name says that its value is a digest or a revision, not a key.
pub fn names_a_digest(rest: &[u8]) -> bool {
    const WORDS: &[&[u8]] =
        &[b"sha", b"md5", b"hash", b"digest", b"checksum", b"commit", b"rev", b"etag", b"integrity"];
    let lower = rest.to_ascii_lowercase();
    WORDS.iter().any(|word| memchr::memmem::find(&lower, word).is_some())
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Whether the value of a secret-sounding name looks like a secret: long, mixed and not a word.
pub fn looks_secret(value: &[u8], quote: Quote) -> bool {
    if !(10..=200).contains(&value.len()) || !value.iter().all(u8::is_ascii_graphic) {
        return false;
    }
    let digits = value.iter().filter(|b| b.is_ascii_digit()).count();
    let letters = value.iter().filter(|b| b.is_ascii_alphabetic()).count();
    if digits < 2 || letters < 2 || placeholder::is_soft_filler(value) {
        return false;
    }
    // Paths, calls and addresses are no secrets; bare values are mostly code.
    if value.iter().any(|b| matches!(b, b'(' | b'<' | b'{' | b'[' | b'|'))
        || memchr::memmem::find(value, b"://").is_some()
    {
        return false;
    }
    if value.iter().filter(|b| matches!(b, b'/' | b'.' | b':')).count() > 2 || matches!(value[0], b'/' | b'.')
    {
        return false;
    }
    let bits = placeholder::entropy(value);
    match quote {
        Quote::Quoted => bits >= 3.3,
        Quote::Bare => bits >= 3.5 && !value.iter().any(|b| matches!(b, b'.' | b':' | b'*')),
    }
}

/// Reads the password of `scheme://user:password@host` whose `://` ends at `at`.
pub fn url_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let limit = (at + 256).min(text.len());
    let mut colon = None;
    for (offset, byte) in text[at..limit].iter().enumerate() {
        match byte {
            b':' if colon.is_none() => colon = Some(at + offset + 1),
            b'@' => {
                let start = colon?;
                let end = at + offset;
                return (end - start >= 6 && is_password(&text[start..end])).then_some(start..end);
            }
            b'/' | b'"' | b'\'' | b'<' | b'>' | b'`' | b'?' | b'{' | b'}' | b'(' | b')' | b'\\' => {
                return None;
            }
            byte if !byte.is_ascii_graphic() => return None,
            _ => {}
        }
    }
    None
}

fn is_password(value: &[u8]) -> bool {
    let lower = value.to_ascii_lowercase();
    !placeholder::is_soft_filler(value) && !lower.starts_with(b"pass") && placeholder::entropy(value) >= 2.5
}
