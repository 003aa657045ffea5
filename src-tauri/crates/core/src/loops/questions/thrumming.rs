//! Words into a pane of another machine through thrum: it types and sends in one command, and captures
//! before and after show what stands there.

use std::time::Duration;

use steward_rules::questions::delivery::Attempt;
use steward_rules::questions::keys::{Obstacle, Refusal, Typable, may_type};
use steward_rules::questions::pane::{Agent, Screen, Seen, Shown, judge, shown};
use tokio::time::Instant;

use super::looking::close;
use super::typing::{Steps, THRUM};
use crate::loops::Ctx;
use crate::peers::PeerError;
use crate::peers::thrum::Thrum;
use crate::store::needs::NeedRow;
use crate::tmux::{Journal, Reached, Undelivered};

/// How long the words may take to show: thrum waits until the pane is quiet.
const PATIENCE: Duration = Duration::from_secs(20);
/// The same where thrum itself did not come to its end.
const GLANCE: Duration = Duration::from_secs(4);
const LOOK: Duration = Duration::from_millis(700);

/// Sends one line, unless a capture shows that it must not go.
pub(super) async fn line(
    ctx: &Ctx,
    thrum: &Thrum,
    agent: Agent,
    row: &NeedRow,
    text: &Typable,
    steps: &mut Steps,
) -> Attempt {
    if text.has_line_breaks() {
        return Attempt::Refused(Refusal::OneLineOnly.to_string());
    }
    let before = match thrum.capture(&row.agent).await {
        Ok(out) => Screen::parse(&out),
        Err(error) => return closed(ctx, &error).await,
    };
    let seen = judge(agent, "", &Seen::Looked { first: before, second: None });
    match may_type(&seen, row.place.seen.as_deref()) {
        Ok(()) => {}
        Err(Obstacle::Held(hold)) => return Attempt::Held(hold.to_string()),
        Err(Obstacle::Refused(refusal)) => return Attempt::Refused(refusal.to_string()),
    }
    if !steps.reached(Reached::Ready).await {
        // Stopped before the first key, as in a pause: it waits.
        return Attempt::Held(Undelivered::Stopped.to_string());
    }
    let unsure = match thrum.type_line(&row.agent, text.as_str()).await {
        Ok(()) => None,
        Err(error) if is_refusal(&error) => return closed(ctx, &error).await,
        Err(error) => Some(error),
    };
    let until = Instant::now() + if unsure.is_none() { PATIENCE } else { GLANCE };
    let mut last = Shown::Nowhere;
    while Instant::now() < until {
        tokio::time::sleep(LOOK).await;
        let Ok(out) = thrum.capture(&row.agent).await else { continue };
        last = shown(agent, &Screen::parse(&out), text.as_str());
        match last {
            Shown::Transcript => return Attempt::Acknowledged,
            // What else the agent may work on is no proof of what thrum did.
            Shown::Working if unsure.is_none() => return Attempt::Acknowledged,
            // A prompt that lies over the composer proves nothing.
            Shown::Working | Shown::Modal => {}
            Shown::Composer | Shown::Placeholder | Shown::Nowhere | Shown::Other => {}
        }
    }
    match unsure {
        _ if last.is_typed() => {
            Attempt::Unsubmitted("it stands in the composer, and thrum did not send it".to_owned())
        }
        Some(error) => Attempt::Unsubmitted(format!(
            "whether thrum typed it is not known ({error}): look there before you send it again"
        )),
        None => Attempt::Submitted,
    }
}

/// True when thrum itself said no, or is not there: nothing was typed. Behind any other fault it may have been.
fn is_refusal(error: &PeerError) -> bool {
    match error {
        PeerError::Missing(_) | PeerError::Refused { .. } => true,
        PeerError::Timeout { .. }
        | PeerError::TooLarge { .. }
        | PeerError::Ended { .. }
        | PeerError::Odd { .. }
        | PeerError::Start { .. } => false,
    }
}

/// A refusal by its licence closes thrum's panes for everybody.
async fn closed(ctx: &Ctx, error: &PeerError) -> Attempt {
    match close(ctx, error).await {
        Ok(()) => refused(error),
        Err(fault) => Attempt::Refused(fault.to_string()),
    }
}

/// What thrum refused comes back; the owner's next press goes by ssh, where the config lets it.
pub(super) fn refused(error: &PeerError) -> Attempt {
    Attempt::Refused(format!("{THRUM} ({error}); answer once more and it goes by ssh"))
}
