//! Words and keys into a pane of this machine, by what was known of it when the owner was asked.

use steward_rules::ids::AnswerId;
use steward_rules::questions::delivery::{Attempt, Stage};
use steward_rules::questions::keys::{Obstacle, Permission, Typable};
use steward_rules::questions::pane::{Agent, PaneId, PaneIdentity, Prompt};

use super::Roster;
use super::looking::{agent_of, is_closed, thrum_of};
use crate::loops::{Ctx, failpoint, pause};
use crate::peers::thrum::Thrum;
use crate::store::need_answers::{self, AnswerRow, Press as Decision};
use crate::store::needs::NeedRow;
use crate::store::{Durability, Store, StoreError};
use crate::tmux::{Answer, Delivery, Journal, Press, Pressed, Reached, Tmux, Undelivered};

/// How thrum's refusals begin; behind one, the owner's next press goes by ssh.
pub(super) const THRUM: &str = "thrum did not type it";

/// Types the owner's words, each step written down before the next.
pub(super) async fn words(
    ctx: &Ctx,
    roster: &Roster,
    row: &NeedRow,
    answer: &AnswerRow,
    text: &str,
) -> Attempt {
    let text = match Typable::new(text) {
        Ok(text) => text,
        Err(error) => return Attempt::Refused(error.to_string()),
    };
    let mut steps = Steps { store: ctx.store.clone(), answer: answer.id };
    match through_thrum(ctx, roster, row).await {
        Ok(Some((thrum, agent))) => {
            return super::thrumming::line(ctx, &thrum, agent, row, &text, &mut steps).await;
        }
        Ok(None) => {}
        Err(attempt) => return attempt,
    }
    let (tmux, to) = match target(ctx, row).await {
        Ok(found) => found,
        Err(attempt) => return attempt,
    };
    let typed = Answer { agent: agent(roster, row, &to), to, question: row.place.seen.clone(), text };
    match tmux.type_answer(&typed, &mut steps).await {
        Delivery::Acknowledged => Attempt::Acknowledged,
        Delivery::Unacknowledged => Attempt::Submitted,
        Delivery::Obstacle(obstacle) => stopped(obstacle),
        // Stopped before the first key, as in a pause: it waits.
        Delivery::Undelivered { at: Reached::Ready, why: why @ Undelivered::Stopped } => {
            Attempt::Held(why.to_string())
        }
        Delivery::Undelivered { at: Reached::Ready, why } => Attempt::Refused(why.to_string()),
        Delivery::Undelivered { at: Reached::Typed | Reached::Submitted | Reached::Acknowledged, why } => {
            Attempt::Unsubmitted(why.to_string())
        }
    }
}

/// Presses the one key of a permission prompt.
pub(super) async fn key(ctx: &Ctx, roster: &Roster, row: &NeedRow, answer: &AnswerRow) -> Attempt {
    let (tmux, to) = match target(ctx, row).await {
        Ok(found) => found,
        Err(attempt) => return attempt,
    };
    let prompt = row.place.prompt.as_deref().and_then(|json| serde_json::from_str::<Prompt>(json).ok());
    let (Some(prompt), Some(decision)) = (prompt, answer.press) else {
        return Attempt::Refused("the prompt itself was not seen".to_owned());
    };
    let decision = match decision {
        Decision::Allow => Permission::AllowOnce,
        Decision::Deny => Permission::Deny,
    };
    let press = Press { agent: agent(roster, row, &to), to, prompt: prompt.hash, decision };
    let mut steps = Steps { store: ctx.store.clone(), answer: answer.id };
    match tmux.press(&press, &mut steps).await {
        Pressed::Done => Attempt::Acknowledged,
        Pressed::StillOpen => {
            Attempt::Unsubmitted("the key was pressed, and the prompt stands there still".to_owned())
        }
        Pressed::Obstacle(obstacle) => stopped(obstacle),
        Pressed::NoKey(why) => Attempt::Refused(why.to_string()),
        // A press is stopped before its one key only: it waits.
        Pressed::Unclear(why @ Undelivered::Stopped) => Attempt::Held(why.to_string()),
        Pressed::Unclear(why) => Attempt::Unsubmitted(why.to_string()),
    }
}

fn stopped(obstacle: Obstacle) -> Attempt {
    match obstacle {
        Obstacle::Held(hold) => Attempt::Held(hold.to_string()),
        Obstacle::Refused(refusal) => Attempt::Refused(refusal.to_string()),
    }
}

/// Thrum, where it comes first: it names a pane elsewhere, and has not refused this question before. The
/// owner who answers once more behind a refusal has pressed for ssh.
async fn through_thrum(ctx: &Ctx, roster: &Roster, row: &NeedRow) -> Result<Option<(Thrum, Agent)>, Attempt> {
    if row.place.remote.is_none() {
        return Ok(None);
    }
    let member = roster.members.iter().find(|member| member.agent == row.agent);
    let Some((member, folder)) = member.and_then(|member| Some((member, member.thrum.as_deref()?))) else {
        return Ok(None);
    };
    let need = row.id;
    let refused = ctx.store.read(move |tx| need_answers::came_back(tx, need, THRUM)).await;
    match refused {
        Ok(true) => return Ok(None),
        Ok(false) if is_closed(ctx).await => {
            let why =
                format!("{THRUM} (its licence does not cover panes); answer once more and it goes by ssh");
            return Err(Attempt::Refused(why));
        }
        Ok(false) => {}
        Err(error) => return Err(Attempt::Refused(error.to_string())),
    }
    let agent = agent_of(member.adapter.as_deref(), "");
    let thrum = thrum_of(roster, folder).map_err(|error| super::thrumming::refused(&error))?;
    Ok(Some((thrum, agent)))
}

/// The pane as it was when it was read. One that thrum read is asked for now, since the question it showed is
/// compared before any key; one that was only named may be another by now.
async fn target(ctx: &Ctx, row: &NeedRow) -> Result<(Tmux, PaneIdentity), Attempt> {
    let refused = |why: String| Attempt::Refused(why);
    let pane = row.place.pane.as_deref().and_then(|pane| PaneId::new(pane).ok());
    let pane = pane.ok_or_else(|| refused("no pane of its asker is known".to_owned()))?;
    let to = match row.place.identity.as_deref().map(serde_json::from_str::<PaneIdentity>) {
        Some(Ok(identity)) => identity,
        Some(Err(error)) => return Err(refused(error.to_string())),
        None if row.place.seen.is_some() => {
            let found = tmux_of(ctx, row)?.pane(&pane).await;
            found.map_err(|error| refused(error.to_string()))?.identity
        }
        None => {
            let why = "its pane was not read when it asked, so it may be another by now";
            return Err(refused(why.to_owned()));
        }
    };
    Ok((tmux_of(ctx, row)?, to))
}

/// The tmux of the machine that the pane is on.
fn tmux_of(ctx: &Ctx, row: &NeedRow) -> Result<Tmux, Attempt> {
    let tmux = match row.place.remote.as_deref() {
        None => ctx.tmux(),
        Some(host) => ctx.tmux_of(host),
    };
    tmux.map_err(|error| Attempt::Refused(error.to_string()))
}

/// Whose screen it is: as the roster says, else by the program in front.
fn agent(roster: &Roster, row: &NeedRow, to: &PaneIdentity) -> Agent {
    let member = roster.members.iter().find(|member| member.agent == row.agent);
    agent_of(member.and_then(|member| member.adapter.as_deref()), &to.foreground)
}

/// Writes the steps of a delivery into the answer's row.
pub(super) struct Steps {
    store: Store,
    answer: AnswerId,
}

impl Journal for Steps {
    async fn reached(&mut self, at: Reached) -> bool {
        let (stage, step) = match at {
            Reached::Ready => (Stage::Carrying, "ready"),
            Reached::Typed => (Stage::Typed, "typed"),
            Reached::Submitted => (Stage::Submitted, "submitted"),
            Reached::Acknowledged => (Stage::Acknowledged, "acknowledged"),
        };
        let answer = self.answer;
        let written: Result<(), StoreError> = self
            .store
            .write(Durability::Full, move |tx| need_answers::set_stage(tx, answer, stage, None))
            .await;
        failpoint::reach(step);
        // A step that cannot be written down is not followed by a key, nor is one in a pause.
        written.is_ok() && matches!(self.store.read(pause::current).await, Ok(None))
    }
}
