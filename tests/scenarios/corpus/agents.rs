//! The half of the corpus that an agent, its documents and its configuration bring.

use super::*;

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

pub(super) async fn findings(here: &[&Fixture]) -> Outcomes {
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
pub(super) async fn tools(here: &[&Fixture]) -> Outcomes {
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

pub(super) fn configuration(fixture: &Fixture) -> String {
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

pub(super) fn document(read: Result<(), DocumentError>) -> String {
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
pub(super) fn seats(here: &[&Fixture]) -> Outcomes {
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

pub(super) fn submissions(here: &[&Fixture]) -> Outcomes {
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

pub(super) fn streamed(line: &[u8]) -> String {
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

pub(super) fn logged(fixture: &Fixture) -> String {
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
