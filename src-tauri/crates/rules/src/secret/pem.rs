//! Finds private keys that have a body, also across lines and inside quoted strings.

use std::ops::Range;

/// How many key characters make a body.
const BODY: usize = 64;
/// How far a body is followed.
const FAR: usize = 16 * 1024;

/// The private key whose `PRIVATE KEY` ends at `at`: from its first dash to its last, when a body
/// follows.
pub fn read(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = opening(text, at)?;
    let mut cursor = at;
    if text[cursor..].starts_with(b" BLOCK") {
        cursor += b" BLOCK".len();
    }
    if !text[cursor..].starts_with(b"-----") {
        return None;
    }
    cursor += 5;
    let limit = (cursor + FAR).min(text.len());
    let mut key = 0;
    let mut seen = [false; 256];
    let mut header = false;
    while cursor < limit {
        let byte = text[cursor];
        match byte {
            // `\n` and `\r` written as escapes.
            b'\\' if matches!(text.get(cursor + 1), Some(b'n' | b'r' | b't')) => {
                header = false;
                cursor += 1;
            }
            b'\n' => header = false,
            // `Proc-Type: 4,ENCRYPTED`, `Version: …`: the rest of the line is no body.
            b':' => header = true,
            b'-' if text[cursor..].starts_with(b"-----") => break,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'=' if !header => {
                key += 1;
                seen[byte as usize] = true;
            }
            b' ' | b'\t' | b'\r' | b'"' | b'\'' | b',' | b'\\' | b'#' | b'*' | b'`' | b';' | b'.' | b'-'
            | b'(' | b')' => {}
            _ if header && byte.is_ascii_graphic() => {}
            _ => break,
        }
        cursor += 1;
    }
    let kinds = seen.iter().filter(|seen| **seen).count();
    if key < BODY || kinds < 12 {
        return None;
    }
    let line = text[cursor..].iter().take(64).position(|b| matches!(b, b'\n' | b'"' | b'\''));
    let closed = text[cursor..].starts_with(b"-----END");
    let end = if closed { cursor + line.unwrap_or_else(|| (text.len() - cursor).min(64)) } else { cursor };
    Some(start..end)
}

/// Where the dashes of `-----BEGIN … PRIVATE KEY` begin.
fn opening(text: &[u8], at: usize) -> Option<usize> {
    let from = at.saturating_sub(48);
    let begin = memchr::memmem::rfind(&text[from..at], b"-----BEGIN ")?;
    let between = &text[from + begin + 11..at];
    between.iter().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b' ').then_some(from + begin)
}
