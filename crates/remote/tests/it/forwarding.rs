//! Reads whose bytes are forwarded unchanged.

use crate::own_server::{Own, table};
use crate::scripted::{Act, Scripted};
use bytes::Bytes;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use trestle_api::{Database, DatabaseExt, OperationName, PutItem, Response};
use trestle_item::Item;
use trestle_remote::Remote;
use trestle_server::{Hooks, Server, Settings};

/// With a space that Trestle's serializer does not write.
const GET: &str = r#"{"TableName": "things","Key":{"pk":{"S":"a"},"sk":{"S":"1"}}}"#;
const FOUND: &str = r#"{"Item": {"pk":{"S":"a"}}}"#;
const REFUSED: Act = Act::Answer(
    400,
    r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"in other words"}"#,
);

async fn forwarded(remote: &Remote, operation: OperationName, body: &'static str) -> Option<Bytes> {
    remote
        .forward(operation, &Bytes::from_static(body.as_bytes()))?
        .await
}

#[tokio::test]
async fn a_plain_read_is_answered_with_the_bytes_of_the_endpoint() {
    let own = Own::start().await;
    own.engine.create_table(table("things")).await.unwrap();
    let put = PutItem {
        table_name: "things".to_owned(),
        item: Item::from([("pk", "a"), ("sk", "1")]),
        ..PutItem::default()
    };
    own.engine.put_item(put.clone()).await.unwrap();
    let bytes = forwarded(&own.remote(), OperationName::GetItem, GET)
        .await
        .unwrap();
    let answer = trestle_wire::decode_response(OperationName::GetItem, &bytes).unwrap();
    let Response::GetItem(answer) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(answer.item, Some(put.item));
}

#[tokio::test]
async fn what_is_refused_or_lost_is_left_to_a_request_of_its_own() {
    for act in [
        REFUSED,
        Act::Answer(500, "{}"),
        Act::AnswerOther(FOUND),
        Act::HangUp,
        Act::HangUpWithin,
    ] {
        let server = Scripted::start(&[act]).await;
        let answer = forwarded(&server.remote(), OperationName::GetItem, GET).await;
        assert_eq!(answer, None, "{act:?}");
        assert_eq!(server.bodies(), [GET], "{act:?}: it is tried once");
    }
}

#[tokio::test]
async fn what_writes_or_is_counted_is_never_sent_as_it_came() {
    let server = Scripted::start(&[]).await;
    let counted = r#"{"TableName":"things","Key":{"pk":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL"}"#;
    let remote = server.remote();
    for (operation, body) in [
        (OperationName::PutItem, GET),
        (OperationName::DeleteItem, GET),
        (OperationName::GetItem, counted),
    ] {
        assert_eq!(forwarded(&remote, operation, body).await, None);
    }
    assert_eq!(server.bodies(), [""; 0]);
}

/// The body of the answer of a server in front of an endpoint.
async fn answer_before(endpoint: &Scripted, body: &str) -> String {
    let settings = Settings {
        port: 0,
        ..Settings::default()
    };
    let server = Server::bind(&settings, Arc::new(endpoint.remote()), Hooks::default())
        .await
        .unwrap();
    let address = server.endpoint().replace("http://", "");
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        let until = async {
            let _ = stopped.await;
        };
        server.run(until).await;
    });
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX-Amz-Target: DynamoDB_20120810.GetItem\r\n\
         Content-Type: application/x-amz-json-1.0\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    drop(stop);
    serving.await.unwrap();
    answer.split_once("\r\n\r\n").unwrap().1.to_owned()
}

#[tokio::test]
async fn a_server_before_an_endpoint_sends_reads_on_as_they_are() {
    let endpoint = Scripted::start(&[Act::Answer(200, FOUND)]).await;
    assert_eq!(answer_before(&endpoint, GET).await, FOUND);
    assert_eq!(endpoint.bodies(), [GET]);
}

#[tokio::test]
async fn a_server_before_an_endpoint_refuses_in_its_own_words() {
    let malformed = r#"{"TableName": "things","Key":{"pk":{"S":7}}}"#;
    let endpoint = Scripted::start(&[REFUSED]).await;
    let answer = answer_before(&endpoint, malformed).await;
    assert!(answer.contains("SerializationException"), "{answer}");
    assert!(!answer.contains("in other words"), "{answer}");
}

#[tokio::test]
async fn an_answer_that_is_none_is_asked_for_again() {
    let endpoint = Scripted::start(&[Act::Answer(200, "<html>"), Act::Answer(200, FOUND)]).await;
    assert_eq!(
        answer_before(&endpoint, GET).await,
        r#"{"Item":{"pk":{"S":"a"}}}"#
    );
    assert_eq!(endpoint.bodies().len(), 2);
}
