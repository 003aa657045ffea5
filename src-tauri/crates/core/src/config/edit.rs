//! Small changes to `config.yaml` that leave every other byte as it was, comments and all.
//!
//! An edit is a few splices of the text. The result of each is parsed again and must mean exactly the
//! old file with that change; a file written in a form where that fails is left for the person to edit.

use std::path::Path;

use super::check;
use super::problem::{Problem, Severity};
use super::raw::{MAX_BYTES, Node, Spot, Value, parse};
use super::step::{self, Step};
use super::types::{ForgeChoice, RepoMode};
use super::watch::write_private;
use crate::home::Home;

/// Where a repository says which checks must be well.
const REQUIRED_CHECKS: [&str; 3] = ["policy", "engine", "requiredChecks"];

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
    AddAccount {
        host: String,
        login: String,
    },
    RemoveAccount {
        host: String,
        login: String,
    },
    /// Watches a repository; its mode is `observe` until it is set.
    AddRepository {
        name: String,
        account: Option<String>,
        preset: Option<String>,
    },
    RemoveRepository {
        name: String,
    },
    SetMode {
        name: String,
        mode: RepoMode,
    },
    /// The classes that act by themselves: those that stand there keep their order, new ones follow.
    SetAct {
        name: String,
        act: Vec<String>,
    },
    /// The checks that must be well before a merge, `policy.engine.requiredChecks`: those that stand there keep
    /// their order.
    SetRequiredChecks {
        name: String,
        checks: Vec<String>,
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
    #[error("{0} is there already")]
    Exists(String),
    #[error("there is no {0}")]
    Absent(String),
    #[error("{0} stands in the file twice; remove the right one with `steward config edit`")]
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
    edit_file_at_once(home, person, std::slice::from_ref(edit))
}

/// The text of a config file, and what changes make of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    pub before: String,
    pub after: String,
}

/// What several changes would make of the file of this home. Nothing is written.
pub fn preview(home: &Home, person: Option<&Path>, edits: &[Edit]) -> Result<Changed, EditError> {
    let path = home.config_file();
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => super::TEMPLATE.to_owned(),
        Err(source) => return Err(EditError::Io { doing: "read", path, source }),
    };
    let mut new = text.clone();
    for edit in edits {
        new = apply(&new, edit)?;
    }
    match new_error(&text, &new, person) {
        Some(problem) => Err(EditError::Refused(problem)),
        None => Ok(Changed { before: text, after: new }),
    }
}

/// Makes several changes together: all of them stand in the file, or none.
pub fn edit_file_at_once(home: &Home, person: Option<&Path>, edits: &[Edit]) -> Result<(), EditError> {
    let path = home.config_file();
    let new = preview(home, person, edits)?.after;
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
    let step = step_of(&root, edit)?;
    let new = step::splice(text, &root, &step).filter(|new| new.len() <= MAX_BYTES).ok_or(EditError::Form)?;
    let found = parse(&new).map_err(|_| EditError::Form)?;
    if step::is_that(root, &step, found) { Ok(new) } else { Err(EditError::Form) }
}

/// Where in the file an edit happens, and what happens there.
fn step_of(root: &Node, edit: &Edit) -> Result<Step, EditError> {
    let text = |text: &str| Scalar::Text(text.to_owned());
    match edit {
        Edit::AddWorkspace { title, path, forge } => {
            let place = Place::Workspace(title);
            let mut fields = vec![("title", text(title)), ("path", text(path))];
            match forge {
                ForgeChoice::GitHub => {}
                ForgeChoice::None => fields.push(("forge", text("none"))),
            }
            place.none(root)?;
            Ok(Step::Append { list: place.list(), fields })
        }
        Edit::RemoveWorkspace { title } => Place::Workspace(title).removed(root),
        Edit::SetForge { title, forge } => {
            let word = match forge {
                ForgeChoice::GitHub => "github",
                ForgeChoice::None => "none",
            };
            Place::Workspace(title).set(root, "forge", text(word))
        }
        Edit::AddAccount { host, login } => {
            let place = Place::Account { host, login };
            place.none(root)?;
            Ok(Step::Append {
                list: place.list(),
                fields: vec![("host", text(host)), ("login", text(login))],
            })
        }
        Edit::RemoveAccount { host, login } => Place::Account { host, login }.removed(root),
        Edit::AddRepository { name, account, preset } => {
            let place = Place::Repository(name);
            let mut fields = vec![("name", text(name))];
            fields.extend(account.as_deref().map(|account| ("account", text(account))));
            fields.extend(preset.as_deref().map(|preset| ("preset", text(preset))));
            fields.push(("mode", text("observe")));
            place.none(root)?;
            Ok(Step::Append { list: place.list(), fields })
        }
        Edit::RemoveRepository { name } => Place::Repository(name).removed(root),
        Edit::SetMode { name, mode } => Place::Repository(name).set(root, "mode", text(mode.as_str())),
        Edit::SetAct { name, act } => {
            let place = Place::Repository(name);
            let index = place.one(root)?;
            Ok(Step::SetList { list: place.list(), index, path: &["act"], words: act.clone() })
        }
        Edit::SetRequiredChecks { name, checks } => {
            let place = Place::Repository(name);
            let (index, words) = (place.one(root)?, checks.clone());
            Ok(Step::SetList { list: place.list(), index, path: &REQUIRED_CHECKS, words })
        }
        Edit::Set { block, key, value } => Ok(Step::Set { block, key, value: value.clone() }),
    }
}

/// An item of one of the lists of the file.
enum Place<'e> {
    Workspace(&'e str),
    Account { host: &'e str, login: &'e str },
    Repository(&'e str),
}

impl Place<'_> {
    fn list(&self) -> &'static str {
        match self {
            Self::Workspace(_) => "workspaces",
            Self::Account { .. } => "accounts",
            Self::Repository(_) => "repositories",
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Workspace(title) => format!("workspace `{title}`"),
            Self::Account { host, login } => format!("account `{login}@{host}`"),
            Self::Repository(name) => format!("repository `{name}`"),
        }
    }

    fn is_at(&self, item: &Node) -> bool {
        let text = |key: &str| match item.get(key).map(|node| &node.value) {
            Some(Value::Text(text)) => Some(text.as_str()),
            Some(
                Value::Null
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::List(_)
                | Value::Map(_),
            )
            | None => None,
        };
        match self {
            Self::Workspace(title) => text("title") == Some(title),
            Self::Account { host, login } => {
                text("login").is_some_and(|found| found.eq_ignore_ascii_case(login))
                    && text("host").unwrap_or("github.com").eq_ignore_ascii_case(host)
            }
            Self::Repository(name) => text("name").is_some_and(|found| found.eq_ignore_ascii_case(name)),
        }
    }

    fn places(&self, root: &Node) -> Vec<usize> {
        let Some(Value::List(items)) = root.get(self.list()).map(|node| &node.value) else {
            return Vec::new();
        };
        items.iter().enumerate().filter(|(_, item)| self.is_at(item)).map(|(index, _)| index).collect()
    }

    fn one(&self, root: &Node) -> Result<usize, EditError> {
        match self.places(root).as_slice() {
            [] => Err(EditError::Absent(self.shown())),
            [index] => Ok(*index),
            [..] => Err(EditError::Several(self.shown())),
        }
    }

    fn none(&self, root: &Node) -> Result<(), EditError> {
        if self.places(root).is_empty() { Ok(()) } else { Err(EditError::Exists(self.shown())) }
    }

    fn removed(&self, root: &Node) -> Result<Step, EditError> {
        Ok(Step::Remove { list: self.list(), index: self.one(root)? })
    }

    fn set(&self, root: &Node, key: &'static str, value: Scalar) -> Result<Step, EditError> {
        Ok(Step::SetInItem { list: self.list(), index: self.one(root)?, key, value })
    }
}
