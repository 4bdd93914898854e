//! Tables and waiters.

use crate::support::{client, table};
use aws_sdk_dynamodb::client::Waiters;
use aws_sdk_dynamodb::types::TableStatus;
use std::time::Duration;

#[tokio::test]
async fn waiters_follow_a_table_to_its_end() {
    let client = client();
    let name = table(&client, |request| request).await;
    let described = client.describe_table().table_name(&name).send().await.unwrap();
    assert_eq!(
        described.table().and_then(|table| table.table_status()),
        Some(&TableStatus::Active)
    );
    client.delete_table().table_name(&name).send().await.unwrap();
    client
        .wait_until_table_not_exists()
        .table_name(&name)
        .wait(Duration::from_secs(20))
        .await
        .unwrap();
    let gone = client
        .describe_table()
        .table_name(&name)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(gone.is_resource_not_found_exception(), "{gone:?}");
}

#[tokio::test]
async fn the_list_paginator_finds_the_table() {
    let client = client();
    let name = table(&client, |request| request).await;
    let mut names = client.list_tables().into_paginator().page_size(2).items().send();
    let mut found = false;
    while let Some(listed) = names.next().await {
        found |= listed.unwrap() == name;
    }
    assert!(found);
}
