//! Pull requests and their reviews.

use serde_json::{Value, json};

use super::{
    addresses, api, author, drop_fields, label, node_id, repository_simple, rewrite, set, user, web,
};
use crate::clock::stamp;
use crate::contract::example;
use crate::state::{Pull, Repo, Review, State, Thread};

/// What only the single pull request shows, not the list.
const WHOLE_ONLY: [&str; 12] = [
    "merged",
    "mergeable",
    "rebaseable",
    "mergeable_state",
    "merged_by",
    "comments",
    "review_comments",
    "maintainer_can_modify",
    "commits",
    "additions",
    "deletions",
    "changed_files",
];

fn of(thread: &Thread) -> &Pull {
    thread.pull.as_ref().expect("BUG: the thread is a pull request")
}

fn side(state: &State, repo: Option<&Repo>, name: &str, sha: &str, viewer: &str) -> Value {
    let Some(repo) = repo else {
        return json!({ "label": null, "ref": name, "sha": sha, "user": null, "repo": null });
    };
    json!({
        "label": format!("{}:{name}", repo.owner()), "ref": name, "sha": sha, "user": user(state, repo.owner()),
        "repo": repository_simple(state, repo, viewer),
    })
}

/// A pull request as its own page shows it.
pub(crate) fn pull(state: &State, repo: &Repo, thread: &Thread, viewer: &str) -> Value {
    let pull = of(thread);
    let mut body = example("pull-request");
    let number = thread.number;
    rewrite(&mut body, &addresses(state, repo));
    rewrite(
        &mut body,
        &[
            ("/1347".to_owned(), format!("/{number}")),
            ("6dcb09b5b57875f334f61aebed695e2e4193db5e".to_owned(), pull.head.clone()),
        ],
    );
    let from = repo.fork_point(pull);
    let files = repo.bare.files(&from, &pull.head);
    let (added, removed) = files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    let mergeable = if pull.landed.is_some() || pull.unsettled > 0 || !thread.open {
        Value::Null
    } else {
        json!(repo.merges_cleanly(pull))
    };
    let labels: Vec<Value> = thread.labels.iter().map(|name| label(state, repo, name)).collect();
    let landed = pull.landed.as_ref();
    set(
        &mut body,
        json!({
            "id": thread.id, "node_id": node_id("PR", thread.id), "number": number, "title": thread.title,
            "body": if thread.body.is_empty() { Value::Null } else { json!(thread.body) },
            "state": if thread.open { "open" } else { "closed" }, "locked": thread.locked,
            "active_lock_reason": null, "user": author(state, &thread.author), "labels": labels,
            "milestone": null, "assignee": null, "assignees": [], "requested_reviewers": [], "requested_teams": [],
            "created_at": stamp(thread.created), "updated_at": stamp(thread.updated),
            "closed_at": thread.closed.map(stamp), "draft": pull.draft, "auto_merge": null,
            "head": side(state, state.by_id(pull.head_repo), &pull.head_ref, &pull.head, viewer),
            "base": side(state, Some(repo), &pull.base_ref, &pull.base, viewer),
            "author_association": if repo.owner() == thread.author { "OWNER" } else { "CONTRIBUTOR" },
            "merge_commit_sha": landed.map(|landed| landed.sha.clone()), "merged_at": landed.map(|landed| stamp(landed.at)),
        }),
    );
    set(
        &mut body,
        json!({
            "merged": landed.is_some(), "merged_by": landed.map(|landed| author(state, &landed.by)),
            "mergeable": mergeable, "rebaseable": mergeable, "mergeable_state": repo.merge_state(pull),
            "comments": thread.comments.len(), "review_comments": 0, "maintainer_can_modify": true,
            "commits": repo.bare.count(repo.base_of(pull), &pull.head), "additions": added, "deletions": removed,
            "changed_files": files.len(),
        }),
    );
    body
}

/// A pull request as an entry of the list.
pub(crate) fn pull_simple(state: &State, repo: &Repo, thread: &Thread, viewer: &str) -> Value {
    let mut body = pull(state, repo, thread, viewer);
    drop_fields(&mut body, &WHOLE_ONLY);
    body
}

/// One review of a pull request.
pub(crate) fn review(state: &State, repo: &Repo, thread: &Thread, review: &Review) -> Value {
    let mut body = example("pull-request-review-items")[0].clone();
    let html = format!("{}/pull/{}#pullrequestreview-{}", web(state, repo), thread.number, review.id);
    let page = format!("{}/pulls/{}", api(state, repo), thread.number);
    set(
        &mut body,
        json!({
            "id": review.id, "node_id": node_id("PRR", review.id), "user": author(state, &review.author),
            "body": review.body, "state": review.state, "html_url": html, "pull_request_url": page,
            "submitted_at": stamp(review.at), "commit_id": review.sha,
            "_links": { "html": { "href": html }, "pull_request": { "href": page } },
        }),
    );
    body
}

/// What a merge answers.
pub(crate) fn merged(sha: &str) -> Value {
    let mut body = example("pull-request-merge-result-response-if-merge-was-successful");
    body["sha"] = json!(sha);
    body
}
