//! Looks at the blobs that no patch showed: is it binary, is it a pointer, does it hold a secret.

use std::collections::HashMap;

use steward_rules::diff::collect::{Collected, sniff};
use steward_rules::diff::{Content, Diff};
use steward_rules::ids::Sha;
use steward_rules::secret::Scan;
use tokio_util::sync::CancellationToken;

use super::log::Unshown;
use crate::git::clone::BareClone;
use crate::git::error::GitError;
use crate::git::objects::{self, Piece};

/// Git's own measure of "does it look binary".
const FIRST: usize = 8000;
/// A blob is scanned in pieces of this size, so that none is held whole.
const PIECE: usize = 8 << 20;
/// Bytes that two pieces share: longer than any secret, so that none is cut apart.
const SHARED: usize = 16 << 10;
/// Bytes scanned of all blobs together; the rest counts as skipped.
const SCANNED_IN_ALL: u64 = 512 << 20;

/// Fills in the content of the files that need a look, and scans the unshown blobs. Each blob is
/// read once, and no process starts when there is none.
pub(super) fn look(
    clone: &BareClone,
    collected: Collected,
    unshown: &[Unshown],
    scan: &mut Scan<'_>,
    cancel: &CancellationToken,
) -> Result<Diff, GitError> {
    let Collected { mut diff, look } = collected;
    let mut ids: Vec<&Sha> = Vec::new();
    let mut uses: HashMap<&Sha, usize> = HashMap::new();
    let looked: Vec<Sha> = look.iter().map(|index| diff.files[*index].new_blob.clone()).collect();
    for id in looked.iter().chain(unshown.iter().map(|u| &u.blob)) {
        uses.entry(id).or_insert_with(|| {
            ids.push(id);
            ids.len() - 1
        });
    }
    let mut scans: Vec<Option<&Unshown>> = vec![None; ids.len()];
    for blob in unshown {
        scans[uses[&blob.blob]] = Some(blob);
    }
    let mut contents = vec![Content::None; ids.len()];
    let (mut first, mut held, mut size) = (Vec::new(), Vec::<u8>::new(), 0_u64);
    // Of all blobs, and of the one being read.
    let (mut spent, mut taken) = (0_u64, 0_u64);
    objects::read(clone, &ids, cancel, |index, piece| {
        match piece {
            Piece::Start { size: bytes } => {
                size = bytes;
                first.clear();
                held.clear();
                taken = 0;
            }
            Piece::Bytes(bytes) => {
                let room = FIRST - first.len();
                first.extend_from_slice(&bytes[..bytes.len().min(room)]);
                if let Some(blob) = scans[index] {
                    let room = usize::try_from(SCANNED_IN_ALL.saturating_sub(spent)).unwrap_or(usize::MAX);
                    let part = &bytes[..bytes.len().min(room)];
                    held.extend_from_slice(part);
                    spent += part.len() as u64;
                    taken += part.len() as u64;
                    if held.len() >= PIECE {
                        scan.binary(blob.commit.as_str(), &blob.path, &held);
                        held.drain(..held.len() - SHARED);
                    }
                }
            }
            Piece::End => {
                contents[index] = sniff(&first, size);
                if let Some(blob) = scans[index] {
                    scan.binary(blob.commit.as_str(), &blob.path, &held);
                    let left = size.saturating_sub(taken);
                    if left > 0 {
                        scan.skipped(left);
                    }
                }
            }
        }
        Ok(())
    })?;
    for (index, id) in look.iter().zip(&looked) {
        diff.files[*index].content = contents[uses[id]];
    }
    Ok(diff)
}
