//! Pull requests: lists, one, files, commits, reviews, opening and changing.

use serde_json::{Value, json};

use super::{Answer, Ask, created, invalid, not_found, ok};
use crate::access::Need;
use crate::happening::{Opening, open_pull};
use crate::payload;
use crate::state::{Role, State, Thread};

/// GitHub lists at most this many files and commits of a pull request.
const LISTED_FILES: usize = 3000;
const LISTED_COMMITS: usize = 250;

pub(super) fn list(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let wanted = ask.query("state").unwrap_or("open");
    let mut found: Vec<&Thread> = repo
        .threads
        .values()
        .filter(|thread| match (&thread.pull, wanted) {
            (None, _) => false,
            (Some(_), "all") => true,
            (Some(_), "closed") => !thread.open,
            (Some(_), _) => thread.open,
        })
        .collect();
    if let Some(base) = ask.query("base") {
        found.retain(|thread| thread.pull.as_ref().is_some_and(|pull| pull.base_ref == base));
    }
    if let Some(head) = ask.query("head") {
        found.retain(|thread| {
            thread.pull.as_ref().is_some_and(|pull| {
                let owner = state.by_id(pull.head_repo).map_or("", |repo| repo.owner());
                format!("{owner}:{}", pull.head_ref) == head
            })
        });
    }
    if ask.query("sort") == Some("updated") {
        found.sort_by_key(|thread| thread.updated);
    }
    let usual = if ask.query("sort").is_none_or(|sort| sort == "created") { "desc" } else { "asc" };
    if ask.query("direction").unwrap_or(usual) == "desc" {
        found.reverse();
    }
    let items = found
        .into_iter()
        .map(|thread| payload::pull_simple(state, repo, thread, &ask.viewer.login))
        .collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn one(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let thread = ask.pull(repo)?;
    let body = payload::pull(state, repo, thread, &ask.viewer.login);
    let (full, number) = (repo.name.clone(), thread.number);
    // Asking is what makes GitHub work the mergeability out.
    let asked = state.repo_mut(&full).threads.get_mut(&number).and_then(|thread| thread.pull.as_mut());
    if let Some(pull) = asked {
        pull.unsettled = pull.unsettled.saturating_sub(1);
    }
    ok(body)
}

pub(super) fn files(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let pull = ask.pull(repo)?.pull.as_ref().ok_or_else(not_found)?;
    let changed = repo.bare.files(&repo.fork_point(pull), &pull.head);
    let listed = changed.iter().take(LISTED_FILES);
    let items = listed.map(|file| payload::compared_file(state, repo, file, &pull.head)).collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn commits(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let pull = ask.pull(repo)?.pull.as_ref().ok_or_else(not_found)?;
    let log = repo.bare.log(repo.base_of(pull), &pull.head);
    let items = log.iter().take(LISTED_COMMITS).map(|found| payload::commit(state, repo, found)).collect();
    ask.paged(state, Some(repo), items)
}

pub(super) fn reviews(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let thread = ask.pull(repo)?;
    let given = thread.pull.iter().flat_map(|pull| &pull.reviews);
    let items = given.map(|review| payload::review(state, repo, thread, review)).collect();
    ask.paged(state, Some(repo), items)
}

fn fault(field: &str, code: &str) -> Value {
    json!([{ "resource": "PullRequest", "field": field, "code": code }])
}

pub(super) fn open(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Pulls, Role::Read)?;
    let full = repo.name.clone();
    let (head, base) = (ask.text("head").unwrap_or_default(), ask.text("base").unwrap_or_default());
    let (owner, branch) = head.split_once(':').unwrap_or((repo.owner(), head));
    let source = state
        .repos
        .iter()
        .find(|other| other.owner() == owner && (other.id == repo.id || other.fork_of == Some(repo.id)));
    let source = source.ok_or_else(|| invalid(fault("head", "invalid")))?;
    let tip = source.bare.branch(branch).ok_or_else(|| invalid(fault("head", "invalid")))?;
    let base_tip = repo.bare.branch(base).ok_or_else(|| invalid(fault("base", "invalid")))?;
    let custom = |message: String| {
        invalid(json!([{ "resource": "PullRequest", "code": "custom", "message": message }]))
    };
    if tip == base_tip {
        return Err(custom(format!("No commits between {base} and {branch}")));
    }
    let twin = repo.threads.values().any(|thread| {
        let same = |pull: &crate::state::Pull| {
            pull.head_repo == source.id && pull.head_ref == branch && pull.base_ref == base
        };
        thread.open && thread.pull.as_ref().is_some_and(same)
    });
    if twin {
        return Err(custom(format!("A pull request already exists for {owner}:{branch}.")));
    }
    let opening = Opening {
        author: ask.viewer.login.clone(),
        head_repo: source.name.clone(),
        head: branch.to_owned(),
        base: base.to_owned(),
        title: ask.text("title").unwrap_or_default().to_owned(),
        body: ask.text("body").unwrap_or_default().to_owned(),
        draft: ask.body["draft"] == true,
        kept: false,
    };
    let number = open_pull(state, &full, opening);
    let repo = state.repo(&full);
    let thread = repo.thread(number).ok_or_else(not_found)?;
    created(payload::pull(state, repo, thread, &ask.viewer.login))
}

pub(super) fn change(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let thread = ask.pull(repo)?;
    let least = if thread.author == ask.viewer.login { Role::Read } else { Role::Write };
    ask.viewer.may_write(repo, Need::Pulls, least)?;
    let (full, number, was_open) = (repo.name.clone(), thread.number, thread.open);
    if let Some(base) = ask.text("base").filter(|base| repo.bare.branch(base).is_none()) {
        let message = format!("Proposed base branch '{base}' was not found");
        return Err(invalid(json!([
            { "message": message, "resource": "PullRequest", "field": "base", "code": "invalid" }
        ])));
    }
    super::issues::retitle(state, &full, number, ask);
    if let Some(base) = ask.text("base") {
        let tip = state.repo(&full).bare.branch(base).map(str::to_owned);
        let found = state.repo_mut(&full).threads.get_mut(&number).and_then(|thread| thread.pull.as_mut());
        if let (Some(pull), Some(tip)) = (found, tip) {
            base.clone_into(&mut pull.base_ref);
            pull.base = tip;
        }
    }
    match (ask.text("state"), was_open) {
        (Some("closed"), true) => super::issues::set_open(state, &full, number, &ask.viewer.login, None),
        (Some("open"), false) => {
            super::issues::set_open(state, &full, number, &ask.viewer.login, Some("reopened"))
        }
        _ => {}
    }
    let repo = state.repo(&full);
    let thread = repo.thread(number).ok_or_else(not_found)?;
    ok(payload::pull(state, repo, thread, &ask.viewer.login))
}
