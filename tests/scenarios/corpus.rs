//! The hostile corpus, fed into the real world: git, the store, the API, the documents, the log, the seat.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use proptest::prelude::*;
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
use fixtures::{Fixture, Outcomes, SCENARIOS, fate, run, short};

#[path = "../fixtures/hostile.rs"]
mod fixtures;

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

/// A reviewer that prints these lines and hands in this submission, from inside the boundary.
fn reviewer(says: &[Value], submission: &Value) -> String {
    let says: Vec<String> = says.iter().map(ascii).collect();
    format!(
        r#"hash=$(sha256sum "$STEWARD_DIGEST" | cut -d' ' -f1)
cat <<'LINES'
{}
LINES
printf '{{"digestHash":"%s","submission":' "$hash" > "$STEWARD_SUBMISSION.new"
cat >> "$STEWARD_SUBMISSION.new" <<'SUBMISSION'
{}}}
SUBMISSION
mv "$STEWARD_SUBMISSION.new" "$STEWARD_SUBMISSION"
"#,
        says.join("\n"),
        ascii(submission)
    )
}

/// Where there is no boundary, no seat runs: what would be expected of it is taken as given.
fn without_boundary(place: &str, here: &[&Fixture]) -> Option<Outcomes> {
    let is_skipped = !boundary_is_here();
    is_skipped.then(|| each(here, |fixture| fixture.expected[place].clone()))
}

async fn findings(here: &[&Fixture]) -> Outcomes {
    if let Some(skipped) = without_boundary("finding", here) {
        return skipped;
    }
    let desk = Desk::new();
    let many: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    desk.repo.commit("feat: many lines", &[("many.txt", Some(many.as_bytes()))]);
    let api = api(&desk).await;
    let mut outcomes = Vec::new();
    for (at, chunk) in here.chunks(50).enumerate() {
        let branch = format!("found-{at}");
        desk.repo.git(&["branch", &branch, "fix"]);
        let row = task::add(&desk.ctx, "app", &branch, None).await.expect("a task");
        let findings: Vec<Value> = chunk
            .iter()
            .zip(1..)
            .map(|(fixture, line)| {
                let title: String = fixture.text.chars().take(80).collect();
                let title = if title.trim().is_empty() { "t".to_owned() } else { title };
                json!({"title": title, "file": "many.txt", "line": line, "why": fixture.text, "check": fixture.text, "severity": title.chars().take(20).collect::<String>()})
            })
            .collect();
        let submission = json!({"verdict": "CHANGES", "summary": chunk[0].text, "findings": findings});
        desk.reviewer(&reviewer(&[], &submission));
        let id = desk.start(row.id).await;
        let ended = desk.drive(id).await;
        assert!(ended.reason.is_none(), "{:?}", ended.reason_detail);
        let card = dispatch(&api, "review_show", json!({"id": id.0})).await.expect("shown");
        all_inert("a card", &card, chunk);
        let copied = dispatch(&api, "review_copy", json!({"id": id.0})).await.expect("copied");
        let copied = copied["text"].as_str().expect("a text");
        inert("the copied text", copied, chunk);
        for line in copied.lines() {
            let begins = line.trim_start().chars().next();
            assert!(!matches!(begins, Some('@' | '/' | '!' | '#' | '<' | '`')), "{:?}", short(line));
        }
        for (fixture, line) in chunk.iter().zip(1..) {
            let found = card["findings"].as_array().expect("findings").iter();
            let found = found.clone().find(|one| one["line"] == json!(line)).expect("the finding");
            outcomes
                .push((fixture.id.clone(), fate(fixture, found["why"].as_str().expect("a reason"), 8000)));
        }
    }
    outcomes
}

/// What a seat says it does: in the agent's own stream, and as steps of a review.
async fn tools(here: &[&Fixture]) -> Outcomes {
    for fixture in here {
        let input = json!({"file_path": fixture.text, "pattern": fixture.text});
        let block = json!({"type": "tool_use", "id": fixture.text, "name": fixture.text, "input": input});
        let line = json!({"type": "assistant", "message": {"content": [block]}}).to_string();
        let events = parse_line(line.as_bytes());
        let [Event::ToolUse { name, input, .. }] = events.as_slice() else {
            panic!("{} is no use of a tool", fixture.id);
        };
        assert_eq!((name, input.path.as_ref()), (&fixture.text, Some(&fixture.text)));
    }
    if let Some(skipped) = without_boundary("tool", here) {
        return skipped;
    }
    let desk = Desk::new();
    let api = api(&desk).await;
    let mut says = Vec::new();
    for fixture in here {
        says.push(json!({"type": "progress", "text": fixture.text}));
        says.push(json!({"type": "tool", "name": fixture.id, "subject": fixture.text}));
    }
    desk.reviewer(&reviewer(&says, &json!({"verdict": "ACCEPTED"})));
    let id = desk.start(desk.task().await).await;
    let ended = desk.drive(id).await;
    assert!(ended.reason.is_none(), "{:?}", ended.reason_detail);
    let card = dispatch(&api, "review_show", json!({"id": id.0})).await.expect("shown");
    all_inert("a card", &card, here);
    let steps =
        desk.ctx.store.read(move |tx| steward_core::store::steps::of(tx, id, 1000)).await.expect("steps");
    each(here, |fixture| {
        let begin = format!("{} ", fixture.id);
        let step = steps.iter().find(|step| step.kind == "tool" && step.text.starts_with(&begin));
        step.map_or("no step".to_owned(), |step| fate(fixture, &step.text[begin.len()..], 200))
    })
}

fn configuration(fixture: &Fixture) -> String {
    match config::check(&fixture.text, None) {
        Err(problem) => {
            refusal(fixture, &problem.to_string());
            "refused".to_owned()
        }
        Ok(checked) => {
            checked.problems.iter().for_each(|problem| refusal(fixture, &problem.to_string()));
            let is_plain = |key: &str| key.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
            match checked.problems.first() {
                None => "accepted".to_owned(),
                Some(problem) if is_plain(&problem.key) && (1..60).contains(&problem.key.len()) => {
                    format!("problem:{}", problem.key)
                }
                Some(_) => "problem".to_owned(),
            }
        }
    }
}

/// A refusal's words are inert and short.
fn refusal(fixture: &Fixture, words: &str) {
    inert(&format!("the refusal of {}", fixture.id), words, &[fixture]);
    if words.chars().count() > 1500 {
        fault(format!("the refusal of {} is long: {:?}", fixture.id, short(words)));
    }
}

fn document(read: Result<(), DocumentError>) -> String {
    match read {
        Ok(()) => "accepted".to_owned(),
        Err(error) => {
            let words = error.to_string();
            inert("the refusal of a document", &words, &[]);
            if words.chars().count() > 600 {
                fault(format!("the refusal of a document is long: {:?}", short(&words)));
            }
            match error {
                DocumentError::Field { field, .. } => format!("refused:{field}"),
                DocumentError::Syntax { .. } | DocumentError::TooLong { .. } => "refused".to_owned(),
            }
        }
    }
}

/// The file as it lies in the home, and the same text in the parser of the configuration.
fn seats(here: &[&Fixture]) -> Outcomes {
    waited(async {
        let desk = Desk::new();
        let path = desk.home.seat_file("reviewer");
        each(here, |fixture| {
            if let Err(problems) = parse_seat(&fixture.text, Role::Reviewer, None) {
                problems.iter().for_each(|problem| refusal(fixture, &problem.to_string()));
            }
            std::fs::write(&path, &fixture.bytes).expect("written");
            match seat::read(&desk.ctx, Role::Reviewer) {
                Ok(_) => "accepted".to_owned(),
                Err(error) => {
                    refusal(fixture, &error.to_string());
                    match error {
                        seat::SeatError::File(SeatError::Bad { problems, .. }) => {
                            match problems.iter().find(|problem| !problem.key.is_empty()) {
                                Some(problem) => format!("refused:{}", problem.key),
                                None => "refused".to_owned(),
                            }
                        }
                        seat::SeatError::File(SeatError::TooLong(_) | SeatError::Io { .. }) => {
                            "refused".to_owned()
                        }
                        seat::SeatError::Endpoint { .. } => "refused:endpoint".to_owned(),
                        missing @ seat::SeatError::Missing(_) => missing.to_string(),
                    }
                }
            }
        })
    })
}

fn submissions(here: &[&Fixture]) -> Outcomes {
    let review = tempfile::tempdir().expect("a folder");
    std::fs::create_dir_all(review.path().join("tree/src")).expect("a tree");
    std::fs::write(review.path().join("tree/src/lib.rs"), "one\ntwo\n").expect("written");
    std::fs::write(review.path().join("digest.json"), "{}").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", review.path().join("tree/link")).expect("linked");
    each(here, |fixture| match check(&fixture.bytes, &DigestHead::default(), review.path()) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => {
            refusal(fixture, &error.to_string());
            format!("refused:{}", error.field)
        }
    })
}

fn streamed(line: &[u8]) -> String {
    match parse_line(line).as_slice() {
        [] => "nothing".to_owned(),
        [Event::Unreadable] => "unreadable".to_owned(),
        [Event::Unknown] => "unknown".to_owned(),
        [Event::Result { is_error, usd, .. }] => {
            let error = if *is_error { "an error" } else { "no error" };
            let cost = if usd.is_some() { "a cost" } else { "no cost" };
            format!("result, {error}, {cost}")
        }
        [Event::Usage { tokens, .. }] => format!("{tokens} tokens"),
        other => format!("{other:?}"),
    }
}

fn logged(fixture: &Fixture) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let scrub = Scrub::new(|text| Engine::shared().redact(text));
    let subscriber = subscriber(folder.path(), scrub, "").expect("a log");
    tracing::subscriber::with_default(subscriber, || tracing::info!("said ⟦{}⟧", fixture.text));
    let files: Vec<_> = std::fs::read_dir(folder.path()).expect("listed").collect();
    let file = files[0].as_ref().expect("a log").path();
    let text = std::fs::read_to_string(file).expect("UTF-8");
    assert_eq!(text.lines().count(), 1, "{}", fixture.id);
    let line = text.trim_end_matches('\n');
    let said = line.split_once('⟦').expect("the message").1;
    fate(fixture, said.strip_suffix('⟧').unwrap_or(said), 8000)
}

/// Pieces of YAML and JSON documents, well-formed and not.
const PIECES: &[&str] = &[
    "review:",
    " enabled: true",
    " maxTurns: 3",
    " budgetUsd: .nan",
    "\n",
    "\n  ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    ": ",
    ", ",
    "\"",
    "'",
    "&a ",
    "*a",
    "<<: *a",
    "!!str ",
    "|\n",
    ">-\n",
    "---\n",
    "# c\n",
    "\t",
    "\r\n",
    "\u{feff}",
    "\u{202e}",
    "\0",
    "~",
    "workspaces:\n  - title: a\n    path: /p\n",
    "adapter: claude\n",
    "adapter: command\n",
    "prompt: p\n",
    "limits: {maxTurns: 0}\n",
    "command: [sh]\n",
    "writeScope: [\"**\"]\n",
    "mutations: none\n",
    "\"writeScope\": [\"a[\"]",
    "\"mutations\": \"none\"",
    "99999999999999999999",
    "-1",
    "1e999",
    "\"type\":\"result\"",
    "\"type\":\"assistant\"",
    "\"message\":{\"content\":[{\"type\":\"tool_use\"}]}",
    "\"is_error\":false",
    "\"usage\":{\"input_tokens\":18446744073709551615}",
    "\"\\ud800\"",
];

fn pieces() -> impl Strategy<Value = String> {
    let free = proptest::collection::vec(proptest::sample::select(PIECES), 0..14);
    let object = proptest::collection::vec(proptest::sample::select(PIECES), 0..6);
    prop_oneof![
        3 => free.prop_map(|pieces| pieces.concat()),
        1 => object.prop_map(|pieces| format!("{{{}}}", pieces.join(","))),
    ]
}

/// What one small text may take at the very most.
const MOMENT: Duration = Duration::from_secs(5);

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_a_parser_of_documents_panic_or_linger(text in pieces()) {
        let begun = Instant::now();
        match config::check(&text, None) {
            Ok(checked) => {
                let words: Vec<String> = checked.problems.iter().map(ToString::to_string).collect();
                prop_assert!(!words.concat().contains(|c| is_hidden(c) && c != '\n' && c != '\t'), "{words:?}");
            }
            Err(problem) => {
                let words = problem.to_string();
                prop_assert!(!words.contains(|c| is_hidden(c) && c != '\n' && c != '\t'), "{words:?}");
            }
        }
        let _either = parse_seat(&text, Role::Reviewer, None);
        for read in [documents::contract(&text).map(drop), documents::handoff(&text).map(drop), documents::validator(&text).map(drop)] {
            let words = read.map_or_else(|error| error.to_string(), |()| String::new());
            prop_assert!(!words.contains(|c| is_hidden(c) && c != '\n' && c != '\t'), "{words:?}");
        }
        prop_assert!(begun.elapsed() < MOMENT);
    }

    #[test]
    fn no_line_makes_the_stream_parser_panic_or_linger(text in pieces(), broken in proptest::option::of((0_usize..200, any::<u8>()))) {
        let mut line = text.into_bytes();
        if let Some((at, byte)) = broken.filter(|(at, _)| *at < line.len()) {
            line[at] = byte;
        }
        let begun = Instant::now();
        let events = parse_line(&line);
        prop_assert!(events.len() <= line.len());
        prop_assert!(begun.elapsed() < MOMENT);
    }
}
