//! Watched repositories.

use steward_rules::engine::policy::Preset;
use steward_rules::ids::RepoName;
use steward_rules::power::EffectClass;

use super::blocks::RawConfig;
use super::fields::At;
use super::resolve::{Origin, Resolving};
use super::types::{Account, Fetch, RepoMode, Repository};
use super::{engine, forge, workspaces};

/// Where the keys of a repository's policy come from (engine.md).
pub const PRESETS: [&str; 4] = [
    Preset::DataCatalogue.as_str(),
    Preset::CodeApp.as_str(),
    Preset::DocsSite.as_str(),
    Preset::ObserveOnly.as_str(),
];

/// Classes of effects (product.md, *Modes and powers*).
pub const CLASSES: [&str; 17] = [
    "comment_review",
    "rerun_check",
    "retry_verdict",
    "rebase",
    "push_fix",
    "open_pr",
    "supersede",
    "merge",
    "delete_branch",
    "label",
    "close_issue",
    "comment_issue",
    "report",
    "reply",
    "request_approval",
    "dispatch_work",
    "claim",
];

pub(super) fn resolve(raw: &RawConfig, accounts: &[Account], cx: &mut Resolving<'_>) -> Vec<Repository> {
    let Some(read) = raw.repositories.as_ref() else { return Vec::new() };
    let mut repositories: Vec<Repository> = Vec::new();
    for At { value: raw, spot, key } in &read.value {
        let spot = raw.name.as_ref().map_or(*spot, |at| at.spot);
        let Some(text) = cx.required(raw.name.as_ref(), spot, &format!("{key}.name")) else { continue };
        let Some(name) = RepoName::parse(text) else {
            cx.error(spot, &format!("{key}.name"), "this must be `owner/name`");
            continue;
        };
        if repositories.iter().any(|other| other.name == name) {
            cx.error(spot, &format!("{key}.name"), format!("{name} stands here a second time"));
            continue;
        }
        let mode = match raw.mode.as_ref().map(|at| cx.word(at, &["observe", "suggest", "act"])) {
            None | Some(Some(0)) => RepoMode::Observe,
            Some(Some(1)) => RepoMode::Suggest,
            Some(Some(_)) => RepoMode::Act,
            Some(None) => continue,
        };
        let preset = raw.preset.as_ref().and_then(|at| cx.word(at, &PRESETS)).map(|index| Preset::ALL[index]);
        let act = raw.act.as_ref().map(|at| at.value.clone()).unwrap_or_default();
        for (place, class) in act.iter().enumerate() {
            let at = At {
                value: class.clone(),
                spot: raw.act.as_ref().map_or(spot, |at| at.spot),
                key: format!("{key}.act[{place}]"),
            };
            cx.word(&at, &CLASSES);
        }
        let fetch = match raw.fetch.as_ref().map(|at| cx.word(at, &Fetch::WORDS)) {
            None | Some(Some(0)) => Fetch::Https,
            Some(_) => Fetch::Ssh,
        };
        let account = forge::named(raw.account.as_ref(), accounts, cx);
        let (policy, integration_branch) = workspaces::policy(raw.policy.as_ref(), cx);
        let merges = mode == RepoMode::Act && act.iter().any(|class| class == EffectClass::Merge.as_str());
        let around = engine::Around {
            key,
            preset,
            merges,
            spot: raw.act.as_ref().filter(|_| merges).map_or(spot, |at| at.spot),
        };
        let of_engine = raw.policy.as_ref().and_then(|at| at.value.engine.as_ref());
        let engine = engine::policy(of_engine, &around, cx);
        if let Some(problem) = cx.problems.error_in(key) {
            let line = problem.line;
            cx.note(key.clone(), "off", Origin::Refused { line });
            continue;
        }
        cx.note(key.clone(), name.to_string(), Origin::File { line: spot.line });
        let texts =
            [("account", &raw.account), ("mode", &raw.mode), ("fetch", &raw.fetch), ("preset", &raw.preset)];
        for (name, at) in texts.iter().filter_map(|(name, read)| Some((name, read.as_ref()?))) {
            cx.note(format!("{key}.{name}"), at.value.clone(), Origin::File { line: at.spot.line });
        }
        if let Some(at) = &raw.act {
            cx.note(format!("{key}.act"), at.value.clone(), Origin::File { line: at.spot.line });
        }
        repositories.push(Repository {
            name,
            account,
            preset: raw.preset.as_ref().map(|at| at.value.clone()),
            mode,
            act,
            fetch,
            policy,
            integration_branch,
            engine,
        });
    }
    repositories
}
