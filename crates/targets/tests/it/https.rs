//! Webhooks over TLS.

use crate::batches::{batch, open};
use crate::server::{Server, reply};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;
use trestle_events::Outcome;

/// An acceptor for `localhost`, whose certificate is written to a file.
fn acceptor(certificate_file: &Path) -> TlsAcceptor {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(certificate_file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

#[tokio::test]
async fn https_is_spoken_with_those_who_can_prove_their_name() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.pem");
    let other = folder.path().join("other.pem");
    acceptor(&other);
    let tls = acceptor(&own);
    let server = Server::start_at("127.0.0.1:0".parse().unwrap(), Some(tls), |_| reply(200, "")).await;
    let url = format!("https://localhost:{}/hook", server.address.port());

    let target = open(json!({"webhook": url, "ca_file": own}));
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    assert_eq!((server.received().len(), server.connections()), (2, 1));

    let stranger = open(json!({"webhook": url, "ca_file": other}));
    let Outcome::Unavailable(reason) = stranger.deliver(&batch(1)).await else {
        panic!("a certificate that nobody vouches for");
    };
    assert!(reason.contains("certificate"), "{reason}");
    assert_eq!(server.received().len(), 2);
}
