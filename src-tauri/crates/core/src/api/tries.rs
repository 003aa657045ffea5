//! Trying an item now, and taking that back while no tick has begun.

use steward_rules::engine::hold::Round;

use super::engine::{asked, find, item_view, not_followed};
use super::error::{ApiError, ErrorCode};
use super::requests::ItemBy;
use super::{Api, views as v};
use crate::store::{Durability, engine, engine_items};

/// Lets the runtime try an item now: it is read whole, and a fault that stood in the way counts no more.
pub async fn now(api: &Api, request: ItemBy) -> Result<v::ItemView, ApiError> {
    api.person("call for a try")?;
    let asked = asked(&api.context().config(), &request.item)?;
    api.store()
        .write(Durability::Full, move |tx| -> Result<_, ApiError> {
            let (row, kind, item) = find(tx, &asked)?;
            item.get().map_err(|why| ApiError::new(ErrorCode::Store, why.detail.clone()))?;
            if !engine_items::ask_try(tx, row.id, kind, asked.number)? {
                return Err(not_followed(&asked));
            }
            tx.topic(engine::CALLED)?;
            tx.topic(engine::TOPIC)?;
            item_view(tx, &asked)
        })
        .await
}

/// Takes a call for a try back, as long as no tick has taken it up.
pub async fn take_back(api: &Api, request: ItemBy) -> Result<v::ItemView, ApiError> {
    api.person("take a call for a try back")?;
    let asked = asked(&api.context().config(), &request.item)?;
    api.store()
        .write(Durability::Full, move |tx| -> Result<_, ApiError> {
            let (row, kind, _) = find(tx, &asked)?;
            let is_taken_up = engine::round(tx, row.id)? == Round::Active;
            if is_taken_up || !engine_items::leave_try(tx, row.id, kind, asked.number)? {
                let message = format!("{} was taken up already", asked.called());
                return Err(ApiError::new(ErrorCode::Refused, message)
                    .hint("what comes of it stands on its card; `steward pause` stops everything"));
            }
            tx.topic(engine::TOPIC)?;
            item_view(tx, &asked)
        })
        .await
}
