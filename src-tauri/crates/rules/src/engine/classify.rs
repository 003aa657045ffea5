//! What kind of pull request it is, as a fact about one head (engine.md 3). First match wins.

use super::facts::{FileChange, LinkedIssue, PrObs};
use super::paths::{NotData, SafePaths};
use super::policy::{Policy, has_label};
use crate::diff::{Kind, RepoPath};
use crate::reading::Reading;
use crate::wording;

/// GitHub lists no more files of a pull request than that.
pub const FILES_CAP: usize = 3000;

/// The class of a pull request at one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// Another bot's own: nothing, ever.
    OwnBot,
    /// Nothing; its branch is never pushed to and never deleted.
    Draft,
    /// What decides the class could not be read whole.
    Unreadable(Unreadable),
    /// Never merged, never pushed to. One review per head.
    Code(CodeReason),
    /// From another repository, or to another branch.
    Foreign(ForeignReason),
    /// More entries than may be merged at once.
    Oversize { touched: usize, cap: u32 },
    /// A label, an author or an originating form forbids automation.
    NeverMerge(NeverReason),
    /// The ready path: the gate or the ladder.
    Data { touched: usize },
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    Labels,
    /// The list of files, cut short at so many.
    Files {
        read: usize,
    },
    /// A complete list without a single file.
    NoFiles,
    Modes {
        path: RepoPath,
    },
    Links,
    /// GitHub has not named the default branch, and the policy names no base.
    Base,
    Entries,
}

/// Why it is code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeReason {
    Path {
        path: RepoPath,
        why: NotData,
    },
    Symlink {
        path: RepoPath,
    },
    Submodule {
        path: RepoPath,
    },
    Executable {
        path: RepoPath,
    },
    /// The tree holds a symlink or submodule where data lies.
    LinkInTree {
        path: RepoPath,
    },
}

/// Why it is foreign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ForeignReason {
    /// Its head lies in another repository.
    Fork,
    /// The repository of its head was deleted.
    DeletedFork,
    Base {
        branch: String,
    },
}

/// What forbids automation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NeverReason {
    Label {
        label: String,
    },
    /// An issue it closes came through such a form.
    Form {
        issue: i64,
        label: String,
    },
    Author {
        login: String,
    },
}

impl Class {
    /// One word that never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::OwnBot => "own_bot",
            Self::Draft => "draft",
            Self::Unreadable(_) => "unreadable",
            Self::Code(_) => "code",
            Self::Foreign(_) => "foreign",
            Self::Oversize { .. } => "oversize",
            Self::NeverMerge(_) => "never_merge",
            Self::Data { .. } => "data",
        }
    }

    /// What makes it so, in one sentence.
    pub fn message(&self) -> String {
        wording::engine::class(self)
    }
}

/// Names the class of a pull request at its present head.
pub fn classify(pr: &PrObs, policy: &Policy) -> Class {
    if policy.own_bots.head_prefixes.iter().any(|prefix| is_below(&pr.head.branch, prefix)) {
        return Class::OwnBot;
    }
    match &pr.labels {
        Reading::Known { value } if has_label(value, &policy.own_bots.labels).is_some() => {
            return Class::OwnBot;
        }
        Reading::Known { .. } | Reading::Unread { .. } if pr.draft => return Class::Draft,
        Reading::Unread { .. } => return Class::Unreadable(Unreadable::Labels),
        Reading::Known { .. } => {}
    }
    if !pr.files.complete || pr.files.items.len() >= FILES_CAP {
        return Class::Unreadable(Unreadable::Files { read: pr.files.items.len() });
    }
    if pr.files.items.is_empty() {
        return Class::Unreadable(Unreadable::NoFiles);
    }
    let safe = SafePaths::new(&policy.safe_paths, &policy.protected_paths);
    match code(pr, policy, &safe) {
        Ok(None) => {}
        Ok(Some(reason)) => return Class::Code(reason),
        Err(unread) => return Class::Unreadable(unread),
    }
    match foreign(pr, policy) {
        Ok(None) => {}
        Ok(Some(reason)) => return Class::Foreign(reason),
        Err(unread) => return Class::Unreadable(unread),
    }
    let touched = match &pr.entries {
        Reading::Known { value } => value.touched(),
        Reading::Unread { .. } => return Class::Unreadable(Unreadable::Entries),
    };
    if touched > policy.merge_max_entries as usize {
        return Class::Oversize { touched, cap: policy.merge_max_entries };
    }
    match never(pr, policy) {
        Some(reason) => Class::NeverMerge(reason),
        None => Class::Data { touched },
    }
}

/// What of the change is code. The smallest path names it, so that the order of the list says nothing; a
/// path that is code for certain counts before one whose mode is not known.
fn code(pr: &PrObs, policy: &Policy, safe: &SafePaths) -> Result<Option<CodeReason>, Unreadable> {
    let mut files: Vec<&FileChange> = pr.files.items.iter().collect();
    files.sort_by_key(|file| (&file.path, &file.old_path));
    let sides = |file: &FileChange| -> Vec<RepoPath> {
        file.old_path.iter().chain(std::iter::once(&file.path)).cloned().collect()
    };
    for file in &files {
        for path in sides(file) {
            if let Some(why) = safe.refuses(&path) {
                return Ok(Some(CodeReason::Path { path, why }));
            }
        }
    }
    for file in &files {
        for kind in [&file.old_kind, &file.new_kind] {
            let path = || file.path.clone();
            match kind {
                Reading::Known { value: Kind::Symlink } => {
                    return Ok(Some(CodeReason::Symlink { path: path() }));
                }
                Reading::Known { value: Kind::Submodule } => {
                    return Ok(Some(CodeReason::Submodule { path: path() }));
                }
                Reading::Known { value: Kind::Executable } if !policy.allow_exec => {
                    return Ok(Some(CodeReason::Executable { path: path() }));
                }
                Reading::Known { value: Kind::Absent | Kind::File | Kind::Executable }
                | Reading::Unread { .. } => {}
            }
        }
    }
    if let Reading::Known { value: links } = &pr.links
        && let Some(path) = links.iter().filter(|path| safe.covers(path)).min()
    {
        return Ok(Some(CodeReason::LinkInTree { path: path.clone() }));
    }
    let unread = |file: &&&FileChange| file.old_kind.get().is_err() || file.new_kind.get().is_err();
    if let Some(file) = files.iter().find(unread) {
        return Err(Unreadable::Modes { path: file.path.clone() });
    }
    // Nothing stands on either side: the trees that were asked do not belong to this list.
    let absent = |kind: &Reading<Kind>| matches!(kind, Reading::Known { value: Kind::Absent });
    if let Some(file) = files.iter().find(|file| absent(&file.old_kind) && absent(&file.new_kind)) {
        return Err(Unreadable::Modes { path: file.path.clone() });
    }
    pr.links.get().map(|_| None).map_err(|_| Unreadable::Links)
}

fn foreign(pr: &PrObs, policy: &Policy) -> Result<Option<ForeignReason>, Unreadable> {
    Ok(match (pr.head.repo, &policy.base) {
        (None, _) => Some(ForeignReason::DeletedFork),
        (Some(repo), _) if repo != pr.base.repo => Some(ForeignReason::Fork),
        (Some(_), None) => return Err(Unreadable::Base),
        (Some(_), Some(base)) if pr.base.branch != *base => {
            Some(ForeignReason::Base { branch: pr.base.branch.clone() })
        }
        (Some(_), Some(_)) => None,
    })
}

fn never(pr: &PrObs, policy: &Policy) -> Option<NeverReason> {
    if let Ok(labels) = pr.labels.get()
        && let Some(label) = has_label(labels, &policy.never_merge_labels)
    {
        return Some(NeverReason::Label { label: label.clone() });
    }
    if policy.protected_authors.iter().any(|login| login.eq_ignore_ascii_case(&pr.author.login)) {
        return Some(NeverReason::Author { login: pr.author.login.clone() });
    }
    let mut forms: Vec<&LinkedIssue> = pr.linked_issues.items.iter().collect();
    forms.sort_by_key(|issue| issue.number);
    forms.into_iter().find_map(|issue| {
        let label = has_label(&issue.labels, &policy.never_merge_labels)?;
        Some(NeverReason::Form { issue: issue.number, label: label.clone() })
    })
}

/// True when a branch lies below a folder of branch names.
fn is_below(branch: &str, prefix: &str) -> bool {
    let folder = prefix.trim_end_matches('/');
    branch.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}
