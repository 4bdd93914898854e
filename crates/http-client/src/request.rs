//! Requests, signed or not.

use crate::endpoint::Endpoint;
use bytes::Bytes;
use http::header::{HOST, USER_AGENT};
use http::{HeaderName, HeaderValue, Request};
use http_body_util::Full;
use trestle_env::Timestamp;
use trestle_sigv4::Signer;

/// A request without its destination.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// `GET`, `POST`, and so on.
    pub method: &'a str,
    /// The path with the query.
    pub path: &'a str,
    /// Headers in addition to those of every request.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body.
    pub body: &'a Bytes,
}

/// A request that is ready to be sent.
pub type Prepared = Request<Full<Bytes>>;

/// A request that is ready to be sent to an endpoint; signed, if there is a signer. An error says what is
/// invalid in HTTP.
pub fn request(
    endpoint: &Endpoint,
    outgoing: Outgoing<'_>,
    signer: Option<&Signer>,
    now: Timestamp,
) -> Result<Prepared, String> {
    let Outgoing {
        method,
        path,
        headers,
        body,
    } = outgoing;
    let authority = &endpoint.authority;
    let mut request = Request::builder().method(method).uri(path);
    request = request.header(HOST, authority).header(USER_AGENT, "trestle");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let mut request = request
        .body(Full::new(body.clone()))
        .map_err(|error| error.to_string())?;
    if let Some(signer) = signer {
        let signed = signer
            .sign((method, path), authority, headers, body, now)
            .map_err(|error| error.to_string())?;
        for (name, value) in signed {
            let value: HeaderValue = value
                .parse()
                .map_err(|_| "a credential holds letters that a header cannot")?;
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    Ok(request)
}
