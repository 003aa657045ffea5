//! The files, links and entries of a change, and how it stands to its base: by git, in our own clone, after
//! one fetch of exactly the commits GitHub named.

use std::collections::HashMap;

use steward_rules::diff::{Kind, RepoPath};
use steward_rules::engine::classify::FILES_CAP;
use steward_rules::engine::entries::{self, Blob, EntryDiff};
use steward_rules::engine::facts::{Compare, FileChange, Listing};
use steward_rules::engine::policy::EntriesPolicy;
use steward_rules::ids::{PullNumber, Sha};
use steward_rules::reading::{Cause, Reading, Why};
use tokio_util::sync::CancellationToken;

use super::{Place, ReadFault};
use crate::git::compare::{self, Change};
use crate::git::landed::{self, Merge};
use crate::git::{BareClone, GitError, Line, Wanted};
use crate::loops::Ctx;

/// Links that are told of one change.
const LINKS: usize = 10_000;
/// The longest file whose entries are counted.
const BLOB: u64 = 16 << 20;
/// And all files of a change together, both sides.
const BLOBS: u64 = 64 << 20;

/// What a head is held against.
pub(super) enum Against {
    /// A branch, at the tip GitHub names.
    Branch { name: String, tip: Sha },
    /// What stood on the base before this commit landed.
    Before(Sha),
}

/// What git is asked.
pub(super) struct Asked {
    pub line: Line,
    pub number: PullNumber,
    pub head: Sha,
    pub against: Result<Against, Why>,
}

/// What git says.
pub(super) struct Trees {
    pub files: Listing<FileChange>,
    pub links: Reading<Vec<RepoPath>>,
    pub entries: Reading<EntryDiff>,
    pub compare: Reading<Compare>,
}

impl Trees {
    fn unread(why: &Why) -> Self {
        let why = || why.clone();
        Self {
            files: Listing::cut([]),
            links: Reading::Unread { why: why() },
            entries: Reading::Unread { why: why() },
            compare: Reading::Unread { why: why() },
        }
    }
}

/// Reads the trees; gives the tip of the base too, where it is known. Git ends when nobody waits any more.
pub(super) async fn read(ctx: &Ctx, place: &Place, asked: Asked) -> Result<(Option<Sha>, Trees), ReadFault> {
    let stop = CancellationToken::new();
    let _ends = stop.clone().drop_guard();
    let (ctx, place) = (ctx.clone(), place.clone());
    let work = tokio::task::spawn_blocking(move || {
        let against = match &asked.against {
            Ok(against) => against,
            Err(why) => return (None, Trees::unread(why)),
        };
        let mut base = match against {
            Against::Branch { tip, .. } => Some(tip.clone()),
            Against::Before(_) => None,
        };
        let found = clone_of(&ctx, &place).and_then(|clone| {
            let found = fetched(&clone, &asked, against, &stop).and_then(|onto| {
                base = Some(onto.clone());
                look(&clone, &onto, &asked.head, &place.policy.entries, &stop)
            });
            if let Err(GitError::Corrupt { .. }) = &found {
                // The next reading makes a new clone.
                clone.give_up()?;
            }
            found
        });
        (base, found.unwrap_or_else(|error| Trees::unread(&error.why())))
    });
    work.await.map_err(|error| ReadFault::Defect(error.to_string()))
}

fn clone_of(ctx: &Ctx, place: &Place) -> Result<BareClone, GitError> {
    BareClone::open_alone(&ctx.git()?, &ctx.home.clones(), &place.host, &place.repo)
}

/// Brings the head and what it is held against; the commit of the base.
fn fetched(
    clone: &BareClone,
    asked: &Asked,
    against: &Against,
    stop: &CancellationToken,
) -> Result<Sha, GitError> {
    let head = Wanted::pull(asked.number, &asked.head);
    match against {
        Against::Branch { name, tip } => {
            clone.fetch(&asked.line, &[head, Wanted::branch(name, tip)], &[], stop)?;
            Ok(tip.clone())
        }
        Against::Before(landed) => {
            clone.fetch(&asked.line, &[head, Wanted::commit(landed)], &[], stop)?;
            let merge = Merge { head: &asked.head, landed, before: &[], tip: None };
            let place = landed::look(clone, &merge, stop)?.place.ok();
            place
                .and_then(|place| place.onto)
                .ok_or_else(|| GitError::NoBase { why: "what the base was before is not known".to_owned() })
        }
    }
}

fn look(
    clone: &BareClone,
    base: &Sha,
    head: &Sha,
    policy: &EntriesPolicy,
    stop: &CancellationToken,
) -> Result<Trees, GitError> {
    let Some(standing) = compare::standing(clone, base, head, stop)? else {
        let why = Why::new(Cause::NoBase, "the head shares no history with its base");
        return Ok(Trees::unread(&why));
    };
    let from = &standing.merge_base;
    let changes = compare::changes(clone, from, head, FILES_CAP, stop)?;
    let links = compare::links(clone, &[from, head], LINKS, stop).map_err(|error| error.why());
    let entries = if changes.complete {
        count(clone, &changes.files, policy, stop)
    } else {
        Reading::unread(Cause::TooLarge, "the list of files is cut")
    };
    let files = changes.files.into_iter().map(|change| FileChange {
        path: change.path,
        old_path: change.old_path,
        old_kind: kind(change.old_kind),
        new_kind: kind(change.new_kind),
    });
    Ok(Trees {
        files: Listing { items: files.collect(), complete: changes.complete },
        links: links.into(),
        entries,
        compare: Reading::known(Compare {
            behind_by: standing.behind_by,
            ahead_by: standing.ahead_by,
            merge_base: standing.merge_base,
        }),
    })
}

fn kind(kind: Option<Kind>) -> Reading<Kind> {
    match kind {
        Some(kind) => Reading::known(kind),
        None => Reading::unread(Cause::GitFailed, "a mode that git does not write"),
    }
}

/// The entries a change touches. Of a file whose content is not looked into its id stands for it.
fn count(
    clone: &BareClone,
    changes: &[Change],
    policy: &EntriesPolicy,
    stop: &CancellationToken,
) -> Reading<EntryDiff> {
    let reads = entries::reads(policy);
    let is_file = |kind: &Option<Kind>| matches!(kind, Some(Kind::File | Kind::Executable));
    let before = changes.iter().filter(|change| is_file(&change.old_kind));
    let before = before.map(|change| (change.old_path.as_ref().unwrap_or(&change.path), &change.old_blob));
    let after = changes.iter().filter(|change| is_file(&change.new_kind));
    let after = after.map(|change| (&change.path, &change.new_blob));
    let (before, after): (Vec<_>, Vec<_>) = (before.collect(), after.collect());
    let wanted = before.iter().chain(&after).filter(|(path, _)| reads(path)).map(|(_, blob)| *blob);
    let bytes = match compare::blobs(clone, &wanted.collect::<Vec<_>>(), BLOB, BLOBS, stop) {
        Ok(bytes) => bytes,
        Err(error) => return Reading::Unread { why: error.why() },
    };
    let side = |files: &[(&RepoPath, &Sha)]| -> Vec<Blob> {
        files.iter().map(|(path, blob)| of_blob(path, blob, &bytes)).collect()
    };
    match entries::count(policy, &side(&before), &side(&after)) {
        Ok(diff) => Reading::known(diff),
        Err(error) => Reading::unread(Cause::GitFailed, error.to_string()),
    }
}

fn of_blob(path: &RepoPath, blob: &Sha, bytes: &HashMap<Sha, Vec<u8>>) -> Blob {
    let bytes = bytes.get(blob).cloned().unwrap_or_else(|| blob.as_str().as_bytes().to_vec());
    Blob { path: path.clone(), bytes }
}
