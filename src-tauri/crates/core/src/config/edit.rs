//! Small changes to `config.yaml` that leave every other byte as it was, comments and all.
//!
//! An edit is one splice of the text. The result is parsed again and must mean exactly the old file
//! with the edit; a file written in a form where that fails is left for the person to edit.

use std::path::Path;

use super::problem::{Problem, Severity};
use super::raw::{Entry, MAX_BYTES, Node, Spot, Value, parse};
use super::types::ForgeChoice;
use super::watch::write_private;
use super::{check, splice};
use crate::home::Home;

/// A change that the app may make on a direct action of the person.
#[derive(Debug, Clone, PartialEq)]
pub enum Edit {
    AddWorkspace {
        title: String,
        path: String,
        forge: ForgeChoice,
    },
    RemoveWorkspace {
        title: String,
    },
    SetForge {
        title: String,
        forge: ForgeChoice,
    },
    /// Sets one key of one block, such as `review.enabled`.
    Set {
        block: &'static str,
        key: &'static str,
        value: Scalar,
    },
}

/// A value that an edit writes.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("the file does not parse, so it is not changed: {0}")]
    Broken(Problem),
    #[error("there is already a workspace `{0}`")]
    Exists(String),
    #[error("there is no workspace `{0}`")]
    Absent(String),
    #[error("several workspaces are called `{0}`; remove the right one with `steward config edit`")]
    Several(String),
    #[error("the file is written in a form that cannot be changed safely; use `steward config edit`")]
    Form,
    #[error("the change is refused: {0}")]
    Refused(Problem),
    #[error("could not {doing} {path}: {source}", path = path.display())]
    Io { doing: &'static str, path: std::path::PathBuf, source: std::io::Error },
}

/// Makes the change in the file of this home, creating it from the template when there is none.
pub fn edit_file(home: &Home, person: Option<&Path>, edit: &Edit) -> Result<(), EditError> {
    let path = home.config_file();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => super::TEMPLATE.to_owned(),
        Err(source) => return Err(EditError::Io { doing: "read", path, source }),
    };
    let new = apply(&text, edit)?;
    if let Some(problem) = new_error(&text, &new, person) {
        return Err(EditError::Refused(problem));
    }
    // A link is followed: the file it leads to is the person's, and the link stays.
    let target = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
    write_private(&target, new.as_bytes()).map_err(|source| EditError::Io { doing: "write", path, source })
}

/// Makes the file from the commented template when there is none.
pub fn ensure_file(home: &Home) -> Result<(), EditError> {
    let path = home.config_file();
    if path.exists() {
        return Ok(());
    }
    write_private(&path, super::TEMPLATE.as_bytes()).map_err(|source| EditError::Io {
        doing: "write",
        path,
        source,
    })
}

/// The first error that the old text did not have.
fn new_error(old: &str, new: &str, person: Option<&Path>) -> Option<Problem> {
    let before = check(old, person).map(|checked| checked.problems).unwrap_or_default();
    let after = match check(new, person) {
        Ok(checked) => checked.problems,
        Err(problem) => return Some(problem),
    };
    let known = |problem: &Problem| {
        before
            .iter()
            .any(|old| old.message == problem.message && old.snippet_line() == problem.snippet_line())
    };
    after.into_iter().find(|problem| problem.severity >= Severity::Error && !known(problem))
}

/// The text with the change.
pub fn apply(text: &str, edit: &Edit) -> Result<String, EditError> {
    let root = parse(text).map_err(|broken| {
        let spot = Spot { line: broken.line, column: broken.column, ..Spot::default() };
        EditError::Broken(Problem::at(Severity::Fatal, spot, "", broken.message).with_snippet(text))
    })?;
    let new = match edit {
        Edit::AddWorkspace { title, .. } if !with_title(&root, title).is_empty() => {
            return Err(EditError::Exists(title.clone()));
        }
        Edit::AddWorkspace { title, path, forge } => {
            let mut fields =
                vec![("title", Scalar::Text(title.clone())), ("path", Scalar::Text(path.clone()))];
            match forge {
                ForgeChoice::GitHub => {}
                ForgeChoice::None => fields.push(("forge", Scalar::Text("none".to_owned()))),
            }
            splice::append_item(text, &root, "workspaces", &fields)
        }
        Edit::RemoveWorkspace { title } => match with_title(&root, title).as_slice() {
            [] => return Err(EditError::Absent(title.clone())),
            [index] => splice::remove_item(text, &root, "workspaces", *index),
            [..] => return Err(EditError::Several(title.clone())),
        },
        Edit::SetForge { title, forge } => match with_title(&root, title).as_slice() {
            [] => return Err(EditError::Absent(title.clone())),
            [index] => splice::set_in_item(text, &root, "workspaces", *index, "forge", &forge_word(*forge)),
            [..] => return Err(EditError::Several(title.clone())),
        },
        Edit::Set { block, key, value } => splice::set(text, &root, block, key, value),
    };
    let new = new.filter(|new| new.len() <= MAX_BYTES).ok_or(EditError::Form)?;
    let found = parse(&new).map_err(|_| EditError::Form)?;
    if settled(found).same_as(&settled(expected(root, edit))) { Ok(new) } else { Err(EditError::Form) }
}

fn forge_word(forge: ForgeChoice) -> Scalar {
    Scalar::Text(
        match forge {
            ForgeChoice::GitHub => "github",
            ForgeChoice::None => "none",
        }
        .to_owned(),
    )
}

/// Where the workspaces of this title stand in their list.
fn with_title(root: &Node, title: &str) -> Vec<usize> {
    let Some(Value::List(items)) = root.get("workspaces").map(|node| &node.value) else { return Vec::new() };
    let named = |item: &Node| matches!(item.get("title"), Some(Node { value: Value::Text(text), .. }) if text == title);
    items.iter().enumerate().filter(|(_, item)| named(item)).map(|(index, _)| index).collect()
}

/// What the edited file must mean.
fn expected(mut root: Node, edit: &Edit) -> Node {
    match edit {
        Edit::AddWorkspace { title, path, forge } => {
            let mut entries = vec![text_entry("title", title), text_entry("path", path)];
            if *forge == ForgeChoice::None {
                entries.push(text_entry("forge", "none"));
            }
            let node = child(&mut root, "workspaces");
            let item = bare(Value::Map(entries));
            match &mut node.value {
                Value::List(items) => items.push(item),
                other => *other = Value::List(vec![item]),
            }
        }
        Edit::RemoveWorkspace { title } => {
            let index = with_title(&root, title).first().copied();
            if let (Value::List(items), Some(index)) = (&mut child(&mut root, "workspaces").value, index) {
                items.remove(index);
            }
        }
        Edit::SetForge { title, forge } => {
            let index = with_title(&root, title).first().copied();
            if let (Value::List(items), Some(index), Scalar::Text(word)) =
                (&mut child(&mut root, "workspaces").value, index, forge_word(*forge))
            {
                child(&mut items[index], "forge").value = Value::Text(word);
            }
        }
        Edit::Set { block, key, value } => {
            child(child(&mut root, block), key).value = match value {
                Scalar::Bool(value) => Value::Bool(*value),
                Scalar::Int(value) => Value::Int(*value),
                Scalar::Float(value) => Value::Float(*value),
                Scalar::Text(value) => Value::Text(value.clone()),
            };
        }
    }
    root
}

fn bare(value: Value) -> Node {
    Node { value, spot: Spot::default() }
}

fn text_entry(key: &str, value: &str) -> Entry {
    Entry { key: key.to_owned(), key_spot: Spot::default(), node: bare(Value::Text(value.to_owned())) }
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
    if let Value::Map(entries) = &mut node.value {
        for entry in entries {
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
    node
}
