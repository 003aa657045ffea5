//! Reads a tree into the raw blocks: types, unknown keys, and the place of each value.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::json;

use super::problem::{Problem, Severity, did_you_mean};
use super::raw::{Node, Spot, Value};

/// A value with its place and its key.
#[derive(Debug, Clone, PartialEq)]
pub struct At<T> {
    pub value: T,
    pub spot: Spot,
    pub key: String,
}

impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

/// What a reading finds wrong.
#[derive(Debug, Default)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    pub fn error(&mut self, spot: Spot, key: &str, message: impl Into<String>) {
        self.0.push(Problem::at(Severity::Error, spot, key, message));
    }

    pub fn warning(&mut self, spot: Spot, key: &str, message: impl Into<String>) {
        self.0.push(Problem::at(Severity::Warning, spot, key, message));
    }

    /// The first error at `key` or below it.
    pub fn error_in(&self, key: &str) -> Option<&Problem> {
        self.0.iter().find(|problem| {
            problem.severity >= Severity::Error
                && problem
                    .key
                    .strip_prefix(key)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}

/// A type that a node can be read as.
pub trait FromNode: Sized {
    /// Reads the node; what does not fit becomes a problem and `None`.
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self>;
}

/// What a value is, for a message.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Int(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Text(_) => "a text",
        Value::List(_) => "a list",
        Value::Map(_) => "a block of keys",
    }
}

fn wrong<T>(node: &Node, key: &str, expected: &str, problems: &mut Problems) -> Option<T> {
    problems.error(node.spot, key, format!("this must be {expected}, it is {}", kind(&node.value)));
    None
}

impl FromNode for bool {
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Bool(value) => Some(*value),
            _ => wrong(node, key, "true or false", problems),
        }
    }
}

impl FromNode for i64 {
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Int(value) => Some(*value),
            _ => wrong(node, key, "a whole number", problems),
        }
    }
}

impl FromNode for f64 {
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Int(value) => Some(*value as f64),
            Value::Float(value) if value.is_finite() => Some(*value),
            Value::Float(_) => {
                problems.error(node.spot, key, "this is not a finite number");
                None
            }
            _ => wrong(node, key, "a number", problems),
        }
    }
}

impl FromNode for String {
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Text(text) if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') => {
                problems.error(node.spot, key, "this text holds control characters");
                None
            }
            Value::Text(text) => Some(text.clone()),
            Value::Int(_) | Value::Float(_) | Value::Bool(_) => {
                problems.0.push(
                    Problem::at(
                        Severity::Error,
                        node.spot,
                        key,
                        format!("this must be a text, it is {}", kind(&node.value)),
                    )
                    .hint("write it in quotes"),
                );
                None
            }
            _ => wrong(node, key, "a text", problems),
        }
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Null => Some(Vec::new()),
            // A bad item is a problem of its own and leaves the others in force.
            Value::List(items) => Some(
                items
                    .iter()
                    .enumerate()
                    .filter_map(|(index, item)| T::from_node(item, &format!("{key}[{index}]"), problems))
                    .collect(),
            ),
            _ => wrong(node, key, "a list", problems),
        }
    }
}

impl<T: FromNode> FromNode for At<T> {
    fn from_node(node: &Node, key: &str, problems: &mut Problems) -> Option<Self> {
        let value = T::from_node(node, key, problems)?;
        Some(Self { value, spot: node.spot, key: key.to_owned() })
    }
}

/// A block whose keys belong to a system that reads them itself, later.
#[derive(Debug, Clone, PartialEq)]
pub struct Opaque(pub Node);

impl FromNode for Opaque {
    fn from_node(node: &Node, _key: &str, _problems: &mut Problems) -> Option<Self> {
        Some(Self(node.clone()))
    }
}

impl JsonSchema for Opaque {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        "Opaque".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json!(true).try_into().unwrap_or_default()
    }
}

/// The entries of a block, taken out by name.
pub struct Fields<'n> {
    entries: Vec<(&'n super::raw::Entry, bool)>,
    key: String,
}

impl<'n> Fields<'n> {
    pub fn of(node: &'n Node, key: &str, problems: &mut Problems) -> Option<Self> {
        match &node.value {
            Value::Null => Some(Self { entries: Vec::new(), key: key.to_owned() }),
            Value::Map(entries) => Some(Self {
                entries: entries.iter().map(|entry| (entry, false)).collect(),
                key: key.to_owned(),
            }),
            _ => wrong(node, key, "a block of keys", problems),
        }
    }

    /// Reads one key. An absent key and one without a value are the same.
    pub fn take<T: FromNode>(&mut self, name: &str, problems: &mut Problems) -> Option<At<T>> {
        let (entry, seen) = self.entries.iter_mut().find(|(entry, _)| entry.key == name)?;
        *seen = true;
        if entry.node.value == Value::Null {
            return None;
        }
        At::from_node(&entry.node, &path(&self.key, name), problems)
    }

    /// Warns of the keys that nobody took.
    pub fn finish(self, known: &[&str], problems: &mut Problems) {
        for (entry, _) in self.entries.iter().filter(|(_, seen)| !seen) {
            let shown: String = entry.key.chars().filter(|c| !c.is_control()).take(60).collect();
            let mut problem = Problem::at(
                Severity::Warning,
                entry.key_spot,
                &path(&self.key, &shown),
                "this key is not known and has no effect",
            );
            if let Some(word) = did_you_mean(&entry.key, known) {
                problem = problem.hint(format!("did you mean `{word}`?"));
            }
            problems.0.push(problem);
        }
    }
}

pub fn path(block: &str, name: &str) -> String {
    if block.is_empty() { name.to_owned() } else { format!("{block}.{name}") }
}

/// Declares a raw block: each key once, for the reader and for the schema.
macro_rules! block {
    ($(#[$doc:meta])* $name:ident { $( $(#[$field_doc:meta])* $field:ident: $type:ty = $key:literal, )* }) => {
        #[derive(Debug, Clone, Default, PartialEq, schemars::JsonSchema)]
        $(#[$doc])*
        pub struct $name {
            $( $(#[$field_doc])* #[schemars(rename = $key)] pub $field: Option<$crate::config::fields::At<$type>>, )*
        }
        impl $crate::config::fields::FromNode for $name {
            fn from_node(
                node: &$crate::config::raw::Node,
                key: &str,
                problems: &mut $crate::config::fields::Problems,
            ) -> Option<Self> {
                let mut fields = $crate::config::fields::Fields::of(node, key, problems)?;
                let read = Self { $( $field: fields.take($key, problems), )* };
                fields.finish(&[$($key),*], problems);
                Some(read)
            }
        }
    };
}
pub(crate) use block;
