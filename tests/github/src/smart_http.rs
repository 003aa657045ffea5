//! git over HTTP: `git http-backend` behind the same tokens as the API.

use std::io::Write;
use std::process::Stdio;

use crate::access::viewer;
use crate::bare::plain_git;
use crate::state::Role;
use crate::wire::{Asked, Raw};
use crate::world::{Inner, locked};

/// A request of git's own protocol.
pub(crate) struct Wanted {
    repo: String,
    rest: String,
    pub service: &'static str,
}

pub(crate) fn wanted(asked: &Asked) -> Option<Wanted> {
    let (repo, rest) = ["/info/refs", "/git-upload-pack", "/git-receive-pack"]
        .into_iter()
        .find_map(|tail| asked.path.strip_suffix(tail).map(|repo| (repo, tail)))?;
    let receives = rest == "/git-receive-pack" || asked.query.contains("git-receive-pack");
    let service = if receives { "git-receive-pack" } else { "git-upload-pack" };
    let repo = repo.trim_matches('/').trim_end_matches(".git").to_owned();
    (repo.matches('/').count() == 1).then(|| Wanted { repo, rest: rest.to_owned(), service })
}

/// Whose token git came with; empty for none or a wrong one.
pub(crate) fn login(inner: &Inner, asked: &Asked) -> String {
    let state = locked(&inner.state);
    viewer(&state, asked.header("authorization")).map(|who| who.login).unwrap_or_default()
}

fn plain(status: u16, words: &str) -> Raw {
    let mut headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    if status == 401 {
        headers.push(("www-authenticate".to_owned(), "Basic realm=\"GitHub\"".to_owned()));
    }
    Raw { status, headers, body: words.as_bytes().to_vec() }
}

pub(crate) fn answer(inner: &Inner, asked: &Asked, wanted: &Wanted) -> Raw {
    let (login, bare) = {
        let state = locked(&inner.state);
        let Ok(who) = viewer(&state, asked.header("authorization")) else {
            return plain(401, "Invalid username or token.");
        };
        let moved = state.moved.iter().find(|(name, _)| name.eq_ignore_ascii_case(&wanted.repo));
        let found = state.find(&wanted.repo).map(|at| &state.repos[at]);
        let found = found.or_else(|| moved.and_then(|(_, id)| state.by_id(*id)));
        let Some(repo) = found.filter(|repo| who.may_read(repo).is_ok()) else {
            // Whether it is missing or hidden is not told to who has not signed in.
            return if who.token.is_none() {
                plain(401, "Repository not found.")
            } else {
                plain(404, "Repository not found.")
            };
        };
        if wanted.service == "git-receive-pack" {
            if who.token.is_none() {
                return plain(401, "No anonymous write access.");
            }
            if who.may_write(repo, crate::access::Need::Contents, Role::Write).is_err() {
                return plain(403, "Write access to repository not granted.");
            }
        }
        (who.login, repo.bare.path().to_path_buf())
    };
    let raw = backend(asked, wanted, &login, &bare);
    if asked.method == "POST" && wanted.service == "git-receive-pack" {
        let mut state = locked(&inner.state);
        let name = state.repos.iter().find(|repo| repo.bare.path() == bare).map(|repo| repo.name.clone());
        if let Some(name) = name {
            state.repo_mut(&name).bare.refresh();
            state.settle(&name, &login);
        }
    }
    raw
}

fn backend(asked: &Asked, wanted: &Wanted, login: &str, bare: &std::path::Path) -> Raw {
    let mut command = plain_git(bare);
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", bare)
        .env("PATH_INFO", &wanted.rest)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", &asked.method)
        .env("QUERY_STRING", &asked.query)
        .env("CONTENT_LENGTH", asked.body.len().to_string())
        .env("REMOTE_ADDR", "127.0.0.1");
    if !login.is_empty() {
        command.env("REMOTE_USER", login);
    }
    for (header, variable) in [
        ("content-type", "CONTENT_TYPE"),
        ("content-encoding", "HTTP_CONTENT_ENCODING"),
        ("git-protocol", "GIT_PROTOCOL"),
    ] {
        if let Some(value) = asked.header(header) {
            command.env(variable, value);
        }
    }
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.expect("git http-backend is part of git");
    let mut stdin = child.stdin.take().expect("BUG: stdin is piped");
    let body = asked.body.clone();
    // The backend may answer before it has read everything.
    let feeding = std::thread::spawn(move || {
        let _ = stdin.write_all(&body);
    });
    let output = child.wait_with_output().expect("git http-backend answers");
    let _ = feeding.join();
    from_cgi(&output.stdout)
}

fn from_cgi(output: &[u8]) -> Raw {
    let (at, gap) = match output.windows(4).position(|four| four == b"\r\n\r\n") {
        Some(at) => (at, 4),
        None => (output.len(), 0),
    };
    let mut raw = Raw { status: 200, headers: Vec::new(), body: output[at + gap..].to_vec() };
    for line in String::from_utf8_lossy(&output[..at]).lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let (name, value) = (name.trim().to_lowercase(), value.trim());
        if name == "status" {
            raw.status = value.split(' ').next().and_then(|code| code.parse().ok()).unwrap_or(500);
        } else {
            raw.headers.push((name, value.to_owned()));
        }
    }
    raw
}
