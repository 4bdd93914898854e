//! TLS and signatures: which servers are trusted, and the errors for others.

use crate::own_server::{Own, ada};
use trestle_api::{DatabaseExt, ErrorKind, ListTables};
use trestle_remote::{AccessKey, CredentialSource, Remote, Settings};

#[tokio::test]
async fn a_certificate_must_be_vouched_for() {
    let folder = tempfile::tempdir().unwrap();
    let other = tempfile::tempdir().unwrap();
    let own = Own::secured(folder.path()).await;
    let _other = Own::secured(other.path()).await;
    let list = async |ca: Option<&std::path::Path>| {
        let settings = Settings {
            credentials: ada().into(),
            ca_file: ca.map(|folder| folder.join("cert.pem")),
            ..Settings::new(&own.endpoint)
        };
        let remote = Remote::new(settings).unwrap();
        remote.list_tables(ListTables::default()).await
    };
    list(Some(folder.path())).await.unwrap();
    let error = list(Some(other.path())).await.unwrap_err();
    assert!(error.message().contains("is not trusted"), "{error}");
    assert!(error.message().contains("ca_file"), "{error}");
}

#[tokio::test]
async fn whoever_speaks_plainly_to_tls_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let own = Own::secured(folder.path()).await;
    let plain = Settings::new(own.endpoint.replace("https://", "http://"));
    let error = Remote::new(plain)
        .unwrap()
        .list_tables(ListTables::default())
        .await;
    let error = error.unwrap_err();
    assert!(
        error.message().contains("should the URL begin with https://?"),
        "{error}"
    );
}

#[tokio::test]
async fn a_wrong_secret_and_no_key_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let own = Own::secured(folder.path()).await;
    let list = async |access_key: Option<AccessKey>| {
        let settings = Settings {
            credentials: access_key.map(CredentialSource::from).unwrap_or_default(),
            ca_file: Some(folder.path().join("cert.pem")),
            ..Settings::new(&own.endpoint)
        };
        let remote = Remote::new(settings).unwrap();
        remote.list_tables(ListTables::default()).await
    };
    let unsigned = list(None).await.unwrap_err();
    assert_eq!(unsigned.kind(), ErrorKind::MissingAuthenticationToken);
    assert!(unsigned.message().contains("AWS_ACCESS_KEY_ID"), "{unsigned}");
    let wrong = AccessKey {
        secret: "loud".to_owned(),
        ..ada()
    };
    let wrong = list(Some(wrong)).await.unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::InvalidSignature);
    assert!(
        wrong
            .message()
            .contains("check the access key ada and its secret"),
        "{wrong}"
    );
    assert!(!wrong.message().contains("loud"), "{wrong}");
    list(Some(ada())).await.unwrap();
}
