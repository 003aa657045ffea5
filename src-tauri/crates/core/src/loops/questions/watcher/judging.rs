//! From one look of the seat to what is kept of it: nothing is raised that a fresh capture does not show.

use steward_rules::ids::NeedId;
use steward_rules::questions::need::{Need, Origin, QUESTION, agent_key};
use steward_rules::questions::pane::{Judgement, Modal, PaneState, Prompt, Seen, judge as judge_pane};
use steward_rules::questions::roster::Member;
use steward_rules::questions::watcher::{Ask, Excerpt, Judged, Says, WHY};
use tokio_util::sync::CancellationToken;

use super::running::{Ended, ask};
use super::{Case, Job, Outcome};
use crate::loops::Ctx;
use crate::loops::effects::powers;
use crate::loops::questions::looking::{agent_of, capture};
use crate::loops::questions::raising::{Asking, raise};
use crate::loops::questions::watching::AGAIN;
use crate::loops::questions::{here, roster, sightings};
use crate::store::judgements::{self, AdviceRow, PaneRow};
use crate::store::needs::{self, NeedState, Place};
use crate::store::{Durability, StoreError, roster as states};
use crate::tmux::Pane;

/// Does one job.
pub(super) async fn judge(ctx: &Ctx, job: &Job, stop: &CancellationToken) -> Result<Outcome, StoreError> {
    match job {
        Job::Pane(case) => pane(ctx, case, stop).await,
        Job::Prompt(need) => prompt(ctx, *need, stop).await,
    }
}

/// A pane as it is now.
struct Fresh {
    judged: Judgement,
    excerpt: Excerpt,
    pane: Option<Pane>,
}

impl Fresh {
    fn shown(&self) -> String {
        sightings::shown(&self.judged, &self.excerpt)
    }
}

async fn fresh(ctx: &Ctx, member: &Member) -> Option<Fresh> {
    let config = powers::questions(ctx).await.ok()?;
    let roster = roster(&config).await;
    let seen = capture(ctx, &roster, member, &config).await.ok()?;
    let foreground = seen.pane.as_ref().map(|pane| pane.identity.foreground.clone()).unwrap_or_default();
    let agent = agent_of(member.adapter.as_deref(), &foreground);
    let excerpt = Excerpt::of(&seen.screen);
    let judged = judge_pane(agent, &foreground, &Seen::Looked { first: seen.screen, second: None });
    Some(Fresh { judged, excerpt, pane: seen.pane })
}

/// The pane, while it shows what facts did not settle; `None` once it shows something else.
async fn same(ctx: &Ctx, case: &Case) -> Option<Fresh> {
    let now = fresh(ctx, &case.member).await?;
    let settled = match now.judged.state {
        PaneState::Working | PaneState::Waiting { .. } | PaneState::Error { .. } | PaneState::Unwatchable => {
            true
        }
        PaneState::Idle | PaneState::Unknown { .. } => false,
    };
    (!settled && now.shown() == case.shown).then_some(now)
}

async fn pane(ctx: &Ctx, case: &Case, stop: &CancellationToken) -> Result<Outcome, StoreError> {
    let key = case.key.clone();
    let topics = ctx.store.read(move |tx| needs::open_topics(tx, &key)).await?;
    let Some(mut now) = same(ctx, case).await else { return Ok(Outcome::Moved) };
    let mut said = match ask(ctx, Ask::State, &case.facts, &now.excerpt, &topics, stop).await? {
        Ok(said) => said,
        Err(Ended::Failed(why)) => return Ok(Outcome::Failed(why)),
        Err(Ended::Stopped) => return Ok(Outcome::Stopped),
    };
    if said.says == Says::Unsure {
        tokio::time::sleep(AGAIN).await;
        let Some(again) = same(ctx, case).await else { return Ok(Outcome::Moved) };
        // The same lines would be judged the same.
        if again.excerpt != now.excerpt {
            said = match ask(ctx, Ask::State, &case.facts, &again.excerpt, &topics, stop).await? {
                Ok(said) => said,
                Err(Ended::Failed(why)) => return Ok(Outcome::Failed(why)),
                Err(Ended::Stopped) => return Ok(Outcome::Stopped),
            };
            now = again;
        }
    }
    // Minutes may have passed: what is raised is on the screen now.
    let Some(last) = same(ctx, case).await else { return Ok(Outcome::Moved) };
    let asking = match question(case, &said, &now.excerpt, last.pane.as_ref()) {
        Ok(asking) => asking,
        Err(why) => return Ok(Outcome::Failed(why)),
    };
    let (case, row) = (case.clone(), kept(case, &said));
    ctx.store
        .write(Durability::Full, move |tx| {
            judgements::put_pane(tx, &case.key, &row)?;
            if let Some(mut member) = states::all(tx)?.into_iter().find(|member| member.agent_key == case.key)
            {
                let (state, detail) = sightings::told(&case.facts, &row);
                if state != member.state {
                    member.since = tx.now();
                }
                (member.state, member.detail) = (state, detail);
                states::put(tx, &member)?;
            }
            if let Some(asking) = asking {
                raise(tx, &asking)?;
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(Outcome::Judged)
}

fn kept(case: &Case, said: &Judged) -> PaneRow {
    PaneRow {
        shown: case.shown.clone(),
        says: said.says,
        topic: said.topic.clone(),
        why: said.why.as_ref().map(|why| why.one_line(WHY)),
    }
}

/// What is raised of a judgement: the lines it points at, in the pane's own words.
fn question(
    case: &Case,
    said: &Judged,
    excerpt: &Excerpt,
    pane: Option<&Pane>,
) -> Result<Option<Asking>, String> {
    let (Says::Question, Some(topic), Some(first), Some(last)) =
        (said.says, said.topic.as_deref(), said.first, said.last)
    else {
        return Ok(None);
    };
    let words = excerpt.words(first, last).ok_or("the lines it points at hold no words")?;
    let words: String = words.chars().take(QUESTION).collect();
    let need =
        Need::new(topic, &words, &[], case.member.project.as_deref()).map_err(|error| error.to_string())?;
    let identity = pane.map(|pane| serde_json::to_string(&pane.identity)).transpose();
    Ok(Some(Asking {
        agent: case.member.agent.clone(),
        host: case.host.clone(),
        need,
        origin: Origin::Pane,
        message: None,
        folder: None,
        place: Place {
            pane: case.member.pane.clone(),
            remote: case.member.host.clone().filter(|_| case.member.pane.is_some()),
            identity: identity.map_err(|error| error.to_string())?,
            seen: Some(case.shown.clone()),
            prompt: None,
        },
    }))
}

/// Advice about an open permission prompt. Nothing but the card reads it.
async fn prompt(ctx: &Ctx, need: NeedId, stop: &CancellationToken) -> Result<Outcome, StoreError> {
    let row = ctx.store.read(move |tx| needs::get(tx, need)).await?;
    let Some(row) = row.filter(|row| row.state == NeedState::Open) else { return Ok(Outcome::Moved) };
    let Some(seen) = row.place.seen.clone() else { return Ok(Outcome::Moved) };
    let roster = roster(&ctx.config().questions).await;
    let is_asker = |member: &&Member| {
        agent_key(&member.agent, &member.host.clone().unwrap_or_else(here)) == row.agent_key
    };
    let known = roster.members.iter().find(is_asker).cloned();
    let member = known.unwrap_or_else(|| Member {
        agent: row.agent.clone(),
        project: None,
        host: row.place.remote.clone(),
        pane: row.place.pane.clone(),
        adapter: None,
        absent: None,
        thrum: None,
    });
    let open = |now: Option<Fresh>| {
        now.and_then(|now| match &now.judged.state {
            PaneState::Waiting { prompt: Prompt { hash, modal: Modal::Permission, .. } } if *hash == seen => {
                Some(now)
            }
            PaneState::Waiting { .. }
            | PaneState::Working
            | PaneState::Idle
            | PaneState::Error { .. }
            | PaneState::Unwatchable
            | PaneState::Unknown { .. } => None,
        })
    };
    let Some(now) = open(fresh(ctx, &member).await) else { return Ok(Outcome::Moved) };
    let said = match ask(ctx, Ask::Advice, &now.judged.state, &now.excerpt, &[], stop).await? {
        Ok(said) => said,
        Err(Ended::Failed(why)) => return Ok(Outcome::Failed(why)),
        Err(Ended::Stopped) => return Ok(Outcome::Stopped),
    };
    let advice =
        AdviceRow { seen: seen.clone(), says: said.says, why: said.why.map(|why| why.one_line(WHY)) };
    ctx.store
        .write(Durability::Normal, move |tx| {
            let row = needs::get(tx, need)?;
            let still = row.is_some_and(|row| row.state == NeedState::Open && row.place.seen == Some(seen));
            if still { judgements::put_advice(tx, need, &advice) } else { Ok(()) }
        })
        .await?;
    Ok(Outcome::Judged)
}
