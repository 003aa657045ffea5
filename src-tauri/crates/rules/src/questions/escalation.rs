//! Members that cannot be watched, how often the owner hears of them, and the line of a tick
//! (questions.md 3).

/// How often one condition is escalated, for ever, until it was seen cleared.
pub const MOST: u32 = 3;
/// Empty captures in a row that make a member unwatchable.
pub const EMPTY: u32 = 2;

/// The key of a member's condition in the count store: `agent|unwatchable|capture failed`, with the machine
/// behind the name where it is another one.
pub fn key(agent: &str, host: Option<&str>) -> String {
    let at = host.map(|host| format!("@{host}")).unwrap_or_default();
    format!("{agent}{at}|unwatchable|capture failed")
}

/// The key of the condition that nothing at all could be captured.
pub const RESOLUTION: &str = "*|resolution|every capture failed";

/// What a look at a member's pane gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// The command failed, with its words.
    Failed(String),
    /// It succeeded and there was nothing.
    Empty,
    /// There was text.
    Seen,
    /// Its pane did not change since it was last captured.
    Unchanged,
    /// No pane of it is known, so nothing was asked.
    NoPane,
}

/// Whether a member is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watchable {
    Yes,
    /// Nothing is known of it yet.
    Unknown,
    /// Why.
    No(String),
}

/// Judges a look; `empty` counts the empty captures in a row before it. Gives the new count too.
pub fn watchable(look: &Look, empty: u32) -> (Watchable, u32) {
    match look {
        Look::Failed(why) => (Watchable::No(why.clone()), 0),
        Look::Empty if empty + 1 >= EMPTY => {
            (Watchable::No("its pane is empty, twice in a row".to_owned()), empty + 1)
        }
        Look::Empty => (Watchable::Unknown, empty + 1),
        Look::Seen | Look::Unchanged => (Watchable::Yes, 0),
        Look::NoPane => (Watchable::Unknown, 0),
    }
}

/// Whether a condition is said once more. A member that is absent on purpose is never escalated.
pub fn escalate(said: u32, declared_absent: bool) -> bool {
    !declared_absent && said < MOST
}

/// One member of a tick.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    pub look: Look,
    pub watchable: Watchable,
    pub declared_absent: bool,
    /// The word of its state.
    pub state: &'static str,
}

/// What a tick came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tick {
    /// Members watched, and how many captures failed.
    Counts { members: usize, capture_failed: usize, states: Vec<(&'static str, usize)> },
    /// Every command failed and nobody was declared absent: no figure can be given.
    ResolutionFail,
}

/// Sums a tick up. One that asked nothing, or got empty captures, has not failed.
pub fn tick(members: &[Looked]) -> Tick {
    let asked: Vec<&Looked> = members.iter().filter(|one| one.look != Look::NoPane).collect();
    let failed = |one: &&Looked| matches!(one.look, Look::Failed(_));
    let nobody_absent = members.iter().all(|one| !one.declared_absent);
    if !asked.is_empty() && asked.iter().all(failed) && nobody_absent {
        return Tick::ResolutionFail;
    }
    let mut states: Vec<(&'static str, usize)> = Vec::new();
    for one in members {
        match states.iter_mut().find(|(state, _)| *state == one.state) {
            Some((_, count)) => *count += 1,
            None => states.push((one.state, 1)),
        }
    }
    let capture_failed = members.iter().filter(|one| matches!(one.watchable, Watchable::No(_))).count();
    Tick::Counts { members: members.len(), capture_failed, states }
}

impl Tick {
    /// The line at the head of the roster page: `5 members: 2 working, 3 idle (1 capture-failed)`.
    pub fn line(&self) -> String {
        match self {
            Self::ResolutionFail => "RESOLUTION-FAIL: no member could be captured".to_owned(),
            Self::Counts { members, capture_failed, states } => {
                let noun = if *members == 1 { "member" } else { "members" };
                let shown: Vec<String> =
                    states.iter().map(|(state, count)| format!("{count} {state}")).collect();
                let failed = match capture_failed {
                    0 => String::new(),
                    count => format!(" ({count} capture-failed)"),
                };
                format!("{members} {noun}: {}{failed}", shown.join(", "))
            }
        }
    }
}

/// What the report says of a member that cannot be watched.
pub fn flagged(why: &str) -> String {
    format!("FLAGGED: CAPTURE FAILED: {why}")
}
