//! Issues, comments, labels and what happened in a thread.

use serde_json::{Value, json};

use super::{addresses, api, author, commit, node_id, rewrite, set, web};
use crate::clock::stamp;
use crate::contract::example;
use crate::state::{Comment, Repo, State, Thread};

/// A label by its name.
pub(crate) fn label(state: &State, repo: &Repo, name: &str) -> Value {
    let mut body = example("label");
    let Some(label) = repo.labels.iter().find(|label| label.name == name) else {
        panic!("BUG: the label {name} was made when it was put on");
    };
    set(
        &mut body,
        json!({
            "id": label.id, "node_id": node_id("LA", label.id), "name": label.name, "color": label.color,
            "description": label.description, "default": false, "url": format!("{}/labels/{}", api(state, repo), label.name),
        }),
    );
    body
}

/// A thread as the issues pages show it; a pull request says so in `pull_request`.
pub(crate) fn issue(state: &State, repo: &Repo, thread: &Thread) -> Value {
    let mut body = example("issue");
    rewrite(&mut body, &addresses(state, repo));
    rewrite(&mut body, &[("/1347".to_owned(), format!("/{}", thread.number))]);
    let labels: Vec<Value> = thread.labels.iter().map(|name| label(state, repo, name)).collect();
    set(
        &mut body,
        json!({
            "id": thread.id, "node_id": node_id(if thread.pull.is_some() { "PR" } else { "I" }, thread.id),
            "number": thread.number, "title": thread.title,
            "body": if thread.body.is_empty() { Value::Null } else { json!(thread.body) },
            "state": if thread.open { "open" } else { "closed" }, "state_reason": thread.reason,
            "user": author(state, &thread.author), "labels": labels, "locked": thread.locked,
            "active_lock_reason": null, "milestone": null, "assignee": null, "assignees": [], "closed_by": null,
            "comments": thread.comments.len(), "created_at": stamp(thread.created),
            "updated_at": stamp(thread.updated), "closed_at": thread.closed.map(stamp),
            "author_association": if repo.owner() == thread.author { "OWNER" } else { "NONE" },
        }),
    );
    super::drop_fields(&mut body, &["pull_request", "repository", "performed_via_github_app"]);
    if let Some(pull) = &thread.pull {
        let page = format!("{}/pull/{}", web(state, repo), thread.number);
        body["html_url"] = json!(page);
        body["draft"] = json!(pull.draft);
        body["pull_request"] = json!({
            "url": format!("{}/pulls/{}", api(state, repo), thread.number), "html_url": page,
            "diff_url": format!("{page}.diff"), "patch_url": format!("{page}.patch"),
            "merged_at": pull.landed.as_ref().map(|landed| stamp(landed.at)),
        });
    }
    body
}

/// One comment of a thread.
pub(crate) fn comment(state: &State, repo: &Repo, thread: &Thread, comment: &Comment) -> Value {
    let mut body = example("issue-comment");
    let page = if thread.pull.is_some() { "pull" } else { "issues" };
    let html = format!("{}/{page}/{}#issuecomment-{}", web(state, repo), thread.number, comment.id);
    set(
        &mut body,
        json!({
            "id": comment.id, "node_id": node_id("IC", comment.id), "body": comment.body, "html_url": html,
            "url": format!("{}/issues/comments/{}", api(state, repo), comment.id),
            "issue_url": format!("{}/issues/{}", api(state, repo), thread.number),
            "user": author(state, &comment.author), "created_at": stamp(comment.created),
            "updated_at": stamp(comment.updated),
            "author_association": if repo.owner() == comment.author { "OWNER" } else { "NONE" },
        }),
    );
    body
}

/// What happened in a thread, oldest first: commits, events and comments.
pub(crate) fn timeline(state: &State, repo: &Repo, thread: &Thread) -> Vec<Value> {
    let mut entries: Vec<(String, Value)> = Vec::new();
    if let Some(pull) = &thread.pull {
        for found in repo.bare.log(&repo.fork_point(pull), &pull.head) {
            let whole = commit(state, repo, &found);
            let mut entry = whole["commit"].clone();
            super::drop_fields(&mut entry, &["comment_count"]);
            for field in ["sha", "node_id", "url", "html_url", "parents"] {
                entry[field] = whole[field].clone();
            }
            entry["event"] = json!("committed");
            entries.push((stamp(thread.created), entry));
        }
        for review in &pull.reviews {
            let mut entry = super::review(state, repo, thread, review);
            set(
                &mut entry,
                json!({ "event": "reviewed", "state": review.state.to_lowercase(), "author_association": "NONE" }),
            );
            entries.push((stamp(review.at), entry));
        }
    }
    for event in &thread.events {
        let mut entry = json!({
            "id": event.id, "node_id": node_id("EV", event.id), "event": event.name,
            "url": format!("{}/issues/events/{}", api(state, repo), event.id), "actor": author(state, &event.actor),
            "commit_id": null, "commit_url": null, "created_at": stamp(event.at), "performed_via_github_app": null,
        });
        set(&mut entry, event.extra.clone());
        entries.push((stamp(event.at), entry));
    }
    for one in &thread.comments {
        let mut entry = comment(state, repo, thread, one);
        let who = author(state, &one.author);
        set(&mut entry, json!({ "event": "commented", "actor": who }));
        entries.push((stamp(one.created), entry));
    }
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    entries.into_iter().map(|(_, entry)| entry).collect()
}
