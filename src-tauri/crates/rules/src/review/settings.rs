//! The limits of the `review:` block, from raw numbers to values in force.

use serde::{Deserialize, Serialize};

/// Whether reviews are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Switch {
    On,
    Off,
    /// A value of the block is wrong, so that it counts as switched off.
    Faulty,
}

/// The `review:` block in force.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReviewSettings {
    pub switch: Switch,
    /// Titles of workspaces whose finished work is reviewed without asking.
    pub auto_review: Vec<String>,
    pub budget_usd: f64,
    pub max_budget_usd: f64,
    pub max_minutes: u32,
    pub max_reviews_per_hour: u32,
    pub max_reviews_per_task: u32,
    pub max_turns: u32,
    pub max_tokens: u64,
    pub annotate: bool,
}

impl ReviewSettings {
    pub fn is_on(&self) -> bool {
        self.switch == Switch::On
    }
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self {
            switch: Switch::Off,
            auto_review: Vec::new(),
            budget_usd: 1.5,
            max_budget_usd: 5.0,
            max_minutes: 20,
            max_reviews_per_hour: 6,
            max_reviews_per_task: 5,
            max_turns: 60,
            max_tokens: 2_000_000,
            annotate: false,
        }
    }
}

/// The block as the file has it. A value of a wrong type is passed as NaN.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawReviewSettings {
    pub enabled: bool,
    pub auto_review: Vec<String>,
    pub budget_usd: Option<f64>,
    pub max_budget_usd: Option<f64>,
    pub max_minutes: Option<f64>,
    pub max_reviews_per_hour: Option<f64>,
    pub max_reviews_per_task: Option<f64>,
    pub max_turns: Option<f64>,
    pub max_tokens: Option<f64>,
    pub annotate: bool,
}

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteLevel {
    /// The value was put to its ceiling.
    Warning,
    /// The feature counts as disabled.
    Error,
}

/// What is to be said at a key of the block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingNote {
    /// The key as the file spells it.
    pub key: &'static str,
    pub level: NoteLevel,
    pub message: String,
}

const MOST_USD: f64 = 5.0;
const MOST_MINUTES: f64 = 60.0;
const MOST_PER_HOUR: f64 = 24.0;

/// Resolves the block: absent or 0 is the default, above the ceiling is the ceiling with a warning,
/// and a value that is no amount switches the feature off with an error at its key.
pub fn resolve(raw: &RawReviewSettings) -> (ReviewSettings, Vec<SettingNote>) {
    let base = ReviewSettings::default();
    let mut notes = Vec::new();
    let max_budget = amount(&mut notes, "maxBudgetUsd", raw.max_budget_usd, base.max_budget_usd, MOST_USD);
    // A default above a lowered ceiling is no mistake of the person, so it is lowered in silence.
    let budget = amount(&mut notes, "budgetUsd", raw.budget_usd, base.budget_usd.min(max_budget), max_budget);
    let mut whole = |key, value, default: u32, most| {
        let value = match value {
            Some(number) if is_amount(number) && number.fract() != 0.0 => {
                notes.push(error(key, "must be a whole number"));
                None
            }
            value => value,
        };
        amount(&mut notes, key, value, f64::from(default), most) as u32
    };
    let most = f64::from(u32::MAX);
    let max_minutes = whole("maxMinutes", raw.max_minutes, base.max_minutes, MOST_MINUTES);
    let per_hour =
        whole("maxReviewsPerHour", raw.max_reviews_per_hour, base.max_reviews_per_hour, MOST_PER_HOUR);
    let per_task = whole("maxReviewsPerTask", raw.max_reviews_per_task, base.max_reviews_per_task, most);
    let max_turns = whole("maxTurns", raw.max_turns, base.max_turns, most);
    let max_tokens = whole("maxTokens", raw.max_tokens, base.max_tokens as u32, most);
    let faulty = notes.iter().any(|note| note.level == NoteLevel::Error);
    let settings = ReviewSettings {
        switch: match (faulty, raw.enabled) {
            (true, _) => Switch::Faulty,
            (false, true) => Switch::On,
            (false, false) => Switch::Off,
        },
        auto_review: raw.auto_review.clone(),
        budget_usd: budget,
        max_budget_usd: max_budget,
        max_minutes,
        max_reviews_per_hour: per_hour,
        max_reviews_per_task: per_task,
        max_turns,
        max_tokens: u64::from(max_tokens),
        annotate: raw.annotate,
    };
    (settings, notes)
}

fn is_amount(number: f64) -> bool {
    number.is_finite() && number >= 0.0
}

fn error(key: &'static str, what: &str) -> SettingNote {
    SettingNote {
        key,
        level: NoteLevel::Error,
        message: format!("review.{key} {what}; reviews are off until it is corrected"),
    }
}

fn amount(
    notes: &mut Vec<SettingNote>,
    key: &'static str,
    value: Option<f64>,
    default: f64,
    most: f64,
) -> f64 {
    match value {
        None => default,
        Some(number) if !is_amount(number) => {
            let what = if number.is_nan() { "must be a number" } else { "must be a number from 0 up" };
            notes.push(error(key, what));
            default
        }
        Some(0.0) => default,
        Some(number) if number > most => {
            notes.push(SettingNote {
                key,
                level: NoteLevel::Warning,
                message: format!("review.{key} is {number}, the most is {most}; {most} is in force"),
            });
            most
        }
        Some(number) => number,
    }
}

/// Warns of listed titles that name two workspaces, and so match neither, or none at all.
pub fn auto_review_notes(settings: &ReviewSettings, titles: &[String]) -> Vec<SettingNote> {
    let mut notes = Vec::new();
    for listed in &settings.auto_review {
        let message = match titles.iter().filter(|title| *title == listed).count() {
            0 => format!("review.autoReview names {listed:?}, and no workspace has this title"),
            1 => continue,
            number => {
                format!("review.autoReview names {listed:?}, and {number} workspaces have it: none is meant")
            }
        };
        notes.push(SettingNote { key: "autoReview", level: NoteLevel::Warning, message });
    }
    notes
}
