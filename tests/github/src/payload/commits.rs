//! Commits and changed files.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::{api, commit_node, user, web};
use crate::bare::{Commit, FileChange, Signature};
use crate::contract::example;
use crate::state::{Repo, State};

fn signed(who: &Signature) -> Value {
    json!({ "name": who.name, "email": who.email, "date": who.date })
}

/// A commit as lists carry it.
pub(crate) fn commit(state: &State, repo: &Repo, commit: &Commit) -> Value {
    let (api, web) = (api(state, repo), web(state, repo));
    let mut body = example("commit-items")[0].clone();
    let account = |who: &Signature| user(state, who.email.split('@').next().unwrap_or_default());
    let parents: Vec<Value> = commit
        .parents
        .iter()
        .map(|sha| json!({ "sha": sha, "url": format!("{api}/commits/{sha}"), "html_url": format!("{web}/commit/{sha}") }))
        .collect();
    let sha = &commit.sha;
    super::set(
        &mut body,
        json!({
            "sha": sha, "node_id": commit_node(repo, sha), "url": format!("{api}/commits/{sha}"),
            "html_url": format!("{web}/commit/{sha}"), "comments_url": format!("{api}/commits/{sha}/comments"),
            "author": account(&commit.author), "committer": account(&commit.committer), "parents": parents,
        }),
    );
    super::set(
        &mut body["commit"],
        json!({
            "url": format!("{api}/git/commits/{sha}"), "author": signed(&commit.author),
            "committer": signed(&commit.committer), "message": commit.message,
            "tree": { "sha": commit.tree, "url": format!("{api}/git/trees/{}", commit.tree) },
        }),
    );
    body
}

/// A commit as its own page shows it: with its files.
pub(crate) fn commit_whole(state: &State, repo: &Repo, found: &Commit) -> Value {
    let mut body = commit(state, repo, found);
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    let files = repo.bare.files(found.parents.first().map_or(empty, String::as_str), &found.sha);
    let (added, removed) = files.iter().fold((0, 0), |(a, r), file| (a + file.added, r + file.removed));
    body["stats"] = json!({ "additions": added, "deletions": removed, "total": added + removed });
    body["files"] = files.iter().map(|file| compared_file(state, repo, file, &found.sha)).collect();
    body
}

/// A changed file of a pull request, a comparison or a commit.
pub(crate) fn compared_file(state: &State, repo: &Repo, file: &FileChange, at: &str) -> Value {
    let (api, web) = (api(state, repo), web(state, repo));
    let path = utf8_percent_encode(&file.path, NON_ALPHANUMERIC).to_string();
    let mut body = example("diff-entry-items")[0].clone();
    super::set(
        &mut body,
        json!({
            "sha": file.blob, "filename": file.path, "status": file.status, "additions": file.added,
            "deletions": file.removed, "changes": file.added + file.removed,
            "blob_url": format!("{web}/blob/{at}/{path}"), "raw_url": format!("{web}/raw/{at}/{path}"),
            "contents_url": format!("{api}/contents/{path}?ref={at}"),
        }),
    );
    super::drop_fields(&mut body, &["patch"]);
    if let Some(patch) = &file.patch {
        body["patch"] = json!(patch);
    }
    if let Some(previous) = &file.previous {
        body["previous_filename"] = json!(previous);
    }
    body
}
