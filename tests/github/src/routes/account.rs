//! The account behind a token and what it may still ask.

use serde_json::json;

use super::{Answer, Ask, not_found, ok, refuse};
use crate::payload;
use crate::state::State;

pub(super) fn me(state: &State, ask: &Ask) -> Answer {
    if ask.viewer.token.is_none() {
        return refuse(401, "Requires authentication");
    }
    ok(payload::account(state, &ask.viewer.login))
}

pub(super) fn somebody(state: &State, ask: &Ask) -> Answer {
    state.person(ask.name("username")).ok_or_else(not_found)?;
    ok(payload::account(state, ask.name("username")))
}

pub(super) fn my_repos(state: &State, ask: &Ask) -> Answer {
    if ask.viewer.token.is_none() {
        return refuse(401, "Requires authentication");
    }
    let login = &ask.viewer.login;
    let mine = state.repos.iter().filter(|repo| {
        let named = repo.owner() == login || repo.roles.contains_key(login);
        named && ask.viewer.may_read(repo).is_ok()
    });
    let items = mine.map(|repo| payload::repository_simple(state, repo, login)).collect();
    ask.paged(state, None, items)
}

pub(super) fn rate_limit(state: &State, ask: &Ask) -> Answer {
    let mut body = crate::contract::example("rate-limit-overview");
    let token = ask.viewer.token.as_ref().and_then(|secret| state.tokens.get(secret));
    let reset = state.clock.now().timestamp() + 3600;
    for (name, limit) in [("core", state.limit), ("graphql", state.limit), ("search", 30)] {
        let budget = token.map(|token| match name {
            "core" => token.core.clone(),
            "graphql" => token.graphql.clone(),
            _ => token.search.clone(),
        });
        let budget = budget.unwrap_or_default();
        body["resources"][name] = json!({
            "limit": limit, "used": budget.used, "remaining": limit.saturating_sub(budget.used),
            "reset": if budget.reset == 0 { reset } else { budget.reset },
        });
    }
    body["rate"] = body["resources"]["core"].clone();
    ok(body)
}
