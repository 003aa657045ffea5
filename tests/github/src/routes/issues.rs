//! Issues, comments, labels on a thread, timelines.

use serde_json::{Value, json};

use super::{Answer, Ask, Reply, created, invalid, not_found, ok, refuse};
use crate::access::Need;
use crate::clock::stamp;
use crate::happening;
use crate::payload;
use crate::state::{Comment, Repo, Role, State, Thread};

pub(super) fn list(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let wanted = ask.query("state").unwrap_or("open");
    let mut found: Vec<&Thread> =
        repo.threads.values().filter(|thread| wanted == "all" || thread.open == (wanted == "open")).collect();
    if let Some(since) = ask.query("since") {
        found.retain(|thread| stamp(thread.updated).as_str() >= since);
    }
    if let Some(labels) = ask.query("labels") {
        found.retain(|thread| labels.split(',').all(|label| thread.labels.iter().any(|have| have == label)));
    }
    if let Some(creator) = ask.query("creator") {
        found.retain(|thread| thread.author == creator);
    }
    if ask.query("sort") == Some("updated") {
        found.sort_by_key(|thread| thread.updated);
    }
    if ask.query("direction") != Some("asc") {
        found.reverse();
    }
    let items = found.into_iter().map(|thread| payload::issue(state, repo, thread)).collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn one(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ok(payload::issue(state, repo, ask.thread(repo, "issue_number")?))
}

pub(super) fn open(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Issues, Role::Read)?;
    let full = repo.name.clone();
    let missing = || invalid(json!([{ "resource": "Issue", "code": "missing_field", "field": "title" }]));
    let title = ask.text("title").filter(|title| !title.is_empty()).ok_or_else(missing)?;
    let number =
        happening::open_issue(state, &full, &ask.viewer.login, title, ask.text("body").unwrap_or_default());
    for label in ask.body["labels"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        happening::put_label(state, &full, number, label, &ask.viewer.login);
    }
    let repo = state.repo(&full);
    created(payload::issue(state, repo, repo.thread(number).ok_or_else(not_found)?))
}

pub(super) fn retitle(state: &mut State, full: &str, number: u64, ask: &Ask) {
    let at = state.happens();
    let Some(thread) = state.repo_mut(full).threads.get_mut(&number) else { return };
    thread.updated = at;
    if let Some(body) = ask.text("body") {
        body.clone_into(&mut thread.body);
    }
    let renamed = ask.text("title").filter(|title| *title != thread.title).map(|title| {
        let from = std::mem::replace(&mut thread.title, title.to_owned());
        json!({ "rename": { "from": from, "to": title } })
    });
    if let Some(extra) = renamed {
        state.event(full, number, "renamed", &ask.viewer.login, extra);
    }
}

/// Closes a thread, or opens it again for the reason given.
pub(super) fn set_open(state: &mut State, full: &str, number: u64, who: &str, reopened: Option<&str>) {
    let at = state.happens();
    let Some(thread) = state.repo_mut(full).threads.get_mut(&number) else { return };
    thread.open = reopened.is_some();
    thread.closed = (!thread.open).then_some(at);
    let word = reopened.unwrap_or("closed");
    state.event(full, number, word, who, json!({}));
}

pub(super) fn change(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let thread = ask.thread(repo, "issue_number")?;
    let least = if thread.author == ask.viewer.login { Role::Read } else { Role::Triage };
    ask.viewer.may_write(repo, Need::Issues, least)?;
    let (full, number, was_open) = (repo.name.clone(), thread.number, thread.open);
    retitle(state, &full, number, ask);
    match (ask.text("state"), was_open) {
        (Some("closed"), true) => {
            set_open(state, &full, number, &ask.viewer.login, None);
            let reason = ask.text("state_reason").unwrap_or("completed").to_owned();
            if let Some(thread) = state.repo_mut(&full).threads.get_mut(&number) {
                thread.reason = Some(reason);
            }
        }
        (Some("open"), false) => set_open(state, &full, number, &ask.viewer.login, Some("reopened")),
        _ => {}
    }
    let repo = state.repo(&full);
    ok(payload::issue(state, repo, repo.thread(number).ok_or_else(not_found)?))
}

pub(super) fn comments(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let thread = ask.thread(repo, "issue_number")?;
    let since = ask.query("since").unwrap_or_default();
    let wanted = thread.comments.iter().filter(|comment| stamp(comment.updated).as_str() >= since);
    let items = wanted.map(|comment| payload::comment(state, repo, thread, comment)).collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn add_comment(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Issues, Role::Read)?;
    let thread = ask.thread(repo, "issue_number")?;
    if thread.locked && repo.role(&ask.viewer.login).is_none_or(|role| role < Role::Write) {
        return refuse(403, "Unable to create comment because issue is locked.");
    }
    let body = ask.text("body").unwrap_or_default();
    let fault = |code: &str, message: &str| {
        invalid(json!([{ "resource": "IssueComment", "code": code, "field": "body", "message": message }]))
    };
    if body.trim().is_empty() {
        return Err(fault("missing_field", "body cannot be blank"));
    }
    if body.chars().count() > 65_536 {
        return Err(fault("custom", "body is too long (maximum is 65536 characters)"));
    }
    let (full, number) = (repo.name.clone(), thread.number);
    let id = happening::add_comment(state, &full, number, &ask.viewer.login, body);
    let repo = state.repo(&full);
    let (thread, comment) = find(repo, id)?;
    created(payload::comment(state, repo, thread, comment))
}

fn find(repo: &Repo, id: u64) -> Result<(&Thread, &Comment), Reply> {
    let all = repo.threads.values().flat_map(|thread| thread.comments.iter().map(move |one| (thread, one)));
    let mut all = all;
    all.find(|(_, comment)| comment.id == id).ok_or_else(not_found)
}

pub(super) fn comment(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let (thread, comment) = find(repo, ask.number("comment_id")?)?;
    ok(payload::comment(state, repo, thread, comment))
}

/// The comment in the path, when the viewer may change it: their own, or with write access.
fn changeable(state: &State, ask: &Ask) -> Result<(String, u64, u64), Reply> {
    let repo = ask.repo(state)?;
    let (thread, comment) = find(repo, ask.number("comment_id")?)?;
    let least = if comment.author == ask.viewer.login { Role::Read } else { Role::Write };
    ask.viewer.may_write(repo, Need::Issues, least)?;
    Ok((repo.name.clone(), thread.number, comment.id))
}

pub(super) fn edit_comment(state: &mut State, ask: &Ask) -> Answer {
    let (full, number, id) = changeable(state, ask)?;
    let at = state.happens();
    let thread = state.repo_mut(&full).threads.get_mut(&number).ok_or_else(not_found)?;
    let mine = thread.comments.iter_mut().find(|comment| comment.id == id).ok_or_else(not_found)?;
    mine.body = ask.text("body").unwrap_or_default().to_owned();
    mine.updated = at;
    thread.updated = at;
    let repo = state.repo(&full);
    let (thread, comment) = find(repo, id)?;
    ok(payload::comment(state, repo, thread, comment))
}

pub(super) fn delete_comment(state: &mut State, ask: &Ask) -> Answer {
    let (full, number, id) = changeable(state, ask)?;
    happening::delete_comment(state, &full, number, id, &ask.viewer.login);
    Ok(Reply { status: 204, headers: Vec::new(), body: None })
}

pub(super) fn timeline(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let thread = ask.thread(repo, "issue_number")?;
    ask.paged(state, Some(repo), payload::timeline(state, repo, thread))
}

fn labels_of(state: &State, repo: &Repo, thread: &Thread) -> Vec<Value> {
    thread.labels.iter().map(|name| payload::label(state, repo, name)).collect()
}

pub(super) fn labels(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let thread = ask.thread(repo, "issue_number")?;
    ask.paged(state, Some(repo), labels_of(state, repo, thread))
}

pub(super) fn add_labels(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Issues, Role::Triage)?;
    let (full, number) = (repo.name.clone(), ask.thread(repo, "issue_number")?.number);
    let list = ask.body["labels"].as_array().or(ask.body.as_array()).cloned().unwrap_or_default();
    for label in &list {
        if let Some(name) = label.as_str().or(label["name"].as_str()) {
            happening::put_label(state, &full, number, name, &ask.viewer.login);
        }
    }
    let repo = state.repo(&full);
    ok(Value::Array(labels_of(state, repo, repo.thread(number).ok_or_else(not_found)?)))
}

pub(super) fn remove_label(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Issues, Role::Triage)?;
    let thread = ask.thread(repo, "issue_number")?;
    let (full, number, name) = (repo.name.clone(), thread.number, ask.name("name").to_owned());
    if !thread.labels.contains(&name) {
        return refuse(404, "Label does not exist");
    }
    happening::take_label(state, &full, number, &name, &ask.viewer.login);
    let repo = state.repo(&full);
    ok(Value::Array(labels_of(state, repo, repo.thread(number).ok_or_else(not_found)?)))
}
