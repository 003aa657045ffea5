//! What a piece of work asked of GitHub, counted where the requests go out.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Requests that went out, tries counted, and the points of the hourly quota they used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    pub requests: u32,
    pub points: u32,
}

impl std::ops::Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { requests: self.requests + other.requests, points: self.points + other.points }
    }
}

#[derive(Default)]
struct Counters {
    requests: AtomicU32,
    points: AtomicU32,
}

tokio::task_local! {
    static COUNTERS: Arc<Counters>;
}

/// Runs `work` and says what it cost. Requests of tasks that it spawns are not counted.
pub async fn counted<T>(work: impl Future<Output = T>) -> (T, Cost) {
    let counters = Arc::new(Counters::default());
    let result = COUNTERS.scope(Arc::clone(&counters), work).await;
    let cost = Cost {
        requests: counters.requests.load(Ordering::Relaxed),
        points: counters.points.load(Ordering::Relaxed),
    };
    (result, cost)
}

/// Notes a request; nobody may be counting.
pub(super) fn request() {
    let _ = COUNTERS.try_with(|counters| counters.requests.fetch_add(1, Ordering::Relaxed));
}

/// Notes points that an answer cost.
pub(super) fn points(cost: u32) {
    let _ = COUNTERS.try_with(|counters| counters.points.fetch_add(cost, Ordering::Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_piece_of_work_counts_its_own() {
        request();
        let (inner, cost) = counted(async {
            request();
            points(3);
            let (_, inner) = counted(async { request() }).await;
            inner
        })
        .await;
        assert_eq!((cost.requests, cost.points), (1, 3));
        assert_eq!((inner.requests, inner.points), (1, 0));
        assert_eq!(cost + inner, Cost { requests: 2, points: 3 });
    }
}
