//! Who asks, and what GitHub lets them see and do.

use crate::routes::{Reply, not_found, refusal};
use crate::state::{Grant, Repo, Role, State};

/// The account and grant behind a request; nobody for an unauthenticated one.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    pub login: String,
    pub token: Option<String>,
    pub grant: Option<Grant>,
}

/// The kind of writing an operation does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Need {
    Contents,
    Pulls,
    Issues,
    Statuses,
    Actions,
}

impl Need {
    fn permission(self) -> &'static str {
        match self {
            Self::Contents => "contents",
            Self::Pulls => "pull_requests",
            Self::Issues => "issues",
            Self::Statuses => "statuses",
            Self::Actions => "actions",
        }
    }
}

/// The viewer named by an `Authorization` header, or GitHub's refusal of it.
pub(crate) fn viewer(state: &State, authorization: Option<&str>) -> Result<Viewer, Reply> {
    let Some(header) = authorization else {
        return Ok(Viewer { login: String::new(), token: None, grant: None });
    };
    let secret = match header.split_once(' ') {
        Some((kind, rest)) if kind.eq_ignore_ascii_case("bearer") || kind.eq_ignore_ascii_case("token") => {
            rest.trim().to_owned()
        }
        Some((kind, rest)) if kind.eq_ignore_ascii_case("basic") => basic_secret(rest).unwrap_or_default(),
        _ => String::new(),
    };
    let now = state.clock.now();
    let accepted = state.tokens.get(&secret).filter(|token| token.ends.is_none_or(|end| end > now));
    let Some(token) = accepted else {
        // As GitHub does: beside it stand the figures of whoever asks from this address without a token.
        let mut reply = refusal(401, "Bad credentials");
        let reset = (now + chrono::Duration::minutes(50)).timestamp();
        reply.headers.extend([
            ("x-ratelimit-limit", "60".to_owned()),
            ("x-ratelimit-remaining", "5".to_owned()),
            ("x-ratelimit-reset", reset.to_string()),
            ("x-ratelimit-resource", "core".to_owned()),
        ]);
        return Err(reply);
    };
    Ok(Viewer { login: token.login.clone(), token: Some(secret), grant: Some(token.grant.clone()) })
}

/// git sends the token as a password.
fn basic_secret(encoded: &str) -> Option<String> {
    use base64::Engine;
    let bytes = base64::engine::general_purpose::STANDARD.decode(encoded.trim()).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.split_once(':').map(|(_, secret)| secret.to_owned())
}

impl Viewer {
    fn has_scope(&self, wanted: &[&str]) -> bool {
        match &self.grant {
            Some(Grant::Classic(scopes)) => scopes.iter().any(|scope| wanted.contains(&scope.as_str())),
            Some(Grant::FineGrained { .. }) => true,
            None => false,
        }
    }

    fn reaches(&self, repo: &Repo) -> bool {
        match &self.grant {
            Some(Grant::FineGrained { repositories, .. }) => {
                repositories.is_empty()
                    || repositories.iter().any(|name| name.eq_ignore_ascii_case(&repo.name))
            }
            Some(Grant::Classic(_)) | None => true,
        }
    }

    fn permitted(&self, permission: &str) -> bool {
        match &self.grant {
            Some(Grant::FineGrained { permissions, .. }) => {
                permissions.iter().any(|(name, level)| name == permission && level == "write")
            }
            Some(Grant::Classic(_)) => true,
            None => false,
        }
    }

    /// A repository one may not see does not exist.
    pub(crate) fn may_read(&self, repo: &Repo) -> Result<(), Reply> {
        let visible = !repo.private
            || (repo.role(&self.login).is_some() && self.has_scope(&["repo"]) && self.reaches(repo));
        if visible { Ok(()) } else { Err(not_found()) }
    }

    /// A fine-grained token sees of a private repository only what it was given.
    pub(crate) fn may_read_part(&self, repo: &Repo, permission: &str) -> bool {
        match &self.grant {
            Some(Grant::FineGrained { permissions, .. }) if repo.private => {
                permissions.iter().any(|(name, _)| name == permission)
            }
            Some(Grant::FineGrained { .. } | Grant::Classic(_)) | None => true,
        }
    }

    /// Writing needs a role in the repository and a grant that covers it.
    pub(crate) fn may_write(&self, repo: &Repo, need: Need, least: Role) -> Result<(), Reply> {
        self.may_read(repo)?;
        if self.token.is_none() {
            return Err(refusal(401, "Requires authentication"));
        }
        if repo.archived {
            return Err(refusal(403, "Repository was archived so is read-only."));
        }
        let scopes: &[&str] = match (repo.private, need) {
            (true, _) => &["repo"],
            (false, Need::Statuses) => &["repo", "public_repo", "repo:status"],
            (false, _) => &["repo", "public_repo"],
        };
        if !self.has_scope(scopes) {
            let mut reply = not_found();
            reply.headers.push(("x-accepted-oauth-scopes", scopes.join(", ")));
            return Err(reply);
        }
        if !self.permitted(need.permission()) || !self.reaches(repo) {
            let mut reply = refusal(403, "Resource not accessible by personal access token");
            reply.headers.push(("x-accepted-github-permissions", format!("{}=write", need.permission())));
            return Err(reply);
        }
        if repo.role(&self.login).is_none_or(|role| role < least) {
            return Err(match need {
                Need::Contents => not_found(),
                Need::Pulls | Need::Issues | Need::Statuses | Need::Actions => {
                    refusal(403, "Must have admin rights to Repository.")
                }
            });
        }
        Ok(())
    }
}
