//! Pushing: one branch, only from where it is known to stand, only with a permit of the guard.
//!
//! The lease makes it one question and one answer: GitHub moves the branch from the named commit, or not at
//! all. Nothing is forced beyond it, no tag goes along, and the base is no branch a permit names.

use std::time::Duration;

use steward_rules::deed::Deed;
use steward_rules::guard::{EffectPermit, Step};
use steward_rules::ids::Sha;
use steward_rules::untrusted::Untrusted;
use tokio_util::sync::CancellationToken;

use super::clone::BareClone;
use super::error::GitError;
use super::fetch::Line;
use super::runner::{EMPTY_TREE, Flow, Limits};

/// A push of a few commits; the time is for slow lines.
const PUSH: Limits = Limits { time: Duration::from_secs(10 * 60), bytes: 1 << 20 };

/// What became of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a push whose end nobody looks at is made twice or not at all"]
pub enum Pushed {
    Done,
    /// The branch stood elsewhere: nothing moved.
    Lease,
    /// The host takes no such push: a protected branch, a rule, a hook.
    Protected {
        said: String,
    },
    /// The token may not.
    Forbidden {
        said: String,
    },
    /// No such repository, or the token may not see it.
    NotFound,
    /// It may be done: the branch is read before anything else happens.
    Unclear {
        said: String,
    },
}

/// What moves.
struct Move<'a> {
    branch: &'a str,
    from: Option<&'a Sha>,
    to: Option<&'a Sha>,
}

fn planned(deed: &Deed) -> Option<Move<'_>> {
    match deed {
        Deed::Push { branch, from, to } => Some(Move { branch, from: from.as_ref(), to: Some(to) }),
        Deed::DeleteBranch { branch, at } => Some(Move { branch, from: Some(at), to: None }),
        Deed::Comment { .. }
        | Deed::Rerun { .. }
        | Deed::RetryVerdict { .. }
        | Deed::Merge { .. }
        | Deed::Label { .. }
        | Deed::Close { .. }
        | Deed::OpenPull { .. }
        | Deed::Report { .. } => None,
    }
}

impl BareClone {
    /// Moves, makes or deletes the one branch of the permit's deed on its host.
    pub fn push(
        &self,
        permit: EffectPermit,
        line: &Line,
        cancel: &CancellationToken,
    ) -> Result<Pushed, GitError> {
        let is_here = permit.host().eq_ignore_ascii_case(&line.host) && permit.step() == Step::Send;
        let Some(Move { branch, from, to }) = planned(permit.deed()).filter(|_| is_here) else {
            tracing::error!("a permit was shown for another deed or host; nothing was pushed");
            return Ok(Pushed::Forbidden { said: "the permit is for something else".to_owned() });
        };
        let name = format!("refs/heads/{branch}");
        let lease = format!("--force-with-lease={name}:{}", from.map_or("", Sha::as_str));
        let spec = format!("{}:{name}", to.map_or("", Sha::as_str));
        let url = line.url();
        let args = [
            "push",
            "--porcelain",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            &lease,
            "--",
            &url,
            &spec,
        ];
        let mut out = Vec::new();
        let call = line.equip(self.call(&args).limits(PUSH).cancel(cancel));
        let ended = call.ended(|chunk| {
            out.extend_from_slice(chunk);
            Ok(Flow::More)
        });
        Ok(match ended {
            Ok((Some(0), _)) => Pushed::Done,
            Ok((_, words)) => judge(&String::from_utf8_lossy(&out), &line.scrubbed(&words), &name),
            // Stopped in the middle: nobody knows how far it came.
            Err(GitError::Cancelled { .. }) => Pushed::Unclear { said: "it was stopped".to_owned() },
            Err(GitError::Timeout { seconds, .. }) => {
                Pushed::Unclear { said: format!("it was stopped after {seconds} s") }
            }
            Err(error) => return Err(error),
        })
    }

    /// What a push changes, as a patch of at most so many bytes; true when there is more. `from` is where the
    /// branch stands, or for a new one where it left the base; `None`: all of it is new.
    pub fn patch(
        &self,
        from: Option<&Sha>,
        to: &Sha,
        most: usize,
        cancel: &CancellationToken,
    ) -> Result<(String, bool), GitError> {
        let args = [
            "diff-tree",
            "-r",
            "-p",
            "--find-renames",
            "--no-color",
            "--no-ext-diff",
            "--no-textconv",
            "--full-index",
            from.map_or(EMPTY_TREE, Sha::as_str),
            to.as_str(),
            "--",
        ];
        let mut out = Vec::new();
        self.call(&args).limits(Limits::STREAM).cancel(cancel).stream(|chunk| {
            let room = (most + 1).saturating_sub(out.len());
            out.extend_from_slice(&chunk[..chunk.len().min(room)]);
            Ok(if out.len() > most { Flow::Enough } else { Flow::More })
        })?;
        let is_cut = out.len() > most;
        out.truncate(most);
        Ok((String::from_utf8_lossy(&out).into_owned(), is_cut))
    }

    /// Where a new branch left the base as it was fetched last; `None` when they share nothing.
    pub fn fork_point(&self, base: &str, head: &Sha) -> Result<Option<Sha>, GitError> {
        let Some(tip) = self.base(base)? else { return Ok(None) };
        let (said, _) = self.call(&["merge-base", tip.as_str(), head.as_str()]).answer()?;
        Ok(Sha::new(String::from_utf8_lossy(&said).trim()).ok())
    }
}

/// Reads git's own words: its porcelain line of the branch, else what it said before it ended.
fn judge(out: &str, words: &str, name: &str) -> Pushed {
    let shown = |text: &str| Untrusted::new(text).one_line(300);
    let rejected = out.lines().find_map(|line| {
        let rest = line.strip_prefix("!\t")?;
        let (refs, why) = rest.split_once('\t')?;
        refs.ends_with(&format!(":{name}")).then_some(why)
    });
    if let Some(why) = rejected {
        let low = why.to_lowercase();
        let moved =
            ["stale info", "cannot lock ref", "failed to update ref", "already exists", "fetch first"];
        return match moved.iter().any(|word| low.contains(word)) || low.contains("remote ref does not exist")
        {
            true => Pushed::Lease,
            false => Pushed::Protected { said: shown(why) },
        };
    }
    let low = words.to_lowercase();
    let has = |list: &[&str]| list.iter().any(|word| low.contains(word));
    let forbidden = [
        "error: 403",
        "permission to",
        "write access to repository not granted",
        "error: 401",
        "authentication failed",
        "could not read username",
        "invalid username",
    ];
    if has(&forbidden) {
        Pushed::Forbidden { said: shown(words) }
    } else if has(&["error: 404", "repository not found", "not found"]) {
        Pushed::NotFound
    } else {
        Pushed::Unclear { said: shown(words) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_a_rule_a_token_and_a_broken_line_are_told_apart() {
        let name = "refs/heads/steward/pr-1";
        let line = |why: &str| format!("To http://x/y.git\n!\tabc:{name}\t{why}\nDone");
        for (why, wanted) in [
            ("[rejected] (stale info)", "lease"),
            ("[remote rejected] (cannot lock ref 'x': is at a but expected b)", "lease"),
            ("[remote rejected] (reference already exists)", "lease"),
            ("[remote rejected] (remote ref does not exist)", "lease"),
            ("[remote rejected] (protected branch hook declined)", "protected"),
            ("[remote rejected] (push declined due to repository rule violations)", "protected"),
            ("[remote rejected] (hook declined)", "protected"),
        ] {
            let judged = judge(&line(why), "failed to push some refs", name);
            match wanted {
                "lease" => assert_eq!(judged, Pushed::Lease, "{why}"),
                _ => assert_eq!(judged, Pushed::Protected { said: why.to_owned() }),
            }
        }
        let words = |words| judge("", words, name);
        assert!(matches!(words("fatal: … The requested URL returned error: 403"), Pushed::Forbidden { .. }));
        assert!(matches!(words("remote: Permission to a/b denied to c."), Pushed::Forbidden { .. }));
        assert!(matches!(words("fatal: Authentication failed for 'x'"), Pushed::Forbidden { .. }));
        assert_eq!(words("remote: Repository not found."), Pushed::NotFound);
        for lost in ["error: RPC failed; curl 52 Empty reply", "fatal: the remote end hung up", ""] {
            assert!(matches!(words(lost), Pushed::Unclear { .. }), "{lost}");
        }
        // The line of another ref says nothing of ours.
        assert!(matches!(
            judge("!\ta:refs/heads/x\t[rejected] (stale info)", "", name),
            Pushed::Unclear { .. }
        ));
    }
}
