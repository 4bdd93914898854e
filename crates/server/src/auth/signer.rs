//! The other side: signing a request, for our own clients.

use super::claim::{Claim, Scope};
use super::moment::Moment;
use super::{AccessKey, SERVICE, canonical, signature};
use hyper::Request;
use trestle_api::Error;
use trestle_env::Timestamp;

/// Any region is accepted; this one is as good as another.
const REGION: &str = "us-east-1";

/// The headers that sign a `GET` of `path`, besides `Host`, which must be sent as given here.
pub fn sign_get(
    key: &AccessKey,
    host: &str,
    path: &str,
    now: Timestamp,
) -> Result<Vec<(&'static str, String)>, Error> {
    sign(key, host, ("GET", path), b"", now)
}

/// The headers that sign a request by its method and path, query included; `Host` must be sent as given here.
pub fn sign(
    key: &AccessKey,
    host: &str,
    (method, path): (&str, &str),
    body: &[u8],
    now: Timestamp,
) -> Result<Vec<(&'static str, String)>, Error> {
    let signed_at = Moment::from_epoch_s(now.as_secs());
    let date = signed_at.to_string();
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("host", host)
        .header("x-amz-date", &date);
    let (head, ()) = request
        .body(())
        .map_err(|error| Error::validation(error.to_string()))?
        .into_parts();
    let claim = Claim {
        key_id: key.id.clone(),
        scope: Scope {
            date: signed_at.date(),
            region: REGION.to_owned(),
            service: SERVICE.to_owned(),
            terminator: "aws4_request".to_owned(),
        },
        signed_at,
        signed_headers: vec!["host".to_owned(), "x-amz-date".to_owned()],
        signature: String::new(),
        expires_s: None,
    };
    let text = canonical::string_to_sign(&claim, &head, body)?;
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
        key.id,
        claim.scope.text(),
        claim.signed_headers.join(";"),
        signature::sign(&key.secret, &claim.scope, &text)
    );
    Ok(vec![("X-Amz-Date", date), ("Authorization", authorization)])
}
