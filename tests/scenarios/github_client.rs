//! The GitHub client against a server that misbehaves in every way known.

mod double;
mod facts;
mod kept;
mod lists;
mod probe;
mod recorded;
mod server;
mod tls;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, Utc};
use secrecy::SecretString;
use server::{Asked, Reply, Server, json, status};
use steward_core::clock::Clock;
use steward_core::github::{
    Client, GitHubError, HostBudget, Limit, NetworkFault, Options, Proxy, Query, Reader, Retry,
};
use steward_core::home::Home;
use steward_core::store::Store;
use steward_rules::ids::RepoName;

use crate::store::{Hand, fresh};

const TOKEN: &str = "made-up-token-of-this-test";
const REPO: &str = r#"{"id": 1, "full_name": "octo/app", "default_branch": "main"}"#;

/// A store with a clock of its own, and clients on it.
struct Desk {
    _folder: tempfile::TempDir,
    home: Home,
    hand: Arc<Hand>,
    store: Store,
}

impl Desk {
    fn new() -> Self {
        let (_folder, home) = fresh();
        let hand = Hand::at("2026-11-30T10:00:00Z");
        let store = Store::open(&home, hand.clone()).unwrap();
        Self { _folder, home, hand, store }
    }

    fn now(&self) -> DateTime<Utc> {
        self.hand.now()
    }

    async fn client(&self, host: &str, options: &Options) -> Client {
        let budget = Arc::new(HostBudget::load(host, &self.store).await.unwrap());
        let token = SecretString::from(TOKEN);
        Client::open(host, Some("octo-maintainer"), token, budget, &self.store, options).await.unwrap()
    }

    async fn reader(&self, server: &Server) -> Reader {
        self.client(&server.host(), &quick()).await.reader()
    }

    /// As after a restart of the app.
    fn reopen(self) -> Self {
        let Self { _folder, home, hand, store } = self;
        drop(store);
        let store = Store::open(&home, hand.clone()).unwrap();
        Self { _folder, home, hand, store }
    }
}

/// Waits of a test take no time, but are counted in tries as ever.
fn quick() -> Options {
    let retry = Retry { first: Duration::from_millis(1), jitter: Arc::new(|| 1.0), ..Retry::default() };
    Options { retry, timeout: Duration::from_secs(20), ..Options::default() }
}

fn repo() -> RepoName {
    RepoName::parse("octo/app").unwrap()
}

#[tokio::test]
async fn a_read_that_fails_in_passing_is_asked_again() {
    let failures: [(&str, Reply); 8] = [
        ("500", status(500, "{}")),
        ("502", status(502, "<html>Unicorn!</html>").with("x-github-request-id", "1")),
        ("503", status(503, "{}").with("retry-after", "0")),
        ("504", status(504, "")),
        ("no byte", Reply::Gone),
        ("half an answer", json(REPO).torn(20)),
        ("half a JSON text", json(&REPO[..30])),
        ("a head that breaks off", Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-le".to_vec())),
    ];
    for (name, failure) in failures {
        let server =
            Server::start(move |_, before| if before < 2 { failure.clone() } else { json(REPO) }).await;
        let desk = Desk::new();
        let found = desk.reader(&server).await.repo(&repo()).await;
        assert_eq!(found.as_ref().map(|answer| answer.value.id), Ok(1), "{name}: {found:?}");
        assert_eq!(server.count(), 3, "{name}");
    }
}

#[tokio::test]
async fn every_failure_that_stays_has_its_own_slug_and_no_request_too_many() {
    let said = r#"{"message": "Resource not accessible", "documentation_url": "https://docs.github.com"}"#;
    let page = status(200, "<html><title>Welcome to the hotel</title></html>");
    let rows: [(&str, Reply, &str, &str, usize); 21] = [
        ("bad token", status(401, said), "auth", "not-authenticated", 1),
        (
            "no permission",
            status(403, said).with("x-ratelimit-remaining", "4000"),
            "forbidden",
            "forge-error-403",
            1,
        ),
        ("no such name", status(404, said), "not_found", "not-found", 1),
        ("removed", status(410, said), "gone", "forge-error-410", 1),
        ("blocked by law", status(451, said), "gone", "forge-error-410", 1),
        ("state changed", status(409, said), "conflict", "forge-error-409", 1),
        ("bad request", status(422, said), "validation", "forge-error-422", 1),
        ("500", status(500, said), "server", "forge-error-500", 3),
        ("502", status(502, ""), "server", "forge-error-502", 3),
        ("odd status", status(418, ""), "server", "forge-error-418", 1),
        ("503, in an hour", status(503, "").with("retry-after", "3600"), "server", "forge-error-503", 1),
        ("lost", Reply::Gone, "network", "forge-unreachable", 3),
        ("torn", json(REPO).torn(10), "truncated", "truncated", 3),
        ("text breaks off", json(&REPO[..10]), "truncated", "truncated", 3),
        ("no JSON", json("maintenance"), "malformed", "unparseable-json", 1),
        ("wrong type", json(r#"{"id": "one", "full_name": "octo/app"}"#), "malformed", "unparseable-json", 1),
        ("wrong shape", json("[]"), "malformed", "unparseable-json", 1),
        (
            "not HTTP",
            Reply::Raw(b"220 mail.example.org ESMTP\r\n\r\n".to_vec()),
            "network",
            "forge-unreachable",
            3,
        ),
        ("a page of the network", page.clone(), "captive_portal", "forge-unreachable", 1),
        ("a page with a status", status(511, "<html>"), "captive_portal", "forge-unreachable", 1),
        (
            "a page that forbids",
            status(403, "<html>blocked by policy"),
            "captive_portal",
            "forge-unreachable",
            1,
        ),
    ];
    for (name, reply, slug, printed, requests) in rows {
        let server = Server::start(move |_, _| reply.clone()).await;
        let desk = Desk::new();
        let error = desk.reader(&server).await.repo(&repo()).await.unwrap_err();
        assert_eq!((error.slug(), error.printed().as_str()), (slug, printed), "{name}: {error:?}");
        assert_eq!(server.count(), requests, "{name}");
        let shown = format!("{error} {} {error:?} {:?}", error.hint(), error.why());
        assert!(!shown.contains(TOKEN) && !error.hint().is_empty(), "{name}: {shown}");
        // GitHub's own words are data: no sentence of ours holds them.
        assert!(!format!("{error}{}{:?}", error.hint(), error.why()).contains("not accessible"), "{name}");
    }
}

#[tokio::test]
async fn nobody_who_listens_is_told_from_a_server_that_is_slow() {
    let desk = Desk::new();
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string();
    let error = desk.client(&free, &quick()).await.reader().repo(&repo()).await.unwrap_err();
    assert_eq!(error, GitHubError::Network(NetworkFault::Connect("127.0.0.1".to_owned())));

    for slow in [Reply::Silent, Reply::Stalled { headers: vec![("etag".to_owned(), "\"1\"".to_owned())] }] {
        let server = Server::start(move |_, _| slow.clone()).await;
        let options = Options { timeout: Duration::from_millis(200), ..quick() };
        let error = desk.client(&server.host(), &options).await.reader().repo(&repo()).await.unwrap_err();
        assert_eq!(error, GitHubError::Timeout(Duration::from_millis(200)));
    }
}

#[tokio::test]
async fn an_unchanged_answer_costs_no_body_and_outlives_a_restart() {
    let server = Server::start(|asked, _| match asked.header("if-none-match") {
        Some("W/\"one\"") => status(304, ""),
        _ => json(REPO).with("etag", "W/\"one\""),
    })
    .await;
    let desk = Desk::new();
    let first = desk.reader(&server).await.repo(&repo()).await.unwrap();
    let desk = desk.reopen();
    let reader = desk.reader(&server).await;
    assert_eq!(reader.repo(&repo()).await.unwrap(), first);
    let asked = server.asked();
    assert_eq!(asked[0].header("if-none-match"), None);
    assert_eq!(asked[1].header("if-none-match"), Some("W/\"one\""));

    // Another account sees other things: nothing of the first is offered to it.
    let budget = Arc::new(HostBudget::load(&server.host(), &desk.store).await.unwrap());
    let token = SecretString::from("another");
    let other =
        Client::open(&server.host(), Some("somebody"), token, budget, &desk.store, &quick()).await.unwrap();
    other.reader().repo(&repo()).await.unwrap();
    assert_eq!(server.asked()[2].header("if-none-match"), None);
}

#[tokio::test]
async fn what_did_not_come_whole_is_never_kept() {
    let etag = |reply: Reply| reply.with("etag", "\"bad\"");
    let rows = [
        ("torn", etag(json(REPO)).torn(20)),
        ("breaks off", etag(json(&REPO[..40]))),
        ("stalled", etag(Reply::Stalled { headers: vec![] })),
        ("a page", etag(status(200, "<html>"))),
        ("missing", etag(status(404, r#"{"message": "Not Found"}"#))),
        ("too long", etag(json(&format!("[{}1]", "1,".repeat(3000))))),
    ];
    for (name, bad) in rows {
        let good = Arc::new(Mutex::new(false));
        let turn = Arc::clone(&good);
        let server =
            Server::start(move |_, _| if *turn.lock().unwrap() { json(REPO) } else { bad.clone() }).await;
        let desk = Desk::new();
        let options = Options { timeout: Duration::from_millis(300), max_body: 4096, ..quick() };
        let reader = desk.client(&server.host(), &options).await.reader();
        assert!(reader.repo(&repo()).await.is_err(), "{name}");
        *good.lock().unwrap() = true;
        let reader = desk.reader(&server).await;
        assert_eq!(reader.repo(&repo()).await.map(|answer| answer.value.id), Ok(1), "{name}");
        let last = server.asked().pop().unwrap();
        assert_eq!(last.header("if-none-match"), None, "{name}");
    }
}

#[tokio::test]
async fn what_is_gone_is_forgotten_and_never_comes_back_as_an_answer() {
    let server = Server::start(|asked, before| match before {
        0 => json(REPO).with("etag", "\"one\""),
        1 => status(404, r#"{"message": "Not Found"}"#).with("etag", "\"none\""),
        _ if asked.header("if-none-match").is_some() => status(304, ""),
        _ => status(404, r#"{"message": "Not Found"}"#),
    })
    .await;
    let desk = Desk::new();
    let reader = desk.reader(&server).await;
    assert!(reader.repo(&repo()).await.is_ok());
    for _ in 0..2 {
        assert_eq!(reader.repo(&repo()).await.unwrap_err(), GitHubError::NotFound);
    }
    // A 304 that nobody asked for is no answer either.
    let server = Server::start(|_, _| status(304, "")).await;
    assert_eq!(desk.reader(&server).await.repo(&repo()).await.unwrap_err().slug(), "malformed");
}

#[tokio::test]
async fn an_answer_over_the_cap_is_refused_however_small_it_came() {
    let long = format!(r#"{{"id": 1, "full_name": "octo/app", "x": "{}"}}"#, "a".repeat(2_000_000));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packed, long.as_bytes()).unwrap();
    let bomb = packed.finish().unwrap();
    assert!(bomb.len() < 10_000);
    let gzip = |body: Vec<u8>| Reply::Whole {
        status: 200,
        headers: vec![("content-encoding".into(), "gzip".into())],
        body,
    };
    let options = Options { max_body: 1_000_000, ..quick() };
    let desk = Desk::new();
    for reply in [json(&long), gzip(bomb.clone())] {
        let server = Server::start(move |_, _| reply.clone()).await;
        let error = desk.client(&server.host(), &options).await.reader().repo(&repo()).await.unwrap_err();
        assert_eq!(error, GitHubError::TooLarge(1_000_000));
        assert_eq!(server.count(), 1);
    }
    // Under the cap the same packed answer is read; half of it is not.
    let half = bomb[..bomb.len() / 2].to_vec();
    let server =
        Server::start(move |_, before| gzip(if before == 0 { bomb.clone() } else { half.clone() })).await;
    let reader = desk.reader(&server).await;
    assert!(reader.repo(&repo()).await.is_ok());
    assert_eq!(reader.repo(&repo()).await.unwrap_err().slug(), "truncated");
    let server = Server::start(|_, _| json(REPO).with("content-encoding", "br")).await;
    assert_eq!(desk.reader(&server).await.repo(&repo()).await.unwrap_err().slug(), "malformed");
}

#[tokio::test]
async fn a_moved_repository_is_followed_and_named() {
    let server = Server::start(|asked, _| match asked.path() {
        "/repos/octo/app" => status(301, "{}").with("location", "/repositories/7"),
        "/repositories/7" => json(r#"{"id": 7, "full_name": "octo/renamed"}"#),
        _ => status(404, "{}"),
    })
    .await;
    let desk = Desk::new();
    let found = desk.reader(&server).await.repo(&repo()).await.unwrap();
    assert_eq!(found.value.full_name, "octo/renamed");
    assert_eq!(found.moved_to, Some(format!("http://{}/repositories/7", server.host())));
}

#[tokio::test]
async fn a_token_never_follows_to_another_host() {
    let other = Server::start(|_, _| json(REPO)).await;
    let elsewhere = format!("http://{}/repos/octo/app", other.host());
    for status_code in [301, 302, 307, 308] {
        let to = elsewhere.clone();
        let server = Server::start(move |_, _| status(status_code, "").with("location", &to)).await;
        let error = Desk::new().reader(&server).await.repo(&repo()).await.unwrap_err();
        assert_eq!(error, GitHubError::CaptivePortal);
    }
    assert_eq!(other.count(), 0);
    let server = Server::start(|_, _| status(301, "").with("location", "/repos/octo/app")).await;
    assert_eq!(Desk::new().reader(&server).await.repo(&repo()).await.unwrap_err().slug(), "moved");
    assert_eq!(server.count(), 4);
}

#[tokio::test]
async fn a_secondary_limit_stops_every_request_to_its_host_until_it_ends() {
    let words = r#"{"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}"#;
    let rows = [
        ("403 with seconds", status(403, words).with("retry-after", "90"), 90),
        (
            "429 with a date",
            status(429, "{}")
                .with("date", "Mon, 30 Nov 2026 23:00:00 GMT")
                .with("retry-after", "Mon, 30 Nov 2026 23:02:00 GMT"),
            120,
        ),
        ("403 without a time", status(403, words), 60),
        ("429 without a time", status(429, "{}"), 60),
        (
            "200 with its words",
            json(
                r#"{"message": "You have exceeded a secondary rate limit", "documentation_url": "https://docs.github.com"}"#,
            ),
            60,
        ),
    ];
    for (name, limit, seconds) in rows {
        let server =
            Server::start(move |_, before| if before == 0 { limit.clone() } else { json(REPO) }).await;
        let desk = Desk::new();
        let until = desk.now() + chrono::Duration::seconds(seconds);
        let client = desk.client(&server.host(), &quick()).await;
        let limited = GitHubError::SecondaryLimited { until };
        assert_eq!(client.reader().repo(&repo()).await.unwrap_err(), limited, "{name}");
        assert_eq!(client.reader().open_pulls(&repo()).await.unwrap_err(), limited, "{name}");
        let shown = client.budget().into_iter().find(|budget| budget.paused_until.is_some()).unwrap();
        assert_eq!((shown.why, shown.paused_until), (Some(Limit::Secondary), Some(until)), "{name}");
        assert_eq!(server.count(), 1, "{name}");

        // Another host goes on, and a restart does not end the break.
        let other = Server::start(|_, _| json(REPO)).await;
        assert!(desk.reader(&other).await.repo(&repo()).await.is_ok(), "{name}");
        let desk = desk.reopen();
        let reader = desk.reader(&server).await;
        desk.hand.pass(chrono::Duration::seconds(seconds - 1));
        assert_eq!(reader.repo(&repo()).await.unwrap_err(), limited, "{name}");
        // A clock set back a day makes the break no day longer.
        desk.hand.pass(chrono::Duration::days(-1));
        assert!(reader.repo(&repo()).await.is_err(), "{name}");
        desk.hand.pass(chrono::Duration::seconds(seconds + 1));
        assert!(reader.repo(&repo()).await.is_ok(), "{name}");
        assert_eq!(server.count(), 2, "{name}");
    }
}

#[tokio::test]
async fn breaks_without_a_time_double_until_an_answer_comes() {
    let server = Server::start(|_, before| if before == 3 { json(REPO) } else { status(429, "{}") }).await;
    let desk = Desk::new();
    let reader = desk.reader(&server).await;
    let mut breaks = Vec::new();
    for _ in 0..5 {
        match reader.repo(&repo()).await {
            Err(GitHubError::SecondaryLimited { until }) => {
                let length = until - desk.now();
                breaks.push(length.num_seconds());
                desk.hand.pass(length);
            }
            other => assert!(other.is_ok(), "{other:?}"),
        }
    }
    assert_eq!(breaks, [60, 120, 240, 60]);
}

#[tokio::test]
async fn a_used_up_quota_stops_its_own_resource_until_the_reset() {
    let reset = |reply: Reply| {
        let reply = reply.with("x-ratelimit-limit", "5000").with("x-ratelimit-remaining", "0");
        // By GitHub's clock it is five minutes from now; ours is an hour behind.
        reply.with("date", "Mon, 30 Nov 2026 11:00:00 GMT").with("x-ratelimit-reset", "1796036700")
    };
    let server = Server::start(move |asked, _| match asked.path() {
        "/graphql" => {
            reset(json(r#"{"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}"#))
        }
        "/repos/octo/app" => {
            json(REPO).with("x-ratelimit-limit", "5000").with("x-ratelimit-remaining", "4998")
        }
        _ => reset(status(403, r#"{"message": "API rate limit exceeded for user ID 1."}"#)),
    })
    .await;
    let desk = Desk::new();
    let client = desk.client(&server.host(), &quick()).await;
    let limited = GitHubError::RateLimited { until: desk.now() + chrono::Duration::minutes(5) };
    for _ in 0..2 {
        let answer = client.reader().query::<Viewer, _>(VIEWER, &()).await;
        assert_eq!(answer.unwrap_err(), limited);
    }
    assert!(client.reader().repo(&repo()).await.is_ok());
    assert_eq!(server.count(), 2);
    assert_eq!(client.reader().open_pulls(&repo()).await.unwrap_err(), limited);
    assert_eq!(client.reader().repo(&repo()).await.unwrap_err(), limited);
    let shown: Vec<_> =
        client.budget().into_iter().map(|row| (row.resource, row.remaining, row.why)).collect();
    let primary = Some(Limit::Primary);
    assert_eq!(shown, [("core".to_owned(), Some(0), primary), ("graphql".to_owned(), Some(0), primary)]);
    desk.hand.pass(chrono::Duration::minutes(5));
    assert!(client.reader().repo(&repo()).await.is_ok());
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Viewer {
    viewer: Login,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Login {
    login: String,
}

const VIEWER: Query = Query::new("query Viewer { viewer { login } }");

#[tokio::test]
async fn a_query_that_failed_in_any_part_is_no_answer() {
    let data = r#""data": {"viewer": {"login": "octo"}}"#;
    let rows = [
        (format!("{{{data}}}"), None),
        (format!(r#"{{{data}, "errors": []}}"#), None),
        (format!(r#"{{{data}, "errors": [{{"message": "Something went wrong"}}]}}"#), Some("truncated")),
        (
            format!(r#"{{{data}, "errors": [{{"type": "RESOURCE_LIMITS_EXCEEDED", "message": "x"}}]}}"#),
            Some("truncated"),
        ),
        (
            r#"{"data": {"viewer": null}, "errors": [{"type": "NOT_FOUND", "message": "x"}]}"#.to_owned(),
            Some("not_found"),
        ),
        (
            r#"{"data": null, "errors": [{"type": "FORBIDDEN", "message": "x"}]}"#.to_owned(),
            Some("forbidden"),
        ),
        (
            r#"{"errors": [{"message": "You have exceeded a secondary rate limit."}]}"#.to_owned(),
            Some("secondary_limited"),
        ),
        (r#"{"data": null}"#.to_owned(), Some("truncated")),
        ("{}".to_owned(), Some("truncated")),
        (r#"{"data": {"viewer": {}}}"#.to_owned(), Some("malformed")),
    ];
    for (body, slug) in rows {
        let reply = json(&body);
        let server = Server::start(move |_, _| reply.clone()).await;
        let answer = Desk::new().reader(&server).await.query::<Viewer, _>(VIEWER, &()).await;
        assert_eq!(answer.as_ref().err().map(GitHubError::slug), slug, "{body}: {answer:?}");
        let asked = server.asked();
        assert_eq!((asked[0].method.as_str(), asked[0].path()), ("POST", "/graphql"));
        assert!(
            asked[0].body.contains(r#""query":"query Viewer"#) && asked[0].header("if-none-match").is_none()
        );
    }
}

#[tokio::test]
async fn every_request_says_who_asks_and_in_which_version() {
    let server = Server::start(|_, _| json(REPO)).await;
    Desk::new().reader(&server).await.repo(&repo()).await.unwrap();
    let asked: Asked = server.asked().remove(0);
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
    assert_eq!(asked.header("accept"), Some("application/vnd.github+json"));
    assert_eq!(asked.header("x-github-api-version"), Some("2022-11-28"));
    assert!(asked.header("user-agent").unwrap().starts_with("steward/"));
    assert!(!asked.target.contains(TOKEN));
}

#[tokio::test]
async fn a_proxy_is_used_where_it_is_set_and_its_faults_are_told_apart() {
    let desk = Desk::new();
    let raw = |text: &str| Reply::Raw(text.as_bytes().to_vec());
    let rows = [
        (raw("HTTP/1.1 502 Bad Gateway\r\n\r\n"), "refused"),
        (raw("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), "password"),
        (Reply::Twice("HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nno TLS at all"), "tls"),
    ];
    for (answer, fault) in rows {
        let proxy = Server::start(move |_, _| answer.clone()).await;
        let host = proxy.host();
        let mut options = quick();
        options.route.proxy = Proxy::Only(format!("http://name:secret-word@{host}"));
        let error = desk.client("github.test", &options).await.reader().repo(&repo()).await.unwrap_err();
        let shown = match fault {
            "refused" => error == GitHubError::Network(NetworkFault::Proxy(host)),
            "password" => error == GitHubError::Network(NetworkFault::ProxyPassword(host)),
            _ => error.slug() == "tls",
        };
        assert!(shown, "{fault}: {error:?}");
        assert!(!format!("{error:?}").contains("secret-word"));
        let asked = proxy.asked();
        assert_eq!(
            (asked.len(), asked[0].method.as_str(), asked[0].target.as_str()),
            (1, "CONNECT", "github.test:443")
        );
        assert!(asked[0].header("proxy-authorization").unwrap().starts_with("Basic "));
        assert_eq!(asked[0].header("authorization"), None, "the token is for GitHub alone");
    }
    let mut options = quick();
    options.route.proxy = Proxy::Only("socks5://127.0.0.1:1".to_owned());
    let error = desk.client("github.test", &options).await.reader().repo(&repo()).await.unwrap_err();
    assert!(matches!(error, GitHubError::Network(NetworkFault::ProxyKind(_))), "{error:?}");
    // What is on this machine needs no proxy.
    let server = Server::start(|_, _| json(REPO)).await;
    assert!(desk.client(&server.host(), &options).await.reader().repo(&repo()).await.is_ok());
}

#[tokio::test]
async fn a_ca_file_without_a_certificate_is_refused_before_anything_is_asked() {
    let desk = Desk::new();
    let folder = tempfile::tempdir().unwrap();
    let file: PathBuf = folder.path().join("ca.pem");
    for text in [
        None,
        Some(""),
        Some("no certificate"),
        Some("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    ] {
        if let Some(text) = text {
            std::fs::write(&file, text).unwrap();
        }
        let mut options = quick();
        options.route.ca_file = Some(file.clone());
        let budget = Arc::new(HostBudget::load("github.test", &desk.store).await.unwrap());
        let opened =
            Client::open("github.test", None, SecretString::from(TOKEN), budget, &desk.store, &options).await;
        let error = opened.map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("holds no certificate"), "{text:?}: {error}");
    }
}
