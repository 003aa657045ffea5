//! The one gate before anything leaves the machine.
//!
//! [`judge`] is the only maker of an [`EffectPermit`], and whatever writes to GitHub takes one by value.

use chrono::{DateTime, Duration, Utc};

use crate::deed::{Branches, Deed, Needs, OffLimits};
use crate::ids::{RepoName, Sha};
use crate::power::{EffectClass, Mode, RepoPower};
use crate::reading::{Cause, Reading, Why};
use crate::review::verdict::StaleReason;
use crate::wording;

/// Writes on one host are at least so far apart (engine.md 2).
pub const APART: Duration = Duration::seconds(1);
/// No more writes on one host within a minute.
pub const PER_MINUTE: usize = 80;
/// No more writes on one host within an hour: GitHub counts what makes content.
pub const PER_HOUR: usize = 500;

/// Nothing is put off for longer: a later time was reckoned by a clock that was ahead.
pub const LONGEST_WAIT: Duration = Duration::hours(2);

/// What is to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub class: EffectClass,
    pub deed: Deed,
    pub host: String,
    pub repo: RepoName,
    /// The pull request or issue.
    pub number: Option<i64>,
    /// The commit it was decided for.
    pub head: Option<Sha>,
    /// The login it was decided to act as.
    pub account: String,
    /// The person said yes to exactly this.
    pub approved: bool,
    /// An earlier text of the same effect was turned down, or somebody removed it: without a yes none goes
    /// out.
    pub turned_down: bool,
    pub step: Step,
}

/// Whether something is said or a second saying of it is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Send,
    /// Removes our own duplicate. What the head is by now does not matter to it.
    TakeBack,
}

/// How the subject stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A pull request, at this head.
    Open(Sha),
    OpenIssue,
    /// Closed, or a pull request that was merged.
    Closed,
    /// Read as merged, at this head.
    Merged(Sha),
    /// There is no issue or pull request to it.
    Nothing,
}

/// How a pull request stood in an answer of GitHub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    pub head: Sha,
    /// Neither closed nor merged; `None` where only the head was kept.
    pub open: Option<bool>,
    /// When it last changed then, by GitHub's own clock.
    pub updated_at: Option<DateTime<Utc>>,
}

/// What may hold an effect back, as it was just read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holds {
    /// Why everything rests, when it does.
    pub paused: Option<String>,
    /// Why nothing may be merged in this repository until the person lifts it, when that is so.
    pub frozen: Option<String>,
    pub subject: Reading<Subject>,
    /// The branches that may be touched here.
    pub branches: Branches,
    /// Why the review behind it no longer speaks of the subject, when it does not.
    pub stale: Option<StaleReason>,
    /// The login the token acts as, told by GitHub itself.
    pub acting: Reading<String>,
    /// A limit of the host holds until then.
    pub limited_until: Option<DateTime<Utc>>,
    /// When the writes on this host within the last hour went out.
    pub sent: Vec<DateTime<Utc>>,
}

/// What becomes of it.
#[derive(Debug, PartialEq, Eq)]
pub enum Way {
    Go(EffectPermit),
    /// It waits in the inbox for the person.
    Suggest,
    Wait(Hold),
    Refuse(Refusal),
    /// What it was decided for is no longer so.
    Obsolete(Gone),
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hold {
    Paused {
        why: String,
    },
    /// The engine, which wanted it, is switched off (engine.md 16). What is left to do is done once it is on.
    Off,
    Unread {
        why: Why,
    },
    Limited {
        until: DateTime<Utc>,
    },
    Apart {
        until: DateTime<Utc>,
    },
    Minute {
        until: DateTime<Utc>,
    },
    Hour {
        until: DateTime<Utc>,
    },
}

/// Why it never goes out this way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The repository is observed only.
    Observed,
    /// Another account would act than was decided.
    Account { wanted: String, acting: String },
    /// Nothing is merged in the repository until the person lifts the freeze (engine.md 4.7).
    Frozen { why: String },
    /// The switch it was to go out by is another deed's.
    Foreign { class: EffectClass },
    /// The policy leaves this branch alone.
    OffLimits { branch: String, why: OffLimits },
}

/// Why it is of no use any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gone {
    Moved {
        head: Sha,
    },
    Closed,
    /// Only what was merged has a branch to delete.
    NotMerged,
    Stale {
        why: StaleReason,
    },
}

/// Leave for one effect on one subject at one commit. Only [`judge`] makes one, it cannot be copied,
/// and it is used up by the write it allows.
///
/// ```
/// use steward_rules::guard::{EffectPermit, Step};
/// fn used(permit: EffectPermit) -> (Option<i64>, Step) {
///     (permit.number(), permit.step())
/// }
/// ```
///
/// ```compile_fail
/// use steward_rules::guard::{EffectPermit, Step};
/// fn forged(permit: EffectPermit) -> EffectPermit {
///     EffectPermit { step: Step::Send, ..permit }
/// }
/// ```
///
/// ```compile_fail
/// use steward_rules::guard::{EffectPermit, Step};
/// fn turned(mut permit: EffectPermit) -> EffectPermit {
///     permit.step = Step::TakeBack;
///     permit
/// }
/// ```
///
/// ```compile_fail
/// use steward_rules::guard::EffectPermit;
/// fn twice(permit: EffectPermit) -> [EffectPermit; 2] {
///     [EffectPermit::clone(&permit), permit]
/// }
/// ```
///
/// ```compile_fail
/// use steward_rules::guard::EffectPermit;
/// fn read(text: &str) -> EffectPermit {
///     serde_json::from_str(text).unwrap()
/// }
/// ```
#[derive(Debug, PartialEq, Eq)]
#[must_use = "a permit that is not used lets nothing out"]
pub struct EffectPermit {
    class: EffectClass,
    deed: Box<Deed>,
    host: String,
    repo: RepoName,
    number: Option<i64>,
    head: Option<Sha>,
    account: String,
    step: Step,
}

impl EffectPermit {
    pub fn class(&self) -> EffectClass {
        self.class
    }

    /// Exactly what may go out.
    pub fn deed(&self) -> &Deed {
        &self.deed
    }

    pub fn host(&self) -> &str {
        &self.host
    }

    pub fn repo(&self) -> &RepoName {
        &self.repo
    }

    pub fn number(&self) -> Option<i64> {
        self.number
    }

    pub fn head(&self) -> Option<&Sha> {
        self.head.as_ref()
    }

    pub fn account(&self) -> &str {
        &self.account
    }

    pub fn step(&self) -> Step {
        self.step
    }
}

/// Decides what becomes of an effect, from the power in force and what may hold it back; first match
/// wins.
pub fn judge(ask: &Ask, power: &RepoPower, holds: &Holds, now: DateTime<Utc>) -> Way {
    if power.mode() == Mode::Observe {
        return Way::Refuse(Refusal::Observed);
    }
    if let Reading::Known { value: acting } = &holds.acting
        && !acting.eq_ignore_ascii_case(&ask.account)
    {
        return Way::Refuse(Refusal::Account { wanted: ask.account.clone(), acting: acting.clone() });
    }
    if !ask.deed.is_of(ask.class) {
        return Way::Refuse(Refusal::Foreign { class: ask.class });
    }
    if let Some((branch, why)) = holds.branches.forbid(&ask.deed) {
        return Way::Refuse(Refusal::OffLimits { branch, why });
    }
    if ask.step == Step::Send
        && let Some(gone) = gone(ask, holds)
    {
        return Way::Obsolete(gone);
    }
    // Not even what the person says yes to: a yes to one merge lifts no freeze.
    if ask.class.lands()
        && let Some(why) = &holds.frozen
    {
        return Way::Refuse(Refusal::Frozen { why: why.clone() });
    }
    if !ask.approved && (ask.turned_down || !power.acts(ask.class)) {
        return Way::Suggest;
    }
    if let Some(why) = &holds.paused {
        return Way::Wait(Hold::Paused { why: why.clone() });
    }
    if let Err(why) = holds.acting.get() {
        return Way::Wait(Hold::Unread { why: why.clone() });
    }
    if ask.step == Step::Send
        && let Err(why) = holds.subject.get()
    {
        return Way::Wait(Hold::Unread { why: why.clone() });
    }
    if let Some(until) = holds.limited_until.filter(|until| *until > now) {
        return Way::Wait(Hold::Limited { until });
    }
    if let Some(hold) = pace(&holds.sent, now) {
        return Way::Wait(hold);
    }
    Way::Go(EffectPermit {
        class: ask.class,
        deed: Box::new(ask.deed.clone()),
        host: ask.host.clone(),
        repo: ask.repo.clone(),
        number: ask.number,
        head: ask.head.clone(),
        account: ask.account.clone(),
        step: ask.step,
    })
}

/// The subject by an answer of GitHub, beside what is known of it already. GitHub answers from copies, and
/// one of them may lag for a minute (security.md 6): where an answer says otherwise and is not newer, it
/// says nothing.
pub fn believed(answer: &Sighting, known: &[Sighting]) -> Reading<Subject> {
    let outdone = known.iter().any(|known| {
        let otherwise = known.head != answer.head
            || matches!((known.open, answer.open), (Some(known), Some(answer)) if known != answer);
        let newer = match (known.updated_at, answer.updated_at) {
            (Some(known), Some(answer)) => answer <= known,
            (Some(_) | None, _) => false,
        };
        otherwise && newer
    });
    match answer.open {
        _ if outdone => {
            Reading::unread(Cause::ForgeFailed, "its answer is older than what is known of the pull request")
        }
        Some(false) => Reading::known(Subject::Closed),
        Some(true) | None => Reading::known(Subject::Open(answer.head.clone())),
    }
}

fn gone(ask: &Ask, holds: &Holds) -> Option<Gone> {
    if let Some(why) = holds.stale {
        return Some(Gone::Stale { why });
    }
    let Reading::Known { value: subject } = &holds.subject else { return None };
    let moved = |head: &Sha| match &ask.head {
        Some(wanted) if head != wanted => Some(Gone::Moved { head: head.clone() }),
        Some(_) | None => None,
    };
    match (ask.deed.needs(), subject) {
        (Needs::Nothing, _) => None,
        (Needs::Open, Subject::Open(head)) | (Needs::Merged, Subject::Merged(head)) => moved(head),
        (Needs::Open, Subject::OpenIssue | Subject::Nothing) => None,
        (Needs::Open, Subject::Closed | Subject::Merged(_)) => Some(Gone::Closed),
        (Needs::Merged, Subject::Open(_) | Subject::OpenIssue | Subject::Closed | Subject::Nothing) => {
            Some(Gone::NotMerged)
        }
    }
}

/// What the writes of before hold back. Times ahead of `now` come from a clock that was set back.
fn pace(sent: &[DateTime<Utc>], now: DateTime<Utc>) -> Option<Hold> {
    let mut past: Vec<DateTime<Utc>> = sent.iter().copied().filter(|at| *at <= now).collect();
    past.sort_unstable();
    let last = past.last()?;
    if now - *last < APART {
        return Some(Hold::Apart { until: *last + APART });
    }
    // The one that must leave the window before another may enter it.
    let leaving = |cap: usize, window: Duration| {
        let first = past.len().checked_sub(cap)?;
        let until = past[first] + window;
        (until > now).then_some(until)
    };
    let hour = leaving(PER_HOUR, Duration::hours(1)).map(|until| Hold::Hour { until });
    hour.or_else(|| leaving(PER_MINUTE, Duration::minutes(1)).map(|until| Hold::Minute { until }))
}

/// True when what was put off until `at` is to be looked at now.
pub fn is_due(at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> bool {
    is_due_within(at, now, LONGEST_WAIT)
}

/// The same, where nothing is put off for longer than `longest`: a later time was reckoned by a clock that was
/// ahead.
pub fn is_due_within(at: Option<DateTime<Utc>>, now: DateTime<Utc>, longest: Duration) -> bool {
    at.is_none_or(|at| at <= now || at - now > longest)
}

impl Hold {
    /// One word that never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Paused { .. } => "paused",
            Self::Off => "off",
            Self::Unread { .. } => "unread",
            Self::Limited { .. } => "limited",
            Self::Apart { .. } => "apart",
            Self::Minute { .. } => "minute_cap",
            Self::Hour { .. } => "hour_cap",
        }
    }

    /// When it lifts by itself; `None` when something else must happen first.
    pub fn until(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::Paused { .. } | Self::Off | Self::Unread { .. } => None,
            Self::Limited { until }
            | Self::Apart { until }
            | Self::Minute { until }
            | Self::Hour { until } => Some(*until),
        }
    }

    pub fn message(&self) -> String {
        wording::effect::hold(self)
    }
}

impl Refusal {
    /// One word that never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Account { .. } => "account",
            Self::Frozen { .. } => "frozen",
            Self::Foreign { .. } => "foreign",
            Self::OffLimits { .. } => "off_limits",
        }
    }

    pub fn message(&self) -> String {
        wording::effect::refusal(self)
    }
}

impl Gone {
    /// One word that never changes.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::Moved { .. } => "head_moved",
            Self::Closed => "closed",
            Self::NotMerged => "not_merged",
            Self::Stale { .. } => "stale",
        }
    }

    pub fn message(&self) -> String {
        wording::effect::gone(self)
    }
}

/// What the thread shows of an effect that may have been sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The id GitHub gave for it, when its answer came.
    pub posted: Option<u64>,
    /// Our own comments with its marker, by id.
    pub own: Vec<u64>,
    /// A comment below this subject was deleted since it may have been sent.
    pub deleted_since: bool,
    /// When it may have been sent; `None`: never yet.
    pub intended_at: Option<DateTime<Utc>>,
    /// How often the thread was read in vain since it may have been sent.
    pub looked: u32,
}

/// What follows from a [`Trace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It is not there, and nothing under way can bring it there.
    Send,
    /// It is there. The first one stays; these others of ours are taken back.
    Keep { keep: u64, take_back: Vec<u64> },
    /// The thread does not show yet what it must or may.
    LookAgain { at: DateTime<Utc> },
    /// It was there and is not any more: somebody took it away, so it is not said again.
    Removed,
}

/// How long GitHub may take to do what it did not answer, or to show what it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// After an unclear write, before it is believed not to be done.
    pub unclear: Duration,
    /// Between two looks for what GitHub says it made.
    pub look: Duration,
    /// Looks before it is believed that somebody removed it.
    pub looks: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { unclear: Duration::seconds(60), look: Duration::seconds(15), looks: 6 }
    }
}

/// Says what to do after reading the thread.
pub fn follow(trace: &Trace, patience: &Patience, now: DateTime<Utc>) -> Next {
    let mut own = trace.own.clone();
    own.sort_unstable();
    own.dedup();
    let shows_posted = trace.posted.is_none_or(|id| own.contains(&id));
    match (own.split_first(), trace.posted) {
        // An answer that does not show what GitHub made is older than it: another of ours may hide, too.
        (_, Some(_)) if !shows_posted && trace.looked < patience.looks => {
            Next::LookAgain { at: now + patience.look }
        }
        (Some((keep, others)), _) => Next::Keep { keep: *keep, take_back: others.to_vec() },
        (None, Some(_)) => Next::Removed,
        (None, None) => match trace.intended_at {
            None => Next::Send,
            Some(_) if trace.deleted_since => Next::Removed,
            Some(at) => {
                // A time ahead comes from a clock that was set back: then it is waited for from now.
                let late = if at <= now { at + patience.unclear } else { now + patience.unclear };
                match trace.looked {
                    0 => Next::LookAgain { at: late.max(now + patience.look) },
                    _ if at <= now && now < late => Next::LookAgain { at: late },
                    // A reading in vain may have been an old answer, so one more is asked for.
                    1 => Next::LookAgain { at: now + patience.look },
                    _ => Next::Send,
                }
            }
        },
    }
}
