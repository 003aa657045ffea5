//! How a planned fault shows: before anything is done, or in the answer on its way out.

use std::io::Write;

use serde_json::Value;

use crate::clock::http_date;
use crate::fault::{Fault, Retry};
use crate::graphql;
use crate::price::exhausted;
use crate::routes::{Reply, refusal};
use crate::state::State;
use crate::wire::{Raw, raw_of};
use crate::world::{Inner, locked};

/// Faults that answer before anything is done.
pub(crate) fn early(state: &State, fault: Option<&Fault>, graphql: bool) -> Option<Reply> {
    match fault? {
        Fault::Cut => Some(refusal(500, "never sent")),
        Fault::Status(status) => Some(refusal(*status, words_of(*status))),
        Fault::Moved { status, to } => {
            let mut reply = refusal(*status, "Moved Permanently");
            reply.headers.push(("location", to.clone()));
            Some(reply)
        }
        Fault::Secondary { status, retry } => {
            let mut reply = refusal(
                *status,
                "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.",
            );
            match retry {
                Retry::Silent => {}
                Retry::Seconds(seconds) => reply.headers.push(("retry-after", seconds.to_string())),
                Retry::Date(seconds) => {
                    let at = state.clock.now() + chrono::TimeDelta::seconds(*seconds as i64);
                    reply.headers.push(("retry-after", http_date(at)));
                }
            }
            Some(reply)
        }
        Fault::PrimaryLimit => Some(exhausted(state, 0, graphql)),
        Fault::LostReply
        | Fault::Truncated
        | Fault::WrongType
        | Fault::Html
        | Fault::Oversized(_)
        | Fault::GzipBomb(_)
        | Fault::Slow(_)
        | Fault::StatusAfterEffect(_)
        | Fault::PartialData
        | Fault::LostNode
        | Fault::EmptyPage
        | Fault::Stale
        | Fault::Body(_)
        | Fault::Duplicated
        | Fault::Reordered => None,
    }
}

fn words_of(status: u16) -> &'static str {
    match status {
        401 => "Bad credentials",
        403 => "Resource not accessible by personal access token",
        404 => "Not Found",
        410 => "This issue was deleted",
        _ => "Server Error",
    }
}

/// Faults that spoil the answer on its way out.
pub(crate) fn after(inner: &Inner, address: &str, mut raw: Raw, fault: Option<&Fault>) -> Raw {
    if raw.status == 200 {
        let mut answered = locked(&inner.answered);
        if matches!(fault, Some(Fault::Stale)) {
            if let Some(before) = answered.get(address) {
                raw = before.clone();
            }
        } else if fault.is_none() {
            answered.insert(address.to_owned(), raw.clone());
        }
    }
    let mut items = |change: &dyn Fn(&mut Vec<Value>)| {
        let Ok(mut body) = serde_json::from_slice::<Value>(&raw.body) else { return };
        let list = match &mut body {
            Value::Array(list) => Some(list),
            Value::Object(map) => map.values_mut().find_map(Value::as_array_mut),
            _ => None,
        };
        if let Some(list) = list {
            change(list);
        }
        raw.body = body.to_string().into_bytes();
    };
    match fault {
        Some(Fault::EmptyPage) => items(&|list| list.clear()),
        Some(Fault::Reordered) => items(&|list| list.reverse()),
        Some(Fault::Duplicated) => {
            items(&|list| *list = list.iter().flat_map(|one| [one.clone(), one.clone()]).collect())
        }
        Some(Fault::WrongType) => {
            raw.body = if raw.body.starts_with(b"[") { b"{}".to_vec() } else { b"[]".to_vec() }
        }
        Some(Fault::Html) => {
            raw.body = b"<!DOCTYPE html><html><body><h1>Sign in to the network</h1></body></html>".to_vec();
            raw.status = 200;
            raw.headers.retain(|(name, _)| name != "content-type");
            raw.headers.push(("content-type".to_owned(), "text/html; charset=utf-8".to_owned()));
        }
        Some(Fault::Oversized(bytes)) => {
            raw.body = vec![b' '; *bytes];
        }
        Some(Fault::GzipBomb(bytes)) => {
            raw.headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
            raw.body = bomb(*bytes);
        }
        Some(Fault::StatusAfterEffect(status)) => raw = raw_of(refusal(*status, words_of(*status))),
        Some(Fault::PartialData) => {
            if let Ok(mut body) = serde_json::from_slice::<Value>(&raw.body) {
                graphql::spoil(&mut body);
                raw.body = body.to_string().into_bytes();
            }
        }
        Some(Fault::Body(text)) => raw.body = text.clone().into_bytes(),
        Some(Fault::LostNode) => {
            if let Ok(mut body) = serde_json::from_slice::<Value>(&raw.body) {
                graphql::lose(&mut body);
                raw.body = body.to_string().into_bytes();
            }
        }
        _ => {}
    }
    raw
}

/// Blanks, packed a thousandfold.
fn bomb(bytes: usize) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let chunk = [b' '; 8192];
    for at in (0..bytes).step_by(chunk.len()) {
        let size = chunk.len().min(bytes - at);
        packed.write_all(&chunk[..size]).expect("BUG: a vector takes every byte");
    }
    packed.finish().expect("BUG: a vector takes every byte")
}
