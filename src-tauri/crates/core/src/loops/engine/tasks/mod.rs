//! Tasks of the engine: a repair, a rebase, an issue. One at a time in a repository, each in a folder of its
//! own, and what it makes is a commit under `refs/steward/work/` or an answer; nothing goes out from here
//! (engine.md 5, 9, 10, 13, 14).

mod digest;
mod drive;
mod make;
mod rests;
mod run;
mod seat;
mod stop;
mod watch;
mod writable;

pub use run::{Given, run};

use steward_rules::secret::Engine;
use steward_rules::wording;

use crate::loops::Ctx;
use crate::store::engine_tasks::{self, NewTask, Piece, State};
use crate::store::{Durability, StoreError, WriteTx};

/// Longest piece of evidence, in bytes; its end counts most.
const PIECE: usize = 20_000;
/// Most pieces.
const PIECES: usize = 40;

/// Queues a task; `None` when one of the same item is open already. Evidence is redacted and cut here, so that
/// no secret is kept.
pub fn queue(tx: &WriteTx<'_>, new: NewTask) -> Result<Option<i64>, StoreError> {
    let evidence = new.evidence.into_iter().take(PIECES).map(|piece| Piece {
        text: tail(&Engine::shared().redact(&piece.text), PIECE).to_owned(),
        what: piece.what,
    });
    engine_tasks::queue(tx, &NewTask { evidence: evidence.collect(), ..new })
}

fn tail(text: &str, most: usize) -> &str {
    let from = text.len().saturating_sub(most);
    let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    &text[from..]
}

/// Takes up what a runtime that died left: a running task is queued again, and nothing of it is spent.
pub async fn recover(ctx: &Ctx) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Full, |tx| {
            for row in engine_tasks::open(tx)? {
                if row.state == State::Running {
                    engine_tasks::put_back(tx, row.id, wording::task::restarted())?;
                }
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    let home = ctx.home.clone();
    let swept = tokio::task::spawn_blocking(move || drive::sweep(&home));
    if let Err(error) = swept.await {
        tracing::warn!(%error, "folders of tasks are left over");
    }
    Ok(())
}
