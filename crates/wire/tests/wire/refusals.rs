//! Requests that must be refused, each with the exact body of the answer.

use trestle_api::OperationName;
use trestle_wire::{decode, encode_error};

/// Checks that the request is refused with this body.
fn refuses(operation: &str, body: &str, expected: &str) {
    let read = operation
        .parse()
        .and_then(|operation| decode(operation, body.as_bytes()));
    let error = match read {
        Ok(request) => panic!("{operation} {body} was read as {request:?}"),
        Err(error) => error,
    };
    let (status, answer) = encode_error(&error);
    assert_eq!(status, 400, "{operation} {body}");
    assert_eq!(String::from_utf8(answer).unwrap(), expected, "{operation} {body}");
}

/// A `ValidationException`.
fn invalid(operation: &str, body: &str, message: &str) {
    let message = serde_json::Value::from(message);
    let expected =
        format!(r#"{{"__type":"com.amazon.coral.validate#ValidationException","message":{message}}}"#);
    refuses(operation, body, &expected);
}

/// A `SerializationException`.
fn mistyped(operation: &str, body: &str, message: &str) {
    let message = serde_json::Value::from(message);
    let expected =
        format!(r#"{{"__type":"com.amazon.coral.service#SerializationException","Message":{message}}}"#);
    refuses(operation, body, &expected);
}

/// A `PutItem` of an item that holds just this value.
fn put(value: &str) -> String {
    format!(r#"{{"TableName":"abc","Item":{{"a":{value}}}}}"#)
}

#[test]
fn a_body_that_is_no_json_object_is_refused_without_words() {
    for body in [
        "",
        " ",
        "{",
        "{}x",
        "[]",
        "null",
        "1",
        "\"a\"",
        "{\"TableName\":\"\\ud800\"}",
        "{'a':1}",
    ] {
        refuses(
            "PutItem",
            body,
            r#"{"__type":"com.amazon.coral.service#SerializationException"}"#,
        );
    }
}

#[test]
fn an_operation_that_does_not_exist_is_refused_without_words() {
    refuses(
        "Foo",
        "{}",
        r#"{"__type":"com.amazon.coral.service#UnknownOperationException"}"#,
    );
}

#[test]
fn a_wrong_json_type_is_named_by_its_token() {
    for (given, message) in [
        ("1", "NUMBER_VALUE cannot be converted to String"),
        ("1.5", "DECIMAL_VALUE cannot be converted to String"),
        ("true", "TRUE_VALUE cannot be converted to String"),
        ("false", "FALSE_VALUE cannot be converted to String"),
        ("[]", "Unrecognized collection type class java.lang.String"),
        ("{}", "Start of structure or map found where not expected"),
    ] {
        mistyped("PutItem", &format!(r#"{{"TableName":{given}}}"#), message);
    }
    for (given, message) in [
        ("\"1\"", "STRING_VALUE cannot be converted to Integer"),
        ("true", "TRUE_VALUE cannot be converted to Integer"),
        ("[]", "Unrecognized collection type class java.lang.Integer"),
    ] {
        mistyped(
            "Query",
            &format!(r#"{{"TableName":"abc","Limit":{given}}}"#),
            message,
        );
    }
    for (given, message) in [
        ("1", "NUMBER_VALUE cannot be converted to Boolean"),
        ("\"x\"", "Unexpected token received from parser"),
        ("{}", "Start of structure or map found where not expected"),
    ] {
        mistyped(
            "Query",
            &format!(r#"{{"TableName":"abc","ScanIndexForward":{given}}}"#),
            message,
        );
    }
    let throughput = r#"{"TableName":"abc","ProvisionedThroughput":{"ReadCapacityUnits":"1"}}"#;
    mistyped(
        "UpdateTable",
        throughput,
        "STRING_VALUE cannot be converted to Long",
    );
}

#[test]
fn a_wrong_json_type_in_a_collection_is_named_by_its_class() {
    const CAST: &str = "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class \
        java.lang.Class (sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in \
        module java.base of loader 'bootstrap')";
    for (operation, body, message) in [
        (
            "PutItem",
            r#"{"Item":[]}"#,
            "Unrecognized collection type java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.AttributeValue>",
        ),
        ("PutItem", r#"{"Item":"a"}"#, "Unexpected field type"),
        (
            "PutItem",
            r#"{"Item":{"a":"b"}}"#,
            "Unexpected value type in payload",
        ),
        (
            "PutItem",
            r#"{"Item":{"a":[]}}"#,
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue",
        ),
        (
            "PutItem",
            r#"{"ExpressionAttributeNames":[]}"#,
            "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>",
        ),
        (
            "PutItem",
            r##"{"ExpressionAttributeNames":{"#a":1}}"##,
            "NUMBER_VALUE cannot be converted to String",
        ),
        (
            "PutItem",
            r#"{"Expected":{"a":{"Value":1}}}"#,
            "Unexpected field type",
        ),
        ("BatchGetItem", r#"{"RequestItems":{"abc":{"Keys":["a"]}}}"#, CAST),
        (
            "BatchGetItem",
            r#"{"RequestItems":{"abc":[]}}"#,
            "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeysAndAttributes",
        ),
        ("BatchWriteItem", r#"{"RequestItems":{"abc":"x"}}"#, CAST),
        (
            "BatchWriteItem",
            r#"{"RequestItems":[]}"#,
            "Unrecognized collection type java.util.Map<java.lang.String, \
             java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>",
        ),
        (
            "BatchWriteItem",
            r#"{"RequestItems":{"abc":[{"PutRequest":1}]}}"#,
            "Unexpected field type",
        ),
        (
            "TransactWriteItems",
            r#"{"TransactItems":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (
            "TransactWriteItems",
            r#"{"TransactItems":"a"}"#,
            "Unexpected field type",
        ),
        (
            "TransactWriteItems",
            r#"{"TransactItems":["a"]}"#,
            "Unexpected value type in payload",
        ),
    ] {
        mistyped(operation, body, message);
    }
}

#[test]
fn a_wrong_json_type_inside_a_value_is_a_serialization_exception() {
    for (value, message) in [
        (r#"{"S":1}"#, "NUMBER_VALUE cannot be converted to String"),
        (r#"{"N":1}"#, "NUMBER_VALUE cannot be converted to String"),
        (r#"{"N":1.5}"#, "DECIMAL_VALUE cannot be converted to String"),
        (r#"{"BOOL":"x"}"#, "Unexpected token received from parser"),
        (r#"{"NULL":1}"#, "NUMBER_VALUE cannot be converted to Boolean"),
        (
            r#"{"B":1}"#,
            "only base-64-encoded strings are convertible to bytes",
        ),
        (
            r#"{"B":"a"}"#,
            "Base64 encoded length is expected a multiple of 4 bytes but found: 1",
        ),
        (
            r#"{"B":"ab=="}"#,
            "Invalid last non-pad Base64 character dectected",
        ),
        (
            r#"{"BS":["a"]}"#,
            "Base64 encoded length is expected a multiple of 4 bytes but found: 1",
        ),
        (r#"{"SS":"x"}"#, "Unexpected field type"),
        (r#"{"SS":[1]}"#, "NUMBER_VALUE cannot be converted to String"),
        (
            r#"{"L":{}}"#,
            "Start of structure or map found where not expected",
        ),
        (r#"{"L":["x"]}"#, "Unexpected value type in payload"),
        (r#"{"M":{"x":1}}"#, "Unexpected value type in payload"),
    ] {
        mistyped("PutItem", &put(value), message);
    }
}

#[test]
fn a_value_that_cannot_be_is_a_validation_exception() {
    const EMPTY: &str =
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    for (value, message) in [
        ("{}", EMPTY),
        ("null", EMPTY),
        (r#"{"S":null}"#, EMPTY),
        (r#"{"X":"a"}"#, EMPTY),
        (r#"{"L":[null]}"#, EMPTY),
        (
            r#"{"S":"a","N":"1"}"#,
            "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes",
        ),
        (
            r#"{"N":"x"}"#,
            "The parameter cannot be converted to a numeric value: x",
        ),
        (
            r#"{"NULL":false}"#,
            "One or more parameter values were invalid: Null attribute value types must have the value of true",
        ),
        (
            r#"{"SS":[]}"#,
            "One or more parameter values were invalid: An string set  may not be empty",
        ),
        (
            r#"{"NS":[]}"#,
            "One or more parameter values were invalid: An number set  may not be empty",
        ),
        (
            r#"{"SS":["a","a"]}"#,
            "One or more parameter values were invalid: Input collection [a, a] contains duplicates.",
        ),
    ] {
        invalid("PutItem", &put(value), message);
    }
}

#[test]
fn the_parameter_decides_how_a_value_that_cannot_be_is_named() {
    const EMPTY: &str =
        "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
    let in_values = format!("ExpressionAttributeValues contains invalid value: {EMPTY} for key :b");
    for operation in ["Query", "Scan"] {
        invalid(
            operation,
            r#"{"TableName":"abc","ExpressionAttributeValues":{":a":{"S":"a"},":b":{}}}"#,
            &in_values,
        );
        invalid(
            operation,
            r#"{"TableName":"abc","ExpressionAttributeValues":{":b":{}},"ExclusiveStartKey":{"a":{}}}"#,
            &format!("The provided starting key is invalid: {EMPTY}"),
        );
        invalid(
            operation,
            r#"{"TableName":"abc","ExclusiveStartKey":{"a":{"N":"x"}}}"#,
            "The parameter cannot be converted to a numeric value: x",
        );
    }
    invalid(
        "TransactWriteItems",
        r#"{"TransactItems":[{"Update":{"TableName":"abc","Key":{"a":{"S":"a"}},"UpdateExpression":"x","ExpressionAttributeValues":{":b":{}}}}]}"#,
        &in_values,
    );
    invalid(
        "PutItem",
        r#"{"TableName":"abc","Item":{"a":{}},"ExpressionAttributeValues":{":b":{}}}"#,
        EMPTY,
    );
}

#[test]
fn nesting_beyond_the_limit_is_refused_however_deep() {
    const TOO_DEEP: &str = "Nesting Levels have exceeded supported limits: \
        Attributes in the item have nested levels beyond supported limit";
    for depth in [32, 40, 200, 100_000] {
        let value = format!(
            "{}{{\"S\":\"a\"}}{}",
            "{\"L\":[".repeat(depth),
            "]}".repeat(depth)
        );
        invalid("PutItem", &put(&value), TOO_DEEP);
    }
}

#[test]
fn constraints_hide_what_is_wrong_with_a_value() {
    invalid(
        "PutItem",
        r#"{"TableName":"a!","Item":{"a":{"N":"x"}}}"#,
        "1 validation error detected: Value 'a!' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3",
    );
}

#[test]
fn a_wrong_json_type_hides_broken_constraints() {
    mistyped(
        "PutItem",
        r#"{"TableName":"a!","Item":{"a":{"S":1}}}"#,
        "NUMBER_VALUE cannot be converted to String",
    );
}

#[test]
fn a_bad_table_name_is_reported_alone() {
    let long = "a".repeat(256);
    for operation in ["PutItem", "UpdateItem", "DeleteItem", "GetItem", "Query", "Scan"] {
        for (name, rule) in [
            ("", "Member must have length greater than or equal to 1"),
            ("ab", "Member must have length greater than or equal to 3"),
            ("x!", "Member must have length greater than or equal to 3"),
            (long.as_str(), "Member must have length less than or equal to 255"),
            (
                "bad table!@#",
                "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
            ),
        ] {
            invalid(
                operation,
                &format!(r#"{{"TableName":"{name}","Key":{{}},"ReturnConsumedCapacity":"INVALID"}}"#),
                &format!(
                    "1 validation error detected: Value '{name}' at 'tableName' failed to satisfy constraint: {rule}"
                ),
            );
        }
    }
}

#[test]
fn an_update_without_a_key_lists_every_fault() {
    const NAME: &str = "Value '' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 1";
    const KEY: &str = "Value null at 'key' failed to satisfy constraint: Member must not be null";
    invalid(
        "UpdateItem",
        r#"{"TableName":""}"#,
        &format!("2 validation errors detected: {NAME}; {KEY}"),
    );
    invalid(
        "UpdateItem",
        r#"{"TableName":"","ReturnConsumedCapacity":"INVALID","ReturnValues":"INVALID"}"#,
        &format!(
            "4 validation errors detected: Value 'INVALID' at 'returnConsumedCapacity' failed to satisfy constraint: \
             Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; {NAME}; Value 'INVALID' at 'returnValues' failed \
             to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, \
             UPDATED_NEW]; {KEY}"
        ),
    );
}

#[test]
fn a_tag_without_a_key_or_a_value_has_a_sentence_of_its_own() {
    for (tag, message) in [
        (r#"{"Value":"v"}"#, "The Tag Key provided is invalid, Key: null"),
        (
            r#"{"Key":"k","Value":null}"#,
            "The Tag Value provided is invalid, Value: null",
        ),
    ] {
        let body = format!(r#"{{"ResourceArn":"arn:x","Tags":[{tag}]}}"#);
        invalid("TagResource", &body, message);
    }
}

#[test]
fn a_new_table_needs_a_good_name_first() {
    invalid(
        "CreateTable",
        "{}",
        "The parameter 'TableName' is required but was not present in the request",
    );
    invalid(
        "CreateTable",
        r#"{"TableName":"ab"}"#,
        "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3",
    );
    invalid(
        "CreateTable",
        r#"{"TableName":"!","BillingMode":"X"}"#,
        "2 validation errors detected: Value '!' at 'tableName' failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+; \
         Value '!' at 'tableName' failed to satisfy constraint: Member must have length greater than or equal to 3",
    );
}

#[test]
fn tags_need_an_arn_first() {
    for operation in ["TagResource", "UntagResource", "ListTagsOfResource"] {
        invalid(operation, "{}", "Invalid TableArn");
    }
}

#[test]
fn missing_members_are_null() {
    for (operation, body, path) in [
        ("PutItem", r#"{"Item":{"a":{"S":"a"}}}"#, "tableName"),
        ("PutItem", r#"{"TableName":"abc"}"#, "item"),
        ("PutItem", r#"{"TableName":"abc","Item":null}"#, "item"),
        ("GetItem", r#"{"TableName":"abc"}"#, "key"),
        ("Query", "{}", "tableName"),
        (
            "Query",
            r#"{"TableName":"abc","KeyConditions":{"a":{}}}"#,
            "keyConditions.a.member.comparisonOperator",
        ),
        (
            "GetItem",
            r#"{"TableName":"abc","Key":{},"AttributesToGet":[null]}"#,
            "attributesToGet.1.member",
        ),
        ("BatchGetItem", "{}", "requestItems"),
        (
            "BatchGetItem",
            r#"{"RequestItems":{"abc":{}}}"#,
            "requestItems.abc.member.keys",
        ),
        (
            "BatchWriteItem",
            r#"{"RequestItems":{"abc":[{"PutRequest":{}}]}}"#,
            "requestItems.abc.member.1.member.putRequest.item",
        ),
        ("TransactWriteItems", "{}", "transactItems"),
        (
            "TransactWriteItems",
            r#"{"TransactItems":[{"Delete":{"Key":{}}}]}"#,
            "transactItems.1.member.delete.tableName",
        ),
        (
            "TransactGetItems",
            r#"{"TransactItems":[{}]}"#,
            "transactItems.1.member.get",
        ),
        ("ExecuteStatement", "{}", "statement"),
        ("TagResource", r#"{"ResourceArn":"arn"}"#, "tags"),
        ("DescribeStream", "{}", "streamArn"),
        (
            "UpdateTimeToLive",
            r#"{"TableName":"abc"}"#,
            "timeToLiveSpecification",
        ),
    ] {
        invalid(
            operation,
            body,
            &format!(
                "1 validation error detected: Value null at '{path}' failed to satisfy constraint: Member must not be null"
            ),
        );
    }
}

#[test]
fn unknown_words_list_the_known_ones() {
    invalid(
        "PutItem",
        r#"{"TableName":"abc","Item":{},"ReturnValues":"X","ReturnConsumedCapacity":"Y","ReturnItemCollectionMetrics":"Z"}"#,
        "3 validation errors detected: \
         Value 'Y' at 'returnConsumedCapacity' failed to satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]; \
         Value 'X' at 'returnValues' failed to satisfy constraint: Member must satisfy enum value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]; \
         Value 'Z' at 'returnItemCollectionMetrics' failed to satisfy constraint: Member must satisfy enum value set: [SIZE, NONE]",
    );
    invalid(
        "Query",
        r#"{"TableName":"abc","Select":"INVALID_VALUE"}"#,
        "1 validation error detected: Value 'INVALID_VALUE' at 'select' failed to satisfy constraint: Member must satisfy enum value set: [SPECIFIC_ATTRIBUTES, COUNT, ALL_ATTRIBUTES, ALL_PROJECTED_ATTRIBUTES]",
    );
    invalid(
        "CreateTable",
        r#"{"TableName":"abc","KeySchema":[{"AttributeName":"a","KeyType":"X"}],"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"Y"}]}"#,
        "2 validation errors detected: \
         Value 'X' at 'keySchema.1.member.keyType' failed to satisfy constraint: Member must satisfy enum value set: [HASH, RANGE]; \
         Value 'Y' at 'attributeDefinitions.1.member.attributeType' failed to satisfy constraint: Member must satisfy enum value set: [B, N, S]",
    );
}

#[test]
fn numbers_out_of_range_are_refused() {
    let at = |path: &str, value: &str, bound: &str| {
        format!(
            "1 validation error detected: Value '{value}' at '{path}' failed to satisfy constraint: Member must have value {bound}"
        )
    };
    let least = "greater than or equal to 1";
    invalid(
        "Scan",
        r#"{"TableName":"abc","Limit":0}"#,
        &at("limit", "0", least),
    );
    invalid(
        "Scan",
        r#"{"TableName":"abc","Segment":-1}"#,
        &at("segment", "-1", "greater than or equal to 0"),
    );
    invalid(
        "Scan",
        r#"{"TableName":"abc","TotalSegments":1000001}"#,
        &at("totalSegments", "1000001", "less than or equal to 1000000"),
    );
    invalid(
        "ListTables",
        r#"{"Limit":101}"#,
        &at("limit", "101", "less than or equal to 100"),
    );
    invalid(
        "ExecuteStatement",
        r#"{"Statement":"x","Limit":0}"#,
        &at("limit", "0", least),
    );
    invalid(
        "GetRecords",
        r#"{"ShardIterator":"x","Limit":0}"#,
        &at("limit", "0", least),
    );
    invalid(
        "UpdateTable",
        r#"{"TableName":"abc","ProvisionedThroughput":{"ReadCapacityUnits":0,"WriteCapacityUnits":0}}"#,
        "2 validation errors detected: \
         Value '0' at 'provisionedThroughput.writeCapacityUnits' failed to satisfy constraint: Member must have value greater than or equal to 1; \
         Value '0' at 'provisionedThroughput.readCapacityUnits' failed to satisfy constraint: Member must have value greater than or equal to 1",
    );
}

#[test]
fn a_querys_limit_is_refused_in_few_words_and_alone() {
    invalid(
        "Query",
        r#"{"TableName":"abc","Limit":0,"Select":"X"}"#,
        "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have value greater than or equal to 1",
    );
}

#[test]
fn batches_have_bounds() {
    let keys = vec![r#"{"pk":{"S":"a"}}"#; 101].join(",");
    let writes = vec![r#"{"PutRequest":{"Item":{"pk":{"S":"a"}}}}"#; 26].join(",");
    invalid(
        "BatchGetItem",
        r#"{"RequestItems":{}}"#,
        "The requestItems parameter is required for BatchGetItem",
    );
    invalid(
        "BatchWriteItem",
        r#"{"RequestItems":{}}"#,
        "The requestItems parameter is required for BatchWriteItem",
    );
    invalid(
        "BatchGetItem",
        &format!(r#"{{"RequestItems":{{"abc":{{"Keys":[{keys}]}}}}}}"#),
        "1 validation error detected: Value at 'RequestItems.abc.member.Keys' failed to satisfy constraint: Member must have length less than or equal to 100",
    );
    invalid(
        "BatchWriteItem",
        r#"{"RequestItems":{"abc":[]}}"#,
        "1 validation error detected: Value '{abc=[]}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: \
         [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]",
    );
    let echoed = "WriteRequest(putRequest=PutRequest(item={pk=AttributeValue(s=a, n=null, b=null, iNT=null, dECIMAL=null, \
        dOUBLE=null, sS=null, nS=null, bS=null, iNTSET=null, dECIMALSET=null, dOUBLESET=null, m=null, l=null, \
        nULL=null, bOOL=null)}, workloadProfileName=null), deleteRequest=null)";
    invalid(
        "BatchWriteItem",
        &format!(r#"{{"RequestItems":{{"abc":[{writes}]}}}}"#),
        &format!(
            "1 validation error detected: Value '{{abc=[{}]}}' at 'requestItems' failed to satisfy constraint: Map value must satisfy constraint: \
             [Member must have length less than or equal to 25, Member must have length greater than or equal to 1]",
            vec![echoed; 26].join(", ")
        ),
    );
    invalid(
        "BatchGetItem",
        r#"{"RequestItems":{"a":{"Keys":[]}},"ReturnConsumedCapacity":"X"}"#,
        "1 validation error detected: Value at 'RequestItems.a.member.Keys' failed to satisfy constraint: Member must have length greater than or equal to 1",
    );
}

#[test]
fn lists_and_texts_have_bounds() {
    let long = |n| "x".repeat(n);
    let cases = [
        ("TransactWriteItems", r#"{"TransactItems":[]}"#.to_owned(), "[]".to_owned(), "transactItems", "greater", 1),
        ("TransactGetItems", r#"{"TransactItems":[]}"#.to_owned(), "[]".to_owned(), "transactItems", "greater", 1),
        ("GetItem", r#"{"TableName":"abc","Key":{},"AttributesToGet":[]}"#.to_owned(), "[]".to_owned(), "attributesToGet", "greater", 1),
        ("Query", r#"{"TableName":"abc","IndexName":"ab"}"#.to_owned(), "ab".to_owned(), "indexName", "greater", 3),
        ("ExecuteStatement", r#"{"Statement":""}"#.to_owned(), String::new(), "statement", "greater", 1),
        ("ExecuteStatement", format!(r#"{{"Statement":"{}"}}"#, long(8193)), long(8193), "statement", "less", 8192),
        ("ExecuteStatement", r#"{"Statement":"x","Parameters":[]}"#.to_owned(), "[]".to_owned(), "parameters", "greater", 1),
        ("BatchExecuteStatement", r#"{"Statements":[]}"#.to_owned(), "[]".to_owned(), "statements", "greater", 1),
        (
            "ExecuteTransaction",
            format!(r#"{{"TransactStatements":[{{"Statement":"x"}}],"ClientRequestToken":"{}"}}"#, long(37)),
            long(37),
            "clientRequestToken",
            "less",
            36,
        ),
        ("UpdateTimeToLive", r#"{"TableName":"abc","TimeToLiveSpecification":{"Enabled":true,"AttributeName":""}}"#.to_owned(), String::new(), "timeToLiveSpecification.attributeName", "greater", 1),
        ("CreateTable", r#"{"TableName":"abc","KeySchema":[],"AttributeDefinitions":[]}"#.to_owned(), "[]".to_owned(), "keySchema", "greater", 1),
        (
            "CreateTable",
            r#"{"TableName":"abc","AttributeDefinitions":[],"KeySchema":[{"AttributeName":"a","KeyType":"HASH"},{"AttributeName":"b","KeyType":"RANGE"},{"AttributeName":"c","KeyType":"RANGE"}]}"#.to_owned(),
            "[KeySchemaElement(attributeName=a, keyType=HASH), KeySchemaElement(attributeName=b, keyType=RANGE), KeySchemaElement(attributeName=c, keyType=RANGE)]".to_owned(),
            "keySchema",
            "less",
            2,
        ),
    ];
    for (operation, body, shown, path, direction, bound) in cases {
        invalid(
            operation,
            &body,
            &format!(
                "1 validation error detected: Value '{shown}' at '{path}' failed to satisfy constraint: Member must have length {direction} than or equal to {bound}"
            ),
        );
    }
}

#[test]
fn lengths_count_utf_16_units() {
    let clefs = "\u{1d11e}".repeat(18);
    let body = |token: &str| {
        format!(r#"{{"TransactStatements":[{{"Statement":"x"}}],"ClientRequestToken":"{token}"}}"#)
    };
    assert!(decode(OperationName::ExecuteTransaction, body(&clefs).as_bytes()).is_ok());
    assert!(
        decode(
            OperationName::ExecuteTransaction,
            body(&format!("{clefs}a")).as_bytes()
        )
        .is_err()
    );
}

#[test]
fn no_more_than_ten_violations_are_listed() {
    let elements = ["{}"; 6].join(",");
    let body = format!(
        r#"{{"TableName":"abc","KeySchema":[{{"AttributeName":"a","KeyType":"HASH"}}],"AttributeDefinitions":[{elements}]}}"#
    );
    let error = decode(OperationName::CreateTable, body.as_bytes()).unwrap_err();
    assert!(
        error.message().starts_with("10 validation errors detected: "),
        "{error}"
    );
    assert_eq!(error.message().matches("Value null").count(), 10);
}

#[test]
fn an_echo_does_not_outgrow_its_request_without_bounds() {
    let item: Vec<String> = (0..2_000).map(|n| format!(r#""{n}":{{"S":""}}"#)).collect();
    let put = format!(r#"{{"PutRequest":{{"Item":{{{}}}}}}}"#, item.join(","));
    let body = format!(r#"{{"RequestItems":{{"abc":[{}]}}}}"#, vec![put; 26].join(","));
    let error = decode(OperationName::BatchWriteItem, body.as_bytes()).unwrap_err();
    assert!(error.message().len() < 100_000);
    assert!(
        error.message().contains("...]}' at 'requestItems' failed"),
        "the brackets still close"
    );
}
