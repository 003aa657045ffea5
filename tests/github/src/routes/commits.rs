//! Commits, trees, refs and comparisons, all asked of git.

use serde_json::{Value, json};

use super::{Answer, Ask, Reply, not_found, ok, refusal, refuse};
use crate::access::Need;
use crate::contract::example;
use crate::payload;
use crate::state::{Repo, Role, State, Thread};

/// GitHub shows at most this many files of a comparison.
const COMPARED_FILES: usize = 300;

pub(super) fn named(repo: &Repo, name: &str) -> Result<String, Reply> {
    let pull_head = name.strip_prefix("refs/pull/").or(name.strip_prefix("pull/"));
    let kept = pull_head.and_then(|rest| rest.strip_suffix("/head")).and_then(|number| number.parse().ok());
    if let Some(pull) = kept.and_then(|number| repo.thread(number)).and_then(|thread| thread.pull.as_ref()) {
        return Ok(pull.head.clone());
    }
    let name = name.strip_prefix("heads/").unwrap_or(name);
    repo.bare.resolve(name).ok_or_else(|| refusal(422, &format!("No commit found for SHA: {name}")))
}

pub(super) fn one(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let sha = named(repo, ask.name("ref"))?;
    let found = repo.bare.show(&sha).ok_or_else(not_found)?;
    ok(payload::commit_whole(state, repo, &found))
}

/// The pull requests a commit belongs to: those that landed as it, and those whose branch holds it.
pub(super) fn pulls(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let sha = named(repo, ask.name("commit_sha"))?;
    let holds = |thread: &&Thread| {
        let Some(pull) = &thread.pull else { return false };
        let landed = pull.landed.as_ref().is_some_and(|landed| landed.sha == sha);
        let among =
            repo.bare.is_ancestor(&sha, &pull.head) && !repo.bare.is_ancestor(&sha, repo.base_of(pull));
        landed || among
    };
    let found = repo.threads.values().filter(holds);
    let items = found.map(|thread| payload::pull_simple(state, repo, thread, &ask.viewer.login)).collect();
    ask.paged(state, Some(repo), items)
}

/// `branch`, a commit, or `owner:branch` of a fork.
fn compared(state: &State, repo: &Repo, name: &str) -> Result<String, Reply> {
    let Some((owner, branch)) = name.split_once(':') else {
        return repo.bare.resolve(name).ok_or_else(not_found);
    };
    let fork = state
        .repos
        .iter()
        .find(|other| other.owner() == owner && (other.id == repo.id || other.fork_of == Some(repo.id)));
    let fork = fork.ok_or_else(not_found)?;
    let sha = fork.bare.branch(branch).ok_or_else(not_found)?.to_owned();
    if fork.id != repo.id {
        repo.bare.must(&["fetch", "--quiet", "--no-tags", &fork.bare.path().to_string_lossy(), &sha]);
    }
    Ok(sha)
}

pub(super) fn compare(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let basehead = ask.name("basehead");
    let (base_name, head_name) = basehead.split_once("...").ok_or_else(not_found)?;
    let (base, head) = (compared(state, repo, base_name)?, compared(state, repo, head_name)?);
    let Some(point) = repo.bare.merge_base(&base, &head) else {
        return refuse(404, &format!("No common ancestor between {base_name} and {head_name}."));
    };
    let (ahead, behind) = (repo.bare.count(&base, &head), repo.bare.count(&head, &base));
    let status = match (ahead, behind) {
        (0, 0) => "identical",
        (_, 0) => "ahead",
        (0, _) => "behind",
        _ => "diverged",
    };
    let all = repo.bare.log(&base, &head);
    let commits = all.iter().map(|found| payload::commit(state, repo, found)).collect();
    let (commits, headers) = ask.cut(state, Some(repo), commits, 250);
    // Files come with the first page only.
    let files: Vec<Value> = if ask.page() == 1 {
        let changed = repo.bare.files(&point, &head);
        changed
            .iter()
            .take(COMPARED_FILES)
            .map(|file| payload::compared_file(state, repo, file, &head))
            .collect()
    } else {
        Vec::new()
    };
    let whole = |sha: &str| repo.bare.show(sha).map(|found| payload::commit(state, repo, &found));
    let mut body = example("commit-comparison");
    payload::rewrite(&mut body, &payload::addresses(state, repo));
    let (api, web) = (payload::api(state, repo), payload::web(state, repo));
    payload::set(
        &mut body,
        json!({
            "url": format!("{api}/compare/{basehead}"), "html_url": format!("{web}/compare/{basehead}"),
            "permalink_url": format!("{web}/compare/{base}...{head}"), "diff_url": format!("{web}/compare/{basehead}.diff"),
            "patch_url": format!("{web}/compare/{basehead}.patch"), "base_commit": whole(&base),
            "merge_base_commit": whole(&point), "status": status, "ahead_by": ahead, "behind_by": behind,
            "total_commits": all.len(), "commits": commits, "files": files,
        }),
    );
    Ok(Reply { status: 200, headers, body: Some(body) })
}

pub(super) fn tree(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let name = ask.name("tree_sha");
    let tree = repo.bare.resolve(name).unwrap_or_else(|| name.to_owned());
    let recursive = ask.query("recursive").is_some();
    let mut args = vec!["ls-tree", "-z", "-l"];
    if recursive {
        args.extend(["-r", "-t"]);
    }
    args.push(&tree);
    let said = repo.bare.run(&args);
    if !said.ok {
        return Err(not_found());
    }
    let api = payload::api(state, repo);
    let entries: Vec<Value> = said
        .out
        .split('\0')
        .filter_map(|entry| {
            let (head, path) = entry.split_once('\t')?;
            let mut words = head.split_whitespace();
            let (mode, kind, sha, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
            let mut body = json!({ "path": path, "mode": mode, "type": kind, "sha": sha });
            match kind {
                "blob" => {
                    body["size"] = json!(size.parse::<u64>().unwrap_or(0));
                    body["url"] = json!(format!("{api}/git/blobs/{sha}"));
                }
                "tree" => body["url"] = json!(format!("{api}/git/trees/{sha}")),
                _ => {}
            }
            Some(body)
        })
        .collect();
    let sha = repo.bare.show(&tree).map_or_else(|| tree.clone(), |found| found.tree);
    ok(json!({ "sha": sha, "url": format!("{api}/git/trees/{sha}"), "tree": entries, "truncated": false }))
}

pub(super) fn reference(state: &State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    let name = ask.name("ref");
    let sha = match name.strip_prefix("heads/") {
        Some(branch) => repo.bare.branch(branch).map(str::to_owned),
        None => named(repo, name).ok(),
    };
    let sha = sha.ok_or_else(not_found)?;
    let api = payload::api(state, repo);
    ok(json!({
        "ref": format!("refs/{name}"), "node_id": payload::node_id("REF", repo.id), "url": format!("{api}/git/refs/{name}"),
        "object": { "type": "commit", "sha": sha, "url": format!("{api}/git/commits/{sha}") },
    }))
}

/// Deletes a branch: not the default one, and not one that protection or a missing role keeps.
pub(super) fn delete_reference(state: &mut State, ask: &Ask) -> Answer {
    let repo = ask.repo(state)?;
    ask.viewer.may_write(repo, Need::Contents, Role::Write)?;
    let branch = ask.name("ref").strip_prefix("heads/").ok_or_else(not_found)?.to_owned();
    if repo.bare.branch(&branch).is_none() {
        return refuse(422, "Reference does not exist");
    }
    if branch == repo.default_branch || repo.protections.contains_key(&branch) {
        return refuse(422, "Cannot delete this protected branch");
    }
    let (full, who) = (repo.name.clone(), ask.viewer.login.clone());
    state.repo_mut(&full).bare.drop_branch(&branch);
    state.settle(&full, &who);
    Ok(Reply { status: 204, headers: Vec::new(), body: None })
}
