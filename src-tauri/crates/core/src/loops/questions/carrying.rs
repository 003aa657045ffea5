//! Carries answers: each is claimed before anything leaves, so that one answer acts once.

use std::path::Path;

use steward_rules::questions::answer::carried;
use steward_rules::questions::delivery::{Attempt, Stage, Way, after, after_restart};
use steward_rules::untrusted::Untrusted;

use super::{Roster, answering, raising, roster, target};
use crate::config::Questions;
use crate::loops::effects::powers;
use crate::loops::{Ctx, failpoint, pause};
use crate::peers::thrum::Thrum;
use crate::store::need_answers::{self, AnswerRow};
use crate::store::needs::{self, NeedRow};
use crate::store::thrum::{self as thrum_log, SentState};
use crate::store::{Durability, StoreError, WriteTx, notices};

/// What is said of an answer that a dead runtime left half carried.
const LEFT: &str =
    "Steward ended while this was on its way: look whether it arrived, and send it again if not";

/// Carries every answer that waits for it, oldest first; gives how many were tried.
pub async fn carry(ctx: &Ctx) -> Result<usize, StoreError> {
    let waiting = ctx.store.read(need_answers::claimable).await?;
    if waiting.is_empty() || ctx.store.read(pause::current).await?.is_some() {
        return Ok(0);
    }
    let config = powers::questions(ctx).await?;
    if !config.enabled {
        return Ok(0);
    }
    let roster = roster(&config).await;
    let mut tried = 0;
    for answer in waiting {
        // Each is a write of its own: a pause stops what is not sent yet.
        if ctx.store.read(pause::current).await?.is_some() {
            break;
        }
        let (id, need) = (answer.id, answer.need);
        let taken = ctx.store.write(Durability::Full, move |tx| need_answers::claim(tx, id)).await?;
        let row = ctx.store.read(move |tx| needs::get(tx, need)).await?;
        let (true, Some(row)) = (taken, row) else { continue };
        failpoint::reach("claimed");
        tried += 1;
        let attempt = attempt(ctx, &config, &roster, &row, &answer).await;
        failpoint::reach("carried");
        settle(ctx, row, answer, attempt).await?;
    }
    Ok(tried)
}

async fn attempt(
    ctx: &Ctx,
    config: &Questions,
    roster: &Roster,
    row: &NeedRow,
    answer: &AnswerRow,
) -> Attempt {
    let may = answering::may_press(row, config);
    match answer.way {
        // It was given when keys were allowed, and they are no more.
        Way::Type | Way::Key if !may => Attempt::Refused(answering::unreachable(row).to_owned()),
        Way::Thrum => reply(ctx, config, roster, row, answer).await,
        Way::Type => {
            let text = carried(&row.item(), &config.owner, &answer.words);
            super::typing::words(ctx, roster, row, answer, &text).await
        }
        Way::Key => super::typing::key(ctx, roster, row, answer).await,
        Way::Fetch | Way::Nowhere => Attempt::Refused("nothing carries this answer".to_owned()),
    }
}

/// Replies to the asker's message. The intent is written first, so that nobody is told twice.
async fn reply(ctx: &Ctx, config: &Questions, roster: &Roster, row: &NeedRow, answer: &AnswerRow) -> Attempt {
    let (Some(message), Some(folder)) = (row.message.clone(), row.folder.clone()) else {
        return Attempt::Refused("the message it came in is not known".to_owned());
    };
    let Some(project) = roster.projects.iter().find(|project| project.folder == Path::new(&folder)) else {
        return Attempt::Refused(format!("{folder} is on the roster no more"));
    };
    let thrum = match Thrum::find(&project.folder, &project.agent) {
        Ok(thrum) => thrum,
        Err(error) => return Attempt::Refused(error.to_string()),
    };
    let key = format!("answer:{}", answer.id);
    let content = carried(&row.item(), &config.owner, &answer.words);
    let (need, intent, to, text) = (row.id, key.clone(), message.clone(), content.clone());
    let written = ctx
        .store
        .write(Durability::Full, move |tx| thrum_log::intend(tx, &intent, need, &folder, &to, &text))
        .await;
    match written {
        Ok(true) => {}
        Ok(false) => return Attempt::Refused(LEFT.to_owned()),
        Err(error) => return Attempt::Refused(error.to_string()),
    }
    failpoint::reach("reply");
    let sent = thrum.reply(&message, &content).await;
    let (state, id, why) = match &sent {
        Ok(id) => (SentState::Sent, id.clone(), None),
        Err(error) => (SentState::Failed, None, Some(error.to_string())),
    };
    let noted = why.clone();
    let settled = ctx
        .store
        .write(Durability::Full, move |tx| {
            thrum_log::settle(tx, &key, state, id.as_deref(), noted.as_deref())
        })
        .await;
    match (why, settled) {
        (Some(why), _) => Attempt::Refused(why),
        (None, Ok(())) => Attempt::Acknowledged,
        (None, Err(error)) => Attempt::Refused(error.to_string()),
    }
}

/// Writes how an attempt ended; one that did not arrive goes back to the owner.
async fn settle(ctx: &Ctx, row: NeedRow, answer: AnswerRow, attempt: Attempt) -> Result<(), StoreError> {
    let (stage, why) = after(attempt);
    ctx.store
        .write(Durability::Full, move |tx| match stage {
            Stage::Returned => give_back(tx, &row, &answer, why.as_deref().unwrap_or(LEFT)),
            Stage::Queued | Stage::Carrying | Stage::Typed | Stage::Submitted | Stage::Acknowledged => {
                need_answers::set_stage(tx, answer.id, stage, why.as_deref())
            }
        })
        .await
}

/// Gives an answer back: the question is open again, and the inbox says why.
fn give_back(tx: &WriteTx<'_>, row: &NeedRow, answer: &AnswerRow, why: &str) -> Result<(), StoreError> {
    need_answers::set_stage(tx, answer.id, Stage::Returned, Some(why))?;
    needs::reopen(tx, row.id)?;
    raising::enter(tx, row, "UNDELIVERED")?;
    let title = format!("Not delivered: your answer to {}", row.item().asker());
    let title = Untrusted::new(title).one_line(160);
    notices::add(
        tx,
        &format!("answer:{}:returned", answer.id),
        &target(row.id),
        &title,
        &Untrusted::new(why).one_line(300),
    )?;
    tx.topic("notices")
}

/// Takes up what a runtime that died left: what was on its way is never sent again by itself.
pub async fn take_up(ctx: &Ctx) -> Result<(), StoreError> {
    if ctx.store.read(need_answers::under_way).await?.is_empty() {
        return Ok(());
    }
    ctx.store
        .write(Durability::Full, |tx| {
            for answer in need_answers::under_way(tx)? {
                let stage = after_restart(answer.stage);
                let Some(row) = needs::get(tx, answer.need)? else { continue };
                if stage == Stage::Returned {
                    give_back(tx, &row, &answer, LEFT)?;
                } else {
                    need_answers::set_stage(tx, answer.id, stage, answer.why.as_deref())?;
                }
            }
            Ok(())
        })
        .await
}
