//! Objects as the executor asks them: a type name and a function from a field to its value.

use std::rc::Rc;

use apollo_compiler::resolvers::{FieldError, ObjectValue, ResolveInfo, ResolvedValue};
use base64::Engine;
use serde_json::{Value, json};

/// The value of one field.
pub(crate) enum Val<'s> {
    Leaf(Value),
    Object(Object<'s>),
    List(Vec<Val<'s>>),
    /// All of a connection; the arguments say which page is shown.
    Connection(Rc<dyn Fn() -> Vec<Object<'s>> + 's>),
    Refused(String),
}

pub(crate) type Args = Value;
type Getter<'s> = Box<dyn Fn(&str, &Args) -> Option<Val<'s>> + 's>;

pub(crate) struct Object<'s> {
    name: String,
    get: Getter<'s>,
}

impl<'s> Object<'s> {
    pub(crate) fn new(name: &str, get: impl Fn(&str, &Args) -> Option<Val<'s>> + 's) -> Self {
        Self { name: name.to_owned(), get: Box::new(get) }
    }

    /// An object whose fields are all known beforehand.
    pub(crate) fn plain(name: &str, fields: Value) -> Self {
        Self::new(name, move |field, _| fields.get(field).cloned().map(Val::Leaf))
    }
}

impl<'s> Val<'s> {
    pub(crate) fn leaf(value: impl Into<Value>) -> Option<Self> {
        Some(Self::Leaf(value.into()))
    }

    pub(crate) fn maybe(object: Option<Object<'s>>) -> Option<Self> {
        Some(object.map_or(Self::Leaf(Value::Null), Self::Object))
    }

    pub(crate) fn connection(items: impl Fn() -> Vec<Object<'s>> + 's) -> Option<Self> {
        Some(Self::Connection(Rc::new(items)))
    }
}

fn resolved<'a, 's: 'a>(
    value: Val<'s>,
    type_name: &str,
    args: &Args,
) -> Result<ResolvedValue<'a>, FieldError> {
    Ok(match value {
        Val::Leaf(value) => ResolvedValue::leaf(value),
        Val::Object(object) => ResolvedValue::object(object),
        Val::Refused(message) => return Err(FieldError { message }),
        Val::Connection(items) => ResolvedValue::object(connection(type_name, items, args)),
        Val::List(values) => {
            let list: Vec<Result<ResolvedValue<'a>, FieldError>> =
                values.into_iter().map(|value| resolved(value, "", &Value::Null)).collect();
            ResolvedValue::List(Box::new(list.into_iter()))
        }
    })
}

impl ObjectValue for Object<'_> {
    fn type_name(&self) -> &str {
        &self.name
    }

    fn resolve_field<'a>(&'a self, info: &'a ResolveInfo<'a>) -> Result<ResolvedValue<'a>, FieldError> {
        let args = serde_json::to_value(info.arguments()).unwrap_or(Value::Null);
        let value = (self.get)(info.field_name(), &args).ok_or_else(|| self.unknown_field_error(info))?;
        resolved(value, info.field_definition().ty.inner_named_type().as_str(), &args)
    }
}

fn cursor(at: usize) -> String {
    base64::engine::general_purpose::STANDARD.encode(format!("cursor:{at}"))
}

fn position(cursor: &Value) -> Option<usize> {
    let bytes = base64::engine::general_purpose::STANDARD.decode(cursor.as_str()?).ok()?;
    String::from_utf8(bytes).ok()?.strip_prefix("cursor:")?.parse().ok()
}

fn connection<'s>(name: &str, items: Rc<dyn Fn() -> Vec<Object<'s>> + 's>, args: &Args) -> Object<'s> {
    let total = items().len();
    let mut from = position(&args["after"]).map_or(0, |at| at + 1).min(total);
    let mut to = position(&args["before"]).unwrap_or(total).min(total).max(from);
    if let Some(first) = args["first"].as_u64() {
        to = to.min(from + first as usize);
    } else if let Some(last) = args["last"].as_u64() {
        from = from.max(to.saturating_sub(last as usize));
    }
    let edge = name.replace("Connection", "Edge");
    let shown = move || items().into_iter().enumerate().skip(from).take(to - from);
    Object::new(name, move |field, _| match field {
        "nodes" => Some(Val::List(shown().map(|(_, item)| Val::Object(item)).collect())),
        "edges" => {
            let edges = shown().map(|(at, item)| {
                let item = std::cell::RefCell::new(Some(item));
                Val::Object(Object::new(&edge, move |field, _| match field {
                    "cursor" => Val::leaf(cursor(at)),
                    "node" => Val::maybe(item.take()),
                    _ => None,
                }))
            });
            Some(Val::List(edges.collect()))
        }
        "totalCount" | "issueCount" => Val::leaf(total),
        "pageInfo" => {
            let empty = from == to;
            Some(Val::Object(Object::plain(
                "PageInfo",
                json!({
                    "startCursor": (!empty).then(|| cursor(from)), "endCursor": (!empty).then(|| cursor(to - 1)),
                    "hasNextPage": to < total, "hasPreviousPage": from > 0,
                }),
            )))
        }
        _ => None,
    })
}
