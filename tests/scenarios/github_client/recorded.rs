//! Recorded answers of GitHub, where they lie beside the checkout, are read with our types.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use steward_core::github::types;

#[derive(Deserialize)]
struct Exchange {
    operation: String,
    status: u16,
    src: String,
    body: Option<String>,
}

fn folder() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../shared/reference/github/recorded");
    std::env::var_os("STEWARD_RECORDED").map_or_else(|| PathBuf::from(beside), PathBuf::from)
}

fn reads<T: DeserializeOwned>(body: &str) -> Result<(), String> {
    serde_json::from_str::<T>(body).map(|_| ()).map_err(|error| error.to_string())
}

/// How an operation's answer is read; `None` for those Steward does not ask.
fn judge(operation: &str, body: &str) -> Option<Result<(), String>> {
    let answer = match operation {
        "GET /user" | "GET /users/{username}" => reads::<types::User>(body),
        "GET /repos/{owner}/{repo}" => reads::<types::Repo>(body),
        "GET /user/repos" => reads::<Vec<types::Repo>>(body),
        "GET /repos/{owner}/{repo}/pulls" => reads::<Vec<types::Pull>>(body),
        "GET /repos/{owner}/{repo}/pulls/{pull_number}" => reads::<types::Pull>(body),
        "GET /repos/{owner}/{repo}/pulls/{pull_number}/commits" | "GET /repos/{owner}/{repo}/commits" => {
            reads::<Vec<types::Commit>>(body)
        }
        "GET /repos/{owner}/{repo}/pulls/{pull_number}/files" => reads::<Vec<types::ChangedFile>>(body),
        "GET /repos/{owner}/{repo}/commits/{ref}" => reads::<types::Commit>(body),
        "GET /repos/{owner}/{repo}/commits/{ref}/check-runs" => reads::<types::CheckRuns>(body),
        "GET /repos/{owner}/{repo}/check-runs/{check_run_id}" => reads::<types::CheckRun>(body),
        "GET /repos/{owner}/{repo}/commits/{ref}/statuses" => reads::<Vec<types::Status>>(body),
        "GET /repos/{owner}/{repo}/branches" => reads::<Vec<serde_json::Value>>(body),
        "GET /repos/{owner}/{repo}/branches/{branch}" => reads::<types::Branch>(body),
        "GET /repos/{owner}/{repo}/compare/{basehead}" => reads::<types::Comparison>(body),
        "GET /repos/{owner}/{repo}/git/trees/{tree_sha}" => reads::<types::Tree>(body),
        "GET /repos/{owner}/{repo}/issues" | "GET /issues" => reads::<Vec<types::Issue>>(body),
        "GET /repos/{owner}/{repo}/issues/{issue_number}" => reads::<types::Issue>(body),
        "GET /repos/{owner}/{repo}/issues/{issue_number}/comments" => reads::<Vec<types::Comment>>(body),
        "GET /repos/{owner}/{repo}/issues/comments/{comment_id}" => reads::<types::Comment>(body),
        "GET /repos/{owner}/{repo}/issues/{issue_number}/timeline" => reads::<Vec<types::Event>>(body),
        "GET /repos/{owner}/{repo}/labels" | "GET /repos/{owner}/{repo}/issues/{issue_number}/labels" => {
            reads::<Vec<types::Label>>(body)
        }
        _ => return None,
    };
    Some(answer)
}

#[test]
fn every_recorded_answer_is_read() {
    let folder = folder();
    let Ok(files) = std::fs::read_dir(&folder) else {
        eprintln!("skipped: no recordings at {}", folder.display());
        return;
    };
    let (mut read, mut failed) = (0, Vec::new());
    for file in files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
    {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let Ok(exchange) = serde_json::from_str::<Exchange>(line) else {
                panic!("{}: not an exchange: {line}", file.display());
            };
            let (200..=299, Some(body)) = (exchange.status, exchange.body.as_deref()) else { continue };
            match judge(&exchange.operation, body) {
                Some(Ok(())) => read += 1,
                Some(Err(error)) => failed.push(format!("{} {}: {error}", exchange.operation, exchange.src)),
                None => {}
            }
        }
    }
    assert!(failed.is_empty(), "{} of {read}:\n{}", failed.len(), failed.join("\n"));
    assert!(read > 0, "no recording of what Steward asks was found");
    eprintln!("{read} recorded answers read");
}
