//! How much may still be asked of a host, and when nothing may be asked at all.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration as StdDuration;

use chrono::{DateTime, Duration, Utc};
use http::HeaderMap;
use steward_rules::{guard, observing};
use tokio::time::Instant;

use super::error::GitHubError;
use crate::clock::SharedClock;
use crate::store::api_budget::{self, BudgetRow, Limit, Pause};
use crate::store::{Durability, Store, StoreError};

/// The least break after a secondary limit that names no time; each further one is twice as long.
const BREAK: Duration = Duration::seconds(60);
/// No break is longer: a longer one shows a clock that jumped, or an answer of somebody else.
const LONGEST_BREAK: Duration = Duration::hours(2);
const MINUTE: StdDuration = StdDuration::from_secs(60);
/// How long figures may be ahead of what is on disk.
const WRITE_EVERY: Duration = Duration::seconds(5);

/// What the foot of the window shows of one resource of one account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub host: String,
    /// Empty, as `resource` is, for what holds for the whole host.
    pub account: String,
    /// GitHub's word: `core`, `graphql`, `search`.
    pub resource: String,
    pub remaining: Option<u32>,
    pub limit: Option<u32>,
    pub reset: Option<DateTime<Utc>>,
    pub paused_until: Option<DateTime<Utc>>,
    pub why: Option<Limit>,
}

/// How fast writes on one host may follow each other, whatever account makes them. This is the last
/// line: the guard has the same figures and looks at the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    pub apart: StdDuration,
    pub per_minute: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { apart: guard::APART.to_std().unwrap_or(MINUTE), per_minute: guard::PER_MINUTE }
    }
}

/// The state of all accounts on one host.
pub struct HostBudget {
    host: String,
    clock: SharedClock,
    store: Store,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rows: HashMap<(String, String), BudgetRow>,
    written: HashMap<(String, String), DateTime<Utc>>,
    /// Secondary limits without a time, one after the other.
    strikes: u32,
    /// The writes of the last minute, by a clock that never goes back.
    writes: VecDeque<Instant>,
}

/// What one answer says of limits.
pub(super) struct Heard<'a> {
    pub(super) account: &'a str,
    pub(super) resource: &'a str,
    pub(super) headers: &'a HeaderMap,
}

impl HostBudget {
    /// Picks up what an earlier run left, so that a break outlives a restart.
    pub async fn load(host: &str, store: &Store) -> Result<Self, StoreError> {
        let name = host.to_owned();
        let rows = store.read(move |tx| api_budget::of_host(tx, &name)).await?;
        let rows = rows.into_iter().map(|row| ((row.account.clone(), row.resource.clone()), row)).collect();
        Ok(Self {
            host: host.to_owned(),
            clock: store.clock().clone(),
            store: store.clone(),
            state: Mutex::new(State { rows, ..State::default() }),
        })
    }

    /// Every figure of the host, with the breaks that still hold.
    pub fn now(&self) -> Vec<Budget> {
        let now = self.clock.now();
        let mut all: Vec<Budget> = self
            .lock()
            .rows
            .values_mut()
            .map(|row| {
                let pause = holding(row, now);
                Budget {
                    host: row.host.clone(),
                    account: row.account.clone(),
                    resource: row.resource.clone(),
                    remaining: row.remaining,
                    limit: row.quota,
                    reset: row.reset_at,
                    paused_until: pause.map(|pause| pause.until),
                    why: pause.map(|pause| pause.limit),
                }
            })
            .collect();
        all.sort_by(|a, b| (&a.account, &a.resource).cmp(&(&b.account, &b.resource)));
        all
    }

    /// Refuses a request while a break holds: not one goes out.
    pub(super) fn admit(&self, account: &str, resource: &str) -> Result<(), GitHubError> {
        let now = self.clock.now();
        let mut state = self.lock();
        for key in [(String::new(), String::new()), (account.to_owned(), resource.to_owned())] {
            if let Some(pause) = state.rows.get_mut(&key).and_then(|row| holding(row, now)) {
                return Err(refusal(pause));
            }
        }
        Ok(())
    }

    /// Gives a write its turn, or says when the next one may go out.
    pub(super) fn admit_write(&self, pace: Pace) -> Result<(), DateTime<Utc>> {
        let now = Instant::now();
        let mut state = self.lock();
        while state.writes.front().is_some_and(|at| now.duration_since(*at) >= MINUTE) {
            state.writes.pop_front();
        }
        let after_last = state.writes.back().map(|at| *at + pace.apart);
        let full = state.writes.len() >= pace.per_minute;
        let after_first = state.writes.front().filter(|_| full).map(|at| *at + MINUTE);
        match after_last.max(after_first).filter(|at| *at > now) {
            None => {
                state.writes.push_back(now);
                Ok(())
            }
            Some(at) => {
                let left = Duration::from_std(at - now).unwrap_or(BREAK);
                Err(self.clock.now() + left)
            }
        }
    }

    /// Until when Steward's share of an account's hour is used up; the rest is the person's.
    pub(super) fn reserved(&self, account: &str) -> Option<DateTime<Utc>> {
        let now = self.clock.now();
        let state = self.lock();
        // Figures of a clock that was ahead hold nobody, as little as its pauses do.
        let figures = state.rows.values().filter(|row| row.account == account && row.seen_at <= now);
        let used_up = figures
            .filter(|row| matches!(row.resource.as_str(), "core" | "graphql"))
            .filter_map(|row| observing::reserved(row.remaining?, row.quota?, row.reset_at?, now));
        used_up.max()
    }

    /// Notes the figures of an answer that was not a limit.
    pub(super) async fn note(&self, heard: &Heard<'_>) {
        let now = self.clock.now();
        let write = {
            let mut state = self.lock();
            let key = (heard.account.to_owned(), heard.resource.to_owned());
            let Some(row) = figures(&self.host, heard, now) else { return };
            let due = state.written.get(&key).is_none_or(|at| now - *at >= WRITE_EVERY || *at > now);
            let kept = state.rows.get(&key).and_then(|old| old.pause);
            let row = BudgetRow { pause: kept, ..row };
            state.rows.insert(key.clone(), row.clone());
            due.then(|| {
                state.written.insert(key, now);
                row
            })
        };
        if let Some(row) = write {
            self.write(row).await;
        }
    }

    /// An answer came that was no limit in any part: the next break starts short again.
    pub(super) fn went_well(&self) {
        self.lock().strikes = 0;
    }

    /// Starts a break, and says until when it lasts.
    pub(super) async fn stop(&self, limit: Limit, heard: &Heard<'_>) -> GitHubError {
        let now = self.clock.now();
        let (row, pause) = {
            let mut state = self.lock();
            let length = match (limit, retry_after(heard.headers, now)) {
                (_, Some(asked)) => asked,
                (Limit::Primary, None) => until_reset(heard.headers, now).unwrap_or(BREAK),
                (Limit::Secondary, None) => {
                    state.strikes += 1;
                    BREAK * (1 << (state.strikes - 1).min(4))
                }
            };
            let pause =
                Pause { limit, since: now, until: now + length.clamp(Duration::seconds(1), LONGEST_BREAK) };
            let (account, resource) = match limit {
                Limit::Primary => (heard.account, heard.resource),
                Limit::Secondary => ("", ""),
            };
            let key = (account.to_owned(), resource.to_owned());
            let empty = BudgetRow {
                host: self.host.clone(),
                account: key.0.clone(),
                resource: key.1.clone(),
                quota: None,
                remaining: None,
                reset_at: None,
                pause: None,
                seen_at: now,
            };
            let fresh = if limit == Limit::Primary { figures(&self.host, heard, now) } else { None };
            let old = state.rows.get(&key).cloned();
            // The longer of two breaks holds.
            let longer = old
                .as_ref()
                .and_then(|row| row.pause)
                .filter(|held| held.until > pause.until && held.since <= now);
            let row = BudgetRow { pause: Some(longer.unwrap_or(pause)), ..fresh.or(old).unwrap_or(empty) };
            state.written.insert(key.clone(), now);
            state.rows.insert(key, row.clone());
            (row, longer.unwrap_or(pause))
        };
        self.write(row).await;
        refusal(pause)
    }

    async fn write(&self, row: BudgetRow) {
        let written = self.store.write(Durability::Normal, move |tx| api_budget::put(tx, &row)).await;
        if let Err(error) = written {
            // The figures in memory hold; only a restart would not know them.
            tracing::warn!(host = %self.host, %error, "the budget of the host was not written");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The break of a row that holds at `now`. When the clock was set back, it begins anew.
fn holding(row: &mut BudgetRow, now: DateTime<Utc>) -> Option<Pause> {
    let pause = row.pause.as_mut()?;
    if now < pause.since {
        let length = pause.until - pause.since;
        *pause = Pause { since: now, until: now + length, ..*pause };
    }
    (now < pause.until).then_some(*pause)
}

fn refusal(pause: Pause) -> GitHubError {
    match pause.limit {
        Limit::Primary => GitHubError::RateLimited { until: pause.until },
        Limit::Secondary => GitHubError::SecondaryLimited { until: pause.until },
    }
}

fn figures(host: &str, heard: &Heard<'_>, now: DateTime<Utc>) -> Option<BudgetRow> {
    let number = |name: &str| text(heard.headers, name)?.parse::<u32>().ok();
    let remaining = number("x-ratelimit-remaining")?;
    Some(BudgetRow {
        host: host.to_owned(),
        account: heard.account.to_owned(),
        resource: heard.resource.to_owned(),
        quota: number("x-ratelimit-limit"),
        remaining: Some(remaining),
        reset_at: until_reset(heard.headers, now).map(|left| now + left),
        pause: None,
        seen_at: now,
    })
}

/// How long until the quota is full again, by GitHub's clock: ours may be wrong.
fn until_reset(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let reset = DateTime::from_timestamp(text(headers, "x-ratelimit-reset")?.parse().ok()?, 0)?;
    Some((reset - theirs(headers, now)).max(Duration::zero()))
}

/// GitHub's `Retry-After`: seconds, or a date by GitHub's clock.
pub(super) fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let value = text(headers, "retry-after")?.trim();
    if let Ok(seconds) = value.parse::<u32>() {
        return Some(Duration::seconds(seconds.into()));
    }
    let at = DateTime::parse_from_rfc2822(value).ok()?;
    Some((at.to_utc() - theirs(headers, now)).max(Duration::zero()))
}

/// The server's clock, or ours when it does not tell.
pub(super) fn theirs(headers: &HeaderMap, now: DateTime<Utc>) -> DateTime<Utc> {
    let date = text(headers, "date").and_then(|date| DateTime::parse_from_rfc2822(date).ok());
    date.map_or(now, |date| date.to_utc())
}

pub(super) fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Which limit an answer is, from its status, its figures and its words.
pub(super) fn limit_of(status: u16, headers: &HeaderMap, message: &str) -> Option<Limit> {
    let words = message.to_ascii_lowercase();
    if words.contains("secondary rate limit") || words.contains("abuse detection") {
        return Some(Limit::Secondary);
    }
    let used_up = text(headers, "x-ratelimit-remaining") == Some("0");
    let says = words.contains("rate limit exceeded") || words.contains("rate limit already exceeded");
    match status {
        403 | 429 if says || (used_up && text(headers, "retry-after").is_none()) => Some(Limit::Primary),
        403 if text(headers, "retry-after").is_some() => Some(Limit::Secondary),
        429 => Some(Limit::Secondary),
        200 if says => Some(Limit::Primary),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn a_limit_is_told_from_a_missing_permission() {
        let used_up = [("x-ratelimit-remaining", "0")];
        let left = [("x-ratelimit-remaining", "4000")];
        for (status, pairs, message, limit) in [
            (403, &used_up[..], "API rate limit exceeded for user ID 1.", Some(Limit::Primary)),
            (403, &used_up[..], "", Some(Limit::Primary)),
            (429, &used_up[..], "", Some(Limit::Primary)),
            (
                403,
                &left[..],
                "You have exceeded a secondary rate limit. Please wait a few minutes.",
                Some(Limit::Secondary),
            ),
            (403, &used_up[..], "You have exceeded a secondary rate limit.", Some(Limit::Secondary)),
            (403, &left[..], "You have triggered an abuse detection mechanism.", Some(Limit::Secondary)),
            (200, &left[..], "You have exceeded a secondary rate limit", Some(Limit::Secondary)),
            (200, &left[..], "API rate limit exceeded", Some(Limit::Primary)),
            (429, &left[..], "", Some(Limit::Secondary)),
            (403, &[("retry-after", "60")][..], "", Some(Limit::Secondary)),
            (403, &left[..], "Resource not accessible by personal access token", None),
            (404, &used_up[..], "Not Found", None),
            (200, &used_up[..], "", None),
        ] {
            assert_eq!(limit_of(status, &headers(pairs), message), limit, "{status} {pairs:?} {message}");
        }
    }

    #[test]
    fn a_date_is_measured_by_the_clock_that_wrote_it() {
        let ours: DateTime<Utc> = "2026-12-01T12:00:00Z".parse().unwrap();
        let date = ("date", "Mon, 30 Nov 2026 10:00:00 GMT");
        let asked = |value| retry_after(&headers(&[("retry-after", value), date]), ours);
        assert_eq!(asked("30"), Some(Duration::seconds(30)));
        assert_eq!(asked("Mon, 30 Nov 2026 10:01:30 GMT"), Some(Duration::seconds(90)));
        assert_eq!(asked("Mon, 30 Nov 2026 09:00:00 GMT"), Some(Duration::zero()));
        assert_eq!(asked("soon"), None);
        let reset = headers(&[("x-ratelimit-reset", "1796034000"), date]);
        assert_eq!(until_reset(&reset, ours), Some(Duration::seconds(1_796_034_000 - 1_796_032_800)));
    }

    #[test]
    fn a_break_ends_by_itself_and_outlives_a_clock_set_back() {
        let at = |hour: u32, minute: u32| -> DateTime<Utc> {
            format!("2026-11-30T{hour:02}:{minute:02}:00Z").parse().unwrap()
        };
        let pause = Pause { limit: Limit::Secondary, since: at(10, 0), until: at(10, 5) };
        let mut row = BudgetRow {
            host: "github.com".into(),
            account: String::new(),
            resource: String::new(),
            quota: None,
            remaining: None,
            reset_at: None,
            pause: Some(pause),
            seen_at: at(10, 0),
        };
        assert_eq!(holding(&mut row, at(10, 4)), Some(pause));
        assert_eq!(holding(&mut row, at(10, 5)), None);
        // A day back: five minutes from there, not a day and five minutes.
        let back = at(10, 0) - Duration::days(1);
        assert_eq!(holding(&mut row, back).map(|pause| pause.until), Some(back + Duration::minutes(5)));
        assert_eq!(holding(&mut row, back + Duration::minutes(5)), None);
    }
}
