//! The built app in a real window: a display, a bus, a home and a browser driver of its own per test.

pub mod bus;
pub mod desk;
pub mod display;
pub mod driver;
pub mod notices;
pub mod page;
pub mod process;
pub mod tray;

use std::time::{Duration, Instant};

/// How long anything may take that a person would wait for.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Asks again and again until the answer is there; `what` says what was waited for.
pub async fn until<T>(what: &str, limit: Duration, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(started.elapsed() < limit, "waited {limit:?} in vain for {what}");
        tokio::time::sleep(Duration::from_millis(40)).await;
    }
}
