//! The hostile corpus, fed into the real world: git, the store, the API, the documents, the log, the seat.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_core::agent::{DigestHead, Event, check, parse_line};
use steward_core::api::{Api, dispatch};
use steward_core::config::seats::{SeatError, parse_seat};
use steward_core::config::{self, Role};
use steward_core::git::export::{self, Caps};
use steward_core::loops::review::{Observed, digest, observe};
use steward_core::loops::task::documents::{self, DocumentError};
use steward_core::loops::{seat, task};
use steward_core::store::tasks::{NewBranchTask, RunState, TaskRow, create_for_branch};
use steward_core::store::{Durability, StoreError, tasks};
use steward_core::telemetry::{Scrub, subscriber};
use steward_rules::caller::Caller;
use steward_rules::diff::RepoPath;
use steward_rules::ids::{ReviewId, TaskId};
use steward_rules::review::gate::GateTable;
use steward_rules::secret::{Engine, Place};
use steward_rules::untrusted::{Untrusted, is_hidden};
use tokio_util::sync::CancellationToken;

use crate::desk::{Desk, boundary_is_here};
use agents::{configuration, document, findings, logged, seats, streamed, submissions, tools};
use fixtures::{Fixture, Outcomes, SCENARIOS, fate, run, short};

mod agents;
#[path = "../fixtures/hostile.rs"]
mod fixtures;
mod generated;

/// No place may take longer for all its fixtures, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(60);
/// Fixtures of one branch: a digest lists a hundred commits.
const BRANCH: usize = 90;

#[test]
fn the_world_makes_every_hostile_fixture_inert() {
    run(SCENARIOS, |place, here| {
        let feed: fn(&[&Fixture]) -> Outcomes = match place {
            "branch" => |here| waited(branches(here)),
            "commit" => |here| waited(commits(here)),
            "config" => |here| each(here, configuration),
            "contract" => |here| each(here, |f| document(documents::contract(&f.text).map(drop))),
            "finding" => |here| waited(findings(here)),
            "handoff" => |here| waited(handoffs(here)),
            "line" => |here| waited(lines(here)),
            "log" => |here| each(here, logged),
            "name" => |here| waited(names(here)),
            "seat" => seats,
            "stream" => |here| each(here, |f| streamed(&f.bytes)),
            "submission" => submissions,
            "task" => |here| waited(titles(here)),
            "tool" => |here| waited(tools(here)),
            "validator" => |here| each(here, |f| document(documents::validator(&f.text).map(drop))),
            other => panic!("nothing feeds {other}"),
        };
        let begun = Instant::now();
        let outcomes = feed(here);
        println!("{place}: {} fixtures in {} ms", here.len(), begun.elapsed().as_millis());
        assert!(begun.elapsed() < PATIENCE, "{place} took {:?}", begun.elapsed());
        let faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
        faults.iter().for_each(|fault| eprintln!("{fault}"));
        outcomes
    });
    let faults = FAULTS.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(faults.is_empty(), "{faults:#?}");
}

fn waited<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Runtime::new().expect("a runtime").block_on(work)
}

fn each(here: &[&Fixture], outcome: impl Fn(&Fixture) -> String) -> Outcomes {
    here.iter().map(|fixture| (fixture.id.clone(), outcome(fixture))).collect()
}

/// What should have been inert and was not; told at the end, all at once.
static FAULTS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn fault(text: String) {
    FAULTS.lock().unwrap_or_else(PoisonError::into_inner).insert(text);
}

/// A text that may stand on a terminal and in a report: nothing hidden, no secret.
fn inert(of: &str, text: &str, fixtures: &[&Fixture]) {
    if let Some(hidden) = text.chars().find(|c| is_hidden(*c) && !matches!(c, '\n' | '\t')) {
        fault(format!("{of} shows {hidden:?}: {:?}", short(text)));
    }
    for secret in fixtures.iter().flat_map(|fixture| &fixture.secrets) {
        if text.contains(secret.as_str()) {
            fault(format!("{of} says the secret {}…: {:?}", short(secret), short(text)));
        }
    }
}

/// The same of every text in a JSON value, keys included.
fn all_inert(of: &str, value: &Value, fixtures: &[&Fixture]) {
    match value {
        Value::String(text) => inert(of, text, fixtures),
        Value::Array(items) => items.iter().for_each(|item| all_inert(of, item, fixtures)),
        Value::Object(fields) => fields.iter().for_each(|(key, item)| {
            inert(of, key, fixtures);
            all_inert(of, item, fixtures);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// No text of a fixture stands outside an envelope.
fn enveloped(value: &Value, fixtures: &[&Fixture]) {
    match value {
        Value::String(text) => {
            for fixture in fixtures {
                let begin: String = fixture.text.chars().take(8).collect();
                let is_outside = begin.chars().count() == 8 && text.contains(&begin);
                if is_outside {
                    fault(format!("{} stands outside an envelope: {:?}", fixture.id, short(text)));
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| enveloped(item, fixtures)),
        Value::Object(fields) if fields.get("untrusted") == Some(&json!(true)) => {
            assert!(fields.len() == 2 && fields["text"].is_string(), "{fields:?}");
        }
        Value::Object(fields) => fields.values().for_each(|item| enveloped(item, fixtures)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

async fn api(desk: &Desk) -> Api {
    Api::open(&desk.home, Caller::Person).await.expect("the API")
}

/// Gives a branch one commit per fixture in a single call: message and file content by the closure.
fn import(desk: &Desk, branch: &str, fixtures: &[&Fixture], of: impl Fn(&Fixture) -> (Vec<u8>, Vec<u8>)) {
    let mut stream = Vec::new();
    for (at, fixture) in fixtures.iter().enumerate() {
        let (message, content) = of(fixture);
        let head = format!(
            "commit refs/heads/{branch}\ncommitter Ada <ada@example.org> {} +0000\n",
            1_790_001_000 + at
        );
        stream.extend(head.into_bytes());
        stream.extend(format!("data {}\n", message.len()).into_bytes());
        stream.extend(message);
        if at == 0 {
            stream.extend(b"\nfrom refs/heads/main^0");
        }
        stream.extend(
            format!("\nM 100644 inline corpus/{}.txt\ndata {}\n", fixture.id, content.len()).into_bytes(),
        );
        stream.extend(content);
        stream.extend(b"\n");
    }
    desk.repo.git_with(&["fast-import", "--quiet"], &stream);
}

/// Judges a task and makes its digest, both inert as wholes.
async fn judged(desk: &Desk, task: &TaskRow, fixtures: &[&Fixture]) -> (GateTable, Value, Observed) {
    let head = task.head.clone().expect("a head");
    let observed = observe(&desk.ctx, task, &head, &CancellationToken::new()).await.expect("observed");
    let table = observed.judge(desk.ctx.clock.now());
    let digest = digested(&observed, &table, task);
    all_inert("a gate", &serde_json::to_value(&table).expect("JSON"), fixtures);
    (table, digest, observed)
}

fn digested(observed: &Observed, table: &GateTable, task: &TaskRow) -> Value {
    let input = digest::Input { review: ReviewId(1), task, observed, table, earlier: &[], marks: &[] };
    let made = digest::build(&input).expect("a digest");
    serde_json::from_slice(&made.json).expect("JSON")
}

async fn commits(here: &[&Fixture]) -> Outcomes {
    let desk = Desk::new();
    let api = api(&desk).await;
    let mut outcomes = Vec::new();
    for (at, chunk) in here.chunks(BRANCH).enumerate() {
        let branch = format!("messages-{at}");
        import(&desk, &branch, chunk, |fixture| (fixture.bytes.clone(), b"x\n".to_vec()));
        let task = task::add(&desk.ctx, "app", &branch, None).await.expect("a task");
        let (_, digest, _) = judged(&desk, &task, chunk).await;
        all_inert("a digest", &digest, chunk);
        enveloped(&digest, chunk);
        let gates = dispatch(&api, "task_gates", json!({"id": task.id.0})).await.expect("gates");
        all_inert("the gates of a task", &gates, chunk);
        let listed = digest["commits"].as_array().expect("commits");
        assert_eq!(listed.len(), chunk.len());
        for (fixture, commit) in chunk.iter().zip(listed) {
            let message = commit["message"]["text"].as_str().expect("a message");
            let before_nul = fixture.text.split('\0').next().unwrap_or_default();
            let outcome = if before_nul != fixture.text && message == Untrusted::new(before_nul).escaped(1000)
            {
                "cut off at the NUL".to_owned()
            } else {
                fate(fixture, message, 1000)
            };
            outcomes.push((fixture.id.clone(), outcome));
        }
    }
    outcomes
}

async fn lines(here: &[&Fixture]) -> Outcomes {
    let desk = Desk::new();
    let api = api(&desk).await;
    let mut outcomes = Vec::new();
    for (at, chunk) in here.chunks(BRANCH).enumerate() {
        let branch = format!("lines-{at}");
        import(&desk, &branch, chunk, |fixture| {
            (b"add a line".to_vec(), [fixture.bytes.as_slice(), b"\n"].concat())
        });
        let task = task::add(&desk.ctx, "app", &branch, None).await.expect("a task");
        let (_, digest, _) = judged(&desk, &task, chunk).await;
        all_inert("a digest", &digest, chunk);
        enveloped(&digest, chunk);
        let gates = dispatch(&api, "task_gates", json!({"id": task.id.0})).await.expect("gates");
        all_inert("the gates of a task", &gates, chunk);
        for fixture in chunk {
            let name = format!("corpus/{}.txt", fixture.id);
            let files = digest["diff"]["files"].as_array().expect("files");
            let file = files.iter().find(|file| file["path"]["text"] == name.as_str()).expect("the file");
            let hunks = file["hunks"].as_array().cloned().unwrap_or_default();
            let shown: String = hunks.iter().filter_map(|hunk| hunk["lines"]["text"].as_str()).collect();
            let shown: Vec<&str> =
                shown.split_terminator('\n').map(|line| line.strip_prefix('+').unwrap_or(line)).collect();
            let outcome = match hunks.is_empty() {
                true => format!("left out: {}", file["leftOut"].as_str().unwrap_or("no room")),
                false => fate(fixture, &shown.join("\n"), 400),
            };
            outcomes.push((fixture.id.clone(), outcome));
        }
    }
    outcomes
}

/// A task may have any title and, from a forge, any branch; both reach a list and a digest.
async fn titles(here: &[&Fixture]) -> Outcomes {
    let desk = Desk::new();
    let api = api(&desk).await;
    let id = desk.task().await;
    let real = task::get(&desk.ctx, id).await.expect("the task");
    let (table, _, observed) = judged(&desk, &real, here).await;
    let texts: Vec<String> = here.iter().map(|fixture| fixture.text.clone()).collect();
    let rows: Vec<TaskRow> = desk
        .ctx
        .store
        .write(Durability::Normal, move |tx| {
            texts
                .iter()
                .map(|text| {
                    let new = NewBranchTask {
                        title: text.clone(),
                        workspace: "app".to_owned(),
                        workspace_path: "/nowhere".to_owned(),
                        repository: None,
                        branch: text.clone(),
                        state: RunState::Running,
                    };
                    let (id, _) = create_for_branch(tx, &new)?;
                    Ok::<_, StoreError>(tasks::get(tx, id)?.expect("the task"))
                })
                .collect()
        })
        .await
        .expect("written");
    let mut outcomes = Vec::new();
    for (fixture, row) in here.iter().zip(&rows) {
        let digest = digested(&observed, &table, row);
        all_inert("a digest", &digest, here);
        enveloped(&digest, &[fixture]);
        let (title, branch) = (&digest["task"]["title"]["text"], &digest["task"]["branch"]["text"]);
        assert_eq!(title, branch);
        outcomes.push((fixture.id.clone(), fate(fixture, title.as_str().expect("a title"), 200)));
        let shown = dispatch(&api, "task_show", json!({"id": row.id.0})).await.expect("shown");
        all_inert("a task's view", &shown, &[]);
        let title = shown["task"]["title"].as_str().expect("a title");
        assert!(title.chars().count() <= 3001, "{}", fixture.id);
    }
    outcomes
}

async fn branches(here: &[&Fixture]) -> Outcomes {
    let desk = Desk::new();
    let api = api(&desk).await;
    let mut outcomes = Vec::new();
    for fixture in here {
        let name = fixture.text.as_str();
        let made = desk.repo.try_git(&["branch", "--", name, "fix"]);
        let request = json!({"workspace": "app", "branch": name});
        let outcome = match dispatch(&api, "task_add", request).await {
            Ok(view) => {
                all_inert("a task's view", &view, &[]);
                let id = TaskId(view["id"].as_i64().expect("an id"));
                let row = task::get(&desk.ctx, id).await.expect("the task");
                assert_eq!(row.branch.as_deref(), Some(name));
                let (_, digest, _) = judged(&desk, &row, &[fixture]).await;
                all_inert("a digest", &digest, &[fixture]);
                enveloped(&digest, &[fixture]);
                assert!(made, "{}: git has no such branch", fixture.id);
                "taken"
            }
            Err(error) => {
                inert("the refusal of a branch", &error.to_string(), &[fixture]);
                "refused"
            }
        };
        outcomes.push((fixture.id.clone(), outcome.to_owned()));
    }
    outcomes
}

/// All names in one tree that git itself would not make.
async fn names(here: &[&Fixture]) -> Outcomes {
    let desk = Desk::new();
    let entries: Vec<(&str, &[u8], &[u8])> = here
        .iter()
        .map(|fixture| {
            let content: &[u8] = if fixture.mode == "120000" { b"../../../outside" } else { b"text\n" };
            (fixture.mode.as_str(), fixture.bytes.as_slice(), content)
        })
        .collect();
    desk.repo.commit_raw_tree("fix: odd names", &entries);
    let task = task::get(&desk.ctx, desk.task().await).await.expect("the task");
    let (table, digest, observed) = judged(&desk, &task, here).await;
    enveloped(&digest, here);
    let place = desk.root.join("place");
    std::fs::create_dir(&place).expect("a folder");
    let dest = place.join("export");
    let head = task.head.clone().expect("a head");
    let cancel = CancellationToken::new();
    let manifest =
        export::tree(&observed.clone, &head, observed.diff().ok(), &dest, Caps::default(), &cancel)
            .expect("exported");
    assert_eq!(export::verify(&manifest).expect("looked at"), []);
    let beside: Vec<_> =
        std::fs::read_dir(&place).expect("listed").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(beside, ["export"], "nothing is written beside the export");
    assert!(!std::path::Path::new("/etc/steward-canary").exists());
    let api = api(&desk).await;
    let gates = dispatch(&api, "task_gates", json!({"id": task.id.0})).await.expect("gates");
    all_inert("the gates of a task", &gates, here);
    let outcomes = here.iter().map(|fixture| {
        let path = RepoPath::new(fixture.bytes.clone());
        let outcome = match manifest.left_out.iter().find(|(left, _)| *left == path) {
            Some((_, why)) => {
                format!(
                    "not_exported:{}",
                    serde_json::to_value(why).expect("a word").as_str().unwrap_or_default()
                )
            }
            None => {
                assert!(manifest.tree.iter().any(|written| written.path == path), "{}", fixture.id);
                let shown = Untrusted::new(path.shown()).one_line(300);
                let is_found = table.own_findings.iter().any(|found| found.file == shown);
                let report = observed.evidence.secrets.get().expect("secrets are read");
                let is_secret = report.hits.iter().any(
                    |hit| matches!(&hit.place, Place::FileName { path: named, .. } if *named == path.shown()),
                );
                match (is_found, is_secret) {
                    (true, _) => "exported, a finding".to_owned(),
                    (false, true) => "exported, a secret".to_owned(),
                    (false, false) => "exported".to_owned(),
                }
            }
        };
        (fixture.id.clone(), outcome)
    });
    let outcomes = outcomes.collect();
    export::remove(&dest).expect("removed");
    outcomes
}

async fn handoffs(here: &[&Fixture]) -> Outcomes {
    let desk = Desk::new();
    let api = api(&desk).await;
    let mut outcomes = Vec::new();
    for (at, chunk) in here.chunks(45).enumerate() {
        let branch = format!("peers-{at}");
        desk.repo.git(&["branch", &branch, "fix"]);
        let row = task::add(&desk.ctx, "app", &branch, None).await.expect("a task");
        for fixture in chunk {
            let text = json!({"peer": fixture.id, "status": "done", "note": fixture.text}).to_string();
            let request = json!({"id": row.id.0, "text": text});
            dispatch(&api, "task_attach_handoff", request).await.expect("attached");
        }
        let shown = dispatch(&api, "task_show", json!({"id": row.id.0})).await.expect("shown");
        all_inert("a task's view", &shown, chunk);
        let (_, digest, _) = judged(&desk, &row, chunk).await;
        all_inert("a digest", &digest, chunk);
        enveloped(&digest, chunk);
        for fixture in chunk {
            let said = digest["handoffs"].as_array().expect("handoffs").iter();
            let one =
                said.clone().find(|one| one["peer"]["text"] == fixture.id.as_str()).expect("the handoff");
            let note = one["note"]["text"].as_str().expect("a note");
            outcomes.push((fixture.id.clone(), fate(fixture, note, 2000)));
        }
    }
    outcomes
}

/// JSON in ASCII, so that no shell stumbles over it.
fn ascii(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            out.push(c);
        } else {
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}
