//! The `questions:` block: who is asked for, how often, and what may be typed where.

use std::time::Duration;

use steward_rules::questions::need::{NAME, Origin, agent_key};
use steward_rules::questions::roster::{Absent, Member, Remote, is_host, is_pane_id};

use super::blocks::{RawMember, RawQuestions, RawRemote, RawWatcher};
use super::fields::At;
use super::forge::{duration, written};
use super::resolve::{Origin as From, Resolving, expand};
use super::types::{Questions, ThrumProject, WatcherLimits};

const SOURCES: [Origin; 5] = [Origin::Cli, Origin::Mcp, Origin::Hook, Origin::Thrum, Origin::Pane];
/// The most members a roster has.
const MEMBERS: usize = 500;

pub(super) fn resolve(read: Option<&At<RawQuestions>>, cx: &mut Resolving<'_>) -> Questions {
    let raw = read.map(|at| at.value.clone()).unwrap_or_default();
    let fallback = Questions::default();
    let owner = cx.or("questions.owner", raw.owner.as_ref(), fallback.owner.clone());
    if let Some(at) = raw.owner.as_ref().filter(|at| !is_name(&at.value)) {
        cx.error(at.spot, &at.key, NOT_A_NAME);
    }
    let cadence = raw.cadence.as_ref().map(|at| at.value.clone()).unwrap_or_default();
    let active =
        span("questions.cadence.active", cadence.active.as_ref(), fallback.cadence_active, (15, 3600), cx);
    let idle = span("questions.cadence.idle", cadence.idle.as_ref(), fallback.cadence_idle, (15, 86_400), cx);
    let remind =
        span("questions.remindAfter", raw.remind_after.as_ref(), fallback.remind_after, (60, 86_400), cx);
    if let Some(at) = cadence.idle.as_ref().filter(|_| idle < active) {
        cx.error(at.spot, &at.key, "this must not be shorter than `active`");
    }
    let sources = sources(raw.sources.as_ref(), cx);
    let ssh = remotes(raw.ssh.as_ref().map(|at| at.value.as_slice()), cx);
    let (roster, thrum) = roster(raw.roster.as_ref().map(|at| at.value.as_slice()), cx);
    let keys = cx.or("questions.keys", raw.keys.as_ref(), false);
    let watcher = watcher(&raw.watcher.as_ref().map(|at| at.value.clone()).unwrap_or_default(), cx);
    let line = read.map_or(0, |at| at.spot.line);
    let disabled_by = cx.problems.error_in("questions").map(ToString::to_string);
    let asked = raw.enabled.as_ref().is_some_and(|at| at.value);
    let enabled = asked && disabled_by.is_none();
    let origin = match (&disabled_by, &raw.enabled) {
        (Some(_), _) => From::Refused { line },
        (None, Some(at)) => From::File { line: at.spot.line },
        (None, None) => From::Default,
    };
    cx.note("questions.enabled", enabled, origin);
    Questions {
        enabled,
        disabled_by,
        owner,
        cadence_active: active,
        cadence_idle: idle,
        remind_after: remind,
        roster,
        thrum,
        sources,
        ssh,
        keys,
        watcher,
    }
}

fn watcher(raw: &RawWatcher, cx: &mut Resolving<'_>) -> WatcherLimits {
    let usual = WatcherLimits::default();
    let budget_usd = cx.or("questions.watcher.budgetUsd", raw.budget_usd.as_ref(), usual.budget_usd);
    if let Some(at) = raw.budget_usd.as_ref().filter(|at| !(0.001..=5.0).contains(&at.value)) {
        cx.error(at.spot, &at.key, "this must be between 0.001 and 5");
    }
    let count =
        |key: &str, read: Option<&At<i64>>, usual: u32, (least, most): (u32, u32), cx: &mut Resolving<'_>| {
            let found = cx.or(key, read, i64::from(usual));
            match u32::try_from(found).ok().filter(|found| (least..=most).contains(found)) {
                Some(found) => found,
                None => {
                    if let Some(at) = read {
                        cx.error(at.spot, &at.key, format!("this must be between {least} and {most}"));
                    }
                    usual
                }
            }
        };
    WatcherLimits {
        budget_usd,
        max_per_hour: count(
            "questions.watcher.maxPerHour",
            raw.max_per_hour.as_ref(),
            usual.max_per_hour,
            (0, 1000),
            cx,
        ),
        max_minutes: count(
            "questions.watcher.maxMinutes",
            raw.max_minutes.as_ref(),
            usual.max_minutes,
            (1, 30),
            cx,
        ),
    }
}

const NOT_A_NAME: &str = "this must be one line of 1 to 80 characters without space around it";

fn is_name(text: &str) -> bool {
    (1..=NAME).contains(&text.chars().count()) && text.trim() == text && !text.contains(['\n', '\t'])
}

fn sources(read: Option<&At<Vec<String>>>, cx: &mut Resolving<'_>) -> Vec<Origin> {
    let Some(at) = read else {
        cx.note("questions.sources", SOURCES.map(Origin::as_str).to_vec(), From::Default);
        return SOURCES.to_vec();
    };
    let words = SOURCES.map(Origin::as_str);
    let mut found = Vec::new();
    for (index, word) in at.value.iter().enumerate() {
        let word = At { value: word.clone(), spot: at.spot, key: format!("{}[{index}]", at.key) };
        if let Some(index) = cx.word(&word, &words) {
            found.push(SOURCES[index]);
        }
    }
    cx.note("questions.sources", at.value.clone(), From::File { line: at.spot.line });
    found
}

fn remotes(read: Option<&[At<RawRemote>]>, cx: &mut Resolving<'_>) -> Vec<Remote> {
    let mut remotes = Vec::new();
    for At { value: raw, spot, key } in read.unwrap_or_default() {
        let Some(host) = cx.required(raw.host.as_ref(), *spot, &format!("{key}.host")) else { continue };
        if !is_host(host) {
            cx.error(*spot, &format!("{key}.host"), "this must be a host name as `ssh` takes it");
            continue;
        }
        let keys = raw.keys.as_ref().is_some_and(|at| at.value);
        let shown = if keys { format!("{host}, with keys") } else { host.to_owned() };
        cx.note(key.clone(), shown, From::File { line: spot.line });
        remotes.push(Remote { host: host.to_owned(), keys });
    }
    remotes
}

fn roster(read: Option<&[At<RawMember>]>, cx: &mut Resolving<'_>) -> (Vec<Member>, Vec<ThrumProject>) {
    let (mut members, mut folders): (Vec<Member>, Vec<ThrumProject>) = (Vec::new(), Vec::new());
    for At { value: raw, spot, key } in read.unwrap_or_default() {
        let line = spot.line;
        let Some(agent) = cx.required(raw.agent.as_ref(), *spot, &format!("{key}.agent")) else { continue };
        if !is_name(agent) {
            cx.error(*spot, &format!("{key}.agent"), NOT_A_NAME);
            continue;
        }
        if let Some(at) = &raw.thrum {
            match expand(&at.value, cx.person) {
                Ok(folder) => {
                    cx.note(
                        key.clone(),
                        format!("the roster of {agent} in {}", folder.display()),
                        From::File { line },
                    );
                    folders.push(ThrumProject { folder, agent: agent.to_owned() });
                }
                Err(why) => cx.error(at.spot, &at.key, why),
            }
            continue;
        }
        let Some(member) = member(agent, raw, cx) else { continue };
        let host = member.host.clone().unwrap_or_default();
        let is_twin = |other: &Member| {
            agent_key(&other.agent, other.host.as_deref().unwrap_or_default()) == agent_key(agent, &host)
        };
        if members.iter().any(is_twin) {
            cx.error(*spot, &format!("{key}.agent"), "this agent is on the roster already");
            continue;
        }
        if members.len() == MEMBERS {
            cx.error(*spot, key, "a roster has at most 500 members");
            break;
        }
        cx.note(key.clone(), shown(&member), From::File { line });
        members.push(member);
    }
    (members, folders)
}

fn member(agent: &str, raw: &RawMember, cx: &mut Resolving<'_>) -> Option<Member> {
    let text = |read: &Option<At<String>>| read.as_ref().map(|at| at.value.clone());
    let mut fits = true;
    if let Some(at) = raw.pane.as_ref().filter(|at| !is_pane_id(&at.value)) {
        cx.error(
            at.spot,
            &at.key,
            "this must be a pane's id, such as `%12`; `tmux list-panes -a` shows them",
        );
        fits = false;
    }
    if let Some(at) = raw.host.as_ref().filter(|at| !is_host(&at.value)) {
        cx.error(at.spot, &at.key, "this must be a host name as `ssh` takes it");
        fits = false;
    }
    if let Some(at) = raw.project.as_ref().filter(|at| !is_name(&at.value)) {
        cx.error(at.spot, &at.key, NOT_A_NAME);
        fits = false;
    }
    if let Some(at) = &raw.adapter {
        fits &= cx.word(at, &["claude", "codex", "generic"]).is_some();
    }
    let absent = match &raw.declared_absent {
        None => None,
        Some(at) => match cx.word(at, &Absent::WORDS) {
            Some(0) => Some(Absent::Inactive),
            Some(_) => Some(Absent::Sleeping),
            None => {
                fits = false;
                None
            }
        },
    };
    fits.then(|| Member {
        agent: agent.to_owned(),
        project: text(&raw.project),
        host: text(&raw.host),
        pane: text(&raw.pane),
        adapter: text(&raw.adapter),
        absent,
        thrum: None,
    })
}

fn shown(member: &Member) -> String {
    let mut text = member.agent.clone();
    for (word, value) in [("in", &member.pane), ("on", &member.host), ("for", &member.project)] {
        if let Some(value) = value {
            text.push_str(&format!(" {word} {value}"));
        }
    }
    match member.absent {
        Some(absent) => format!("{text}, {}", absent.as_str()),
        None => text,
    }
}

/// A time such as `10m`, between two numbers of seconds.
fn span(
    key: &str,
    read: Option<&At<String>>,
    default: Duration,
    (least, most): (u64, u64),
    cx: &mut Resolving<'_>,
) -> Duration {
    let Some(at) = read else {
        cx.note(key, written(default), From::Default);
        return default;
    };
    match duration(&at.value) {
        Some(time) if (least..=most).contains(&time.as_secs()) => {
            cx.note(key, at.value.clone(), From::File { line: at.spot.line });
            time
        }
        Some(_) => {
            let (least, most) = (written(Duration::from_secs(least)), written(Duration::from_secs(most)));
            cx.error(at.spot, &at.key, format!("this must be between `{least}` and `{most}`"));
            default
        }
        None => {
            cx.error(at.spot, &at.key, "this must be a time such as `90s`, `10m` or `1h`");
            default
        }
    }
}
