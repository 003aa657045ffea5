//! Which finished work is reviewed without asking.

use serde::{Deserialize, Serialize};

use crate::reading::{Reading, Why};
use crate::review::facts::Pushed;
use crate::review::settings::ReviewSettings;

/// Where the root run of a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Running,
    Done,
    Error,
    Stopped,
}

/// What decides whether a task is reviewed by itself, beside the start conditions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomaticFacts<'a> {
    /// Title of the task's workspace, if it has one.
    pub workspace: Option<&'a str>,
    /// Titles of all workspaces of the config.
    pub titles: &'a [String],
    pub run: RunState,
    pub pushed: &'a Reading<Pushed>,
}

/// Why a task is not reviewed by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAutomatic {
    Off,
    NotListed,
    /// Two workspaces have the listed title, so that it names neither.
    Ambiguous {
        title: String,
    },
    NotDone {
        run: RunState,
    },
    NotPushed,
    Unread {
        why: Why,
    },
}

/// Says whether a task is to be reviewed by itself: its workspace is listed, its root run finished
/// and its branch is pushed. [`super::may_start`] has the last word.
pub fn may_run_by_itself(facts: &AutomaticFacts<'_>, settings: &ReviewSettings) -> Result<(), NotAutomatic> {
    if !settings.is_on() {
        return Err(NotAutomatic::Off);
    }
    let title = facts
        .workspace
        .filter(|title| settings.auto_review.iter().any(|listed| listed == title))
        .ok_or(NotAutomatic::NotListed)?;
    if facts.titles.iter().filter(|known| *known == title).count() > 1 {
        return Err(NotAutomatic::Ambiguous { title: title.to_owned() });
    }
    match facts.run {
        RunState::Done => {}
        run @ (RunState::Running | RunState::Error | RunState::Stopped) => {
            return Err(NotAutomatic::NotDone { run });
        }
    }
    match facts.pushed.get() {
        Ok(Pushed::Yes) => Ok(()),
        Ok(Pushed::No { .. }) => Err(NotAutomatic::NotPushed),
        Err(why) => Err(NotAutomatic::Unread { why: why.clone() }),
    }
}
