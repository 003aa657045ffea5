//! Lets go of what the engine's own clones keep and nobody needs any more: the heads of pull requests that are
//! not open, and the results of tasks that went out or were dropped.
//!
//! A head that is needed after all is fetched again. What the refs held stays in the clone's packs.

use steward_rules::ids::RepoName;

use crate::git::{BareClone, Needed};
use crate::loops::Ctx;
use crate::store::{StoreError, engine_tasks, pulls, repositories};

/// Goes through the clone of each repository that was looked at; how many refs went.
pub async fn run(ctx: &Ctx) -> Result<usize, StoreError> {
    let places: Vec<(String, RepoName, Needed)> = ctx
        .store
        .read(|tx| {
            let mut places = Vec::new();
            for row in repositories::looked_at(tx)? {
                let open = pulls::open_of(tx, row.id)?.into_iter().map(|pull| pull.number.0);
                let needed = Needed {
                    pulls: open.collect(),
                    work: engine_tasks::with_work(tx, row.id)?,
                    newest_work: engine_tasks::newest(tx)?,
                };
                places.push((row.host, row.name, needed));
            }
            Ok::<_, StoreError>(places)
        })
        .await?;
    let Ok(git) = ctx.git() else { return Ok(0) };
    let clones = ctx.home.clones();
    let work = tokio::task::spawn_blocking(move || {
        let mut gone = 0;
        for (host, name, needed) in places {
            let Some(clone) = BareClone::find_alone(&git, &clones, &host, &name) else { continue };
            match clone.let_go(&needed) {
                Ok(count) => gone += count,
                Err(error) => tracing::warn!(repository = %name, %error, "its clone keeps what it has"),
            }
        }
        gone
    });
    work.await.map_err(|error| StoreError::Value(format!("a defect of Steward: {error}")))
}
