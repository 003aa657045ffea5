//! The hostile corpus, fed into the pure code: shown text, copied text, the secret engine, the diff parser.

use proptest::prelude::*;
use steward_rules::diff::collect::Collect;
use steward_rules::diff::parse::{Parser, Shape};
use steward_rules::ids::{FrameId, ReviewId, Sha, TaskId};
use steward_rules::review::copy::{CopyInput, findings_text};
use steward_rules::review::findings::{ExcerptLine, Finding, FindingState, Origin};
use steward_rules::review::gate::{GateId, GateResult, GateState};
use steward_rules::review::submission::{Submission, SubmissionFacts, validate};
use steward_rules::review::verdict::Verdict;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use fixtures::{Fixture, Outcomes, RULES, fate, run, short};

#[path = "../fixtures/hostile.rs"]
mod fixtures;

#[test]
fn the_pure_code_makes_every_hostile_fixture_inert() {
    run(RULES, |place, here| {
        let outcome: fn(&Fixture) -> String = match place {
            "shown" => shown,
            "copied" => copied,
            "engine" => engine,
            "diff" => diff,
            other => panic!("nothing feeds {other}"),
        };
        here.iter().map(|fixture| (fixture.id.clone(), outcome(fixture))).collect::<Outcomes>()
    });
}

fn shown(fixture: &Fixture) -> String {
    let text = Untrusted::new(fixture.text.clone());
    let lines = fate(fixture, &text.escaped(1000), 1000);
    let line = text.one_line(1000);
    assert!(!line.contains(['\n', '\t']), "{}: {line:?}", fixture.id);
    assert_eq!(lines, fate(fixture, &line, 1000), "{}", fixture.id);
    lines
}

/// The payload stands in every text of the copy; the outcome is that of one finding's reason.
fn copied(fixture: &Fixture) -> String {
    let head = Sha::new(&"a".repeat(40)).unwrap();
    let text = || Untrusted::new(fixture.text.clone());
    let finding = Finding {
        id: "f".to_owned(),
        origin: Origin::Seat,
        state: FindingState::New,
        since: ReviewId(1),
        title: text(),
        file: fixture.text.clone(),
        line: 1,
        why: text(),
        check: text(),
        severity: None,
        cited: String::new(),
        excerpt: vec![ExcerptLine { number: 1, text: fixture.text.clone(), cited: true, added: true }],
    };
    let gate = GateResult {
        id: GateId::NoSecrets,
        state: GateState::Fail,
        detail: fixture.text.clone(),
        evidence: Vec::new(),
    };
    let whole = findings_text(&CopyInput {
        task: TaskId(1),
        head: &head,
        verdict: Verdict::Changes,
        reason: None,
        stale: None,
        gates: &[gate],
        findings: &[finding],
    });
    for line in whole.lines() {
        let own =
            ["Review of task #1 at ", "Failed gates:", "Findings (quoted lines ", "- no_secrets", "1. "];
        let is_own = line.is_empty() || own.iter().any(|own| line.starts_with(own));
        let is_quoted = ["  > ", "   > "].iter().any(|mark| line.starts_with(mark));
        let is_heading = matches!(line, "   Why:" | "   Check:");
        assert!(is_own || is_quoted || is_heading, "{}: {:?}", fixture.id, short(line));
        assert!(!line.contains("@/") && !line.contains("@~"), "{}: {:?}", fixture.id, short(line));
    }
    let why: Vec<&str> = whole
        .lines()
        .skip_while(|line| *line != "   Why:")
        .skip(1)
        .take_while(|line| *line != "   Check:")
        .map(|line| line.strip_prefix("   > ").unwrap_or(line))
        .collect();
    let why = why.join("\n");
    if why != fixture.text && why.replace("@ ", "@") == fixture.text {
        return "parted".to_owned();
    }
    fate(fixture, &why, 2000)
}

fn engine(fixture: &Fixture) -> String {
    let clean = Engine::shared().redact(&fixture.text);
    match fixture.secrets.iter().find(|secret| clean.contains(secret.as_str())) {
        Some(secret) => format!("leaked: {}…", short(secret)),
        None if clean == fixture.text => "kept".to_owned(),
        None => "redacted".to_owned(),
    }
}

fn diff(fixture: &Fixture) -> String {
    let read = |shape| {
        let mut parser = Parser::new(shape);
        let mut sink = Collect::default();
        for chunk in fixture.bytes.chunks(4096) {
            parser.push(chunk, &mut sink)?;
        }
        parser.finish()?;
        Ok::<_, steward_rules::diff::parse::ParseError>(sink.finish().diff.files.len())
    };
    let _in_the_other_shape = read(Shape::Log);
    match read(Shape::Diff) {
        Ok(files) => format!("{files} files"),
        Err(_) => "refused".to_owned(),
    }
}

/// Pieces of submissions, well-formed and not.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"verdict\":\"ACCEPTED\"",
    "\"verdict\":\"CHANGES\"",
    "\"verdict\":\"BLOCKED\"",
    "\"summary\":\"s\"",
    "\"summary\":\"\\ud800\"",
    "\"findings\":[{\"title\":\"t\",\"file\":\"a\",\"line\":1,\"why\":\"w\",\"check\":\"c\"}]",
    "\"findings\":[{\"title\":\"\\u202e\",\"file\":\"../a\",\"line\":-1,\"why\":\"\",\"check\":null}]",
    "\"frames\":[{\"frameId\":1,\"observation\":\"o\"}]",
    "\"earlier\":[{\"findingId\":\"e\",\"state\":\"open\"}]",
    "\"x\":1e999",
    "null",
    "NaN",
    "\u{feff}",
    "\u{202e}",
    "\0",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_submission_makes_its_check_panic(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..10),
        is_object in proptest::bool::weighted(0.8),
    ) {
        let text = if is_object { format!("{{{}}}", pieces.join(",")) } else { pieces.concat() };
        if let Ok(read) = serde_json::from_str::<Submission>(&text) {
            let facts = SubmissionFacts {
                lines_of: &|file| (file == "a").then_some(1),
                frames: &[FrameId(1)],
                earlier: &["e".to_owned()],
                settled: &[],
            };
            if let Ok(taken) = validate(read, &facts) {
                // What is taken is taken again.
                prop_assert_eq!(validate(taken.clone(), &facts), Ok(taken));
            }
        }
    }
}
