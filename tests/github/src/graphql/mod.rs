//! `POST /graphql`: validated by GitHub's own schema, priced by its published formula, answered from the world.

mod cost;
mod nodes;
mod object;
mod search;

use std::cell::{Cell, RefCell};
use std::sync::LazyLock;

use apollo_compiler::executable::Selection;
use apollo_compiler::resolvers::Execution;
use apollo_compiler::response::JsonMap;
use apollo_compiler::validation::Valid;
use apollo_compiler::{ExecutableDocument, Schema};
use serde_json::{Value, json};

use crate::access::Viewer;
use crate::routes::{Reply, refusal};
use crate::state::State;

static SCHEMA: LazyLock<Valid<Schema>> = LazyLock::new(|| {
    let text = include_str!("../../data/github.graphql");
    Schema::parse_and_validate(text, "github.graphql")
        .unwrap_or_else(|error| panic!("BUG: the schema is cut wrongly: {error}"))
});

/// Everything a resolver may look at.
pub(crate) struct Scene<'s> {
    pub state: &'s State,
    pub viewer: &'s Viewer,
    pub cost: u64,
    pub node_count: u64,
    /// Pulls whose mergeability was asked for: asking is what settles it.
    pub asked: RefCell<Vec<(String, u64)>>,
    /// How often `nodes` was asked so far in this query.
    pub asked_nodes: Cell<usize>,
    /// Ids without a node: which `nodes`, which place in it, and the message.
    pub missing: RefCell<Vec<(usize, usize, String)>>,
}

struct Question {
    document: Valid<ExecutableDocument>,
    variables: Value,
}

fn read(body: &[u8]) -> Result<Question, String> {
    let whole: Value =
        serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let query = whole["query"].as_str().ok_or("A query attribute must be specified and must be a string.")?;
    let document = ExecutableDocument::parse_and_validate(&SCHEMA, query, "query.graphql")
        .map_err(|error| error.errors.to_string().lines().take(4).collect::<Vec<_>>().join(" "))?;
    Ok(Question { document, variables: whole["variables"].clone() })
}

/// What is wrong with a query by GitHub's schema.
pub(crate) fn judge(body: &[u8]) -> Vec<String> {
    match read(body) {
        Ok(question) => {
            cost::price(&question.document, &question.variables).err().into_iter().map(|e| e.1).collect()
        }
        Err(fault) => vec![fault],
    }
}

/// The points a query costs; one for a query that is refused.
pub(crate) fn cost_of(body: &[u8]) -> u64 {
    let priced =
        read(body).ok().and_then(|question| cost::price(&question.document, &question.variables).ok());
    priced.map_or(1, |price| price.points)
}

fn errors(kind: &str, message: &str) -> Reply {
    let body = json!({ "errors": [{ "type": kind, "message": message }] });
    Reply { status: 200, headers: Vec::new(), body: Some(body) }
}

pub(crate) fn answer(state: &mut State, viewer: &Viewer, body: &[u8]) -> Reply {
    if viewer.token.is_none() {
        return refusal(401, "This endpoint requires you to be authenticated.");
    }
    let question = match read(body) {
        Ok(question) => question,
        Err(fault) => return errors("undefinedField", &fault),
    };
    let price = match cost::price(&question.document, &question.variables) {
        Ok(price) => price,
        Err((kind, message)) => return errors(kind, &message),
    };
    let variables: JsonMap = match serde_json::from_value(question.variables.clone()) {
        Ok(variables) => variables,
        Err(_) => JsonMap::new(),
    };
    let scene = Scene {
        state,
        viewer,
        cost: price.points,
        node_count: price.nodes,
        asked: RefCell::default(),
        asked_nodes: Cell::new(0),
        missing: RefCell::default(),
    };
    let execution = Execution::new(&SCHEMA, &question.document).raw_variable_values(&variables);
    let response = execution.execute_sync(&nodes::query(&scene));
    let (asked, missing) = (scene.asked.take(), scene.missing.take());
    let mut body = match response {
        Ok(response) => serde_json::to_value(&response).unwrap_or(Value::Null),
        Err(error) => return errors("INVALID_VARIABLES", &error.message().to_string()),
    };
    if !missing.is_empty()
        && let Some(map) = body.as_object_mut()
    {
        let errors = map.entry("errors").or_insert_with(|| json!([]));
        let keys = node_keys(&question.document);
        let shown = missing.into_iter().map(|(call, at, message)| {
            json!({ "type": "NOT_FOUND", "path": [keys.get(call), at], "message": message })
        });
        errors.as_array_mut().into_iter().for_each(|list| list.extend(shown.clone()));
    }
    for (repo, number) in asked {
        let thread = state.repo_mut(&repo).threads.get_mut(&number);
        if let Some(pull) = thread.and_then(|thread| thread.pull.as_mut()) {
            pull.unsettled = pull.unsettled.saturating_sub(1);
        }
    }
    Reply { status: 200, headers: Vec::new(), body: Some(named_errors(body)) }
}

/// The names under which a query shows its lists of `nodes`, in their order.
fn node_keys(document: &ExecutableDocument) -> Vec<String> {
    let roots = document.operations.iter().flat_map(|operation| &operation.selection_set.selections);
    let lists = roots.filter_map(|selection| match selection {
        Selection::Field(field) if field.name == "nodes" => Some(field.response_key().to_string()),
        _ => None,
    });
    lists.collect()
}

/// GitHub names the kind of an error beside its message.
fn named_errors(mut body: Value) -> Value {
    for error in body["errors"].as_array_mut().into_iter().flatten() {
        if error["message"].as_str().is_some_and(|text| text.starts_with("Could not resolve")) {
            error["type"] = json!("NOT_FOUND");
        }
        if error["message"].as_str().is_some_and(|text| text.contains(nodes::NOT_ACCESSIBLE)) {
            error["type"] = json!("FORBIDDEN");
        }
    }
    if body["errors"].is_null()
        && let Some(map) = body.as_object_mut()
    {
        map.remove("errors");
    }
    body
}

/// Turns an answer into a partial one: an error beside the data, the last entry of its first list gone.
pub(crate) fn spoil(body: &mut Value) {
    fn blank(node: &mut Value) -> bool {
        match node {
            Value::Array(list) => {
                if let Some(last) = list.last_mut() {
                    *last = Value::Null;
                    return true;
                }
                false
            }
            Value::Object(map) => map.values_mut().any(blank),
            _ => false,
        }
    }
    blank(&mut body["data"]);
    body["errors"] = json!([{
        "type": "RESOURCE_LIMITS_EXCEEDED", "message": "Resource limits for this query exceeded.",
    }]);
}

/// Hides the last node of the first list that was asked by ids, as GitHub says it.
pub(crate) fn lose(body: &mut Value) {
    let Some(data) = body["data"].as_object_mut() else { return };
    let list = data.iter_mut().find_map(|(key, value)| Some((key.clone(), value.as_array_mut()?)));
    let Some((key, list)) = list.filter(|(_, list)| !list.is_empty()) else { return };
    let last = list.len() - 1;
    list[last] = Value::Null;
    body["errors"] = json!([{
        "type": "NOT_FOUND", "path": [key, last], "message": "Could not resolve to a node with the global id of 'X'",
    }]);
}
