//! A lane for each host: what one host is slow about, or fails at, holds up no other's.

use std::collections::{BTreeMap, HashMap, HashSet};

use tokio::task::{Id, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{REST, drive};
use crate::loops::Ctx;
use crate::store::StoreError;

/// What is being driven now.
#[derive(Default)]
pub(super) struct Lanes {
    driven: JoinSet<Result<(), StoreError>>,
    hosts: HashMap<Id, String>,
    /// Hosts for which something came due while their lane had work.
    missed: HashSet<String>,
    /// Hosts whose lane failed last, and until when it rests.
    failed: HashMap<String, Instant>,
}

impl Lanes {
    /// Drives these effects of a host one after the other, unless its lane has work or rests.
    pub fn drive(&mut self, ctx: &Ctx, stop: &CancellationToken, host: String, ids: Vec<i64>) {
        if !self.are_free_for(&host) {
            self.missed.insert(host);
            return;
        }
        let (ctx, stop) = (ctx.clone(), stop.clone());
        let lane = self.driven.spawn(async move {
            for id in ids {
                if stop.is_cancelled() {
                    break;
                }
                drive(&ctx, id, &stop).await?;
            }
            Ok(())
        });
        self.hosts.insert(lane.id(), host);
    }

    pub fn are_free_for(&self, host: &str) -> bool {
        let rests = self.failed.get(host).is_some_and(|until| *until > Instant::now());
        !rests && !self.hosts.values().any(|driven| driven == host)
    }

    /// False while a lane that failed has not come to an end since.
    pub fn are_well(&self) -> bool {
        self.failed.is_empty()
    }

    /// Where nothing is due any more no failure stands either.
    pub fn forget_failures_but(&mut self, due: &BTreeMap<String, Vec<i64>>) {
        self.failed.retain(|host, _| due.contains_key(host));
    }

    /// Waits for a lane to end, and says whether something came due for its host meanwhile; `None` when
    /// none has work.
    pub async fn ended(&mut self) -> Option<Result<bool, StoreError>> {
        let (lane, ended) = match self.driven.join_next_with_id().await? {
            Ok(ended) => ended,
            Err(error) => (error.id(), Err(StoreError::Value(format!("a defect of Steward: {error}")))),
        };
        let host = self.hosts.remove(&lane).unwrap_or_default();
        let missed = self.missed.remove(&host);
        Some(match ended {
            Ok(()) => {
                self.failed.remove(&host);
                Ok(missed)
            }
            Err(error) => {
                self.failed.insert(host, Instant::now() + REST.to_std().unwrap_or_default());
                Err(error)
            }
        })
    }

    /// Lets each lane come to the end of its step.
    pub async fn finish(mut self) {
        while self.driven.join_next().await.is_some() {}
    }
}
