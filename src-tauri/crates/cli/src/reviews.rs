//! `steward review`, `list`, `show`, `cancel`, `mark`.

use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_core::api::error::{ApiError, ErrorCode};
use steward_core::api::requests::{ById, FindingMark, FindingMarkSet, Nothing, ReviewList, ReviewStart};
use steward_core::api::views::{GateView, ReviewPage, ReviewRow, ReviewStateView, ReviewView};
use steward_core::api::{Api, reviews as api_reviews, system as api_system, tasks as api_tasks};
use steward_rules::review::gate::{EvidenceItem, GateState};

use crate::args::{ListArgs, MarkArgs, MarkWord, ReviewArgs, ShowArgs};
use crate::output::{Output, Tone};
use crate::table::Table;
use crate::tasks::{age, here, short, stats};

/// How often a waiting command looks at its review.
const LOOK: Duration = Duration::from_millis(200);

pub async fn start(api: &Api, args: ReviewArgs, out: &Output) -> Result<(), ApiError> {
    let task = match args.task {
        Some(task) => task,
        None => api_tasks::here(api, &here()?).await?.id,
    };
    let started = api_reviews::start(api, ReviewStart { task, sha: args.sha }).await?;
    out.note(&format!("review {} of task {} at {}", started.review, started.task, short(&started.sha)));
    // With no runtime this command hosts one, for just this review; paused, nothing runs anywhere.
    let paused = api_system::status(api, Nothing {}).await?.paused;
    if let Some(pause) = &paused {
        out.note(&format!("Steward is paused ({}); the review waits for `steward resume`", pause.why));
    }
    let hosted = paused.is_none() && api.host_review(started.review).await;
    if !hosted && !args.wait {
        out.answer(&started, |s| {
            format!("queued; `steward show {}` shows it, `steward cancel {}` stops it", s.review, s.review)
        });
        return Ok(());
    }
    let review = follow(api, started.review, out).await?;
    out.answer(&review, |r| render(r, false, api.now(), out));
    // A review that gave no verdict of its own did not work.
    if review.state == ReviewStateView::Ended {
        std::process::exit(1);
    }
    Ok(())
}

/// Shows a review's progress until it is published, held or ended. Interrupting cancels what this
/// process hosts, and only stops watching otherwise.
async fn follow(api: &Api, id: i64, out: &Output) -> Result<ReviewView, ApiError> {
    let mut seen = 0;
    let mut interrupt = std::pin::pin!(tokio::signal::ctrl_c());
    let mut asked = false;
    loop {
        let review = api_reviews::show(api, ById { id }).await?;
        for step in review.steps.iter().skip(seen) {
            out.note(&format!("  {} {}", step.at.format("%H:%M:%S"), step.text));
        }
        seen = review.steps.len().max(seen);
        match review.state {
            ReviewStateView::Published | ReviewStateView::Ended | ReviewStateView::Held => {
                api.own_review_ended().await?;
                return Ok(review);
            }
            ReviewStateView::Queued
            | ReviewStateView::Digesting
            | ReviewStateView::Running
            | ReviewStateView::Submitted => {}
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            _ = &mut interrupt, if !asked => {
                asked = true;
                if api.drives_review().await {
                    out.note("cancelling");
                    api_reviews::cancel(api, ById { id }).await?;
                } else {
                    out.note(&format!("the review goes on; `steward cancel {id}` stops it"));
                    return Ok(review);
                }
            }
        }
    }
}

pub async fn list(api: &Api, args: ListArgs, out: &Output) -> Result<(), ApiError> {
    let page = api_reviews::list(api, ReviewList { task: args.task, limit: args.limit }).await?;
    out.answer(&page, |page| render_list(page, api.now(), out));
    Ok(())
}

pub async fn show(api: &Api, args: ShowArgs, out: &Output) -> Result<(), ApiError> {
    if args.findings {
        let text = api_reviews::copy(api, ById { id: args.review }).await?;
        out.answer(&text, |t| t.text.clone());
        return Ok(());
    }
    let review = api_reviews::show(api, ById { id: args.review }).await?;
    out.answer(&review, |r| render(r, args.evidence, api.now(), out));
    Ok(())
}

pub async fn show_id(api: &Api, id: i64, out: &Output) -> Result<(), ApiError> {
    show(api, ShowArgs { review: id, findings: false, evidence: false }, out).await
}

pub async fn cancel(api: &Api, id: i64, out: &Output) -> Result<(), ApiError> {
    let review = api_reviews::cancel(api, ById { id }).await?;
    out.answer(&review, |r| match r.state {
        ReviewStateView::Ended => format!("review {id} is cancelled"),
        // What runs is asked to stop, and says so itself when it has.
        ReviewStateView::Queued
        | ReviewStateView::Digesting
        | ReviewStateView::Running
        | ReviewStateView::Submitted
        | ReviewStateView::Held
        | ReviewStateView::Published => format!("review {id} is being stopped"),
    });
    Ok(())
}

pub async fn mark(api: &Api, args: MarkArgs, out: &Output) -> Result<(), ApiError> {
    let mark = match args.mark {
        MarkWord::Answered => FindingMark::Answered,
        MarkWord::WontFix => FindingMark::WontFix,
        MarkWord::Clear => FindingMark::Clear,
    };
    let review = api_reviews::show(api, ById { id: args.review }).await?;
    let by_number = args.finding.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let finding = by_number
        .and_then(|n| review.findings.get(n))
        .or_else(|| review.findings.iter().find(|f| f.id == args.finding))
        .ok_or_else(|| {
            ApiError::new(
                ErrorCode::NotFound,
                format!("review {} has no finding {}", args.review, args.finding),
            )
            .hint(format!(
                "it has {}; `steward show {}` lists them",
                review.findings.len(),
                args.review
            ))
        })?;
    let request = FindingMarkSet { review: args.review, finding: finding.id.clone(), mark };
    let finding = api_reviews::mark_finding(api, request).await?;
    out.answer(&finding, |f| format!("{} · {}", f.title, f.state));
    Ok(())
}

/// A verdict or state word with its colour.
pub fn chip(out: &Output, word: &str) -> String {
    let tone = match word {
        "ACCEPTED" => Tone::Good,
        "CHANGES" => Tone::Warn,
        "BLOCKED" => Tone::Bad,
        _ => Tone::Dim,
    };
    out.paint(tone, word)
}

pub fn row_state(out: &Output, review: &ReviewRow) -> String {
    if review.stale {
        return out
            .paint(Tone::Dim, &format!("stale ({})", review.stale_reason.as_deref().unwrap_or("moved on")));
    }
    match review.state {
        ReviewStateView::Published | ReviewStateView::Ended => {
            let word = review.verdict.map_or("BLOCKED", |v| v.as_str());
            match &review.reason {
                Some(reason) => format!("{} ({reason})", chip(out, word)),
                None => chip(out, word),
            }
        }
        ReviewStateView::Held => {
            let waits: Vec<&str> = review.waits_for.iter().map(|g| g.as_str()).collect();
            out.paint(Tone::Dim, &format!("held for {}", waits.join(", ")))
        }
        ReviewStateView::Queued => "queued".to_owned(),
        ReviewStateView::Digesting => "digesting".to_owned(),
        ReviewStateView::Running => "running".to_owned(),
        ReviewStateView::Submitted => "submitted".to_owned(),
    }
}

fn render_list(page: &ReviewPage, now: DateTime<Utc>, out: &Output) -> String {
    if page.reviews.is_empty() {
        return "No reviews yet. Start one: steward review TASK".to_owned();
    }
    let mut table =
        Table::new(&["id", "task", "head", "state", "failed", "findings", "cost", "age", "title"]);
    for r in &page.reviews {
        table.row([
            r.id.to_string(),
            r.task.to_string(),
            short(&r.sha).to_owned(),
            row_state(out, r),
            r.failed_gates.to_string(),
            r.findings.to_string(),
            cost(r.cost.usd, r.ended_at.is_some()),
            age(now, r.ended_at.unwrap_or(r.queued_at)),
            r.title.clone(),
        ]);
    }
    table.render()
}

fn cost(usd: Option<f64>, ended: bool) -> String {
    match usd {
        Some(usd) => format!("${usd:.2}"),
        None if ended => "unknown".to_owned(),
        None => "-".to_owned(),
    }
}

/// The gates that need a look first: failed, undecided, passed, not applicable.
pub fn gate_table(gates: &[GateView], evidence: bool, out: &Output) -> String {
    let rank = |state: GateState| match state {
        GateState::Fail => 0,
        GateState::Undecided => 1,
        GateState::Pass => 2,
        GateState::NotApplicable => 3,
    };
    let mut sorted: Vec<&GateView> = gates.iter().collect();
    sorted.sort_by_key(|g| rank(g.state));
    let mut table = Table::bare();
    for gate in sorted {
        let word = match gate.state {
            GateState::Fail => out.paint(Tone::Bad, "FAIL"),
            GateState::Undecided => out.paint(Tone::Warn, "UNDECIDED"),
            GateState::Pass => out.paint(Tone::Good, "PASS"),
            GateState::NotApplicable => out.paint(Tone::Dim, "N/A"),
        };
        table.row([word, gate.id.as_str().to_owned(), gate.detail.clone()]);
        if evidence || gate.state == GateState::Fail {
            let limit = if evidence { usize::MAX } else { 5 };
            for item in gate.evidence.items.iter().take(limit) {
                table.row([String::new(), String::new(), out.paint(Tone::Dim, &evidence_line(item))]);
            }
            let more = gate.evidence.items.len().saturating_sub(limit);
            if more > 0 {
                table.row([
                    String::new(),
                    String::new(),
                    out.paint(Tone::Dim, &format!("… and {more} more")),
                ]);
            }
        }
    }
    table.render()
}

fn evidence_line(item: &EvidenceItem) -> String {
    let with_note = |what: String, note: &str| if note.is_empty() { what } else { format!("{what}  {note}") };
    match item {
        EvidenceItem::File { path, line: Some(line), note } => with_note(format!("{path}:{line}"), note),
        EvidenceItem::File { path, line: None, note } => with_note(path.clone(), note),
        EvidenceItem::Commit { sha, note } => with_note(short(sha).to_owned(), note),
        EvidenceItem::Check { name, app, attempt, conclusion, .. } => {
            format!("{name} ({app}, attempt {attempt}): {conclusion}")
        }
        EvidenceItem::Pull { number, note } => with_note(format!("#{number}"), note),
        EvidenceItem::Frame { id, note } => with_note(format!("frame {id}"), note),
        EvidenceItem::Fact { name, value } => format!("{name}: {value}"),
    }
}

fn render(r: &ReviewView, evidence: bool, now: DateTime<Utc>, out: &Output) -> String {
    let mut text =
        format!("{}\n", out.paint(Tone::Bold, &format!("review {} of task {}: {}", r.id, r.task, r.title)));
    text += &headline(r, out);
    text += &format!(
        "{} {}{} · {} · {} · {}\n",
        short(&r.sha),
        r.branch.as_ref().map(|b| format!("on {b} ")).unwrap_or_default(),
        r.base.as_ref().map(|b| format!("→ {}", b.branch)).unwrap_or_default(),
        stats(&r.stats),
        age(now, r.ended_at.unwrap_or(r.queued_at)),
        spent(r),
    );
    if let Some(phase) = &r.phase {
        text += &format!("{phase}\n");
    }
    for offer in &r.offers {
        text += &format!("{}: {}\n", offer.label, offer.hint);
    }
    if let Some(summary) = &r.summary {
        text += &format!("\n{summary}\n");
    }
    if !r.gates.is_empty() {
        text += &format!("\n{}\n{}", out.paint(Tone::Bold, "Gates"), gate_table(&r.gates, evidence, out));
    }
    text += &findings(r, out);
    for frame in r.frames.iter().filter(|f| f.observation.is_some()) {
        let seen = frame.observation.as_deref().unwrap_or_default();
        text += &format!("frame {} ({} {}): {seen}\n", frame.id, frame.width, frame.theme);
    }
    if !r.coverage.excluded.is_empty() {
        text += &format!("\n{}\n", out.paint(Tone::Bold, "Not given to the seat"));
        for e in &r.coverage.excluded {
            text += &format!("  {}  {}\n", e.file, e.why);
        }
    }
    text
}

fn headline(r: &ReviewView, out: &Output) -> String {
    if let Some(stale) = &r.stale_text {
        return format!("{}\n", out.paint(Tone::Warn, &format!("STALE: {stale}")));
    }
    let state = match r.state {
        ReviewStateView::Published | ReviewStateView::Ended => {
            chip(out, r.verdict.map_or("BLOCKED", |v| v.as_str()))
        }
        ReviewStateView::Held => {
            let waits: Vec<&str> =
                r.gates.iter().filter(|g| g.state == GateState::Undecided).map(|g| g.id.as_str()).collect();
            format!("held for {}", waits.join(", "))
        }
        ReviewStateView::Queued => "queued".to_owned(),
        ReviewStateView::Digesting => "reading the change".to_owned(),
        ReviewStateView::Running => "the seat is reading".to_owned(),
        ReviewStateView::Submitted => "checking the verdict".to_owned(),
    };
    let mut line = state;
    if let Some(reason) = &r.reason {
        line += &format!(" ({reason})");
        if let Some(detail) = &r.reason_detail {
            line += &format!(": {detail}");
        }
    }
    if let (Some(seat), Some(last)) = (r.seat_verdict, r.verdict)
        && seat != last
    {
        let gates: Vec<&str> = r.lowered_by.iter().map(|g| g.as_str()).collect();
        let causes = gates.into_iter().map(str::to_owned).chain(r.lowered_because.iter().cloned());
        line +=
            &format!(" · seat said {}, lowered by {}", seat.as_str(), causes.collect::<Vec<_>>().join(", "));
    }
    line + "\n"
}

fn spent(r: &ReviewView) -> String {
    let mut text = match r.cost.usd {
        Some(usd) => format!("${usd:.2} of ${:.2}", r.cost.budget_usd),
        None => "cost unknown".to_owned(),
    };
    if let (Some(start), Some(end)) = (r.started_at, r.ended_at) {
        let seconds = (end - start).num_seconds();
        text += &format!(" · {} min {} s", seconds / 60, seconds % 60);
    }
    text
}

fn findings(r: &ReviewView, out: &Output) -> String {
    if r.findings.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", out.paint(Tone::Bold, "Findings"));
    for (n, f) in r.findings.iter().enumerate() {
        text += &format!("{}. {}  {}:{}  [{}]\n", n + 1, f.title, f.file, f.line, f.state);
        for line in &f.excerpt {
            let mark = if line.cited { ">" } else { " " };
            text += &out.paint(Tone::Dim, &format!("   {mark}{:>5} {}", line.number, line.text));
            text += "\n";
        }
        text += &format!("   {}\n   shows fixed when: {}\n", f.why, f.check);
    }
    text
}
