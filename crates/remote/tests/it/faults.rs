//! Endpoints that are missing, break connections, or do not answer.

use crate::scripted::{Act, Scripted};
use std::time::Duration;
use trestle_api::{DatabaseExt, ErrorKind, ListTables, PutItem, Scan, TransactWriteItems, UpdateItem};
use trestle_remote::{Remote, Settings};

const THROTTLED: Act = Act::Answer(
    400,
    r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"slow down"}"#,
);
const BROKEN: Act = Act::Answer(
    500,
    r#"{"__type":"InternalServerError","message":"something broke"}"#,
);

fn update() -> UpdateItem {
    UpdateItem {
        table_name: "t".into(),
        ..UpdateItem::default()
    }
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Scripted::start(&[]).await;
    let remote = server.remote();
    for _ in 0..10 {
        remote.list_tables(ListTables::default()).await.unwrap();
    }
    assert_eq!((server.bodies().len(), server.connections()), (10, 1));
}

#[tokio::test]
async fn a_dead_endpoint_is_named() {
    let remote = Remote::new(Settings::new("http://127.0.0.1:1")).unwrap();
    let error = remote.update_item(update()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InternalServerError);
    assert!(
        error.message().starts_with("no server at http://127.0.0.1:1: "),
        "{error}"
    );
    assert!(
        !error.message().contains("not known"),
        "nothing was sent: {error}"
    );
}

#[tokio::test]
async fn a_read_whose_answer_is_lost_is_sent_again() {
    for act in [Act::HangUp, Act::HangUpWithin, Act::AnswerOther("{}"), BROKEN] {
        let server = Scripted::start(&[act]).await;
        let tables = server.remote().list_tables(ListTables::default()).await;
        assert_eq!(tables.unwrap().table_names, Vec::<String>::new(), "{act:?}");
        assert_eq!(server.bodies().len(), 2, "{act:?}");
    }
}

#[tokio::test]
async fn an_update_whose_answer_is_lost_is_not_sent_again() {
    for act in [Act::HangUp, Act::HangUpWithin, Act::AnswerOther("{}"), BROKEN] {
        let server = Scripted::start(&[act]).await;
        let error = server.remote().update_item(update()).await.unwrap_err();
        assert!(
            error
                .message()
                .contains("whether the UpdateItem was carried out is not known"),
            "{act:?}: {error}"
        );
        assert_eq!(server.bodies().len(), 1, "{act:?}");
    }
}

/// The same holds for a connection that worked before: what was sent on it may have arrived.
#[tokio::test]
async fn a_kept_connection_that_dies_does_not_repeat_an_update() {
    let server = Scripted::start(&[Act::Answer(200, "{}"), Act::HangUp]).await;
    let remote = server.remote();
    remote.update_item(update()).await.unwrap();
    let error = remote.update_item(update()).await.unwrap_err();
    assert!(error.message().contains("not known"), "{error}");
    assert_eq!((server.bodies().len(), server.connections()), (2, 1));
    remote.update_item(update()).await.unwrap();
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_plain_put_is_sent_again_and_a_conditional_one_is_not() {
    let put = PutItem {
        table_name: "t".into(),
        ..PutItem::default()
    };
    let server = Scripted::start(&[Act::HangUp]).await;
    server.remote().put_item(put.clone()).await.unwrap();
    assert_eq!(server.bodies().len(), 2);

    let server = Scripted::start(&[Act::HangUp]).await;
    let conditional = PutItem {
        condition_expression: Some("attribute_not_exists(pk)".into()),
        ..put
    };
    server.remote().put_item(conditional).await.unwrap_err();
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn a_transaction_that_is_sent_again_is_recognised_by_its_token() {
    let server = Scripted::start(&[Act::HangUp]).await;
    let transaction = TransactWriteItems::default();
    server.remote().transact_write_items(transaction).await.unwrap();
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1]);
    assert!(bodies[0].contains("ClientRequestToken"), "{}", bodies[0]);
}

#[tokio::test]
async fn whoever_is_throttled_waits_and_comes_back() {
    let server = Scripted::start(&[THROTTLED, THROTTLED]).await;
    server.remote().update_item(update()).await.unwrap();
    assert_eq!(server.bodies().len(), 3);

    let server = Scripted::start(&[THROTTLED; 9]).await;
    let error = server.remote().update_item(update()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ProvisionedThroughputExceeded);
    assert!(error.message().contains("was asked 4 times"), "{error}");
    assert_eq!(server.bodies().len(), 4);
}

#[tokio::test]
async fn a_request_is_tried_as_often_as_the_settings_say() {
    for (mode, tries) in [("standard", 1), ("standard", 6), ("adaptive", 3)] {
        let server = Scripted::start(&[THROTTLED; 9]).await;
        let settings = Settings {
            retry_mode: Some(mode.to_owned()),
            max_attempts: Some(tries.to_string()),
            ..server.settings()
        };
        let remote = Remote::new(settings).unwrap();
        let error = remote.update_item(update()).await.unwrap_err();
        assert!(
            error.message().contains(&format!("was asked {tries} times")),
            "{error}"
        );
        assert_eq!(server.bodies().len(), tries, "{mode}");
    }
    let wrong = Settings {
        retry_mode: Some("eager".to_owned()),
        ..Settings::new("http://127.0.0.1:1")
    };
    let refused = Remote::new(wrong).unwrap_err().to_string();
    assert!(refused.contains("AWS_RETRY_MODE"), "{refused}");
}

#[tokio::test]
async fn silence_is_given_up_and_says_what_is_not_known() {
    let server = Scripted::start(&[Act::Silence; 9]).await;
    let impatient = Settings {
        timeout: Some(Duration::from_millis(30)),
        ..server.settings()
    };
    let remote = Remote::new(impatient).unwrap();
    let error = remote.update_item(update()).await.unwrap_err();
    assert!(error.message().contains("none within 0.03 s; whether"), "{error}");
    assert_eq!(server.bodies().len(), 1);
    let error = remote.scan(Scan::default()).await.unwrap_err();
    assert!(error.message().ends_with("none within 0.03 s"), "{error}");
    assert_eq!(server.bodies().len(), 5);
}

#[tokio::test]
async fn what_speaks_another_protocol_is_said_to() {
    let server = Scripted::start(&[Act::Babble]).await;
    let error = server.remote().update_item(update()).await.unwrap_err();
    assert!(error.message().contains("it does not speak HTTP"), "{error}");
    assert_eq!(server.bodies().len(), 1);
}

/// For example a proxy's page.
#[tokio::test]
async fn an_answer_of_somebody_else_is_an_error() {
    let server = Scripted::start(&[Act::Answer(404, "<html>nothing here</html>")]).await;
    let error = server.remote().scan(Scan::default()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InternalServerError);
    assert!(error.message().contains("status 404"), "{error}");
    let server = Scripted::start(&[Act::Answer(200, "<html>welcome</html>")]).await;
    let error = server.remote().scan(Scan::default()).await.unwrap_err();
    assert!(
        error
            .message()
            .contains("is not JSON; it begins with `<html>welcome</html>`"),
        "{error}"
    );
}

/// A connection belongs to the runtime that opened it, which may be idle when another one sends.
#[test]
fn several_runtimes_share_an_endpoint_and_no_connection() {
    let serving = tokio::runtime::Runtime::new().unwrap();
    let server = serving.block_on(Scripted::start(&[]));
    let remote = server.remote();
    let runtimes = [(); 2].map(|()| {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    });
    for runtime in [&runtimes[0], &runtimes[1], &runtimes[0]] {
        runtime.block_on(remote.update_item(update())).unwrap();
    }
    assert_eq!((server.bodies().len(), server.connections()), (3, 2));
}

/// Each client's retries are limited, so that an overloaded endpoint does not get four times as many
/// requests.
#[tokio::test]
async fn an_endpoint_that_throttles_everyone_is_not_asked_four_times_by_everyone() {
    let server = Scripted::start(&[THROTTLED; 1000]).await;
    let remote = server.remote();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let remote = remote.clone();
        tasks.spawn(async move { remote.update_item(update()).await.unwrap_err() });
    }
    while let Some(error) = tasks.join_next().await {
        assert_eq!(error.unwrap().kind(), ErrorKind::ProvisionedThroughputExceeded);
    }
    assert_eq!(
        server.bodies().len(),
        100 + 100,
        "100 tries, and 100 more for all of them"
    );
}

#[tokio::test]
async fn a_transaction_that_is_still_carried_out_is_sent_again_and_recognised() {
    let in_progress = Act::Answer(
        400,
        r#"{"__type":"com.amazonaws.dynamodb.v20120810#TransactionInProgressException","message":"still working"}"#,
    );
    let server = Scripted::start(&[in_progress]).await;
    let request = TransactWriteItems::default();
    server.remote().transact_write_items(request).await.unwrap();
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0], bodies[1], "with the same token");
}
