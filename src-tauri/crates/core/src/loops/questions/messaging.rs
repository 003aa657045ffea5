//! Messages of thrum: NEEDs in, questions to the owner out, his replies in. Steward writes none of
//! thrum's state.

use std::collections::HashSet;
use std::path::PathBuf;

use steward_rules::questions::need::{self, Origin};
use steward_rules::questions::thrum::{Kind as MessageKind, Message, ThrumRefusal, author, kind, refusal};
use steward_rules::untrusted::Untrusted;

use super::raising::{self, Asking, raise};
use super::{Roster, answering, here, roster, target};
use crate::config::Questions;
use crate::loops::effects::powers;
use crate::loops::{Ctx, failpoint};
use crate::peers::PeerError;
use crate::peers::thrum::{Project, Thrum};
use crate::store::inbox::{self, Kind, NewEntry};
use crate::store::needs::{self, NeedRow, Place};
use crate::store::thrum::{self as log, SentState};
use crate::store::{Durability, StoreError, WriteTx};

/// What an asker is told whose question names no project.
const NO_PROJECT: &str = "Your NEED names no project. Send it again with a line `Project: <project>`.";
/// How long a message that was taken up and is read by now is remembered.
const TAKEN_DAYS: i64 = 30;
/// The longest message to the owner, in characters.
const MESSAGE: usize = 4000;
/// What the entries of a folder's faults open, with the folder behind it.
const OWNERLESS: &str = "roster/owner";
const SILENT: &str = "roster/thrum";
/// What stands beside a message whose end nobody saw.
const LEFT: &str = "Steward ended while this was being sent; it is not sent again";

/// What the loop remembers of thrum between looks.
#[derive(Default)]
pub struct Messages {
    /// Folders whose licence does not cover messages: off until the next start.
    refused: HashSet<PathBuf>,
}

impl Messages {
    /// Looks into every folder once: takes questions and answers up, and tells what was not told.
    pub async fn look(&mut self, ctx: &Ctx) -> Result<(), StoreError> {
        let config = powers::questions(ctx).await?;
        let mut stand = Vec::new();
        if !config.thrum.is_empty() && config.sources.contains(&Origin::Thrum) {
            let roster = roster(&config).await;
            for project in &roster.projects {
                stand.extend(self.folder(ctx, &config, &roster, project).await?);
            }
        }
        past(ctx, stand).await
    }

    /// One folder; gives the entries of what is wrong with it.
    async fn folder(
        &mut self,
        ctx: &Ctx,
        config: &Questions,
        roster: &Roster,
        project: &Project,
    ) -> Result<Vec<String>, StoreError> {
        let owner = project.config.owner();
        let mut stand = Vec::new();
        if owner.is_none() {
            stand.push(no_owner(ctx, project).await?);
        }
        let silent = format!("{SILENT}:{}", project.folder.display());
        if self.refused.contains(&project.folder) {
            stand.push(silent);
        } else if let Err(error) = talk(ctx, config, roster, project, owner).await? {
            // A surface that the licence does not cover is off until the next start, and said once.
            let words = error.to_string();
            if refusal(&words) == ThrumRefusal::NotEntitled {
                self.refused.insert(project.folder.clone());
            }
            incident(ctx, &silent, "Messages of thrum cannot be read or sent", &words).await?;
            stand.push(silent);
        }
        Ok(stand)
    }
}

/// Takes away what was said of folders and is so no more.
async fn past(ctx: &Ctx, stand: Vec<String>) -> Result<(), StoreError> {
    let said = ctx
        .store
        .read(|tx| {
            let said = [OWNERLESS, SILENT].map(|prefix| inbox::targets(tx, Kind::Incident, prefix));
            said.into_iter().collect::<Result<Vec<_>, StoreError>>()
        })
        .await?;
    let is_one = |target: &String| {
        let of = |prefix: &str| {
            target.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
        };
        of(OWNERLESS) || of(SILENT)
    };
    let gone: Vec<String> =
        said.concat().into_iter().filter(|target| is_one(target) && !stand.contains(target)).collect();
    if gone.is_empty() {
        return Ok(());
    }
    ctx.store
        .write(Durability::Full, move |tx| {
            for target in &gone {
                inbox::withdraw(tx, Kind::Incident, target)?;
            }
            Ok(())
        })
        .await
}

/// One folder: its inbox, and what the owner was not told yet.
async fn talk(
    ctx: &Ctx,
    config: &Questions,
    roster: &Roster,
    project: &Project,
    owner: Option<&str>,
) -> Result<Result<(), PeerError>, StoreError> {
    let thrum = match Thrum::find(&project.folder, &project.agent) {
        Ok(thrum) => thrum,
        Err(error) => return Ok(Err(error)),
    };
    let messages = match thrum.inbox().await {
        Ok(inbox) => inbox.messages,
        Err(error) => return Ok(Err(error)),
    };
    forget(ctx, project, &messages).await?;
    for message in messages {
        let folder = project.folder.to_string_lossy().into_owned();
        let (place, id) = (folder.clone(), message.message_id.clone());
        if ctx.store.read(move |tx| log::is_taken(tx, &place, &id)).await? {
            continue;
        }
        match kind(&message, owner.unwrap_or_default()) {
            MessageKind::Need => need_came(ctx, roster, project, &thrum, &folder, &message).await?,
            MessageKind::Answer { to } => answer_came(ctx, config, &thrum, &folder, &message, to).await?,
            MessageKind::Other => taken(ctx, &folder, &message).await?,
        }
    }
    match owner {
        Some(owner) => tell(ctx, project, &thrum, owner).await,
        None => Ok(Ok(())),
    }
}

/// Forgets messages that were taken up long ago and are not in the inbox any more: they cannot come again.
async fn forget(ctx: &Ctx, project: &Project, listed: &[Message]) -> Result<(), StoreError> {
    let folder = project.folder.to_string_lossy().into_owned();
    let before = ctx.clock.now() - chrono::Duration::days(TAKEN_DAYS);
    let place = folder.clone();
    let mut old = ctx.store.read(move |tx| log::taken_before(tx, &place, before)).await?;
    old.retain(|id| listed.iter().all(|message| message.message_id != *id));
    if old.is_empty() {
        return Ok(());
    }
    ctx.store.write(Durability::Normal, move |tx| log::forget(tx, &folder, &old)).await
}

pub(super) async fn incident(ctx: &Ctx, target: &str, title: &str, why: &str) -> Result<(), StoreError> {
    let about = target.to_owned();
    let entry = NewEntry {
        kind: Kind::Incident,
        subject: "roster".to_owned(),
        target: target.to_owned(),
        title: title.to_owned(),
        source: Untrusted::new(why).one_line(200),
        chip: "THRUM".to_owned(),
    };
    // Said once: an entry that stands in these words, or was done with, is not touched.
    let stands = ctx.store.read(move |tx| inbox::of_target(tx, Kind::Incident, &about)).await?;
    if stands.is_some_and(|row| row.source == entry.source && row.state != inbox::EntryState::Gone) {
        return Ok(());
    }
    ctx.store.write(Durability::Full, move |tx| inbox::upsert(tx, &entry).map(drop)).await
}

/// With no owner configured nothing is sent, and that is said once for each folder; gives its entry.
async fn no_owner(ctx: &Ctx, project: &Project) -> Result<String, StoreError> {
    let target = format!("{OWNERLESS}:{}", project.folder.display());
    let why = format!(
        "`permission_supervisors` of {} names no `@user:…`",
        project.folder.join(".thrum/config.json").display()
    );
    incident(ctx, &target, "No owner is configured, so no question is sent through thrum", &why).await?;
    Ok(target)
}

async fn taken(ctx: &Ctx, folder: &str, message: &Message) -> Result<(), StoreError> {
    let (folder, id) = (folder.to_owned(), message.message_id.clone());
    ctx.store.write(Durability::Full, move |tx| log::take(tx, &folder, &id).map(drop)).await
}

/// A question by message. One without a project, or that cannot be read, is answered with what is wrong.
async fn need_came(
    ctx: &Ctx,
    roster: &Roster,
    project: &Project,
    thrum: &Thrum,
    folder: &str,
    message: &Message,
) -> Result<(), StoreError> {
    let (agent, host) = author(&message.agent_id);
    let member = roster.members.iter().find(|member| member.agent == agent);
    let read = need::parse(&message.body.content).map(|mut need| {
        let known = member.and_then(|member| member.project.clone());
        need.project = need.project.or(known).or_else(|| project.config.project_name.clone());
        need
    });
    let wrong = match &read {
        Ok(need) if need.project.is_some() => None,
        Ok(_) => Some(NO_PROJECT.to_owned()),
        Err(fault) => Some(format!("Your NEED cannot be read: {fault}.")),
    };
    if let Some(wrong) = wrong {
        taken(ctx, folder, message).await?;
        if let Err(error) = thrum.reply(&message.message_id, &wrong).await {
            tracing::warn!(%error, "an asker was not told what is wrong with its question");
        }
        return Ok(());
    }
    let Ok(need) = read else { return Ok(()) };
    let asking = Asking {
        agent: agent.to_owned(),
        host: host.map_or_else(here, str::to_owned),
        need,
        origin: Origin::Thrum,
        message: Some(message.message_id.clone()),
        folder: Some(folder.to_owned()),
        place: Place { pane: member.and_then(|member| member.pane.clone()), ..Place::default() },
    };
    let (folder, id) = (folder.to_owned(), message.message_id.clone());
    ctx.store
        .write(Durability::Full, move |tx| {
            if log::take(tx, &folder, &id)? {
                raise(tx, &asking)?;
            }
            Ok(())
        })
        .await
}

/// The owner's reply to a message of ours.
async fn answer_came(
    ctx: &Ctx,
    config: &Questions,
    thrum: &Thrum,
    folder: &str,
    message: &Message,
    to: &str,
) -> Result<(), StoreError> {
    let words = message.body.content.trim().to_owned();
    let (place, id, to) = (folder.to_owned(), message.message_id.clone(), to.to_owned());
    let config = config.clone();
    let wrong = ctx
        .store
        .write(Durability::Full, move |tx| {
            if !log::take(tx, &place, &id)? {
                return Ok(None);
            }
            // A reply names its question by the message it replies to, whatever its words begin with.
            let Some(need) = log::told_by(tx, &place, &to)? else { return Ok(None) };
            let Some(row) = needs::get(tx, need)? else { return Ok(None) };
            match answering::take_words(tx, &row, &words, &config) {
                Ok(()) => Ok(None),
                Err(answering::AnswerError::Store(error)) => Err(error),
                Err(error) => not_taken(tx, &row, &words, &error.to_string()).map(Some),
            }
        })
        .await?;
    if let Some(wrong) = wrong
        && let Err(error) = thrum.reply(&message.message_id, &wrong).await
    {
        tracing::warn!(%error, "the owner was not told through thrum that his reply was not taken");
    }
    Ok(())
}

/// A reply that is no answer goes back to the owner: an entry that opens its question, and the words that he
/// is told by message.
fn not_taken(tx: &WriteTx<'_>, row: &NeedRow, words: &str, why: &str) -> Result<String, StoreError> {
    let entry = NewEntry {
        kind: Kind::Incident,
        subject: format!("need:{}", row.id),
        target: target(row.id),
        title: raising::inert(&format!("Your reply to {} is not taken: {why}", row.item().asker()), 160),
        source: raising::inert(words, 200),
        chip: "REPLY".to_owned(),
    };
    inbox::upsert(tx, &entry)?;
    let about = format!("{} (NEED [{}])", row.item().asker(), row.need.topic);
    Ok(raising::inert(&format!("Your reply to {about} is not taken as an answer: {why}."), MESSAGE))
}

/// Sends each open question that was not sent in these words, to the owner alone.
async fn tell(
    ctx: &Ctx,
    project: &Project,
    thrum: &Thrum,
    owner: &str,
) -> Result<Result<(), PeerError>, StoreError> {
    let folder = project.folder.to_string_lossy().into_owned();
    let open = ctx.store.read(needs::open).await?;
    for row in open {
        if row.folder.as_ref().is_some_and(|own| *own != folder) {
            continue;
        }
        if let Err(error) = tell_one(ctx, &folder, thrum, owner, &row).await? {
            return Ok(Err(error));
        }
    }
    Ok(Ok(()))
}

async fn tell_one(
    ctx: &Ctx,
    folder: &str,
    thrum: &Thrum,
    owner: &str,
    row: &NeedRow,
) -> Result<Result<(), PeerError>, StoreError> {
    let key = format!("need:{}:{}", row.id, row.version);
    // It may be bridged to a phone or a mailbox.
    let content = format!("{} Reply to this message.", raising::inert(&row.item().told(), MESSAGE));
    let (need, intent, place) = (row.id, key.clone(), folder.to_owned());
    let (to, text) = (format!("@user:{owner}"), content.clone());
    let written = ctx
        .store
        .write(Durability::Full, move |tx| log::intend(tx, &intent, need, &place, &to, &text))
        .await?;
    if !written {
        return Ok(Ok(()));
    }
    failpoint::reach("thrum");
    let sent = thrum.send(owner, &content).await;
    let (state, id, mut why) = match &sent {
        Ok(id) => (SentState::Sent, id.clone(), None),
        Err(error) => (SentState::Failed, None, Some(error.to_string())),
    };
    if state == SentState::Sent {
        // What was just sent to a person who has not read it must be among the unread.
        let unread = thrum.sent_unread().await.unwrap_or_default();
        let first: String = content.chars().take(40).collect();
        let is_there = id.as_deref().is_some_and(|id| unread.contains(id)) || unread.contains(&first);
        if !is_there {
            why = Some("it is not among what was sent and not read".to_owned());
        }
    }
    ctx.store
        .write(Durability::Full, move |tx| log::settle(tx, &key, state, id.as_deref(), why.as_deref()))
        .await?;
    Ok(sent.map(drop))
}

/// Settles what a runtime that died was sending: it is never sent a second time.
pub(super) async fn take_up(ctx: &Ctx) -> Result<(), StoreError> {
    if ctx.store.read(log::unsettled).await?.is_empty() {
        return Ok(());
    }
    ctx.store
        .write(Durability::Full, |tx| {
            for sent in log::unsettled(tx)? {
                log::settle(tx, &sent.key, SentState::Failed, None, Some(LEFT))?;
            }
            Ok(())
        })
        .await
}
