//! A plain HTTP client that sees what really came over the wire.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use steward_github_double::World;

pub const TOKEN: &str = "made-up-token";

/// An answer, and whether all of the promised body arrived.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub bytes: Vec<u8>,
    pub whole: bool,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> Value {
        let text = String::from_utf8_lossy(&self.bytes);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}: {text}", self.status))
    }

    pub fn list(&self) -> Vec<Value> {
        self.json().as_array().cloned().unwrap_or_else(|| panic!("not a list: {}", self.json()))
    }

    /// The target of a `Link` with this relation.
    pub fn link(&self, relation: &str) -> Option<String> {
        let links = self.header("link")?.split(", ");
        let found = links.filter_map(|one| one.split_once(">; rel="));
        found.filter(|(_, rel)| rel.trim_matches('"') == relation).map(|(url, _)| url[1..].to_owned()).next()
    }
}

/// Asks, and answers `None` when the connection ended without a reply.
pub fn send(
    world: &World,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Option<Answer> {
    let host = world.base().trim_start_matches("http://").to_owned();
    let path = target.strip_prefix(world.base()).unwrap_or(target);
    let mut stream = TcpStream::connect(&host).expect("the double listens");
    let mut request = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in [("user-agent", "test")].iter().chain(headers) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(request.as_bytes()).expect("the request goes out");
    let mut all = Vec::new();
    // A connection that is cut may end with a reset; what came before it counts.
    let _ = stream.read_to_end(&mut all);
    let at = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&all[..at]).into_owned();
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(k, v)| (k.to_lowercase(), v.to_owned()))
        .collect();
    let bytes = all[at + 4..].to_vec();
    let promised =
        headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, n)| n.parse().ok());
    let whole = promised.is_none_or(|length: usize| length == bytes.len());
    Some(Answer { status, headers, bytes, whole })
}

pub fn ask(world: &World, method: &str, target: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {TOKEN}");
    let body = if body.is_null() { String::new() } else { body.to_string() };
    send(world, method, target, &[("authorization", &bearer)], &body).expect("an answer")
}

pub fn get(world: &World, target: &str) -> Answer {
    ask(world, "GET", target, &Value::Null)
}

pub fn graphql(world: &World, query: &str, variables: Value) -> Answer {
    ask(world, "POST", "/graphql", &serde_json::json!({ "query": query, "variables": variables }))
}

/// A world with one signed-in maintainer.
pub fn world() -> World {
    let world = World::start();
    world.token("octo", TOKEN, &["repo", "read:org"]);
    world
}
