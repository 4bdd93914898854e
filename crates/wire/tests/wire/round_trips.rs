//! What one side writes, the other reads.

use trestle_api::{
    BatchWriteItem, CancellationReason, Error, ErrorKind, Family, GetItem, GetItemOutput, OperationName,
    PutItem, Query, QueryOutput, Request, Response, ScanOutput, Select,
};
use trestle_item::{AttributeValue, Item, Items, Number};
use trestle_wire::{
    crc32, decode, decode_error, decode_response, encode, encode_error, encode_request, parse_target,
    target_of,
};

fn item() -> Item {
    Item::from([
        ("s", AttributeValue::from("text \u{1}\"\u{1f600}")),
        ("n", AttributeValue::N("-1.5E-7".parse::<Number>().unwrap())),
        ("b", AttributeValue::B(vec![0, 255, 7])),
        ("t", AttributeValue::Bool(true)),
        ("z", AttributeValue::Null),
        (
            "m",
            AttributeValue::M(Item::from([(
                "l",
                AttributeValue::L(vec![AttributeValue::from(1_i64)]),
            )])),
        ),
        (
            "ss",
            AttributeValue::string_set(vec!["b".to_owned(), "a".to_owned()]).unwrap(),
        ),
        ("bs", AttributeValue::binary_set(vec![vec![1]]).unwrap()),
    ])
}

#[test]
fn a_request_is_read_as_it_was_written() {
    let table_name = "abc".to_owned();
    let requests: [Request; 4] = [
        PutItem {
            table_name: table_name.clone(),
            item: item(),
            ..PutItem::default()
        }
        .into(),
        GetItem {
            table_name: table_name.clone(),
            key: item(),
            ..GetItem::default()
        }
        .into(),
        Query {
            table_name,
            select: Some(Select::Count),
            limit: Some(3),
            ..Query::default()
        }
        .into(),
        decode(
            OperationName::BatchWriteItem,
            br#"{"RequestItems":{"abc":[{"PutRequest":{"Item":{"a":{"S":"b"}}}}]}}"#,
        )
        .unwrap(),
    ];
    assert!(
        matches!(&requests[3], Request::BatchWriteItem(BatchWriteItem { request_items, .. }) if request_items.len() == 1)
    );
    for request in requests {
        let body = encode_request(&request);
        assert_eq!(
            parse_target(&target_of(request.operation())).unwrap(),
            request.operation()
        );
        assert_eq!(decode(request.operation(), &body).unwrap(), request);
    }
}

#[test]
fn an_answer_is_read_as_it_was_written() {
    let responses: [Response; 2] = [
        GetItemOutput {
            item: Some(item()),
            ..GetItemOutput::default()
        }
        .into(),
        QueryOutput {
            items: Some(vec![item()].into()),
            count: 1,
            scanned_count: 2,
            ..QueryOutput::default()
        }
        .into(),
    ];
    for response in responses {
        let body = encode(response.clone());
        assert_eq!(decode_response(response.operation(), &body).unwrap(), response);
    }
}

#[test]
fn a_time_is_read_as_the_very_number_that_was_written() {
    let body = br#"{"StreamArn": "arn:aws:dynamodb:local:000000000000:table/t/stream/1", "ShardId": "shardId-00000000000000000001-000001",
        "ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 108794433695898761}"#;
    let request = decode(OperationName::GetShardIterator, body).unwrap();
    assert_eq!(
        decode(OperationName::GetShardIterator, &encode_request(&request)).unwrap(),
        request
    );
}

#[test]
fn a_page_is_written_as_any_other_answer() {
    let pages: [Response; 3] = [
        QueryOutput {
            items: Some(vec![item(), item()].into()),
            count: 2,
            scanned_count: 2,
            last_evaluated_key: Some(item()),
            ..QueryOutput::default()
        }
        .into(),
        ScanOutput {
            items: Some(Items::new()),
            ..ScanOutput::default()
        }
        .into(),
        ScanOutput::default().into(),
    ];
    for page in pages {
        let expected = serde_json::to_string(&page).unwrap();
        assert_eq!(String::from_utf8(encode(page)).unwrap(), expected);
    }
}

#[test]
fn every_operation_has_a_target() {
    for name in OperationName::ALL {
        let service = if name.family() == Family::Streams {
            "DynamoDBStreams"
        } else {
            "DynamoDB"
        };
        assert_eq!(
            parse_target(&format!("{service}_20120810.{name}")).unwrap(),
            *name
        );
    }
}

#[test]
fn an_absent_item_is_an_empty_answer() {
    assert_eq!(encode(GetItemOutput::default().into()), b"{}");
}

#[test]
fn every_kind_of_error_survives_the_wire() {
    for kind in ErrorKind::ALL {
        let error = Error::new(*kind, "why");
        let (status, body) = encode_error(&error);
        assert_eq!(decode_error(status, &body), error);
        assert_eq!(status >= 500, *kind == ErrorKind::InternalServerError);
    }
}

#[test]
fn errors_carry_what_the_caller_asked_for() {
    let failed = Error::condition_failed(Some(item()));
    let (status, body) = encode_error(&failed);
    assert_eq!(decode_error(status, &body), failed);

    let cancelled = Error::transaction_canceled(vec![
        CancellationReason::none(),
        CancellationReason::condition_failed(Some(Item::from([("a", "b")]))),
    ]);
    let (status, body) = encode_error(&cancelled);
    assert_eq!(decode_error(status, &body), cancelled);
    assert_eq!(
        String::from_utf8(body).unwrap(),
        "{\"__type\":\"com.amazonaws.dynamodb.v20120810#TransactionCanceledException\",\"CancellationReasons\":\
         [{\"Code\":\"None\"},{\"Code\":\"ConditionalCheckFailed\",\"Message\":\"The conditional request failed\",\
         \"Item\":{\"a\":{\"S\":\"b\"}}}],\"Message\":\"Transaction cancelled, please refer cancellation reasons for \
         specific reasons [None, ConditionalCheckFailed]\"}"
    );
}

#[test]
fn an_error_shows_the_namespace_and_spelling_of_its_kind() {
    for (kind, expected) in [
        (
            ErrorKind::ResourceNotFound,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"x"}"#,
        ),
        (
            ErrorKind::Validation,
            r#"{"__type":"com.amazon.coral.validate#ValidationException","message":"x"}"#,
        ),
        (
            ErrorKind::Serialization,
            r#"{"__type":"com.amazon.coral.service#SerializationException","Message":"x"}"#,
        ),
        (
            ErrorKind::UnrecognizedClient,
            r#"{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"x"}"#,
        ),
    ] {
        assert_eq!(
            String::from_utf8(encode_error(&Error::new(kind, "x")).1).unwrap(),
            expected
        );
    }
}

#[test]
fn an_error_that_is_none_of_dynamodbs_is_internal() {
    for body in [
        "",
        "<html>",
        "{}",
        "[]",
        r#"{"__type":"NewException","message":"m"}"#,
    ] {
        assert_eq!(
            decode_error(502, body.as_bytes()).kind(),
            ErrorKind::InternalServerError,
            "{body}"
        );
    }
}

#[test]
fn the_checksum_is_crc32() {
    assert_eq!(crc32(b"{}"), 2_745_614_147);
}
