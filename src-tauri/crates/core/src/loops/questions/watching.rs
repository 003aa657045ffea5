//! The watch: one list of panes per tick, captures only where something may have changed, and what they
//! show judged by facts (questions.md 2 and 3).

use std::collections::HashMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use steward_rules::questions::escalation::Look;
use steward_rules::questions::need::agent_key;
use steward_rules::questions::pane::{
    Agent, Judgement, Last, PaneState, Screen, Seen, Unsure, judge, wants_look,
};
use steward_rules::questions::roster::{Member, Reach, reach};
use steward_rules::questions::watcher::{self, Excerpt};

use super::looking::{Shown, Unseen, agent_of, capture};
use super::watcher::{Case, Job, standing};
use super::{Roster, here, roster, sightings};
use crate::config::Questions;
use crate::loops::Ctx;
use crate::loops::effects::powers;
use crate::store::roster::{self as states, MemberState};
use crate::store::{StoreError, judgements, needs};
use crate::tmux::Pane;

/// Between the two looks that show whether something moves.
pub(super) const AGAIN: Duration = Duration::from_secs(2);

/// What the watch remembers between ticks.
#[derive(Default)]
pub struct Watch {
    last: HashMap<String, Last>,
    unsettled: Vec<Job>,
}

/// One member as a tick saw it.
#[derive(Debug)]
pub(super) struct Sight {
    pub member: Member,
    pub host: String,
    pub key: String,
    pub look: Look,
    /// What was judged, where there was a capture.
    pub judged: Option<Judgement>,
    /// The pane's facts, where tmux of this machine gave them.
    pub pane: Option<Pane>,
    /// Hash of what stands there, where facts do not settle it.
    pub shown: Option<String>,
    /// When the pane last drew something, in seconds of the epoch.
    pub activity: Option<i64>,
}

impl Sight {
    /// Takes a judgement, with what the seat would be asked about where facts do not settle it.
    fn judge(&mut self, judged: Judgement, screen: &Screen) {
        self.shown = watcher::asks(&judged.state).then(|| sightings::shown(&judged, &Excerpt::of(screen)));
        self.judged = Some(judged);
    }
}

/// What the seat is to be asked: what facts do not settle and it was not asked yet. Nothing, while there
/// is no such seat.
async fn unsettled(ctx: &Ctx, sights: &[Sight]) -> Result<Vec<Job>, StoreError> {
    if sights.iter().all(|sight| sight.shown.is_none()) || !standing(ctx).await?.exists() {
        return Ok(Vec::new());
    }
    let cases = sights.iter().filter_map(|sight| {
        Some(Case {
            member: sight.member.clone(),
            host: sight.host.clone(),
            key: sight.key.clone(),
            facts: sight.judged.as_ref()?.state.clone(),
            shown: sight.shown.clone()?,
        })
    });
    let cases: Vec<Case> = cases.collect();
    ctx.store
        .read(move |tx| {
            let mut jobs = Vec::new();
            for case in cases {
                let known = judgements::pane(tx, &case.key)?;
                if known.is_none_or(|row| row.shown != case.shown) {
                    jobs.push(Job::Pane(Box::new(case)));
                }
            }
            Ok(jobs)
        })
        .await
}

impl Watch {
    /// One tick over the whole roster; gives whether anything is going on.
    pub async fn tick(&mut self, ctx: &Ctx) -> Result<bool, StoreError> {
        let config = powers::questions(ctx).await?;
        let roster = roster(&config).await;
        if roster.members.is_empty() {
            sightings::empty(ctx, &roster.faults).await?;
            return Ok(false);
        }
        let since = ctx.clock.now();
        let sights = self.look(ctx, &config, &roster).await;
        for sight in &sights {
            self.remember(ctx.clock.now(), sight);
        }
        self.unsettled = unsettled(ctx, &sights).await?;
        let before = ctx.store.read(states::all).await?;
        let busy = sightings::keep(ctx, sights, &before, &roster.faults, since).await?;
        let (open, _) = ctx.store.read(needs::count_open).await?;
        Ok(busy || open > 0)
    }

    /// What the last tick left for the watcher seat.
    pub fn take_unsettled(&mut self) -> Vec<Job> {
        std::mem::take(&mut self.unsettled)
    }

    async fn look(&mut self, ctx: &Ctx, config: &Questions, roster: &Roster) -> Vec<Sight> {
        let tmux = ctx.tmux();
        let ways: Vec<Reach> =
            roster.members.iter().map(|member| reach(member, &config.ssh, false)).collect();
        let local = ways.iter().any(|way| matches!(way, Reach::Local { .. }));
        let panes: Result<Vec<Pane>, String> = match (&tmux, local) {
            (_, false) => Ok(Vec::new()),
            (Ok(tmux), true) => tmux.panes().await.map_err(|error| error.to_string()),
            (Err(error), true) => Err(error.to_string()),
        };
        let mut sights = Vec::new();
        let mut screens: Vec<(usize, Agent, String, Screen)> = Vec::new();
        for (member, way) in roster.members.iter().zip(&ways) {
            let host = member.host.clone().unwrap_or_else(here);
            let key = agent_key(&member.agent, &host);
            let listed = match way {
                Reach::Local { pane } => Some(listed(&panes, pane)),
                Reach::Thrum { .. } | Reach::Ssh { .. } | Reach::Messages | Reach::Refused(_) => None,
            };
            let mut sight = Sight {
                member: member.clone(),
                host,
                key,
                look: Look::NoPane,
                judged: None,
                pane: None,
                shown: None,
                activity: listed.as_ref().and_then(|found| found.as_ref().ok()).map(|pane| pane.activity),
            };
            match listed {
                Some(Err(why)) => sight.look = Look::Failed(why),
                Some(Ok(pane)) if !wants_look(pane.activity, self.last.get(&sight.key).copied()) => {
                    sight.look = Look::Unchanged;
                    sight.pane = Some(pane.clone());
                }
                Some(Ok(_)) | None => match capture(ctx, roster, member, config).await {
                    Ok(shown) => self.first(&mut sight, shown, sights.len(), &mut screens),
                    Err(Unseen::Messages) => sight.look = Look::NoPane,
                    Err(Unseen::Failed(why)) => sight.look = Look::Failed(why),
                },
            }
            sights.push(sight);
        }
        if !screens.is_empty() {
            tokio::time::sleep(AGAIN).await;
        }
        for (index, agent, foreground, first) in screens {
            let sight = &mut sights[index];
            let member = sight.member.clone();
            let second = match capture(ctx, roster, &member, config).await {
                Ok(shown) => Some(shown.screen),
                Err(_) => None,
            };
            let last = second.clone().unwrap_or_else(|| first.clone());
            sight.judge(judge(agent, &foreground, &Seen::Looked { first, second }), &last);
        }
        sights
    }

    /// Judges a first capture; what only a second one settles is put on the list.
    fn first(
        &self,
        sight: &mut Sight,
        shown: Shown,
        index: usize,
        screens: &mut Vec<(usize, Agent, String, Screen)>,
    ) {
        if shown.screen.is_empty() {
            sight.look = Look::Empty;
            sight.pane = shown.pane;
            return;
        }
        let foreground = shown.pane.as_ref().map(|pane| pane.identity.foreground.clone()).unwrap_or_default();
        let agent = agent_of(sight.member.adapter.as_deref(), &foreground);
        let seen = Seen::Looked { first: shown.screen.clone(), second: None };
        let judged = judge(agent, &foreground, &seen);
        if matches!(judged.state, PaneState::Unknown { why: Unsure::LookAgain }) {
            screens.push((index, agent, foreground, shown.screen.clone()));
        }
        sight.look = Look::Seen;
        sight.judge(judged, &shown.screen);
        sight.activity = shown.pane.as_ref().map(|pane| pane.activity);
        sight.pane = shown.pane;
    }

    fn remember(&mut self, now: DateTime<Utc>, sight: &Sight) {
        match (&sight.look, sight.activity) {
            (Look::Seen | Look::Empty, Some(activity)) => {
                let hot = sight.judged.as_ref().is_none_or(|judged| may_change(&judged.state));
                self.last.insert(sight.key.clone(), Last { activity, looked_at: now.timestamp(), hot });
            }
            (Look::Failed(_), _) => drop(self.last.remove(&sight.key)),
            (Look::Seen | Look::Empty | Look::Unchanged | Look::NoPane, _) => {}
        }
    }
}

/// True when a state may become another one although nothing is drawn.
fn may_change(state: &PaneState) -> bool {
    match state {
        PaneState::Working | PaneState::Unwatchable => true,
        PaneState::Unknown { why } => match why {
            Unsure::LookAgain | Unsure::Empty | Unsure::Stuck => true,
            Unsure::Unrecognised => false,
        },
        PaneState::Waiting { .. } | PaneState::Idle | PaneState::Error { .. } => false,
    }
}

/// The pane of this id, as it was listed.
fn listed<'p>(panes: &'p Result<Vec<Pane>, String>, pane: &str) -> Result<&'p Pane, String> {
    match panes {
        Err(why) => Err(why.clone()),
        Ok(panes) => panes
            .iter()
            .find(|found| found.identity.pane.as_str() == pane)
            .ok_or_else(|| format!("there is no pane {pane}")),
    }
}

/// A pane's state as the roster keeps it.
pub(super) fn state_of(state: &PaneState) -> MemberState {
    match state {
        PaneState::Working => MemberState::Working,
        PaneState::Waiting { .. } => MemberState::Waiting,
        PaneState::Idle => MemberState::Idle,
        PaneState::Error { .. } => MemberState::Error,
        PaneState::Unwatchable => MemberState::Unwatchable,
        PaneState::Unknown { .. } => MemberState::Unknown,
    }
}
