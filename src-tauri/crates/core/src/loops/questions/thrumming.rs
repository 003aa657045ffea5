//! Words into a pane of another machine through thrum: it types and sends in one command, and captures
//! before and after show what stands there.

use std::time::Duration;

use steward_rules::questions::delivery::Attempt;
use steward_rules::questions::keys::{Obstacle, Refusal, Typable, may_type};
use steward_rules::questions::pane::{Agent, Screen, Seen, Shown, judge, shown};
use tokio::time::Instant;

use super::typing::{Steps, THRUM};
use crate::peers::PeerError;
use crate::peers::thrum::Thrum;
use crate::store::needs::NeedRow;
use crate::tmux::{Journal, Reached};

/// How long the words may take to show: thrum waits until the pane is quiet.
const PATIENCE: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(700);

/// Sends one line, unless a capture shows that it must not go.
pub(super) async fn line(
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
        Err(error) => return refused(&error),
    };
    let seen = judge(agent, "", &Seen::Looked { first: before, second: None });
    match may_type(&seen, row.place.seen.as_deref()) {
        Ok(()) => {}
        Err(Obstacle::Held(hold)) => return Attempt::Held(hold.to_string()),
        Err(Obstacle::Refused(refusal)) => return Attempt::Refused(refusal.to_string()),
    }
    if !steps.reached(Reached::Ready).await {
        return Attempt::Unsubmitted("the delivery was stopped".to_owned());
    }
    if let Err(error) = thrum.type_line(&row.agent, text.as_str()).await {
        return refused(&error);
    }
    let until = Instant::now() + PATIENCE;
    let mut last = Shown::Nowhere;
    while Instant::now() < until {
        tokio::time::sleep(LOOK).await;
        let Ok(out) = thrum.capture(&row.agent).await else { continue };
        last = shown(agent, &Screen::parse(&out), text.as_str());
        match last {
            Shown::Transcript | Shown::Working | Shown::Modal => return Attempt::Acknowledged,
            Shown::Composer | Shown::Placeholder | Shown::Nowhere | Shown::Other => {}
        }
    }
    if last.is_typed() {
        return Attempt::Unsubmitted("it stands in the composer, and thrum did not send it".to_owned());
    }
    Attempt::Submitted
}

/// What thrum refused comes back; the owner's next press goes by ssh, where the config lets it.
pub(super) fn refused(error: &PeerError) -> Attempt {
    Attempt::Refused(format!("{THRUM} ({error}); answer once more and it goes by ssh"))
}
