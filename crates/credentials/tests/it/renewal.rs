//! Credentials that expire.

use crate::service::Service;
use crate::support::{AT_AWS, NOW, key, later, metadata, service_clock, source, written};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::task::JoinSet;

#[tokio::test]
async fn a_role_of_a_machine_is_renewed_five_minutes_before_it_ends() {
    let home = tempfile::tempdir().unwrap();
    let clock = service_clock(NOW);
    let instance = metadata(clock).await;
    let url = instance.url();
    let source = source(
        AT_AWS,
        home.path(),
        &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)],
    );
    let found = source.current(NOW).await.unwrap().unwrap();
    assert_eq!(found.session_token.as_deref(), Some("session"));
    assert_eq!(key(&source, later(54)).await.unwrap(), "key 1");
    assert_eq!(instance.asked().len(), 3, "a token, the role, its keys");
    clock.store(later(55).as_millis(), Ordering::SeqCst);
    assert_eq!(key(&source, later(55)).await.unwrap(), "key 2");
    assert_eq!(key(&source, later(56)).await.unwrap(), "key 2");
    assert_eq!(instance.asked().len(), 6);
}

#[tokio::test]
async fn many_requests_at_once_look_once() {
    let home = tempfile::tempdir().unwrap();
    let clock = service_clock(NOW);
    let instance = metadata(clock).await;
    let url = instance.url();
    let source = source(
        AT_AWS,
        home.path(),
        &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)],
    );
    let mut tasks = JoinSet::new();
    for _ in 0..50 {
        let source = source.clone();
        tasks.spawn(async move { key(&source, NOW).await.unwrap() });
    }
    assert_eq!(tasks.join_all().await, vec!["key 1"; 50]);
    assert_eq!(instance.asked().len(), 3);
}

#[tokio::test]
async fn while_renewal_fails_the_old_ones_are_used_until_their_end() {
    let home = tempfile::tempdir().unwrap();
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = Arc::clone(&is_broken);
    let service = Service::start(move |_| match broken.load(Ordering::SeqCst) {
        true => (400, r#"{"code":"AccessDenied","message":"not now"}"#.to_owned()),
        false => (
            200,
            format!(
                r#"{{"AccessKeyId":"id","SecretAccessKey":"hush","Token":"t","Expiration":"{}"}}"#,
                written(later(10))
            ),
        ),
    })
    .await;
    let url = format!("{}/role", service.url());
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "let me in"),
    ];
    let source = source(AT_AWS, home.path(), &variables);
    assert_eq!(key(&source, NOW).await.unwrap(), "id");
    assert_eq!(service.asked()[0].header("authorization"), "let me in");
    is_broken.store(true, Ordering::SeqCst);
    assert_eq!(key(&source, later(6)).await.unwrap(), "id");
    assert_eq!(key(&source, later(6)).await.unwrap(), "id");
    assert_eq!(service.asked().len(), 2, "after a failure there is a pause");
    assert_eq!(key(&source, later(9)).await.unwrap(), "id");
    let said = key(&source, later(10)).await.unwrap_err().to_string();
    assert!(
        said.contains(&format!(
            "container: {url} answered 400 Bad Request: AccessDenied: not now"
        )),
        "{said}"
    );
    assert!(!said.contains("let me in"), "{said}");
}

#[tokio::test]
async fn a_refused_key_is_looked_for_again_once_in_a_while() {
    let home = tempfile::tempdir().unwrap();
    let clock = service_clock(NOW);
    let instance = metadata(clock).await;
    let url = instance.url();
    let source = source(
        AT_AWS,
        home.path(),
        &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", &url)],
    );
    let first = source.current(NOW).await.unwrap().unwrap();
    assert!(source.replace(Some(&first.key), NOW).await.unwrap());
    // Another task whose first key was refused finds that it was replaced.
    assert!(source.replace(Some(&first.key), NOW).await.unwrap());
    let second = source.current(NOW).await.unwrap().unwrap();
    assert_eq!(second.key.id, "key 2");
    // The second is refused, too: so soon there is nothing new.
    assert!(!source.replace(Some(&second.key), NOW).await.unwrap());
    assert_eq!(instance.asked().len(), 6);
}
