//! The documents that hang on a task: read whole, checked whole, refused with the field named.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use steward_rules::ids::Sha;
use steward_rules::review::facts::{Mutations, PeerStatus, ValidatorOutcome};
use steward_rules::review::gate::invalid_globs;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use crate::config::raw;
use crate::store::attached::{ContractBody, HandoffBody, MutationsBody, ValidatorBody};

/// A document longer than this is refused unread.
pub const MAX_BYTES: usize = 256 * 1024;
const MAX_LIST: usize = 1000;
const MAX_GLOBS: usize = 200;
const MAX_WORD: usize = 200;
const MAX_PATH: usize = 4096;
const MAX_NOTE: usize = 4000;

/// Why a document is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    #[error("the document has {bytes} bytes, the limit is {MAX_BYTES}; shorten it")]
    TooLong { bytes: usize },
    #[error("line {line}, column {column}: {message}")]
    Syntax { line: u32, column: u32, message: String },
    #[error("{field}: {message}")]
    Field { field: String, message: String },
}

/// `handoff.json`: what a Peer agent reports about its part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HandoffDocument {
    /// Who hands off; the newest handoff of each peer counts.
    #[schemars(length(min = 1, max = 200))]
    pub peer: String,
    pub status: PeerWord,
    #[serde(default)]
    pub claims: Claims,
    #[serde(default)]
    #[schemars(length(max = 4000))]
    pub note: String,
}

/// How far a Peer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PeerWord {
    Done,
    Running,
    Blocked,
    Failed,
}

/// What a Peer claims; the gate holds it against git.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Claims {
    /// Commit ids, full or abbreviated to at least seven digits.
    pub commits: Vec<String>,
    pub files: Vec<String>,
    pub pr: Option<i64>,
    pub tests: Vec<String>,
}

/// `verdict.json`: what a validator says of one commit against one contract version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ValidatorDocument {
    #[schemars(range(min = 1))]
    pub contract_version: u32,
    #[schemars(regex(pattern = "^[0-9a-f]{40}$"))]
    pub sha: String,
    pub verdict: ValidatorWord,
    #[serde(default)]
    pub scope_violation: bool,
    #[serde(default)]
    pub mutations: Option<MutationsDocument>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ValidatorWord {
    Pass,
    Fail,
    /// It has begun and says its word later.
    Running,
}

/// The commit the mutations ran at, and each file they touched with its blob afterwards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MutationsDocument {
    #[schemars(regex(pattern = "^[0-9a-f]{40}$"))]
    pub sha: String,
    pub paths: Vec<MutatedPathDocument>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MutatedPathDocument {
    pub path: String,
    #[schemars(regex(pattern = "^[0-9a-f]{40}$"))]
    pub blob: String,
}

/// `contract.yaml`: what was agreed before the code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContractDocument {
    /// Globs of paths the work may touch. Empty: plan files only.
    pub write_scope: Vec<String>,
    /// Commands whose success shows the work done.
    #[serde(default)]
    pub checks: Vec<String>,
    pub mutations: MutationsWord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MutationsWord {
    Required,
    None,
}

/// What is said of a frame when it is attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FrameDocument {
    /// Width of the page in CSS pixels.
    #[schemars(range(min = 1, max = 20000))]
    pub width: u32,
    #[schemars(length(min = 1, max = 200))]
    pub theme: String,
    /// Device pixels per CSS pixel.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 3))]
    pub scale: u32,
    #[serde(default)]
    #[schemars(length(max = 200))]
    pub route: Option<String>,
}

fn one() -> u32 {
    1
}

/// Reads a handoff.
pub fn handoff(text: &str) -> Result<(String, PeerStatus, HandoffBody), DocumentError> {
    let document: HandoffDocument = parse_yaml(text)?;
    word("peer", &document.peer)?;
    capped("note", &document.note, MAX_NOTE)?;
    let claims = document.claims;
    for (at, commit) in listed("claims.commits", &claims.commits, MAX_LIST)? {
        let hex = commit.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if !hex || !(7..=40).contains(&commit.len()) {
            return Err(refuse(&at, "a commit id is 7 to 40 lower-case hexadecimal digits"));
        }
    }
    for (at, file) in listed("claims.files", &claims.files, MAX_LIST)? {
        path(&at, file)?;
    }
    for (at, test) in listed("claims.tests", &claims.tests, MAX_LIST)? {
        word(&at, test)?;
    }
    if claims.pr.is_some_and(|number| number < 1) {
        return Err(refuse("claims.pr", "a pull request's number is 1 or more"));
    }
    let status = match document.status {
        PeerWord::Done => PeerStatus::Done,
        PeerWord::Running => PeerStatus::Running,
        PeerWord::Blocked => PeerStatus::Blocked,
        PeerWord::Failed => PeerStatus::Failed,
    };
    let body = HandoffBody {
        commits: claims.commits,
        files: claims.files,
        pull: claims.pr,
        tests: claims.tests,
        note: document.note,
    };
    Ok((document.peer, status, body))
}

/// A validator's verdict, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidatorSaid {
    pub contract_version: u32,
    pub sha: Sha,
    pub verdict: ValidatorOutcome,
    pub body: ValidatorBody,
}

/// Reads a validator's verdict.
pub fn validator(text: &str) -> Result<ValidatorSaid, DocumentError> {
    let document: ValidatorDocument = parse_yaml(text)?;
    if document.contract_version == 0 {
        return Err(refuse("contractVersion", "versions count from 1"));
    }
    let mutations = match document.mutations {
        None => None,
        Some(run) => {
            if run.paths.len() > MAX_LIST {
                return Err(refuse("mutations.paths", &format!("more than {MAX_LIST} entries")));
            }
            let mut paths = Vec::with_capacity(run.paths.len());
            for (index, touched) in run.paths.into_iter().enumerate() {
                path(&format!("mutations.paths[{index}].path"), &touched.path)?;
                let blob = sha(&format!("mutations.paths[{index}].blob"), &touched.blob)?;
                paths.push((touched.path, blob));
            }
            Some(MutationsBody { sha: sha("mutations.sha", &run.sha)?, paths })
        }
    };
    Ok(ValidatorSaid {
        contract_version: document.contract_version,
        sha: sha("sha", &document.sha)?,
        verdict: match document.verdict {
            ValidatorWord::Pass => ValidatorOutcome::Pass,
            ValidatorWord::Fail => ValidatorOutcome::Fail,
            ValidatorWord::Running => ValidatorOutcome::Running,
        },
        body: ValidatorBody { scope_violation: document.scope_violation, mutations },
    })
}

/// Reads a contract.
pub fn contract(text: &str) -> Result<ContractBody, DocumentError> {
    let document: ContractDocument = parse_yaml(text)?;
    for (at, glob) in listed("writeScope", &document.write_scope, MAX_GLOBS)? {
        word(&at, glob)?;
        if glob.matches("**").count() > 4 || glob.matches('*').count() > 16 {
            return Err(refuse(&at, "a glob has at most four ** and sixteen *"));
        }
    }
    if let Some(bad) = invalid_globs(&document.write_scope).first() {
        let index = document.write_scope.iter().position(|glob| glob == bad).unwrap_or(0);
        return Err(refuse(&format!("writeScope[{index}]"), "this is no valid glob"));
    }
    for (at, check) in listed("checks", &document.checks, MAX_GLOBS)? {
        word(&at, check)?;
    }
    Ok(ContractBody {
        write_scope: document.write_scope,
        checks: document.checks,
        mutations: match document.mutations {
            MutationsWord::Required => Mutations::Required,
            MutationsWord::None => Mutations::None,
        },
    })
}

/// Checks what is said of a frame.
pub fn frame(document: &FrameDocument) -> Result<(), DocumentError> {
    if !(1..=20_000).contains(&document.width) {
        return Err(refuse("width", "1 to 20000 CSS pixels"));
    }
    if !(1..=3).contains(&document.scale) {
        return Err(refuse("scale", "1, 2 or 3"));
    }
    word("theme", &document.theme)?;
    match &document.route {
        Some(route) => word("route", route),
        None => Ok(()),
    }
}

/// The JSON Schemas of all documents, by file name.
pub fn schemas() -> Vec<(&'static str, String)> {
    fn text<T: JsonSchema>() -> String {
        let schema = schemars::schema_for!(T);
        let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
        text.push('\n');
        text
    }
    vec![
        ("handoff.json", text::<HandoffDocument>()),
        ("validator.json", text::<ValidatorDocument>()),
        ("contract.json", text::<ContractDocument>()),
        ("frame.json", text::<FrameDocument>()),
    ]
}

/// JSON when it begins like an object, else YAML.
fn parse_yaml<T: DeserializeOwned>(text: &str) -> Result<T, DocumentError> {
    if text.len() > MAX_BYTES {
        return Err(DocumentError::TooLong { bytes: text.len() });
    }
    if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
        return typed(text.trim_start_matches('\u{feff}'));
    }
    let node = raw::parse(text).map_err(|broken| DocumentError::Syntax {
        line: broken.line,
        column: broken.column,
        message: broken.message,
    })?;
    let mut json = String::new();
    write(&node, &mut json);
    typed(&json)
}

fn typed<T: DeserializeOwned>(json: &str) -> Result<T, DocumentError> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let field = error.path().to_string();
        let inner = error.into_inner();
        match inner.classify() {
            serde_json::error::Category::Data => named(field, &inner.to_string()),
            serde_json::error::Category::Io
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof => DocumentError::Syntax {
                line: inner.line() as u32,
                column: inner.column() as u32,
                message: place_off(&inner.to_string()),
            },
        }
    })?;
    reader.end().map_err(|error| DocumentError::Syntax {
        line: error.line() as u32,
        column: error.column() as u32,
        message: "something follows the document".to_owned(),
    })?;
    Ok(value)
}

/// serde names the field in its message when the field itself is the matter.
fn named(field: String, message: &str) -> DocumentError {
    let (field, message) = (inert(&field, 200), place_off(message));
    let quoted = message.split('`').nth(1).map(str::to_owned);
    let about_field =
        ["missing field", "unknown field", "duplicate field"].iter().any(|start| message.starts_with(start));
    let field = match (about_field, quoted) {
        (true, Some(name)) => match field.as_str() {
            "." => name,
            at if at == name || at.ends_with(&format!(".{name}")) => at.to_owned(),
            at => format!("{at}.{name}"),
        },
        (true, None) | (false, _) => field,
    };
    DocumentError::Field { field, message }
}

fn place_off(message: &str) -> String {
    inert(message.split(" at line ").next().unwrap_or(message), 300)
}

/// Words of the document in ours: on one line, nothing hidden, no secret.
fn inert(text: &str, limit: usize) -> String {
    Untrusted::new(Engine::shared().redact(text)).one_line(limit)
}

fn write(node: &raw::Node, out: &mut String) {
    match &node.value {
        raw::Value::Null => out.push_str("null"),
        raw::Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        raw::Value::Int(value) => out.push_str(&value.to_string()),
        raw::Value::Float(value) => {
            // JSON has no word for these, and "null" would read as a value left out.
            if !value.is_finite() {
                return quote(&value.to_string(), out);
            }
            out.push_str(&serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
        }
        raw::Value::Text(text) => quote(text, out),
        raw::Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        raw::Value::Map(entries) => {
            out.push('{');
            for (index, entry) in entries.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                quote(&entry.key, out);
                out.push(':');
                write(&entry.node, out);
            }
            out.push('}');
        }
    }
}

fn quote(text: &str, out: &mut String) {
    out.push_str(&serde_json::to_string(text).unwrap_or_else(|_| "\"\"".to_owned()));
}

fn refuse(field: &str, message: &str) -> DocumentError {
    DocumentError::Field { field: field.to_owned(), message: message.to_owned() }
}

fn capped(field: &str, text: &str, limit: usize) -> Result<(), DocumentError> {
    match text.chars().count() {
        count if count > limit => Err(refuse(field, &format!("{count} characters, the limit is {limit}"))),
        _ => Ok(()),
    }
}

fn word(field: &str, text: &str) -> Result<(), DocumentError> {
    if text.trim().is_empty() {
        return Err(refuse(field, "it is empty"));
    }
    capped(field, text, MAX_WORD)
}

fn path(field: &str, text: &str) -> Result<(), DocumentError> {
    let odd = text.is_empty() || text.starts_with('/') || text.split('/').any(|part| part == "..");
    if odd || text.contains('\0') {
        return Err(refuse(field, "a path inside the repository is expected"));
    }
    capped(field, text, MAX_PATH)
}

fn sha(field: &str, text: &str) -> Result<Sha, DocumentError> {
    Sha::new(text).map_err(|error| refuse(field, &error.to_string()))
}

fn listed<'a>(
    field: &str,
    items: &'a [String],
    limit: usize,
) -> Result<Vec<(String, &'a String)>, DocumentError> {
    if items.len() > limit {
        return Err(refuse(field, &format!("{} entries, the limit is {limit}", items.len())));
    }
    Ok(items.iter().enumerate().map(|(index, item)| (format!("{field}[{index}]"), item)).collect())
}
