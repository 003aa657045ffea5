//! The roster: each member as it was last seen, its pane, and how it is told to ask.

use steward_rules::questions::escalation::flagged;
use steward_rules::questions::need::agent_key;
use steward_rules::questions::roster::{Member, Reach, briefing, reach};

use super::error::{ApiError, ErrorCode};
use super::requests as rq;
use super::{Api, convert, questions, views as v};
use crate::loops::questions::{self as loops, BriefError, Standing, Unseen};
use crate::store::needs::NeedRow;
use crate::store::roster::{self as store_roster, MemberRow, MemberState};
use crate::store::{StoreError, needs};

/// Lines of a capture that are shown, and characters of each.
const LINES: usize = 60;
const COLUMNS: usize = 300;

/// The questions' part of the status; nothing while they are off.
pub(super) async fn status(api: &Api) -> Result<Option<v::QuestionsStatus>, ApiError> {
    if !api.config().config.questions.enabled {
        return Ok(None);
    }
    let ((open, oldest), tick) = api
        .store()
        .read(|tx| -> Result<_, StoreError> { Ok((needs::count_open(tx)?, loops::last_tick(tx)?)) })
        .await?;
    Ok(Some(v::QuestionsStatus {
        open,
        oldest,
        tick: tick.as_ref().map(|tick| tick.line.clone()),
        tick_at: tick.as_ref().map(|tick| tick.at),
        resolution_fail: tick.as_ref().is_some_and(|tick| tick.resolution_fail),
        capture_failed: tick
            .as_ref()
            .map_or(0, |tick| u32::try_from(tick.capture_failed).unwrap_or(u32::MAX)),
        flagged: tick.map_or(0, |tick| u32::try_from(tick.flagged).unwrap_or(u32::MAX)),
    }))
}

pub async fn list(api: &Api, _: rq::Nothing) -> Result<v::RosterView, ApiError> {
    let config = questions::on(api).await?;
    let roster = loops::roster(&config).await;
    let members = roster.members.clone();
    let (seen, open, tick, briefed) = api
        .store()
        .read(move |tx| -> Result<_, StoreError> {
            let briefed: Result<Vec<bool>, StoreError> =
                members.iter().map(|member| loops::briefed(tx, member)).collect();
            Ok((store_roster::all(tx)?, needs::open(tx)?, loops::last_tick(tx)?, briefed?))
        })
        .await?;
    let members = roster
        .members
        .iter()
        .zip(briefed)
        .map(|(member, briefed)| {
            let host = member.host.clone().unwrap_or_else(loops::here);
            let key = agent_key(&member.agent, &host);
            let row = seen.iter().find(|row| row.agent_key == key);
            let needs = open.iter().filter(|need| need.agent_key == key).collect::<Vec<_>>();
            let view = view(member, &host, &reach(member, &config.ssh, false), row, &needs);
            v::MemberView { briefed, ..view }
        })
        .collect();
    Ok(v::RosterView {
        members,
        watcher: watcher(api).await?,
        tick: tick.as_ref().map(|tick| tick.line.clone()),
        tick_at: tick.as_ref().map(|tick| tick.at),
        resolution_fail: tick.is_some_and(|tick| tick.resolution_fail),
        faults: roster.faults.iter().map(|fault| convert::line(fault)).collect(),
        keys: config.keys,
        owner: convert::line(&config.owner),
    })
}

async fn watcher(api: &Api) -> Result<v::WatcherView, ApiError> {
    let (state, text) = match loops::standing(api.context()).await? {
        Standing::Ready => ("ready", "the watcher seat judges what facts do not settle".to_owned()),
        Standing::Resting(why) => ("resting", convert::line(&why)),
        Standing::Absent(why) => ("absent", convert::line(&why)),
    };
    Ok(v::WatcherView { state: state.to_owned(), text })
}

fn view(
    member: &Member,
    host: &str,
    reach: &Reach,
    row: Option<&MemberRow>,
    needs: &[&NeedRow],
) -> v::MemberView {
    let state = row.map_or(MemberState::Unknown, |row| row.state);
    let detail = match (row, reach) {
        (Some(row), _) => convert::line(&row.detail),
        (None, Reach::Messages) => "no pane is named; its questions come as messages".to_owned(),
        (None, _) => "not looked at yet".to_owned(),
    };
    v::MemberView {
        agent: convert::line(&member.agent),
        host: convert::line(host),
        project: member.project.as_deref().map(convert::line),
        pane: member.pane.clone(),
        adapter: member.adapter.clone(),
        state: state.as_str().to_owned(),
        flagged: (state == MemberState::Unwatchable && member.absent.is_none()).then(|| flagged(&detail)),
        detail,
        absent: member.absent.map(|absent| absent.as_str().to_owned()),
        reach: match reach {
            Reach::Local { .. } => "local",
            Reach::Thrum { .. } => "thrum",
            Reach::Ssh { .. } => "ssh",
            Reach::Messages => "messages",
            Reach::Refused(_) => "refused",
        }
        .to_owned(),
        since: row.map(|row| row.since),
        captured_at: row.and_then(|row| row.captured_at),
        needs: needs.iter().map(|need| need.id.0).collect(),
        briefed: false,
    }
}

/// The last lines of a member's pane, captured now.
pub async fn capture(api: &Api, request: rq::RosterAgent) -> Result<v::CaptureView, ApiError> {
    let config = questions::on(api).await?;
    let roster = loops::roster(&config).await;
    let member = member(&roster.members, &request.agent)?;
    let shown = loops::capture(api.context(), &roster, member, &config).await.map_err(|unseen| {
        let why = match unseen {
            Unseen::Messages => "it has no pane; its questions come as messages".to_owned(),
            Unseen::Failed(why) => why,
        };
        ApiError::new(ErrorCode::Refused, format!("{} cannot be captured: {why}", member.agent))
    })?;
    let text = convert::paragraph(&shown.screen.tail(LINES, COLUMNS));
    Ok(v::CaptureView {
        agent: convert::line(&member.agent),
        at: api.now(),
        lines: text.lines().map(str::to_owned).collect(),
    })
}

/// The briefing, for an agent's own start-up text or to be read to it.
pub async fn brief(api: &Api, request: rq::BriefFor) -> Result<v::TextView, ApiError> {
    let config = questions::on(api).await?;
    let agent = match &request.agent {
        None => None,
        Some(name) => {
            let roster = loops::roster(&config).await;
            Some(member(&roster.members, name)?.agent.clone())
        }
    };
    Ok(v::TextView { text: briefing(agent.as_deref(), &config.owner, loops::STEWARD) })
}

/// Types the briefing into a member's pane: once per member, and only on the owner's press.
pub async fn brief_send(api: &Api, request: rq::RosterAgent) -> Result<v::Done, ApiError> {
    api.person("brief an agent")?;
    let config = questions::on(api).await?;
    let roster = loops::roster(&config).await;
    let member = member(&roster.members, &request.agent)?;
    loops::brief(api.context(), member, &config).await?;
    Ok(v::Done { message: format!("{} is briefed", convert::line(&member.agent)) })
}

impl From<BriefError> for ApiError {
    fn from(error: BriefError) -> Self {
        let message = error.to_string();
        match error {
            BriefError::Store(error) => error.into(),
            BriefError::Already(_) | BriefError::Not { .. } => {
                Self::new(ErrorCode::Refused, message).hint("`steward need brief` prints the text")
            }
        }
    }
}

/// Asks the runtime to look at every pane now.
pub async fn look(api: &Api, _: rq::Nothing) -> Result<v::Done, ApiError> {
    questions::on(api).await?;
    if !api.is_served() {
        return Err(ApiError::new(ErrorCode::Refused, "no runtime watches the panes")
            .hint("start the app, or `steward serve`"));
    }
    loops::ask_look(api.context()).await?;
    Ok(v::Done { message: "the panes are looked at now".to_owned() })
}

fn member<'m>(members: &'m [Member], name: &str) -> Result<&'m Member, ApiError> {
    members.iter().find(|member| member.agent == name).ok_or_else(|| {
        ApiError::new(ErrorCode::NotFound, format!("nobody on the roster is called {}", convert::line(name)))
            .hint("`steward needs roster` lists the members")
    })
}
