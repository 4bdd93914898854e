//! The addresses that a server listens on, and those that it refuses.

use crate::test_server::{TestServer, refused};
use trestle_server::{AccessKey, KeyGrant, StartError};

#[test]
fn an_address_that_others_can_reach_needs_keys_or_consent() {
    let error = refused(|settings| settings.host = "0.0.0.0".to_owned());
    assert!(matches!(error, StartError::Unprotected { .. }));
    let message = error.to_string();
    assert!(
        message.contains("0.0.0.0") && message.contains("--insecure"),
        "{message}"
    );

    let consenting = TestServer::with(|settings| {
        settings.host = "0.0.0.0".to_owned();
        settings.insecure = true;
    });
    assert_eq!(
        consenting.endpoint,
        format!("http://127.0.0.1:{}", consenting.address.port())
    );

    TestServer::with(|settings| {
        settings.host = "0.0.0.0".to_owned();
        settings.access_keys = vec![KeyGrant::everything(AccessKey {
            id: "id".to_owned(),
            secret: "secret".to_owned(),
        })];
    });
}

#[test]
fn a_taken_port_is_named() {
    let server = TestServer::start();
    let port = server.address.port();
    let error = refused(|settings| settings.port = port);
    assert_eq!(
        error.to_string(),
        format!("port {port} on 127.0.0.1 is already in use; stop the other server or choose another port")
    );
}

#[test]
fn a_host_can_be_a_name() {
    let server = TestServer::with(|settings| settings.host = "localhost".to_owned());
    assert_eq!(
        server.connect().get("/").text(),
        format!("healthy: localhost:{}", server.address.port())
    );
}

#[test]
fn a_host_that_does_not_exist_is_named() {
    let error = refused(|settings| settings.host = "not a host".to_owned());
    assert!(matches!(error, StartError::Host { .. }));
    assert!(error.to_string().contains("`not a host`"));
}
