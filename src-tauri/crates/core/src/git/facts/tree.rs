//! Facts about the head's tree: CI definitions, workspace roots of touched lockfiles, asked blobs.

use std::collections::{BTreeSet, HashMap};

use globset::{GlobBuilder, GlobSetBuilder};
use steward_rules::diff::{Diff, Kind, RepoPath};
use steward_rules::ids::Sha;
use steward_rules::review::facts::{TreeFacts, WorkspaceRoot};
use tokio_util::sync::CancellationToken;

use super::FactsRequest;
use crate::git::clone::BareClone;
use crate::git::error::GitError;
use crate::git::objects::{self, Depth, Entry, Piece};

/// Files and folders whose presence means that the tree defines CI.
const CI: &[&[u8]] = &[
    b".github/workflows/",
    b".gitlab-ci.yml",
    b".circleci/config.yml",
    b".travis.yml",
    b"azure-pipelines.yml",
    b"Jenkinsfile",
    b"appveyor.yml",
    b".appveyor.yml",
    b".buildkite/pipeline.yml",
    b".cirrus.yml",
    b".drone.yml",
    b".woodpecker.yml",
    b".woodpecker/",
    b"bitbucket-pipelines.yml",
    b".forgejo/workflows/",
    b".gitea/workflows/",
];
/// Manifests that can have members.
const ROOTS: &[&[u8]] =
    &[b"package.json", b"pnpm-workspace.yaml", b"Cargo.toml", b"go.work", b"pyproject.toml"];
/// A manifest longer than this has no members for us.
const MANIFEST: u64 = 1 << 20;

pub(super) fn read(
    clone: &BareClone,
    request: &FactsRequest<'_>,
    diff: Option<&Diff>,
    cancel: &CancellationToken,
) -> Result<TreeFacts, GitError> {
    let folders = lock_folders(diff);
    let mut asked: BTreeSet<Vec<u8>> = request.mutations.iter().map(|p| p.raw().to_vec()).collect();
    for folder in &folders {
        asked.extend(ROOTS.iter().map(|name| joined(folder, name)));
    }
    let mut found: HashMap<Vec<u8>, Entry> = HashMap::new();
    let mut has_ci_definition = false;
    let mut named: Vec<&[u8]> = CI.to_vec();
    named.extend(asked.iter().map(Vec::as_slice).filter(|path| !path.is_empty()));
    // Command lines have an end; a contract with many mutations takes more than one.
    for part in named.chunks(400) {
        objects::tree(clone, request.head, Depth::Named, part, cancel, |entry| {
            let path = entry.path.raw();
            has_ci_definition |= CI
                .iter()
                .any(|ci| path == *ci || ci.ends_with(b"/") && path.starts_with(ci) && is_yaml(path));
            found.insert(path.to_vec(), entry);
            Ok(())
        })?;
    }
    let blobs_at_head = request
        .mutations
        .iter()
        .map(|path| (path.clone(), found.get(path.raw()).map(|entry| entry.id.clone())))
        .collect();
    let workspaces = workspaces(clone, request.head, &folders, &found, cancel)?;
    Ok(TreeFacts { has_ci_definition, workspaces, blobs_at_head })
}

fn is_yaml(path: &[u8]) -> bool {
    path.ends_with(b".yml") || path.ends_with(b".yaml")
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// Only a touched lockfile asks for its folder's members, so only these folders are read.
fn lock_folders(diff: Option<&Diff>) -> BTreeSet<Vec<u8>> {
    let is_lock = |name: &[u8]| {
        name.ends_with(b".lock")
            || name.ends_with(b".lockb")
            || name.ends_with(b".sum")
            || name.ends_with(b"-lock.json")
            || name.ends_with(b"-lock.yaml")
            || name == b"npm-shrinkwrap.json"
    };
    diff.into_iter()
        .flat_map(|diff| &diff.files)
        .filter(|file| file.exists_at_head() && is_lock(file.path.file_name()))
        .map(|file| file.path.folder().to_vec())
        .collect()
}

fn workspaces(
    clone: &BareClone,
    head: &Sha,
    folders: &BTreeSet<Vec<u8>>,
    found: &HashMap<Vec<u8>, Entry>,
    cancel: &CancellationToken,
) -> Result<Vec<WorkspaceRoot>, GitError> {
    let mut manifests = Vec::new();
    for folder in folders {
        for name in ROOTS {
            if let Some(entry) = found.get(&joined(folder, name))
                && Kind::from_mode(&entry.mode).is_some_and(|k| matches!(k, Kind::File | Kind::Executable))
            {
                manifests.push((folder, *name, &entry.id));
            }
        }
    }
    let mut texts = vec![Vec::new(); manifests.len()];
    let ids: Vec<&Sha> = manifests.iter().map(|(_, _, id)| *id).collect();
    let mut size = 0;
    objects::read(clone, &ids, cancel, |index, piece| {
        match piece {
            Piece::Start { size: bytes } => size = bytes,
            Piece::Bytes(bytes) if size <= MANIFEST => texts[index].extend_from_slice(bytes),
            Piece::Bytes(_) | Piece::End => {}
        }
        Ok(())
    })?;
    let wanted: Vec<(&[u8], &[u8], Vec<String>)> = manifests
        .iter()
        .zip(&texts)
        .filter_map(|((folder, name, _), text)| {
            members(name, &String::from_utf8_lossy(text)).map(|globs| (folder.as_slice(), *name, globs))
        })
        .collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    // Folders that hold a manifest of the same kind, from one listing of names.
    let mut holders: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    objects::tree(clone, head, Depth::All, &[], cancel, |entry| {
        let name = entry.path.file_name();
        if matches!(name, b"package.json" | b"Cargo.toml" | b"go.mod" | b"pyproject.toml") {
            holders.push((entry.path.folder().to_vec(), name.to_vec()));
        }
        Ok(())
    })?;
    Ok(wanted
        .into_iter()
        .map(|(folder, name, globs)| {
            let of = match name {
                b"pnpm-workspace.yaml" => b"package.json".as_slice(),
                b"go.work" => b"go.mod",
                other => other,
            };
            let matches = matcher(&globs);
            let members = holders
                .iter()
                .filter(|(holder, manifest)| manifest == of && holder != folder)
                .filter(|(holder, _)| inside(folder, holder).is_some_and(&matches))
                .map(|(holder, _)| RepoPath::new(holder.clone()))
                .collect();
            WorkspaceRoot {
                folder: RepoPath::new(folder),
                manifest: String::from_utf8_lossy(name).into_owned(),
                members,
            }
        })
        .collect())
}

fn inside<'p>(folder: &[u8], path: &'p [u8]) -> Option<&'p str> {
    let rest = if folder.is_empty() { path } else { path.strip_prefix(folder)?.strip_prefix(b"/")? };
    std::str::from_utf8(rest).ok()
}

/// Matches a folder against member globs; a glob with `!` takes members away again.
fn matcher(globs: &[String]) -> impl Fn(&str) -> bool + use<> {
    let set = |wanted: bool| {
        let mut set = GlobSetBuilder::new();
        for glob in globs.iter().filter(|g| g.starts_with('!') != wanted) {
            let glob = glob.trim_start_matches('!').trim_start_matches("./").trim_end_matches('/');
            if glob.len() <= 256
                && let Ok(glob) = GlobBuilder::new(glob).literal_separator(true).build()
            {
                set.add(glob);
            }
        }
        set.build().unwrap_or_default()
    };
    let (with, without) = (set(true), set(false));
    move |path| with.is_match(path) && !without.is_match(path)
}

/// The member globs of a manifest; `None` when it is no workspace root.
fn members(name: &[u8], text: &str) -> Option<Vec<String>> {
    match name {
        b"package.json" => {
            let manifest: PackageJson = serde_json::from_str(text).ok()?;
            Some(match manifest.workspaces? {
                Workspaces::List(list) => list,
                Workspaces::Object { packages } => packages,
            })
        }
        b"pnpm-workspace.yaml" => Some(yaml_list(text, "packages")),
        b"go.work" => Some(go_work(text)),
        _ => {
            let table: toml::Table = text.parse().ok()?;
            let mut globs = Vec::new();
            let workspace = match name {
                b"Cargo.toml" => {
                    path_dependencies(&table, &mut globs);
                    table.get("workspace")
                }
                _ => Some(table.get("tool")?.get("uv")?.get("workspace")?),
            };
            if workspace.is_none() && globs.is_empty() {
                return None;
            }
            let list = |key: &str| {
                let values = workspace.and_then(|of| of.get(key)).and_then(toml::Value::as_array);
                values
                    .into_iter()
                    .flatten()
                    .filter_map(toml::Value::as_str)
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            };
            globs.extend(list("members"));
            globs.extend(list("exclude").into_iter().map(|glob| format!("!{glob}")));
            Some(globs)
        }
    }
}

/// The folders of the dependencies below a `Cargo.toml`: Cargo takes them into the workspace, and into
/// the one lockfile, without their being listed.
fn path_dependencies(table: &toml::Table, out: &mut Vec<String>) {
    for (key, value) in table.iter().filter_map(|(key, value)| Some((key, value.as_table()?))) {
        if key.ends_with("dependencies") {
            let paths = value.values().filter_map(|one| one.get("path").and_then(toml::Value::as_str));
            out.extend(paths.filter(|path| !path.starts_with(['/', '!'])).map(str::to_owned));
        } else if key == "workspace" {
            path_dependencies(value, out);
        } else if key == "target" {
            value.values().filter_map(toml::Value::as_table).for_each(|of| path_dependencies(of, out));
        }
    }
}

#[derive(serde::Deserialize)]
struct PackageJson {
    workspaces: Option<Workspaces>,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Workspaces {
    List(Vec<String>),
    Object {
        #[serde(default)]
        packages: Vec<String>,
    },
}

/// The items of one top-level list of plain strings, in block or flow form: all that a
/// `pnpm-workspace.yaml` has.
fn yaml_list(text: &str, key: &str) -> Vec<String> {
    let clean = |item: &str| {
        let item = item.trim();
        match item.chars().next() {
            Some(quote @ ('"' | '\'')) => item[1..].split(quote).next().unwrap_or_default().to_owned(),
            _ => item.split(" #").next().unwrap_or_default().trim().to_owned(),
        }
    };
    let mut items = Vec::new();
    let mut within = false;
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        if let Some(rest) = line.strip_prefix(key).and_then(|r| r.trim_start().strip_prefix(':')) {
            let rest = rest.trim();
            if let Some(flow) = rest.strip_prefix('[') {
                items.extend(flow.trim_end_matches(']').split(',').map(clean).filter(|i| !i.is_empty()));
            }
            within = true;
        } else if within && let Some(item) = bare.strip_prefix("- ") {
            items.push(clean(item));
        } else if !line.starts_with(' ') {
            within = false;
        }
    }
    items
}

/// `use ./a` and `use ( … )`.
fn go_work(text: &str) -> Vec<String> {
    let mut items = Vec::new();
    let mut within = false;
    for line in text.lines() {
        let bare = line.split("//").next().unwrap_or_default().trim();
        if within {
            if bare == ")" {
                within = false;
            } else if !bare.is_empty() {
                items.push(bare.trim_matches('"').to_owned());
            }
        } else if let Some(rest) = bare.strip_prefix("use") {
            let rest = rest.trim();
            if rest == "(" {
                within = true;
            } else if !rest.is_empty() {
                items.push(rest.trim_matches('"').to_owned());
            }
        }
    }
    items
}
