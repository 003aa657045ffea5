//! What a tick of the watch leaves behind: each member's state, prompts raised and gone, and what the
//! owner must hear of members that cannot be watched.

use chrono::{DateTime, Utc};
use steward_rules::questions::escalation::{
    Looked, RESOLUTION, Tick, Watchable, escalate, flagged, key, tick, watchable,
};
use steward_rules::questions::hook::PERMISSION;
use steward_rules::questions::need::{Need, OPTION, Origin, QUESTION};
use steward_rules::questions::pane::{Choice, Fault, Judgement, Modal, PaneState, Prompt, Unsure};
use steward_rules::questions::watcher::{Excerpt, Says};
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;

use super::raising::{Asking, close, raise};
use super::ticking;
use super::watching::{Sight, state_of};
use crate::loops::Ctx;
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::judgements::{self, PaneRow};
use crate::store::needs::{self, NeedState, Place};
use crate::store::roster::{self as states, MemberRow, MemberState};
use crate::store::{Durability, StoreError, WriteTx, notices};

/// What the fault of an empty roster opens.
const EMPTY: &str = "roster/empty";
const FAILED: &str = "roster/watch";

/// The fault of a watch without members: one inbox entry, and nothing is watched.
pub(super) async fn empty(ctx: &Ctx, faults: &[String]) -> Result<(), StoreError> {
    let source = match faults.first() {
        Some(fault) => Untrusted::new(fault).one_line(160),
        None => "`questions.roster` in the config file".to_owned(),
    };
    let entry = NewEntry {
        kind: Kind::Incident,
        subject: "roster".to_owned(),
        target: EMPTY.to_owned(),
        title: "Nobody is on the roster, so no pane is watched".to_owned(),
        source,
        chip: "ROSTER".to_owned(),
    };
    let stands = ctx.store.read(|tx| inbox::of_target(tx, Kind::Incident, EMPTY)).await?;
    if stands.is_some_and(|row| row.source == entry.source && row.state != inbox::EntryState::Gone) {
        return Ok(());
    }
    ctx.store.write(Durability::Full, move |tx| inbox::upsert(tx, &entry).map(drop)).await
}

/// Keeps a tick. True when somebody works, waits or stopped at a fault.
pub(super) async fn keep(
    ctx: &Ctx,
    sights: Vec<Sight>,
    before: &[MemberRow],
    faults: &[String],
    since: DateTime<Utc>,
) -> Result<bool, StoreError> {
    let (before, faults) = (before.to_vec(), faults.to_vec());
    ctx.store
        .write(Durability::Full, move |tx| {
            inbox::withdraw(tx, Kind::Incident, EMPTY)?;
            let mut looked = Vec::new();
            let mut busy = false;
            for sight in &sights {
                let old = before.iter().find(|row| row.agent_key == sight.key);
                let said = judgements::pane(tx, &sight.key)?;
                let said = said.filter(|said| Some(&said.shown) == sight.shown.as_ref());
                let (one, row) = seen(tx, sight, old, said.as_ref());
                busy |= matches!(row.state, MemberState::Working | MemberState::Waiting | MemberState::Error);
                states::put(tx, &row)?;
                questions(tx, sight, since)?;
                looked.push(one);
            }
            for row in before.iter().filter(|row| sights.iter().all(|sight| sight.key != row.agent_key)) {
                states::forget(tx, &row.agent_key)?;
                judgements::forget_pane(tx, &row.agent_key)?;
            }
            let tick = tick(&looked);
            say(tx, &tick, &sights, &looked)?;
            let unseen = |one: &&Looked| matches!(one.watchable, Watchable::No(_)) && !one.declared_absent;
            ticking::keep_tick(tx, &tick, looked.iter().filter(unseen).count(), &faults)?;
            Ok(busy)
        })
        .await
}

/// A member's row after this sight, and what the tick counts of it.
fn seen(
    tx: &WriteTx<'_>,
    sight: &Sight,
    old: Option<&MemberRow>,
    said: Option<&PaneRow>,
) -> (Looked, MemberRow) {
    let (watchable, empty) = watchable(&sight.look, old.map_or(0, |row| row.empty));
    let (state, detail) = match (&watchable, &sight.judged, old) {
        (Watchable::No(why), _, _) => (MemberState::Unwatchable, why.clone()),
        (Watchable::Unknown, _, _) if sight.look == steward_rules::questions::escalation::Look::NoPane => {
            (MemberState::Unknown, "no pane is named; its questions come as messages".to_owned())
        }
        (Watchable::Unknown, _, _) => (MemberState::Unknown, "its pane is empty".to_owned()),
        (Watchable::Yes, Some(judged), _) => match said {
            Some(said) => told(&judged.state, said),
            None => (state_of(&judged.state), detail(&judged.state)),
        },
        // Nothing was drawn since: it is what it was.
        (Watchable::Yes, None, Some(old)) => (old.state, old.detail.clone()),
        (Watchable::Yes, None, None) => (MemberState::Unknown, String::new()),
    };
    let captured = sight.judged.is_some();
    let same = old.is_some_and(|row| row.state == state);
    let row = MemberRow {
        agent_key: sight.key.clone(),
        agent: sight.member.agent.clone(),
        host: sight.host.clone(),
        pane: sight.member.pane.clone(),
        state,
        detail,
        empty,
        activity: sight.activity,
        program: sight.pane.as_ref().map(|pane| pane.identity.foreground.clone()),
        captured_at: if captured { Some(tx.now()) } else { old.and_then(|row| row.captured_at) },
        since: if same { old.map_or(tx.now(), |row| row.since) } else { tx.now() },
        seen_at: tx.now(),
    };
    let looked = Looked {
        look: sight.look.clone(),
        watchable,
        declared_absent: sight.member.absent.is_some(),
        state: state.as_str(),
    };
    (looked, row)
}

/// Names what a pane shows, so that the same is not judged twice: by what its agent said last, else by
/// its lines.
pub(super) fn shown(judged: &Judgement, excerpt: &Excerpt) -> String {
    judged.question.clone().unwrap_or_else(|| excerpt.hash())
}

/// A member's state by facts and by what the watcher seat said of the same. Facts stand against it; only
/// that something is a question is the seat's alone to say.
pub(super) fn told(facts: &PaneState, said: &PaneRow) -> (MemberState, String) {
    let open = matches!(facts, PaneState::Unknown { .. });
    let (state, words) = match said.says {
        Says::Question => {
            let topic = said.topic.as_deref().unwrap_or_default();
            (MemberState::Waiting, format!("asks about {}", Untrusted::new(topic).one_line(80)))
        }
        Says::Working if open => (MemberState::Working, "the watcher seat says that it works".to_owned()),
        Says::Error if open => {
            (MemberState::Error, "the watcher seat says that it stopped at a fault".to_owned())
        }
        Says::Idle if open => (MemberState::Idle, "the watcher seat sees no question".to_owned()),
        Says::Working | Says::Error | Says::Idle => {
            (state_of(facts), "the watcher seat sees no question".to_owned())
        }
        Says::Unsure | Says::Allow | Says::Deny => {
            (state_of(facts), "the watcher seat is not sure what it shows".to_owned())
        }
    };
    (state, words)
}

fn detail(state: &PaneState) -> String {
    match state {
        PaneState::Working | PaneState::Idle => String::new(),
        PaneState::Waiting { prompt } => Untrusted::new(prompt.title.as_data()).one_line(160),
        PaneState::Error { fault } => match fault {
            Fault::Auth => "not signed in",
            Fault::Limit => "a usage limit",
            Fault::Service => "the model's service failed",
            Fault::Network => "the model's service is not reached",
            Fault::Context => "the conversation no longer fits",
            Fault::Ended => "the agent has ended: a shell stands there",
        }
        .to_owned(),
        PaneState::Unwatchable => "it cannot be captured".to_owned(),
        PaneState::Unknown { why } => match why {
            Unsure::LookAgain => "one look does not settle it",
            Unsure::Empty => "its pane is empty",
            Unsure::Unrecognised => "nothing known is on its screen",
            Unsure::Stuck => "its spinner stands still",
        }
        .to_owned(),
    }
}

/// Raises the prompt that a pane shows, and closes what it shows no more.
fn questions(tx: &WriteTx<'_>, sight: &Sight, since: DateTime<Utc>) -> Result<(), StoreError> {
    let Some(judged) = &sight.judged else { return Ok(()) };
    let shown = match &judged.state {
        PaneState::Waiting { prompt } => Some(prompt),
        // What is not known is not gone.
        PaneState::Unknown { .. } | PaneState::Unwatchable => return Ok(()),
        PaneState::Working | PaneState::Idle | PaneState::Error { .. } => None,
    };
    let open = match sight.member.pane.as_deref() {
        Some(pane) => needs::open_in_pane(tx, sight.member.host.as_deref(), pane)?,
        // Thrum reads its screen by its name, and says no pane.
        None => needs::open_without_pane(tx, &sight.key)?,
    };
    needs::forget_dropped(tx, &sight.key, shown.map(|prompt| prompt.hash.as_str()))?;
    for row in open {
        let of_prompt = match row.origin {
            Origin::Pane => true,
            Origin::Hook => row.place.prompt.is_some(),
            Origin::Cli | Origin::Mcp | Origin::Thrum => false,
        };
        let is_prompt = row.place.prompt.is_some() || row.origin == Origin::Hook;
        let is_shown = match (&row.place.seen, shown) {
            // Words that the watcher seat pointed at: they stand there while nothing else is said.
            (Some(seen), None) if !is_prompt => judged.question.as_ref() == Some(seen),
            (Some(seen), Some(prompt)) => *seen == prompt.hash,
            // A hook spoke of a prompt that was not read then.
            (None, Some(_)) => is_prompt,
            (_, None) => false,
        };
        if of_prompt && !is_shown {
            close(tx, &row, NeedState::Gone)?;
        }
    }
    let Some(prompt) = shown else { return Ok(()) };
    if is_settled(tx, sight, &prompt.hash, since)? {
        return Ok(());
    }
    raise(tx, &asking(sight, prompt)?).map(drop)
}

/// True when the owner is done with a prompt that stands there still: he has answered it, and the key is on its
/// way, or went after this look began; or he put it away.
fn is_settled(tx: &WriteTx<'_>, sight: &Sight, seen: &str, since: DateTime<Utc>) -> Result<bool, StoreError> {
    if needs::is_dropped(tx, &sight.key, seen)? {
        return Ok(true);
    }
    match sight.member.pane.as_deref() {
        Some(pane) => needs::is_answered(tx, sight.member.host.as_deref(), pane, seen, since),
        None => Ok(false),
    }
}

/// A prompt as a question: nothing of it is in other words than the pane's.
fn asking(sight: &Sight, prompt: &Prompt) -> Result<Asking, StoreError> {
    let topic = match prompt.modal {
        Modal::Permission => PERMISSION,
        Modal::Trust => "trust",
        Modal::Menu => "menu",
    };
    let clean = |text: &str, most: usize| -> String {
        Engine::shared().redact(text.trim()).chars().take(most).collect()
    };
    let (title, subject) = (prompt.title.as_data(), prompt.subject.as_data());
    let text = if subject.trim().is_empty() { title.to_owned() } else { format!("{title}\n{subject}") };
    let text = if text.trim().is_empty() { "a prompt is open".to_owned() } else { text };
    let label = |choice: &Choice| clean(choice.label.as_data(), OPTION);
    let options: Vec<String> = match prompt.modal {
        Modal::Permission => Vec::new(),
        Modal::Trust | Modal::Menu => {
            prompt.choices.iter().map(label).filter(|label| !label.is_empty()).take(26).collect()
        }
    };
    let bad = |error: String| StoreError::Value(error);
    let need = Need::new(topic, &clean(&text, QUESTION), &options, sight.member.project.as_deref())
        .map_err(|error| bad(error.to_string()))?;
    let json = |error: serde_json::Error| bad(error.to_string());
    let identity = sight.pane.as_ref().map(|pane| serde_json::to_string(&pane.identity));
    Ok(Asking {
        agent: sight.member.agent.clone(),
        host: sight.host.clone(),
        need,
        origin: Origin::Pane,
        message: None,
        folder: None,
        place: Place {
            pane: sight.member.pane.clone(),
            remote: sight.member.host.clone(),
            identity: identity.transpose().map_err(json)?,
            seen: Some(prompt.hash.clone()),
            prompt: Some(serde_json::to_string(prompt).map_err(json)?),
        },
    })
}

/// Says what cannot be watched: at most three times per condition, in one notification per tick.
fn say(tx: &WriteTx<'_>, tick: &Tick, sights: &[Sight], looked: &[Looked]) -> Result<(), StoreError> {
    if *tick == Tick::ResolutionFail {
        if escalate(states::said(tx, RESOLUTION)?, false) {
            let (count, first) = states::say(tx, RESOLUTION)?;
            enter(tx, FAILED, "No member of the roster could be captured", &why(looked), "RESOLUTION-FAIL")?;
            notices::add(
                tx,
                &format!("resolution:{}:{count}", first.timestamp_millis()),
                "roster",
                "RESOLUTION-FAIL",
                &format!("No member of the roster could be captured · {}", why(looked)),
            )?;
            tx.topic("notices")?;
        }
        return Ok(());
    }
    if states::cleared(tx, RESOLUTION)? {
        inbox::withdraw(tx, Kind::Incident, FAILED)?;
    }
    let mut lines = Vec::new();
    for (sight, one) in sights.iter().zip(looked) {
        let condition = key(&sight.member.agent, sight.member.host.as_deref());
        let target = format!("roster/{}", sight.key);
        match &one.watchable {
            Watchable::No(why) => {
                if escalate(states::said(tx, &condition)?, one.declared_absent) {
                    states::say(tx, &condition)?;
                    let title = format!("{} cannot be watched", sight.member.agent);
                    enter(tx, &target, &title, &flagged(why), "UNWATCHABLE")?;
                    lines.push(
                        Untrusted::new(format!("{}: {}", sight.member.agent, flagged(why))).one_line(200),
                    );
                }
            }
            Watchable::Yes => {
                if states::cleared(tx, &condition)? {
                    inbox::withdraw(tx, Kind::Incident, &target)?;
                }
            }
            Watchable::Unknown => {}
        }
    }
    if lines.is_empty() {
        return Ok(());
    }
    let title = match lines.len() {
        1 => "A member of the roster cannot be watched".to_owned(),
        count => format!("{count} members of the roster cannot be watched"),
    };
    notices::add(
        tx,
        &format!("unwatchable:{}", tx.now().timestamp_millis()),
        "roster",
        &title,
        &lines.join("\n"),
    )?;
    tx.topic("notices")
}

fn why(looked: &[Looked]) -> String {
    let first = looked.iter().find_map(|one| match &one.watchable {
        Watchable::No(why) => Some(why.as_str()),
        Watchable::Yes | Watchable::Unknown => None,
    });
    Untrusted::new(first.unwrap_or("every command failed")).one_line(160)
}

fn enter(tx: &WriteTx<'_>, target: &str, title: &str, source: &str, chip: &str) -> Result<(), StoreError> {
    let entry = NewEntry {
        kind: Kind::Incident,
        subject: "roster".to_owned(),
        target: target.to_owned(),
        title: Untrusted::new(title).one_line(160),
        source: Untrusted::new(source).one_line(200),
        chip: chip.to_owned(),
    };
    inbox::upsert(tx, &entry).map(drop)
}
