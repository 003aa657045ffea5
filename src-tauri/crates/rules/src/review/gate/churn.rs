//! `no_churn`: no build output, no vendored tree, no lockfile that moved without its manifest.

use chrono::{DateTime, Utc};
use std::collections::HashSet;

use super::answer::{Answer, fact, file, is_new_path, result, shown};
use super::{EvidenceItem, GateId, GateResult};
use crate::diff::{ChangedFile, Diff, RepoPath, Status};
use crate::globs::Globs;
use crate::reading::Why;
use crate::review::facts::{Evidence, TreeFacts};
use crate::review::policy::ReviewPolicy;
use crate::wording::gate as say;

/// A lockfile, what must move with it in its folder, and what makes a folder a workspace root for it.
struct Lock {
    name: &'static str,
    /// Manifest that a member of the workspace has too.
    manifest: &'static str,
    /// Other files of the same folder that explain a change.
    beside: &'static [&'static str],
    /// Root manifests whose members count.
    roots: &'static [&'static str],
}

const fn js(name: &'static str) -> Lock {
    Lock { name, manifest: "package.json", beside: &[], roots: &["package.json"] }
}

const LOCKS: [Lock; 12] = [
    js("package-lock.json"),
    js("npm-shrinkwrap.json"),
    js("yarn.lock"),
    js("bun.lock"),
    js("bun.lockb"),
    // pnpm reads its members from its own file only; catalogs of versions live there too.
    Lock {
        name: "pnpm-lock.yaml",
        manifest: "package.json",
        beside: &["pnpm-workspace.yaml"],
        roots: &["pnpm-workspace.yaml"],
    },
    Lock { name: "Cargo.lock", manifest: "Cargo.toml", beside: &[], roots: &["Cargo.toml"] },
    Lock { name: "go.sum", manifest: "go.mod", beside: &[], roots: &["go.work"] },
    Lock { name: "poetry.lock", manifest: "pyproject.toml", beside: &[], roots: &[] },
    Lock { name: "uv.lock", manifest: "pyproject.toml", beside: &[], roots: &["pyproject.toml"] },
    Lock { name: "Gemfile.lock", manifest: "Gemfile", beside: &[], roots: &[] },
    Lock { name: "composer.lock", manifest: "composer.json", beside: &[], roots: &[] },
];

pub(super) fn check(evidence: &Evidence, policy: &ReviewPolicy, _now: DateTime<Utc>) -> GateResult {
    result(GateId::NoChurn, judge(evidence, policy))
}

pub(super) fn is_lockfile(path: &RepoPath, policy: &ReviewPolicy) -> bool {
    let name = path.file_name();
    LOCKS.iter().any(|lock| lock.name.as_bytes() == name)
        || policy.lock_pairs.iter().any(|(lock, _)| lock.as_bytes() == name)
}

pub(super) fn is_build_output(path: &RepoPath, policy: &ReviewPolicy) -> bool {
    output(path, &Globs::new(&trimmed(&policy.source_dirs))).is_some()
}

fn judge<'a>(e: &'a Evidence, policy: &ReviewPolicy) -> Result<Answer, &'a Why> {
    let diff = e.diff.get()?;
    let (churn, sources) = (Globs::new(&policy.churn_globs), Globs::new(&trimmed(&policy.source_dirs)));
    let manifests = Manifests::of(diff);
    let mut faults: Vec<(&RepoPath, String)> = Vec::new();
    let mut unread: Option<&Why> = None;
    for changed in diff.files.iter().filter(|changed| changed.exists_at_head()) {
        let path = &changed.path;
        if let Some(note) = output(path, &sources) {
            faults.push((path, note));
        } else if churn.matches(path) {
            faults.push((path, say::churn_glob()));
        } else if changed.content_changed() || brings_copy(changed) {
            match lock_fault(path, &manifests, e, policy) {
                Ok(note) => faults.extend(note.map(|note| (path, note))),
                Err(why) => unread = Some(why),
            }
        }
    }
    let mut items: Vec<EvidenceItem> =
        faults.iter().map(|(path, note)| file(path, None, note.as_str())).collect();
    items.extend(churn.invalid.iter().chain(&sources.invalid).map(|bad| fact("no valid glob", bad)));
    match (faults.first(), unread) {
        (Some((path, note)), _) => {
            Ok(Answer::fail(say::churn(&shown(path), note, faults.len() - 1)).with(items))
        }
        (None, Some(why)) => Err(why),
        (None, None) => Ok(Answer::pass(say::no_churn()).with(items)),
    }
}

fn trimmed(folders: &[String]) -> Vec<&str> {
    folders.iter().map(|folder| folder.trim_start_matches("./").trim_end_matches('/')).collect()
}

fn brings_copy(changed: &ChangedFile) -> bool {
    match changed.status {
        Status::Added | Status::Copied { .. } => true,
        Status::Deleted | Status::Modified | Status::Renamed { .. } | Status::TypeChanged => false,
    }
}

/// What kind of output a path is, if it is any.
fn output(path: &RepoPath, sources: &Globs) -> Option<String> {
    let parts: Vec<&[u8]> = path.components().collect();
    let (name, folders) = parts.split_last()?;
    if *name == b".DS_Store" {
        return Some(say::churn_finder());
    }
    if folders.contains(&&b"node_modules"[..]) {
        return Some(say::churn_dependencies());
    }
    if folders.windows(2).any(|pair| pair == [&b"gen"[..], &b"schemas"[..]]) {
        return Some(say::churn_schemas());
    }
    let mut end = 0;
    for (at, folder) in folders.iter().enumerate() {
        end += folder.len() + usize::from(at > 0);
        let is_output = matches!(*folder, b"dist" | b"build" | b"out");
        if is_output && !sources.matches(&RepoPath::new(&path.raw()[..end])) {
            return Some(say::churn_output(&String::from_utf8_lossy(folder)));
        }
    }
    None
}

/// The paths of the change that can stand for a moved manifest.
struct Manifests<'d> {
    /// Changed, added, removed, or renamed from or to.
    moved: HashSet<&'d [u8]>,
    /// Gone at the head: a removed member is no member any more, and still moves the lockfile.
    gone: Vec<&'d RepoPath>,
}

impl<'d> Manifests<'d> {
    fn of(diff: &'d Diff) -> Self {
        let mut moved = HashSet::new();
        let mut gone = Vec::new();
        for changed in &diff.files {
            if changed.content_changed() || is_new_path(changed) {
                moved.insert(changed.path.raw());
            }
            match changed.status {
                Status::Deleted => gone.push(&changed.path),
                Status::Renamed { .. } => gone.extend(&changed.old_path),
                Status::Added | Status::Modified | Status::Copied { .. } | Status::TypeChanged => {}
            }
        }
        moved.extend(gone.iter().map(|path| path.raw()));
        Self { moved, gone }
    }

    fn has(&self, folder: &[u8], name: &str) -> bool {
        self.moved.contains(join(folder, name).as_slice())
    }

    fn lost_below(&self, folder: &[u8], name: &str) -> bool {
        self.gone.iter().any(|path| path.file_name() == name.as_bytes() && lies_below(path.raw(), folder))
    }
}

fn join(folder: &[u8], name: &str) -> Vec<u8> {
    if folder.is_empty() {
        return name.as_bytes().to_vec();
    }
    [folder, b"/", name.as_bytes()].concat()
}

fn lies_below(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty() || (path.starts_with(folder) && path.get(folder.len()) == Some(&b'/'))
}

/// Why a changed file is a lockfile without its manifest, if it is one.
fn lock_fault<'e>(
    path: &RepoPath,
    manifests: &Manifests<'_>,
    e: &'e Evidence,
    policy: &ReviewPolicy,
) -> Result<Option<String>, &'e Why> {
    let (folder, name) = (path.folder(), path.file_name());
    let built_in = LOCKS.iter().find(|lock| lock.name.as_bytes() == name);
    let extra: Vec<&str> = policy
        .lock_pairs
        .iter()
        .filter(|(lock, _)| lock.as_bytes() == name)
        .map(|(_, manifest)| manifest.as_str())
        .collect();
    let mut wanted: Vec<&str> = built_in.iter().map(|lock| lock.manifest).chain(extra.clone()).collect();
    wanted.dedup();
    let Some(first) = wanted.first() else {
        return Ok(None);
    };
    let beside = built_in.iter().flat_map(|lock| lock.beside.iter().copied());
    if wanted.iter().copied().chain(beside).any(|name| manifests.has(folder, name)) {
        return Ok(None);
    }
    let tree = e.tree.get()?;
    let member_moved = built_in.is_some_and(|lock| {
        lock.roots.iter().any(|root| moved_in_workspace(tree, manifests, folder, root, lock.manifest))
    }) || extra.iter().any(|name| moved_in_workspace(tree, manifests, folder, name, name));
    Ok((!member_moved).then(|| say::lock_alone(first)))
}

/// True when `folder` is a workspace root by `root`, and the manifest of one of its members moved.
fn moved_in_workspace(
    tree: &TreeFacts,
    manifests: &Manifests<'_>,
    folder: &[u8],
    root: &str,
    manifest: &str,
) -> bool {
    tree.workspaces.iter().any(|workspace| {
        workspace.folder.raw() == folder
            && workspace.manifest == root
            && (manifests.lost_below(folder, manifest)
                || workspace.members.iter().any(|member| manifests.has(member.raw(), manifest)))
    })
}
