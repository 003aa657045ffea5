//! Globs over repository paths: `*` stays within one component, a trailing `/` means all below.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::diff::RepoPath;

/// A compiled list of globs, and those of the list that are none.
pub(crate) struct Globs {
    set: GlobSet,
    pub invalid: Vec<String>,
}

impl Globs {
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Self {
        let mut builder = GlobSetBuilder::new();
        let mut invalid = Vec::new();
        for pattern in patterns {
            let pattern = pattern.as_ref();
            let mut text = pattern.strip_prefix("./").unwrap_or(pattern).to_owned();
            if text.ends_with('/') {
                text.push_str("**");
            }
            match GlobBuilder::new(&text).literal_separator(true).backslash_escape(true).build() {
                Ok(glob) => {
                    builder.add(glob);
                }
                Err(_) => invalid.push(pattern.to_owned()),
            }
        }
        match builder.build() {
            Ok(set) => Self { set, invalid },
            // The set as a whole is larger than the engine takes: nothing matches, and all are named.
            Err(_) => Self {
                set: GlobSet::empty(),
                invalid: patterns.iter().map(|pattern| pattern.as_ref().to_owned()).collect(),
            },
        }
    }

    pub fn matches(&self, path: &RepoPath) -> bool {
        self.set.is_match_candidate(&Candidate::from_bytes(path.raw()))
    }
}

/// True when `path` is `prefix` or lies below it, by whole components: `webhooks/x` is not in `web/`.
pub(crate) fn is_under(path: &RepoPath, prefix: &str) -> bool {
    let mut components = path.components();
    prefix
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .all(|part| components.next() == Some(part.as_bytes()))
}
