//! Answer bodies as clients expect them.

use serde_json::{Value, json};
use trestle_api::*;
use trestle_item::{Item, Items};

/// Writes an answer, expects the body, and reads it back.
fn prints(response: impl Into<Response>, body: Value) {
    let response = response.into();
    let text = serde_json::to_string(&response).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), body);
    let again = Response::deserialize(
        response.operation(),
        &mut serde_json::Deserializer::from_str(&text),
    );
    assert_eq!(again.unwrap(), response);
}

fn item() -> Item {
    Item::from([("pk", "a")])
}

#[test]
fn answers_with_nothing_to_say_are_empty_objects() {
    prints(PutItemOutput::default(), json!({}));
    prints(GetItemOutput::default(), json!({}));
    prints(TransactWriteItemsOutput::default(), json!({}));
}

#[test]
fn a_query_always_counts_and_shows_items_unless_only_counting() {
    prints(QueryOutput::default(), json!({"Count": 0, "ScannedCount": 0}));
    prints(
        QueryOutput {
            items: Some(Items::new()),
            scanned_count: 3,
            ..QueryOutput::default()
        },
        json!({"Items": [], "Count": 0, "ScannedCount": 3}),
    );
    prints(
        QueryOutput {
            items: Some(vec![item()].into()),
            count: 1,
            scanned_count: 1,
            last_evaluated_key: Some(item()),
            consumed_capacity: None,
        },
        json!({
            "Items": [{"pk": {"S": "a"}}], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": {"pk": {"S": "a"}}
        }),
    );
}

#[test]
fn lists_that_clients_iterate_over_are_present_when_empty() {
    prints(
        BatchGetItemOutput::default(),
        json!({"Responses": {}, "UnprocessedKeys": {}}),
    );
    prints(BatchWriteItemOutput::default(), json!({"UnprocessedItems": {}}));
    prints(ListTablesOutput::default(), json!({"TableNames": []}));
    prints(ListTagsOfResourceOutput::default(), json!({"Tags": []}));
    prints(ExecuteStatementOutput::default(), json!({"Items": []}));
    prints(ListStreamsOutput::default(), json!({"Streams": []}));
    prints(GetRecordsOutput::default(), json!({"Records": []}));
}

#[test]
fn capacity_shows_only_the_parts_that_were_asked_for() {
    let capacity = ConsumedCapacity {
        table_name: Some("t".into()),
        capacity_units: Some(1.0),
        table: Some(Capacity {
            capacity_units: Some(0.5),
            ..Capacity::default()
        }),
        global_secondary_indexes: Some([("g".to_owned(), Capacity::default())].into()),
        ..ConsumedCapacity::default()
    };
    prints(
        GetItemOutput {
            item: Some(item()),
            consumed_capacity: Some(capacity),
        },
        json!({
            "Item": {"pk": {"S": "a"}},
            "ConsumedCapacity": {
                "TableName": "t", "CapacityUnits": 1.0, "Table": {"CapacityUnits": 0.5},
                "GlobalSecondaryIndexes": {"g": {}}
            }
        }),
    );
}

#[test]
fn a_table_going_away_is_described_without_its_keys() {
    let table = TableDescription {
        table_name: "t".into(),
        table_status: TableStatus::Deleting,
        table_arn: "arn".into(),
        deletion_protection_enabled: Some(false),
        ..TableDescription::default()
    };
    prints(
        DeleteTableOutput {
            table_description: Box::new(table),
        },
        json!({"TableDescription": {
            "TableName": "t", "TableStatus": "DELETING", "TableArn": "arn", "TableSizeBytes": 0, "ItemCount": 0,
            "DeletionProtectionEnabled": false,
            "ProvisionedThroughput": {
                "NumberOfDecreasesToday": 0, "ReadCapacityUnits": 0, "WriteCapacityUnits": 0
            }
        }}),
    );
}

#[test]
fn a_stream_record_mixes_camel_and_pascal_case() {
    let record = Record {
        event_id: "1".into(),
        event_name: OperationType::Remove,
        event_version: "1.1".into(),
        event_source: "aws:dynamodb".into(),
        aws_region: "local".into(),
        dynamodb: StreamRecord {
            approximate_creation_date_time: Some(EpochSeconds(1_700_000_000.0)),
            keys: item(),
            old_image: Some(item()),
            sequence_number: "100".into(),
            size_bytes: 6,
            stream_view_type: StreamViewType::NewAndOldImages,
            ..StreamRecord::default()
        },
        user_identity: Some(Identity {
            principal_id: Some("dynamodb.amazonaws.com".into()),
            identity_type: Some("Service".into()),
        }),
    };
    prints(
        GetRecordsOutput {
            records: vec![record],
            next_shard_iterator: Some("next".into()),
        },
        json!({
            "NextShardIterator": "next",
            "Records": [{
                "eventID": "1", "eventName": "REMOVE", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
                "awsRegion": "local",
                "dynamodb": {
                    "ApproximateCreationDateTime": 1_700_000_000, "Keys": {"pk": {"S": "a"}},
                    "OldImage": {"pk": {"S": "a"}}, "SequenceNumber": "100", "SizeBytes": 6,
                    "StreamViewType": "NEW_AND_OLD_IMAGES"
                },
                "userIdentity": {"PrincipalId": "dynamodb.amazonaws.com", "Type": "Service"}
            }]
        }),
    );
}

#[test]
fn a_failed_statement_of_a_batch_says_why() {
    let failed = BatchStatementResponse {
        error: Some(Error::duplicate_item().into()),
        table_name: Some("t".into()),
        item: None,
    };
    prints(
        BatchExecuteStatementOutput {
            responses: vec![failed],
            consumed_capacity: None,
        },
        json!({"Responses": [{
            "Error": {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"},
            "TableName": "t"
        }]}),
    );
}

#[test]
fn without_backups_a_table_says_that_they_are_disabled() {
    let description = ContinuousBackupsDescription {
        point_in_time_recovery_description: Some(PointInTimeRecoveryDescription::default()),
        ..ContinuousBackupsDescription::default()
    };
    prints(
        DescribeContinuousBackupsOutput {
            continuous_backups_description: description,
        },
        json!({"ContinuousBackupsDescription": {
            "ContinuousBackupsStatus": "DISABLED",
            "PointInTimeRecoveryDescription": {"PointInTimeRecoveryStatus": "DISABLED"}
        }}),
    );
}
