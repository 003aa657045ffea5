//! One thing to be done on GitHub, with everything that goes out by it.
//!
//! What a permit of the guard allows is a deed, whole: nobody adds a text, a branch or a commit afterwards.

use serde::{Deserialize, Serialize};

use crate::diff::RepoPath;
use crate::engine::policy::{MergeMethod, Policy};
use crate::globs::Globs;
use crate::ids::Sha;
use crate::power::EffectClass;

/// What is done. Serialised it is what the journal keeps and what a person says yes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Deed {
    /// A comment whose first line is its marker, by which it is found again.
    Comment {
        body: String,
    },
    /// The failed jobs of a workflow run, run again after this attempt.
    Rerun {
        run: u64,
        attempt: u64,
    },
    /// The same for the run that gives the verdict; for the n-th time at this head.
    RetryVerdict {
        run: u64,
        attempt: u64,
        n: u32,
    },
    Merge {
        method: MergeMethod,
    },
    /// A branch of a merged pull request, as long as it ends at this commit.
    DeleteBranch {
        branch: String,
        at: Sha,
    },
    Label {
        add: Vec<String>,
        remove: Vec<String>,
    },
    Close {
        what: Closes,
        reason: Option<Reason>,
    },
    /// A pull request of a branch that ends at this commit.
    OpenPull {
        branch: String,
        at: Sha,
        base: String,
        title: String,
        body: String,
        labels: Vec<String>,
    },
    /// A branch moves `from` one commit `to` another, and only from it. `None`: the branch is new.
    Push {
        branch: String,
        from: Option<Sha>,
        to: Sha,
    },
    /// The body of the report's issue.
    Report {
        body: String,
    },
}

/// What is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closes {
    Issue,
    Pull,
}

/// Why an issue is closed, in GitHub's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Completed,
    NotPlanned,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::NotPlanned => "not_planned",
        }
    }
}

/// How the subject must stand for a deed to make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// The issue or pull request is open; a pull request is at the judged head, where one is named.
    Open,
    /// The pull request was merged at the judged head.
    Merged,
    /// Nothing: there may be no subject.
    Nothing,
}

impl Deed {
    /// One word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Comment { .. } => "comment",
            Self::Rerun { .. } => "rerun",
            Self::RetryVerdict { .. } => "retry_verdict",
            Self::Merge { .. } => "merge",
            Self::DeleteBranch { .. } => "delete_branch",
            Self::Label { .. } => "label",
            Self::Close { .. } => "close",
            Self::OpenPull { .. } => "open_pull",
            Self::Push { .. } => "push",
            Self::Report { .. } => "report",
        }
    }

    /// True when the switch of this class is the one that lets the deed out. No class lets out what is
    /// another's.
    pub fn is_of(&self, class: EffectClass) -> bool {
        use EffectClass as C;
        match self {
            Self::Comment { .. } => {
                matches!(class, C::CommentReview | C::CommentIssue | C::Supersede | C::Rebase)
            }
            Self::Rerun { .. } => class == C::RerunCheck,
            Self::RetryVerdict { .. } => class == C::RetryVerdict,
            Self::Merge { .. } => class == C::Merge,
            Self::DeleteBranch { .. } => class == C::DeleteBranch,
            Self::Label { .. } => class == C::Label,
            Self::Close { what: Closes::Issue, .. } => class == C::CloseIssue,
            Self::Close { what: Closes::Pull, .. } => class == C::Supersede,
            Self::OpenPull { .. } => matches!(class, C::OpenPr | C::Supersede),
            Self::Push { .. } => matches!(class, C::Rebase | C::PushFix | C::OpenPr | C::Supersede),
            Self::Report { .. } => class == C::Report,
        }
    }

    pub fn needs(&self) -> Needs {
        match self {
            Self::Comment { .. }
            | Self::Rerun { .. }
            | Self::RetryVerdict { .. }
            | Self::Merge { .. }
            | Self::Label { .. }
            | Self::Close { .. }
            | Self::OpenPull { .. }
            | Self::Push { .. } => Needs::Open,
            Self::DeleteBranch { .. } => Needs::Merged,
            Self::Report { .. } => Needs::Nothing,
        }
    }

    /// The part of the journal's key that is the deed's own: the same deed on the same subject and head has
    /// the same one for ever. `round` counts what was said or reported of the subject before, so that what
    /// was undone by a person and decided anew is another deed.
    pub fn key(&self, round: usize) -> String {
        match self {
            Self::Comment { body } => format!("comment:{}", marker_of(body).unwrap_or_default()),
            Self::Rerun { run, attempt } | Self::RetryVerdict { run, attempt, .. } => {
                format!("run:{run}:{attempt}")
            }
            Self::Merge { .. } => "merge".to_owned(),
            Self::DeleteBranch { branch, at } => format!("branch:{branch}@{at}"),
            Self::Label { .. } => format!("label:{round}"),
            Self::Close { .. } => format!("close:{round}"),
            Self::OpenPull { branch, at, .. } => format!("open:{branch}@{at}"),
            Self::Push { branch, from, to } => {
                format!("push:{branch}:{}..{to}", from.as_ref().map_or("new", Sha::as_str))
            }
            Self::Report { .. } => format!("report:{round}"),
        }
    }

    /// True when a newer one of its kind on the same subject takes the place of one that was not sent.
    pub fn replaces_older(&self) -> bool {
        match self {
            Self::Comment { .. } | Self::Rerun { .. } | Self::RetryVerdict { .. } => false,
            Self::Merge { .. }
            | Self::DeleteBranch { .. }
            | Self::Label { .. }
            | Self::Close { .. }
            | Self::OpenPull { .. }
            | Self::Push { .. }
            | Self::Report { .. } => true,
        }
    }

    /// The text that goes out, where there is one.
    pub fn text(&self) -> &str {
        match self {
            Self::Comment { body } | Self::OpenPull { body, .. } | Self::Report { body } => body,
            Self::Rerun { .. }
            | Self::RetryVerdict { .. }
            | Self::Merge { .. }
            | Self::DeleteBranch { .. }
            | Self::Label { .. }
            | Self::Close { .. }
            | Self::Push { .. } => "",
        }
    }

    /// Writes of which it consists: a pull request gets its labels, and each label goes, by a write of its
    /// own.
    pub fn writes(&self) -> u32 {
        let count = |list: &[String]| u32::try_from(list.len()).unwrap_or(u32::MAX);
        match self {
            Self::OpenPull { labels, .. } => 1 + u32::from(!labels.is_empty()),
            Self::Label { add, remove } => u32::from(!add.is_empty()).saturating_add(count(remove)).max(1),
            Self::Comment { .. }
            | Self::Rerun { .. }
            | Self::RetryVerdict { .. }
            | Self::Merge { .. }
            | Self::DeleteBranch { .. }
            | Self::Close { .. }
            | Self::Push { .. }
            | Self::Report { .. } => 1,
        }
    }
}

/// The first line of a text when it is one of Steward's own markers.
pub fn marker_of(text: &str) -> Option<&str> {
    let line = text.lines().next()?.trim_end();
    let inner = line.strip_prefix("<!-- steward:")?.strip_suffix(" -->")?;
    let plain = |c: char| c.is_ascii_alphanumeric() || " -_=./:#".contains(c);
    (inner.starts_with(|c: char| c.is_ascii_lowercase()) && !inner.contains("--") && inner.chars().all(plain))
        .then_some(line)
}

/// The branches of a repository that deeds may touch, as its policy names them (engine.md 5 and 4.6).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Branches {
    /// Never pushed to, and never deleted. `None`: not known, and no branch is touched.
    pub base: Option<String>,
    /// Globs of the branches that may be pushed to.
    pub push: Vec<String>,
    /// Globs of those among them that may be deleted once they merged.
    pub delete: Vec<String>,
}

/// Why a branch is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OffLimits {
    /// It is no name of a branch.
    Name,
    /// It is the base.
    Base,
    /// The policy names it nowhere.
    NotNamed,
    /// A pull request would go to another branch than the base.
    NotTheBase,
}

impl From<&Policy> for Branches {
    fn from(policy: &Policy) -> Self {
        Self {
            base: policy.base.clone(),
            push: policy.push.allowed.clone(),
            delete: policy.delete_branch_globs.clone(),
        }
    }
}

impl Branches {
    /// True for a branch that may be pushed to.
    pub fn may_push(&self, branch: &str) -> Result<(), OffLimits> {
        if !is_branch(branch) {
            return Err(OffLimits::Name);
        }
        if self.base.as_deref().is_none_or(|base| base.is_empty() || branch == base) {
            return Err(OffLimits::Base);
        }
        if matches(&self.push, branch) { Ok(()) } else { Err(OffLimits::NotNamed) }
    }

    /// The branch that is off limits for this deed, and why; `None` for a deed that may go.
    pub fn forbid(&self, deed: &Deed) -> Option<(String, OffLimits)> {
        let judged =
            |branch: &String, result: Result<(), OffLimits>| result.err().map(|why| (branch.clone(), why));
        match deed {
            Deed::Push { branch, .. } => judged(branch, self.may_push(branch)),
            Deed::DeleteBranch { branch, .. } => {
                let named = || if matches(&self.delete, branch) { Ok(()) } else { Err(OffLimits::NotNamed) };
                judged(branch, self.may_push(branch).and_then(|()| named()))
            }
            Deed::OpenPull { branch, base, .. } => {
                let to_base =
                    || if self.base.as_ref() == Some(base) { Ok(()) } else { Err(OffLimits::NotTheBase) };
                judged(branch, self.may_push(branch).and_then(|()| to_base()))
            }
            Deed::Comment { .. }
            | Deed::Rerun { .. }
            | Deed::RetryVerdict { .. }
            | Deed::Merge { .. }
            | Deed::Label { .. }
            | Deed::Close { .. }
            | Deed::Report { .. } => None,
        }
    }
}

fn matches(globs: &[String], branch: &str) -> bool {
    Globs::new(globs).matches(&RepoPath::from(branch))
}

/// True for a name that git takes as a branch, and that means itself alone in a list of refs.
pub fn is_branch(name: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.starts_with(['.', '-']) && !part.ends_with(".lock");
    !name.is_empty()
        && name.len() <= 200
        && name != "HEAD"
        && !name.starts_with("refs/")
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && name != "@"
        && name.bytes().all(|b| b > b' ' && b != 0x7f && !b"~^:?*[\\".contains(&b))
        && name.split('/').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_branch_or_it_is_refused() {
        for name in ["steward/pr-3", "intake/issue-12", "a", "a/b/c", "feat/\u{e4}#1", "v1.2"] {
            assert!(is_branch(name), "{name}");
        }
        for name in [
            "",
            "HEAD",
            "@",
            "-x",
            "a/-x",
            "refs/heads/main",
            "a b",
            "a..b",
            "a/.b",
            ".a",
            "a.lock",
            "a/",
            "/a",
            "a//b",
            "a:b",
            "a*",
            "a?",
            "a[",
            "a\\b",
            "a~1",
            "a^",
            "a@{1}",
            "a\nb",
            "a.",
            "a\u{7f}",
        ] {
            assert!(!is_branch(name), "{name:?}");
        }
        assert!(!is_branch(&"a".repeat(201)));
    }

    #[test]
    fn a_marker_is_the_first_line_and_nothing_else() {
        let marker = "<!-- steward:question issue=12 n=1 -->";
        assert_eq!(marker_of(&format!("{marker}\nwhich?")), Some(marker));
        for odd in [
            "which?",
            "\n<!-- steward:question -->",
            "<!-- steward:a -- b -->",
            "<!-- steward:a --> b -->",
            "<!-- steward: -->",
            "<!-- steward:a @maria -->",
            "> <!-- steward:a -->",
            "",
        ] {
            assert_eq!(marker_of(odd), None, "{odd:?}");
        }
    }
}
