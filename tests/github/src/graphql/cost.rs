//! GitHub's published formula: the requests its connections stand for, divided by a hundred.

use apollo_compiler::ExecutableDocument;
use apollo_compiler::ast;
use apollo_compiler::executable::{Field, Selection, SelectionSet};
use serde_json::Value;

const NODE_LIMIT: u64 = 500_000;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Price {
    pub points: u64,
    pub nodes: u64,
}

pub(crate) type Refusal = (&'static str, String);

struct Walk<'d> {
    document: &'d ExecutableDocument,
    variables: &'d Value,
    requests: u64,
    nodes: u64,
}

/// What a query costs, or why GitHub refuses to run it.
pub(crate) fn price(document: &ExecutableDocument, variables: &Value) -> Result<Price, Refusal> {
    let mut walk = Walk { document, variables, requests: 0, nodes: 0 };
    for operation in document.operations.iter() {
        walk.set(&operation.selection_set, 1)?;
    }
    if walk.nodes > NODE_LIMIT {
        let text = format!(
            "This query requests up to {} possible nodes which exceeds the maximum limit of 500,000.",
            walk.nodes
        );
        return Err(("MAX_NODE_LIMIT_EXCEEDED", text));
    }
    Ok(Price { points: ((walk.requests + 50) / 100).max(1), nodes: walk.nodes })
}

impl Walk<'_> {
    fn set(&mut self, set: &SelectionSet, parents: u64) -> Result<(), Refusal> {
        for selection in &set.selections {
            match selection {
                Selection::Field(field) => self.field(field, parents)?,
                Selection::InlineFragment(inline) => self.set(&inline.selection_set, parents)?,
                Selection::FragmentSpread(spread) => {
                    if let Some(fragment) = self.document.fragments.get(&spread.fragment_name) {
                        self.set(&fragment.selection_set, parents)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn field(&mut self, field: &Field, parents: u64) -> Result<(), Refusal> {
        let takes = |name: &str| field.definition.arguments.iter().any(|argument| argument.name == name);
        if field.name == "nodes" && takes("ids") {
            let ids = self.value(field, "ids").map_or(0, |ids| ids.as_array().map_or(1, Vec::len)) as u64;
            if ids > 100 {
                let text = format!("You may not provide more than 100 node ids; you provided {ids}.");
                return Err(("ARGUMENT_LIMIT", text));
            }
            self.nodes += ids;
            return self.set(&field.selection_set, parents * ids);
        }
        if !(takes("first") && takes("last")) {
            return self.set(&field.selection_set, parents);
        }
        let size = |name: &str| self.value(field, name).and_then(|value| value.as_u64());
        let (word, size) = match (size("first"), size("last")) {
            (Some(first), _) => ("first", first),
            (None, Some(last)) => ("last", last),
            (None, None) => {
                let text = format!(
                    "You must provide a `first` or `last` value to properly paginate the `{}` connection.",
                    field.name
                );
                return Err(("MISSING_PAGINATION_BOUNDARIES", text));
            }
        };
        if size > 100 {
            let text = format!(
                "Requesting {size} records on the `{}` connection exceeds the `{word}` limit of 100 records.",
                field.name
            );
            return Err(("EXCESSIVE_PAGINATION", text));
        }
        self.requests += parents;
        self.nodes += parents * size;
        self.set(&field.selection_set, parents * size)
    }

    fn value(&self, field: &Field, name: &str) -> Option<Value> {
        let argument = field.arguments.iter().find(|argument| argument.name == name)?;
        self.plain(&argument.value)
    }

    fn plain(&self, value: &ast::Value) -> Option<Value> {
        match value {
            ast::Value::Variable(name) => self.variables.get(name.as_str()).cloned(),
            ast::Value::Int(number) => number.try_to_i32().ok().map(Value::from),
            ast::Value::List(list) => {
                Some(list.iter().map(|one| self.plain(one).unwrap_or(Value::Null)).collect())
            }
            _ => None,
        }
    }
}
