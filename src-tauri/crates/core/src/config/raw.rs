//! YAML text to a tree in which every value knows its place. The only file that knows the parser.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{
    Location, MergeKeyPolicy, NonFiniteFloatPolicy, Options, Spanned, alias_limits, budget, options,
};
use steward_rules::untrusted::Untrusted;

/// The most bytes a configuration file may have.
pub const MAX_BYTES: usize = 512 * 1024;

/// A place in the file. Lines and columns count from 1; `start` and `len` are bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spot {
    pub line: u32,
    pub column: u32,
    pub start: usize,
    pub len: usize,
    /// True when the value stands elsewhere and is only referred to here.
    pub alias: bool,
}

/// A value and its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub value: Value,
    pub spot: Spot,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_spot: Spot,
    pub node: Node,
}

/// Why a text is not YAML that we read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl Node {
    /// The value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.node),
            _ => None,
        }
    }

    /// Equal in meaning, wherever the two stand.
    pub fn same_as(&self, other: &Node) -> bool {
        match (&self.value, &other.value) {
            (Value::List(a), Value::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_as(b))
            }
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.key == b.key && a.node.same_as(&b.node))
            }
            (Value::Float(a), Value::Float(b)) => a == b || (a.is_nan() && b.is_nan()),
            (a, b) => a == b,
        }
    }
}

/// Reads one document. An empty text is [`Value::Null`].
pub fn parse(text: &str) -> Result<Node, Broken> {
    if text.len() > MAX_BYTES {
        return Err(Broken {
            line: 1,
            column: 1,
            message: format!("the file has {} bytes; the most is {MAX_BYTES}", text.len()),
        });
    }
    let read: Result<Option<Tree>, _> = serde_saphyr::from_str_with_options(text, limits());
    match read {
        Ok(tree) => Ok(tree.map_or(Node { value: Value::Null, spot: Spot::default() }, |tree| tree.0)),
        Err(error) => {
            let place = error.location();
            Err(Broken {
                line: place.map_or(1, |at| at.line().max(1) as u32),
                column: place.map_or(1, |at| at.column().max(1) as u32),
                message: message(&error),
            })
        }
    }
}

/// What a file may cost to read; a small text that unfolds into a large tree is refused.
fn limits() -> Options {
    options! {
        budget: budget! {
            max_depth: 32,
            max_nodes: 20_000,
            max_events: 60_000,
            max_aliases: 64,
            max_anchors: 64,
            max_documents: 1,
            max_total_scalar_bytes: MAX_BYTES,
        },
        alias_limits: alias_limits! { max_total_replayed_events: 5_000, max_replay_stack_depth: 8 },
        merge_keys: MergeKeyPolicy::Error,
        // A NaN is a bad value at its key, not a file that does not parse.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn message(error: &serde_saphyr::Error) -> String {
    let text = error.without_snippet().to_string();
    // The place is shown by us; the parser's own copy of it would say it twice.
    let text = text.split(" at line ").next().unwrap_or(&text);
    let text = text.lines().next().unwrap_or("the text is not YAML");
    if let Some(rest) = text.strip_prefix("duplicate mapping key: ") {
        let key = rest.split(", set ").next().unwrap_or(rest);
        return format!("the key `{}` stands here a second time", plain(key));
    }
    plain(text)
}

fn plain(text: &str) -> String {
    Untrusted::new(text).one_line(300)
}

struct Tree(Node);

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = Spanned::<Value>::deserialize(deserializer)?;
        let spot = spot(read.referenced, read.defined);
        Ok(Self(Node { value: read.value, spot }))
    }
}

fn spot(referenced: Location, defined: Location) -> Spot {
    let span = referenced.span();
    Spot {
        line: referenced.line() as u32,
        column: referenced.column() as u32,
        start: span.byte_offset().unwrap_or_default() as usize,
        len: span.byte_len().unwrap_or_default() as usize,
        alias: referenced != defined,
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(Tree(node)) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let Tree(node) = map.next_value()?;
            entries.push(Entry { key: key.value, key_spot: spot(key.referenced, key.defined), node });
        }
        Ok(Value::Map(entries))
    }
}
