//! Which parts of a tree an agent may write: the folders that the safe paths name, and single files where a
//! pattern names no folder (engine.md 13).

use std::collections::BTreeSet;

use steward_rules::diff::RepoPath;
use steward_rules::engine::paths::SafePaths;
use steward_rules::engine::policy::Policy;

use crate::agent::Writable;
use crate::git::laid::Laid;

/// Most single files that are shown as writable.
const FILES: usize = 200;

/// The writable parts of a tree, none within another. A folder that does not exist yet is named too.
pub(super) fn parts(policy: &Policy, laid: &Laid) -> Vec<Writable> {
    let safe = SafePaths::new(&policy.safe_paths, &policy.protected_paths);
    let mut folders: BTreeSet<String> = BTreeSet::new();
    let mut files: BTreeSet<String> = BTreeSet::new();
    for pattern in policy.safe_paths.iter().filter(|pattern| SafePaths::is_pattern(pattern)) {
        let folder = fixed(pattern);
        if !folder.is_empty() {
            folders.insert(folder);
            continue;
        }
        let only = SafePaths::new(std::slice::from_ref(pattern), &policy.protected_paths);
        for path in laid.paths().filter(|path| only.refuses(path).is_none()) {
            let text = path.shown();
            // `**` opens every folder of the top that holds something safe.
            match text.split_once('/') {
                Some((top, _)) if pattern == "**" => drop(folders.insert(top.to_owned())),
                Some(_) | None => drop(files.insert(text)),
            }
        }
    }
    folders.retain(|path| is_plain(path));
    let all = folders.clone();
    let is_within =
        |path: &str| all.iter().any(|one| path.strip_prefix(one).is_some_and(|rest| rest.starts_with('/')));
    folders.retain(|path| !is_within(path));
    let files = files
        .into_iter()
        .filter(|path| {
            is_plain(path) && !is_within(path) && safe.refuses(&RepoPath::from(path.as_str())).is_none()
        })
        .take(FILES)
        .map(|path| Writable { path, is_folder: false });
    folders.into_iter().map(|path| Writable { path, is_folder: true }).chain(files).collect()
}

/// The folders of a pattern before its first wildcard.
fn fixed(pattern: &str) -> String {
    let parts: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
    let is_wild = |part: &&&str| part.contains(['*', '?', '[', '{']);
    let wild = parts.iter().position(|part| is_wild(&part));
    parts[..wild.unwrap_or(parts.len())].join("/")
}

/// A name that means the same to a command line, a permission rule and a mount, and hides nothing.
fn is_plain(path: &str) -> bool {
    path.split('/').all(|part| !part.is_empty() && !part.starts_with('.'))
        && path.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_opens_the_folders_before_its_first_wildcard() {
        for (pattern, folder) in [
            ("data/", "data"),
            ("data", "data"),
            ("docs/**", "docs"),
            ("a/b/*/c.json", "a/b"),
            ("*.md", ""),
            ("**", ""),
        ] {
            assert_eq!(fixed(pattern), folder, "{pattern}");
        }
    }

    #[test]
    fn a_name_with_other_meanings_is_not_opened() {
        for (path, plain) in [
            ("data", true),
            ("a/b-1_2.x", true),
            ("a b", false),
            ("a,b", false),
            ("x)", false),
            (".git", false),
            ("a/.b", false),
            ("a//b", false),
        ] {
            assert_eq!(is_plain(path), plain, "{path}");
        }
    }
}
