//! One change at one place of the file: as a splice of its text, and as what the file must mean after.

use super::edit::Scalar;
use super::raw::{Entry, Node, Spot, Value};
use super::splice;

/// A change whose place is known.
pub(super) enum Step {
    /// Adds an item to a list of the top level.
    Append { list: &'static str, fields: Vec<(&'static str, Scalar)> },
    /// Takes the item at `index` out.
    Remove { list: &'static str, index: usize },
    /// Sets one key of an item.
    SetInItem { list: &'static str, index: usize, key: &'static str, value: Scalar },
    /// Sets a list of words of an item, under keys one in the other: those that stand there keep their order.
    SetList { list: &'static str, index: usize, path: &'static [&'static str], words: Vec<String> },
    /// Sets one key of one block.
    Set { block: &'static str, key: &'static str, value: Scalar },
}

/// The text with the change, where its form allows one.
pub(super) fn splice(text: &str, root: &Node, step: &Step) -> Option<String> {
    match step {
        Step::Append { list, fields } => splice::append_item(text, root, list, fields),
        Step::Remove { list, index } => splice::remove_item(text, root, list, *index),
        Step::SetInItem { list, index, key, value } => {
            splice::set_in_item(text, root, list, *index, key, value)
        }
        Step::SetList { list, index, path, words } => {
            splice::set_words_in_item(text, root, list, *index, path, words)
        }
        Step::Set { block, key, value } => splice::set(text, root, block, key, value),
    }
}

/// True when the tree `found` is the old tree with the change, and nothing else.
pub(super) fn is_that(old: Node, step: &Step, found: Node) -> bool {
    settled(found).same_as(&settled(expected(old, step)))
}

fn expected(mut root: Node, step: &Step) -> Node {
    match step {
        Step::Append { list, fields } => {
            let entries = fields.iter().map(|(key, value)| Entry {
                key: (*key).to_owned(),
                key_spot: Spot::default(),
                node: bare(value_of(value)),
            });
            let item = bare(Value::Map(entries.collect()));
            match &mut child(&mut root, list).value {
                Value::List(items) => items.push(item),
                other => *other = Value::List(vec![item]),
            }
        }
        Step::Remove { list, index } => {
            if let Value::List(items) = &mut child(&mut root, list).value {
                items.remove(*index);
            }
        }
        Step::SetInItem { list, index, key, value } => {
            if let Value::List(items) = &mut child(&mut root, list).value {
                child(&mut items[*index], key).value = value_of(value);
            }
        }
        Step::SetList { list, index, path, words } => {
            if let Value::List(items) = &mut child(&mut root, list).value {
                let node = path.iter().fold(&mut items[*index], |node, key| child(node, key));
                let wanted = ordered(node, words).into_iter().map(|word| bare(Value::Text(word)));
                node.value = Value::List(wanted.collect());
            }
        }
        Step::Set { block, key, value } => child(child(&mut root, block), key).value = value_of(value),
    }
    root
}

/// The wanted words in the order they get: those of the list as it stands first.
pub(super) fn ordered(node: &Node, wanted: &[String]) -> Vec<String> {
    let mut words: Vec<String> = match &node.value {
        Value::List(items) => items.iter().filter_map(word).map(str::to_owned).collect(),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) | Value::Map(_) => {
            Vec::new()
        }
    };
    words.retain(|word| wanted.contains(word));
    for word in wanted {
        if !words.contains(word) {
            words.push(word.clone());
        }
    }
    words
}

/// An item of a list of words.
pub(super) fn word(item: &Node) -> Option<&str> {
    match &item.value {
        Value::Text(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::List(_) | Value::Map(_) => {
            None
        }
    }
}

fn value_of(value: &Scalar) -> Value {
    match value {
        Scalar::Bool(value) => Value::Bool(*value),
        Scalar::Int(value) => Value::Int(*value),
        Scalar::Float(value) => Value::Float(*value),
        Scalar::Text(value) => Value::Text(value.clone()),
    }
}

fn bare(value: Value) -> Node {
    Node { value, spot: Spot::default() }
}

/// The value under a key, made when it is not there.
fn child<'n>(node: &'n mut Node, key: &str) -> &'n mut Node {
    if !matches!(node.value, Value::Map(_)) {
        node.value = Value::Map(Vec::new());
    }
    let Value::Map(entries) = &mut node.value else { unreachable!("BUG: it was made a map above") };
    let index = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
        entries.push(Entry { key: key.to_owned(), key_spot: Spot::default(), node: bare(Value::Null) });
        entries.len() - 1
    });
    &mut entries[index].node
}

/// For a configuration a list without items, a block without keys and nothing are the same.
fn settled(mut node: Node) -> Node {
    match &mut node.value {
        Value::Map(entries) => {
            for entry in entries {
                entry.node = settled(std::mem::replace(&mut entry.node, bare(Value::Null)));
                let is_empty = match &entry.node.value {
                    Value::List(items) => items.is_empty(),
                    Value::Map(entries) => entries.is_empty(),
                    Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => false,
                };
                if is_empty {
                    entry.node.value = Value::Null;
                }
            }
        }
        Value::List(items) => {
            for item in items {
                *item = settled(std::mem::replace(item, bare(Value::Null)));
            }
        }
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => {}
    }
    node
}
