//! What an answer costs its token, and what GitHub says about it in headers.

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::access::Viewer;
use crate::clock::http_date;
use crate::graphql;
use crate::routes::{Reply, refusal};
use crate::state::{Grant, State};
use crate::wire::{Asked, Raw};

pub(crate) fn exhausted(state: &State, user: u64, graphql: bool) -> Reply {
    let text = format!("API rate limit exceeded for user ID {user}.");
    let mut reply = if graphql {
        let body = json!({ "errors": [{ "type": "RATE_LIMITED", "message": text }] });
        Reply { status: 200, headers: Vec::new(), body: Some(body) }
    } else {
        refusal(403, &text)
    };
    let reset = state.clock.now().timestamp() + 1800;
    reply
        .headers
        .extend([("x-ratelimit-remaining", "0".to_owned()), ("x-ratelimit-reset", reset.to_string())]);
    reply
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Core,
    Graphql,
}

/// The refusal of a token that has no points left.
pub(crate) fn spent(state: &mut State, who: &Viewer, resource: Resource) -> Option<Reply> {
    let (now, limit) = (state.clock.now().timestamp(), state.limit);
    let person = state.person(&who.login).map_or(0, |person| person.id);
    let token = state.tokens.get_mut(who.token.as_ref()?)?;
    let budget = if resource == Resource::Graphql { &mut token.graphql } else { &mut token.core };
    if budget.reset <= now {
        (budget.used, budget.reset) = (0, now + 3600);
    }
    let (over, reset) = (budget.used >= limit, budget.reset);
    over.then(|| {
        let mut reply = exhausted(state, person, resource == Resource::Graphql);
        reply.headers.retain(|(name, _)| *name != "x-ratelimit-reset");
        reply.headers.push(("x-ratelimit-reset", reset.to_string()));
        reply
    })
}

/// Adds what GitHub adds to every answer, and takes its price; an authorised 304 is free.
pub(crate) fn dress(
    state: &mut State,
    raw: &mut Raw,
    asked: &Asked,
    who: Option<&Viewer>,
    resource: Resource,
) -> bool {
    let mut free = false;
    if asked.method == "GET" && raw.status == 200 {
        let authorised = who.is_some_and(|who| who.token.is_some());
        let tag = format!("W/\"{}\"", hex::encode(Sha256::digest(&raw.body)));
        let known =
            asked.header("if-none-match").is_some_and(|list| list.split(',').any(|one| one.trim() == tag));
        raw.headers.push(("etag".to_owned(), tag));
        raw.headers.push(("cache-control".to_owned(), "private, max-age=60, s-maxage=60".to_owned()));
        raw.headers.push(("vary".to_owned(), "Accept, Authorization, Cookie, X-GitHub-OTP".to_owned()));
        if known {
            raw.status = 304;
            raw.body.clear();
            raw.headers.retain(|(name, _)| name != "content-type" && name != "link");
            free = authorised;
        }
    }
    let free = free || asked.path.ends_with("/rate_limit");
    let (now, limit) = (state.clock.now(), state.limit);
    let cost = match (free, resource) {
        (true, _) => 0,
        (false, Resource::Core) => 1,
        (false, Resource::Graphql) => graphql::cost_of(&asked.body),
    };
    let token = who.and_then(|who| who.token.as_ref()).and_then(|secret| state.tokens.get_mut(secret));
    if let Some(token) = token {
        let budget = if resource == Resource::Graphql { &mut token.graphql } else { &mut token.core };
        if budget.reset <= now.timestamp() {
            (budget.used, budget.reset) = (0, now.timestamp() + 3600);
        }
        budget.used = (budget.used + cost).min(limit);
        let (used, reset) = (budget.used, budget.reset);
        let scopes = match &token.grant {
            Grant::Classic(scopes) => Some(scopes.join(", ")),
            Grant::FineGrained { .. } => None,
        };
        let ends = token.ends;
        let mut add = |name: &str, value: String| {
            if !raw.headers.iter().any(|(have, _)| have == name) {
                raw.headers.push((name.to_owned(), value));
            }
        };
        add("x-ratelimit-limit", limit.to_string());
        add("x-ratelimit-remaining", limit.saturating_sub(used).to_string());
        add("x-ratelimit-used", used.to_string());
        add("x-ratelimit-reset", reset.to_string());
        add(
            "x-ratelimit-resource",
            if resource == Resource::Graphql { "graphql" } else { "core" }.to_owned(),
        );
        if let Some(ends) = ends {
            add("github-authentication-token-expiration", ends.format("%Y-%m-%d %H:%M:%S UTC").to_string());
        }
        if let Some(scopes) = scopes {
            add("x-oauth-scopes", scopes);
            add("x-accepted-oauth-scopes", String::new());
        }
    }
    raw.headers.push(("date".to_owned(), http_date(now)));
    raw.headers.push(("x-github-request-id".to_owned(), format!("DOUBLE:{:06}", state.fresh_id())));
    raw.headers.push(("server".to_owned(), "github.com".to_owned()));
    raw.headers.push(("x-github-media-type".to_owned(), "github.v3; format=json".to_owned()));
    raw.headers.push(("x-github-api-version-selected".to_owned(), "2022-11-28".to_owned()));
    free
}
