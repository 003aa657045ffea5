//! The values of an engine's policy under their names in the file, in the form one would write them.

use std::time::Duration;

use serde_json::{Value as Json, json};
use steward_rules::engine::policy::{DriverKind, FixScope, Policy, Priority, SweepBy, Unit};

use super::forge::written;

/// Every value, in the order of the file's schema; `null` where there is none.
pub(super) fn values(policy: &Policy) -> Vec<(&'static str, Json)> {
    let minutes = |minutes: u32| json!(written(Duration::from_secs(u64::from(minutes) * 60)));
    let verdict = policy.verdict.as_ref();
    let validate = policy.validate.as_ref();
    let drivers: Vec<Json> = policy
        .merge_drivers
        .iter()
        .map(|rule| json!({ "glob": rule.glob, "kind": kind(&rule.kind), "unionKeys": rule.union_keys }))
        .collect();
    let (lock_file, status_command) = match &policy.priority {
        None => (Json::Null, Json::Null),
        Some(Priority::LockFile(path)) => (json!(path), Json::Null),
        Some(Priority::StatusCommand(command)) => (Json::Null, json!(command)),
    };
    let backoff: Vec<Json> = policy.retry.backoff.iter().copied().map(minutes).collect();
    vec![
        ("base", json!(policy.base)),
        ("safePaths", json!(policy.safe_paths)),
        ("protectedPaths", json!(policy.protected_paths)),
        ("allowExec", json!(policy.allow_exec)),
        ("neverMergeLabels", json!(policy.never_merge_labels)),
        ("protectedAuthors", json!(policy.protected_authors)),
        ("ownBots.labels", json!(policy.own_bots.labels)),
        ("ownBots.headPrefixes", json!(policy.own_bots.head_prefixes)),
        ("requiredChecks", json!(policy.required_checks)),
        ("requiredApp", json!(policy.required_app)),
        ("skippable", json!(policy.skippable)),
        ("ignoredChecks", json!(policy.ignored_checks)),
        ("pendingStatusBlocks", json!(policy.pending_status_blocks)),
        ("requireUpToDate", json!(policy.require_up_to_date)),
        ("stableSecs", json!(policy.stable_secs)),
        ("mergeMethod", json!(policy.merge_method.as_str())),
        ("deleteBranchGlobs", json!(policy.delete_branch_globs)),
        ("mergeMaxEntries", json!(policy.merge_max_entries)),
        ("requiredApprovals", json!(policy.required_approvals)),
        ("requireSeatAccepted", json!(policy.require_seat_accepted)),
        ("verdict.workflow", json!(verdict.map(|verdict| &verdict.workflow))),
        ("verdict.job", json!(verdict.map(|verdict| &verdict.job))),
        ("verdict.passLabel", json!(verdict.map(|verdict| &verdict.pass_label))),
        ("verdict.flagLabel", json!(verdict.map(|verdict| &verdict.flag_label))),
        ("verdict.labelActors", json!(verdict.map(|verdict| &verdict.label_actors))),
        ("verdict.humanLabelCounts", json!(verdict.map(|verdict| verdict.human_label_counts))),
        ("verdict.retryMinutes", json!(verdict.map(|verdict| &verdict.retry_minutes))),
        ("verdict.noVerdictHours", json!(verdict.map(|verdict| verdict.no_verdict_hours))),
        ("entries.unit", json!(unit(policy.entries.unit))),
        ("entries.globs", json!(policy.entries.globs)),
        ("entries.root", json!(policy.entries.root)),
        ("validate.format", json!(validate.map(|validate| &validate.format))),
        ("validate.check", json!(validate.map(|validate| &validate.check))),
        ("validate.pin", json!(validate.and_then(|validate| validate.pin.as_ref()))),
        ("validate.timeoutSecs", json!(validate.map(|validate| validate.timeout_secs))),
        ("validate.heavy", json!(validate.map(|validate| validate.heavy))),
        ("mergeDrivers", json!(drivers)),
        ("push.allowed", json!(policy.push.allowed)),
        ("push.sweepLabel", json!(policy.push.sweep_label)),
        ("push.sweepBy", json!(sweep_by(policy.push.sweep_by))),
        ("issues.scopeLabels", json!(policy.issues.scope_labels)),
        ("issues.outcomeLabels", json!(policy.issues.outcome_labels)),
        ("issues.intakeWaitMinutes", json!(policy.issues.intake_wait_minutes)),
        ("issues.intakeBot", json!(policy.issues.intake_bot)),
        ("issues.declinedLabel", json!(policy.issues.declined_label)),
        ("issues.needInfoLabel", json!(policy.issues.need_info_label)),
        ("ownMaxEntries", json!(policy.own_max_entries)),
        ("fixScope", json!(fix_scope(policy.fix_scope))),
        ("triage.research", json!(policy.triage.research)),
        ("retry.backoff", json!(backoff)),
        ("retry.stuckAfter", json!(policy.retry.stuck_after)),
        ("agent.maxTurns", json!(policy.agent.max_turns)),
        ("agent.timeout", minutes(policy.agent.timeout_minutes)),
        ("agent.dailyRuns", json!(policy.agent.daily_runs)),
        ("agent.minAvailableMb", json!(policy.agent.min_available_mb)),
        ("priority.lockFile", lock_file),
        ("priority.statusCommand", status_command),
        ("report", json!(policy.report)),
    ]
}

fn unit(unit: Unit) -> String {
    match unit {
        Unit::Files => "files".to_owned(),
        Unit::JsonKeys => "json-keys".to_owned(),
        Unit::YamlDocs => "yaml-docs".to_owned(),
        Unit::CsvRows => "csv-rows".to_owned(),
        Unit::Lines(per) => format!("lines/{per}"),
    }
}

fn kind(kind: &DriverKind) -> String {
    match kind {
        DriverKind::JsonMap(path) if path.is_empty() => "json-map".to_owned(),
        DriverKind::JsonMap(path) => format!("json-map({path})"),
        DriverKind::JsonArray(key) => format!("json-array({key})"),
        DriverKind::LinesSet => "lines-set".to_owned(),
        DriverKind::Text => "text".to_owned(),
    }
}

fn sweep_by(by: SweepBy) -> &'static str {
    match by {
        SweepBy::Nobody => "nobody",
        SweepBy::Workflow => "workflow",
        SweepBy::Steward => "steward",
    }
}

fn fix_scope(scope: FixScope) -> &'static str {
    match scope {
        FixScope::PrEntries => "prEntries",
        FixScope::Cap => "cap",
    }
}
