//! TLS with a certificate made for the test.

use crate::test_server::{TestServer, refused};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use trestle_server::{StartError, TlsFiles};

struct Fixture {
    _directory: TempDir,
    files: TlsFiles,
    certificate: CertificateDer<'static>,
}

fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let files = TlsFiles {
        certificate: directory.path().join("cert.pem"),
        key: directory.path().join("key.pem"),
    };
    std::fs::write(&files.certificate, made.cert.pem()).unwrap();
    std::fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    Fixture {
        _directory: directory,
        files,
        certificate: made.cert.der().clone(),
    }
}

async fn connect(server: &TestServer, fixture: &Fixture, protocol: &str) -> TlsStream<TcpStream> {
    let mut roots = RootCertStore::empty();
    roots.add(fixture.certificate.clone()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let stream = TcpStream::connect(server.address).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .unwrap()
}

fn list_tables() -> hyper::Request<Full<bytes::Bytes>> {
    hyper::Request::post("https://localhost/")
        .header("Host", "localhost")
        .header("X-Amz-Target", "DynamoDB_20120810.ListTables")
        .header("Content-Type", "application/x-amz-json-1.0")
        .body(Full::new(bytes::Bytes::from_static(b"{}")))
        .unwrap()
}

fn tls_server(fixture: &Fixture) -> TestServer {
    let files = fixture.files.clone();
    TestServer::with(|settings| settings.tls = Some(files))
}

#[tokio::test]
async fn http1_is_served_over_tls() {
    let fixture = fixture();
    let server = tls_server(&fixture);
    assert!(server.endpoint.starts_with("https://"));
    let stream = connect(&server, &fixture, "http/1.1").await;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(list_tables()).await.unwrap();
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        r#"{"TableNames":[]}"#
    );
}

#[tokio::test]
async fn http2_is_negotiated_over_tls() {
    let fixture = fixture();
    let server = tls_server(&fixture);
    let stream = connect(&server, &fixture, "h2").await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(b"h2".as_slice()));
    let (mut sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(list_tables()).await.unwrap();
    assert_eq!(response.version(), hyper::Version::HTTP_2);
    assert_eq!(
        response.into_body().collect().await.unwrap().to_bytes(),
        r#"{"TableNames":[]}"#
    );
}

#[test]
fn plain_http_gets_nowhere_on_a_tls_port() {
    let fixture = fixture();
    let server = tls_server(&fixture);
    let mut client = server.connect();
    client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // At most a TLS alert is received, then the end.
    assert_ne!(client.byte(), 'H');
}

#[test]
fn unusable_files_are_named() {
    let fixture = fixture();
    let check = |change: fn(&mut TlsFiles), expected: &str| {
        let mut files = fixture.files.clone();
        change(&mut files);
        let error = refused(|settings| settings.tls = Some(files));
        assert!(matches!(error, StartError::Tls(_)));
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(
        |files| files.certificate = "missing.pem".into(),
        "cannot read a certificate from missing.pem",
    );
    check(
        |files| files.key = "missing.pem".into(),
        "cannot read a private key from missing.pem",
    );
    check(
        |files| files.key = files.certificate.clone(),
        "cannot read a private key",
    );
    check(
        |files| files.certificate = files.key.clone(),
        "cannot read a certificate",
    );
}
