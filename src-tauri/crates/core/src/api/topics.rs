//! A tail of the outbox: which topics changed since the last look.

use crate::store::{Store, StoreError, outbox};

/// Sent when topics were pruned before they were read: everything may have changed.
pub const EVERYTHING: &str = "*";

pub struct Topics {
    store: Store,
    last: Option<i64>,
}

impl Topics {
    pub(super) fn new(store: Store) -> Self {
        Self { store, last: None }
    }

    /// The topics that changed since the last call, each once. The first call starts the tail.
    pub async fn changed(&mut self) -> Vec<String> {
        let Some(last) = self.last else {
            self.last = self.store.read(outbox::last).await.ok();
            return Vec::new();
        };
        let read = self.store.read(move |tx| -> Result<_, StoreError> { outbox::since(tx, last) }).await;
        match read {
            Ok(topics) => {
                self.last = Some(topics.last);
                let mut names = topics.names;
                if topics.gap {
                    names.push(EVERYTHING.to_owned());
                }
                names
            }
            // The next look tries again from the same place.
            Err(_) => Vec::new(),
        }
    }
}
