//! Questions of agents: taken in once, told once, reminded of once, and answered in the owner's own words.
//!
//! Everything an asker or the owner does is one transaction on the store and needs no running runtime;
//! the runtime carries answers, reminds, and watches.

mod answering;
mod asker;
mod briefing;
mod carrying;
mod hooks;
mod looking;
mod members;
mod messaging;
mod raising;
mod reminding;
mod serving;
mod sightings;
mod thrumming;
mod ticking;
mod typing;
mod watcher;
mod watching;

pub use answering::{
    AnswerError, answer, drop_need, fetched, may_type, press, take_back, type_instead, unreachable, way_of,
    why_not_allow,
};
pub use asker::{Asker, Known, here, know_server, project_of};
pub use briefing::{BriefError, STEWARD, brief, briefed};
pub use carrying::{carry, take_up};
pub use hooks::{HookError, HookPlan, claude_event, install, plan};
pub use looking::{Shown, Unseen, capture};
pub use members::{Roster, roster};
pub use messaging::Messages;
pub use raising::{Asking, Raised, raise};
pub use reminding::remind;
pub use serving::{carry_alone, serve};
pub use ticking::{LastTick, last_tick};
pub use watcher::{Job, Standing, Watcher, prompts, standing};
pub use watching::Watch;

use steward_rules::ids::NeedId;

use super::Ctx;
use crate::store::{Durability, StoreError, settings, sql};

/// When somebody last asked that all panes are looked at now.
const LOOK: &str = "questions.look";

/// Asks the runtime to look at every pane now.
pub async fn ask_look(ctx: &Ctx) -> Result<(), StoreError> {
    ctx.store
        .write(Durability::Normal, |tx| {
            settings::set(tx, LOOK, &sql::utc_text(tx.now()))?;
            tx.topic("roster")
        })
        .await
}

/// What an inbox entry or a notification of a question opens.
pub fn target(id: NeedId) -> String {
    format!("question/{id}")
}

/// Under which one version of a question is told once for ever.
fn notice_key(id: NeedId, version: u32) -> String {
    format!("need:{id}:{version}")
}
