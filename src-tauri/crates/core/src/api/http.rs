//! The HTTP door of `steward serve --listen`: health, status and "run now", on loopback only
//! (product.md, *Local HTTP*).
//!
//! Agents of the person share this loopback, and so does every page in a browser. Who only reads needs no
//! token; who asks for a run shows the one of the data folder. A foreign `Host` or `Origin` gets nothing.

use std::convert::Infallible;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::error::{ApiError, ErrorCode};
use super::requests::Nothing;
use super::views::RuntimeState;
use super::{Api, engine, system};
use crate::home::Home;

/// Connections that are served at once; the next one waits.
const AT_ONCE: usize = 16;
/// How long a caller may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(5);

/// An open door. Dropping it shuts it.
pub struct Door {
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Door {
    /// Listens on a loopback address; port 0 takes a free one. Refused for any other address.
    pub async fn open(api: Arc<Api>, listen: SocketAddr) -> Result<Self, ApiError> {
        if !listen.ip().is_loopback() {
            return Err(ApiError::new(
                ErrorCode::BadRequest,
                format!("{listen} is not on this machine alone"),
            )
            .hint("give a loopback address, such as 127.0.0.1:7437"));
        }
        token(&api.home().http_token())?;
        let cannot = |error: std::io::Error| {
            ApiError::new(ErrorCode::Refused, format!("cannot listen on {listen}: {error}"))
        };
        let listener = TcpListener::bind(listen).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let stop = CancellationToken::new();
        let task = tokio::spawn(serve(api, listener, address, stop.clone()));
        Ok(Self { address, stop, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no further caller, and waits for those that are being answered.
    pub async fn shut(mut self) {
        self.stop.cancel();
        let _ = tokio::time::timeout(PATIENCE, &mut self.task).await;
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

async fn serve(api: Arc<Api>, listener: TcpListener, address: SocketAddr, stop: CancellationToken) {
    let (room, mut open) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
            Some(_) = open.join_next() => continue,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "a caller could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let place = tokio::select! {
            () = stop.cancelled() => break,
            place = Arc::clone(&room).acquire_owned() => place,
        };
        let Ok(place) = place else { break };
        let (api, stop) = (Arc::clone(&api), stop.clone());
        open.spawn(async move {
            let _place = place;
            let answer = service_fn(|request| {
                let api = Arc::clone(&api);
                async move { Ok::<_, Infallible>(respond(&api, address, &request).await) }
            });
            let connection = hyper::server::conn::http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .max_buf_size(16 * 1024)
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            tokio::pin!(connection);
            tokio::select! {
                _ = &mut connection => {}
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = tokio::time::timeout(PATIENCE, connection).await;
                }
            }
        });
    }
    while open.join_next().await.is_some() {}
}

/// The answer to one question. What it sends along is not read.
async fn respond(api: &Api, address: SocketAddr, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let headers = request.headers();
    if let Some(refused) = foreign(headers, address) {
        return refused;
    }
    let reads = request.method() == Method::GET || request.method() == Method::HEAD;
    match request.uri().path() {
        "/healthz" if reads => health(api).await,
        "/status" if reads => match system::status(api, Nothing {}).await {
            Ok(status) => match serde_json::to_value(status) {
                Ok(status) => answer(StatusCode::OK, &status),
                Err(error) => failed(&ApiError::new(ErrorCode::Internal, error.to_string())),
            },
            Err(error) => failed(&error),
        },
        "/run" if request.method() == Method::POST => run(api, headers).await,
        "/healthz" | "/status" => not_so("GET, HEAD"),
        "/run" => not_so("POST"),
        _ => failed(
            &ApiError::new(ErrorCode::NotFound, "there is no such page")
                .hint("GET /healthz, GET /status, POST /run"),
        ),
    }
}

/// Liveness: it always answers, whatever the store says.
async fn health(api: &Api) -> Response<Full<Bytes>> {
    let (word, reasons) = match system::status(api, Nothing {}).await {
        Ok(status) => {
            let word = match status.state {
                RuntimeState::Running | RuntimeState::Paused => "ok",
                RuntimeState::Degraded | RuntimeState::ReadOnly | RuntimeState::NoRuntime => "degraded",
            };
            (word, status.reasons.into_iter().map(|reason| reason.message).collect())
        }
        Err(error) => ("degraded", vec![error.message]),
    };
    answer(StatusCode::OK, &json!({ "status": word, "reasons": reasons }))
}

async fn run(api: &Api, headers: &HeaderMap) -> Response<Full<Bytes>> {
    match token(&api.home().http_token()) {
        Err(error) => return failed(&error),
        Ok(token) if !shows(headers, &token) => {
            let error = ApiError::new(ErrorCode::NotAPerson, "a run is asked for with a token")
                .hint("send `Authorization: Bearer` with what `http-token` in the data folder holds");
            let mut refused = answer(StatusCode::UNAUTHORIZED, &json!({ "error": error }));
            refused.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            return refused;
        }
        Ok(_) => {}
    }
    match engine::run_now(api, Nothing {}).await {
        Ok(_) => answer(StatusCode::ACCEPTED, &json!({ "accepted": true })),
        Err(error) if error.code == ErrorCode::Refused => {
            answer(StatusCode::CONFLICT, &json!({ "error": error }))
        }
        Err(error) => failed(&error),
    }
}

/// True when the headers carry exactly this token. Hashes are compared as a whole, so that the time it takes
/// tells nothing.
fn shows(headers: &HeaderMap, token: &str) -> bool {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    let (Some(one), None) = (all.next(), all.next()) else { return false };
    let Some((scheme, shown)) = one.to_str().ok().and_then(|text| text.split_once(' ')) else { return false };
    let (a, b) = (Sha256::digest(shown.trim()), Sha256::digest(token));
    scheme.eq_ignore_ascii_case("bearer") && a.iter().zip(&b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

/// The refusal of a caller that means another place or comes from one: a page whose name was turned to
/// this machine, or any page at all.
fn foreign(headers: &HeaderMap, address: SocketAddr) -> Option<Response<Full<Bytes>>> {
    let is_here = |text: &str| {
        let (name, port) = text.rsplit_once(':').unwrap_or((text, "80"));
        matches!(name, "127.0.0.1" | "localhost" | "[::1]") && port == address.port().to_string()
            || text == address.to_string()
    };
    let one = |name| {
        let mut all = headers.get_all(name).iter();
        (all.next().map(|value| value.to_str().unwrap_or_default()), all.next().is_some())
    };
    let named = match one(HOST) {
        (Some(host), false) => is_here(host),
        (Some(_) | None, _) => false,
    };
    let from_here = match one(ORIGIN) {
        (None, _) => true,
        (Some(origin), false) => origin.strip_prefix("http://").is_some_and(is_here),
        (Some(_), true) => false,
    };
    if named && from_here {
        return None;
    }
    let error = ApiError::new(ErrorCode::NotAPerson, "this door is for this machine alone")
        .hint("call it by its loopback address, and from no page");
    Some(answer(StatusCode::FORBIDDEN, &json!({ "error": error })))
}

fn not_so(allowed: &'static str) -> Response<Full<Bytes>> {
    let error = ApiError::new(ErrorCode::BadRequest, format!("this page takes {allowed}"));
    let mut refused = answer(StatusCode::METHOD_NOT_ALLOWED, &json!({ "error": error }));
    refused.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    refused
}

fn failed(error: &ApiError) -> Response<Full<Bytes>> {
    let status = match error.code {
        ErrorCode::NotFound => StatusCode::NOT_FOUND,
        ErrorCode::BadRequest => StatusCode::BAD_REQUEST,
        ErrorCode::NotAPerson => StatusCode::FORBIDDEN,
        ErrorCode::Refused | ErrorCode::Paused | ErrorCode::ReadOnly => StatusCode::CONFLICT,
        ErrorCode::Config
        | ErrorCode::Store
        | ErrorCode::Git
        | ErrorCode::Agent
        | ErrorCode::Keyring
        | ErrorCode::SignedOut
        | ErrorCode::GitHub => StatusCode::SERVICE_UNAVAILABLE,
        ErrorCode::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    };
    answer(status, &json!({ "error": error }))
}

fn answer(status: StatusCode, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(format!("{body}\n"))));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// The token that `POST` wants, made when there is none. It is the person's alone: no window and no command
/// shows it.
pub fn token_of(home: &Home) -> Result<String, ApiError> {
    token(&home.http_token())
}

/// Puts a new token in the place of the old one.
pub(super) fn renew_token(home: &Home) -> Result<(), ApiError> {
    let path = home.http_token();
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(ApiError::new(ErrorCode::Config, format!("{}: {error}", path.display()))
                .hint("remove the file; the next start makes a new one"));
        }
        Ok(()) | Err(_) => {}
    }
    token(&path).map(drop)
}

/// The token of the data folder, made when there is none. One that others can read is none.
fn token(path: &Path) -> Result<String, ApiError> {
    let cannot = |error: std::io::Error| {
        ApiError::new(ErrorCode::Config, format!("{}: {error}", path.display()))
            .hint("remove the file; the next start makes a new one")
    };
    match std::fs::File::open(path) {
        Ok(file) => {
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt;
                if file.metadata().map_err(cannot)?.permissions().mode() & 0o077 != 0 {
                    return Err(ApiError::new(
                        ErrorCode::Config,
                        format!("{}: others may read this token", path.display()),
                    )
                    .hint("remove the file; the next start makes a new one"));
                }
            }
            let mut text = String::new();
            file.take(1024).read_to_string(&mut text).map_err(cannot)?;
            let token = text.trim();
            if token.len() < 32 {
                return Err(ApiError::new(ErrorCode::Config, format!("{}: too short", path.display()))
                    .hint("remove the file; the next start makes a new one"));
            }
            Ok(token.to_owned())
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut bytes = [0u8; 32];
            std::fs::File::open("/dev/urandom")
                .and_then(|mut source| source.read_exact(&mut bytes))
                .map_err(cannot)?;
            let token = hex::encode(bytes);
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(path).map_err(cannot)?;
            file.write_all(token.as_bytes()).and_then(|()| file.sync_all()).map_err(cannot)?;
            Ok(token)
        }
        Err(error) => Err(cannot(error)),
    }
}
