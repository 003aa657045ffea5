//! Hands notifications to the desktop, each at most once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::loops::{Ctx, failpoint};
use crate::store::notices::{self, NoticeRow};
use crate::store::{Durability, StoreError};

/// With nothing new, the table is looked at this often anyway.
const AGAIN: Duration = Duration::from_secs(30);
const AT_ONCE: u32 = 20;

/// Where notifications go: the desktop, or a terminal.
pub trait NoticeSink: Send + Sync + 'static {
    /// Shows one notification. The text is inert already. An error puts it back for later.
    fn show(&self, notice: &NoticeRow) -> Result<(), String>;
}

/// Shows nothing, so that every notification waits for a runtime that can.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl NoticeSink for Nowhere {
    fn show(&self, _notice: &NoticeRow) -> Result<(), String> {
        Err("nothing here can show a notification".to_owned())
    }
}

pub(super) async fn run(
    ctx: Ctx,
    stop: CancellationToken,
    sink: Arc<dyn NoticeSink>,
    mut topics: watch::Receiver<i64>,
) {
    loop {
        if let Err(error) = drain(&ctx, &sink).await {
            tracing::warn!(%error, "notifications wait");
        }
        tokio::select! {
            () = stop.cancelled() => return,
            changed = topics.changed() => if changed.is_err() {
                return;
            },
            // What was put back, or waited for the quiet hours to end.
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

async fn drain(ctx: &Ctx, sink: &Arc<dyn NoticeSink>) -> Result<(), StoreError> {
    let waiting = ctx.store.read(|tx| notices::waiting(tx, AT_ONCE)).await?;
    if waiting.is_empty() || is_quiet(ctx) {
        return Ok(());
    }
    for notice in waiting {
        let key = notice.key.clone();
        // Taken before it is shown: a process that dies between says it never rather than twice, and
        // the inbox entry stands anyway.
        if !ctx.store.write(Durability::Full, move |tx| notices::shown(tx, &key)).await? {
            continue;
        }
        failpoint::reach("notice");
        let (sink, shown) = (Arc::clone(sink), notice.clone());
        let result = tokio::task::spawn_blocking(move || sink.show(&shown)).await;
        if !matches!(result, Ok(Ok(()))) {
            let key = notice.key;
            ctx.store.write(Durability::Full, move |tx| notices::put_back(tx, &key)).await?;
            return Ok(());
        }
    }
    Ok(())
}

/// The quiet hours are the person's, so they are local time.
fn is_quiet(ctx: &Ctx) -> bool {
    let now = ctx.clock.now().with_timezone(&chrono::Local).time();
    ctx.config.current().config.notifications.quiet_hours.is_some_and(|hours| hours.contains(now))
}
