//! What goes out to GitHub, the powers behind it, and the log of what was done with them.

use steward_rules::deed::Deed;
use steward_rules::ids::RepoName;
use steward_rules::power::Widening;
use steward_rules::secret::Engine;
use steward_rules::untrusted::Untrusted;
use steward_rules::wording;
use tokio_util::sync::CancellationToken;

use super::error::{ApiError, ErrorCode};
use super::requests::{AuditList, ById, EffectList, EffectSend, Nothing, PowerConfirm};
use super::{Api, convert, views as v};
use crate::git::BareClone;
use crate::loops::effects as loops;
use crate::loops::effects::powers::{self, NotConfirmed, Powers};
use crate::store::audit::{AuditRow, Chain};
use crate::store::effects::{self, EffectRow, State};
use crate::store::{Durability, StoreError, audit};

/// Pages are never larger.
const PAGE: u32 = 200;
/// Longest patch of a push that is shown, in bytes.
const PATCH: usize = 256 * 1024;
/// Longest text of an effect that is shown; nothing longer is sent.
const CONTENT: usize = 65_536;

pub async fn list(api: &Api, request: EffectList) -> Result<v::EffectPage, ApiError> {
    let limit = request.limit.clamp(1, PAGE);
    let mut rows = api.store().read(move |tx| effects::page(tx, request.open, request.after, limit)).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    Ok(v::EffectPage { effects: rows.iter().map(view).collect(), more })
}

pub async fn show(api: &Api, request: ById) -> Result<v::EffectView, ApiError> {
    let id = request.id;
    let row = api.store().read(move |tx| effects::get(tx, id)).await?.ok_or_else(|| missing(id))?;
    let mut shown = view(&row);
    match diff(api, &row).await {
        None => {}
        Some(Ok((patch, is_cut))) => {
            shown.diff = Some(patch);
            shown.diff_note = is_cut.then(|| format!("only the first {} KB are shown", PATCH / 1024));
        }
        Some(Err(why)) => {
            shown.diff_note = Some(why);
            shown.can_send = false;
        }
    }
    Ok(shown)
}

/// What a push changes; `None` for anything else.
async fn diff(api: &Api, row: &EffectRow) -> Option<Result<(String, bool), String>> {
    let Some(Deed::Push { from, to, .. }) = row.deed.clone() else { return None };
    let ctx = api.context().clone();
    let (host, repo) = (row.host.clone(), RepoName::parse(&row.repository)?);
    let (config, of, name) = (ctx.config(), host.clone(), repo.clone());
    let base = ctx.store.read(move |tx| -> Result<_, StoreError> {
        let powers = powers::read(tx, &config)?;
        Ok(config.repository(&name).and_then(|repository| powers.policy(&of, repository).base))
    });
    let Ok(base) = base.await else { return Some(Err("the store cannot be read".to_owned())) };
    let read = tokio::task::spawn_blocking(move || {
        let clone = BareClone::open_alone(&ctx.git()?, &ctx.home.clones(), &host, &repo)?;
        // A new branch changes what it has beyond the base.
        let from = match (from, base) {
            (Some(from), _) => Some(from),
            (None, Some(base)) => clone.fork_point(&base, &to)?,
            (None, None) => None,
        };
        clone.patch(from.as_ref(), &to, PATCH, &CancellationToken::new())
    });
    Some(match read.await {
        Ok(Ok((patch, is_cut))) => {
            let shown = Untrusted::new(Engine::shared().redact(&patch)).escaped(PATCH * 2);
            Ok((shown, is_cut))
        }
        Ok(Err(error)) => Err(format!("what it changes cannot be read: {error}")),
        Err(error) => Err(format!("what it changes cannot be read: {error}")),
    })
}

/// The person's yes to exactly what was shown. The runtime sends it.
pub async fn send(api: &Api, request: EffectSend) -> Result<v::EffectView, ApiError> {
    api.person("send something to GitHub")?;
    let id = request.id;
    let config = api.context().config();
    let row = api.store().read(move |tx| effects::get(tx, id)).await?.ok_or_else(|| missing(id))?;
    // Nobody says yes to a push that cannot be shown.
    if let Some(Err(why)) = diff(api, &row).await {
        return Err(ApiError::new(ErrorCode::Refused, why).hint("look again in a while"));
    }
    api.store()
        .write(Durability::Full, move |tx| {
            let row = effects::get(tx, id)?.ok_or_else(|| missing(id))?;
            refuse_sending(&row)?;
            // A newer review of the same commit takes the place of an older one's text.
            if row.hash() != request.hash {
                return Err(ApiError::new(
                    ErrorCode::Refused,
                    "it is not what was shown any more: another text took its place",
                )
                .hint("read the text as it is now, then send that one"));
            }
            if loops::is_off(&config, &row) {
                let why = "the engine is switched off, so nothing of it goes out";
                return Err(ApiError::new(ErrorCode::Refused, why).hint("set engine.enabled in config.yaml"));
            }
            if loops::is_observed(tx, &config, &row)? {
                return Err(ApiError::new(
                    ErrorCode::Refused,
                    format!("{} is observed only, so nothing goes out there", row.repository),
                )
                .hint("set the repository's mode to suggest or act, and confirm it"));
            }
            if effects::approve(tx, id)? {
                loops::retire(tx, id, Some("sending"))?;
            }
            Ok::<_, ApiError>(())
        })
        .await?;
    show(api, ById { id }).await
}

/// The person's no. It can be taken back by its step (desktop.md 2).
pub async fn dismiss(api: &Api, request: ById) -> Result<v::DismissView, ApiError> {
    api.person("turn down what would be sent to GitHub")?;
    let id = request.id;
    let step = api
        .store()
        .write(Durability::Full, move |tx| {
            let row = effects::get(tx, id)?.ok_or_else(|| missing(id))?;
            loops::dismiss(tx, id)?.ok_or_else(|| {
                ApiError::new(ErrorCode::Refused, format!("it is {} already", word(row.state)))
            })
        })
        .await?;
    Ok(v::DismissView { effect: show(api, ById { id }).await?, step })
}

pub async fn power_show(api: &Api, _: Nothing) -> Result<v::PowerView, ApiError> {
    let config = api.context().config();
    let powers = api.store().read(move |tx| powers::read(tx, &config)).await?;
    Ok(power_view(&powers))
}

/// Puts in force exactly the change that was shown.
pub async fn power_confirm(api: &Api, request: PowerConfirm) -> Result<v::PowerView, ApiError> {
    api.person("confirm a power of the config file")?;
    let powers = powers::confirm(api.context(), &request.change).await.map_err(|error| match error {
        NotConfirmed::Store(error) => ApiError::from(error),
        NotConfirmed::Nothing | NotConfirmed::Other => ApiError::new(ErrorCode::Refused, error.to_string())
            .hint("look at the change as it is now, then confirm that one"),
    })?;
    Ok(power_view(&powers))
}

pub async fn audit_list(api: &Api, request: AuditList) -> Result<v::AuditPage, ApiError> {
    let limit = request.limit.clamp(1, PAGE);
    let mut rows = api
        .store()
        .read(move |tx| audit::page(tx, request.kind.as_deref(), request.after, limit + 1))
        .await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    Ok(v::AuditPage { rows: rows.iter().map(audit_view).collect(), more })
}

/// Checks the chain, and that the journal of effects says what the chain says.
pub async fn audit_verify(api: &Api, _: Nothing) -> Result<v::ChainView, ApiError> {
    let (chain, other) =
        api.store().read(|tx| Ok::<_, StoreError>((audit::verify(tx)?, effects::disagreement(tx)?))).await?;
    Ok(match (chain, other) {
        (Chain::Broken { at }, _) => v::ChainView {
            whole: false,
            rows: at.unsigned_abs().saturating_sub(1),
            broken_at: Some(at),
            message: format!("the audit log is broken at row {at}: a row was changed or taken out"),
        },
        (Chain::Whole { rows }, Some(effect)) => v::ChainView {
            whole: false,
            rows,
            broken_at: None,
            message: format!(
                "effect {effect} is not as the audit log says: its row was changed or taken out"
            ),
        },
        (Chain::Whole { rows }, None) => v::ChainView {
            whole: true,
            rows,
            broken_at: None,
            message: format!("the audit log is whole: {rows} rows"),
        },
    })
}

/// Why this one cannot be sent by a person, when it cannot.
fn refuse_sending(row: &EffectRow) -> Result<(), ApiError> {
    let refused = |message: String| Err(ApiError::new(ErrorCode::Refused, message));
    match row.state {
        State::Suggested => Ok(()),
        State::Failed if !holds_secret(row) => Ok(()),
        State::Failed => refused("it holds what looks like a secret, so it is not sent".to_owned()),
        State::Done => refused("it was sent already, and cannot be taken back".to_owned()),
        State::Wanted | State::Approved | State::Intended => refused("it is on its way already".to_owned()),
        State::Dismissed | State::Obsolete => refused(format!("it is {}", word(row.state))),
    }
}

fn holds_secret(row: &EffectRow) -> bool {
    row.why.as_deref() == Some("secret")
}

fn view(row: &EffectRow) -> v::EffectView {
    let number = row.number.map_or_else(String::new, |number| format!("#{number}"));
    let head = row.head.as_ref().map_or_else(String::new, |head| format!(" at {}", head.short()));
    let place = format!("{}{number}", convert::line(&row.repository));
    v::EffectView {
        id: row.id,
        class: row.class.as_str().to_owned(),
        state: state(row.state),
        host: row.host.clone(),
        repository: row.repository.clone(),
        number: row.number,
        head: row.head.as_ref().map(ToString::to_string),
        account: row.account.clone(),
        content: row.content.chars().take(CONTENT).collect(),
        hash: row.hash(),
        facts: row.deed.iter().flat_map(wording::effect::facts).map(fact).collect(),
        line: row.line.as_deref().map(convert::line),
        diff: None,
        diff_note: None,
        title: match &row.deed {
            Some(deed) => format!("{}{head}", wording::effect::deed(deed, &place)),
            None => format!("Comment the review of {place}{head}"),
        },
        subject_url: row.number.map(|number| {
            // GitHub leads from an issue's address to the pull request of that number.
            let room = if row.head.is_some() { "pull" } else { "issues" };
            format!("https://{}/{}/{room}/{number}", row.host, row.repository)
        }),
        reason: reason(row),
        attempt: row.attempt,
        created_at: row.created_at,
        intent_at: row.intent_at,
        outcome_at: row.outcome_at,
        retry_at: row.retry_at,
        result_url: row.evidence.clone(),
        review: row.review.map(|id| id.0),
        task: row.task.map(|id| id.0),
        can_send: refuse_sending(row).is_ok(),
        can_dismiss: match row.state {
            State::Suggested | State::Wanted | State::Approved | State::Failed => true,
            State::Intended | State::Done | State::Dismissed | State::Obsolete => false,
        },
    }
}

fn fact((name, value): (&'static str, String)) -> v::EffectFact {
    v::EffectFact { name: name.to_owned(), value }
}

fn reason(row: &EffectRow) -> Option<v::StatusReason> {
    if row.state == State::Done {
        let message = "it was sent, and cannot be taken back here".to_owned();
        return Some(v::StatusReason { code: "sent".to_owned(), message, hint: None });
    }
    if row.state == State::Suggested && row.turned_down {
        let message = wording::effect::turned_down();
        return Some(v::StatusReason { code: "turned_down".to_owned(), message, hint: None });
    }
    let code = row.why.clone()?;
    Some(v::StatusReason {
        message: row.detail.as_deref().map(convert::line).unwrap_or_default(),
        hint: wording::effect::hint(&code).map(str::to_owned),
        code,
    })
}

fn state(state: State) -> v::EffectState {
    match state {
        State::Wanted => v::EffectState::Wanted,
        State::Suggested => v::EffectState::Suggested,
        State::Approved => v::EffectState::Approved,
        State::Intended => v::EffectState::Intended,
        State::Done => v::EffectState::Done,
        State::Failed => v::EffectState::Failed,
        State::Dismissed => v::EffectState::Dismissed,
        State::Obsolete => v::EffectState::Obsolete,
    }
}

fn word(state: State) -> &'static str {
    match state {
        State::Wanted => "wanted",
        State::Suggested => "suggested",
        State::Approved => "approved",
        State::Intended => "being sent",
        State::Done => "sent",
        State::Failed => "failed",
        State::Dismissed => "dismissed",
        State::Obsolete => "obsolete",
    }
}

fn power_view(powers: &Powers) -> v::PowerView {
    v::PowerView { pending: powers.pending.iter().map(power_line).collect(), change: powers.change() }
}

/// One power that waits.
pub(super) fn power_line(line: &Widening) -> v::PowerLine {
    v::PowerLine { key: line.key.clone(), now: line.now.clone(), asked: line.asked.clone(), widens: true }
}

fn audit_view(row: &AuditRow) -> v::AuditRowView {
    v::AuditRowView {
        id: row.id,
        at: row.at,
        actor: convert::line(&row.actor),
        kind: convert::line(&row.kind),
        subject: convert::line(&row.subject),
        detail: convert::paragraph(&row.detail),
    }
}

fn missing(id: i64) -> ApiError {
    ApiError::new(ErrorCode::NotFound, format!("there is no effect {id}"))
        .hint("`steward inbox` lists what waits for you")
}
