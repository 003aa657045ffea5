//! `steward mcp need`: an agent asks the owner, and fetches the answer.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ServerCapabilities, ServerConfig};
use rmcp::{ErrorData, ServerHandler, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests as rq;
use steward_core::api::{Api, questions as api_needs};

use crate::mcp::serve;
use crate::needs::who;

/// Serves one agent until its standard input ends.
pub async fn run(api: Api, agent: Option<String>, project: Option<String>) -> Result<(), ApiError> {
    let asker = Asker { api: Arc::new(api), agent, project };
    serve(asker).await.map_err(|error| ApiError::new(ErrorCode::Internal, format!("{error:#}")))
}

#[derive(Clone)]
struct Asker {
    api: Arc<Api>,
    agent: Option<String>,
    project: Option<String>,
}

/// What `need_raise` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raise {
    topic: String,
    question: String,
    #[serde(default)]
    options: Vec<String>,
    project: Option<String>,
}

/// What `need_answer_get` takes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Get {
    id: i64,
}

#[derive(Serialize)]
struct Raised {
    id: i64,
    arrival: String,
}

#[derive(Serialize)]
struct Answered {
    id: i64,
    /// `open`, `answered`, `withdrawn`, `dropped`, `gone`.
    state: String,
    /// The owner's own words.
    answer: Option<String>,
}

impl Asker {
    async fn raise(&self, arguments: JsonObject) -> Result<String, ApiError> {
        let asked: Raise = read(arguments)?;
        let request = rq::NeedRaise {
            source: rq::NeedSource::Mcp,
            who: who(self.agent.clone()),
            text: None,
            topic: Some(asked.topic),
            question: Some(asked.question),
            options: asked.options,
            project: asked.project.or_else(|| self.project.clone()),
        };
        let raised = api_needs::raise(&self.api, request).await?;
        Ok(json(&Raised { id: raised.id, arrival: raised.arrival }))
    }

    async fn get(&self, arguments: JsonObject) -> Result<String, ApiError> {
        let Get { id } = read(arguments)?;
        let need = api_needs::show(&self.api, rq::ById { id }).await?;
        let answer = if need.state == "answered" { api_needs::words(&self.api, id).await? } else { None };
        let (answer, words) = answer.unzip();
        if let Some(answer) = answer {
            api_needs::fetched(&self.api, answer).await?;
        }
        Ok(json(&Answered { id, state: need.state, answer: words }))
    }
}

fn read<T: serde::de::DeserializeOwned>(arguments: JsonObject) -> Result<T, ApiError> {
    serde_json::from_value(serde_json::Value::Object(arguments))
        .map_err(|error| ApiError::new(ErrorCode::BadRequest, error.to_string()))
}

fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

fn told(result: Result<String, ApiError>) -> CallToolResult {
    match result {
        Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
        Err(error) => CallToolResult::error(vec![ContentBlock::text(json(&error))]),
    }
}

/// What the model is told of the two tools. The rules decide; this only describes.
const RAISE: &str = r#"{"type":"object","additionalProperties":false,"required":["topic","question"],"properties":{
  "topic":{"type":"string","maxLength":80,"description":"What it is about. The same topic again changes the question; it does not ask twice."},
  "question":{"type":"string","maxLength":4000,"description":"The question. Pointers (issue ids, paths), never whole documents."},
  "options":{"type":"array","maxItems":26,"items":{"type":"string","maxLength":500},"description":"Possible answers, without letters."},
  "project":{"type":"string","maxLength":80}}}"#;
const GET: &str = r#"{"type":"object","additionalProperties":false,"required":["id"],"properties":{
  "id":{"type":"integer","minimum":1,"description":"The id that need_raise gave."}}}"#;

fn schema(text: &str) -> Arc<JsonObject> {
    Arc::new(serde_json::from_str(text).expect("BUG: the schemas in this file are JSON objects"))
}

#[tool_router]
impl Asker {
    #[tool(
        description = "Ask the owner something that only the owner can decide. Gives an id at once; the owner answers later.",
        input_schema = schema(RAISE)
    )]
    async fn need_raise(&self, arguments: JsonObject) -> Result<CallToolResult, ErrorData> {
        Ok(told(self.raise(arguments).await))
    }

    #[tool(
        description = "The owner's answer in the owner's own words, or null while there is none.",
        input_schema = schema(GET)
    )]
    async fn need_answer_get(&self, arguments: JsonObject) -> Result<CallToolResult, ErrorData> {
        Ok(told(self.get(arguments).await))
    }
}

#[tool_handler(router = Self::tool_router())]
impl ServerHandler for Asker {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build()).with_instructions(
            "Call need_raise when only the owner can decide, go on with other work, and look for the answer with need_answer_get.",
        )
    }
}
