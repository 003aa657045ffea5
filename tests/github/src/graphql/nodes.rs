//! The nodes of the graph: repositories, pull requests, issues, commits, checks.

use serde_json::{Value, json};

use super::Scene;
use super::object::{Object, Val};
use super::search;
use crate::clock::stamp;
use crate::payload::{app_id, commit_node, node_id, web};
use crate::state::{Check, Pull, Repo, Role, State, Status, Thread};

/// The root of every query.
pub(crate) fn query<'s>(scene: &'s Scene<'s>) -> Object<'s> {
    Object::new("Query", move |field, args| match field {
        "viewer" => Val::maybe(user(scene.state, &scene.viewer.login)),
        "rateLimit" => Some(Val::Object(rate_limit(scene))),
        "repository" => {
            let name = format!("{}/{}", args["owner"].as_str()?, args["name"].as_str()?);
            Some(match seen(scene, &name) {
                Some(repo) => Val::Object(repository(scene, repo)),
                None => Val::Refused(format!("Could not resolve to a Repository with the name '{name}'.")),
            })
        }
        "node" => Some(node(scene, args["id"].as_str()?).map_or_else(Val::Refused, Val::Object)),
        "nodes" => {
            let ids = args["ids"].as_array()?;
            let call = scene.asked_nodes.replace(scene.asked_nodes.get() + 1);
            let found = ids.iter().enumerate().map(|(at, id)| {
                node(scene, id.as_str().unwrap_or("")).map_or_else(
                    |message| {
                        scene.missing.borrow_mut().push((call, at, message));
                        Val::Leaf(Value::Null)
                    },
                    Val::Object,
                )
            });
            Some(Val::List(found.collect()))
        }
        "search" => Some(match search::find(scene.state, scene.viewer, args["query"].as_str()?) {
            Err(fault) => Val::Refused(fault),
            Ok(found) => {
                let show = move || {
                    let threads = found.iter().filter_map(|(name, number)| {
                        let repo = scene.state.repo(name);
                        repo.thread(*number).map(|found| thread(scene, repo, found))
                    });
                    threads.collect()
                };
                return Val::connection(show);
            }
        }),
        _ => None,
    })
}

/// What GitHub says of a part that a token was not given.
pub(super) const NOT_ACCESSIBLE: &str = "Resource not accessible by personal access token";

/// A repository by its name, today's or an old one, when the viewer may see it.
fn seen<'s>(scene: &'s Scene<'s>, name: &str) -> Option<&'s Repo> {
    let moved =
        || scene.state.moved.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)).map(|(_, id)| *id);
    let found = scene.state.find(name).map(|at| &scene.state.repos[at]);
    found.or_else(|| scene.state.by_id(moved()?)).filter(|repo| scene.viewer.may_read(repo).is_ok())
}

fn node<'s>(scene: &'s Scene<'s>, id: &str) -> Result<Object<'s>, String> {
    for repo in scene.state.repos.iter().filter(|repo| scene.viewer.may_read(repo).is_ok()) {
        if node_id("R", repo.id) == id {
            return Ok(repository(scene, repo));
        }
        let kind = |thread: &Thread| node_id(if thread.pull.is_some() { "PR" } else { "I" }, thread.id);
        if let Some(found) = repo.threads.values().find(|thread| kind(thread) == id) {
            return Ok(thread(scene, repo, found));
        }
    }
    Err(format!("Could not resolve to a node with the global id of '{id}'"))
}

fn rate_limit<'s>(scene: &'s Scene<'s>) -> Object<'s> {
    let token = scene.viewer.token.as_ref().and_then(|secret| scene.state.tokens.get(secret));
    let (used, reset) = token.map_or((0, 0), |token| (token.graphql.used + scene.cost, token.graphql.reset));
    let reset = chrono::DateTime::from_timestamp(reset, 0).unwrap_or_else(|| scene.state.clock.now());
    let limit = scene.state.limit;
    Object::plain(
        "RateLimit",
        json!({
            "cost": scene.cost, "limit": limit, "nodeCount": scene.node_count, "remaining": limit.saturating_sub(used),
            "used": used, "resetAt": stamp(reset),
        }),
    )
}

fn user<'s>(state: &State, login: &str) -> Option<Object<'s>> {
    let person = state.person(login)?;
    let kind = if person.kind == "Bot" { "Bot" } else { "User" };
    let url = format!("{}/{}", state.base, person.login);
    let id = node_id("U", person.id);
    Some(Object::plain(kind, json!({ "login": person.login, "url": url, "id": id, "databaseId": person.id })))
}

fn repository<'s>(scene: &'s Scene<'s>, repo: &'s Repo) -> Object<'s> {
    let state = scene.state;
    let threads = move |pulls: bool, args: &Value| {
        let wanted: Option<Vec<String>> = args["states"]
            .as_array()
            .map(|list| list.iter().filter_map(Value::as_str).map(str::to_owned).collect());
        let descending = args["orderBy"]["direction"] == "DESC";
        let by_update = args["orderBy"]["field"] == "UPDATED_AT";
        Val::connection(move || {
            let mut found: Vec<&Thread> = repo
                .threads
                .values()
                .filter(|one| one.pull.is_some() == pulls)
                .filter(|one| {
                    wanted.as_ref().is_none_or(|words| words.iter().any(|word| word == state_word(one)))
                })
                .collect();
            if by_update {
                found.sort_by_key(|one| one.updated);
            }
            if descending {
                found.reverse();
            }
            found.into_iter().map(|one| thread(scene, repo, one)).collect()
        })
    };
    let numbered = move |args: &Value, pulls: bool| {
        let number = args["number"].as_u64().unwrap_or(0);
        let kind = if pulls { "a PullRequest" } else { "an Issue" };
        Some(match repo.thread(number).filter(|one| one.pull.is_some() == pulls) {
            Some(found) => Val::Object(thread(scene, repo, found)),
            None => Val::Refused(format!("Could not resolve to {kind} with the number of {number}.")),
        })
    };
    Object::new("Repository", move |field, args| match field {
        "id" => Val::leaf(node_id("R", repo.id)),
        "databaseId" => Val::leaf(repo.id),
        "name" => Val::leaf(repo.short()),
        "nameWithOwner" => Val::leaf(repo.name.as_str()),
        "isArchived" => Val::leaf(repo.archived),
        "isPrivate" => Val::leaf(repo.private),
        "url" => Val::leaf(web(state, repo)),
        "updatedAt" => Val::leaf(stamp(repo.pushed)),
        "owner" => Val::maybe(user(state, repo.owner())),
        "viewerPermission" => Val::leaf(repo.role(&scene.viewer.login).map(|role| match role {
            Role::Read => "READ",
            Role::Triage => "TRIAGE",
            Role::Write => "WRITE",
            Role::Maintain => "MAINTAIN",
            Role::Admin => "ADMIN",
        })),
        "defaultBranchRef" => Val::maybe(reference(scene, repo, &repo.default_branch)),
        "issue" | "issues" if !scene.viewer.may_read_part(repo, "issues") => {
            Some(Val::Refused(NOT_ACCESSIBLE.to_owned()))
        }
        "pullRequest" => numbered(args, true),
        "issue" => numbered(args, false),
        "pullRequests" => threads(true, args),
        "issues" => threads(false, args),
        _ => None,
    })
}

fn reference<'s>(scene: &'s Scene<'s>, repo: &'s Repo, branch: &str) -> Option<Object<'s>> {
    let sha = repo.bare.branch(branch)?.to_owned();
    let name = branch.to_owned();
    Some(Object::new("Ref", move |field, _| match field {
        "id" => Val::leaf(format!("REF_kwDO{:08}_{name}", repo.id)),
        "name" => Val::leaf(name.as_str()),
        "target" => Some(Val::Object(commit(scene, repo, &sha))),
        _ => None,
    }))
}

fn state_word(thread: &Thread) -> &'static str {
    match &thread.pull {
        Some(pull) if pull.landed.is_some() => "MERGED",
        _ if thread.open => "OPEN",
        _ => "CLOSED",
    }
}

fn thread<'s>(scene: &'s Scene<'s>, repo: &'s Repo, thread: &'s Thread) -> Object<'s> {
    let name = if thread.pull.is_some() { "PullRequest" } else { "Issue" };
    Object::new(name, move |field, args| {
        let of_pull = thread.pull.as_ref().and_then(|found| pull(scene, repo, thread, found, field));
        of_pull.or_else(|| common(scene, repo, thread, field, args))
    })
}

/// What issues and pull requests share.
fn common<'s>(
    scene: &'s Scene<'s>,
    repo: &'s Repo,
    thread: &'s Thread,
    field: &str,
    _args: &Value,
) -> Option<Val<'s>> {
    let state = scene.state;
    let kind = if thread.pull.is_some() { ("PR", "pull") } else { ("I", "issues") };
    match field {
        "id" => Val::leaf(node_id(kind.0, thread.id)),
        "databaseId" => Val::leaf(thread.id),
        "fullDatabaseId" => Val::leaf(thread.id.to_string()),
        "number" => Val::leaf(thread.number),
        "title" => Val::leaf(thread.title.as_str()),
        "body" => Val::leaf(thread.body.as_str()),
        "state" => Val::leaf(state_word(thread)),
        "stateReason" => Val::leaf(thread.reason.as_ref().map(|reason| reason.to_uppercase())),
        "closed" => Val::leaf(!thread.open),
        "locked" => Val::leaf(thread.locked),
        "createdAt" => Val::leaf(stamp(thread.created)),
        "updatedAt" => Val::leaf(stamp(thread.updated)),
        "closedAt" => Val::leaf(thread.closed.map(stamp)),
        "url" => Val::leaf(format!("{}/{}/{}", web(state, repo), kind.1, thread.number)),
        "author" => Val::maybe(user(state, &thread.author)),
        "repository" => Some(Val::Object(repository(scene, repo))),
        "labels" => Val::connection(move || {
            let labels = repo.labels.iter().filter(|label| thread.labels.contains(&label.name));
            let shown = labels.map(|label| {
                let fields =
                    json!({ "id": node_id("LA", label.id), "name": label.name, "color": label.color });
                Object::plain("Label", fields)
            });
            shown.collect()
        }),
        "userContentEdits" => Val::connection(move || {
            let edits = thread.edits.iter().enumerate();
            edits.map(|(at, (who, when))| edit(scene, thread, at, who, stamp(*when))).collect()
        }),
        "comments" => Val::connection(move || {
            thread.comments.iter().map(|one| comment(scene, repo, thread, one)).collect()
        }),
        _ => None,
    }
}

/// One edit of a text.
fn edit<'s>(scene: &'s Scene<'s>, thread: &Thread, at: usize, who: &'s str, when: String) -> Object<'s> {
    let id = format!("UCE_{}_{at}", thread.id);
    Object::new("UserContentEdit", move |field, _| match field {
        "id" => Val::leaf(id.as_str()),
        "editedAt" | "createdAt" | "updatedAt" => Val::leaf(when.as_str()),
        "editor" => Val::maybe(user(scene.state, who)),
        _ => None,
    })
}

fn comment<'s>(
    scene: &'s Scene<'s>,
    repo: &'s Repo,
    thread: &'s Thread,
    comment: &'s crate::state::Comment,
) -> Object<'s> {
    Object::new("IssueComment", move |field, _| match field {
        "id" => Val::leaf(node_id("IC", comment.id)),
        "databaseId" => Val::leaf(comment.id),
        "fullDatabaseId" => Val::leaf(comment.id.to_string()),
        "body" => Val::leaf(comment.body.as_str()),
        "createdAt" => Val::leaf(stamp(comment.created)),
        "updatedAt" => Val::leaf(stamp(comment.updated)),
        "author" => Val::maybe(user(scene.state, &comment.author)),
        "url" => {
            let page = web(scene.state, repo);
            Val::leaf(format!("{page}/issues/{}#issuecomment-{}", thread.number, comment.id))
        }
        _ => None,
    })
}

fn pull<'s>(
    scene: &'s Scene<'s>,
    repo: &'s Repo,
    thread: &'s Thread,
    pull: &'s Pull,
    field: &str,
) -> Option<Val<'s>> {
    let files = || repo.bare.files(&repo.fork_point(pull), &pull.head);
    match field {
        "headRefName" => Val::leaf(pull.head_ref.as_str()),
        "headRefOid" => Val::leaf(pull.head.as_str()),
        "baseRefName" => Val::leaf(pull.base_ref.as_str()),
        "baseRefOid" => Val::leaf(pull.base.as_str()),
        "baseRef" => Val::maybe(reference(scene, repo, &pull.base_ref)),
        "headRepository" => Val::maybe(scene.state.by_id(pull.head_repo).map(|head| repository(scene, head))),
        "isCrossRepository" => Val::leaf(pull.head_repo != repo.id),
        "isDraft" => Val::leaf(pull.draft),
        "merged" => Val::leaf(pull.landed.is_some()),
        "mergedAt" => Val::leaf(pull.landed.as_ref().map(|landed| stamp(landed.at))),
        "mergeCommit" => Val::maybe(pull.landed.as_ref().map(|landed| commit(scene, repo, &landed.sha))),
        "mergeable" => {
            scene.asked.borrow_mut().push((repo.name.clone(), thread.number));
            let unknown = pull.unsettled > 0 || pull.landed.is_some();
            Val::leaf(match (unknown, unknown || repo.merges_cleanly(pull)) {
                (true, _) => "UNKNOWN",
                (false, true) => "MERGEABLE",
                (false, false) => "CONFLICTING",
            })
        }
        "mergeStateStatus" => Val::leaf(repo.merge_state(pull).to_uppercase()),
        "reviewDecision" => Val::leaf(repo.review_decision(pull)),
        "statusCheckRollup" => Val::maybe(rollup(scene, repo, &pull.head)),
        "changedFiles" => Val::leaf(files().len()),
        "additions" => Val::leaf(files().iter().map(|file| file.added).sum::<u64>()),
        "deletions" => Val::leaf(files().iter().map(|file| file.removed).sum::<u64>()),
        "commits" => Val::connection(move || {
            let log = repo.bare.log(repo.base_of(pull), &pull.head);
            let shown = log.into_iter().map(|found| {
                Object::new("PullRequestCommit", move |field, _| match field {
                    "id" => Val::leaf(format!("PRC_{}", found.sha)),
                    "commit" => Some(Val::Object(commit(scene, repo, &found.sha))),
                    _ => None,
                })
            });
            shown.collect()
        }),
        _ => None,
    }
}

fn commit<'s>(scene: &'s Scene<'s>, repo: &'s Repo, sha: &str) -> Object<'s> {
    let sha = sha.to_owned();
    Object::new("Commit", move |field, _| {
        let shown = || repo.bare.show(&sha);
        match field {
            "oid" => Val::leaf(sha.as_str()),
            "id" => Val::leaf(commit_node(repo, &sha)),
            "message" => Val::leaf(shown()?.message),
            "messageHeadline" => Val::leaf(shown()?.message.lines().next().unwrap_or_default()),
            "committedDate" => Val::leaf(shown()?.committer.date),
            "statusCheckRollup" => Val::maybe(rollup(scene, repo, &sha)),
            "parents" => {
                let parents = shown()?.parents;
                Val::connection(move || parents.iter().map(|parent| commit(scene, repo, parent)).collect())
            }
            _ => None,
        }
    })
}

fn rollup<'s>(scene: &'s Scene<'s>, repo: &'s Repo, sha: &str) -> Option<Object<'s>> {
    let state = repo.rollup(sha)?;
    let sha = sha.to_owned();
    Some(Object::new("StatusCheckRollup", move |field, _| match field {
        "id" => Val::leaf(format!("SCR_{sha}")),
        "state" => Val::leaf(state),
        "commit" => Some(Val::Object(commit(scene, repo, &sha))),
        "contexts" => {
            let sha = sha.clone();
            Val::connection(move || {
                let checks = repo.latest_checks(&sha).into_iter().map(|check| check_run(scene, repo, check));
                checks.chain(repo.latest_statuses(&sha).into_iter().map(|one| context(repo, one))).collect()
            })
        }
        _ => None,
    }))
}

fn required(repo: &Repo, name: &str) -> bool {
    let rule = repo.protections.get(&repo.default_branch);
    rule.is_some_and(|rule| rule.required_checks.iter().any(|wanted| wanted == name))
}

fn check_run<'s>(scene: &'s Scene<'s>, repo: &'s Repo, check: &'s Check) -> Object<'s> {
    let page = web(scene.state, repo);
    Object::new("CheckRun", move |field, _| match field {
        "id" => Val::leaf(node_id("CR", check.id)),
        "databaseId" => Val::leaf(check.id),
        "name" => Val::leaf(check.name.as_str()),
        "status" => Val::leaf(check.status.to_uppercase()),
        "conclusion" => Val::leaf(check.conclusion.as_ref().map(|word| word.to_uppercase())),
        "startedAt" => Val::leaf(check.started.map(stamp)),
        "completedAt" => Val::leaf(check.completed.map(stamp)),
        "isRequired" => Val::leaf(required(repo, &check.name)),
        "url" | "detailsUrl" => Val::leaf(format!("{page}/runs/{}", check.id)),
        "checkSuite" => Some(Val::Object(Object::new("CheckSuite", move |field, _| match field {
            "id" => Val::leaf(node_id("CS", check.suite)),
            "databaseId" => Val::leaf(check.suite),
            "status" => Val::leaf(check.status.to_uppercase()),
            "conclusion" => Val::leaf(check.conclusion.as_ref().map(|word| word.to_uppercase())),
            "app" => {
                let id = app_id(&check.app);
                let fields =
                    json!({ "id": node_id("A", id), "databaseId": id, "name": check.app, "slug": check.app });
                Some(Val::Object(Object::plain("App", fields)))
            }
            _ => None,
        }))),
        _ => None,
    })
}

fn context<'s>(repo: &'s Repo, status: &'s Status) -> Object<'s> {
    let fields = json!({
        "id": node_id("SC", status.id), "context": status.context, "state": status.state.to_uppercase(),
        "description": status.description, "targetUrl": null, "createdAt": stamp(status.at),
        "isRequired": required(repo, &status.context),
    });
    Object::plain("StatusContext", fields)
}
