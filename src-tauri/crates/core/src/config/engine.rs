//! The `engine:` block, and `policy.engine` of a repository over the values of its preset.

use std::time::Duration;

use steward_rules::engine::policy::{
    self, DriverKind, DriverRule, FixScope, MergeMethod, Policy, Preset, Priority, SweepBy, Unit,
    ValidatePolicy, VerdictPolicy,
};
use steward_rules::ids::RepoName;

use super::engine_blocks::{
    OrNone, RawDriver, RawEngine, RawEnginePolicy, RawPriority, RawValidate, RawVerdict,
};
use super::engine_values::values;
use super::fields::At;
use super::forge::{duration, written};
use super::raw::Spot;
use super::resolve::{Origin, Resolving, expand};
use super::types::Engine;
use super::workspaces::is_branch;

/// How often watched repositories are looked at when the file does not say.
const INTERVAL: Duration = Duration::from_secs(10 * 60);
const SHORTEST: Duration = Duration::from_secs(60);
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// Most items of one list.
const ITEMS: usize = 500;
/// Most characters of one item.
const LENGTH: usize = 500;

pub(super) fn resolve(read: Option<&At<RawEngine>>, cx: &mut Resolving<'_>) -> Engine {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    let interval = interval(raw.interval.as_ref(), cx);
    let broken = cx.problems.error_in("engine").map(|problem| (problem.line, problem.to_string()));
    let (enabled, origin) = match (&broken, &raw.enabled) {
        (Some((line, _)), _) => (false, Origin::Refused { line: *line }),
        (None, Some(at)) => (at.value, Origin::File { line: at.spot.line }),
        (None, None) => (false, Origin::Default),
    };
    cx.note("engine.enabled", enabled, origin);
    Engine { enabled, disabled_by: broken.map(|(_, text)| text), interval }
}

/// `engine.interval` holds also while the engine is off, since watching needs no engine.
fn interval(read: Option<&At<String>>, cx: &mut Resolving<'_>) -> Duration {
    const KEY: &str = "engine.interval";
    let Some(at) = read else {
        let origin = match cx.problems.error_in(KEY) {
            Some(problem) => Origin::Refused { line: problem.line },
            None => Origin::Default,
        };
        cx.note(KEY, written(INTERVAL), origin);
        return INTERVAL;
    };
    let line = at.spot.line;
    let found = duration(&at.value);
    let fits = found.filter(|found| (SHORTEST..=LONGEST).contains(found));
    match (found, fits) {
        (None, _) => cx.error(at.spot, KEY, "this must be a time such as `10m`, `90s` or `1h`"),
        (Some(_), None) => cx.error(at.spot, KEY, "this must be between `1m` and `24h`"),
        (Some(_), Some(_)) => {}
    }
    let origin = if fits.is_some() { Origin::File { line } } else { Origin::Refused { line } };
    let interval = fits.unwrap_or(INTERVAL);
    cx.note(KEY, written(interval), origin);
    interval
}

/// What a repository's block says that its policy is read by.
pub(super) struct Around<'r> {
    /// `repositories[0]`.
    pub key: &'r str,
    pub preset: Option<Preset>,
    /// True when `merge` acts by itself there.
    pub merges: bool,
    /// Where a fault is shown whose key is not in the file.
    pub spot: Spot,
}

/// Reads `policy.engine` over the values of the preset. What a policy must not say becomes an error at its
/// key, and where the key is not in the file at what makes it wrong.
pub(super) fn policy(
    read: Option<&At<RawEnginePolicy>>,
    around: &Around<'_>,
    cx: &mut Resolving<'_>,
) -> Policy {
    let preset = around.preset.map(Preset::policy).unwrap_or_default();
    let mut policy = preset.clone();
    let mut taking = Taking { cx, seen: Vec::new() };
    if let Some(at) = read {
        taking.policy(&mut policy, &at.value);
    }
    let seen = taking.seen;
    let prefix = format!("{}.policy.engine", around.key);
    let place = |name: &str| {
        let full = format!("{prefix}.{name}");
        seen.iter().find(|(key, _)| *key == full).map(|(_, spot)| *spot)
    };
    for fault in policy::check(&policy, around.merges) {
        let key = format!("{prefix}.{}", fault.key);
        // A value that was refused when it was read has said so already.
        if cx.problems.error_in(&key).is_none() {
            cx.error(place(fault.key).unwrap_or(around.spot), &key, fault.message);
        }
    }
    let usual = values(&Policy::default());
    for ((name, value), (_, usual)) in values(&policy).into_iter().zip(usual) {
        let key = format!("{prefix}.{name}");
        match place(name) {
            Some(spot) => cx.note(key, value, Origin::File { line: spot.line }),
            None if value != usual => cx.note(key, value, Origin::Preset),
            None => {}
        }
    }
    policy
}

/// Takes the keys of the file one by one, and remembers where each stands.
struct Taking<'t, 'c> {
    cx: &'t mut Resolving<'c>,
    seen: Vec<(String, Spot)>,
}

impl Taking<'_, '_> {
    fn policy(&mut self, policy: &mut Policy, raw: &RawEnginePolicy) {
        self.branch(&mut policy.base, &raw.base);
        self.list(&mut policy.safe_paths, &raw.safe_paths);
        self.list(&mut policy.protected_paths, &raw.protected_paths);
        self.set(&mut policy.allow_exec, &raw.allow_exec);
        self.list(&mut policy.never_merge_labels, &raw.never_merge_labels);
        self.list(&mut policy.protected_authors, &raw.protected_authors);
        if let Some(At { value: raw, .. }) = &raw.own_bots {
            self.list(&mut policy.own_bots.labels, &raw.labels);
            self.list(&mut policy.own_bots.head_prefixes, &raw.head_prefixes);
        }
        self.list(&mut policy.required_checks, &raw.required_checks);
        self.set(&mut policy.required_app, &raw.required_app);
        self.list(&mut policy.skippable, &raw.skippable);
        self.list(&mut policy.ignored_checks, &raw.ignored_checks);
        self.set(&mut policy.pending_status_blocks, &raw.pending_status_blocks);
        self.set(&mut policy.require_up_to_date, &raw.require_up_to_date);
        self.whole(&mut policy.stable_secs, &raw.stable_secs, 0, 86_400);
        let methods = [MergeMethod::Merge, MergeMethod::Squash, MergeMethod::Rebase];
        self.word(&mut policy.merge_method, &raw.merge_method, &methods.map(|one| (one.as_str(), one)));
        self.list(&mut policy.delete_branch_globs, &raw.delete_branch_globs);
        self.whole(&mut policy.merge_max_entries, &raw.merge_max_entries, 0, 1_000_000);
        self.whole(&mut policy.required_approvals, &raw.required_approvals, 0, 50);
        self.set(&mut policy.require_seat_accepted, &raw.require_seat_accepted);
        self.verdict(&mut policy.verdict, &raw.verdict);
        if let Some(At { value: raw, .. }) = &raw.entries {
            self.parsed(
                &mut policy.entries.unit,
                &raw.unit,
                unit,
                "`files`, `json-keys`, `yaml-docs`, `csv-rows` or `lines/20`",
            );
            self.list(&mut policy.entries.globs, &raw.globs);
            self.set(&mut policy.entries.root, &raw.root);
        }
        self.validate(&mut policy.validate, &raw.validate);
        self.drivers(&mut policy.merge_drivers, &raw.merge_drivers);
        if let Some(At { value: raw, .. }) = &raw.push {
            self.list(&mut policy.push.allowed, &raw.allowed);
            self.optional(&mut policy.push.sweep_label, &raw.sweep_label);
            let by =
                [("nobody", SweepBy::Nobody), ("workflow", SweepBy::Workflow), ("steward", SweepBy::Steward)];
            self.word(&mut policy.push.sweep_by, &raw.sweep_by, &by);
        }
        if let Some(At { value: raw, .. }) = &raw.issues {
            self.list(&mut policy.issues.scope_labels, &raw.scope_labels);
            self.list(&mut policy.issues.outcome_labels, &raw.outcome_labels);
            self.whole(&mut policy.issues.intake_wait_minutes, &raw.intake_wait_minutes, 0, 10_080);
            self.filled(&mut policy.issues.intake_bot, &raw.intake_bot);
            self.filled(&mut policy.issues.declined_label, &raw.declined_label);
            self.filled(&mut policy.issues.need_info_label, &raw.need_info_label);
        }
        self.whole(&mut policy.own_max_entries, &raw.own_max_entries, 0, 1_000_000);
        let scopes = [("prEntries", FixScope::PrEntries), ("cap", FixScope::Cap)];
        self.word(&mut policy.fix_scope, &raw.fix_scope, &scopes);
        if let Some(At { value: raw, .. }) = &raw.triage {
            self.list(&mut policy.triage.research, &raw.research);
        }
        if let Some(At { value: raw, .. }) = &raw.retry {
            self.backoff(&mut policy.retry.backoff, &raw.backoff);
            self.whole(&mut policy.retry.stuck_after, &raw.stuck_after, 1, 100);
        }
        if let Some(At { value: raw, .. }) = &raw.agent {
            self.whole(&mut policy.agent.max_turns, &raw.max_turns, 1, 10_000);
            self.minutes(&mut policy.agent.timeout_minutes, &raw.timeout);
            self.whole(&mut policy.agent.daily_runs, &raw.daily_runs, 0, 10_000);
            self.whole(&mut policy.agent.min_available_mb, &raw.min_available_mb, 0, 1_048_576);
        }
        self.priority(&mut policy.priority, &raw.priority);
        if let Some(at) = &raw.report {
            self.seen.push((at.key.clone(), at.spot));
            if is_issue(&at.value) {
                policy.report = Some(at.value.clone());
            } else {
                self.cx.error(at.spot, &at.key, "this must be an issue, such as `owner/repo#12`");
            }
        }
    }

    fn set<T: Clone>(&mut self, slot: &mut T, read: &Option<At<T>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        *slot = at.value.clone();
    }

    /// A text that must say something.
    fn filled(&mut self, slot: &mut String, read: &Option<At<String>>) {
        self.set(slot, read);
        if let Some(at) = read.as_ref().filter(|at| at.value.trim().is_empty()) {
            self.cx.error(at.spot, &at.key, "this must not be empty");
        }
    }

    /// An empty text takes away what a preset gives.
    fn optional(&mut self, slot: &mut Option<String>, read: &Option<At<String>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        *slot = Some(at.value.clone()).filter(|text| !text.trim().is_empty());
    }

    fn branch(&mut self, slot: &mut Option<String>, read: &Option<At<String>>) {
        if let Some(at) = read {
            self.seen.push((at.key.clone(), at.spot));
            *slot = Some(at.value.clone());
        }
        if let Some(at) = read.as_ref().filter(|at| !at.value.trim().is_empty() && !is_branch(&at.value)) {
            self.cx.error(at.spot, &at.key, "this is not a name of a branch");
        }
    }

    fn list(&mut self, slot: &mut Vec<String>, read: &Option<At<Vec<At<String>>>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        if at.value.len() > ITEMS {
            self.cx.error(at.spot, &at.key, format!("a list has at most {ITEMS} items"));
        }
        for item in &at.value {
            if item.value.trim().is_empty() || item.value.chars().count() > LENGTH {
                let message = format!("an item has 1 to {LENGTH} characters");
                self.cx.error(item.spot, &item.key, message);
            }
        }
        *slot = at.value.iter().map(|item| item.value.clone()).collect();
    }

    /// A program and its arguments; `list` with a first word.
    fn command(&mut self, slot: &mut Vec<String>, read: &Option<At<Vec<At<String>>>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        if at.value.first().is_none_or(|program| program.value.trim().is_empty()) {
            self.cx.error(at.spot, &at.key, "this must name a program");
        }
        *slot = at.value.iter().map(|item| item.value.clone()).collect();
    }

    fn whole(&mut self, slot: &mut u32, read: &Option<At<i64>>, least: u32, most: u32) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        if let Some(value) = self.number(at, least, most) {
            *slot = value;
        }
    }

    fn number(&mut self, at: &At<i64>, least: u32, most: u32) -> Option<u32> {
        let fits = u32::try_from(at.value).ok().filter(|value| (least..=most).contains(value));
        if fits.is_none() {
            self.cx.error(at.spot, &at.key, format!("this must be between {least} and {most}"));
        }
        fits
    }

    fn word<T: Copy>(&mut self, slot: &mut T, read: &Option<At<String>>, words: &[(&str, T)]) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        if let Some(index) = self.cx.word(at, &known) {
            *slot = words[index].1;
        }
    }

    fn parsed<T>(
        &mut self,
        slot: &mut T,
        read: &Option<At<String>>,
        parse: fn(&str) -> Option<T>,
        forms: &str,
    ) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        match parse(&at.value) {
            Some(value) => *slot = value,
            None => self.cx.error(at.spot, &at.key, format!("this must be {forms}")),
        }
    }

    fn minutes(&mut self, slot: &mut u32, read: &Option<At<String>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        if let Some(minutes) = self.time(at) {
            *slot = minutes;
        }
    }

    /// A time of whole minutes, up to a week.
    fn time(&mut self, at: &At<String>) -> Option<u32> {
        let secs = duration(&at.value).map(|time| time.as_secs());
        let fits = secs.filter(|secs| secs % 60 == 0 && (60..=7 * 86_400).contains(secs));
        if fits.is_none() {
            self.cx.error(at.spot, &at.key, "this must be a time of whole minutes, such as `90m` or `4h`");
        }
        fits.and_then(|secs| u32::try_from(secs / 60).ok())
    }

    fn backoff(&mut self, slot: &mut Vec<u32>, read: &Option<At<Vec<At<String>>>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        if at.value.is_empty() || at.value.len() > 20 {
            self.cx.error(at.spot, &at.key, "this must be 1 to 20 times");
        }
        *slot = at.value.iter().filter_map(|item| self.time(item)).collect();
    }

    fn verdict(&mut self, slot: &mut Option<VerdictPolicy>, read: &Option<At<OrNone<RawVerdict>>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        let raw = match &at.value {
            OrNone::None => return *slot = None,
            OrNone::Block(raw) => raw,
        };
        let mut verdict = slot.take().unwrap_or_else(|| VerdictPolicy {
            workflow: String::new(),
            job: String::new(),
            pass_label: String::new(),
            flag_label: String::new(),
            label_actors: vec!["github-actions[bot]".to_owned()],
            human_label_counts: false,
            retry_minutes: vec![10, 30, 60, 60],
            no_verdict_hours: 6,
        });
        self.filled(&mut verdict.workflow, &raw.workflow);
        self.filled(&mut verdict.job, &raw.job);
        self.filled(&mut verdict.pass_label, &raw.pass_label);
        self.filled(&mut verdict.flag_label, &raw.flag_label);
        for (name, text) in [
            ("workflow", &verdict.workflow),
            ("job", &verdict.job),
            ("passLabel", &verdict.pass_label),
            ("flagLabel", &verdict.flag_label),
        ] {
            let key = format!("{}.{name}", at.key);
            if text.is_empty() && self.cx.problems.error_in(&key).is_none() {
                self.cx.error(at.spot, &key, "this key is missing");
            }
        }
        self.list(&mut verdict.label_actors, &raw.label_actors);
        self.set(&mut verdict.human_label_counts, &raw.human_label_counts);
        if let Some(at) = &raw.retry_minutes {
            self.seen.push((at.key.clone(), at.spot));
            if at.value.len() > 20 {
                self.cx.error(at.spot, &at.key, "this must be at most 20 numbers");
            }
            verdict.retry_minutes = at.value.iter().filter_map(|item| self.number(item, 1, 10_080)).collect();
        }
        self.whole(&mut verdict.no_verdict_hours, &raw.no_verdict_hours, 1, 720);
        *slot = Some(verdict);
    }

    fn validate(&mut self, slot: &mut Option<ValidatePolicy>, read: &Option<At<RawValidate>>) {
        let Some(At { value: raw, spot, key }) = read else { return };
        self.seen.push((key.clone(), *spot));
        let mut validate = slot.take().unwrap_or_else(|| ValidatePolicy {
            timeout_secs: 600,
            heavy: true,
            ..ValidatePolicy::default()
        });
        self.command(&mut validate.format, &raw.format);
        self.command(&mut validate.check, &raw.check);
        if validate.check.is_empty() && self.cx.problems.error_in(&format!("{key}.check")).is_none() {
            self.cx.error(*spot, &format!("{key}.check"), "this key is missing");
        }
        self.optional(&mut validate.pin, &raw.pin);
        self.whole(&mut validate.timeout_secs, &raw.timeout_secs, 1, 86_400);
        self.set(&mut validate.heavy, &raw.heavy);
        *slot = Some(validate);
    }

    fn drivers(&mut self, slot: &mut Vec<DriverRule>, read: &Option<At<Vec<At<RawDriver>>>>) {
        let Some(at) = read else { return };
        self.seen.push((at.key.clone(), at.spot));
        slot.clear();
        for At { value: raw, spot, key } in &at.value {
            let glob = self.cx.required(raw.glob.as_ref(), *spot, &format!("{key}.glob")).map(str::to_owned);
            let Some(glob) = glob else { continue };
            let Some(at) = &raw.kind else {
                self.cx.required(None, *spot, &format!("{key}.kind"));
                continue;
            };
            let mut kind = DriverKind::Text;
            let forms = "`json-map`, `json-map(path)`, `json-array(key)`, `lines-set` or `text`";
            self.parsed(&mut kind, &Some(at.clone()), driver, forms);
            let mut union_keys = Vec::new();
            self.list(&mut union_keys, &raw.union_keys);
            slot.push(DriverRule { glob, kind, union_keys });
        }
    }

    fn priority(&mut self, slot: &mut Option<Priority>, read: &Option<At<RawPriority>>) {
        let Some(At { value: raw, spot, key }) = read else { return };
        self.seen.push((key.clone(), *spot));
        match (&raw.lock_file, &raw.status_command) {
            (Some(at), None) => {
                self.seen.push((at.key.clone(), at.spot));
                match expand(&at.value, self.cx.person) {
                    Ok(path) => *slot = Some(Priority::LockFile(path.to_string_lossy().into_owned())),
                    Err(why) => self.cx.error(at.spot, &at.key, why),
                }
            }
            (None, command @ Some(_)) => {
                let mut words = Vec::new();
                self.command(&mut words, command);
                *slot = Some(Priority::StatusCommand(words));
            }
            (Some(_), Some(_)) | (None, None) if self.cx.problems.error_in(key).is_none() => {
                self.cx.error(*spot, key, "this must have `lockFile` or `statusCommand`, one of them");
            }
            (Some(_), Some(_)) | (None, None) => {}
        }
    }
}

fn unit(text: &str) -> Option<Unit> {
    match text {
        "files" => Some(Unit::Files),
        "json-keys" => Some(Unit::JsonKeys),
        "yaml-docs" => Some(Unit::YamlDocs),
        "csv-rows" => Some(Unit::CsvRows),
        "lines" => Some(Unit::Lines(1)),
        _ => text.strip_prefix("lines/")?.parse().ok().map(Unit::Lines),
    }
}

fn driver(text: &str) -> Option<DriverKind> {
    let inside = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    match text {
        "text" => Some(DriverKind::Text),
        "lines-set" => Some(DriverKind::LinesSet),
        "json-map" => Some(DriverKind::JsonMap(String::new())),
        _ => match (inside("json-map"), inside("json-array")) {
            (Some(path), _) => Some(DriverKind::JsonMap(path.to_owned())),
            (None, Some(key)) if !key.is_empty() => Some(DriverKind::JsonArray(key.to_owned())),
            (None, _) => None,
        },
    }
}

/// `owner/repo#12`.
fn is_issue(text: &str) -> bool {
    text.split_once('#').is_some_and(|(name, number)| {
        RepoName::parse(name).is_some() && number.parse::<u32>().is_ok_and(|number| number > 0)
    })
}
