//! What happens to threads, whoever makes it happen: a test's verb or a client's request.

use serde_json::json;

use crate::follow::keep_head;
use crate::state::{Comment, Label, Pull, State, Thread};

/// A pull request about to be opened.
#[derive(Debug)]
pub(crate) struct Opening {
    pub author: String,
    pub head_repo: String,
    pub head: String,
    pub base: String,
    pub title: String,
    pub body: String,
    pub draft: bool,
    /// The head was put under `refs/pull/N/head` when it was made.
    pub kept: bool,
}

fn fresh_thread(state: &mut State, full: &str, author: &str, title: &str, body: &str) -> Thread {
    let (id, at) = (state.fresh_id(), state.happens());
    let number = state.repo(full).threads.keys().next_back().map_or(1, |last| last + 1);
    Thread {
        id,
        number,
        title: title.to_owned(),
        body: body.to_owned(),
        author: author.to_owned(),
        labels: Vec::new(),
        comments: Vec::new(),
        edits: Vec::new(),
        events: Vec::new(),
        open: true,
        locked: false,
        reason: None,
        created: at,
        updated: at,
        closed: None,
        pull: None,
    }
}

pub(crate) fn open_issue(state: &mut State, full: &str, author: &str, title: &str, body: &str) -> u64 {
    let thread = fresh_thread(state, full, author, title, body);
    let number = thread.number;
    state.repo_mut(full).threads.insert(number, thread);
    number
}

pub(crate) fn open_pull(state: &mut State, full: &str, opening: Opening) -> u64 {
    let mut thread = fresh_thread(state, full, &opening.author, &opening.title, &opening.body);
    let number = thread.number;
    let source = state.repo(&opening.head_repo);
    let head = source.bare.branch(&opening.head);
    let head = head.unwrap_or_else(|| panic!("{} has no branch {}", source.name, opening.head)).to_owned();
    let (source_id, source_path) = (source.id, source.bare.path().to_path_buf());
    let repo = state.repo_mut(full);
    let base = repo.bare.branch(&opening.base);
    let base = base.unwrap_or_else(|| panic!("{full} has no branch {}", opening.base)).to_owned();
    if !opening.kept {
        keep_head(&repo.bare, &source_path, number, &head);
    }
    thread.pull = Some(Pull {
        head_repo: source_id,
        head_ref: opening.head,
        head,
        base_ref: opening.base,
        base,
        draft: opening.draft,
        landed: None,
        reviews: Vec::new(),
        unsettled: 0,
    });
    repo.threads.insert(number, thread);
    number
}

pub(crate) fn add_comment(state: &mut State, full: &str, number: u64, author: &str, body: &str) -> u64 {
    let (id, at) = (state.fresh_id(), state.happens());
    let comment = Comment { id, author: author.to_owned(), body: body.to_owned(), created: at, updated: at };
    let thread = state.repo_mut(full).threads.get_mut(&number);
    let thread = thread.unwrap_or_else(|| panic!("{full} has no thread {number}"));
    thread.comments.push(comment);
    thread.updated = at;
    id
}

/// Deletes a comment. That somebody deleted another's is told in the timeline; that somebody deleted
/// their own is not.
pub(crate) fn delete_comment(state: &mut State, full: &str, number: u64, id: u64, who: &str) {
    let at = state.happens();
    let thread = state.repo_mut(full).threads.get_mut(&number);
    let thread = thread.unwrap_or_else(|| panic!("{full} has no thread {number}"));
    let author =
        thread.comments.iter().find(|comment| comment.id == id).map(|comment| comment.author.clone());
    thread.comments.retain(|comment| comment.id != id);
    thread.updated = at;
    if author.is_some_and(|author| author != who) {
        state.event(full, number, "comment_deleted", who, json!({}));
    }
}

/// Puts a label on a thread; a label nobody made yet is made.
pub(crate) fn put_label(state: &mut State, full: &str, number: u64, name: &str, who: &str) {
    let id = state.fresh_id();
    let repo = state.repo_mut(full);
    if !repo.labels.iter().any(|label| label.name == name) {
        let (name, color) = (name.to_owned(), "ededed".to_owned());
        repo.labels.push(Label { id, name, color, description: None });
    }
    let thread = repo.threads.get_mut(&number).unwrap_or_else(|| panic!("{full} has no thread {number}"));
    if thread.labels.iter().any(|have| have == name) {
        return;
    }
    thread.labels.push(name.to_owned());
    let extra = json!({ "label": { "name": name, "color": "ededed" } });
    state.event(full, number, "labeled", who, extra);
}

pub(crate) fn take_label(state: &mut State, full: &str, number: u64, name: &str, who: &str) {
    let thread = state.repo_mut(full).threads.get_mut(&number);
    let thread = thread.unwrap_or_else(|| panic!("{full} has no thread {number}"));
    thread.labels.retain(|have| have != name);
    let extra = json!({ "label": { "name": name, "color": "ededed" } });
    state.event(full, number, "unlabeled", who, extra);
}
