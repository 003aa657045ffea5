//! The real agent CLI, the real boundary, a scripted model: how a seat reads, hands in and ends.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_core::agent::{
    Adapter, AgentChoice, BudgetKind, CommandNetwork, Credential, Endpoint, Place, Progress, Refusal,
    SeatEnd, SeatFolders, SeatLimits, SeatOutcome, SeatRun, TimeoutKind, digest_hash, drive, prepare, probe,
    run,
};
use steward_core::sandbox::Boundary;
use steward_kit::model::{ScriptedModel, Turn};
use steward_kit::{binary, claude};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// One review's folders, and what is put around a run.
pub struct Stage {
    folder: tempfile::TempDir,
    pub folders: SeatFolders,
    pub limits: SeatLimits,
    pub cancel: CancellationToken,
    pub credential: &'static str,
}

pub const PROMPT: &str =
    "Review the change: call digest_get, read the changed files, end with verdict_submit.";

impl Stage {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("tempdir");
        let folders = SeatFolders::under(&folder.path().join("run"));
        folders.create().expect("folders");
        let stage = Self {
            folder,
            folders,
            limits: SeatLimits { wall: Duration::from_secs(60), ..SeatLimits::default() },
            cancel: CancellationToken::new(),
            credential: "made-up-key-0123456789",
        };
        stage.put("tree/src/lib.rs", "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n");
        stage.digest(&json!({
            "digestVersion": 1,
            "answer": {"cap": "ACCEPTED", "held": false},
            "diff": {"files": [{"path": {"untrusted": true, "text": "src/lib.rs"}}]},
            "frames": [],
            "earlierFindings": [],
        }));
        stage
    }

    pub fn path(&self) -> &std::path::Path {
        self.folder.path()
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.folders.review.join(path);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(path, text).expect("file");
    }

    pub fn digest(&self, digest: &Value) {
        std::fs::write(&self.folders.digest, digest.to_string()).expect("digest");
    }

    pub fn digest_hash(&self) -> String {
        digest_hash(&std::fs::read(&self.folders.digest).expect("digest"))
    }

    pub fn seat(
        &self,
        adapter: Adapter,
        boundary: &Boundary,
        endpoint: Endpoint,
    ) -> (SeatRun, mpsc::Receiver<Progress>) {
        let (progress, heard) = mpsc::channel(1024);
        let seat = SeatRun {
            adapter,
            boundary: boundary.clone(),
            steward: binary::steward(),
            folders: self.folders.clone(),
            model: Some("claude-sonnet-4-5".into()),
            endpoint,
            prompt: PROMPT.into(),
            credential: Some(Credential::new(self.credential)),
            limits: self.limits,
            cancel: self.cancel.clone(),
            progress,
        };
        (seat, heard)
    }
}

pub fn boundary() -> Option<Boundary> {
    match Boundary::choose(&binary::steward()) {
        Boundary::None { reason } => {
            eprintln!("skipped: no boundary ({reason})");
            None
        }
        found => Some(found),
    }
}

/// The real CLI as an adapter, or `None` where it is not installed.
pub async fn real_claude(boundary: &Boundary) -> Option<Adapter> {
    let program = claude::find_or_say()?;
    let report = probe(&AgentChoice::Claude { program: Some(program) }, boundary).await;
    Some(report.confinable.unwrap_or_else(|why| panic!("the real CLI can be confined: {why}")))
}

pub fn read(path: &str) -> Turn {
    Turn::tool("Read", json!({"file_path": path}))
}

pub fn get_digest() -> Turn {
    Turn::tool("mcp__steward__digest_get", json!({}))
}

pub fn submit(verdict: Value) -> Turn {
    Turn::tool("mcp__steward__verdict_submit", verdict)
}

pub fn changes() -> Value {
    json!({"verdict": "CHANGES", "summary": "add subtracts", "findings": [
        {"title": "add subtracts", "file": "src/lib.rs", "line": 2, "why": "minus instead of plus", "check": "add(1, 2) == 3"}]})
}

async fn play(stage: &Stage, turns: Vec<Turn>) -> Option<(SeatOutcome, Vec<Progress>, ScriptedModel)> {
    let boundary = boundary()?;
    let adapter = real_claude(&boundary).await?;
    let model = ScriptedModel::start(turns).await;
    let (seat, mut heard) = stage.seat(adapter, &boundary, Endpoint::parse(&model.url()).expect("url"));
    let outcome = run(seat).await;
    assert!(outcome.kill.is_clean(), "{:?}", outcome.kill);
    let mut progress = Vec::new();
    while let Ok(one) = heard.try_recv() {
        progress.push(one);
    }
    Some((outcome, progress, model))
}

fn whole_review() -> Vec<Turn> {
    vec![get_digest(), read("/review/tree/src/lib.rs"), submit(changes()), Turn::text("Handed in.")]
}

fn crash(outcome: &SeatOutcome) -> &str {
    match &outcome.end {
        SeatEnd::Crashed { reason, .. } => reason,
        other => panic!("a crash: {other:?}"),
    }
}

#[tokio::test]
async fn a_seat_reads_gets_the_digest_and_hands_in_one_verdict() {
    let stage = Stage::new();
    let Some((outcome, progress, model)) = play(&stage, whole_review()).await else { return };
    let SeatEnd::Submitted { submission } = &outcome.end else { panic!("{:?}", outcome.end) };
    let submission: Value = serde_json::from_slice(submission).expect("json");
    assert_eq!(submission["verdict"], "CHANGES");
    assert_eq!(submission["findings"][0]["line"], 2);
    assert_eq!(outcome.reads.len(), 1, "{:?}", outcome.reads);
    let read = &outcome.reads[0];
    assert_eq!((read.place, read.path.as_str(), read.first), (Place::Tree, "src/lib.rs", 1));
    assert!((3..=4).contains(&read.last), "{read:?}");
    assert!(outcome.usage.usd.is_some_and(|usd| usd > 0.0), "{:?}", outcome.usage);
    assert!(outcome.usage.tokens >= 4_000 && outcome.usage.turns == 4, "{:?}", outcome.usage);
    let tools: Vec<_> = progress
        .iter()
        .filter_map(|one| match one {
            Progress::Tool { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(tools, ["mcp__steward__digest_get", "Read", "mcp__steward__verdict_submit"]);
    let offered = model.turns_asked()[0].tools();
    let mut offered: Vec<_> = offered.iter().map(String::as_str).collect();
    offered.sort_unstable();
    assert_eq!(
        offered,
        ["Glob", "Grep", "Read", "mcp__steward__digest_get", "mcp__steward__verdict_submit"],
        "nothing else exists for the model"
    );
    let last = model.turns_asked().pop().expect("a last request");
    assert!(
        last.results()
            .iter()
            .any(|text| text.contains(r#""recorded":true"#) && text.contains(r#""cap":"ACCEPTED""#))
    );
}
