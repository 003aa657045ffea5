//! One request and its answer: budget, cache, limits of time and size, redirects, status.

pub(super) mod log;
pub(super) mod write;

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LINK, LOCATION, USER_AGENT,
};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::BodyExt;
use octocrab::Octocrab;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use steward_rules::untrusted::Untrusted;
use tokio::sync::Semaphore;

use super::address::Address;
use super::budget::{self, Heard, HostBudget, Pace};
use super::connect::{self, Answered};
use super::error::{GitHubError, NetworkFault};
use super::retry::Retry;
use super::tally;
use crate::store::http_cache::{self, Cached};
use crate::store::{Durability, Store};

const ACCEPTED: &str = "application/vnd.github+json";
const API_VERSION: &str = "2022-11-28";
const AGENT: &str = concat!("steward/", env!("CARGO_PKG_VERSION"));
/// Of a refusal only a sentence is wanted.
const MAX_REFUSAL: usize = 64 * 1024;
const MAX_REDIRECTS: usize = 3;
/// Requests under way at once; GitHub asks for few.
const AT_ONCE: usize = 4;
/// After so many bytes of kept answers room is made among them.
const SHRINK_AFTER: usize = 4 << 20;

/// The line to one host for one account. What is here only reads, and reads again; a write is in [`write`].
pub(super) struct Wire {
    pub(super) address: Address,
    /// `login@host`; empty while nobody knows the login yet, and then nothing is cached.
    account: String,
    login: String,
    octocrab: Octocrab,
    authorization: HeaderValue,
    pub(super) store: Store,
    pub(super) budget: Arc<HostBudget>,
    retry: Retry,
    timeout: Duration,
    max_body: usize,
    at_once: Semaphore,
    /// The one turn that writes have among themselves. None waits for it, and none for a read: what it was
    /// decided by grows old meanwhile.
    writing: Semaphore,
    pace: Pace,
    /// Bytes of answers kept since room was last made for them.
    grown: AtomicUsize,
    /// The most nodes that one query asks for; it shrinks when GitHub finds a page too heavy.
    pub(super) page: AtomicUsize,
}

/// What a [`Wire`] is made of.
pub(super) struct Parts {
    pub(super) address: Address,
    pub(super) login: Option<String>,
    pub(super) octocrab: Octocrab,
    pub(super) token: SecretString,
    pub(super) store: Store,
    pub(super) budget: Arc<HostBudget>,
    pub(super) retry: Retry,
    pub(super) timeout: Duration,
    pub(super) max_body: usize,
    pub(super) pace: Pace,
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(super) struct Got {
    pub(super) body: Vec<u8>,
    pub(super) link: Option<String>,
    pub(super) headers: HeaderMap,
    /// Where a permanent redirect led.
    pub(super) moved_to: Option<String>,
}

/// What is asked.
#[derive(Clone, Copy)]
enum Ask<'a> {
    /// A GET, with or without a look into the cache first.
    Page(&'a str, Memory),
    /// A GraphQL query as JSON.
    Query(&'a str),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Memory {
    Used,
    PassedBy,
}

impl Wire {
    pub(super) fn new(parts: Parts) -> Result<Self, GitHubError> {
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", parts.token.expose_secret()))
            .map_err(|_| GitHubError::Auth)?;
        authorization.set_sensitive(true);
        let login = parts.login.unwrap_or_default();
        let account =
            if login.is_empty() { String::new() } else { format!("{login}@{}", parts.address.host()) };
        Ok(Self {
            address: parts.address,
            account,
            login,
            octocrab: parts.octocrab,
            authorization,
            store: parts.store,
            budget: parts.budget,
            retry: parts.retry,
            timeout: parts.timeout,
            max_body: parts.max_body,
            at_once: Semaphore::new(AT_ONCE),
            writing: Semaphore::new(1),
            pace: parts.pace,
            grown: AtomicUsize::new(0),
            page: AtomicUsize::new(usize::MAX),
        })
    }

    /// Reads one address of the API, again when it fails in passing.
    pub(super) async fn get(&self, url: &str) -> Result<Got, GitHubError> {
        let memory = if self.account.is_empty() { Memory::PassedBy } else { Memory::Used };
        self.patiently(Ask::Page(url, memory)).await
    }

    /// Asks one GraphQL query. It reads, so it too is asked again.
    pub(super) async fn query(&self, body: &str) -> Result<Got, GitHubError> {
        self.patiently(Ask::Query(body)).await
    }

    /// Whose budget is used.
    pub(super) fn login(&self) -> &str {
        &self.login
    }

    async fn patiently(&self, ask: Ask<'_>) -> Result<Got, GitHubError> {
        let _turn = self.at_once.acquire().await;
        let mut tries = 1;
        loop {
            let error = match self.follow(ask).await {
                Ok(got) => return Ok(got),
                Err(error) if error.passes() => error,
                Err(error) => return Err(error),
            };
            let asked = match &error {
                GitHubError::Server { retry_after, .. } => *retry_after,
                _ => None,
            };
            let Some(wait) = self.retry.wait(tries, asked) else { return Err(error) };
            tracing::debug!(host = self.address.host(), slug = error.slug(), ?wait, "a read is tried again");
            tokio::time::sleep(wait).await;
            tries += 1;
        }
    }

    /// Follows a read that was sent elsewhere on the same host; a query never is.
    async fn follow(&self, ask: Ask<'_>) -> Result<Got, GitHubError> {
        let mut place: Option<String> = None;
        let mut moved_to: Option<String> = None;
        for _ in 0..=MAX_REDIRECTS {
            let now = match (ask, place.as_deref()) {
                (Ask::Page(_, memory), Some(url)) => Ask::Page(url, memory),
                (ask, _) => ask,
            };
            match self.timed(now).await? {
                Step::Done(got) => return Ok(Got { moved_to, ..got }),
                Step::Elsewhere { status, to } => {
                    if matches!(ask, Ask::Query(_)) {
                        return Err(GitHubError::CaptivePortal);
                    }
                    let Some(to) = to.map(|to| self.absolute(&to)) else {
                        return Err(GitHubError::Malformed("a redirect without an address".to_owned()));
                    };
                    if !self.address.holds(&to) {
                        return Err(GitHubError::CaptivePortal);
                    }
                    if matches!(status, 301 | 308) {
                        moved_to = Some(to.clone());
                    }
                    place = Some(to);
                }
            }
        }
        Err(GitHubError::Moved { to: moved_to })
    }

    fn absolute(&self, to: &str) -> String {
        match (to.starts_with('/') && !to.starts_with("//"), self.address.rest().parse::<Uri>()) {
            (true, Ok(base)) => {
                let authority = base.authority().map_or("", |authority| authority.as_str());
                format!("{}://{authority}{to}", base.scheme_str().unwrap_or("https"))
            }
            _ => to.to_owned(),
        }
    }

    async fn timed(&self, ask: Ask<'_>) -> Result<Step, GitHubError> {
        match tokio::time::timeout(self.timeout, self.once(ask)).await {
            Ok(step) => step,
            Err(_) => Err(GitHubError::Timeout(self.timeout)),
        }
    }

    async fn once(&self, ask: Ask<'_>) -> Result<Step, GitHubError> {
        let resource = match ask {
            Ask::Query(_) => "graphql",
            Ask::Page(url, _) if url[self.address.rest().len().min(url.len())..].starts_with("/search/") => {
                "search"
            }
            Ask::Page(..) => "core",
        };
        self.budget.admit(&self.login, resource)?;
        let held = match ask {
            Ask::Page(url, Memory::Used) => self.recall(url).await,
            Ask::Page(_, Memory::PassedBy) | Ask::Query(_) => None,
        };
        let request = self.request(ask, held.as_ref())?;
        tally::request();
        let response =
            self.octocrab.execute(request).await.map_err(|error| connect::judge(&error, Answered::No))?;
        let (parts, body) = response.into_parts();
        let status = parts.status.as_u16();
        let headers = parts.headers;
        let heard = Heard { account: &self.login, resource, headers: &headers };
        if matches!(ask, Ask::Page(..)) && status != 304 {
            tally::points(1);
        }
        match status {
            304 => {
                self.budget.note(&heard).await;
                self.budget.went_well();
                let Some(cached) = held else {
                    return Err(GitHubError::Malformed(
                        "`not modified` without having been asked".to_owned(),
                    ));
                };
                if let Ask::Page(url, _) = ask {
                    self.remember(url, None).await;
                }
                let link = headers.get(LINK).and_then(|link| link.to_str().ok()).map(str::to_owned);
                Ok(Step::Done(Got { body: cached.body, link: link.or(cached.link), headers, moved_to: None }))
            }
            200..=299 => {
                let body = plain(read(body, self.max_body).await?, &headers, self.max_body)?;
                if is_page(&headers, &body) {
                    return Err(GitHubError::CaptivePortal);
                }
                // Parsed before it is kept: what is not whole never gets into the cache.
                check(&body)?;
                if let Some(limit) = budget::limit_of(status, &headers, &refusal_in_disguise(&body)) {
                    return Err(self.budget.stop(limit, &heard).await);
                }
                self.budget.note(&heard).await;
                if matches!(ask, Ask::Page(..)) {
                    self.budget.went_well();
                }
                let text = |name| {
                    headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok()).map(str::to_owned)
                };
                let link = text(LINK);
                if let (Ask::Page(url, Memory::Used), Some(etag)) = (ask, text(ETAG)) {
                    self.remember(url, Some(Cached { etag, link: link.clone(), body: body.clone() })).await;
                }
                Ok(Step::Done(Got { body, link, headers, moved_to: None }))
            }
            301 | 302 | 307 | 308 => {
                self.budget.note(&heard).await;
                let to = headers.get(LOCATION).and_then(|to| to.to_str().ok()).map(str::to_owned);
                Ok(Step::Elsewhere { status, to })
            }
            _ => {
                let body = match read(body, MAX_REFUSAL).await {
                    Ok(body) => plain(body, &headers, MAX_REFUSAL).unwrap_or_default(),
                    Err(_) => Vec::new(),
                };
                let message = said(&body);
                if let Some(limit) = budget::limit_of(status, &headers, &message) {
                    return Err(self.budget.stop(limit, &heard).await);
                }
                // A token that is not accepted is answered with the figures of nobody.
                if status != 401 {
                    self.budget.note(&heard).await;
                }
                if let (404 | 410 | 451, Ask::Page(url, Memory::Used), Some(_)) = (status, ask, &held) {
                    self.forget(url).await;
                }
                Err(self.refused(status, &headers, &body, message))
            }
        }
    }

    fn refused(&self, status: u16, headers: &HeaderMap, body: &[u8], message: String) -> GitHubError {
        let said = (!message.is_empty()).then(|| Untrusted::new(message));
        let foreign = is_page(headers, body) && !headers.contains_key("x-github-request-id");
        match status {
            401 | 403 | 404 | 511 if foreign => GitHubError::CaptivePortal,
            511 => GitHubError::CaptivePortal,
            401 => GitHubError::Auth,
            403 => GitHubError::Forbidden { said },
            404 => GitHubError::NotFound,
            407 => GitHubError::Network(NetworkFault::ProxyPassword(self.address.host().to_owned())),
            // 405: it does not merge as it stands now.
            405 | 409 => GitHubError::Conflict { said },
            410 | 451 => GitHubError::Gone,
            400 | 422 => GitHubError::Validation { said: said.map(|said| with_errors(&said, body)) },
            status => {
                let now = self.store.clock().now();
                let asked = budget::retry_after(headers, now).and_then(|wait| wait.to_std().ok());
                GitHubError::Server { status, retry_after: asked }
            }
        }
    }

    fn request(&self, ask: Ask<'_>, held: Option<&Cached>) -> Result<Request<String>, GitHubError> {
        let (method, url, body) = match ask {
            Ask::Page(url, _) => (Method::GET, url, ""),
            Ask::Query(body) => (Method::POST, self.address.graphql(), body),
        };
        let mut request = Request::builder()
            .method(method)
            .uri(url)
            .header(ACCEPT, ACCEPTED)
            .header(ACCEPT_ENCODING, "gzip")
            .header(USER_AGENT, AGENT)
            .header("x-github-api-version", API_VERSION)
            .header(AUTHORIZATION, self.authorization.clone());
        if matches!(ask, Ask::Query(_)) {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(cached) = held {
            request = request.header(IF_NONE_MATCH, &cached.etag);
        }
        // A name we cannot write as an address is a name GitHub does not have.
        request.body(body.to_owned()).map_err(|_| GitHubError::NotFound)
    }

    async fn recall(&self, url: &str) -> Option<Cached> {
        let (account, key) = (self.account.clone(), url.to_owned());
        let found = self.store.read(move |tx| http_cache::find(tx, &account, &key)).await;
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "the kept answer was not read; it is asked for in full");
            None
        })
    }

    /// Keeps an answer, or notes that the kept one was confirmed. A full disk takes the cache, not the answer.
    async fn remember(&self, url: &str, cached: Option<Cached>) {
        let (account, key) = (self.account.clone(), url.to_owned());
        let more = cached.as_ref().map_or(0, |cached| cached.body.len());
        let grown = self.grown.fetch_add(more, Ordering::Relaxed) + more;
        // Counting what is held reads all of it, so it is done after a while's growth.
        let shrinks = grown >= SHRINK_AFTER;
        if shrinks {
            self.grown.store(0, Ordering::Relaxed);
        }
        let kept = self.store.write(Durability::Normal, move |tx| match cached {
            Some(cached) => {
                http_cache::keep(tx, &account, &key, &cached)?;
                if shrinks { http_cache::shrink(tx, http_cache::MAX_TOTAL).map(drop) } else { Ok(()) }
            }
            None => http_cache::confirm(tx, &account, &key),
        });
        if let Err(error) = kept.await {
            tracing::warn!(%error, "an answer was not kept");
        }
    }

    async fn forget(&self, url: &str) {
        let (account, key) = (self.account.clone(), url.to_owned());
        let gone = self.store.write(Durability::Normal, move |tx| http_cache::forget(tx, &account, &key));
        if let Err(error) = gone.await {
            tracing::warn!(%error, "a kept answer was not forgotten");
        }
    }
}

enum Step {
    Done(Got),
    Elsewhere { status: u16, to: Option<String> },
}

/// Reads a body to its end, and not one byte past the cap.
async fn read<B>(mut body: B, cap: usize) -> Result<Vec<u8>, GitHubError>
where
    B: http_body::Body + Unpin,
    B::Data: AsRef<[u8]>,
    B::Error: std::error::Error + 'static,
{
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| connect::judge(&error, Answered::InPart))?;
        let Ok(piece) = frame.into_data() else { continue };
        let piece = piece.as_ref();
        if whole.len() + piece.len() > cap {
            return Err(GitHubError::TooLarge(cap));
        }
        whole.extend_from_slice(piece);
    }
    Ok(whole)
}

/// Unpacks a body, and stops where the cap is, however small the packed one was.
fn plain(body: Vec<u8>, headers: &HeaderMap, cap: usize) -> Result<Vec<u8>, GitHubError> {
    match budget::text(headers, "content-encoding") {
        None | Some("identity" | "") => Ok(body),
        Some("gzip") => {
            let mut whole = Vec::new();
            let mut packed = flate2::read::GzDecoder::new(body.as_slice()).take(cap as u64 + 1);
            packed
                .read_to_end(&mut whole)
                .map_err(|_| GitHubError::Truncated("its compressed form breaks off".to_owned()))?;
            if whole.len() > cap { Err(GitHubError::TooLarge(cap)) } else { Ok(whole) }
        }
        Some(_) => Err(GitHubError::Malformed("it is packed in a way nobody asked for".to_owned())),
    }
}

fn is_page(headers: &HeaderMap, body: &[u8]) -> bool {
    let html =
        budget::text(headers, "content-type").is_some_and(|kind| kind.trim_start().starts_with("text/html"));
    html || body.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'<')
}

/// The sentence of a refusal.
fn said(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Said {
        message: String,
    }
    match serde_json::from_slice::<Said>(body) {
        Ok(said) => said.message.chars().take(500).collect(),
        Err(_) => String::new(),
    }
}

/// The sentence of a 422 with the sentences of its list of errors, where what is wrong really stands.
fn with_errors(said: &Untrusted, body: &[u8]) -> Untrusted {
    #[derive(Deserialize)]
    struct Errors {
        #[serde(default)]
        errors: Vec<serde_json::Value>,
    }
    let listed = serde_json::from_slice::<Errors>(body).map(|all| all.errors).unwrap_or_default();
    let sentences = listed.iter().filter_map(|one| one["message"].as_str().or(one.as_str()));
    let mut whole = said.as_data().to_owned();
    for sentence in sentences.take(5) {
        whole.push_str(": ");
        whole.extend(sentence.chars().take(200));
    }
    Untrusted::new(whole)
}

/// The sentence of a refusal that came with status 200. A commit's message stands beside other fields.
fn refusal_in_disguise(body: &[u8]) -> String {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Refusal {
        message: String,
        #[serde(rename = "documentation_url")]
        _documentation_url: String,
        #[serde(default, rename = "status")]
        _status: IgnoredAny,
    }
    serde_json::from_slice::<Refusal>(body).map(|refusal| refusal.message).unwrap_or_default()
}

fn check(body: &[u8]) -> Result<(), GitHubError> {
    serde_json::from_slice::<IgnoredAny>(body).map(|_| ()).map_err(|error| unreadable(&error, ""))
}

/// Reads a body as one of our types. The message names the place, never what stood there.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, GitHubError> {
    let mut json = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        unreadable(error.inner(), &path)
    })
}

fn unreadable(error: &serde_json::Error, path: &str) -> GitHubError {
    use serde_json::error::Category;
    let place = || {
        let name: String =
            path.chars().filter(|c| c.is_ascii_alphanumeric() || "._[]?".contains(*c)).take(80).collect();
        if name.is_empty() { format!("line {} column {}", error.line(), error.column()) } else { name }
    };
    match error.classify() {
        Category::Eof => GitHubError::Truncated("its text breaks off".to_owned()),
        Category::Data => GitHubError::Malformed(format!("not what is expected at {}", place())),
        Category::Syntax | Category::Io => GitHubError::Malformed(format!("no JSON at {}", place())),
    }
}
