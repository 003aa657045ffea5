//! GitHub's own description of its API, as the judge of every exchange.

use std::collections::{BTreeSet, HashMap};
use std::sync::{LazyLock, Mutex};

use serde_json::{Map, Value, json};

static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/openapi.json")).expect("BUG: the description is JSON")
});
static OVERLAY: LazyLock<Value> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../data/overlay.json")).expect("BUG: the overlay is JSON")
});
static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(operations);
static SCHEMAS: LazyLock<Value> = LazyLock::new(relaxed_schemas);

/// One operation of the description.
#[derive(Debug)]
pub(crate) struct Operation {
    /// `GET /repos/{owner}/{repo}/pulls`
    pub id: String,
    method: String,
    segments: Vec<Segment>,
    description: &'static Value,
}

#[derive(Debug)]
enum Segment {
    Word(String),
    Name(String),
    /// A name that may hold slashes, as branches do.
    Long(String),
}

fn operations() -> Vec<Operation> {
    let mut found = Vec::new();
    for (path, methods) in DESCRIPTION["paths"].as_object().into_iter().flatten() {
        for (method, description) in methods.as_object().into_iter().flatten() {
            let segments = path.trim_start_matches('/').split('/').map(|word| {
                let Some(name) = word.strip_prefix('{').and_then(|word| word.strip_suffix('}')) else {
                    return Segment::Word(word.to_owned());
                };
                match name {
                    "ref" | "branch" | "basehead" | "tree_sha" | "name" => Segment::Long(name.to_owned()),
                    _ => Segment::Name(name.to_owned()),
                }
            });
            let method = method.to_uppercase();
            let id = format!("{method} {path}");
            found.push(Operation { id, method, segments: segments.collect(), description });
        }
    }
    found
}

fn decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn matched(pattern: &[Segment], words: &[&str], found: &mut Vec<(String, String)>) -> Option<u32> {
    let Some((first, rest)) = pattern.split_first() else {
        return words.is_empty().then_some(0);
    };
    let (word, others) = words.split_first()?;
    match first {
        Segment::Word(wanted) => {
            (wanted == word).then(|| matched(rest, others, found)).flatten().map(|n| n + 10)
        }
        Segment::Name(name) => {
            found.push((name.clone(), decoded(word)));
            matched(rest, others, found).map(|n| n + 1)
        }
        Segment::Long(name) => (1..=words.len()).find_map(|taken| {
            let mut deeper = found.clone();
            deeper.push((name.clone(), decoded(&words[..taken].join("/"))));
            let score = matched(rest, &words[taken..], &mut deeper)?;
            *found = deeper;
            Some(score + 1)
        }),
    }
}

/// The operation an address belongs to, with the names in its path.
pub(crate) fn route(method: &str, path: &str) -> Option<(&'static Operation, Vec<(String, String)>)> {
    let words: Vec<&str> = path.trim_matches('/').split('/').collect();
    let fits = OPERATIONS.iter().filter(|operation| operation.method == method).filter_map(|operation| {
        let mut found = Vec::new();
        let score = matched(&operation.segments, &words, &mut found)?;
        Some((score, operation, found))
    });
    fits.max_by_key(|(score, ..)| *score).map(|(_, operation, found)| (operation, found))
}

/// GitHub's own example payload of this name.
pub(crate) fn example(name: &str) -> Value {
    let found = &DESCRIPTION["components"]["examples"][name]["value"];
    assert!(!found.is_null(), "BUG: the description has no example {name}");
    found.clone()
}

fn resolve(node: &'static Value) -> &'static Value {
    let Some(reference) = node["$ref"].as_str() else { return node };
    DESCRIPTION.pointer(reference.trim_start_matches('#')).unwrap_or(node)
}

/// OpenAPI 3.0 writes `nullable`; JSON Schema writes another type.
fn to_json_schema(node: &mut Value) {
    match node {
        Value::Object(map) => {
            map.remove("example");
            map.remove("examples");
            map.remove("discriminator");
            map.values_mut().for_each(to_json_schema);
            if map.remove("nullable") != Some(Value::Bool(true)) {
                return;
            }
            if let Some(Value::String(kind)) = map.get("type").cloned() {
                map.insert("type".into(), json!([kind, "null"]));
                if let Some(list) = map.get_mut("enum").and_then(Value::as_array_mut) {
                    list.push(Value::Null);
                }
            } else {
                let inner = Value::Object(std::mem::take(map));
                map.insert("anyOf".into(), json!([inner, { "type": "null" }]));
            }
        }
        Value::Array(list) => list.iter_mut().for_each(to_json_schema),
        _ => {}
    }
}

fn relaxed_schemas() -> Value {
    let mut schemas = DESCRIPTION["components"]["schemas"].clone();
    let place = |schemas: &mut Value, entry: &Value, f: &dyn Fn(&mut Value)| {
        let name = entry["schema"].as_str().unwrap_or_default();
        let path = entry["path"].as_str().map(|path| format!("/{path}")).unwrap_or_default();
        let node = schemas.get_mut(name).and_then(|schema| schema.pointer_mut(&path));
        f(node.unwrap_or_else(|| {
            panic!("BUG: the overlay names {name}{path}, which is not in the description")
        }));
    };
    for entry in OVERLAY["nullable"].as_array().into_iter().flatten() {
        place(&mut schemas, entry, &|node| node["nullable"] = Value::Bool(true));
    }
    for entry in OVERLAY["enums"].as_array().into_iter().flatten() {
        place(&mut schemas, entry, &|node| {
            let list = node.get_mut("enum").and_then(Value::as_array_mut);
            let list = list.unwrap_or_else(|| panic!("BUG: the overlay widens no list: {entry}"));
            list.extend(entry["values"].as_array().into_iter().flatten().cloned());
        });
    }
    for entry in OVERLAY["optional"].as_array().into_iter().flatten() {
        place(&mut schemas, entry, &|node| {
            let list = node.get_mut("required").and_then(Value::as_array_mut);
            let list = list.unwrap_or_else(|| panic!("BUG: the overlay frees no field: {entry}"));
            list.retain(|field| field != &entry["field"]);
        });
    }
    to_json_schema(&mut schemas);
    schemas
}

fn gather(node: &Value, into: &mut Map<String, Value>) {
    match node {
        Value::Object(map) => {
            if let Some(name) = map.get("$ref").and_then(Value::as_str).and_then(|r| r.rsplit('/').next())
                && !into.contains_key(name)
            {
                into.insert(name.to_owned(), SCHEMAS[name].clone());
                gather(&SCHEMAS[name], into);
            }
            map.values().for_each(|value| gather(value, into));
        }
        Value::Array(list) => list.iter().for_each(|value| gather(value, into)),
        _ => {}
    }
}

type Compiled = Mutex<HashMap<String, &'static jsonschema::Validator>>;
static COMPILED: LazyLock<Compiled> = LazyLock::new(Compiled::default);

fn faults_of(key: &str, schema: &Value, instance: &Value) -> Vec<String> {
    let mut compiled = COMPILED.lock().expect("BUG: no validator panics while it is kept");
    let validator = compiled.entry(key.to_owned()).or_insert_with(|| {
        let mut schema = schema.clone();
        to_json_schema(&mut schema);
        let mut used = Map::new();
        gather(&schema, &mut used);
        schema["components"] = json!({ "schemas": used });
        let built = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(&schema);
        Box::leak(Box::new(built.unwrap_or_else(|error| panic!("BUG: the schema of {key}: {error}"))))
    });
    // What is wrong stands at the end of a message, after the value it is about.
    let short = |text: String| {
        let letters: Vec<char> = text.chars().collect();
        if letters.len() <= 300 {
            return text;
        }
        let (start, end) = (&letters[..90], &letters[letters.len() - 200..]);
        format!("{} … {}", start.iter().collect::<String>(), end.iter().collect::<String>())
    };
    validator.iter_errors(instance).take(5).map(|e| short(format!("{}: {e}", e.instance_path))).collect()
}

impl Operation {
    /// What is wrong with a question: unknown parameters, values outside their list, a body of another shape.
    pub(crate) fn judge_request(&self, query: &[(String, String)], body: &[u8]) -> Vec<String> {
        let mut faults = Vec::new();
        let parameters: Vec<&Value> =
            self.description["parameters"].as_array().into_iter().flatten().map(resolve).collect();
        for (name, value) in query {
            let known =
                parameters.iter().find(|entry| entry["in"] == "query" && entry["name"] == name.as_str());
            let Some(known) = known else {
                faults.push(format!("query parameter {name} is not documented"));
                continue;
            };
            let allowed = known["schema"]["enum"].as_array();
            if allowed.is_some_and(|list| !list.iter().any(|item| item == value.as_str())) {
                faults.push(format!("query parameter {name}={value} is not in its list"));
            }
        }
        let schema = &self.description["requestBody"]["content"]["application/json"]["schema"];
        if schema.is_null() || body.is_empty() {
            return faults;
        }
        let Ok(instance) = serde_json::from_slice::<Value>(body) else {
            faults.push("the request body is not JSON".into());
            return faults;
        };
        faults.extend(faults_of(&format!("{} request", self.id), schema, &instance));
        let known: BTreeSet<&String> =
            schema["properties"].as_object().into_iter().flat_map(Map::keys).collect();
        for field in instance.as_object().into_iter().flat_map(Map::keys) {
            if !known.is_empty() && !known.contains(field) {
                faults.push(format!("request field {field} is not documented"));
            }
        }
        faults
    }

    /// What is wrong with an answer.
    pub(crate) fn judge_response(&self, status: u16, body: &[u8]) -> Vec<String> {
        let described = &self.description["responses"][status.to_string()];
        let of_this = OVERLAY["statuses_of"].as_array().is_some_and(|list| {
            list.iter().any(|entry| entry["operation"] == self.id.as_str() && entry["status"] == status)
        });
        let beyond = of_this
            || OVERLAY["statuses"].as_array().is_some_and(|list| list.iter().any(|item| *item == status));
        if described.is_null() {
            return if beyond { Vec::new() } else { vec![format!("status {status} is not documented")] };
        }
        let schema = &resolve_in(described)["content"]["application/json"]["schema"];
        if schema.is_null() || status == 304 {
            return Vec::new();
        }
        match serde_json::from_slice::<Value>(body) {
            Ok(instance) => faults_of(&format!("{} {status}", self.id), schema, &instance),
            Err(error) => vec![format!("the body is not JSON: {error}")],
        }
    }
}

/// What is wrong with an answer by GitHub's description; nothing for an operation outside the subset.
pub fn judge_answer(method: &str, path: &str, status: u16, body: &[u8]) -> Option<Vec<String>> {
    route(method, path).map(|(operation, _)| operation.judge_response(status, body))
}

fn resolve_in(node: &Value) -> &Value {
    let Some(reference) = node["$ref"].as_str() else { return node };
    DESCRIPTION.pointer(reference.trim_start_matches('#')).unwrap_or(node)
}
