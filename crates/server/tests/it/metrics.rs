//! The metrics for Prometheus.

use crate::test_server::TestServer;

/// The value of one line of the page.
fn value(page: &str, name: &str) -> f64 {
    let line = page
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{name} is missing in\n{page}"))
        .parse()
        .unwrap()
}

#[test]
fn operations_are_counted_by_what_came_of_them() {
    let server = TestServer::start();
    let mut client = server.connect();
    client.call(
        "CreateTable",
        br#"{"TableName":"counted","BillingMode":"PAY_PER_REQUEST",
            "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
            "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]}"#,
    );
    let put =
        br#"{"TableName":"counted","Item":{"pk":{"S":"a"}},"ConditionExpression":"attribute_not_exists(pk)",
        "ReturnConsumedCapacity":"TOTAL"}"#;
    assert_eq!(client.call("PutItem", put).status, 200);
    assert_eq!(client.call("PutItem", put).status, 400);
    let scan = br#"{"TableName":"counted","ReturnConsumedCapacity":"TOTAL"}"#;
    assert_eq!(client.call("Scan", scan).status, 200);
    assert_eq!(client.call("Scan", b"{}").status, 400);
    assert_eq!(client.call("Nothing", b"{}").status, 400);

    let answer = client.get("/metrics");
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .header("content-type")
            .starts_with("text/plain; version=0.0.4")
    );
    let page = answer.text();
    let check =
        |name: &str, expected: f64| assert_eq!(value(page, &format!("trestle_{name}")), expected, "{name}");
    check(
        r#"successful_request_latency_seconds_count{operation="PutItem"}"#,
        1.0,
    );
    check(
        r#"successful_request_latency_seconds_bucket{operation="PutItem",le="+Inf"}"#,
        1.0,
    );
    check(
        r#"conditional_check_failed_requests_total{operation="PutItem"}"#,
        1.0,
    );
    check(r#"consumed_write_capacity_units_total{operation="PutItem"}"#, 1.0);
    // Half a unit for each of the four partitions that a table on demand has.
    check(r#"consumed_read_capacity_units_total{operation="Scan"}"#, 2.0);
    check(r#"returned_item_count_total{operation="Scan"}"#, 1.0);
    check(r#"user_errors_total{operation="Scan"}"#, 1.0);
    check(r#"storage_point_lookups_total{operation="PutItem"}"#, 2.0);
    check(r#"storage_ranges_total{operation="Scan"}"#, 1.0);
    check("refused_requests_total", 1.0);
    check("connections_open", 1.0);
    check("connections_accepted_total", 1.0);
    assert!(value(page, "trestle_uptime_seconds") > 0.0);
}

#[test]
fn every_sample_has_a_type_and_a_help_line() {
    let server = TestServer::start();
    server.call("ListTables", "{}");
    let page = server.connect().get("/metrics").text().to_owned();
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        for kind in ["HELP", "TYPE"] {
            let documented = [name, family]
                .iter()
                .any(|name| page.contains(&format!("# {kind} {name} ")));
            assert!(documented, "{kind} of {name}");
        }
    }
}
