//! Credentials that are found, refused and replaced during requests.

use crate::own_server::Own;
use crate::scripted::{Act, Scripted};
use std::path::Path;
use trestle_api::{DatabaseExt, ErrorKind, ListTables, UpdateItem};
use trestle_remote::{Remote, Settings};

const EXPIRED: Act = Act::Answer(
    400,
    r#"{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"The security token included in the request is expired"}"#,
);
const UNSIGNED: Act = Act::Answer(
    400,
    r#"{"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"Request is missing Authentication Token"}"#,
);

/// Settings of a process with this file of credentials in its home directory.
fn with_file(endpoint: &str, home: &Path, also: &[(&str, &str)]) -> Settings {
    Settings::from_variables(endpoint, |name| match name {
        "AWS_SHARED_CREDENTIALS_FILE" => Some(home.join("credentials").display().to_string()),
        _ => {
            let found = also.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    })
}

fn write_key(home: &Path, id: &str) {
    let text = format!("[default]\naws_access_key_id = {id}\naws_secret_access_key = hush\n");
    std::fs::write(home.join("credentials"), text).unwrap();
}

fn update() -> UpdateItem {
    UpdateItem {
        table_name: "t".into(),
        ..UpdateItem::default()
    }
}

#[tokio::test]
async fn a_write_whose_token_is_over_is_made_once_more_with_new_credentials() {
    let home = tempfile::tempdir().unwrap();
    write_key(home.path(), "old");
    let server = Scripted::start(&[Act::Answer(200, "{}"), EXPIRED]).await;
    let settings = with_file(&server.settings().endpoint, home.path(), &[]);
    let settings = Settings {
        credentials: settings.credentials.with_profile("default"),
        ..settings
    };
    let remote = Remote::new(settings).unwrap();
    remote.update_item(update()).await.unwrap();
    write_key(home.path(), "new");
    remote.update_item(update()).await.unwrap();
    assert_eq!(server.signers(), ["old", "old", "new"]);
}

#[tokio::test]
async fn if_the_new_ones_are_refused_too_the_caller_is_told() {
    let home = tempfile::tempdir().unwrap();
    write_key(home.path(), "old");
    let server = Scripted::start(&[EXPIRED; 9]).await;
    let settings = with_file(&server.settings().endpoint, home.path(), &[]);
    let settings = Settings {
        credentials: settings.credentials.with_profile("default"),
        ..settings
    };
    let remote = Remote::new(settings).unwrap();
    // There are no others: the same key is not tried again.
    let error = remote.update_item(update()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ExpiredToken);
    assert!(
        error
            .message()
            .contains("check the access key old and its secret"),
        "{error}"
    );
    assert_eq!(server.signers(), ["old"]);

    let home = tempfile::tempdir().unwrap();
    write_key(home.path(), "first");
    let settings = with_file(&server.settings().endpoint, home.path(), &[]);
    let settings = Settings {
        credentials: settings.credentials.with_profile("default"),
        ..settings
    };
    let remote = Remote::new(settings.clone()).unwrap();
    settings.credentials.current(settings.clock.now()).await.unwrap();
    write_key(home.path(), "second");
    let error = remote.update_item(update()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ExpiredToken);
    assert_eq!(server.signers(), ["old", "first", "second"]);
}

#[tokio::test]
async fn a_server_that_wants_a_signature_gets_one_from_the_second_request_on() {
    let home = tempfile::tempdir().unwrap();
    write_key(home.path(), "id");
    let server = Scripted::start(&[Act::Answer(200, "{}"), UNSIGNED]).await;
    let remote = Remote::new(with_file(&server.settings().endpoint, home.path(), &[])).unwrap();
    for _ in 0..3 {
        remote.update_item(update()).await.unwrap();
    }
    assert_eq!(server.signers(), ["", "", "id", "id"]);
}

#[tokio::test]
async fn without_credentials_a_server_that_wants_them_says_so_with_all_sources() {
    let home = tempfile::tempdir().unwrap();
    let server = Scripted::start(&[UNSIGNED]).await;
    let remote = Remote::new(with_file(&server.settings().endpoint, home.path(), &[])).unwrap();
    let error = remote.update_item(update()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::MissingAuthenticationToken);
    for part in [
        "set AWS_ACCESS_KEY_ID",
        "environment: ",
        "profile default: ",
        "web identity: ",
        "container: ",
    ] {
        assert!(error.message().contains(part), "{part}: {error}");
    }
    assert_eq!(server.bodies().len(), 1);
}

/// A profile that cannot be used stops a request to AWS before anything is sent.
#[tokio::test]
async fn nothing_is_sent_to_aws_without_a_signature() {
    let home = tempfile::tempdir().unwrap();
    let endpoint = "https://dynamodb.eu-west-1.amazonaws.com";
    let gone = [("AWS_PROFILE", "gone"), ("HTTPS_PROXY", "http://127.0.0.1:1")];
    let remote = Remote::new(with_file(endpoint, home.path(), &gone)).unwrap();
    let error = remote.list_tables(ListTables::default()).await.unwrap_err();
    assert!(
        error.message().starts_with(
            "cannot sign requests to https://dynamodb.eu-west-1.amazonaws.com: no credentials: "
        ),
        "{error}"
    );
    assert!(
        error.message().contains("profile gone: there is none in "),
        "{error}"
    );
}

#[tokio::test]
async fn a_profile_signs_what_our_own_server_takes() {
    let folder = tempfile::tempdir().unwrap();
    let own = Own::secured(folder.path()).await;
    write_key(folder.path(), "ada");
    let settings = Settings {
        ca_file: Some(folder.path().join("cert.pem")),
        ..with_file(&own.endpoint, folder.path(), &[])
    };
    let remote = Remote::new(settings).unwrap();
    remote.list_tables(ListTables::default()).await.unwrap();
}
