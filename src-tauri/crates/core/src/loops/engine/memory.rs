//! What is remembered of a pull request when it is judged: its own row, and what holds its repository.
//!
//! A row that cannot be read is an error: who judges without a memory would re-run, retry and merge anew.

use steward_rules::engine::hold::Merging;
use steward_rules::engine::memory::Memory;
use steward_rules::ids::PullNumber;
use steward_rules::reading::Reading;

use crate::store::engine_items::{self, ItemKind, ItemRow};
use crate::store::repositories::RepositoryId;
use crate::store::{ReadTx, StoreError, engine};

/// The memory of a pull request as the last tick left it; an empty one where there was none yet.
pub fn of_pull(tx: &ReadTx<'_>, repository: RepositoryId, number: PullNumber) -> Result<Memory, StoreError> {
    let hold = engine::get(tx, repository)?.hold;
    let merging = Merging { hold, ..Merging::default() };
    match engine_items::get(tx, repository, ItemKind::Pr, number.0)? {
        None => Ok(Memory { merging, ..Memory::default() }),
        Some(Reading::Known { value }) => Ok(of(&value, merging)),
        Some(Reading::Unread { why }) => Err(StoreError::Value(why.detail)),
    }
}

/// The memory that a row holds.
pub(super) fn of(item: &ItemRow, merging: Merging) -> Memory {
    Memory {
        head: item.head.clone(),
        behind_since: item.behind_since,
        attempts: item.attempts.clone(),
        rebases: item.rebases,
        reviewed_head: item.reviewed_head.clone(),
        unprocessable: item.unprocessable,
        merging,
        ..Memory::default()
    }
}
