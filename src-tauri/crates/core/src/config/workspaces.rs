//! Workspaces, and the policy of a workspace or repository for its reviews.

use steward_rules::review::gate::GateId;
use steward_rules::review::policy::{BodySections, RequiredCheck, ReviewPolicy};

use super::blocks::{RawConfig, RawPolicy, RawReviewPolicy};
use super::fields::At;
use super::policy::values;
use super::resolve::{Origin, Resolving, expand};
use super::types::{ForgeChoice, Workspace};

pub(super) fn resolve(raw: &RawConfig, cx: &mut Resolving<'_>) -> Vec<Workspace> {
    let Some(read) = raw.workspaces.as_ref() else { return Vec::new() };
    let mut workspaces: Vec<Workspace> = Vec::new();
    for At { value: raw, spot, key } in &read.value {
        let spot = raw.title.as_ref().map_or(*spot, |at| at.spot);
        let title = cx.required(raw.title.as_ref(), spot, &format!("{key}.title"));
        let path = cx.required(raw.path.as_ref(), spot, &format!("{key}.path"));
        let (Some(title), Some(path)) = (title, path) else { continue };
        if title.trim() != title || title.contains('\n') || title.chars().count() > 80 {
            cx.error(
                spot,
                &format!("{key}.title"),
                "a title is one line of at most 80 characters, without space around it",
            );
        }
        let path = match expand(path, cx.person) {
            Ok(path) => path,
            Err(why) => {
                cx.error(raw.path.as_ref().map_or(spot, |at| at.spot), &format!("{key}.path"), why);
                continue;
            }
        };
        let forge = match raw.forge.as_ref().map(|at| cx.word(at, &["github", "none"])) {
            None | Some(Some(0)) => ForgeChoice::GitHub,
            Some(_) => ForgeChoice::None,
        };
        let (policy, integration_branch) = self::policy(raw.policy.as_ref(), cx);
        if let Some(problem) = cx.problems.error_in(key) {
            let line = problem.line;
            cx.note(key.clone(), "off", Origin::Refused { line });
            continue;
        }
        if workspaces.iter().any(|other| other.title == title) {
            cx.problems.warning(
                spot,
                &format!("{key}.title"),
                format!(
                    "`{}` is the title of another workspace too, so it matches neither",
                    title.escape_debug()
                ),
            );
        }
        cx.note(key.clone(), format!("{title}: {}", path.display()), Origin::File { line: spot.line });
        let is_own = raw.policy.as_ref().is_some_and(|at| at.value.review.is_some());
        let policy = is_own.then_some(policy);
        workspaces.push(Workspace { title: title.to_owned(), path, forge, policy, integration_branch });
    }
    workspaces
}

/// The policy for reviews, and the integration branch when the file names one.
pub(super) fn policy(read: Option<&At<RawPolicy>>, cx: &mut Resolving<'_>) -> (ReviewPolicy, Option<String>) {
    let fallback = ReviewPolicy::default();
    let Some(at) = read.and_then(|at| at.value.review.as_ref()) else { return (fallback, None) };
    let raw = &at.value;
    let branch = raw.integration_branch.as_ref().map(|at| at.value.clone());
    if let Some(at) = &raw.integration_branch
        && !is_branch(&at.value)
    {
        cx.error(at.spot, &at.key, "this is not a name of a branch");
    }
    let policy = ReviewPolicy {
        integration_branch: branch.clone().unwrap_or(fallback.integration_branch),
        ui_paths: texts(raw.ui_paths.as_ref(), fallback.ui_paths),
        widths: widths(raw, fallback.widths, cx),
        themes: texts(raw.themes.as_ref(), fallback.themes),
        churn_globs: globs(raw.churn_globs.as_ref(), fallback.churn_globs, cx),
        source_dirs: texts(raw.source_dirs.as_ref(), fallback.source_dirs),
        lock_pairs: lock_pairs(raw, cx),
        title_types: texts(raw.title_types.as_ref(), fallback.title_types),
        body_sections: body_sections(raw),
        plan_paths: globs(raw.plan_paths.as_ref(), fallback.plan_paths, cx),
        required_checks: required_checks(raw, cx),
        secret_exceptions: texts(raw.secret_exceptions.as_ref(), fallback.secret_exceptions),
        gates_off: gates_off(raw, cx),
    };
    for (name, value) in values(&policy) {
        if let Some((key, line)) = written(raw, name) {
            cx.note(key, value, Origin::File { line });
        }
    }
    (policy, branch)
}

/// The key and line of a value that the file gives.
fn written(raw: &RawReviewPolicy, name: &str) -> Option<(String, u32)> {
    fn place<T>(read: &Option<At<T>>) -> Option<(String, u32)> {
        read.as_ref().map(|at| (at.key.clone(), at.spot.line))
    }
    match name {
        "integrationBranch" => place(&raw.integration_branch),
        "uiPaths" => place(&raw.ui_paths),
        "widths" => place(&raw.widths),
        "themes" => place(&raw.themes),
        "churnGlobs" => place(&raw.churn_globs),
        "sourceDirs" => place(&raw.source_dirs),
        "lockPairs" => place(&raw.lock_pairs),
        "titleTypes" => place(&raw.title_types),
        "bodySections" => place(&raw.body_sections),
        "planPaths" => place(&raw.plan_paths),
        "requiredChecks" => place(&raw.required_checks),
        "secretExceptions" => place(&raw.secret_exceptions),
        "gatesOff" => place(&raw.gates_off),
        _ => None,
    }
}

/// The rules of git-check-ref-format that matter for a name that reaches a command line.
pub(super) fn is_branch(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['-', '/', '.'])
        && !name.ends_with(['/', '.'])
        && !name.ends_with(".lock")
        && !name.contains("..")
        && !name.contains("//")
        && !name.contains("@{")
        && !name.chars().any(|c| {
            c.is_control() || c.is_whitespace() || matches!(c, '~' | '^' | ':' | '?' | '*' | '[' | '\\')
        })
}

fn texts(read: Option<&At<Vec<String>>>, fallback: Vec<String>) -> Vec<String> {
    read.map_or(fallback, |at| at.value.clone())
}

fn globs(read: Option<&At<Vec<String>>>, fallback: Vec<String>, cx: &mut Resolving<'_>) -> Vec<String> {
    let Some(at) = read else { return fallback };
    for (index, glob) in at.value.iter().enumerate() {
        let key = format!("{}[{index}]", at.key);
        if glob.is_empty() || glob.len() > 256 || glob.matches('*').count() > 16 {
            cx.error(at.spot, &key, "a glob has 1 to 256 characters and at most 16 stars");
        } else if glob.matches('[').count() != glob.matches(']').count()
            || glob.matches('{').count() != glob.matches('}').count()
        {
            cx.error(at.spot, &key, "a bracket of this glob is not closed");
        }
    }
    at.value.clone()
}

fn widths(raw: &RawReviewPolicy, fallback: Vec<u32>, cx: &mut Resolving<'_>) -> Vec<u32> {
    let Some(at) = &raw.widths else { return fallback };
    at.value
        .iter()
        .enumerate()
        .filter_map(|(index, width)| {
            let fits = u32::try_from(*width).ok().filter(|width| (1..=16_384).contains(width));
            if fits.is_none() {
                cx.error(at.spot, &format!("{}[{index}]", at.key), "a width is between 1 and 16384");
            }
            fits
        })
        .collect()
}

fn lock_pairs(raw: &RawReviewPolicy, cx: &mut Resolving<'_>) -> Vec<(String, String)> {
    let Some(at) = &raw.lock_pairs else { return Vec::new() };
    at.value
        .iter()
        .enumerate()
        .filter_map(|(index, pair)| {
            let key = format!("{}[{index}]", at.key);
            let lockfile = cx.required(pair.lockfile.as_ref(), at.spot, &format!("{key}.lockfile"))?;
            let manifest = cx.required(pair.manifest.as_ref(), at.spot, &format!("{key}.manifest"))?;
            Some((lockfile.to_owned(), manifest.to_owned()))
        })
        .collect()
}

fn body_sections(raw: &RawReviewPolicy) -> BodySections {
    let Some(at) = &raw.body_sections else { return BodySections::default() };
    BodySections {
        validated: texts(at.value.validated.as_ref(), Vec::new()),
        not_done: texts(at.value.not_done.as_ref(), Vec::new()),
    }
}

fn required_checks(raw: &RawReviewPolicy, cx: &mut Resolving<'_>) -> Vec<RequiredCheck> {
    let Some(at) = &raw.required_checks else { return Vec::new() };
    at.value
        .iter()
        .enumerate()
        .filter_map(|(index, check)| {
            let key = format!("{}[{index}].name", at.key);
            let name = cx.required(check.name.as_ref(), at.spot, &key)?.to_owned();
            Some(RequiredCheck {
                name,
                app: check.app.as_ref().map(|at| at.value.clone()),
                skippable: check.skippable.as_ref().is_some_and(|at| at.value),
            })
        })
        .collect()
}

fn gates_off(raw: &RawReviewPolicy, cx: &mut Resolving<'_>) -> Vec<GateId> {
    let Some(at) = &raw.gates_off else { return Vec::new() };
    let words = GateId::ALL.map(GateId::as_str);
    let mut off = Vec::new();
    for (index, word) in at.value.iter().enumerate() {
        let word = At { value: word.clone(), spot: at.spot, key: format!("{}[{index}]", at.key) };
        let Some(gate) = cx.word(&word, &words).map(|index| GateId::ALL[index]) else { continue };
        if matches!(gate, GateId::NotStacked | GateId::NoSecrets) {
            cx.error(at.spot, &word.key, "this gate cannot be switched off");
        } else {
            off.push(gate);
        }
    }
    off
}
