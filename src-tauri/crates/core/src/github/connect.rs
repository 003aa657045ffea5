//! The way to the host: proxy, certificates, and octocrab as the transport without its defaults.

use std::error::Error as StdError;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::{TokioExecutor, TokioIo};
use octocrab::{AuthState, Octocrab, OctocrabBuilder};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tower_service::Service;

use super::address::is_loopback;
use super::error::{GitHubError, NetworkFault};

/// Which proxy leads out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    /// `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment.
    #[default]
    Environment,
    /// This one for every host.
    Only(String),
    /// None, whatever the environment says.
    Direct,
}

/// How the way to a host is laid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub proxy: Proxy,
    /// Certificates trusted beside those of the system, as PEM. `SSL_CERT_FILE` replaces the system's.
    pub ca_file: Option<PathBuf>,
    pub connect_timeout: Duration,
}

impl Default for Route {
    fn default() -> Self {
        Self { proxy: Proxy::default(), ca_file: None, connect_timeout: Duration::from_secs(10) }
    }
}

/// octocrab over our own connector: no retry, no cache, no redirect and no token of its own.
pub(super) fn transport(route: &Route) -> Result<Octocrab, GitHubError> {
    let tls = Arc::new(tls(route.ca_file.as_deref())?);
    let mut direct = HttpConnector::new();
    direct.enforce_http(false);
    direct.set_connect_timeout(Some(route.connect_timeout));
    direct.set_nodelay(true);
    let matcher = match &route.proxy {
        Proxy::Environment => Some(Matcher::from_env()),
        Proxy::Only(proxy) => Some(Matcher::builder().all(proxy.clone()).build()),
        Proxy::Direct => None,
    };
    let way = Way { to_proxy: https(&tls, direct.clone()), direct, matcher: matcher.map(Arc::new) };
    let client = hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        // A connection that was idle when the laptop slept is dead; a new one is cheap.
        .pool_idle_timeout(Duration::from_secs(30))
        // A request is sent once: hyper would repeat one on a connection that was closed meanwhile.
        .retry_canceled_requests(false)
        .build(https(&tls, way));
    match OctocrabBuilder::new_empty().with_service(client).with_auth(AuthState::None).build() {
        Ok(octocrab) => Ok(octocrab),
        Err(never) => match never {},
    }
}

fn https<C>(tls: &Arc<ClientConfig>, inner: C) -> HttpsConnector<C> {
    HttpsConnectorBuilder::new()
        .with_tls_config(ClientConfig::clone(tls))
        .https_or_http()
        .enable_http1()
        .wrap_connector(inner)
}

fn tls(ca_file: Option<&Path>) -> Result<ClientConfig, GitHubError> {
    let mut roots = RootCertStore::empty();
    for certificate in rustls_native_certs::load_native_certs().certs {
        // One unreadable certificate of the system does not take the others away.
        let _ = roots.add(certificate);
    }
    if let Some(path) = ca_file {
        let unreadable = || GitHubError::Tls(format!("the CA file {} holds no certificate", path.display()));
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(path)
            .map_err(|_| unreadable())?
            .collect::<Result<_, _>>()
            .map_err(|_| unreadable())?;
        if certificates.is_empty() {
            return Err(unreadable());
        }
        for certificate in certificates {
            roots.add(certificate).map_err(|_| unreadable())?;
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| GitHubError::Tls(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Connects to a host, through a proxy where one is set.
#[derive(Clone)]
struct Way {
    direct: HttpConnector,
    to_proxy: HttpsConnector<HttpConnector>,
    matcher: Option<Arc<Matcher>>,
}

type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;
type BoxError = Box<dyn StdError + Send + Sync>;

impl Service<Uri> for Way {
    type Response = Stream;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.direct.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, dst: Uri) -> Self::Future {
        let name = dst.host().unwrap_or_default().to_owned();
        let proxy = match &self.matcher {
            Some(matcher) if !is_loopback(&name) => matcher.intercept(&dst),
            _ => None,
        };
        let Some(proxy) = proxy else {
            let connecting = self.direct.call(dst);
            return Box::pin(async move {
                let stream = connecting.await.map_err(|error| Lost(reached(&error, name)))?;
                Ok(MaybeHttpsStream::Http(stream))
            });
        };
        // Neither name nor password of the proxy gets into a message.
        let shown = proxy.uri().authority().map_or_else(String::new, |authority| {
            authority.as_str().rsplit('@').next().unwrap_or_default().to_owned()
        });
        if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
            return Box::pin(async move { Err(Lost(NetworkFault::ProxyKind(shown)).into()) });
        }
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone());
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        let connecting = tunnel.call(dst);
        Box::pin(async move {
            connecting.await.map_err(|error| {
                // hyper-util names its own kinds in its texts only.
                let asks = error.to_string().contains("authorization required");
                let fault =
                    if asks { NetworkFault::ProxyPassword(shown) } else { NetworkFault::Proxy(shown) };
                Lost(fault).into()
            })
        })
    }
}

fn reached(error: &(dyn StdError + 'static), name: String) -> NetworkFault {
    // The connector says only in its text that the name was not found.
    if error.to_string().contains("dns error") {
        NetworkFault::Name(name)
    } else {
        NetworkFault::Connect(name)
    }
}

/// A fault on the way, found again at the end of octocrab's chain of causes.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Lost(NetworkFault);

/// What a failed exchange was, from its chain of causes.
pub(super) fn judge(error: &(dyn StdError + 'static), answered: Answered) -> GitHubError {
    let mut next = Some(error);
    while let Some(cause) = next {
        if let Some(fault) = known(cause) {
            return fault;
        }
        next = cause.source();
    }
    match answered {
        Answered::No => GitHubError::Network(NetworkFault::Lost),
        Answered::InPart => GitHubError::Truncated("the connection broke in the middle of it".to_owned()),
    }
}

/// A cause that says what happened. An I/O error hides what it wraps from the chain.
fn known(cause: &(dyn StdError + 'static)) -> Option<GitHubError> {
    if let Some(Lost(fault)) = cause.downcast_ref::<Lost>() {
        return Some(GitHubError::Network(fault.clone()));
    }
    if let Some(fault) = cause.downcast_ref::<rustls::Error>() {
        return Some(GitHubError::Tls(fault.to_string()));
    }
    known(cause.downcast_ref::<std::io::Error>()?.get_ref()?)
}

/// How far an answer had come when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answered {
    No,
    InPart,
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper_util::client::legacy::connect::dns::Name;

    /// A resolver that knows no name.
    #[derive(Clone)]
    struct Nowhere;

    impl Service<Name> for Nowhere {
        type Response = std::vec::IntoIter<std::net::SocketAddr>;
        type Error = std::io::Error;
        type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            std::future::ready(Err(std::io::Error::other("failed to lookup address information")))
        }
    }

    #[tokio::test]
    async fn a_name_nobody_knows_is_told_from_a_host_that_does_not_answer() {
        let mut nowhere = HttpConnector::new_with_resolver(Nowhere);
        let error = nowhere.call(Uri::from_static("http://github.test/")).await.unwrap_err();
        assert_eq!(reached(&error, "github.test".to_owned()), NetworkFault::Name("github.test".to_owned()));
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let uri: Uri = format!("http://{free}/").parse().unwrap();
        let error = HttpConnector::new().call(uri).await.unwrap_err();
        assert_eq!(reached(&error, "here".to_owned()), NetworkFault::Connect("here".to_owned()));
    }
}
