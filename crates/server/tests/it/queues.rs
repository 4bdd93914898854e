//! SQS's operations over a socket: headers, errors, and which callers may write Trestle's own tables.

use crate::client::{Client, Response};
use crate::test_server::TestServer;
use trestle_server::{AccessKey, KeyGrant};

fn call(client: &mut Client, operation: &str, body: &str) -> Response {
    call_at(client, "/", operation, body)
}

fn call_at(client: &mut Client, path: &str, operation: &str, body: &str) -> Response {
    let target = format!("AmazonSQS.{operation}");
    let headers = [
        ("X-Amz-Target", target.as_str()),
        ("Content-Type", "application/x-amz-json-1.0"),
        ("Host", "queues.localhost:9999"),
    ];
    client.send("POST", path, &headers, body.as_bytes())
}

/// `__type` and `x-amzn-query-error` of a refusal.
fn refusal(client: &mut Client, operation: &str, body: &str) -> (String, String) {
    let answer = call(client, operation, body);
    assert_eq!(answer.status, 400, "{}", answer.text());
    (
        answer.error_type(),
        answer.header("x-amzn-query-error").to_owned(),
    )
}

#[test]
fn a_queues_url_begins_where_the_client_reached_the_server() {
    let server = TestServer::start();
    let mut client = server.connect();
    let made = call(&mut client, "CreateQueue", r#"{"QueueName":"work"}"#);
    let url = r#"{"QueueUrl":"http://queues.localhost:9999/000000000000/work"}"#;
    assert_eq!((made.status, made.text()), (200, url));
    assert_eq!(made.header("content-type"), "application/x-amz-json-1.0");
    assert!(!made.header("x-amz-crc32").is_empty());
}

#[test]
fn operations_may_be_sent_to_the_queues_own_url() {
    let server = TestServer::start();
    let mut client = server.connect();
    call(&mut client, "CreateQueue", r#"{"QueueName":"work"}"#);
    let path = "/000000000000/work";
    let url = format!(r#""QueueUrl":"http://h{path}""#);
    let sent = call_at(
        &mut client,
        path,
        "SendMessage",
        &format!(r#"{{{url},"MessageBody":"hello"}}"#),
    );
    assert_eq!(sent.status, 200);
    assert!(sent.text().contains("5d41402abc4b2a76b9719d911017c592"));
    let got = call_at(&mut client, path, "ReceiveMessage", &format!("{{{url}}}"));
    assert!(got.text().contains(r#""Body":"hello""#));
    let none = call_at(&mut client, path, "ReceiveMessage", &format!("{{{url}}}"));
    assert_eq!(none.text(), "{}");
}

#[test]
fn errors_carry_their_type_and_the_code_of_the_older_protocol() {
    let server = TestServer::start();
    let mut client = server.connect();
    let expected = |kind: &str, code: &str| (kind.to_owned(), format!("{code};Sender"));
    assert_eq!(
        refusal(&mut client, "GetQueueUrl", r#"{"QueueName":"none"}"#),
        expected(
            "com.amazonaws.sqs#QueueDoesNotExist",
            "AWS.SimpleQueueService.NonExistentQueue"
        )
    );
    assert_eq!(
        refusal(&mut client, "SendMessage", "{}"),
        expected(
            "com.amazon.coral.service#MissingRequiredParameterException",
            "MissingParameter"
        )
    );
    assert_eq!(
        refusal(&mut client, "SendMessage", "{"),
        expected(
            "com.amazon.coral.service#SerializationException",
            "SerializationException"
        )
    );
    assert_eq!(
        refusal(&mut client, "CreateQueue", r#"{"QueueName":"a b"}"#),
        expected(
            "com.amazon.coral.service#InvalidParameterValueException",
            "InvalidParameterValue"
        )
    );
    assert_eq!(
        refusal(&mut client, "CreateQueue", r#"{"QueueName":"a.fifo"}"#),
        expected(
            "com.amazon.coral.service#InvalidParameterValueException",
            "InvalidParameterValue"
        )
    );
    assert_eq!(
        refusal(&mut client, "AddPermission", "{}"),
        expected(
            "com.amazon.coral.service#MissingRequiredParameterException",
            "MissingParameter"
        )
    );
    assert_eq!(
        refusal(&mut client, "SendLetter", "{}"),
        expected(
            "com.amazon.coral.service#UnknownOperationException",
            "InvalidAction"
        )
    );
}

/// A server that checks signatures, at the time of those below. They were made by botocore.
fn guarded_server() -> TestServer {
    const SIGNED_AT_S: u64 = 1_794_729_600;
    TestServer::at(SIGNED_AT_S, |settings| {
        settings.access_keys = vec![KeyGrant::everything(AccessKey {
            id: "AKIDEXAMPLE".to_owned(),
            secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
        })];
    })
}

#[test]
fn requests_are_signed_for_sqs() {
    let server = guarded_server();
    let signed = |service: &str, signature: &str| {
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/eu-west-2/{service}/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-target, Signature={signature}"
        );
        let headers = [
            ("Host", "localhost:8000"),
            ("Content-Type", "application/x-amz-json-1.0"),
            ("X-Amz-Target", "AmazonSQS.CreateQueue"),
            ("X-Amz-Date", "20261115T080000Z"),
            ("Authorization", authorization.as_str()),
        ];
        server
            .connect()
            .send("POST", "/", &headers, br#"{"QueueName":"work"}"#)
    };
    let for_sqs = signed(
        "sqs",
        "f2a5020b046027f6abc9ecdf86e210e38dea0da12914348dd79969f7f3b8bea3",
    );
    assert_eq!(for_sqs.status, 200, "{}", for_sqs.text());
    let for_dynamodb = signed(
        "dynamodb",
        "d01caa5d4714c54351459371db1cdef5d8f3ad1ba94399ed8c5d7020eb74c370",
    );
    assert!(for_dynamodb.text().contains("correct service: 'sqs'"));
}

#[test]
fn forms_are_signed_with_their_body() {
    const FORM: &str = "Action=CreateQueue&Version=2012-11-05&QueueName=work";
    let server = guarded_server();
    let sent = |headers: &[(&str, &str)], body: &str| {
        let mut all = vec![
            ("Host", "localhost:8000"),
            ("Content-Type", "application/x-www-form-urlencoded; charset=utf-8"),
            ("X-Amz-Date", "20261115T080000Z"),
        ];
        all.extend_from_slice(headers);
        server.connect().send("POST", "/", &all, body.as_bytes())
    };
    let signed = [(
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/eu-west-2/sqs/aws4_request, \
         SignedHeaders=content-type;host;x-amz-date, \
         Signature=68bb27e153bc088cb6ad0f1b618498052db7148893a0a7cde46a6d9dbc669c9b",
    )];
    let made = sent(&signed, FORM);
    assert_eq!(made.status, 200, "{}", made.text());
    assert!(made.text().contains("/work</QueueUrl>"), "{}", made.text());
    let other = sent(&signed, &FORM.replace("work", "more"));
    assert!(
        other.text().contains("<Code>InvalidSignatureException</Code>"),
        "{}",
        other.text()
    );
    let unsigned = sent(&[], FORM);
    assert!(
        unsigned
            .text()
            .contains("<Code>MissingAuthenticationTokenException</Code>"),
        "{}",
        unsigned.text()
    );
}

#[test]
fn presigned_urls_are_good_for_what_they_say() {
    let server = guarded_server();
    let url = |service: &str, signature: &str| {
        format!(
            "/?Action=CreateQueue&QueueName=work&X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIDEXAMPLE%2F20261115%2Feu-west-2%2F{service}%2Faws4_request\
             &X-Amz-Date=20261115T080000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature={signature}"
        )
    };
    let get = |url: &str| {
        server
            .connect()
            .send("GET", url, &[("Host", "localhost:8000")], b"")
    };
    let for_sqs = url(
        "sqs",
        "76b9177447cf2562e0987a27b5f74c88bdf7c7b19845f8a3bb46cd2e35c35197",
    );
    let made = get(&for_sqs);
    assert_eq!(made.status, 200, "{}", made.text());
    assert!(made.text().contains("/work</QueueUrl>"), "{}", made.text());
    let other = get(&for_sqs.replace("QueueName=work", "QueueName=more"));
    assert!(
        other.text().contains("<Code>InvalidSignatureException</Code>"),
        "{}",
        other.text()
    );
    let for_dynamodb = get(&url(
        "dynamodb",
        "6ee51ec49967056f6a06bc6396faed49c9366dd13cbd03c64c6d5432371763b4",
    ));
    assert!(
        for_dynamodb.text().contains("correct service: 'sqs'"),
        "{}",
        for_dynamodb.text()
    );
}

#[test]
fn operations_on_queues_are_counted() {
    let server = TestServer::start();
    let mut client = server.connect();
    call(&mut client, "CreateQueue", r#"{"QueueName":"work"}"#);
    call(&mut client, "CreateQueue", r#"{"QueueName":"a b"}"#);
    let page = client.get("/metrics");
    let has = |line: &str| page.text().lines().any(|found| found == line);
    assert!(
        has(r#"trestle_user_errors_total{operation="CreateQueue"} 1"#),
        "{}",
        page.text()
    );
    assert!(has(
        r#"trestle_successful_request_latency_seconds_count{operation="CreateQueue"} 1"#
    ));
}

#[test]
fn trestles_own_tables_are_read_but_not_written_or_listed() {
    let server = TestServer::start();
    let mut client = server.connect();
    call(&mut client, "CreateQueue", r#"{"QueueName":"work"}"#);
    let listed = client.call("ListTables", b"{}");
    assert_eq!(listed.text(), r#"{"TableNames":[]}"#);
    let scanned = client.call("Scan", br#"{"TableName":"_trestle.queues"}"#);
    assert!(scanned.text().contains(r#""Count":1"#), "{}", scanned.text());
    let row = r#"{"pk":{"S":"a"},"sk":{"S":"b"}}"#;
    for (operation, body) in [
        (
            "PutItem",
            format!(r#"{{"TableName":"_trestle.queues","Item":{row}}}"#),
        ),
        (
            "DeleteItem",
            format!(r#"{{"TableName":"_trestle.queues","Key":{row}}}"#),
        ),
        (
            "BatchWriteItem",
            format!(r#"{{"RequestItems":{{"_trestle.queues":[{{"PutRequest":{{"Item":{row}}}}}]}}}}"#),
        ),
        (
            "TransactWriteItems",
            format!(r#"{{"TransactItems":[{{"Delete":{{"TableName":"_trestle.queues","Key":{row}}}}}]}}"#),
        ),
        (
            "ExecuteStatement",
            r#"{"Statement":"DELETE FROM \"_trestle.queues\" WHERE pk='a' AND sk='b'"}"#.to_owned(),
        ),
        ("DeleteTable", r#"{"TableName":"_trestle.queues"}"#.to_owned()),
        (
            "CreateTable",
            r#"{"TableName":"_trestle.mine","BillingMode":"PAY_PER_REQUEST",
                "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
                "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#
                .to_owned(),
        ),
    ] {
        let refused = client.call(operation, body.as_bytes());
        assert_eq!(refused.status, 400, "{operation}");
        assert!(
            refused.text().contains("belongs to Trestle"),
            "{operation}: {}",
            refused.text()
        );
    }
}

/// Sends a form, as SDKs from before 2024 do.
fn form(client: &mut Client, path: &str, body: &str) -> Response {
    let headers = [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")];
    client.send("POST", path, &headers, body.as_bytes())
}

#[test]
fn the_older_protocol_is_a_form_or_a_url_and_answers_in_xml() {
    let server = TestServer::start();
    let mut client = server.connect();
    let made = form(
        &mut client,
        "/",
        "Action=CreateQueue&Version=2012-11-05&QueueName=work",
    );
    assert_eq!((made.status, made.header("content-type")), (200, "text/xml"));
    assert!(
        made.text()
            .contains("/000000000000/work</QueueUrl></CreateQueueResult>"),
        "{}",
        made.text()
    );
    let path = "/000000000000/work";
    let sent = form(
        &mut client,
        path,
        "Action=SendMessage&MessageBody=a+b%26c&MessageAttribute.1.Name=n&MessageAttribute.1.Value.DataType=String\
         &MessageAttribute.1.Value.StringValue=v",
    );
    assert!(
        sent.text().contains("<MD5OfMessageAttributes>"),
        "{}",
        sent.text()
    );
    let got = client.send(
        "GET",
        &format!("{path}?Action=ReceiveMessage&MessageAttributeName.1=All"),
        &[],
        b"",
    );
    assert!(got.text().contains("<Body>a b&amp;c</Body>"), "{}", got.text());
    assert!(
        got.text().contains("<MessageAttribute><Name>n</Name>"),
        "{}",
        got.text()
    );
    let gone = form(&mut client, "/0/none", "Action=PurgeQueue");
    assert_eq!(gone.status, 400);
    assert!(
        gone.text()
            .contains("<Code>AWS.SimpleQueueService.NonExistentQueue</Code>")
    );
    assert!(gone.text().contains("does not exist for this wsdl version."));
    let unknown = client.send("GET", &format!("{path}?Action=FooBar"), &[], b"");
    assert!(
        unknown.text().contains("<Code>InvalidAction</Code>"),
        "{}",
        unknown.text()
    );
    let purged = form(&mut client, path, "Action=PurgeQueue");
    assert!(!purged.text().contains("Result"), "{}", purged.text());
    assert_eq!(form(&mut client, path, "Action=PurgeQueue").status, 403);
    // Without an action it is not a request to queues.
    assert_eq!(client.send("GET", path, &[], b"").status, 404);
}

#[test]
fn a_form_with_a_target_is_no_request_of_the_older_protocol() {
    let server = TestServer::start();
    let mut client = server.connect();
    for target in ["DynamoDB_20120810.ListTables", "AmazonSQS.ListQueues"] {
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("X-Amz-Target", target),
        ];
        let answer = client.send("POST", "/", &headers, b"Action=ListQueues");
        assert_eq!(answer.status, 404, "{target}: {}", answer.text());
        assert!(!answer.text().contains("ListQueuesResult"), "{}", answer.text());
        assert_ne!(answer.header("content-type"), "text/xml");
    }
}

#[test]
fn no_page_of_another_site_sends_forms() {
    let server = TestServer::start();
    let mut client = server.connect();
    let path = "/?Action=CreateQueue&QueueName=work";
    for headers in [
        [("Sec-Fetch-Site", "cross-site")],
        [("Origin", "http://elsewhere.example")],
    ] {
        let refused = client.send("GET", path, &headers, b"");
        assert_eq!(refused.status, 400, "{headers:?}: {}", refused.text());
        assert!(
            refused.text().contains("<Code>AccessDeniedException</Code>"),
            "{}",
            refused.text()
        );
    }
    let list = client.send("GET", "/?Action=ListQueues", &[("Sec-Fetch-Site", "none")], b"");
    assert!(list.text().contains("<ListQueuesResult/>"), "{}", list.text());
}
