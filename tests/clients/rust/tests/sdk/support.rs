//! Clients without retries, which would hide a wrong answer, and tables with a key of text.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{BehaviorVersion, Config, Credentials, Region};
use aws_sdk_dynamodb::operation::create_table::builders::CreateTableFluentBuilder;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

static TABLES: AtomicU32 = AtomicU32::new(0);

pub fn endpoint() -> String {
    std::env::var("TRESTLE_ENDPOINT").unwrap_or_else(|_| "http://127.0.0.1:8000".to_owned())
}

pub fn client() -> Client {
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

pub fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

pub fn number(value: impl ToString) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn attribute(name: &str, kind: ScalarAttributeType) -> AttributeDefinition {
    AttributeDefinition::builder()
        .attribute_name(name)
        .attribute_type(kind)
        .build()
        .unwrap()
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder()
        .attribute_name(name)
        .key_type(kind)
        .build()
        .unwrap()
}

/// A table with partition key `pk` (text) and sort key `sk` (number), ready for use.
pub async fn table(
    client: &Client,
    more: impl Fn(CreateTableFluentBuilder) -> CreateTableFluentBuilder,
) -> String {
    let name = format!(
        "rust{}n{}",
        std::process::id(),
        TABLES.fetch_add(1, Ordering::Relaxed)
    );
    let request = client
        .create_table()
        .table_name(&name)
        .attribute_definitions(attribute("pk", ScalarAttributeType::S))
        .attribute_definitions(attribute("sk", ScalarAttributeType::N))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .billing_mode(BillingMode::PayPerRequest);
    more(request).send().await.unwrap();
    client
        .wait_until_table_exists()
        .table_name(&name)
        .wait(Duration::from_secs(20))
        .await
        .unwrap();
    name
}
