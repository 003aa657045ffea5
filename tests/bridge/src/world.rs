//! A GitHub for the pages: repositories with pull requests in each state, and verbs to move it while a
//! test looks on.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use steward_core::home::Home;
use steward_github_double::{Fault, RepoVerbs, Retry, World};

/// The person whose token the home has.
const OCTO: &str = "octo";

const ONE_PULL: &str = "GET /repos/{owner}/{repo}/pulls/{pull_number}";

/// A body in which nothing is missing.
const BODY: &str = "## What changed\n\nThe key.\n\n## Validated\n\nThe tests.\n\n\
                    ## Not done / not verified\n\nOther servers.\n";

/// Starts a seeded world in which this token is the person's. Its clock is behind by what the seeding takes
/// of it, so that nothing in it happened in the future.
pub fn start(token: &str) -> World {
    let world = World::start_at(chrono::Utc::now() - chrono::TimeDelta::minutes(2));
    world.token(OCTO, token, &["repo", "read:org", "delete_repo"]);
    app(&world);
    let docs = world.repo("octo/docs");
    docs.push("typo", "docs: a word", &[("README.md", "# docs\n\nOne word.\n")]);
    docs.open_pull("lin", "typo", "Spell a word right").body("Not done: the index. Not verified: links.");
    world.repo("octo/attic").archived();
    world.repo("octo/plans").private();
    world
}

/// `octo/app`: one pull request of each state that the board tells apart.
fn app(world: &World) {
    let app = world.repo("octo/app");
    app.push(
        "main",
        "chore: begin",
        &[("src/cache.rs", "pub fn key() -> u64 {\n    1\n}\n"), ("Cargo.toml", "[package]\n")],
    );
    let opened = |branch: &str, author: &str, title: &str| {
        let text = format!("pub fn {}() {{}}\n", branch.replace(['/', '-'], "_"));
        let head = app.push(branch, title, &[(&format!("src/{}.rs", branch.replace('/', "_")), &text)]);
        let pull = app.open_pull(author, branch, title).body(BODY);
        (head, pull)
    };
    let (head, pull) = opened("fix/etag", "maria", "fix: key the ETag cache by repository id");
    app.check(&head, "build").succeeds();
    app.check(&head, "test").succeeds();
    pull.label("bug");
    let (head, _) = opened("vendor", "tomasz", "Vendor the token list");
    app.check(&head, "build").fails();
    let (head, _) = opened("probe", "maria", "Speed the probe up");
    app.check(&head, "build").runs();
    let (head, pull) = opened("readme", "lin", "Say what the app is for");
    app.check(&head, "build").succeeds();
    pull.approve(OCTO);
    let (head, pull) = opened("plugins", "maria", "wip: plugins \u{202e} daer");
    app.check(&head, "build").succeeds();
    pull.draft();
    let (head, pull) = opened("retry", "tomasz", "Retry on 502");
    app.check(&head, "build").succeeds();
    pull.request_changes(OCTO);
    let fork = app.fork("mallory");
    fork.push("evil", "feat: markup", &[("src/markup.rs", "pub fn markup() {}\n")]);
    app.open_pull_from("mallory", fork.name(), "evil", "main", "<img src=x onerror=alert(1)> & **bold**");
    app.open_issue("lin", "Search is slow with 100,000 entries", "It takes a second.");
    app.open_issue("mallory", "<script>alert(1)</script>", "@octo closes #1");
}

/// Writes the config file of a home that has none: the person's account on this world, not yet watching.
pub fn configure(home: &Home, world: &World) -> Result<()> {
    let path = home.config_file();
    if path.exists() {
        return Ok(());
    }
    let host = world.base().trim_start_matches("http://");
    // A test judges more in its minute than a person in an hour.
    let text =
        format!("accounts:\n  - host: \"{host}\"\n    login: {OCTO}\nreview:\n  maxReviewsPerHour: 24\n");
    std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

/// What a test may ask of the world.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Asked {
    repository: Option<String>,
    pull: u64,
    branch: String,
}

/// One verb of the world, for tests in a browser.
pub async fn verb(
    State(world): State<Option<Arc<World>>>,
    Path(name): Path<String>,
    Json(asked): Json<Asked>,
) -> Response {
    let Some(world) = world else {
        return (StatusCode::NOT_FOUND, "this bridge has no world").into_response();
    };
    // The double's verbs run git.
    let done = tokio::task::spawn_blocking(move || act(&world, &name, &asked)).await;
    match done {
        Ok(Ok(answer)) => Json(answer).into_response(),
        Ok(Err(error)) => (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn act(world: &World, name: &str, asked: &Asked) -> Result<Value> {
    let repo = || -> RepoVerbs<'_> { world.repo(asked.repository.as_deref().unwrap_or("octo/app")) };
    Ok(match name {
        "comments" => {
            let comments = repo().pull(asked.pull).comments();
            comments
                .into_iter()
                .map(|(id, author, text)| json!({"id": id, "author": author, "text": text}))
                .collect()
        }
        "head" => json!(repo().pull(asked.pull).head()),
        "push" => {
            json!(repo().push(&asked.branch, "fix: once more", &[("src/more.rs", "pub fn more() {}\n")]))
        }
        "merge" => json!(repo().pull(asked.pull).merge(OCTO)),
        "merges" => {
            let app = repo();
            for work in ["one", "two", "three"] {
                let branch = format!("done/{work}");
                app.commit(&branch, &format!("feat: {work}"))
                    .from("main")
                    .write(&format!("src/{work}.rs"), "pub fn done() {}\n")
                    .push();
                let pull = app.open_pull("maria", &branch, &format!("Add {work}")).body(BODY);
                app.check(&pull.head(), "build").succeeds();
                app.check(&pull.head(), "test").succeeds();
                pull.merge_by(OCTO, "squash");
            }
            Value::Null
        }
        // The second pull request that is asked for comes late, or meets a limit.
        "slow" => {
            world.when(ONE_PULL).after(1).always().answers(Fault::Slow(Duration::from_secs(60)));
            Value::Null
        }
        "limited_on_the_way" => {
            let fault = Fault::Secondary { status: 403, retry: Retry::Seconds(600) };
            world.when(ONE_PULL).after(1).always().answers(fault);
            Value::Null
        }
        "offline" => {
            world.when("*").always().answers(Fault::Cut);
            Value::Null
        }
        "limited" => {
            world.when("*").always().answers(Fault::Secondary { status: 403, retry: Retry::Seconds(600) });
            Value::Null
        }
        "calm" => {
            world.calm();
            Value::Null
        }
        "contract" => json!(world.take_violations()),
        "advance" => {
            world.advance(Duration::from_secs(3600));
            Value::Null
        }
        _ => bail!("the world has no verb {name}"),
    })
}
