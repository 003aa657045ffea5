//! What each operation of the API answers. State comes in, a reply goes out; no wire here.

mod account;
mod actions;
mod checks;
mod commits;
mod issues;
mod merge;
mod pulls;
mod repos;

use serde_json::{Value, json};

use actions::Rerun;
pub(crate) use actions::log_text;
pub(crate) use merge::{Landing, closes, land};

use crate::access::Viewer;
use crate::state::{Repo, State, Thread};

/// One question, taken apart.
#[derive(Debug)]
pub(crate) struct Ask {
    pub operation: String,
    /// The address as asked, for links to other pages.
    pub path: String,
    pub names: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    pub body: Value,
    pub viewer: Viewer,
}

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<Value>,
}

pub(crate) type Answer = Result<Reply, Reply>;

pub(crate) fn ok(body: Value) -> Answer {
    Ok(Reply { status: 200, headers: Vec::new(), body: Some(body) })
}

pub(crate) fn created(body: Value) -> Answer {
    Ok(Reply { status: 201, headers: Vec::new(), body: Some(body) })
}

/// GitHub's usual error body.
pub(crate) fn refusal(status: u16, message: &str) -> Reply {
    let body = json!({
        "message": message, "documentation_url": "https://docs.github.com/rest", "status": status.to_string(),
    });
    Reply { status, headers: Vec::new(), body: Some(body) }
}

pub(crate) fn refuse(status: u16, message: &str) -> Answer {
    Err(refusal(status, message))
}

pub(crate) fn not_found() -> Reply {
    refusal(404, "Not Found")
}

/// 422 with its list of what is wrong.
pub(crate) fn invalid(errors: Value) -> Reply {
    let mut reply = refusal(422, "Validation Failed");
    if let Some(body) = reply.body.as_mut() {
        body["errors"] = errors;
    }
    reply
}

impl Ask {
    pub(crate) fn name(&self, name: &str) -> &str {
        self.names.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64, Reply> {
        self.name(name).parse().map_err(|_| not_found())
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn page(&self) -> u64 {
        self.query("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1)
    }

    fn text(&self, field: &str) -> Option<&str> {
        self.body[field].as_str()
    }

    fn full_name(&self) -> String {
        format!("{}/{}", self.name("owner"), self.name("repo"))
    }

    /// The repository in the path, when the viewer may see it.
    fn repo<'s>(&self, state: &'s State) -> Result<&'s Repo, Reply> {
        let at = state.find(&self.full_name()).ok_or_else(not_found)?;
        let repo = &state.repos[at];
        self.viewer.may_read(repo).map(|()| repo)
    }

    fn thread<'r>(&self, repo: &'r Repo, name: &str) -> Result<&'r Thread, Reply> {
        repo.thread(self.number(name)?).ok_or_else(not_found)
    }

    fn pull<'r>(&self, repo: &'r Repo) -> Result<&'r Thread, Reply> {
        self.thread(repo, "pull_number").ok().filter(|thread| thread.pull.is_some()).ok_or_else(not_found)
    }

    /// One page of a list, with the links to the others.
    fn paged(&self, state: &State, repo: Option<&Repo>, items: Vec<Value>) -> Answer {
        let (items, link) = self.cut(state, repo, items, 30);
        Ok(Reply { status: 200, headers: link, body: Some(Value::Array(items)) })
    }

    /// One page of a list that comes inside an object with its total.
    fn paged_in(&self, state: &State, repo: &Repo, field: &str, items: Vec<Value>) -> Answer {
        let total = items.len();
        let (items, link) = self.cut(state, Some(repo), items, 30);
        Ok(Reply { status: 200, headers: link, body: Some(json!({ "total_count": total, field: items })) })
    }

    fn cut(
        &self,
        state: &State,
        repo: Option<&Repo>,
        items: Vec<Value>,
        usual: usize,
    ) -> (Vec<Value>, Vec<(&'static str, String)>) {
        let per_page =
            self.query("per_page").and_then(|n| n.parse().ok()).unwrap_or(usual).clamp(1, 100.max(usual));
        let (page, total) = (self.page() as usize, items.len());
        let last = total.div_ceil(per_page).max(1);
        // GitHub's own links name the repository by its number, not by its name.
        let path = match repo {
            Some(repo) => {
                let rest: Vec<&str> = self.path.trim_matches('/').split('/').skip(3).collect();
                let head = if self.path.starts_with("/repositories/") { 2 } else { 3 };
                let whole: Vec<&str> = self.path.trim_matches('/').split('/').collect();
                let tail = if head == 3 { rest } else { whole.into_iter().skip(2).collect() };
                format!("/repositories/{}/{}", repo.id, tail.join("/"))
            }
            None => self.path.clone(),
        };
        let others: Vec<String> = self
            .query
            .iter()
            .filter(|(key, _)| key != "page")
            .map(|(key, value)| format!("{key}={value}&"))
            .collect();
        let link = |to: usize, rel: &str| {
            format!("<{}{path}?{}page={to}>; rel=\"{rel}\"", state.base, others.concat())
        };
        let mut links = Vec::new();
        if page > 1 {
            links.extend([link((page - 1).min(last), "prev"), link(1, "first")]);
        }
        if page < last {
            links.extend([link(page + 1, "next"), link(last, "last")]);
        }
        let headers = if links.is_empty() { Vec::new() } else { vec![("link", links.join(", "))] };
        (items.into_iter().skip((page - 1) * per_page).take(per_page).collect(), headers)
    }
}

/// Answers one operation.
pub(crate) fn answer(state: &mut State, ask: &Ask) -> Answer {
    match ask.operation.as_str() {
        "GET /rate_limit" => account::rate_limit(state, ask),
        "GET /user" => account::me(state, ask),
        "GET /user/repos" => account::my_repos(state, ask),
        "GET /users/{username}" => account::somebody(state, ask),
        "GET /repos/{owner}/{repo}" => repos::one(state, ask),
        "GET /repos/{owner}/{repo}/branches" => repos::branches(state, ask),
        "GET /repos/{owner}/{repo}/branches/{branch}" => repos::branch(state, ask),
        "GET /repos/{owner}/{repo}/branches/{branch}/protection" => repos::protection(state, ask),
        "GET /repos/{owner}/{repo}/rules/branches/{branch}" => repos::rules(state, ask),
        "GET /repos/{owner}/{repo}/collaborators/{username}/permission" => repos::permission(state, ask),
        "GET /repos/{owner}/{repo}/labels" => repos::labels(state, ask),
        "POST /repos/{owner}/{repo}/labels" => repos::make_label(state, ask),
        "GET /repos/{owner}/{repo}/git/trees/{tree_sha}" => commits::tree(state, ask),
        "GET /repos/{owner}/{repo}/git/ref/{ref}" => commits::reference(state, ask),
        "DELETE /repos/{owner}/{repo}/git/refs/{ref}" => commits::delete_reference(state, ask),
        "GET /repos/{owner}/{repo}/commits/{ref}" => commits::one(state, ask),
        "GET /repos/{owner}/{repo}/compare/{basehead}" => commits::compare(state, ask),
        "GET /repos/{owner}/{repo}/commits/{ref}/check-runs" => checks::runs(state, ask),
        "GET /repos/{owner}/{repo}/commits/{ref}/check-suites" => checks::suites(state, ask),
        "GET /repos/{owner}/{repo}/check-runs/{check_run_id}" => checks::run(state, ask),
        "GET /repos/{owner}/{repo}/commits/{ref}/status" => checks::combined(state, ask),
        "GET /repos/{owner}/{repo}/commits/{ref}/statuses" => checks::statuses(state, ask),
        "POST /repos/{owner}/{repo}/statuses/{sha}" => checks::set_status(state, ask),
        "GET /repos/{owner}/{repo}/commits/{commit_sha}/pulls" => commits::pulls(state, ask),
        "GET /repos/{owner}/{repo}/actions/workflows" => actions::workflows(state, ask),
        "GET /repos/{owner}/{repo}/actions/workflows/{workflow_id}/runs" => actions::runs(state, ask),
        "GET /repos/{owner}/{repo}/actions/runs" => actions::runs(state, ask),
        "GET /repos/{owner}/{repo}/actions/runs/{run_id}" => actions::run(state, ask),
        "GET /repos/{owner}/{repo}/actions/runs/{run_id}/attempts/{attempt_number}" => {
            actions::attempt(state, ask)
        }
        "GET /repos/{owner}/{repo}/actions/runs/{run_id}/jobs" => actions::jobs(state, ask),
        "POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun" => {
            actions::rerun(state, ask, Rerun::Everything)
        }
        "POST /repos/{owner}/{repo}/actions/runs/{run_id}/rerun-failed-jobs" => {
            actions::rerun(state, ask, Rerun::Failed)
        }
        "GET /repos/{owner}/{repo}/actions/jobs/{job_id}" => actions::job(state, ask),
        "GET /repos/{owner}/{repo}/actions/jobs/{job_id}/logs" => actions::log(state, ask),
        "GET /repos/{owner}/{repo}/pulls" => pulls::list(state, ask),
        "POST /repos/{owner}/{repo}/pulls" => pulls::open(state, ask),
        "GET /repos/{owner}/{repo}/pulls/{pull_number}" => pulls::one(state, ask),
        "PATCH /repos/{owner}/{repo}/pulls/{pull_number}" => pulls::change(state, ask),
        "GET /repos/{owner}/{repo}/pulls/{pull_number}/files" => pulls::files(state, ask),
        "GET /repos/{owner}/{repo}/pulls/{pull_number}/commits" => pulls::commits(state, ask),
        "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews" => pulls::reviews(state, ask),
        "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge" => merge::merge(state, ask),
        "PUT /repos/{owner}/{repo}/pulls/{pull_number}/update-branch" => merge::update_branch(state, ask),
        "GET /repos/{owner}/{repo}/issues" => issues::list(state, ask),
        "POST /repos/{owner}/{repo}/issues" => issues::open(state, ask),
        "GET /repos/{owner}/{repo}/issues/{issue_number}" => issues::one(state, ask),
        "PATCH /repos/{owner}/{repo}/issues/{issue_number}" => issues::change(state, ask),
        "GET /repos/{owner}/{repo}/issues/{issue_number}/comments" => issues::comments(state, ask),
        "POST /repos/{owner}/{repo}/issues/{issue_number}/comments" => issues::add_comment(state, ask),
        "GET /repos/{owner}/{repo}/issues/comments/{comment_id}" => issues::comment(state, ask),
        "PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}" => issues::edit_comment(state, ask),
        "DELETE /repos/{owner}/{repo}/issues/comments/{comment_id}" => issues::delete_comment(state, ask),
        "GET /repos/{owner}/{repo}/issues/{issue_number}/timeline" => issues::timeline(state, ask),
        "GET /repos/{owner}/{repo}/issues/{issue_number}/labels" => issues::labels(state, ask),
        "POST /repos/{owner}/{repo}/issues/{issue_number}/labels" => issues::add_labels(state, ask),
        "DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}" => {
            issues::remove_label(state, ask)
        }
        other => panic!("BUG: {other} is described but not answered"),
    }
}
