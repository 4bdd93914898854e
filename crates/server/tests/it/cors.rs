//! Scripts of other sites.

use crate::test_server::TestServer;
use trestle_server::CorsOrigins;

const ORIGIN: (&str, &str) = ("Origin", "http://localhost:3000");
const ASKED: [(&str, &str); 3] = [
    ORIGIN,
    ("Access-Control-Request-Method", "POST"),
    ("Access-Control-Request-Headers", "authorization,x-amz-target"),
];

#[test]
fn a_preflight_question_is_granted() {
    let server = TestServer::start();
    let answer = server.connect().send("OPTIONS", "/", &ASKED, b"");
    assert_eq!((answer.status, answer.text()), (200, ""));
    assert_eq!(answer.header("access-control-allow-origin"), ORIGIN.1);
    assert_eq!(answer.header("access-control-allow-methods"), "POST");
    assert_eq!(
        answer.header("access-control-allow-headers"),
        "authorization,x-amz-target"
    );
    assert_eq!(answer.header("access-control-max-age"), "172800");
}

#[test]
fn an_answer_and_a_refusal_can_be_read_by_scripts() {
    let server = TestServer::start();
    for operation in ["ListTables", "Nothing"] {
        let answer = server.connect().call_with(operation, &[ORIGIN], b"{}");
        assert_eq!(answer.header("access-control-allow-origin"), ORIGIN.1);
        assert!(
            answer
                .header("access-control-expose-headers")
                .contains("x-amzn-RequestId")
        );
    }
    assert_eq!(
        server
            .call("ListTables", "{}")
            .header("access-control-allow-origin"),
        ""
    );
}

#[test]
fn an_origin_that_is_not_listed_gets_no_permission() {
    let allowed = vec!["https://other.example".to_owned()];
    let server = TestServer::with(|settings| settings.cors = CorsOrigins::Only(allowed));
    let answer = server.connect().send("OPTIONS", "/", &ASKED, b"");
    assert_eq!(answer.header("access-control-allow-origin"), "");
    assert_eq!(answer.header("access-control-allow-methods"), "");
    let answer = server.connect().call_with("ListTables", &[ORIGIN], b"{}");
    assert_eq!(
        (answer.status, answer.error_type().as_str()),
        (400, "com.amazon.coral.service#AccessDeniedException")
    );
    assert!(
        answer
            .text()
            .contains("Scripts of http://localhost:3000 may not call"),
        "{}",
        answer.text()
    );
}

#[test]
fn every_origin_may_call_where_the_settings_say_so() {
    let server = TestServer::with(|settings| settings.cors = CorsOrigins::Any);
    let evil = [("Origin", "https://app.example")];
    let answer = server.connect().call_with("ListTables", &evil, b"{}");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("access-control-allow-origin"), "*");
}

#[test]
fn the_default_refuses_pages_of_other_machines() {
    let server = TestServer::start();
    for origin in ["https://app.example", "null"] {
        let answer = server
            .connect()
            .call_with("ListTables", &[("Origin", origin)], b"{}");
        assert_eq!(
            (answer.status, answer.error_type().as_str()),
            (400, "com.amazon.coral.service#AccessDeniedException")
        );
        assert_eq!(answer.header("access-control-allow-origin"), "");
    }
}

#[test]
fn a_server_of_this_machine_does_not_answer_to_the_name_of_a_page() {
    let server = TestServer::start();
    let rebound = [("Host", "evil.example:8000")];
    let answer = server.connect().call_with("ListTables", &rebound, b"{}");
    assert_eq!(
        (answer.status, answer.error_type().as_str()),
        (400, "com.amazon.coral.service#AccessDeniedException")
    );
    assert!(
        answer
            .text()
            .contains("does not answer to the host \\\"evil.example\\\""),
        "{}",
        answer.text()
    );
    for path in ["/", "/metrics"] {
        assert_eq!(server.connect().send("GET", path, &rebound, b"").status, 400);
    }
    let server = TestServer::with(|settings| settings.allowed_hosts = vec!["evil.example".to_owned()]);
    let answer = server.connect().call_with("ListTables", &rebound, b"{}");
    assert_eq!(answer.status, 200);
}

#[test]
fn no_script_of_another_origin_reads_the_metrics() {
    let server = TestServer::with(|settings| settings.cors = CorsOrigins::Any);
    for (path, allowed) in [("/", "*"), ("/metrics", "")] {
        let answer = server
            .connect()
            .send("GET", path, &[("Origin", "http://localhost:3000")], b"");
        assert_eq!(
            (answer.status, answer.header("access-control-allow-origin")),
            (200, allowed)
        );
    }
}
