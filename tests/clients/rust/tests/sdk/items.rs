//! Items: values, conditions, pages and transactions.

use crate::support::{client, number, table, text};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{
    AttributeValue, Put, PutRequest, ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
    WriteRequest,
};
use std::collections::HashMap;

#[tokio::test]
async fn values_come_back_as_they_went_in() {
    let client = client();
    let name = table(&client, |request| request).await;
    let item = HashMap::from([
        ("pk".to_owned(), text("a")),
        ("sk".to_owned(), number("1.5")),
        ("raw".to_owned(), AttributeValue::B(Blob::new([0, 255]))),
        ("yes".to_owned(), AttributeValue::Bool(true)),
        ("nothing".to_owned(), AttributeValue::Null(true)),
        ("list".to_owned(), AttributeValue::L(vec![text("x"), number(2)])),
        (
            "map".to_owned(),
            AttributeValue::M(HashMap::from([("in".to_owned(), text("y"))])),
        ),
        ("words".to_owned(), AttributeValue::Ss(vec!["only".to_owned()])),
    ]);
    client
        .put_item()
        .table_name(&name)
        .set_item(Some(item.clone()))
        .send()
        .await
        .unwrap();
    let found = client
        .get_item()
        .table_name(&name)
        .key("pk", text("a"))
        .key("sk", number("1.50"))
        .send()
        .await
        .unwrap();
    assert_eq!(found.item, Some(item));
}

#[tokio::test]
async fn a_failed_condition_is_typed_and_carries_the_item() {
    let client = client();
    let name = table(&client, |request| request).await;
    let put = || {
        client
            .put_item()
            .table_name(&name)
            .item("pk", text("a"))
            .item("sk", number(1))
    };
    put().item("v", number(7)).send().await.unwrap();
    let refused = put()
        .condition_expression("attribute_not_exists(pk)")
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let PutItemError::ConditionalCheckFailedException(failed) = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(failed.message(), Some("The conditional request failed"));
    assert_eq!(failed.item().and_then(|item| item.get("v")), Some(&number(7)));
}

#[tokio::test]
async fn updates_return_what_they_changed() {
    let client = client();
    let name = table(&client, |request| request).await;
    let updated = client
        .update_item()
        .table_name(&name)
        .key("pk", text("a"))
        .key("sk", number(1))
        .update_expression("ADD visits :one")
        .expression_attribute_values(":one", number(1))
        .return_values(ReturnValue::UpdatedNew)
        .send()
        .await
        .unwrap();
    assert_eq!(
        updated.attributes,
        Some(HashMap::from([("visits".to_owned(), number(1))]))
    );
}

#[tokio::test]
async fn the_query_paginator_reads_every_page_in_order() {
    let client = client();
    let name = table(&client, |request| request).await;
    let puts: Vec<_> = (0..25)
        .map(|n| {
            PutRequest::builder()
                .item("pk", text("p"))
                .item("sk", number(n))
                .build()
                .unwrap()
        })
        .map(|put| WriteRequest::builder().put_request(put).build())
        .collect();
    let written = client
        .batch_write_item()
        .request_items(&name, puts)
        .send()
        .await
        .unwrap();
    assert_eq!(written.unprocessed_items().map(HashMap::len), Some(0));
    let mut pages = client
        .query()
        .table_name(&name)
        .key_condition_expression("pk = :p")
        .expression_attribute_values(":p", text("p"))
        .into_paginator()
        .page_size(4)
        .items()
        .send();
    let mut seen = Vec::new();
    while let Some(item) = pages.next().await {
        seen.push(item.unwrap()["sk"].as_n().unwrap().parse::<u32>().unwrap());
    }
    assert_eq!(seen, (0..25).collect::<Vec<_>>());
}

#[tokio::test]
async fn cancellation_reasons_arrive_in_order() {
    let client = client();
    let name = table(&client, |request| request).await;
    let put = |pk: &str, condition: Option<&str>| {
        let put = Put::builder()
            .table_name(&name)
            .item("pk", text(pk))
            .item("sk", number(1));
        let put = put
            .set_condition_expression(condition.map(str::to_owned))
            .build()
            .unwrap();
        TransactWriteItem::builder().put(put).build()
    };
    let refused = client
        .transact_write_items()
        .transact_items(put("a", None))
        .transact_items(put("b", Some("attribute_exists(pk)")))
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(canceled) = &refused else {
        panic!("{refused:?}")
    };
    let codes: Vec<_> = canceled
        .cancellation_reasons()
        .iter()
        .filter_map(|reason| reason.code())
        .collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed"]);
}
