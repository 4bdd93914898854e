//! Queues through the SDK's SQS client: each operation.

use crate::support::endpoint;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message, MessageAttributeValue,
    MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};
use std::sync::atomic::{AtomicU32, Ordering};

static QUEUES: AtomicU32 = AtomicU32::new(0);

fn client() -> Client {
    Client::from_conf(
        Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("anybody", "anything", None, None, "test"))
            .endpoint_url(endpoint())
            .retry_config(RetryConfig::disabled())
            .http_client(aws_smithy_http_client::Builder::new().build_http())
            .build(),
    )
}

fn name() -> String {
    let number = QUEUES.fetch_add(1, Ordering::Relaxed);
    format!("rust{}n{number}", std::process::id())
}

async fn queue(client: &Client, attributes: &[(QueueAttributeName, &str)]) -> String {
    let mut request = client.create_queue().queue_name(name());
    for (name, value) in attributes {
        request = request.attributes(name.clone(), *value);
    }
    request.send().await.unwrap().queue_url.unwrap()
}

async fn receive(client: &Client, url: &str) -> Vec<Message> {
    let request = client
        .receive_message()
        .queue_url(url)
        .max_number_of_messages(10)
        .message_attribute_names("All")
        .message_system_attribute_names(MessageSystemAttributeName::All);
    request.send().await.unwrap().messages.unwrap_or_default()
}

async fn attribute(client: &Client, url: &str, name: QueueAttributeName) -> String {
    let request = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(name.clone());
    let answer = request.send().await.unwrap();
    answer.attributes.unwrap_or_default().remove(&name).unwrap()
}

fn bodies(messages: &[Message]) -> Vec<&str> {
    messages.iter().filter_map(Message::body).collect()
}

#[tokio::test]
async fn queues_are_made_found_listed_tagged_and_deleted() {
    let client = client();
    let url = queue(&client, &[(QueueAttributeName::VisibilityTimeout, "7")]).await;
    let name = url.rsplit('/').next().unwrap();
    let found = client.get_queue_url().queue_name(name).send().await.unwrap();
    assert_eq!(found.queue_url(), Some(url.as_str()));
    let listed = client.list_queues().queue_name_prefix(name).send().await.unwrap();
    assert_eq!(listed.queue_urls(), std::slice::from_ref(&url));

    let set = client
        .set_queue_attributes()
        .queue_url(&url)
        .attributes(QueueAttributeName::DelaySeconds, "1");
    set.send().await.unwrap();
    assert_eq!(
        attribute(&client, &url, QueueAttributeName::DelaySeconds).await,
        "1"
    );
    assert_eq!(
        attribute(&client, &url, QueueAttributeName::VisibilityTimeout).await,
        "7"
    );

    let tag = client.tag_queue().queue_url(&url).tags("a", "1").tags("b", "2");
    tag.send().await.unwrap();
    client
        .untag_queue()
        .queue_url(&url)
        .tag_keys("a")
        .send()
        .await
        .unwrap();
    let tags = client
        .list_queue_tags()
        .queue_url(&url)
        .send()
        .await
        .unwrap()
        .tags
        .unwrap();
    assert_eq!(tags, [("b".to_owned(), "2".to_owned())].into());

    client.delete_queue().queue_url(&url).send().await.unwrap();
    let gone = client.get_queue_url().queue_name(name).send().await.unwrap_err();
    assert!(gone.into_service_error().is_queue_does_not_exist());
}

#[tokio::test]
async fn a_message_is_sent_received_given_back_and_deleted() {
    let client = client();
    let url = queue(&client, &[]).await;
    let value = |kind: &str| MessageAttributeValue::builder().data_type(kind);
    let sent = client
        .send_message()
        .queue_url(&url)
        .message_body("hello")
        .message_attributes("text", value("String").string_value("größer").build().unwrap())
        .message_attributes(
            "bytes",
            value("Binary").binary_value(Blob::new([0, 255])).build().unwrap(),
        )
        .send()
        .await
        .unwrap();
    assert_eq!(
        sent.md5_of_message_body(),
        Some("5d41402abc4b2a76b9719d911017c592")
    );

    let [got] = &receive(&client, &url).await[..] else {
        panic!("one message was sent");
    };
    assert_eq!((got.message_id(), got.body()), (sent.message_id(), Some("hello")));
    assert_eq!(got.md5_of_message_attributes(), sent.md5_of_message_attributes());
    let attributes = got.message_attributes().unwrap();
    assert_eq!(attributes["text"].string_value(), Some("größer"));
    assert_eq!(attributes["bytes"].binary_value(), Some(&Blob::new([0, 255])));
    let count = MessageSystemAttributeName::ApproximateReceiveCount;
    assert_eq!(got.attributes().unwrap()[&count], "1");

    let handle = got.receipt_handle().unwrap();
    let give_back = client
        .change_message_visibility()
        .queue_url(&url)
        .receipt_handle(handle)
        .visibility_timeout(0);
    give_back.send().await.unwrap();
    let again = receive(&client, &url).await;
    let handle = again[0].receipt_handle().unwrap();
    let delete = client.delete_message().queue_url(&url).receipt_handle(handle);
    delete.send().await.unwrap();
    let left = QueueAttributeName::ApproximateNumberOfMessagesNotVisible;
    assert_eq!(attribute(&client, &url, left).await, "0");
    let nonsense = client.delete_message().queue_url(&url).receipt_handle("nonsense");
    let refused = nonsense.send().await.unwrap_err().into_service_error();
    assert!(refused.is_receipt_handle_is_invalid());
}

#[tokio::test]
async fn batches_say_what_became_of_each_entry() {
    let client = client();
    let url = queue(&client, &[]).await;
    let entry = |id: &str, body: &str| {
        let entry = SendMessageBatchRequestEntry::builder().id(id).message_body(body);
        entry.build().unwrap()
    };
    let entries = vec![entry("a", "1"), entry("b", "2"), entry("c", "\u{1}")];
    let sent = client
        .send_message_batch()
        .queue_url(&url)
        .set_entries(Some(entries))
        .send()
        .await
        .unwrap();
    assert_eq!((sent.successful().len(), sent.failed().len()), (2, 1));
    assert_eq!(sent.failed()[0].code(), "InvalidMessageContents");

    let got = receive(&client, &url).await;
    assert_eq!(bodies(&got), ["1", "2"]);
    let handle = |n: usize| got[n].receipt_handle().unwrap();
    let change = ChangeMessageVisibilityBatchRequestEntry::builder()
        .id("x")
        .visibility_timeout(0);
    let changed = client
        .change_message_visibility_batch()
        .queue_url(&url)
        .entries(change.receipt_handle(handle(1)).build().unwrap())
        .send()
        .await
        .unwrap();
    assert_eq!(changed.successful().len(), 1);
    let again = receive(&client, &url).await;
    assert_eq!(bodies(&again), ["2"]);

    let entry = |id: &str, handle: &str| {
        let entry = DeleteMessageBatchRequestEntry::builder()
            .id(id)
            .receipt_handle(handle);
        entry.build().unwrap()
    };
    let deleted = client
        .delete_message_batch()
        .queue_url(&url)
        .entries(entry("a", handle(0)))
        .entries(entry("b", again[0].receipt_handle().unwrap()))
        .send()
        .await
        .unwrap();
    assert_eq!((deleted.successful().len(), deleted.failed().len()), (2, 0));
    let empty = client
        .send_message_batch()
        .queue_url(&url)
        .set_entries(Some(Vec::new()));
    let refused = empty.send().await.unwrap_err().into_service_error();
    assert!(refused.is_empty_batch_request());
}

#[tokio::test]
async fn whoever_waits_gets_a_message_sent_meanwhile() {
    let client = client();
    let url = queue(
        &client,
        &[(QueueAttributeName::ReceiveMessageWaitTimeSeconds, "20")],
    )
    .await;
    let (got, sent) = tokio::join!(
        receive(&client, &url),
        client.send_message().queue_url(&url).message_body("now").send()
    );
    sent.unwrap();
    assert_eq!(bodies(&got), ["now"]);
}

#[tokio::test]
async fn a_purge_empties_a_queue() {
    let client = client();
    let url = queue(&client, &[]).await;
    client
        .send_message()
        .queue_url(&url)
        .message_body("a")
        .send()
        .await
        .unwrap();
    client.purge_queue().queue_url(&url).send().await.unwrap();
    assert!(receive(&client, &url).await.is_empty());
    let again = client.purge_queue().queue_url(&url).send().await.unwrap_err();
    assert!(again.into_service_error().is_purge_queue_in_progress());
}

#[tokio::test]
async fn dead_letters_move_there_and_back() {
    let client = client();
    let dead = queue(&client, &[]).await;
    let dead_arn = attribute(&client, &dead, QueueAttributeName::QueueArn).await;
    let policy = format!(r#"{{"deadLetterTargetArn":"{dead_arn}","maxReceiveCount":1}}"#);
    let work = queue(
        &client,
        &[
            (QueueAttributeName::RedrivePolicy, &policy),
            (QueueAttributeName::VisibilityTimeout, "0"),
        ],
    )
    .await;
    let sources = client
        .list_dead_letter_source_queues()
        .queue_url(&dead)
        .send()
        .await
        .unwrap();
    assert_eq!(sources.queue_urls(), std::slice::from_ref(&work));
    client
        .send_message()
        .queue_url(&work)
        .message_body("poison")
        .send()
        .await
        .unwrap();
    assert_eq!(bodies(&receive(&client, &work).await), ["poison"]);
    assert!(receive(&client, &work).await.is_empty());

    let start = client.start_message_move_task().source_arn(&dead_arn).send();
    let handle = start.await.unwrap().task_handle.unwrap();
    let task = loop {
        let list = client.list_message_move_tasks().source_arn(&dead_arn).send();
        let task = list.await.unwrap().results.unwrap().remove(0);
        if task.status() != Some("RUNNING") {
            break task;
        }
    };
    assert_eq!(task.status(), Some("COMPLETED"));
    assert_eq!(task.approximate_number_of_messages_moved(), 1);
    assert_eq!(bodies(&receive(&client, &work).await), ["poison"]);
    let cancel = client.cancel_message_move_task().task_handle(handle).send();
    assert!(
        cancel
            .await
            .unwrap_err()
            .into_service_error()
            .is_unsupported_operation()
    );
}

#[tokio::test]
async fn permissions_are_kept_in_the_policy() {
    let client = client();
    let url = queue(&client, &[]).await;
    let add = client
        .add_permission()
        .queue_url(&url)
        .label("readers")
        .aws_account_ids("111122223333")
        .actions("ReceiveMessage");
    add.send().await.unwrap();
    let policy = policy_of(&client, &url).await.unwrap();
    assert!(
        policy.contains("readers") && policy.contains("ReceiveMessage"),
        "{policy}"
    );
    let remove = client.remove_permission().queue_url(&url).label("readers");
    remove.send().await.unwrap();
    assert!(
        policy_of(&client, &url)
            .await
            .is_none_or(|policy| !policy.contains("readers"))
    );
}

async fn policy_of(client: &Client, url: &str) -> Option<String> {
    let asked = client.get_queue_attributes().queue_url(url);
    let found = asked
        .attribute_names(QueueAttributeName::Policy)
        .send()
        .await
        .unwrap();
    found.attributes()?.get(&QueueAttributeName::Policy).cloned()
}
