//! Scripts of other sites.

use crate::test_server::TestServer;
use trestle_server::CorsOrigins;

const ORIGIN: (&str, &str) = ("Origin", "https://app.example");
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
    assert_eq!(answer.header("access-control-allow-origin"), "*");
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
        assert_eq!(answer.header("access-control-allow-origin"), "*");
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
}
