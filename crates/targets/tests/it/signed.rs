//! Signatures of received requests, verified as a server does.

use crate::server::Received;
use http::Request;
use trestle_sigv4::{Moment, Scope, sha256, signature, string_to_sign};

/// Panics unless the request was signed with the tests' key for a service in a region.
#[track_caller]
pub(crate) fn assert_signed(received: &Received, service: &str, region: &str) {
    let authorization = received.header("authorization").unwrap();
    let fields: Vec<&str> = authorization
        .strip_prefix("AWS4-HMAC-SHA256 ")
        .unwrap()
        .split(", ")
        .map(|field| field.split_once('=').unwrap().1)
        .collect();
    let [credential, signed_headers, given] = fields[..] else {
        panic!("{authorization}");
    };
    assert_eq!(
        credential,
        format!("AKIDEXAMPLE/20261115/{region}/{service}/aws4_request")
    );
    assert_eq!(
        signed_headers,
        "content-type;host;x-amz-date;x-amz-security-token;x-amz-target"
    );
    assert_eq!(received.header("x-amz-security-token"), Some("session"));
    let mut request = Request::post(&received.path).body(()).unwrap();
    *request.headers_mut() = received.headers.clone();
    let (head, ()) = request.into_parts();
    let names: Vec<String> = signed_headers.split(';').map(str::to_owned).collect();
    let scope = Scope {
        date: "20261115".to_owned(),
        region: region.to_owned(),
        service: service.to_owned(),
        terminator: "aws4_request".to_owned(),
    };
    let signed_at = Moment::parse(received.header("x-amz-date").unwrap()).unwrap();
    let covered = string_to_sign(&head, &names, &sha256(&received.body), signed_at, &scope);
    assert_eq!(given, signature("hush", &scope, &covered));
}
