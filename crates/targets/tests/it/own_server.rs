//! SQS by URL, where the queue is one of Trestle's own server, which verifies signatures.

use crate::batches::{NOW_S, batch, open};
use serde_json::json;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use tokio::sync::oneshot;
use trestle_engine::{Engine, Options};
use trestle_env::{Clock, Timestamp, VirtualClock};
use trestle_events::Outcome;
use trestle_queue::{QueueAttributes, Queues, Receive};
use trestle_server::{AccessKey, Hooks, KeyGrant, Server, Settings};
use trestle_store::MemoryStore;

/// Runs a test with a server that has one queue, `changes`, for callers with the secret.
async fn beside_a_server<F: Future<Output = ()>>(secret: &str, test: impl FnOnce(String, Queues) -> F) {
    let clock: Arc<dyn Clock> = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(NOW_S)));
    let engine = Engine::on(
        Arc::new(MemoryStore::new()),
        Arc::clone(&clock),
        Options::default(),
    )
    .unwrap();
    let queues = Queues::new(
        Arc::new(engine.clone()),
        Arc::clone(&clock),
        trestle_queue::Settings::default(),
    );
    queues
        .create("changes", &QueueAttributes::default(), &BTreeMap::new())
        .await
        .unwrap();
    let hooks = Hooks {
        clock,
        queues: Some(queues.clone()),
        ..Hooks::default()
    };
    let settings = Settings {
        port: 0,
        access_keys: vec![KeyGrant::everything(AccessKey {
            id: "AKIDEXAMPLE".to_owned(),
            secret: secret.to_owned(),
        })],
        ..Settings::default()
    };
    let server = Server::bind(&settings, Arc::new(engine), hooks).await.unwrap();
    let endpoint = server.endpoint();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = server.run(async {
        let _ = stopped.await;
    });
    let testing = async {
        test(endpoint, queues).await;
        drop(stop);
    };
    tokio::join!(serving, testing);
}

#[tokio::test]
async fn messages_arrive_in_a_queue_of_our_own() {
    beside_a_server("hush", async |endpoint, queues| {
        let target = open(json!({"sqs": format!("{endpoint}/000000000000/changes")}));
        assert_eq!(target.deliver(&batch(12)).await, Outcome::Done);
        let mut received = Vec::new();
        while received.len() < 12 {
            let receive = Receive {
                max: 10,
                ..Receive::default()
            };
            let messages = queues.receive("changes", receive).await.unwrap();
            assert!(!messages.is_empty());
            received.extend(messages.into_iter().map(|message| {
                let id = message.attributes["id"].string_value.clone().unwrap();
                (id, message.body)
            }));
        }
        received.sort();
        assert_eq!(
            received[11],
            ("r/9".to_owned(), r#"{"key":"item 9","number":9}"#.to_owned())
        );
    })
    .await;
}

#[tokio::test]
async fn a_wrong_secret_and_a_missing_queue_blame_no_record() {
    beside_a_server("another", async |endpoint, _| {
        let target = open(json!({"sqs": format!("{endpoint}/000000000000/changes")}));
        let outcome = target.deliver(&batch(1)).await;
        let Outcome::Unavailable(reason) = outcome else {
            panic!("not signed by a key of the server: {outcome:?}");
        };
        assert!(reason.contains("InvalidSignature"), "{reason}");
    })
    .await;
    beside_a_server("hush", async |endpoint, _| {
        let target = open(json!({"sqs": format!("{endpoint}/000000000000/elsewhere")}));
        let outcome = target.deliver(&batch(1)).await;
        let Outcome::Unavailable(reason) = outcome else {
            panic!("there is no such queue: {outcome:?}");
        };
        assert!(reason.contains("QueueDoesNotExist"), "{reason}");
    })
    .await;
}
