//! Every sentence a decision says to a person, one function each.

pub mod effect;
pub mod engine;
pub mod finding;
pub mod gate;
pub mod items;
pub mod landed;
pub mod review;
pub mod task;

/// `one`, `one, two`, `one, two and 3 more`.
pub(crate) fn list(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        number => format!("{number} {noun}s"),
    }
}

/// A text, and how many of its kind go unsaid.
pub(crate) fn and_more(text: &str, more: usize) -> String {
    match more {
        0 => text.to_owned(),
        more => format!("{text}, and {more} more"),
    }
}
