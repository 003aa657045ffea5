//! One level of base64, hex and URL encoding, on long candidates and within a byte budget.

use std::ops::Range;

/// The shortest text that is decoded.
const SHORTEST: usize = 24;
/// How many bytes one candidate may decode to.
const CANDIDATE: usize = 64 * 1024;
/// How many bytes one text may decode to.
const BUDGET: usize = 1024 * 1024;

const OTHER: u8 = 0;
/// Letters and digits that hex lacks, and the signs of both base64 alphabets.
const BASE64: u8 = 1;
const HEX: u8 = 2;

const KINDS: [u8; 256] = {
    let mut kinds = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_hexdigit() {
            kinds[byte] = BASE64 | HEX;
        } else if b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'-' | b'_') {
            kinds[byte] = BASE64;
        }
        byte += 1;
    }
    kinds
};

const SIXES: [u8; 256] = {
    let mut sixes = [255u8; 256];
    let signs = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut at = 0;
    while at < 64 {
        sixes[signs[at] as usize] = at as u8;
        at += 1;
    }
    sixes[b'-' as usize] = 62;
    sixes[b'_' as usize] = 63;
    sixes
};

/// Calls `each` with every decoded text and the range it was decoded from.
pub fn each_decoded(text: &[u8], mut each: impl FnMut(Range<usize>, &[u8])) {
    let mut budget = BUDGET;
    let mut decoded = Vec::new();
    let mut at = 0;
    while at < text.len() && budget > 0 {
        // A run of 24 has to cover the byte 23 further on: most text is skipped by that step.
        let probe = at + SHORTEST - 1;
        if probe >= text.len() {
            break;
        }
        if let Some(gap) = text[at..=probe].iter().rposition(|byte| KINDS[*byte as usize] == OTHER) {
            at += gap + 1;
            continue;
        }
        let mut end = probe + 1;
        while end < text.len() && KINDS[text[end] as usize] != OTHER {
            end += 1;
        }
        let limit = end.min(at + CANDIDATE.min(budget) * 4 / 3);
        if run(&text[at..limit], &mut decoded) {
            budget = budget.saturating_sub(decoded.len());
            each(at..end, &decoded);
        }
        at = end;
    }
    percent(text, budget, each);
}

/// Decodes a run when it hides printable text, as hex or as base64.
fn run(text: &[u8], out: &mut Vec<u8>) -> bool {
    if text.iter().take(2 * SHORTEST).all(|byte| KINDS[*byte as usize] & HEX != 0)
        && text.len().is_multiple_of(2)
    {
        unhex(text, out);
        return is_text(out);
    }
    // A path or a name may stand right in front: `secrets/c2tf…`.
    if starts_text(text) {
        unbase64(text, out);
        return is_text(out);
    }
    let Some(slash) = text.iter().take(96).rposition(|byte| *byte == b'/') else { return false };
    let tail = &text[slash + 1..];
    if tail.len() < SHORTEST || !starts_text(tail) {
        return false;
    }
    unbase64(tail, out);
    is_text(out)
}

/// Whether the first twelve decoded bytes are printable.
fn starts_text(text: &[u8]) -> bool {
    text.chunks_exact(4).take(4).all(|four| {
        let bits = four.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(SIXES[*byte as usize]));
        is_printable((bits >> 16) as u8) && is_printable((bits >> 8) as u8) && is_printable(bits as u8)
    })
}

fn unbase64(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    for four in text.chunks(4) {
        let bits = four.iter().fold(0u32, |bits, byte| bits << 6 | u32::from(SIXES[*byte as usize]));
        let bits = bits << (6 * (4 - four.len()));
        out.extend_from_slice(&[(bits >> 16) as u8, (bits >> 8) as u8, bits as u8][..four.len() * 3 / 4]);
    }
}

fn unhex(text: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    for two in text.chunks_exact(2) {
        let (Some(high), Some(low)) = (digit(two[0]), digit(two[1])) else { break };
        out.push(high << 4 | low);
    }
}

fn is_text(text: &[u8]) -> bool {
    let head = &text[..text.len().min(24)];
    !head.is_empty() && head.iter().all(|byte| is_printable(*byte))
}

fn is_printable(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t')
}

/// URL encoding: runs of URL characters with at least one `%XX`.
fn percent(text: &[u8], mut budget: usize, mut each: impl FnMut(Range<usize>, &[u8])) {
    let mut at = 0;
    let mut decoded = Vec::new();
    while let Some(found) = memchr::memchr(b'%', &text[at..]) {
        let sign = at + found;
        if budget == 0 || !is_escape(text, sign) {
            at = sign + 1;
            if budget == 0 {
                return;
            }
            continue;
        }
        let start = text[at..sign].iter().rposition(|byte| !is_url(*byte)).map_or(at, |gap| at + gap + 1);
        let mut end = sign;
        decoded.clear();
        decoded.extend_from_slice(&text[start..sign]);
        while end < text.len() && decoded.len() < CANDIDATE.min(budget) {
            if is_escape(text, end) {
                unhex_one(&text[end + 1..end + 3], &mut decoded);
                end += 3;
            } else if is_url(text[end]) {
                decoded.push(text[end]);
                end += 1;
            } else {
                break;
            }
        }
        if end - start >= SHORTEST {
            budget = budget.saturating_sub(decoded.len());
            each(start..end, &decoded);
        }
        at = end.max(sign + 1);
    }
}

fn unhex_one(two: &[u8], out: &mut Vec<u8>) {
    let value =
        two.iter().fold(0u8, |value, byte| value << 4 | char::from(*byte).to_digit(16).unwrap_or(0) as u8);
    out.push(value);
}

fn is_escape(text: &[u8], at: usize) -> bool {
    text[at] == b'%' && text.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
}

fn is_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'.' | b'_' | b'~' | b'-' | b'+' | b'=' | b'/' | b':' | b'&' | b'?')
}
