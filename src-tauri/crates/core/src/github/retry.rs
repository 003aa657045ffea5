//! When a read is tried again. A write never is.

use std::sync::Arc;
use std::time::Duration;

/// A number from 0 to 1, so that many clients do not come back at once.
pub type Jitter = Arc<dyn Fn() -> f64 + Send + Sync>;

/// How often and how long a read is tried again.
#[derive(Clone)]
pub struct Retry {
    /// Tries in all, the first one counted.
    pub tries: u32,
    /// The first wait; each further one is twice as long.
    pub first: Duration,
    /// A longer wait than this is not slept through but handed to whoever asked.
    pub longest: Duration,
    pub jitter: Jitter,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            tries: 3,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(10),
            jitter: Arc::new(any_fraction),
        }
    }
}

impl Retry {
    /// The wait before the next try, or `None` when there is none. `asked` is GitHub's `Retry-After`.
    pub fn wait(&self, tries_made: u32, asked: Option<Duration>) -> Option<Duration> {
        if tries_made >= self.tries {
            return None;
        }
        let wait = asked.unwrap_or_else(|| {
            let doubled = self.first.saturating_mul(1 << (tries_made.saturating_sub(1)).min(16));
            // Between half and the whole of it.
            doubled.min(self.longest).mul_f64(0.5 + (self.jitter)().clamp(0.0, 1.0) / 2.0)
        });
        (wait <= self.longest).then_some(wait)
    }
}

/// A number from 0 to 1 that nobody foresees. The standard library seeds its hash maps from the system's random source.
pub fn any_fraction() -> f64 {
    use std::hash::{BuildHasher, Hasher};
    let word = std::collections::hash_map::RandomState::new().build_hasher().finish();
    (word >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry(jitter: f64) -> Retry {
        Retry { jitter: Arc::new(move || jitter), ..Retry::default() }
    }

    #[test]
    fn waits_double_between_half_and_whole_and_end() {
        let millis = |jitter, tries| retry(jitter).wait(tries, None).map(|wait| wait.as_millis());
        assert_eq!([millis(0.0, 1), millis(1.0, 1)], [Some(250), Some(500)]);
        assert_eq!([millis(0.0, 2), millis(1.0, 2)], [Some(500), Some(1000)]);
        assert_eq!(millis(0.5, 3), None);
    }

    #[test]
    fn what_github_asks_for_is_waited_or_refused_but_never_shortened() {
        let secs = Duration::from_secs;
        assert_eq!(retry(0.0).wait(1, Some(secs(7))), Some(secs(7)));
        assert_eq!(retry(0.0).wait(1, Some(secs(10))), Some(secs(10)));
        assert_eq!(retry(0.0).wait(1, Some(secs(11))), None);
    }

    #[test]
    fn no_wait_grows_past_the_longest() {
        let long = Retry { tries: 40, ..retry(1.0) };
        assert_eq!(long.wait(30, None), Some(long.longest));
    }

    #[test]
    fn fractions_lie_between_zero_and_one_and_differ() {
        let all: Vec<f64> = (0..50).map(|_| any_fraction()).collect();
        assert!(all.iter().all(|f| (0.0..=1.0).contains(f)));
        assert!(all.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
