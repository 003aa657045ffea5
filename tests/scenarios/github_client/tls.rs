//! A connection whose certificate nobody vouches for carries nothing; a named CA file vouches.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use steward_core::github::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use super::{Desk, REPO, quick, repo};

/// A made-up authority, and the TLS side of a server it vouches for under this name.
fn authority(name: &str) -> (String, TlsAcceptor) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca = params.self_signed(&key).unwrap();
    let issuer = Issuer::new(params, key);
    let own = KeyPair::generate().unwrap();
    let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&own, &issuer).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], PrivateKeyDer::Pkcs8(own.serialize_der().into()))
        .unwrap();
    (ca.pem(), TlsAcceptor::from(Arc::new(config)))
}

/// Takes any tunnel and answers inside it as GitHub would.
async fn inspect(mut stream: TcpStream, acceptor: TlsAcceptor) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    let mut inside = acceptor.accept(stream).await?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(inside.read_u8().await?);
    }
    let length = REPO.len();
    let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{REPO}");
    inside.write_all(answer.as_bytes()).await?;
    inside.shutdown().await
}

#[tokio::test]
async fn a_certificate_counts_only_for_its_name_and_under_a_trusted_authority() {
    let folder = tempfile::tempdir().unwrap();
    let (pem, acceptor) = authority("github.test");
    let (other, _) = authority("github.test");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(inspect(stream, acceptor.clone()));
        }
    });
    let desk = Desk::new();
    for (host, trusted, known) in [
        ("github.test", Some(&pem), true),
        ("github.test", Some(&other), false),
        ("github.test", None, false),
        ("elsewhere.test", Some(&pem), false),
    ] {
        let mut options = quick();
        options.route.proxy = Proxy::Only(proxy.clone());
        options.route.ca_file = trusted.map(|pem| {
            let file = folder.path().join("ca.pem");
            std::fs::write(&file, pem).unwrap();
            file
        });
        let found = desk.client(host, &options).await.reader().repo(&repo()).await;
        assert_eq!(
            found.as_ref().map(|_| "").map_err(|error| error.slug()),
            if known { Ok("") } else { Err("tls") },
            "{host}: {found:?}"
        );
    }
    server.abort();
}
