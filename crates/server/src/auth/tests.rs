//! The signatures below were made by botocore and by the JavaScript SDK's signer, not by Trestle.

use super::*;
use hyper::Request;
use trestle_env::{Timestamp, VirtualClock};
use trestle_sigv4::{AccessKey, sha256};

const SIGNED_AT_S: u64 = 1_794_729_600; // 20261115T080000Z
const BODY: &[u8] = br#"{"Limit":10}"#;
const HEADER: &str = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/eu-west-2/dynamodb/aws4_request, \
    SignedHeaders=content-type;host;x-amz-date;x-amz-target, \
    Signature=0ab9ef31cdfd4c2d20a8988acbad6184b2707afebc5a9d395f38a9057c3ab279";
const HEADER_WITH_TOKEN: &str = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261115/local/dynamodb/aws4_request, \
    SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target;x-note, \
    Signature=b2d632eb4f428b331a55f65d65e5c57694c3eb08978df50b0c7f3f783fa4e85d";
const PRESIGNED: &str = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256\
    &X-Amz-Credential=AKIDEXAMPLE%2F20261115%2Fus-east-1%2Fdynamodb%2Faws4_request\
    &X-Amz-Date=20261115T080000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-target\
    &X-Amz-Signature=636b46f600674fae6f851e8d5aa3fa2c21df797dba398b8f81f80e8a778f2d18";
const PRESIGNED_WITH_MORE: &str = "/?z=%20a~&b=c%2Fd&X-Amz-Security-Token=a%2Fsession%2Btoken%3D%3D\
    &X-Amz-Algorithm=AWS4-HMAC-SHA256\
    &X-Amz-Credential=AKIDEXAMPLE%2F20261115%2Fus-east-1%2Fdynamodb%2Faws4_request\
    &X-Amz-Date=20261115T080000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-target\
    &X-Amz-Signature=12db44212f8a34bf819aec0d42ab7b609123eaa5a22eacc879eb8a2f1fa30c3e";
/// By botocore, which presigns only requests without a body.
const PRESIGNED_WITHOUT_BODY: &str = "/?X-Amz-Algorithm=AWS4-HMAC-SHA256\
    &X-Amz-Credential=AKIDEXAMPLE%2F20261115%2Fus-east-1%2Fdynamodb%2Faws4_request\
    &X-Amz-Date=20261115T080000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=content-type%3Bhost%3Bx-amz-target\
    &X-Amz-Signature=91452f2630f1225769925895271b673dee5c95551f1cd6a1637f364db904e82f";

fn verifier_at(epoch_s: u64) -> Verifier {
    let key = AccessKey {
        id: "AKIDEXAMPLE".to_owned(),
        secret: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
    };
    let clock = Arc::new(VirtualClock::starting_at(Timestamp::from_secs(epoch_s)));
    Verifier::new(&[KeyGrant::everything(key)], clock).unwrap()
}

impl Verifier {
    fn verify(&self, head: &Parts, body: &[u8]) -> Result<(), Error> {
        self.examine(head)?.verify(head, &sha256(body))
    }
}

fn request(uri: &str, headers: &[(&str, &str)]) -> Parts {
    let mut builder = Request::post(uri)
        .header("Host", "localhost:8000")
        .header("Content-Type", "application/x-amz-json-1.0")
        .header("X-Amz-Target", "DynamoDB_20120810.ListTables");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).unwrap().into_parts().0
}

fn with_header(authorization: &str) -> Parts {
    request(
        "/",
        &[
            ("X-Amz-Date", "20261115T080000Z"),
            ("Authorization", authorization),
        ],
    )
}

fn refusal(head: &Parts, body: &[u8]) -> Error {
    verifier_at(SIGNED_AT_S).verify(head, body).unwrap_err()
}

#[test]
fn botocores_header_signature_is_accepted() {
    assert_eq!(
        verifier_at(SIGNED_AT_S).verify(&with_header(HEADER), BODY),
        Ok(())
    );
}

#[test]
fn a_session_token_and_spacious_headers_are_accepted() {
    let head = request(
        "/",
        &[
            ("X-Amz-Date", "20261115T080000Z"),
            ("X-Amz-Security-Token", "a/session+token=="),
            ("X-Note", "  two   spaces "),
            ("Authorization", HEADER_WITH_TOKEN),
        ],
    );
    assert_eq!(verifier_at(SIGNED_AT_S).verify(&head, BODY), Ok(()));
}

#[test]
fn a_header_signature_is_accepted_over_http2_where_the_host_is_the_authority() {
    let mut head = with_header(HEADER);
    head.headers.remove("host");
    head.uri = "http://localhost:8000/".parse().unwrap();
    assert_eq!(verifier_at(SIGNED_AT_S).verify(&head, BODY), Ok(()));
}

#[test]
fn presigned_requests_are_accepted_until_they_expire() {
    for (uri, body) in [
        (PRESIGNED, "{}"),
        (PRESIGNED_WITH_MORE, "{}"),
        (PRESIGNED_WITHOUT_BODY, ""),
    ] {
        let head = request(uri, &[]);
        assert_eq!(
            verifier_at(SIGNED_AT_S + 3600).verify(&head, body.as_bytes()),
            Ok(()),
            "{uri}"
        );
        let expired = verifier_at(SIGNED_AT_S + 3601)
            .verify(&head, body.as_bytes())
            .unwrap_err();
        assert_eq!(
            expired.message(),
            "Signature expired: 20261115T080000Z is now earlier than 20261115T080001Z (20261115T090001Z - 60 min.)"
        );
    }
}

#[test]
fn whatever_was_signed_cannot_be_changed() {
    let wrong = Error::invalid_signature();
    assert_eq!(refusal(&with_header(HEADER), b"{}"), wrong, "body");

    let mut head = with_header(HEADER);
    head.headers
        .insert("x-amz-target", "DynamoDB_20120810.DeleteTable".parse().unwrap());
    assert_eq!(refusal(&head, BODY), wrong, "operation");

    let mut head = with_header(HEADER);
    head.headers.insert("host", "other:8000".parse().unwrap());
    assert_eq!(refusal(&head, BODY), wrong, "host");

    let mut head = with_header(HEADER);
    head.uri = "/?a=b".parse().unwrap();
    assert_eq!(refusal(&head, BODY), wrong, "query");

    let head = with_header(&HEADER.replace("0ab9", "0ab8"));
    assert_eq!(refusal(&head, BODY), wrong, "signature");

    let head = with_header(&HEADER.replace("eu-west-2", "eu-west-1"));
    assert_eq!(refusal(&head, BODY), wrong, "region");

    let head = with_header(&HEADER.replace("Signature=", "Signature=0"));
    assert_eq!(refusal(&head, BODY), wrong, "length");
}

#[test]
fn the_operation_and_the_host_must_be_signed() {
    let head = with_header(&HEADER.replace(";x-amz-target", ""));
    assert_eq!(
        refusal(&head, BODY).message(),
        "'X-Amz-Target' must be a 'SignedHeader' in the AWS Authorization."
    );
    let head = with_header(&HEADER.replace("host;", ""));
    assert_eq!(
        refusal(&head, BODY).message(),
        "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization."
    );
}

#[test]
fn a_header_signature_lives_fifteen_minutes_both_ways() {
    let head = with_header(HEADER);
    for within in [SIGNED_AT_S - 900, SIGNED_AT_S + 900] {
        assert_eq!(verifier_at(within).verify(&head, BODY), Ok(()));
    }
    let late = verifier_at(SIGNED_AT_S + 901).verify(&head, BODY).unwrap_err();
    assert_eq!(
        late.message(),
        "Signature expired: 20261115T080000Z is now earlier than 20261115T080001Z (20261115T081501Z - 15 min.)"
    );
    let early = verifier_at(SIGNED_AT_S - 901).verify(&head, BODY).unwrap_err();
    assert_eq!(
        early.message(),
        "Signature not yet current: 20261115T080000Z is still later than 20261115T075959Z (20261115T074459Z + 15 min.)"
    );
    assert_eq!(early.kind(), ErrorKind::InvalidSignature);
}

#[test]
fn an_unknown_key_is_not_recognised() {
    let refused = refusal(&with_header(&HEADER.replace("AKIDEXAMPLE", "AKIDOTHER")), BODY);
    assert_eq!(refused.kind(), ErrorKind::UnrecognizedClient);
    assert_eq!(
        refused.message(),
        "The security token included in the request is invalid."
    );
}

#[test]
fn no_signature_is_a_missing_token() {
    for head in [request("/", &[]), with_header("Bearer abc"), with_header("")] {
        assert_eq!(refusal(&head, BODY), Error::missing_authentication_token());
    }
}

#[test]
fn every_missing_part_of_the_header_is_named() {
    let refused = refusal(&request("/", &[("Authorization", "AWS4-HMAC-SHA256 foo")]), BODY);
    assert_eq!(refused.kind(), ErrorKind::IncompleteSignature);
    assert_eq!(
        refused.message(),
        "Authorization header requires 'Credential' parameter. Authorization header requires 'Signature' parameter. \
         Authorization header requires 'SignedHeaders' parameter. Authorization header requires existence of either \
         a 'X-Amz-Date' or a 'Date' header. Authorization=AWS4-HMAC-SHA256 foo"
    );
}

#[test]
fn every_missing_part_of_the_query_is_named() {
    let refused = refusal(
        &request(
            "/?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20261115T080000Z",
            &[],
        ),
        BODY,
    );
    assert_eq!(refused.kind(), ErrorKind::IncompleteSignature);
    assert_eq!(
        refused.message(),
        "AWS query-string parameters must include 'X-Amz-Credential'. AWS query-string parameters must include \
         'X-Amz-Signature'. AWS query-string parameters must include 'X-Amz-SignedHeaders'. Re-examine the \
         query-string parameters."
    );
}

#[test]
fn header_and_query_together_are_refused() {
    let refused = refusal(&request(PRESIGNED, &[("Authorization", HEADER)]), b"{}");
    assert_eq!(
        refused.message(),
        "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header."
    );
}

#[test]
fn a_wrong_scope_is_explained() {
    let check = |from: &str, to: &str, expected: &str| {
        assert_eq!(
            refusal(&with_header(&HEADER.replace(from, to)), BODY).message(),
            expected
        );
    };
    check(
        "/dynamodb/",
        "/s3/",
        "Credential should be scoped to correct service: 'dynamodb'. ",
    );
    check(
        "aws4_request",
        "aws3_request",
        "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws3_request'. ",
    );
    check(
        "/20261115/",
        "/20261114/",
        "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: '20261114' != '20261115', from '20261115T080000Z'. ",
    );
    check(
        "/eu-west-2/",
        "/",
        "Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got 'AKIDEXAMPLE/20261115/dynamodb/aws4_request'",
    );
    check(
        "HMAC-SHA256",
        "HMAC-SHA1",
        "Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA1'.",
    );
}

#[test]
fn an_announced_hash_must_be_the_bodys() {
    let mut head = with_header(HEADER);
    head.headers
        .insert("x-amz-content-sha256", "abc".parse().unwrap());
    assert_eq!(
        refusal(&head, BODY).message(),
        "The provided 'x-amz-content-sha256' header does not match what was computed."
    );
    let hash = sha256(BODY);
    head.headers.insert("x-amz-content-sha256", hash.parse().unwrap());
    assert_eq!(verifier_at(SIGNED_AT_S).verify(&head, BODY), Ok(()));
}

#[test]
fn an_http_date_stands_in_for_the_amz_date() {
    let head = request(
        "/",
        &[
            ("Date", "Sun, 15 Nov 2026 08:00:00 GMT"),
            ("Authorization", HEADER),
        ],
    );
    // The signature covers x-amz-date, so it cannot match; the test only needs the time to be parsed.
    assert_eq!(refusal(&head, BODY), Error::invalid_signature());
    let head = request("/", &[("Date", "yesterday"), ("Authorization", HEADER)]);
    assert_eq!(
        refusal(&head, BODY).message(),
        "Date must be in ISO-8601 'basic format'. Got 'yesterday'. See http://en.wikipedia.org/wiki/ISO_8601"
    );
}
