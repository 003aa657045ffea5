//! Hosting the runtime: for the window, for `steward serve`, or for one command's own work.

use std::sync::Arc;
use std::time::Duration;

use steward_rules::ids::ReviewId;
use tokio::task::JoinHandle;

use super::Api;
use super::error::{ApiError, ErrorCode};
use crate::home::Home;
use crate::lock::{self, HolderKind, LockError};
use crate::loops::supervisor::{NoticeSink, Runtime, RuntimeError, run_one, send_one};
use crate::store::reviews::ReviewRecord;

/// How often a command looks whether another one is done.
const TURN: Duration = Duration::from_millis(300);

/// The runtime of this process. It ends when this is stopped or dropped.
pub struct Hosted {
    runtime: Runtime,
}

impl Hosted {
    /// Stops seats and loops, waits for them, and lets go of the data folder.
    pub async fn stop(self) {
        self.runtime.stop().await;
    }

    /// Why the last tick did not do its work, if it did not.
    pub fn trouble(&self) -> Option<String> {
        self.runtime.trouble()
    }
}

/// A review that this command drives itself.
pub(super) type OwnReview = JoinHandle<Result<ReviewRecord, RuntimeError>>;

impl Api {
    /// Hosts the runtime in this process; refused while another process does.
    pub async fn host_runtime(
        &self,
        kind: HolderKind,
        sink: Arc<dyn NoticeSink>,
    ) -> Result<Hosted, ApiError> {
        let runtime = Runtime::start(self.ctx.clone(), kind, sink).await?;
        Ok(Hosted { runtime })
    }

    /// Drives one review in this process, unless a runtime that picks up everything will: false then.
    /// While another command drives its own review, this one waits its turn.
    pub async fn host_review(&self, review: i64) -> bool {
        if self.is_served() {
            return false;
        }
        let (ctx, home) = (self.ctx.clone(), self.home().clone());
        let task = tokio::spawn(async move {
            loop {
                match run_one(&ctx, ReviewId(review), |_| {}).await {
                    Err(RuntimeError::Lock(LockError::Held(_))) if !serves(&home) => {
                        tokio::time::sleep(TURN).await;
                    }
                    ended => return ended,
                }
            }
        });
        *self.own.lock().await = Some(task);
        true
    }

    /// Sends one effect from this process, unless a runtime that picks up everything will: false then.
    /// While another command drives its own work, this one waits its turn.
    pub async fn host_effect(&self, effect: i64) -> Result<bool, ApiError> {
        loop {
            if self.is_served() {
                return Ok(false);
            }
            match send_one(&self.ctx, effect).await? {
                Some(_) => return Ok(true),
                None => tokio::time::sleep(TURN).await,
            }
        }
    }

    /// True while a window or `steward serve` picks up whatever is queued.
    pub(super) fn is_served(&self) -> bool {
        serves(self.home())
    }

    /// Waits until the review driven here let go of the data folder. What made it stop early, such as
    /// a runtime that took the folder first, is an error.
    pub async fn own_review_ended(&self) -> Result<(), ApiError> {
        let Some(task) = self.own.lock().await.take() else { return Ok(()) };
        match task.await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(RuntimeError::Lock(LockError::Held(_)))) => Ok(()),
            Ok(Err(error)) => Err(error.into()),
            Err(error) => Err(ApiError::new(ErrorCode::Internal, error.to_string())),
        }
    }

    /// True while this process drives a review itself.
    pub async fn drives_review(&self) -> bool {
        self.own.lock().await.as_ref().is_some_and(|task| !task.is_finished())
    }
}

fn serves(home: &Home) -> bool {
    match lock::holder(home) {
        Ok(Some(holder)) => match holder.kind {
            HolderKind::Desktop | HolderKind::Serve => true,
            HolderKind::Command => false,
        },
        Ok(None) | Err(_) => false,
    }
}

impl From<RuntimeError> for ApiError {
    fn from(error: RuntimeError) -> Self {
        match error {
            RuntimeError::Lock(error @ LockError::Held(_)) => {
                Self::new(ErrorCode::Refused, error.to_string())
                    .hint("`steward status` names it; quit it first")
            }
            RuntimeError::Lock(error) => Self::new(ErrorCode::Store, error.to_string()),
            RuntimeError::Store(error) => error.into(),
            RuntimeError::Drive(error) => Self::new(ErrorCode::Internal, error.to_string()),
            RuntimeError::NoReview(_) | RuntimeError::NoEffect(_) => {
                Self::new(ErrorCode::NotFound, error.to_string())
            }
        }
    }
}
