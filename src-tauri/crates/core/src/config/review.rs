//! The `review:` block: absent or 0 is the default, above the ceiling is the ceiling, anything else
//! that does not fit switches the feature off (review.md 2).

use super::blocks::RawReview;
use super::fields::At;
use super::problem::Problem;
use super::resolve::{Origin, Resolving};
use super::types::{Review, Workspace};

const BUDGET: f64 = 1.5;
const BUDGET_CEILING: f64 = 5.0;

pub(super) fn resolve(
    read: Option<&At<RawReview>>,
    workspaces: &[Workspace],
    cx: &mut Resolving<'_>,
) -> Review {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    let max_budget_usd = usd("maxBudgetUsd", raw.max_budget_usd.as_ref(), BUDGET_CEILING, BUDGET_CEILING, cx);
    let budget_usd = usd("budgetUsd", raw.budget_usd.as_ref(), BUDGET, max_budget_usd, cx);
    let max_minutes = count("maxMinutes", raw.max_minutes.as_ref(), 20, 60, cx);
    let per_hour = count("maxReviewsPerHour", raw.max_reviews_per_hour.as_ref(), 6, 24, cx);
    let per_task = count("maxReviewsPerTask", raw.max_reviews_per_task.as_ref(), 5, u32::MAX.into(), cx);
    let max_turns = count("maxTurns", raw.max_turns.as_ref(), 60, u32::MAX.into(), cx);
    let max_tokens = count("maxTokens", raw.max_tokens.as_ref(), 2_000_000, i64::MAX as u64, cx);
    let auto_review = auto_review(raw.auto_review.as_ref(), workspaces, cx);
    let annotate = cx.or("review.annotate", raw.annotate.as_ref(), false);
    let broken = cx.problems.error_in("review").map(|problem| (problem.line, Problem::to_string(problem)));
    let enabled = match &broken {
        Some((line, _)) => {
            cx.note("review.enabled", false, Origin::Refused { line: *line });
            false
        }
        None => cx.or("review.enabled", raw.enabled.as_ref(), false),
    };
    Review {
        enabled,
        disabled_by: broken.map(|(_, text)| text),
        auto_review,
        budget_usd,
        max_budget_usd,
        max_minutes: max_minutes as u32,
        max_reviews_per_hour: per_hour as u32,
        max_reviews_per_task: per_task as u32,
        max_turns: max_turns as u32,
        max_tokens,
        annotate,
    }
}

fn usd(name: &str, read: Option<&At<f64>>, default: f64, ceiling: f64, cx: &mut Resolving<'_>) -> f64 {
    let key = format!("review.{name}");
    let (value, origin) = match read {
        Some(at) if at.value < 0.0 => {
            cx.error(at.spot, &key, "this must not be negative");
            (default.min(ceiling), Origin::Refused { line: at.spot.line })
        }
        Some(at) if at.value > ceiling => {
            let message = format!("{} is above the ceiling; {ceiling} holds", at.value);
            cx.problems.warning(at.spot, &key, message);
            (ceiling, Origin::Clamped { line: at.spot.line })
        }
        Some(at) if at.value > 0.0 => (at.value, Origin::File { line: at.spot.line }),
        Some(_) | None => (default.min(ceiling), Origin::Default),
    };
    cx.note(key, value, origin);
    value
}

fn count(name: &str, read: Option<&At<i64>>, default: u64, ceiling: u64, cx: &mut Resolving<'_>) -> u64 {
    let key = format!("review.{name}");
    let (value, origin) = match read {
        Some(at) if at.value < 0 => {
            cx.error(at.spot, &key, "this must not be negative");
            (default, Origin::Refused { line: at.spot.line })
        }
        Some(at) if at.value.unsigned_abs() > ceiling => {
            cx.problems.warning(at.spot, &key, format!("{} is above the ceiling; {ceiling} holds", at.value));
            (ceiling, Origin::Clamped { line: at.spot.line })
        }
        Some(at) if at.value > 0 => (at.value.unsigned_abs(), Origin::File { line: at.spot.line }),
        Some(_) | None => (default, Origin::Default),
    };
    cx.note(key, value, origin);
    value
}

fn auto_review(
    read: Option<&At<Vec<String>>>,
    workspaces: &[Workspace],
    cx: &mut Resolving<'_>,
) -> Vec<String> {
    let Some(at) = read else {
        cx.note("review.autoReview", Vec::<String>::new(), Origin::Default);
        return Vec::new();
    };
    for title in &at.value {
        let count = workspaces.iter().filter(|workspace| workspace.title == *title).count();
        let message = match count {
            1 => continue,
            0 => format!("no workspace has the title `{}`", title.escape_debug()),
            _ => format!("{count} workspaces have the title `{}`, so it matches none", title.escape_debug()),
        };
        cx.problems.warning(at.spot, &at.key, message);
    }
    cx.note("review.autoReview", at.value.clone(), Origin::File { line: at.spot.line });
    at.value.clone()
}
