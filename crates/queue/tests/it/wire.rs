//! SQS's JSON, as clients send it.

use serde_json::{Value, json};
use trestle_queue::sqs::{self, Caller};
use trestle_queue::{ErrorCode, QueueError};

use crate::support::Fixture;

/// A client of queues.
struct Client {
    fixture: Fixture,
    trace_header: Option<&'static str>,
}

impl Client {
    async fn new() -> Self {
        Self {
            fixture: Fixture::with_queue(&[]).await,
            trace_header: None,
        }
    }

    async fn call(&self, operation: &str, body: Value) -> Result<Value, QueueError> {
        let caller = Caller {
            origin: "http://127.0.0.1:8000",
            trace_header: self.trace_header,
        };
        let queues = &self.fixture.queues;
        let answer = sqs::answer(queues, operation.parse()?, body.to_string().as_bytes(), caller).await?;
        Ok(serde_json::from_slice(&answer).unwrap())
    }

    async fn refused(&self, operation: &str, body: Value) -> QueueError {
        self.call(operation, body).await.unwrap_err()
    }
}

fn send(more: Value) -> Value {
    merged(json!({"QueueUrl": "work", "MessageBody": "x"}), more)
}

fn merged(mut body: Value, more: Value) -> Value {
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

#[tokio::test]
async fn the_header_of_a_trace_becomes_the_attribute_of_its_messages() {
    let mut client = Client::new().await;
    client.trace_header = Some("Root=1-a;Sampled=1");
    let sent = client.call("SendMessage", send(json!({}))).await.unwrap();
    assert_eq!(sent.get("MD5OfMessageSystemAttributes"), None);
    let own = json!({"AWSTraceHeader": {"DataType": "String", "StringValue": "own"}});
    let entries = json!([
        {"Id": "a", "MessageBody": "batch"},
        {"Id": "b", "MessageBody": "own", "MessageSystemAttributes": own},
    ]);
    let sent = client
        .call(
            "SendMessageBatch",
            json!({"QueueUrl": "work", "Entries": entries}),
        )
        .await
        .unwrap();
    // Without failures there is no list of failures.
    assert_eq!(
        (sent["Successful"].as_array().unwrap().len(), sent.get("Failed")),
        (2, None)
    );
    let asked = json!({"QueueUrl": "work", "MaxNumberOfMessages": 10, "AttributeNames": ["AWSTraceHeader"]});
    let got = client.call("ReceiveMessage", asked).await.unwrap();
    let headers: Vec<&str> = (0..3)
        .map(|n| {
            got["Messages"][n]["Attributes"]["AWSTraceHeader"]
                .as_str()
                .unwrap()
        })
        .collect();
    assert_eq!(headers, ["Root=1-a;Sampled=1", "Root=1-a;Sampled=1", "own"]);
}

#[tokio::test]
async fn a_group_is_checked_on_a_standard_queue_too() {
    let client = Client::new().await;
    for group in ["", "group 123", &"a".repeat(129), "tab\u{8}"] {
        let error = client
            .refused("SendMessage", send(json!({"MessageGroupId": group})))
            .await;
        assert_eq!(
            error.message(),
            format!(
                "Value {group} for parameter MessageGroupId is invalid. Reason: MessageGroupId can only include \
                 alphanumeric and punctuation characters. 1 to 128 in length."
            )
        );
    }
    client
        .call("SendMessage", send(json!({"MessageGroupId": "a!~9"})))
        .await
        .unwrap();
}

#[tokio::test]
async fn permissions_are_kept_in_the_policy() {
    let client = Client::new().await;
    let permission = json!({
        "QueueUrl": "work", "Label": "l", "AWSAccountIds": ["111111111111"], "Actions": ["SendMessage"],
    });
    client.call("AddPermission", permission).await.unwrap();
    let asked = json!({"QueueUrl": "work", "AttributeNames": ["Policy"]});
    let shown = client.call("GetQueueAttributes", asked.clone()).await.unwrap();
    let policy: Value = serde_json::from_str(shown["Attributes"]["Policy"].as_str().unwrap()).unwrap();
    assert_eq!(policy["Statement"][0]["Action"], "SQS:SendMessage");
    let label = json!({"QueueUrl": "work", "Label": "l"});
    client.call("RemovePermission", label.clone()).await.unwrap();
    assert_eq!(client.call("GetQueueAttributes", asked).await, Ok(json!({})));
    let gone = client.refused("RemovePermission", label).await;
    assert!(gone.message().ends_with("can't find label."));
}

#[tokio::test]
async fn statuses_are_those_of_sqs() {
    let client = Client::new().await;
    let missing = "arn:aws:sqs:us-east-1:000000000000:none";
    for (operation, body) in [
        ("StartMessageMoveTask", json!({"SourceArn": missing})),
        ("ListMessageMoveTasks", json!({"SourceArn": missing})),
    ] {
        let error = client.refused(operation, body).await;
        assert_eq!(sqs::error_answer(&error).status, 404, "{operation}");
    }
    let unreadable = client
        .refused("CancelMessageMoveTask", json!({"TaskHandle": "x"}))
        .await;
    assert_eq!(
        (unreadable.code(), unreadable.message()),
        (
            ErrorCode::InvalidParameterValue,
            "Value for parameter TaskHandle is invalid."
        )
    );
    let purge = json!({"QueueUrl": "work"});
    client.call("PurgeQueue", purge.clone()).await.unwrap();
    let again = client.refused("PurgeQueue", purge).await;
    assert_eq!(sqs::error_answer(&again).status, 403);
}
