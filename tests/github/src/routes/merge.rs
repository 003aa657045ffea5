//! Merging, with every refusal in GitHub's own status and words.

use serde_json::json;

use super::{Answer, Ask, Reply, not_found, ok, refusal, refuse};
use crate::access::Need;
use crate::payload;
use crate::state::{Landed, Pull, Repo, Role, State};

const NOT_MERGEABLE: &str = "Pull Request is not mergeable";
const HEAD_MOVED: &str = "Head branch was modified. Review and try the merge again.";
const NOT_YOURS: &str = "You're not authorized to push to this branch. Visit \
    https://help.github.com/articles/about-protected-branches/ for more information.";

/// Why what protects the base refuses this head, if it does.
fn protection_refusal(repo: &Repo, pull: &Pull, login: &str) -> Option<Reply> {
    let rule = repo.protections.get(&pull.base_ref)?;
    let text = |message: String| {
        let whole =
            if rule.ruleset { format!("Repository rule violations found\n\n{message}\n\n") } else { message };
        refusal(405, &whole)
    };
    for name in &rule.required_checks {
        match repo.required(&pull.head, name) {
            Some(true) => {}
            Some(false) => return Some(text(format!("Required status check \"{name}\" is failing."))),
            None => return Some(text(format!("Required status check \"{name}\" is expected."))),
        }
    }
    if rule.approvals > 0 && repo.review_decision(pull) != Some("APPROVED") {
        let count = rule.approvals;
        let (noun, verb) = if count == 1 { ("review", "is") } else { ("reviews", "are") };
        return Some(text(format!(
            "At least {count} approving {noun} {verb} required by reviewers with write access."
        )));
    }
    if rule.up_to_date && !repo.bare.is_ancestor(repo.base_of(pull), &pull.head) {
        return Some(text("Head branch is out of date. Review and try the merge again.".to_owned()));
    }
    let named = rule.only.iter().any(|name| name.eq_ignore_ascii_case(login));
    if !rule.only.is_empty() && !named {
        return Some(text(NOT_YOURS.to_owned()));
    }
    None
}

pub(super) fn merge(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Contents, Role::Write)?;
    let thread = ask.pull(repo)?;
    let pull = thread.pull.as_ref().ok_or_else(not_found)?;
    if !thread.open || pull.landed.is_some() {
        return refuse(405, NOT_MERGEABLE);
    }
    if pull.draft {
        return refuse(405, "Pull Request is still a draft");
    }
    if ask.text("sha").is_some_and(|sha| sha != pull.head) {
        return refuse(409, HEAD_MOVED);
    }
    if pull.unsettled > 0 || !repo.merges_cleanly(pull) {
        return refuse(405, NOT_MERGEABLE);
    }
    let method = ask.text("merge_method").unwrap_or("merge");
    if repo.refused_methods.contains(method) {
        let noun = match method {
            "squash" => "Squash merges",
            "rebase" => "Rebase merges",
            _ => "Merge commits",
        };
        return refuse(405, &format!("{noun} are not allowed on this repository."));
    }
    if let Some(refusal) = protection_refusal(repo, pull, &ask.viewer.login) {
        return Err(refusal);
    }
    let words = (ask.text("commit_title"), ask.text("commit_message"));
    let (full, number) = (repo.name.clone(), thread.number);
    match land(state, &full, number, &ask.viewer.login, &Landing { method, words, over: None }) {
        Some(sha) => ok(payload::merged(&sha)),
        None => refuse(405, NOT_MERGEABLE),
    }
}

/// How a pull request is landed.
#[derive(Debug, Default)]
pub(crate) struct Landing<'a> {
    /// `squash`, `rebase`; anything else makes a merge commit.
    pub method: &'a str,
    pub words: (Option<&'a str>, Option<&'a str>),
    /// The tree is made over this commit instead of the base: what the base has beyond it is dropped.
    pub over: Option<&'a str>,
}

/// Lands a pull request on its base by real git, and closes it as merged.
pub(crate) fn land(
    state: &mut State,
    full: &str,
    number: u64,
    login: &str,
    how: &Landing<'_>,
) -> Option<String> {
    let Landing { method, words, over } = *how;
    let at = state.happens();
    let repo = state.repo_mut(full);
    let thread = repo.threads.get(&number)?;
    let pull = thread.pull.clone()?;
    let base = repo.base_of(&pull).to_owned();
    let tree = repo.bare.merged_tree(over.unwrap_or(&base), &pull.head)?;
    let (usual_title, usual_body) = if method == "squash" {
        (format!("{} (#{number})", thread.title), String::new())
    } else {
        let owner = repo.owner();
        (format!("Merge pull request #{number} from {owner}/{}", pull.head_ref), thread.title.clone())
    };
    let message = format!("{}\n\n{}", words.0.unwrap_or(&usual_title), words.1.unwrap_or(&usual_body))
        .trim_end()
        .to_owned();
    let sha = match method {
        "rebase" => repo.bare.rebase_onto(&pull.base_ref, &base, &pull.head)?,
        "squash" => repo.bare.land(&pull.base_ref, &tree, &[&base], &message, at),
        _ => repo.bare.land(&pull.base_ref, &tree, &[&base, &pull.head], &message, at),
    };
    closes(state, full, number, Landed { sha: sha.clone(), by: login.to_owned(), at, base_before: base });
    Some(sha)
}

/// Closes a pull request as merged by a commit that is there.
pub(crate) fn closes(state: &mut State, full: &str, number: u64, landed: Landed) {
    let (at, login, sha) = (landed.at, landed.by.clone(), landed.sha.clone());
    let repo = state.repo_mut(full);
    if let Some(thread) = repo.threads.get_mut(&number) {
        thread.open = false;
        thread.closed = Some(at);
        if let Some(pull) = thread.pull.as_mut() {
            pull.landed = Some(landed);
        }
    }
    state.event(full, number, "merged", &login, json!({ "commit_id": sha }));
    state.event(full, number, "closed", &login, json!({}));
    state.settle(full, &login);
}

pub(super) fn update_branch(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Pulls, Role::Write)?;
    let thread = ask.pull(repo)?;
    let pull = thread.pull.as_ref().ok_or_else(not_found)?;
    if ask.text("expected_head_sha").is_some_and(|sha| sha != pull.head) {
        return refuse(422, "expected head sha didn\u{2019}t match current head ref.");
    }
    let base = repo.base_of(pull).to_owned();
    if repo.bare.is_ancestor(&base, &pull.head) {
        return refuse(422, "There are no new commits on the base branch.");
    }
    if !repo.merges_cleanly(pull) {
        return refuse(422, "merge conflict between base and head");
    }
    let source = state.by_id(pull.head_repo).ok_or_else(not_found)?.name.clone();
    let (full, head, head_ref) = (repo.name.clone(), pull.head.clone(), pull.head_ref.clone());
    let message = format!("Merge branch '{}' into {head_ref}", pull.base_ref);
    let url = format!("{}/pull/{}", payload::web(state, repo), thread.number);
    let base_path = repo.bare.path().to_string_lossy().into_owned();
    let at = state.happens();
    let target = state.repo_mut(&source);
    if source != full {
        target.bare.must(&["fetch", "--quiet", "--no-tags", &base_path, &base]);
    }
    let tree = target.bare.merged_tree(&base, &head).expect("BUG: it merged cleanly in the base repository");
    target.bare.land(&head_ref, &tree, &[&head, &base], &message, at);
    state.settle(&source, &ask.viewer.login);
    let body = json!({ "message": "Updating pull request branch.", "url": url });
    Ok(Reply { status: 202, headers: Vec::new(), body: Some(body) })
}
