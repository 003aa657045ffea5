//! The `review:` block. Its rule (defaults, ceilings, what switches it off) is decided in
//! `rules::review::settings`; here each note gets its place in the file.

use steward_rules::review::settings::{self, NoteLevel, RawReviewSettings, SettingNote, Switch};

use super::blocks::RawReview;
use super::fields::At;
use super::problem::{Problem, Severity};
use super::raw::Spot;
use super::resolve::{Origin, Resolving};
use super::types::{Review, Workspace};

pub(super) fn resolve(
    read: Option<&At<RawReview>>,
    workspaces: &[Workspace],
    cx: &mut Resolving<'_>,
) -> Review {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    let number = |read: &Option<At<i64>>| read.as_ref().map(|at| at.value as f64);
    // A value of a wrong type is absent here; it was said at its key when the block was read.
    let (settings, mut notes) = settings::resolve(&RawReviewSettings {
        enabled: raw.enabled.as_ref().is_some_and(|at| at.value),
        auto_review: raw.auto_review.as_ref().map(|at| at.value.clone()).unwrap_or_default(),
        budget_usd: raw.budget_usd.as_ref().map(|at| at.value),
        max_budget_usd: raw.max_budget_usd.as_ref().map(|at| at.value),
        max_minutes: number(&raw.max_minutes),
        max_reviews_per_hour: number(&raw.max_reviews_per_hour),
        max_reviews_per_task: number(&raw.max_reviews_per_task),
        max_turns: number(&raw.max_turns),
        max_tokens: number(&raw.max_tokens),
        annotate: raw.annotate.as_ref().is_some_and(|at| at.value),
    });
    let titles: Vec<String> = workspaces.iter().map(|workspace| workspace.title.clone()).collect();
    notes.extend(settings::auto_review_notes(&settings, &titles));

    let spots = spots(&raw);
    for note in &notes {
        say(note, &spots, cx);
    }
    let broken = cx.problems.error_in("review").map(|problem| (problem.line, problem.to_string()));
    let mut note = |key: &'static str, value: serde_json::Value| {
        cx.note(format!("review.{key}"), value, origin(key, &spots, &notes));
    };
    note("autoReview", settings.auto_review.clone().into());
    note("budgetUsd", settings.budget_usd.into());
    note("maxBudgetUsd", settings.max_budget_usd.into());
    note("maxMinutes", settings.max_minutes.into());
    note("maxReviewsPerHour", settings.max_reviews_per_hour.into());
    note("maxReviewsPerTask", settings.max_reviews_per_task.into());
    note("maxTurns", settings.max_turns.into());
    note("maxTokens", settings.max_tokens.into());
    note("annotate", settings.annotate.into());
    let enabled = match (&broken, settings.switch) {
        (None, Switch::On) => true,
        (None, Switch::Off | Switch::Faulty) | (Some(_), _) => false,
    };
    match &broken {
        Some((line, _)) => cx.note("review.enabled", enabled, Origin::Refused { line: *line }),
        None => cx.note("review.enabled", enabled, origin("enabled", &spots, &notes)),
    }
    Review {
        enabled,
        disabled_by: broken.map(|(_, text)| text),
        auto_review: settings.auto_review,
        budget_usd: settings.budget_usd,
        max_budget_usd: settings.max_budget_usd,
        max_minutes: settings.max_minutes,
        max_reviews_per_hour: settings.max_reviews_per_hour,
        max_reviews_per_task: settings.max_reviews_per_task,
        max_turns: settings.max_turns,
        max_tokens: settings.max_tokens,
        annotate: settings.annotate,
    }
}

/// Each key that the file sets, with its place, and whether it says 0: that is the default.
fn spots(raw: &RawReview) -> Vec<(&'static str, Spot, bool)> {
    let mut spots = Vec::new();
    let mut add = |key: &'static str, spot: Option<(Spot, bool)>| {
        spots.extend(spot.map(|(spot, zero)| (key, spot, zero)));
    };
    let whole = |read: &Option<At<i64>>| read.as_ref().map(|at| (at.spot, at.value == 0));
    let amount = |read: &Option<At<f64>>| read.as_ref().map(|at| (at.spot, at.value == 0.0));
    let flag = |read: &Option<At<bool>>| read.as_ref().map(|at| (at.spot, false));
    add("enabled", flag(&raw.enabled));
    add("autoReview", raw.auto_review.as_ref().map(|at| (at.spot, false)));
    add("budgetUsd", amount(&raw.budget_usd));
    add("maxBudgetUsd", amount(&raw.max_budget_usd));
    add("maxMinutes", whole(&raw.max_minutes));
    add("maxReviewsPerHour", whole(&raw.max_reviews_per_hour));
    add("maxReviewsPerTask", whole(&raw.max_reviews_per_task));
    add("maxTurns", whole(&raw.max_turns));
    add("maxTokens", whole(&raw.max_tokens));
    add("annotate", flag(&raw.annotate));
    spots
}

fn say(note: &SettingNote, spots: &[(&'static str, Spot, bool)], cx: &mut Resolving<'_>) {
    let spot = spots.iter().find(|(key, ..)| *key == note.key).map(|(_, spot, _)| *spot).unwrap_or_default();
    let severity = match note.level {
        NoteLevel::Warning => Severity::Warning,
        NoteLevel::Error => Severity::Error,
    };
    // The key is shown before the message, so the message need not begin with it.
    let prefix = format!("review.{} ", note.key);
    let message = note.message.strip_prefix(&prefix).unwrap_or(&note.message);
    cx.problems.0.push(Problem::at(severity, spot, prefix.trim_end(), message));
}

fn origin(key: &str, spots: &[(&'static str, Spot, bool)], notes: &[SettingNote]) -> Origin {
    let Some((_, spot, zero)) = spots.iter().find(|(found, ..)| *found == key) else {
        return Origin::Default;
    };
    let line = spot.line;
    match notes.iter().find(|note| note.key == key && key != "autoReview").map(|note| note.level) {
        Some(NoteLevel::Warning) => Origin::Clamped { line },
        Some(NoteLevel::Error) => Origin::Refused { line },
        None if *zero => Origin::Default,
        None => Origin::File { line },
    }
}
