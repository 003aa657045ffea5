//! Tells a secret from what only stands in its place.

use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use sha2::{Digest, Sha256};

/// Words that a random token has with a chance below one in a hundred million.
const WORDS: &[&str] = &[
    "example",
    "changeme",
    "change-me",
    "change_me",
    "placeholder",
    "redacted",
    "replaceme",
    "replace-me",
    "replace_me",
    "yourtoken",
    "your-token",
    "your_token",
    "yourapikey",
    "your-api",
    "your_api",
    "your_key",
    "your-key",
    "yourkey",
    "your-secret",
    "your_secret",
    "yoursecret",
    "insert_",
    "insert-",
    "notreal",
    "not-real",
    "not_real",
    "dummytoken",
    "fake-token",
    "faketoken",
    "fake_token",
    "xxxxxx",
    "******",
    "......",
    "deadbeefdeadbeef",
    "secret_here",
    "token_here",
    "key_here",
    "-here-",
    "abcdefgh",
    "01234567",
    "12345678",
];

/// Words that rule out a generic value.
const SOFT_WORDS: &[&str] = &[
    "test",
    "dummy",
    "sample",
    "fake",
    "mock",
    "your",
    "default",
    "foobar",
    "hunter2",
    "qwerty",
    "localhost",
    "password",
    "secret",
    "token",
    "xxxx",
    "todo",
    "none",
    "null",
    "undefined",
    "lorem",
    "hello",
];

/// Starts of values that a program or a template fills in.
const FILLED_IN: &[&str] = &[
    "$",
    "<",
    "{",
    "%",
    "#{",
    "[",
    "(",
    "@",
    "&",
    "process.env",
    "os.environ",
    "os.getenv",
    "env(",
    "env.",
    "getenv",
    "import.meta",
    "secrets.",
    "vars.",
    "var.",
    "config.",
    "self.",
    "this.",
    "std::env",
    "System.getenv",
    "ENV[",
];

/// Keys that vendors print in their manuals, by the first eight bytes of their SHA-256.
const SAMPLES: &[[u8; 8]] = &[
    [0x2c, 0xaf, 0xc0, 0x97, 0x01, 0x49, 0xa8, 0x4f],
    [0xf2, 0xd6, 0xca, 0x16, 0x51, 0x50, 0x33, 0xe5],
    [0xc4, 0x34, 0x1c, 0xe2, 0xcf, 0xcb, 0x52, 0x09],
    [0x00, 0x11, 0xcc, 0x25, 0xeb, 0x43, 0x20, 0x71],
    [0x90, 0x0e, 0x6c, 0x2b, 0xf8, 0xce, 0x6c, 0x14],
];

/// A run of one character that a random token does not have.
pub const FILLER_RUN: usize = 7;

/// Whether a token of a provider's format says itself that it is none, or is printed in a manual.
pub fn is_stand_in(token: &[u8]) -> bool {
    static FOUND: OnceLock<AhoCorasick> = OnceLock::new();
    words(&FOUND, WORDS).is_match(token) || is_sample(token)
}

/// Whether the value of an assignment is filled in later, or is an everyday word.
pub fn is_soft_filler(value: &[u8]) -> bool {
    static FOUND: OnceLock<AhoCorasick> = OnceLock::new();
    is_filled_in(value)
        || longest_run(value) >= FILLER_RUN
        || is_stand_in(value)
        || words(&FOUND, SOFT_WORDS).is_match(value)
}

fn words<'a>(once: &'a OnceLock<AhoCorasick>, words: &[&str]) -> &'a AhoCorasick {
    once.get_or_init(|| {
        let built = AhoCorasick::builder().ascii_case_insensitive(true).build(words);
        built.expect("BUG: a short list of words always builds")
    })
}

/// Whether a value is a variable, a template or a call instead of text.
pub fn is_filled_in(value: &[u8]) -> bool {
    FILLED_IN.iter().any(|start| value.starts_with(start.as_bytes()))
        || memchr::memmem::find(value, b"${").is_some()
        || memchr::memmem::find(value, b"{{").is_some()
        || memchr::memmem::find(value, b"%s").is_some()
}

fn is_sample(token: &[u8]) -> bool {
    let digest = Sha256::digest(token);
    SAMPLES.iter().any(|sample| digest.starts_with(sample))
}

/// The longest run of one character.
pub fn longest_run(text: &[u8]) -> usize {
    let mut longest = 0;
    let mut run = 0;
    let mut last = None;
    for byte in text {
        run = if last == Some(*byte) { run + 1 } else { 1 };
        last = Some(*byte);
        longest = longest.max(run);
    }
    longest
}

/// Bits per byte of the text, by its own distribution.
pub fn entropy(text: &[u8]) -> f32 {
    if text.is_empty() {
        return 0.0;
    }
    let mut counts = [0u32; 256];
    for byte in text {
        counts[*byte as usize] += 1;
    }
    let all = text.len() as f32;
    let bits = counts.iter().filter(|n| **n > 0).map(|n| {
        let share = *n as f32 / all;
        -share * share.log2()
    });
    bits.sum()
}
