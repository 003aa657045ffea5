//! One change of a YAML text at the place where a tree says it belongs.
//!
//! These are good guesses about text; `edit` proves each result by reading it again.

use super::edit::Scalar;
use super::raw::{Node, Value};
use super::step;

/// Sets `block.key`.
pub(super) fn set(text: &str, root: &Node, block: &str, key: &str, value: &Scalar) -> Option<String> {
    let value = plain(value);
    let pair = format!("{key}: {value}");
    let Some(node) = root.get(block) else {
        return add_block(text, root, block, &[&format!("  {pair}")], &format!("{{{pair}}}"));
    };
    match &node.value {
        Value::Null => fill(text, root, block, &[&format!("  {pair}")], &format!("{{{pair}}}")),
        Value::Map(_) => set_key(text, node, key, &value),
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::List(_) => None,
    }
}

/// Sets a key of the item at `index` of the list under `list`.
pub(super) fn set_in_item(
    text: &str,
    root: &Node,
    list: &str,
    index: usize,
    key: &str,
    value: &Scalar,
) -> Option<String> {
    let Value::List(items) = &root.get(list)?.value else { return None };
    set_key(text, items.get(index)?, key, &plain(value))
}

/// Sets a list of words of the item at `index` of the list under `list`, below keys one in the other.
pub(super) fn set_words_in_item(
    text: &str,
    root: &Node,
    list: &str,
    index: usize,
    path: &[&str],
    wanted: &[String],
) -> Option<String> {
    let Value::List(items) = &root.get(list)?.value else { return None };
    let (key, around) = path.split_last()?;
    let quoted = |word: &String| plain(&Scalar::Text(word.clone()));
    let flow = |words: &[String]| format!("[{}]", words.iter().map(quoted).collect::<Vec<_>>().join(", "));
    let mut item = items.get(index)?;
    for (depth, outer) in around.iter().enumerate() {
        match item.get(outer) {
            Some(node) if matches!(node.value, Value::Map(_)) && !node.spot.alias => item = node,
            Some(_) | None => return set_nested(text, item, &path[depth..], &flow(wanted)),
        }
    }
    let Some(node) = item.get(key) else { return set_key(text, item, key, &flow(wanted)) };
    let Value::List(words) = &node.value else { return set_key(text, item, key, &flow(wanted)) };
    if node.spot.alias {
        return None;
    }
    let ordered = step::ordered(node, wanted);
    if is_flow(text, node) {
        let range = node.spot.start..end_of(text, node)?;
        let has_comment = text.get(range.clone())?.contains('#');
        return (!has_comment).then(|| put(text, range, &flow(&ordered)));
    }
    let stands = |word: &String| words.iter().any(|item| step::word(item) == Some(word.as_str()));
    let last = words.last()?;
    let dash_of_last = dash(text, last)?;
    let indent = &text[line_start(text, dash_of_last)..dash_of_last];
    let added: Vec<String> = ordered
        .iter()
        .filter(|word| !stands(word))
        .map(|word| format!("{indent}- {}", quoted(word)))
        .collect();
    let added: Vec<&str> = added.iter().map(String::as_str).collect();
    let mut new = insert_lines(text, end_of(text, last)?, &added);
    // From the last to the first, so that the places before stay where they are.
    for item in words.iter().rev() {
        if !step::word(item).is_some_and(|word| ordered.iter().any(|kept| kept == word)) {
            let from = line_start(text, dash(text, item)?);
            new = put(&new, from..line_end(text, end_of(text, item)?), "");
        }
    }
    Some(new)
}

/// Sets a value below keys one in the other, of which the first stands in no map yet: by lines where the map
/// around has lines.
fn set_nested(text: &str, node: &Node, path: &[&str], value: &str) -> Option<String> {
    let (first, rest) = path.split_first()?;
    if let (Value::Map(entries), None, false) = (&node.value, node.get(first), is_flow(text, node)) {
        let last = entries.last()?;
        let indent = key_column(text, entries.first()?.key_spot.start)?;
        let after = end_of(text, &last.node)?.max(last.key_spot.start + last.key_spot.len);
        let lines: Vec<String> = path
            .iter()
            .enumerate()
            .map(|(depth, key)| {
                let tail = if depth + 1 == path.len() { format!(" {value}") } else { String::new() };
                format!("{indent}{}{key}:{tail}", "  ".repeat(depth))
            })
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        return Some(insert_lines(text, after, &lines));
    }
    let flow = rest.iter().rev().fold(value.to_owned(), |inner, key| format!("{{{key}: {inner}}}"));
    set_key(text, node, first, &flow)
}

/// Sets a key of a map that is there.
fn set_key(text: &str, node: &Node, key: &str, value: &str) -> Option<String> {
    let pair = format!("{key}: {value}");
    match &node.value {
        Value::Map(entries) => match entries.iter().find(|entry| entry.key == key) {
            Some(entry) => {
                let spot = entry.node.spot;
                match &entry.node.value {
                    Value::Map(_) | Value::List(_) => None,
                    _ if spot.alias => None,
                    Value::Null if spot.len == 0 => {
                        let colon = colon_after(text, entry.key_spot.start + entry.key_spot.len)?;
                        Some(put(text, colon..colon, &format!(" {value}")))
                    }
                    Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {
                        Some(put(text, spot.start..spot.start + spot.len, value))
                    }
                }
            }
            None if is_flow(text, node) => append_flow(text, node, &pair),
            None => {
                let last = entries.last()?;
                let indent = key_column(text, entries.first()?.key_spot.start)?;
                let after = end_of(text, &last.node)?.max(last.key_spot.start + last.key_spot.len);
                Some(insert_lines(text, after, &[&format!("{indent}{pair}")]))
            }
        },
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::List(_) => {
            None
        }
    }
}

/// Adds an item to the list under `key`.
pub(super) fn append_item(text: &str, root: &Node, key: &str, fields: &[(&str, Scalar)]) -> Option<String> {
    let pairs: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {}", plain(value))).collect();
    let flow = format!("{{{}}}", pairs.join(", "));
    let lines = |indent: &str| -> Vec<String> {
        let lead = |index| if index == 0 { "- " } else { "  " };
        pairs.iter().enumerate().map(|(index, pair)| format!("{indent}{}{pair}", lead(index))).collect()
    };
    let fresh = lines("  ");
    let fresh: Vec<&str> = fresh.iter().map(String::as_str).collect();
    let Some(node) = root.get(key) else {
        return add_block(text, root, key, &fresh, &format!("[{flow}]"));
    };
    match &node.value {
        Value::Null => fill(text, root, key, &fresh, &format!("[{flow}]")),
        Value::List(_) if is_flow(text, node) => append_flow(text, node, &flow),
        Value::List(items) => {
            let last = items.last()?;
            let indent = dash(text, last)?;
            let lines = lines(&text[line_start(text, indent)..indent]);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            Some(insert_lines(text, end_of(text, last)?, &lines))
        }
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::Map(_) => None,
    }
}

/// Takes an item out of the list under `key`.
pub(super) fn remove_item(text: &str, root: &Node, key: &str, index: usize) -> Option<String> {
    let node = root.get(key)?;
    let Value::List(items) = &node.value else { return None };
    let item = items.get(index)?;
    let end = end_of(text, item)?;
    if !is_flow(text, node) {
        let from = line_start(text, dash(text, item)?);
        return Some(put(text, from..line_end(text, end), ""));
    }
    let before = index.checked_sub(1).and_then(|index| items.get(index));
    let (range, gap) = match (items.get(index + 1), before) {
        (Some(next), _) => (item.spot.start..next.spot.start, end..next.spot.start),
        (None, Some(before)) => {
            let after = end_of(text, before)?;
            (after..end, after..item.spot.start)
        }
        (None, None) => (item.spot.start..end, end..end),
    };
    // A comment between two items would go with the one that leaves.
    if text.get(gap)?.contains('#') {
        return None;
    }
    Some(put(text, range, ""))
}

/// A key at the top level that is not there yet.
fn add_block(text: &str, root: &Node, key: &str, lines: &[&str], flow: &str) -> Option<String> {
    match &root.value {
        Value::Map(_) if is_flow(text, root) => append_flow(text, root, &format!("{key}: {flow}")),
        Value::Map(_) | Value::Null => {
            let head = format!("{key}:");
            let lines: Vec<&str> = std::iter::once(head.as_str()).chain(lines.iter().copied()).collect();
            Some(insert_lines(text, text.len(), &lines))
        }
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::List(_) => None,
    }
}

/// A key at the top level that stands there without a value.
fn fill(text: &str, root: &Node, key: &str, lines: &[&str], flow: &str) -> Option<String> {
    let Value::Map(entries) = &root.value else { return None };
    let entry = entries.iter().find(|entry| entry.key == key)?;
    let spot = entry.node.spot;
    if spot.alias {
        return None;
    }
    if spot.len > 0 {
        // A written `null` or `~`.
        return Some(put(text, spot.start..spot.start + spot.len, flow));
    }
    let colon = colon_after(text, entry.key_spot.start + entry.key_spot.len)?;
    if is_flow(text, root) {
        return Some(put(text, colon..colon, &format!(" {flow}")));
    }
    Some(insert_lines(text, colon, lines))
}

/// Adds to a `{…}` or `[…]`.
fn append_flow(text: &str, node: &Node, addition: &str) -> Option<String> {
    let close = end_of(text, node)?.checked_sub(1)?;
    let Inside::Parts(last) = inside(text, node)? else { return None };
    let Some(last) = last else { return Some(put(text, node.spot.start + 1..node.spot.start + 1, addition)) };
    let has_comma = text.get(last..close)?.trim_start().starts_with(',');
    if has_comma {
        let comma = last + text[last..close].find(',')? + 1;
        return Some(put(text, comma..comma, &format!(" {addition}")));
    }
    Some(put(text, last..last, &format!(", {addition}")))
}

/// True for `{…}` and `[…]`. A block stands where its first part stands, which may itself be a bracket.
fn is_flow(text: &str, node: &Node) -> bool {
    let (bracket, first) = match &node.value {
        Value::Map(entries) => ('{', entries.first().map(|entry| entry.key_spot.start)),
        Value::List(items) => ('[', items.first().map(|item| item.spot.start)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => return false,
    };
    let start = node.spot.start;
    text.get(start..).is_some_and(|rest| rest.starts_with(bracket)) && first.is_none_or(|first| first > start)
}

/// The byte after a value; after the bracket, for one in brackets.
fn end_of(text: &str, node: &Node) -> Option<usize> {
    let spot = node.spot;
    if spot.alias {
        return Some(spot.start + spot.len);
    }
    let Inside::Parts(last) = inside(text, node)? else { return Some(spot.start + spot.len) };
    if !is_flow(text, node) {
        return last;
    }
    closing(text, last.unwrap_or(spot.start + 1))
}

/// What a value holds.
enum Inside {
    Nothing,
    /// The byte after its last part, when it has one.
    Parts(Option<usize>),
}

fn inside(text: &str, node: &Node) -> Option<Inside> {
    let last = match &node.value {
        Value::Map(entries) => match entries.last() {
            Some(entry) => Some(end_of(text, &entry.node)?.max(entry.key_spot.start + entry.key_spot.len)),
            None => None,
        },
        Value::List(items) => match items.last() {
            Some(item) => Some(end_of(text, item)?),
            None => None,
        },
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {
            return Some(Inside::Nothing);
        }
    };
    Some(Inside::Parts(last))
}

/// The byte after the next bracket that closes; only space, commas and comments may stand before it.
fn closing(text: &str, from: usize) -> Option<usize> {
    let mut in_comment = false;
    for (index, c) in text.get(from..)?.char_indices() {
        match c {
            '\n' => in_comment = false,
            _ if in_comment => {}
            '#' => in_comment = true,
            '}' | ']' => return Some(from + index + 1),
            c if c.is_whitespace() || c == ',' || c == ':' => {}
            _ => return None,
        }
    }
    None
}

/// Where the `-` of an item stands; it must begin its line.
fn dash(text: &str, item: &Node) -> Option<usize> {
    let start = line_start(text, item.spot.start);
    let lead = text.get(start..item.spot.start)?;
    let dash = start + lead.find('-')?;
    (lead.trim() == "-").then_some(dash)
}

/// As much space as stands before a key of a map; the key may be the first of a list's item.
fn key_column(text: &str, key: usize) -> Option<String> {
    let lead = text.get(line_start(text, key)..key)?;
    let fits = lead.chars().all(|c| c == ' ' || c == '-') && lead.matches('-').count() <= 1;
    fits.then(|| " ".repeat(lead.len()))
}

fn colon_after(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let colon = rest.find(':')?;
    rest[..colon].chars().all(|c| matches!(c, ' ' | '"' | '\'')).then_some(from + colon + 1)
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |index| index + 1)
}

/// The byte after the newline of the line that `at` stands in.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |index| at + index + 1)
}

/// Puts lines after the line that `at` stands in.
fn insert_lines(text: &str, at: usize, lines: &[&str]) -> String {
    let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
    // `at` may stand just after a newline already.
    let from = if at == line_start(text, at) { at } else { line_end(text, at) };
    let mut added = String::new();
    if from > 0 && !text[..from].ends_with('\n') {
        added.push_str(newline);
    }
    for line in lines {
        added.push_str(line);
        added.push_str(newline);
    }
    put(text, from..from, &added)
}

fn put(text: &str, range: std::ops::Range<usize>, new: &str) -> String {
    let mut text = text.to_owned();
    text.replace_range(range, new);
    text
}

/// A scalar as YAML; a text is quoted unless it cannot be taken for anything else.
fn plain(value: &Scalar) -> String {
    match value {
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) => format!("{value:?}"),
        Scalar::Text(text) => {
            let first = |c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '_');
            let rest = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '.' | '-');
            let word = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
            let tail = text.strip_prefix("~/").unwrap_or(text);
            let is_plain = tail.starts_with(first)
                && tail.chars().all(rest)
                && !word.contains(&text.to_ascii_lowercase().as_str());
            if is_plain { text.clone() } else { serde_json::Value::from(text.as_str()).to_string() }
        }
    }
}
