//! Webhooks: what is sent, and what each answer means.

use crate::batches::{NOW_S, batch, open};
use crate::server::{Reply, Server, reply};
use http::Response;
use serde_json::{Value, json};
use trestle_events::Outcome;
use trestle_sigv4::{hex, keyed_hash};

async fn outcome_of(answer: impl Fn() -> Reply + Send + Sync + 'static) -> Outcome {
    let server = Server::start(move |_| answer()).await;
    let target = open(json!({"webhook": server.url("/"), "timeout": "5s"}));
    target.deliver(&batch(2)).await
}

#[tokio::test]
async fn a_batch_arrives_with_its_route_and_its_records() {
    let server = Server::start(|_| reply(200, "")).await;
    let target = open(json!({
        "webhook": server.url("/hook?a=b"),
        "headers": {"Authorization": {"env": "HOOK_SECRET"}, "X-Team": "layers"},
    }));
    assert_eq!(target.deliver(&batch(2)).await, Outcome::Done);
    let [received] = &server.received()[..] else {
        panic!("one request");
    };
    assert_eq!(received.path, "/hook?a=b");
    assert_eq!(
        received.json(),
        json!({"route": "r", "records": [
            {"id": "r/0", "attempt": 1, "input": {"number": 0, "key": "item 0"}},
            {"id": "r/1", "attempt": 1, "input": {"number": 1, "key": "item 1"}},
        ]})
    );
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("x-trestle-route"), Some("r"));
    assert_eq!(received.header("authorization"), Some("whsec"));
    assert_eq!(received.header("x-team"), Some("layers"));
    assert_eq!(received.header("host"), Some(server.address.to_string().as_str()));
    assert_eq!(received.header("idempotency-key"), None);
    assert_eq!(received.header("x-trestle-signature"), None);
}

#[tokio::test]
async fn the_same_batch_has_the_same_name_and_a_lone_record_its_own_key() {
    let server = Server::start(|_| reply(204, "")).await;
    let target = open(json!({"webhook": server.url("/")}));
    for count in [2, 2, 1] {
        assert_eq!(target.deliver(&batch(count)).await, Outcome::Done);
    }
    let received = server.received();
    let name = |index: usize| received[index].header("x-trestle-delivery").unwrap();
    assert_eq!(name(0), name(1));
    assert_ne!(name(0), name(2));
    assert_eq!(received[2].header("idempotency-key"), Some("r/0"));
}

#[tokio::test]
async fn with_a_secret_the_body_and_the_time_are_signed() {
    let server = Server::start(|_| reply(200, "")).await;
    let target = open(json!({"webhook": server.url("/"), "secret": {"env": "HOOK_SECRET"}}));
    target.deliver(&batch(1)).await;
    let received = &server.received()[0];
    let signed = [format!("{NOW_S}.").as_bytes(), &received.body].concat();
    let expected = format!("t={NOW_S},v1={}", hex(&keyed_hash(b"whsec", &signed)));
    assert_eq!(received.header("x-trestle-signature"), Some(expected.as_str()));
}

#[tokio::test]
async fn a_secret_can_be_in_a_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "whsec\n").unwrap();
    let server = Server::start(|_| reply(200, "")).await;
    let target = open(json!({"webhook": server.url("/"), "secret": {"file": file.path()}}));
    target.deliver(&batch(1)).await;
    let received = &server.received()[0];
    let signed = [format!("{NOW_S}.").as_bytes(), &received.body].concat();
    let digits = hex(&keyed_hash(b"whsec", &signed));
    assert!(received.header("x-trestle-signature").unwrap().ends_with(&digits));
}

#[tokio::test]
async fn a_success_takes_all_whatever_it_says() {
    for (status, body) in [
        (200, "thanks"),
        (201, "{}"),
        (202, r#"{"batchItemFailures": []}"#),
        (204, ""),
        (200, r#"{"batchItemFailures": null}"#),
        (200, "[1]"),
    ] {
        assert_eq!(
            outcome_of(move || reply(status, body)).await,
            Outcome::Done,
            "{status} {body}"
        );
    }
}

#[tokio::test]
async fn records_that_the_answer_names_were_not_taken() {
    let body =
        r#"{"batchItemFailures": [{"itemIdentifier": "r/1", "reason": "odd"}, {"itemIdentifier": "r/1"}]}"#;
    assert_eq!(
        outcome_of(move || reply(200, body)).await,
        Outcome::Partly(vec![("r/1".to_owned(), "odd".to_owned())])
    );
}

#[tokio::test]
async fn partial_results_that_make_no_sense_take_nothing() {
    for body in [
        r#"{"batchItemFailures": [{"itemIdentifier": "r/7"}]}"#,
        r#"{"batchItemFailures": [{"itemIdentifier": ""}]}"#,
        r#"{"batchItemFailures": [{"id": "r/1"}]}"#,
        r#"{"batchItemFailures": "r/1"}"#,
    ] {
        let outcome = outcome_of(move || reply(200, body)).await;
        assert!(matches!(outcome, Outcome::Refused(_)), "{body}: {outcome:?}");
    }
}

#[tokio::test]
async fn a_server_that_is_busy_is_unavailable() {
    for status in [425, 429, 503] {
        let outcome = outcome_of(move || reply(status, "")).await;
        assert!(
            matches!(outcome, Outcome::Unavailable(_)),
            "{status}: {outcome:?}"
        );
    }
    let later = || {
        let busy = Response::builder().status(503).header("Retry-After", "120");
        Some(busy.body("closed for lunch".to_owned()).unwrap())
    };
    assert_eq!(
        outcome_of(later).await,
        Outcome::Unavailable(
            "answered 503 Service Unavailable, retry after 120: closed for lunch".to_owned()
        )
    );
}

#[tokio::test]
async fn a_server_that_fails_may_have_failed_because_of_a_record() {
    for status in [408, 500, 501, 502, 504] {
        let outcome = outcome_of(move || reply(status, "")).await;
        assert!(matches!(outcome, Outcome::Failed(_)), "{status}: {outcome:?}");
    }
}

#[tokio::test]
async fn any_other_answer_refuses_the_batch() {
    for status in [400, 401, 403, 404, 409, 410, 413, 422] {
        let outcome = outcome_of(move || reply(status, "")).await;
        assert!(matches!(outcome, Outcome::Refused(_)), "{status}: {outcome:?}");
    }
    assert_eq!(
        outcome_of(|| reply(422, "no such layer")).await,
        Outcome::Refused("answered 422 Unprocessable Entity: no such layer".to_owned())
    );
    let moved = outcome_of(|| reply(302, "")).await;
    assert_eq!(
        moved,
        Outcome::Refused("answered 302 Found; redirections are not followed".to_owned())
    );
}

#[tokio::test]
async fn silence_is_given_up() {
    let server = Server::start(|_| None).await;
    let target = open(json!({"webhook": server.url("/"), "timeout": "50ms"}));
    let outcome = target.deliver(&batch(1)).await;
    let expected = format!("no answer from {}: none within 0.05 s", server.address);
    assert_eq!(outcome, Outcome::Failed(expected));
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start(|_| reply(200, "")).await;
    let target = open(json!({"webhook": server.url("/")}));
    for _ in 0..5 {
        assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    }
    assert_eq!((server.received().len(), server.connections()), (5, 1));
}

#[tokio::test]
async fn lanes_have_connections_of_their_own() {
    let server = Server::start(|_| reply(200, "")).await;
    let target = open(json!({"webhook": server.url("/")}));
    let (one, other) = (batch(1), batch(2));
    let both = tokio::join!(target.deliver(&one), target.deliver(&other));
    assert_eq!(both, (Outcome::Done, Outcome::Done));
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_server_may_go_and_come_back() {
    let server = Server::start(|_| reply(200, "")).await;
    let address = server.address;
    let target = open(json!({"webhook": server.url("/")}));
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    server.stop().await;
    // The kept connection is dead, and no server accepts a new one.
    let outcome = target.deliver(&batch(1)).await;
    assert!(matches!(outcome, Outcome::Unavailable(_)), "{outcome:?}");
    let server = Server::start_at(address, None, |_| reply(200, "")).await;
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_kept_connection_that_died_costs_no_attempt() {
    let server = Server::start(|_| reply(200, "")).await;
    let address = server.address;
    let target = open(json!({"webhook": server.url("/")}));
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    server.stop().await;
    let server = Server::start_at(address, None, |_| reply(200, "")).await;
    assert_eq!(target.deliver(&batch(1)).await, Outcome::Done);
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn an_endless_answer_is_no_answer() {
    let outcome = outcome_of(|| reply(200, "x".repeat(5 * 1024 * 1024))).await;
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
}

#[tokio::test]
async fn ten_thousand_records_go_in_one_request() {
    let server = Server::start(|_| reply(200, "")).await;
    let target = open(json!({"webhook": server.url("/")}));
    assert_eq!(target.deliver(&batch(10_000)).await, Outcome::Done);
    let records = server.received()[0].json();
    assert_eq!(records["records"].as_array().map(Vec::len), Some(10_000));
    assert_eq!(records["records"][9_999]["id"], Value::from("r/9999"));
}
