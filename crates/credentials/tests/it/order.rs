//! Which source is tried, in which order, and the error if none has credentials.

use crate::service::Service;
use crate::support::{AT_AWS, NOW, key, metadata, refusal, service_clock, source};

#[tokio::test]
async fn the_environment_comes_first_with_both_halves_of_a_key() {
    let home = tempfile::tempdir().unwrap();
    let whole = [
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_SESSION_TOKEN", "token"),
        ("AWS_PROFILE", "gone"),
    ];
    let found = source("http://localhost:8000", home.path(), &whole);
    let found = found.current(NOW).await.unwrap().unwrap();
    assert_eq!(
        (found.key.id.as_str(), found.key.secret.as_str()),
        ("id", "secret")
    );
    assert_eq!(found.session_token.as_deref(), Some("token"));
    let said = refusal(&source("http://localhost:8000", home.path(), &whole[..1])).await;
    assert!(
        said.contains("environment: AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"),
        "{said}"
    );
}

#[tokio::test]
async fn without_credentials_every_source_says_why() {
    let home = tempfile::tempdir().unwrap();
    let said = refusal(&source(
        AT_AWS,
        home.path(),
        &[("AWS_EC2_METADATA_DISABLED", "true")],
    ))
    .await;
    let parts = [
        "no credentials: environment: AWS_ACCESS_KEY_ID is not set; profile default: there is none in ",
        "config nor in ",
        "credentials; web identity: AWS_WEB_IDENTITY_TOKEN_FILE is not set; container: neither ",
        " is set; instance: AWS_EC2_METADATA_DISABLED is true",
    ];
    let mut rest = said.as_str();
    for part in parts {
        let found = rest.split_once(part);
        rest = found
            .unwrap_or_else(|| panic!("`{part}` is not in `{rest}` of {said}"))
            .1;
    }
    assert_eq!(rest, "");
}

#[tokio::test]
async fn profiles_are_read_from_both_files_and_a_named_one_must_be_there() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join(".aws");
    std::fs::create_dir(&folder).unwrap();
    let section = |header: &str, id: &str| {
        format!("[{header}]\naws_access_key_id = {id}\naws_secret_access_key = hush\naws_session_token = t\n")
    };
    std::fs::write(
        folder.join("credentials"),
        section("default", "first") + &section("work", "second"),
    )
    .unwrap();
    std::fs::write(folder.join("config"), section("profile play", "third")).unwrap();
    for (variables, id) in [
        (vec![], "first"),
        (vec![("AWS_PROFILE", "work")], "second"),
        (vec![("AWS_PROFILE", "play")], "third"),
        (vec![("AWS_DEFAULT_PROFILE", "play")], "third"),
    ] {
        assert_eq!(
            key(&source(AT_AWS, home.path(), &variables), NOW).await.unwrap(),
            id
        );
    }
    // A profile named by the user has precedence over the environment.
    let named = [
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_PROFILE", "work"),
    ];
    let named = source(AT_AWS, home.path(), &named).with_profile("play");
    assert_eq!(key(&named, NOW).await.unwrap(), "third");

    // A missing profile is not skipped: the next source would be another identity.
    let clock = service_clock(NOW);
    let instance = metadata(clock).await;
    let url = instance.url();
    let gone = [
        ("AWS_PROFILE", "gone"),
        ("AWS_EC2_METADATA_SERVICE_ENDPOINT", url.as_str()),
    ];
    let said = refusal(&source(AT_AWS, home.path(), &gone)).await;
    assert!(said.contains("profile gone: there is none in "), "{said}");
    assert!(
        instance.asked().is_empty() && !said.contains("instance"),
        "{said}"
    );
}

#[tokio::test]
async fn files_elsewhere_are_named_by_variables() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("keys");
    std::fs::write(
        &path,
        "[default]\naws_access_key_id = id\naws_secret_access_key = s\n",
    )
    .unwrap();
    let path = path.display().to_string();
    let source = source(AT_AWS, home.path(), &[("AWS_SHARED_CREDENTIALS_FILE", &path)]);
    assert_eq!(key(&source, NOW).await.unwrap(), "id");
}

#[tokio::test]
async fn a_server_that_is_none_of_aws_is_asked_without_a_signature_until_it_wants_one() {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    let file = home.path().join(".aws/credentials");
    std::fs::write(
        file,
        "[default]\naws_access_key_id = id\naws_secret_access_key = s\n",
    )
    .unwrap();
    let local = source("http://localhost:8000", home.path(), &[]);
    assert_eq!(key(&local, NOW).await.unwrap(), "unsigned");
    assert!(local.replace(None, NOW).await.unwrap());
    assert_eq!(key(&local, NOW).await.unwrap(), "id");
    // A profile that is named is used before all other sources.
    let named = source("http://localhost:8000", home.path(), &[]).with_profile("default");
    assert_eq!(key(&named, NOW).await.unwrap(), "id");
    // Without any, the roles of machines are not used, because only AWS knows them.
    let empty = tempfile::tempdir().unwrap();
    let none = source("http://localhost:8000", empty.path(), &[]);
    let said = none.replace(None, NOW).await.unwrap_err().to_string();
    assert!(
        said.ends_with("instance: not used, because the endpoint does not belong to AWS"),
        "{said}"
    );
}

#[tokio::test]
async fn a_machine_without_a_role_is_not_set_up() {
    let home = tempfile::tempdir().unwrap();
    let service = Service::start(|asked| match asked.method.as_str() {
        "PUT" => (200, "t".to_owned()),
        _ => (404, String::new()),
    })
    .await;
    let url = service.url();
    let said = refusal(&source(
        AT_AWS,
        home.path(),
        &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)],
    ))
    .await;
    assert!(
        said.ends_with(&format!("instance: {url} says that this machine has no role")),
        "{said}"
    );
}
