//! The real agent CLI, the real boundary, a scripted model: how a seat reads, hands in and ends.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use steward_core::agent::{
    Adapter, AgentChoice, BudgetKind, CommandNetwork, Credential, Duty, Endpoint, Place, Progress, Refusal,
    SeatEnd, SeatFolders, SeatLimits, SeatOutcome, SeatRun, TimeoutKind, prepare, probe, run,
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

    pub fn seat(
        &self,
        adapter: Adapter,
        boundary: &Boundary,
        endpoint: Endpoint,
    ) -> (SeatRun, mpsc::Receiver<Progress>) {
        let (progress, heard) = mpsc::channel(1024);
        let seat = SeatRun {
            duty: Duty::Review,
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

#[tokio::test]
async fn a_stalled_stream_runs_into_the_idle_limit() {
    let mut stage = Stage::new();
    stage.limits.idle = Duration::from_secs(2);
    let turns = vec![get_digest().stalling(Duration::from_secs(120))];
    let Some((outcome, ..)) = play(&stage, turns).await else { return };
    assert_eq!(outcome.end, SeatEnd::Timeout { which: TimeoutKind::Idle });
}

#[tokio::test]
async fn a_long_run_runs_into_the_wall_clock() {
    let mut stage = Stage::new();
    stage.limits.wall = Duration::from_secs(2);
    let turns = vec![get_digest().sleeping(Duration::from_secs(120))];
    let Some((outcome, ..)) = play(&stage, turns).await else { return };
    assert_eq!(outcome.end, SeatEnd::Timeout { which: TimeoutKind::Wall });
}

#[tokio::test]
async fn a_cancel_ends_everything_within_a_second() {
    let stage = Stage::new();
    let Some(wall) = boundary() else { return };
    let Some(adapter) = real_claude(&wall).await else { return };
    let model = ScriptedModel::start(vec![get_digest().stalling(Duration::from_secs(120))]).await;
    let (seat, mut heard) = stage.seat(adapter, &wall, Endpoint::parse(&model.url()).expect("url"));
    let running = tokio::spawn(run(seat));
    while !matches!(heard.recv().await.expect("progress"), Progress::Ready { .. }) {}
    let asked = Instant::now();
    stage.cancel.cancel();
    let outcome = running.await.expect("ends");
    assert_eq!(outcome.end, SeatEnd::Cancelled);
    assert!(outcome.kill.is_clean() && outcome.kill.found > 0, "{:?}", outcome.kill);
    assert!(asked.elapsed() < Duration::from_secs(1), "{:?}", asked.elapsed());
}

#[tokio::test]
async fn money_turns_and_tokens_each_end_a_run_as_budget() {
    let big = json!({"input_tokens": 900_000, "output_tokens": 10});
    type Cut = fn(&mut SeatLimits);
    let cases: [(BudgetKind, Cut); 3] = [
        (BudgetKind::Usd, |limits| limits.usd = 0.5),
        (BudgetKind::Turns, |limits| limits.turns = 2),
        (BudgetKind::Tokens, |limits| limits.tokens = 1_000_000),
    ];
    for (which, set) in cases {
        let mut stage = Stage::new();
        stage.limits.usd = 100.0;
        set(&mut stage.limits);
        let look = || read("/review/tree/src/lib.rs").usage(big.clone());
        let Some((outcome, ..)) = play(&stage, vec![look(), look(), look(), look()]).await else { return };
        assert_eq!(outcome.end, SeatEnd::Budget { which }, "{:?}", outcome.usage);
    }
}

#[tokio::test]
async fn a_limit_that_means_no_limit_is_refused() {
    let Some(wall) = boundary() else { return };
    let cases: [fn(&mut SeatLimits); 4] =
        [|l| l.turns = 0, |l| l.usd = 0.0, |l| l.usd = f64::NAN, |l| l.wall = Duration::ZERO];
    for set in cases {
        let mut stage = Stage::new();
        set(&mut stage.limits);
        let program = PathBuf::from("/bin/true");
        let choice = AgentChoice::Command { program, args: vec![], network: CommandNetwork::None };
        let adapter = probe(&choice, &wall).await.confinable.expect("a command");
        let (seat, _heard) = stage.seat(adapter, &wall, Endpoint::Default);
        assert!(prepare(&seat).is_err(), "{:?}", stage.limits);
    }
}

#[tokio::test]
async fn a_tool_outside_the_list_is_a_scope_violation() {
    let stage = Stage::new();
    let turns = vec![Turn::tool("Bash", json!({"command": "id", "description": "x"})), submit(changes())];
    let Some((outcome, ..)) = play(&stage, turns).await else { return };
    let SeatEnd::ScopeViolation { detail } = &outcome.end else { panic!("{:?}", outcome.end) };
    assert!(detail.contains("Bash"), "{detail}");
    assert!(!stage.folders.inbox.join("submission.json").exists());
}

#[tokio::test]
async fn a_refused_read_outside_is_no_read_and_no_end() {
    let stage = Stage::new();
    let turns =
        vec![read("/etc/ssl/openssl.cnf"), read("/proc/1/environ"), submit(changes()), Turn::text("done")];
    let Some((outcome, _, model)) = play(&stage, turns).await else { return };
    assert!(matches!(outcome.end, SeatEnd::Submitted { .. }), "{:?}", outcome.end);
    assert!(outcome.reads.is_empty(), "{:?}", outcome.reads);
    assert!(model.asked().iter().all(|asked| !asked.raw.contains("openssl_conf")));
}

#[tokio::test]
async fn no_verdict_is_a_crash_however_well_it_ended() {
    let stage = Stage::new();
    let Some((outcome, ..)) = play(&stage, vec![get_digest(), Turn::text("Looks fine to me.")]).await else {
        return;
    };
    assert_eq!(crash(&outcome), "no verdict was submitted");
}

#[tokio::test]
async fn a_dead_tools_server_is_a_crash_that_says_so() {
    let stage = Stage::new();
    let Some(wall) = boundary() else { return };
    let Some(adapter) = real_claude(&wall).await else { return };
    let model = ScriptedModel::start(whole_review()).await;
    let (mut seat, _heard) = stage.seat(adapter, &wall, Endpoint::parse(&model.url()).expect("url"));
    seat.steward = PathBuf::from("/bin/false");
    let outcome = run(seat).await;
    assert!(crash(&outcome).starts_with("the tools server is "), "{:?}", outcome.end);
    assert!(outcome.kill.is_clean());
}

#[tokio::test]
async fn an_answer_that_does_not_fit_names_its_field_and_may_be_corrected() {
    let stage = Stage::new();
    let mut wrong = changes();
    wrong["findings"][0]["line"] = json!(99);
    let turns = vec![
        submit(wrong),
        submit(changes()),
        submit(json!({"verdict": "ACCEPTED", "summary": ""})),
        Turn::text("x"),
    ];
    let Some((outcome, _, model)) = play(&stage, turns).await else { return };
    let SeatEnd::Submitted { submission } = &outcome.end else { panic!("{:?}", outcome.end) };
    assert!(String::from_utf8_lossy(submission).contains("CHANGES"), "the first valid one counts");
    let results = model.turns_asked().pop().expect("requests").results();
    // The agent adds remarks of its own between the answers.
    let at = |part: &str| results.iter().position(|text| text.contains(part));
    let answers = [at(r#""field":"findings[0].line""#), at(r#""recorded":true"#), at("already recorded")];
    assert!(answers.iter().all(Option::is_some) && answers.is_sorted(), "{results:?}");
}

#[tokio::test]
async fn three_submissions_that_do_not_fit_end_the_run() {
    let stage = Stage::new();
    let wrong = || submit(json!({"verdict": "CHANGES", "summary": "no finding"}));
    let Some((outcome, ..)) =
        play(&stage, vec![wrong(), wrong(), wrong(), submit(changes()), Turn::text("x")]).await
    else {
        return;
    };
    assert_eq!(crash(&outcome), "three submissions were refused");
}

#[tokio::test]
async fn an_answer_of_the_model_that_is_an_error_is_a_crash_with_its_status() {
    for status in [400, 401, 500, 529] {
        let stage = Stage::new();
        let turn = Turn::error(status).header("retry-after", "0");
        let Some((outcome, _, model)) = play(&stage, vec![turn]).await else { return };
        let reason = crash(&outcome);
        assert!(reason.contains(&status.to_string()), "{status}: {reason}");
        assert!(model.turns_asked().len() <= 3, "{status}: few retries");
    }
}

#[tokio::test]
async fn a_limit_of_the_provider_is_no_crash_and_has_its_reset() {
    let reset = 1_900_000_000;
    for (credential, until) in [("made-up-key-0123456789", None), ("sk-ant-oat01-made-up", Some(reset))] {
        let mut stage = Stage::new();
        stage.credential = credential;
        let turn = Turn::error(429)
            .header("retry-after", "0")
            .header("anthropic-ratelimit-unified-status", "rejected")
            .header("anthropic-ratelimit-unified-reset", &reset.to_string());
        let Some((outcome, ..)) = play(&stage, vec![get_digest(), turn]).await else { return };
        let SeatEnd::Limited { until: found, detail } = &outcome.end else { panic!("{:?}", outcome.end) };
        assert_eq!(found.map(|at| at.timestamp()), until, "{credential}: {detail}");
    }
}

#[tokio::test]
async fn a_model_that_recovers_is_no_crash() {
    let stage = Stage::new();
    let mut turns = whole_review();
    turns[0] = get_digest().after_errors(529, 1);
    let Some((outcome, progress, _)) = play(&stage, turns).await else { return };
    assert!(matches!(outcome.end, SeatEnd::Submitted { .. }), "{:?}", outcome.end);
    assert!(progress.iter().any(|one| matches!(one, Progress::Retry { attempt: 1, status: Some(529), .. })));
}

#[tokio::test]
async fn a_large_digest_reaches_the_model_whole() {
    let stage = Stage::new();
    let filler: Vec<String> = (0..8_000).map(|n| format!("changed line number {n} of a long file")).collect();
    stage.digest(&json!({"digestVersion": 1, "diff": {"files": [{"path": "src/lib.rs", "lines": filler}]}, "end": "LAST_WORD"}));
    let Some((outcome, _, model)) = play(&stage, whole_review()).await else { return };
    assert!(matches!(outcome.end, SeatEnd::Submitted { .. }), "{:?}", outcome.end);
    let results = model.turns_asked()[1].results();
    let (length, head): (usize, String) = (results[0].len(), results[0].chars().take(300).collect());
    assert!(results[0].contains("LAST_WORD") && length > 300_000, "{length}: {head}");
}

#[tokio::test]
async fn the_credential_stands_in_a_header_and_nowhere_else() {
    let stage = Stage::new();
    let Some((outcome, _, model)) = play(&stage, whole_review()).await else { return };
    assert!(matches!(outcome.end, SeatEnd::Submitted { .. }), "{:?}", outcome.end);
    let asked = model.turns_asked();
    assert!(asked.iter().all(|one| one.headers["x-api-key"] == stage.credential));
    assert!(asked.iter().all(|one| !one.raw.contains(stage.credential)));
    for entry in std::fs::read_dir(&stage.folders.scratch).expect("scratch").flatten() {
        let bytes = std::fs::read(entry.path()).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&bytes).contains(stage.credential), "{:?}", entry.path());
    }
}

#[tokio::test]
async fn the_command_line_that_others_see_names_no_secret_and_no_folder() {
    let stage = Stage::new();
    let Some(wall @ Boundary::Bubblewrap { .. }) = boundary() else { return };
    let Some(adapter) = real_claude(&wall).await else { return };
    let model = ScriptedModel::start(vec![get_digest().stalling(Duration::from_secs(60))]).await;
    let (seat, mut heard) = stage.seat(adapter, &wall, Endpoint::parse(&model.url()).expect("url"));
    let running = tokio::spawn(run(seat));
    let Some(Progress::Started { pid }) = heard.recv().await else { panic!("it starts") };
    while !matches!(heard.recv().await.expect("progress"), Progress::Ready { .. }) {}
    for file in ["cmdline", "environ"] {
        let seen =
            String::from_utf8_lossy(&std::fs::read(format!("/proc/{pid}/{file}")).expect("own")).into_owned();
        assert!(!seen.contains(stage.credential), "{file}");
        assert!(!seen.contains(&stage.path().display().to_string()), "{file}: {seen}");
    }
    stage.cancel.cancel();
    assert!(running.await.expect("ends").kill.is_clean());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_second_wall_carries_a_whole_review_too() {
    let Ok(wall) = Boundary::landlock(&binary::steward()) else {
        eprintln!("skipped: no Landlock");
        return;
    };
    let stage = Stage::new();
    let Some(adapter) = real_claude(&wall).await else { return };
    let tree = stage.folders.tree().join("src/lib.rs").display().to_string();
    let turns = vec![get_digest(), read(&tree), read("/etc/hostname"), submit(changes()), Turn::text("x")];
    let model = ScriptedModel::start(turns).await;
    let (seat, _heard) = stage.seat(adapter, &wall, Endpoint::parse(&model.url()).expect("url"));
    let outcome = run(seat).await;
    assert!(matches!(outcome.end, SeatEnd::Submitted { .. }), "{:?}", outcome.end);
    assert!(outcome.kill.is_clean());
    assert_eq!(outcome.reads.len(), 1, "{:?}", outcome.reads);
}

fn script(folder: &std::path::Path, text: &str) -> PathBuf {
    let path = folder.join("agent");
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("script");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
    path
}

#[tokio::test]
async fn an_agent_that_cannot_be_confined_is_refused_with_the_reason() {
    let Some(wall) = boundary() else { return };
    let folder = tempfile::tempdir().expect("tempdir");
    let ask = async |program: PathBuf| probe(&AgentChoice::Claude { program: Some(program) }, &wall).await;

    let report = ask(folder.path().join("absent")).await;
    assert!(matches!(report.confinable, Err(Refusal::NotInstalled(_))), "{report:?}");
    assert!(report.hint.is_some_and(|hint| hint.contains("install")));

    let plain = folder.path().join("plain");
    std::fs::write(&plain, "x").expect("file");
    assert!(matches!(ask(plain).await.confinable, Err(Refusal::NotExecutable(_))));

    let old =
        script(folder.path(), "echo '--print --output-format --mcp-config --permission-mode --allowedTools'");
    match ask(old).await.confinable {
        Err(Refusal::TooOld { missing }) => {
            assert!(missing.contains(&"--tools") && missing.contains(&"--setting-sources"), "{missing:?}");
        }
        other => panic!("{other:?}"),
    }
    let broken = script(folder.path(), "echo 'cannot start' >&2; exit 3");
    match ask(broken).await.confinable {
        Err(Refusal::DoesNotStart(why)) => assert!(why.contains("cannot start"), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_the_real_agent_can_do_is_read_from_its_help() {
    let Some(wall) = boundary() else { return };
    let Some(program) = claude::find_or_say() else { return };
    let report = probe(&AgentChoice::Claude { program: Some(program) }, &wall).await;
    assert!(report.confinable.is_ok(), "{report:?}");
    assert!(
        report.version.as_deref().is_some_and(|v| v.starts_with(|c: char| c.is_ascii_digit())),
        "{report:?}"
    );
    assert!(report.features.contains(&"unix_socket") && report.features.contains(&"budget"), "{report:?}");
    assert!(report.residual.is_empty(), "with a relay nothing stays open: {report:?}");
}
