//! SQS by URL, with an endpoint that records its requests.

use crate::batches::{batch, batch_of, open, try_open};
use crate::server::{Received, Reply, Server, reply};
use crate::signed::assert_signed;
use serde_json::{Value, json};
use std::sync::Arc;
use trestle_env::SystemClock;
use trestle_events::{Batch, Delivery, Outcome};
use trestle_targets::Surroundings;

const PATH: &str = "/000000000000/changes";

fn entries(received: &Received) -> Vec<Value> {
    received.json()["Entries"].as_array().unwrap().clone()
}

/// Accepts all messages except those whose body the test refuses.
fn take(received: &Received, objection: impl Fn(&str) -> Option<Value>) -> Reply {
    let (mut successful, mut failed) = (Vec::new(), Vec::new());
    for entry in entries(received) {
        let result = json!({"Id": entry["Id"], "MessageId": "m", "MD5OfMessageBody": "d"});
        match objection(entry["MessageBody"].as_str().unwrap()) {
            None => successful.push(result),
            Some(Value::Object(mut failure)) => {
                failure.insert("Id".to_owned(), entry["Id"].clone());
                failed.push(Value::Object(failure));
            }
            Some(other) => panic!("{other}"),
        }
    }
    reply(
        200,
        json!({"Successful": successful, "Failed": failed}).to_string(),
    )
}

async fn outcome_of(
    answer: impl Fn(&Received) -> Reply + Send + Sync + 'static,
    batch: &Batch,
) -> (Outcome, Server) {
    let server = Server::start(answer).await;
    let target = open(json!({"sqs": server.url(PATH)}));
    (target.deliver(batch).await, server)
}

#[tokio::test]
async fn messages_are_sent_ten_at_a_time_and_signed() {
    let (outcome, server) = outcome_of(|received| take(received, |_| None), &batch(25)).await;
    assert_eq!(outcome, Outcome::Done);
    let calls = server.received();
    let counts: Vec<usize> = calls.iter().map(|call| entries(call).len()).collect();
    assert_eq!(counts, [10, 10, 5]);
    let call = &calls[0];
    assert_eq!(call.path, "/");
    assert_eq!(call.header("x-amz-target"), Some("AmazonSQS.SendMessageBatch"));
    assert_eq!(call.header("content-type"), Some("application/x-amz-json-1.0"));
    assert_eq!(call.json()["QueueUrl"], json!(server.url(PATH)));
    assert_eq!(
        entries(call)[3],
        json!({
            "Id": "3",
            "MessageBody": r#"{"key":"item 3","number":3}"#,
            "MessageAttributes": {
                "route": {"DataType": "String", "StringValue": "r"},
                "id": {"DataType": "String", "StringValue": "r/3"},
            },
        })
    );
    for call in &calls {
        assert_signed(call, "sqs", "eu-west-2");
    }
}

#[tokio::test]
async fn a_call_stays_below_the_limit_of_its_bytes() {
    let mut large = batch(5);
    for delivery in &mut large.deliveries {
        let change = (*delivery.change).clone();
        *delivery = Delivery::new(&*delivery.id, change, 1, json!("x".repeat(100_000)));
    }
    let (outcome, server) = outcome_of(|received| take(received, |_| None), &large).await;
    assert_eq!(outcome, Outcome::Done);
    let counts: Vec<usize> = server.received().iter().map(|call| entries(call).len()).collect();
    assert_eq!(counts, [2, 2, 1]);
}

#[tokio::test]
async fn messages_that_were_not_taken_are_named() {
    let objection = |body: &str| {
        body.contains("item 3\"")
            .then(|| json!({"SenderFault": true, "Code": "InvalidMessageContents", "Message": "odd letters"}))
    };
    let (outcome, _) = outcome_of(move |received| take(received, objection), &batch(12)).await;
    let reason = "InvalidMessageContents odd letters".to_owned();
    assert_eq!(outcome, Outcome::Partly(vec![("r/3".to_owned(), reason)]));
}

#[tokio::test]
async fn nothing_overtakes_an_earlier_change_of_its_item() {
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "a", "b"];
    let objection = |body: &str| {
        body.contains("\"number\":0}")
            .then(|| json!({"SenderFault": true, "Code": "Odd", "Message": ""}))
    };
    let (outcome, server) = outcome_of(move |received| take(received, objection), &batch_of(&keys)).await;
    let behind = "an earlier change of the same item was not taken".to_owned();
    assert_eq!(
        outcome,
        Outcome::Partly(vec![
            ("r/0".to_owned(), "Odd".to_owned()),
            ("r/10".to_owned(), behind)
        ])
    );
    assert_eq!(entries(&server.received()[1]).len(), 1);
}

#[tokio::test]
async fn a_queue_that_takes_nothing_fails_and_one_that_throttles_is_unavailable() {
    let objection =
        |_: &str| Some(json!({"SenderFault": false, "Code": "InternalError", "Message": "later"}));
    let (outcome, _) = outcome_of(move |received| take(received, objection), &batch(12)).await;
    assert_eq!(outcome, Outcome::Failed("InternalError later".to_owned()));
    let objection =
        |_: &str| Some(json!({"SenderFault": false, "Code": "RequestThrottled", "Message": "slower"}));
    let (outcome, _) = outcome_of(move |received| take(received, objection), &batch(12)).await;
    assert_eq!(
        outcome,
        Outcome::Unavailable("RequestThrottled slower".to_owned())
    );
}

#[tokio::test]
async fn trouble_that_is_not_the_records_fault_is_unavailable() {
    for (status, kind) in [
        (400, "com.amazonaws.sqs#QueueDoesNotExist"),
        (400, "RequestThrottled"),
        (403, "InvalidClientTokenId"),
        (403, "AccessDenied"),
        (503, ""),
        (500, "ThrottlingException"),
    ] {
        let body = json!({"__type": kind, "message": "no"}).to_string();
        let (outcome, _) = outcome_of(move |_| reply(status, body.clone()), &batch(2)).await;
        assert!(matches!(outcome, Outcome::Unavailable(_)), "{kind}: {outcome:?}");
    }
    let (outcome, _) = outcome_of(|_| reply(200, "{}"), &batch(1)).await;
    assert!(matches!(outcome, Outcome::Unavailable(_)), "{outcome:?}");
}

#[tokio::test]
async fn a_service_that_fails_may_have_failed_because_of_a_record() {
    for body in [
        json!({"__type": "InternalFailure"}).to_string(),
        "<html>".to_owned(),
    ] {
        let (outcome, _) = outcome_of(move |_| reply(500, body.clone()), &batch(2)).await;
        assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_json_says_what_was_expected_what_came_and_what_to_do() {
    for status in [200, 404] {
        let server = Server::start(move |_| reply(status, "<html>\n<body>buckets")).await;
        let unsigned = Surroundings::with_variables(Arc::new(SystemClock::new()), |_| None);
        let target = try_open(json!({"sqs": server.url(PATH)}), &unsigned).unwrap();
        let Outcome::Unavailable(reason) = target.deliver(&batch(1)).await else {
            panic!("no queue is there");
        };
        let said = status.to_string();
        for part in [
            &*said,
            "AmazonSQS.SendMessageBatch",
            "check that the URL",
            "AWS_ACCESS_KEY_ID",
            r#""<html>\n<body>buckets""#,
        ] {
            assert!(reason.contains(part), "{part}: {reason}");
        }
        assert_eq!(reason.lines().count(), 1, "{reason}");
        // For a signed request, the advice about credentials would be wrong.
        let target = open(json!({"sqs": server.url(PATH)}));
        let Outcome::Unavailable(reason) = target.deliver(&batch(1)).await else {
            panic!("no queue is there");
        };
        assert!(!reason.contains("AWS_ACCESS_KEY_ID"), "{reason}");
    }
}

#[tokio::test]
async fn what_a_queue_throttled_comes_again_and_what_it_refused_does_not() {
    let objection = |body: &str| {
        let fault = |code: &str, is_senders: bool| {
            Some(json!({"SenderFault": is_senders, "Code": code, "Message": ""}))
        };
        match () {
            () if body.contains("item 1\"") => fault("RequestThrottled", false),
            () if body.contains("item 2\"") => fault("Odd", true),
            () => None,
        }
    };
    let (outcome, _) = outcome_of(move |received| take(received, objection), &batch(4)).await;
    let expected = Outcome::Interrupted {
        refused: vec![("r/2".to_owned(), "Odd".to_owned())],
        later: vec!["r/1".to_owned()],
        reason: "RequestThrottled".to_owned(),
    };
    assert_eq!(outcome, expected);
}

#[tokio::test]
async fn trouble_with_the_records_refuses_them() {
    let body = json!({"__type": "com.amazon.coral.service#InvalidParameterValueException", "message": "odd"});
    let (outcome, _) = outcome_of(move |_| reply(400, body.to_string()), &batch(2)).await;
    assert!(matches!(outcome, Outcome::Refused(_)), "{outcome:?}");
    let body = json!({"__type": "com.amazonaws.sqs#BatchRequestTooLong", "message": "too long"}).to_string();
    let (outcome, _) = outcome_of(move |_| reply(400, body.clone()), &batch(2)).await;
    assert_eq!(
        outcome,
        Outcome::Refused("answered 400 Bad Request: BatchRequestTooLong too long".to_owned())
    );
}

#[tokio::test]
async fn what_was_sent_before_the_queue_went_away_counts() {
    let answer = |received: &Received| {
        if received.json()["Entries"][0]["MessageBody"]
            .as_str()
            .unwrap()
            .contains("item 10")
        {
            reply(503, "")
        } else {
            take(received, |_| None)
        }
    };
    let (outcome, server) = outcome_of(answer, &batch(25)).await;
    let Outcome::Interrupted { refused, later, .. } = outcome else {
        panic!("ten were taken: {outcome:?}");
    };
    assert_eq!(refused, []);
    let expected: Vec<String> = (10..25).map(|number| format!("r/{number}")).collect();
    assert_eq!(later, expected);
    assert_eq!(server.received().len(), 2);
}

#[tokio::test]
async fn a_fifo_queue_gets_groups_by_item_and_deduplication_by_change() {
    let server = Server::start(|received| take(received, |_| None)).await;
    let target = open(json!({"sqs": server.url("/000000000000/changes.fifo")}));
    assert_eq!(target.deliver(&batch_of(&["a", "b", "a"])).await, Outcome::Done);
    let sent = entries(&server.received()[0]);
    assert_eq!(sent[0]["MessageGroupId"], sent[2]["MessageGroupId"]);
    assert_ne!(sent[0]["MessageGroupId"], sent[1]["MessageGroupId"]);
    assert_ne!(
        sent[0]["MessageDeduplicationId"],
        sent[2]["MessageDeduplicationId"]
    );
}

#[tokio::test]
async fn without_credentials_a_local_endpoint_is_called_unsigned() {
    let server = Server::start(|received| take(received, |_| None)).await;
    let surroundings = Surroundings::with_variables(Arc::new(SystemClock::new()), |_| None);
    let target = try_open(json!({"sqs": server.url(PATH)}), &surroundings).unwrap();
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    assert_eq!(server.received()[0].header("authorization"), None);
}
