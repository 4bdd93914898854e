//! Streams, through the SDK's separate client for them.

use crate::support::{client, endpoint, number, table, text};
use aws_sdk_dynamodb::types::{StreamSpecification, StreamViewType};
use aws_sdk_dynamodbstreams::Client;
use aws_sdk_dynamodbstreams::config::retry::RetryConfig;
use aws_sdk_dynamodbstreams::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodbstreams::types::{OperationType, ShardIteratorType};

fn streams_client() -> Client {
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

#[tokio::test]
async fn a_change_is_read_from_the_stream() {
    let (client, streams) = (client(), streams_client());
    let stream = || {
        StreamSpecification::builder()
            .stream_enabled(true)
            .stream_view_type(StreamViewType::NewImage)
    };
    let name = table(&client, |request| {
        request.stream_specification(stream().build().unwrap())
    })
    .await;
    client
        .put_item()
        .table_name(&name)
        .item("pk", text("a"))
        .item("sk", number(1))
        .send()
        .await
        .unwrap();

    let described = client.describe_table().table_name(&name).send().await.unwrap();
    let arn = described
        .table()
        .and_then(|table| table.latest_stream_arn())
        .unwrap();
    let shards = streams.describe_stream().stream_arn(arn).send().await.unwrap();
    let mut events = Vec::new();
    for shard in shards.stream_description().unwrap().shards() {
        let start = streams
            .get_shard_iterator()
            .stream_arn(arn)
            .shard_id(shard.shard_id().unwrap())
            .shard_iterator_type(ShardIteratorType::TrimHorizon);
        let iterator = start.send().await.unwrap().shard_iterator.unwrap();
        let records = streams
            .get_records()
            .shard_iterator(iterator)
            .send()
            .await
            .unwrap();
        events.extend(
            records
                .records()
                .iter()
                .filter_map(|record| record.event_name().cloned()),
        );
    }
    assert_eq!(events, [OperationType::Insert]);
}
