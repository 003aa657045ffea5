//! The owner answers, or puts a question away; an asker takes it back or has fetched its answer.

use steward_rules::ids::{AnswerId, NeedId};
use steward_rules::questions::answer::{self as rule, Route};
use steward_rules::questions::delivery::{Asked, Promptness, Stage, Way, way};
use steward_rules::questions::keys::may_allow;
use steward_rules::questions::pane::{Modal, Prompt};
use steward_rules::questions::roster;

use super::raising::{chip, close, enter};
use crate::config::Questions;
use crate::loops::Ctx;
use crate::loops::effects::powers;
use crate::store::need_answers::{self, AnswerRow, Press};
use crate::store::needs::{self, NeedRow, NeedState};
use crate::store::{Durability, StoreError, audit};

/// The most characters of an answer.
const WORDS: usize = 20_000;

/// Why an answer is not taken.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("there is no question {0}")]
    NotFound(NeedId),
    #[error("question {0} is open no more")]
    NotOpen(NeedId),
    #[error("several questions are open ({}); which one is this for?", list(.0))]
    Which(Vec<i64>),
    #[error("no question is open")]
    Nothing,
    #[error("the answer has no words")]
    Empty,
    #[error("the answer has {0} characters; the most is {WORDS}")]
    TooLong(usize),
    #[error("the answer holds control characters")]
    Control,
    #[error("question {0} is no permission prompt")]
    NoPrompt(NeedId),
    #[error("question {0} is a prompt: words are never typed into one, it is allowed once or denied")]
    Prompt(NeedId),
    #[error("it cannot be allowed from here: {0}")]
    NotAllowed(String),
    #[error("nothing carries an answer to this asker: {0}")]
    Unreachable(&'static str),
    #[error("the answer to question {0} is on its way or there, so it is not taken back")]
    NotQueued(NeedId),
    #[error("who asked question {0} has asked about its topic anew")]
    AskedAnew(NeedId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn list(numbers: &[i64]) -> String {
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(", ")
}

/// How the answer to a question would travel now.
pub fn way_of(row: &NeedRow, config: &Questions) -> Way {
    way(Asked {
        origin: row.origin,
        prompt: row.place.prompt.as_deref().map(promptness),
        has_pane: row.place.pane.is_some(),
        keys: roster::keys(row.place.remote.as_deref(), config.keys, &config.ssh),
    })
}

/// Takes the owner's words for a question: the one of this number, the one the words name (`3: B`), or
/// the only one that is open.
pub async fn answer(ctx: &Ctx, number: Option<NeedId>, text: &str) -> Result<NeedId, AnswerError> {
    let config = powers::questions(ctx).await?;
    let text = text.to_owned();
    ctx.store
        .write(Durability::Full, move |tx| {
            let (number, words) = match number {
                Some(number) => (number.0, text.trim().to_owned()),
                None => {
                    let open: Vec<i64> = needs::open(tx)?.iter().map(|row| row.id.0).collect();
                    match rule::route(&text, &open) {
                        Route::To { number, words } => (number, words),
                        Route::Which(open) => return Err(AnswerError::Which(open)),
                        Route::NotOpen(number) => return Err(AnswerError::NotOpen(NeedId(number))),
                        Route::Nothing => return Err(AnswerError::Nothing),
                        Route::Empty => return Err(AnswerError::Empty),
                    }
                }
            };
            let row = open_one(tx, NeedId(number))?;
            take_words(tx, &row, &words, &config)?;
            Ok(row.id)
        })
        .await
}

/// Allows once, or denies, what a permission prompt asks.
pub async fn press(ctx: &Ctx, number: NeedId, press: Press) -> Result<NeedId, AnswerError> {
    let config = powers::questions(ctx).await?;
    ctx.store
        .write(Durability::Full, move |tx| {
            let row = open_one(tx, number)?;
            let Some(prompt) = &row.place.prompt else { return Err(AnswerError::NoPrompt(row.id)) };
            if press == Press::Allow
                && let Some(why) = why_not_allow(prompt)
            {
                return Err(AnswerError::NotAllowed(why));
            }
            let words = match press {
                Press::Allow => "Yes, once",
                Press::Deny => "No",
            };
            keep(tx, &row, words, Some(press), &config)?;
            Ok(row.id)
        })
        .await
}

/// What kind of prompt a question's place holds; one that cannot be read is answered by no key.
fn promptness(json: &str) -> Promptness {
    match serde_json::from_str::<Prompt>(json) {
        Ok(prompt) if prompt.modal == Modal::Permission => Promptness::Permission,
        Ok(_) | Err(_) => Promptness::Other,
    }
}

/// Why a permission prompt, as JSON, can be denied only; `None` where it can be allowed once, or where
/// no key answers it anyway.
pub fn why_not_allow(json: &str) -> Option<String> {
    let prompt =
        serde_json::from_str::<Prompt>(json).ok().filter(|prompt| prompt.modal == Modal::Permission)?;
    let why = may_allow(&prompt).err()?;
    Some(format!("{why}: it can be denied here, and allowed in its own terminal"))
}

/// Why nothing carries an answer to this asker.
pub fn unreachable(row: &NeedRow) -> &'static str {
    let prompt = row.place.prompt.as_deref().map(promptness);
    match (&row.place.pane, &row.place.remote) {
        (None, _) => "it waits in its own terminal",
        (Some(_), _) if prompt == Some(Promptness::Other) => "a prompt is open in its pane: choose there",
        (Some(_), None) => {
            "`questions.keys` is off, or waits for your confirmation, so nothing is typed into panes"
        }
        (Some(_), Some(_)) => {
            "`questions.ssh` lets no keys be typed on that machine, or that waits for your confirmation"
        }
    }
}

/// True when words may be typed into the asker's pane.
pub fn may_type(row: &NeedRow, config: &Questions) -> bool {
    row.place.pane.is_some() && row.place.prompt.is_none() && may_press(row, config)
}

/// True when keys of any kind may go to the asker's machine.
pub fn may_press(row: &NeedRow, config: &Questions) -> bool {
    roster::keys(row.place.remote.as_deref(), config.keys, &config.ssh)
}

/// Sends an answer that its asker did not fetch into the asker's pane.
pub async fn type_instead(ctx: &Ctx, number: NeedId) -> Result<(), AnswerError> {
    let config = powers::questions(ctx).await?;
    ctx.store
        .write(Durability::Full, move |tx| {
            let row = needs::get(tx, number)?.ok_or(AnswerError::NotFound(number))?;
            let answer = need_answers::newest(tx, number)?.ok_or(AnswerError::Empty)?;
            if !may_type(&row, &config) {
                return Err(AnswerError::Unreachable(unreachable(&row)));
            }
            if answer.way != Way::Fetch || answer.stage != Stage::Queued {
                return Err(AnswerError::NotOpen(number));
            }
            need_answers::set_way(tx, answer.id, Way::Type)?;
            tx.topic("queue")?;
            Ok(())
        })
        .await
}

/// Takes the owner's answer back while nobody has begun to carry or fetched it; its question is open again. Gives
/// the words.
pub async fn take_back(ctx: &Ctx, number: NeedId) -> Result<String, AnswerError> {
    ctx.store
        .write(Durability::Full, move |tx| {
            let row = needs::get(tx, number)?.ok_or(AnswerError::NotFound(number))?;
            let answer = need_answers::newest(tx, number)?.ok_or(AnswerError::NotQueued(number))?;
            if answer.stage != Stage::Queued || !need_answers::take_back(tx, &answer)? {
                return Err(AnswerError::NotQueued(number));
            }
            if !needs::reopen(tx, number)? {
                return Err(AnswerError::AskedAnew(number));
            }
            let before = need_answers::newest(tx, number)?.map(|answer| answer.stage);
            let chip = if before == Some(Stage::Returned) { "UNDELIVERED" } else { chip(&row) };
            enter(tx, &row, chip)?;
            audit::append(tx, "person", "need_take_back", &format!("need:{number}"), &answer.words)?;
            Ok(answer.words)
        })
        .await
}

fn fits(words: &str) -> Result<(), AnswerError> {
    let count = words.chars().count();
    if words.is_empty() {
        return Err(AnswerError::Empty);
    }
    if count > WORDS {
        return Err(AnswerError::TooLong(count));
    }
    if words.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(AnswerError::Control);
    }
    Ok(())
}

fn open_one(tx: &crate::store::ReadTx<'_>, id: NeedId) -> Result<NeedRow, AnswerError> {
    let row = needs::get(tx, id)?.ok_or(AnswerError::NotFound(id))?;
    match row.state {
        NeedState::Open => Ok(row),
        NeedState::Answered | NeedState::Withdrawn | NeedState::Dropped | NeedState::Gone => {
            Err(AnswerError::NotOpen(id))
        }
    }
}

/// Takes the owner's words for an open question, within a transaction of the caller's.
pub(super) fn take_words(
    tx: &crate::store::WriteTx<'_>,
    row: &NeedRow,
    words: &str,
    config: &Questions,
) -> Result<(), AnswerError> {
    fits(words)?;
    let row = open_one(tx, row.id)?;
    if row.place.prompt.is_some() {
        return Err(AnswerError::Prompt(row.id));
    }
    keep(tx, &row, words, None, config)
}

fn keep(
    tx: &crate::store::WriteTx<'_>,
    row: &NeedRow,
    words: &str,
    press: Option<Press>,
    config: &Questions,
) -> Result<(), AnswerError> {
    let way = way_of(row, config);
    if way == Way::Nowhere {
        return Err(AnswerError::Unreachable(unreachable(row)));
    }
    close(tx, row, NeedState::Answered)?;
    need_answers::insert(tx, row.id, words, press, way)?;
    // What was said to an agent in the owner's name is power used.
    audit::append(tx, "person", "need_answer", &format!("need:{}", row.id), words)?;
    tx.topic("queue")?;
    Ok(())
}

/// Takes an open question off the queue: the asker's own doing, or the owner's.
pub async fn drop_need(ctx: &Ctx, number: NeedId, by_asker: bool) -> Result<NeedId, AnswerError> {
    let state = if by_asker { NeedState::Withdrawn } else { NeedState::Dropped };
    ctx.store
        .write(Durability::Full, move |tx| {
            let row = open_one(tx, number)?;
            close(tx, &row, state)?;
            Ok(row.id)
        })
        .await
}

/// Notes that the asker has the answer it fetched; asking twice changes nothing.
pub async fn fetched(ctx: &Ctx, answer: AnswerId) -> Result<Option<AnswerRow>, StoreError> {
    ctx.store
        .write(Durability::Full, move |tx| {
            let Some(row) = need_answers::get(tx, answer)? else { return Ok(None) };
            if row.way == Way::Fetch && row.stage == Stage::Queued {
                need_answers::set_stage(tx, answer, Stage::Acknowledged, None)?;
            }
            need_answers::get(tx, answer)
        })
        .await
}
