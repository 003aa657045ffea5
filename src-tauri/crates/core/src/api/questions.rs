//! Questions of agents: handed in, listed, answered, put away.

use std::path::PathBuf;

use chrono::{DateTime, Utc};
use steward_rules::caller::Caller;
use steward_rules::ids::{AnswerId, EntryId, NeedId};
use steward_rules::questions::delivery::{Stage, Way};
use steward_rules::questions::need::{self, Arrival, Need, Origin, agent_key};
use steward_rules::questions::pane::Prompt;
use steward_rules::questions::queue;
use steward_rules::questions::watcher::Says;
use steward_rules::untrusted::Untrusted;

use super::error::{ApiError, ErrorCode};
use super::requests as rq;
use super::{Api, convert, views as v};
use crate::config::Questions;
use crate::loops::effects::powers;
use crate::loops::questions::{self as loops, AnswerError, Asker, Asking, Known};
use crate::store::inbox::{self, Kind};
use crate::store::judgements::{self, AdviceRow};
use crate::store::need_answers::{self, AnswerRow, Press};
use crate::store::needs::{self, NeedRow, NeedState};
use crate::store::{Durability, StoreError};

/// Lists are never longer.
const PAGE: u32 = 500;
/// The longest line of the queue's text.
const LINE: usize = 1_000;

/// Refuses while questions are off.
pub(super) async fn on(api: &Api) -> Result<Questions, ApiError> {
    let config = powers::questions(api.context()).await?;
    match (&config.disabled_by, config.enabled) {
        (None, true) => Ok(config),
        (Some(why), _) => Err(ApiError::new(ErrorCode::Config, format!("questions are off: {why}"))
            .hint("`steward config check` shows the place")),
        (None, false) => Err(ApiError::new(ErrorCode::Refused, "questions are off")
            .hint("set `questions: {enabled: true}` in the config file")),
    }
}

/// Takes a question in. An exact resend is the item that stands; nothing is said twice.
pub async fn raise(api: &Api, request: rq::NeedRaise) -> Result<v::RaisedView, ApiError> {
    let config = on(api).await?;
    let origin = match request.source {
        rq::NeedSource::Cli => Origin::Cli,
        rq::NeedSource::Mcp => Origin::Mcp,
        rq::NeedSource::Hook => Origin::Hook,
    };
    if !config.sources.contains(&origin) {
        let message = format!("`questions.sources` does not take questions by {}", origin.as_str());
        return Err(ApiError::new(ErrorCode::Refused, message));
    }
    let bad = |fault: need::NeedFault| ApiError::new(ErrorCode::BadRequest, fault.to_string());
    let mut need = match &request.text {
        Some(text) => need::parse(text).map_err(bad)?,
        None => Need::new(
            request.topic.as_deref().unwrap_or_default(),
            request.question.as_deref().unwrap_or_default(),
            &request.options,
            request.project.as_deref(),
        )
        .map_err(bad)?,
    };
    let asker = Asker::find(api.context(), &known(request.who)).await?;
    need.project = need.project.or(request.project).or_else(|| asker.project.clone());
    if need.project.is_none() {
        return Err(ApiError::new(ErrorCode::BadRequest, "the question names no project")
            .hint("say which: `--project NAME`, or a line `Project: NAME`"));
    }
    let asking = Asking {
        agent: asker.agent,
        host: asker.host,
        need,
        origin,
        message: None,
        folder: None,
        place: asker.place,
    };
    let raised = api.store().write(Durability::Full, move |tx| loops::raise(tx, &asking)).await?;
    let arrival = match raised.arrival {
        Arrival::New => "new",
        Arrival::Same => "same",
        Arrival::Changed => "changed",
        Arrival::Supersedes { .. } => "superseded",
        Arrival::Covered => "covered",
    };
    let need = show(api, rq::ById { id: raised.id.0 }).await?;
    Ok(v::RaisedView { id: raised.id.0, arrival: arrival.to_owned(), need })
}

pub(super) fn known(who: rq::WhoAsks) -> Known {
    Known {
        agent: who.agent,
        pane: who.pane,
        tmux: who.tmux,
        user: who.user,
        tty: who.tty,
        folder: who.folder.map(PathBuf::from),
    }
}

/// One question as the store has it.
struct Found {
    row: NeedRow,
    answer: Option<AnswerRow>,
    entry: Option<EntryId>,
    advice: Option<(AdviceRow, DateTime<Utc>)>,
}

fn found(tx: &crate::store::ReadTx<'_>, row: NeedRow) -> Result<Found, StoreError> {
    let answer = need_answers::newest(tx, row.id)?;
    let entry = inbox::of_target(tx, Kind::Question, &loops::target(row.id))?.map(|entry| entry.id);
    let advice =
        judgements::advice(tx, row.id)?.filter(|(advice, _)| Some(&advice.seen) == row.place.seen.as_ref());
    Ok(Found { row, answer, entry, advice })
}

pub async fn list(api: &Api, request: rq::NeedList) -> Result<v::NeedPage, ApiError> {
    let limit = request.limit.clamp(1, PAGE);
    let (open, closed) = api
        .store()
        .read(move |tx| -> Result<_, StoreError> {
            let of = |rows: Vec<NeedRow>| rows.into_iter().map(|row| found(tx, row)).collect();
            let open: Result<Vec<Found>, StoreError> = of(needs::open(tx)?);
            let closed = if request.closed { needs::closed(tx, limit)? } else { Vec::new() };
            let closed: Result<Vec<Found>, StoreError> = of(closed);
            Ok((open?, closed?))
        })
        .await?;
    let config = powers::questions(api.context()).await?;
    let count = u32::try_from(open.len()).unwrap_or(u32::MAX);
    let lines: Vec<String> = open.iter().map(|one| line(api, &one.row)).collect();
    let shown = open.iter().take(limit as usize).chain(closed.iter().take(limit as usize));
    let needs = shown.map(|one| view(api, one, &config)).collect();
    Ok(v::NeedPage { needs, open: count, queue: lines.join("\n") })
}

pub async fn show(api: &Api, request: rq::ById) -> Result<v::NeedView, ApiError> {
    let id = NeedId(request.id);
    let one = api
        .store()
        .read(move |tx| -> Result<_, StoreError> {
            needs::get(tx, id)?.map(|row| found(tx, row)).transpose()
        })
        .await?;
    let one = one.ok_or_else(|| ApiError::from(AnswerError::NotFound(id)))?;
    Ok(view(api, &one, &powers::questions(api.context()).await?))
}

/// Takes the owner's words. Agents never answer for the owner.
pub async fn answer(api: &Api, request: rq::NeedAnswer) -> Result<v::NeedView, ApiError> {
    api.person("answer a question")?;
    on(api).await?;
    let id = loops::answer(api.context(), request.id.map(NeedId), &request.text).await?;
    show(api, rq::ById { id: id.0 }).await
}

/// Allows a permission prompt once, or denies it.
pub async fn press(api: &Api, request: rq::NeedPress) -> Result<v::NeedView, ApiError> {
    api.person("answer a permission prompt")?;
    on(api).await?;
    let press = if request.allow { Press::Allow } else { Press::Deny };
    let id = loops::press(api.context(), NeedId(request.id), press).await?;
    show(api, rq::ById { id: id.0 }).await
}

/// Sends the answer that came back once more: the same words, or the same key.
pub async fn again(api: &Api, request: rq::ById) -> Result<v::NeedView, ApiError> {
    api.person("answer a question")?;
    on(api).await?;
    let id = NeedId(request.id);
    let answer = api.store().read(move |tx| need_answers::newest(tx, id)).await?;
    let Some(answer) = answer.filter(|answer| answer.stage == Stage::Returned) else {
        let message = format!("no answer to question {id} came back");
        return Err(ApiError::new(ErrorCode::Refused, message).hint("`steward needs show` says where it is"));
    };
    match answer.press {
        Some(press) => loops::press(api.context(), id, press).await?,
        None => loops::answer(api.context(), Some(id), &answer.words).await?,
    };
    show(api, request).await
}

/// Takes an answer back that is not on its way yet: its question is open again.
pub async fn take_back(api: &Api, request: rq::ById) -> Result<v::NeedView, ApiError> {
    api.person("take an answer back")?;
    on(api).await?;
    loops::take_back(api.context(), NeedId(request.id)).await?;
    show(api, request).await
}

/// Puts a question away: a person any, an agent its own.
pub async fn drop_need(api: &Api, request: rq::NeedDrop) -> Result<v::NeedView, ApiError> {
    on(api).await?;
    let id = NeedId(request.id);
    let by_asker = match &api.caller {
        Caller::Person => false,
        Caller::Agent(_) => {
            let asker = Asker::find(api.context(), &known(request.who)).await?;
            let own = agent_key(&asker.agent, &asker.host);
            let row = api.store().read(move |tx| needs::get(tx, id)).await?;
            let row = row.ok_or_else(|| ApiError::from(AnswerError::NotFound(id)))?;
            if row.agent_key != own {
                let message =
                    format!("question {id} is not yours: {} asked it", convert::line(&row.agent_key));
                return Err(ApiError::new(ErrorCode::NotAPerson, message)
                    .hint("an agent takes back only what it asked itself"));
            }
            true
        }
    };
    let id = loops::drop_need(api.context(), id, by_asker).await?;
    show(api, rq::ById { id: id.0 }).await
}

/// The exact words of the answer an asker fetches, when there is one.
pub async fn words(api: &Api, id: i64) -> Result<Option<(i64, String)>, ApiError> {
    let answer = api.store().read(move |tx| need_answers::newest(tx, NeedId(id))).await?;
    Ok(answer.filter(|answer| answer.stage != Stage::Returned).map(|answer| (answer.id.0, answer.words)))
}

/// Notes that the asker has the answer.
pub async fn fetched(api: &Api, answer: i64) -> Result<(), ApiError> {
    loops::fetched(api.context(), AnswerId(answer)).await?;
    Ok(())
}

/// Types an answer that nobody fetched into the asker's pane instead: the owner's press.
pub async fn type_answer(api: &Api, request: rq::ById) -> Result<v::NeedView, ApiError> {
    api.person("type into a pane")?;
    on(api).await?;
    loops::type_instead(api.context(), NeedId(request.id)).await?;
    show(api, request).await
}

/// Carries what was answered when no runtime does: in this process, now.
pub async fn carry(api: &Api) -> Result<(), ApiError> {
    if !api.is_served() {
        loops::carry_alone(api.context()).await?;
    }
    Ok(())
}

fn line(api: &Api, row: &NeedRow) -> String {
    Untrusted::new(row.item().line(api.now())).one_line(LINE)
}

fn view(api: &Api, one: &Found, config: &Questions) -> v::NeedView {
    let row = &one.row;
    let way = loops::way_of(row, config);
    let open = row.state == NeedState::Open;
    let is_prompt = row.place.prompt.is_some();
    let reaches = way != Way::Nowhere;
    let no_allow = row.place.prompt.as_deref().and_then(loops::why_not_allow);
    let can_type = one.answer.as_ref().is_some_and(|answer| {
        answer.way == Way::Fetch && answer.stage == Stage::Queued && loops::may_type(row, config)
    });
    v::NeedView {
        id: row.id.0,
        agent: convert::line(&row.agent),
        host: convert::line(&row.host),
        project: row.need.project.as_deref().map(convert::line),
        topic: convert::line(&row.need.topic),
        question: convert::paragraph(&row.need.question),
        options: queue::lettered(&row.need)
            .map(|(letter, text)| v::NeedOption {
                letter: letter.to_string(),
                text: Untrusted::new(text).one_line(need::OPTION),
                answer: format!("{letter}) {}", Untrusted::new(text).one_line(need::OPTION)),
            })
            .collect(),
        origin: row.origin.as_str().to_owned(),
        judged: !row.origin.is_explicit(),
        state: state_word(row.state).to_owned(),
        text: state_text(row.state).to_owned(),
        version: row.version,
        line: line(api, row),
        prompt: row.place.prompt.as_deref().and_then(prompt),
        advice: one.advice.as_ref().map(|(advice, at)| advice_view(advice, *at)),
        answer: one.answer.as_ref().map(answer_view),
        may: v::NeedMay {
            answer: open && reaches && !is_prompt,
            press: open && reaches && is_prompt,
            why_not_allow: no_allow.filter(|_| open && reaches && is_prompt),
            drop: open,
            take_back: row.state == NeedState::Answered
                && one.answer.as_ref().is_some_and(|answer| answer.stage == Stage::Queued),
            type_answer: can_type,
            why: (open && !reaches).then(|| loops::unreachable(row).to_owned()),
        },
        pane: row.place.pane.clone(),
        entry: one.entry.map(|entry| entry.0),
        asked_at: row.asked_at,
        closed_at: row.closed_at,
    }
}

fn prompt(json: &str) -> Option<v::NeedPrompt> {
    let prompt: Prompt = serde_json::from_str(json).ok()?;
    Some(v::NeedPrompt {
        title: convert::line(prompt.title.as_data()),
        subject: convert::paragraph(prompt.subject.as_data()),
        choices: prompt.choices.iter().map(|choice| convert::line(choice.label.as_data())).collect(),
    })
}

fn advice_view(advice: &AdviceRow, at: DateTime<Utc>) -> v::NeedAdvice {
    let text = match advice.says {
        Says::Allow => "the watcher seat sees nothing against it",
        Says::Deny => "the watcher seat advises against it",
        Says::Unsure | Says::Question | Says::Working | Says::Idle | Says::Error => {
            "the watcher seat is not sure"
        }
    };
    v::NeedAdvice {
        says: advice.says.as_str().to_owned(),
        text: text.to_owned(),
        why: advice.why.as_deref().map(convert::line),
        at,
    }
}

fn state_word(state: NeedState) -> &'static str {
    match state {
        NeedState::Open => "open",
        NeedState::Answered => "answered",
        NeedState::Withdrawn => "withdrawn",
        NeedState::Dropped => "dropped",
        NeedState::Gone => "gone",
    }
}

fn state_text(state: NeedState) -> &'static str {
    match state {
        NeedState::Open => "waits for you",
        NeedState::Answered => "answered",
        NeedState::Withdrawn => "taken back by its asker",
        NeedState::Dropped => "put away by you",
        NeedState::Gone => "not shown in its pane any more",
    }
}

fn answer_view(row: &AnswerRow) -> v::NeedAnswerView {
    let way = match row.way {
        Way::Fetch => "fetch",
        Way::Thrum => "thrum",
        Way::Type => "type",
        Way::Key => "key",
        Way::Nowhere => "nowhere",
    };
    let text = match (row.stage, row.way) {
        (Stage::Queued, Way::Fetch) => "the asker has not fetched it yet",
        (Stage::Queued, _) if row.why.is_some() => "held",
        (Stage::Queued, _) => "about to be sent",
        (Stage::Carrying, _) => "being sent",
        (Stage::Typed, _) => "typed, not sent yet",
        (Stage::Submitted, _) => "sent, not seen taken yet",
        (Stage::Acknowledged, Way::Fetch) => "the asker has it",
        (Stage::Acknowledged, Way::Thrum) => "sent as a reply",
        (Stage::Acknowledged, _) => "sent, and seen taken",
        (Stage::Returned, _) => "not delivered",
    };
    v::NeedAnswerView {
        id: row.id.0,
        words: Untrusted::new(&row.words).escaped(20_000),
        way: way.to_owned(),
        stage: row.stage.as_str().to_owned(),
        text: text.to_owned(),
        why: row.why.as_deref().map(convert::line),
        answered_at: row.answered_at,
        updated_at: row.updated_at,
    }
}

impl From<AnswerError> for ApiError {
    fn from(error: AnswerError) -> Self {
        let message = error.to_string();
        match error {
            AnswerError::Store(error) => error.into(),
            AnswerError::NotFound(_) => {
                Self::new(ErrorCode::NotFound, message).hint("`steward needs list` shows those there are")
            }
            AnswerError::NotQueued(id) => Self::new(ErrorCode::Refused, message)
                .hint(format!("`steward needs show {id}` says where it is")),
            AnswerError::NotOpen(_) | AnswerError::AskedAnew(_) | AnswerError::Nothing => {
                Self::new(ErrorCode::Refused, message).hint("`steward needs list` shows the open ones")
            }
            AnswerError::Which(open) => {
                let first = open.first().copied().unwrap_or(1);
                Self::new(ErrorCode::BadRequest, message).hint(format!("put its number first: `{first}: …`"))
            }
            AnswerError::Empty | AnswerError::TooLong(_) | AnswerError::Control => {
                Self::new(ErrorCode::BadRequest, message)
            }
            AnswerError::NoPrompt(_) | AnswerError::Prompt(_) => Self::new(ErrorCode::BadRequest, message),
            AnswerError::NotAllowed(_) | AnswerError::Unreachable(_) => {
                Self::new(ErrorCode::Refused, message).hint("answer it in its own terminal")
            }
        }
    }
}
