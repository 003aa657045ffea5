//! Which question the owner's words answer, and how they are carried (questions.md 6).

use super::queue::Item;

/// Where an answer belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// To this item, in these words.
    To { number: i64, words: String },
    /// Several are open and the answer names none: Steward asks which.
    Which(Vec<i64>),
    /// It names an item that is not open.
    NotOpen(i64),
    /// Nothing is open.
    Nothing,
    /// There are no words.
    Empty,
}

/// Reads an answer to a list of questions: `3: B` goes to item 3; without a number it can only mean
/// the one that is open.
pub fn route(text: &str, open: &[i64]) -> Route {
    let text = text.trim();
    if text.is_empty() {
        return Route::Empty;
    }
    if let Some((number, words)) = numbered(text) {
        return match open.contains(&number) {
            true if words.is_empty() => Route::Empty,
            true => Route::To { number, words: words.to_owned() },
            false => Route::NotOpen(number),
        };
    }
    match open {
        [] => Route::Nothing,
        [one] => Route::To { number: *one, words: text.to_owned() },
        several => Route::Which(several.to_vec()),
    }
}

/// `3: B`, `#3: B` or `[3]: B`.
fn numbered(text: &str) -> Option<(i64, &str)> {
    let (head, words) = text.split_once(':')?;
    let head = head.trim();
    let head = head.strip_prefix('#').or_else(|| head.strip_prefix('[')?.strip_suffix(']')).unwrap_or(head);
    let digits = !head.is_empty() && head.len() <= 12 && head.bytes().all(|byte| byte.is_ascii_digit());
    Some((digits.then(|| head.parse().ok()).flatten()?, words.trim()))
}

/// The owner's own words with the project and the asker before them, so that the asker knows whose they
/// are. Nothing is added, left out or put in other words.
pub fn carried(item: &Item, owner: &str, words: &str) -> String {
    format!("[{}] {owner} answers {} (NEED [{}]): {words}", item.project(), item.asker(), item.need.topic)
}
