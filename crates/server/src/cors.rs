//! Cross-origin requests: browsers ask first, and need the answer in every response.

use crate::hosts::is_of_this_machine;
use crate::settings::CorsOrigins;
use hyper::Uri;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// How long a browser may remember a preflight answer: two days, as DynamoDB says.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("172800");

/// Headers that a script may read besides the ordinary ones.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,Date",
);

/// Adds the headers that allow scripts of `Origin` to read the answer. A request without `Origin` did not
/// come from a script of another site and gets nothing.
pub(crate) fn allow(origins: &CorsOrigins, request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(allowed) = allowed_origin(origins, request, answer) else {
        return;
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

/// Adds the answer to a preflight request: any method and headers that the browser asks for.
pub(crate) fn allow_preflight(origins: &CorsOrigins, request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(allowed) = allowed_origin(origins, request, answer) else {
        return;
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    answer.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S);
    echo(
        request,
        header::ACCESS_CONTROL_REQUEST_HEADERS,
        answer,
        header::ACCESS_CONTROL_ALLOW_HEADERS,
    );
    echo(
        request,
        header::ACCESS_CONTROL_REQUEST_METHOD,
        answer,
        header::ACCESS_CONTROL_ALLOW_METHODS,
    );
}

fn allowed_origin(origins: &CorsOrigins, request: &HeaderMap, answer: &mut HeaderMap) -> Option<HeaderValue> {
    let origin = request.get(header::ORIGIN)?;
    if *origins == CorsOrigins::Any {
        return Some(HeaderValue::from_static("*"));
    }
    // The answer depends on the origin, so caches must not return it to another one.
    answer.insert(header::VARY, HeaderValue::from_static("Origin"));
    is_allowed(origins, origin).then(|| origin.clone())
}

/// Whether scripts of an origin may call.
pub(crate) fn is_allowed(origins: &CorsOrigins, origin: &HeaderValue) -> bool {
    match origins {
        CorsOrigins::Any => true,
        CorsOrigins::Loopback => origin.to_str().is_ok_and(is_loopback),
        CorsOrigins::Only(list) => list.iter().any(|allowed| allowed.as_bytes() == origin.as_bytes()),
    }
}

/// Whether an origin is on this machine, at any port. `null`, as sandboxed pages and files send it, is not.
fn is_loopback(origin: &str) -> bool {
    let Ok(origin) = origin.parse::<Uri>() else {
        return false;
    };
    let is_web = matches!(origin.scheme_str(), Some("http" | "https"));
    let authority = origin
        .authority()
        .filter(|authority| !authority.as_str().contains('@'));
    let host = authority.map(|authority| authority.host().trim_start_matches('[').trim_end_matches(']'));
    is_web && host.is_some_and(is_of_this_machine)
}

fn echo(request: &HeaderMap, asked: HeaderName, answer: &mut HeaderMap, granted: HeaderName) {
    if let Some(value) = request.get(asked) {
        answer.insert(granted, value.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_origin(origin: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ORIGIN, HeaderValue::from_static(origin))])
    }

    #[test]
    fn a_listed_origin_is_named_and_another_gets_nothing() {
        let origins = CorsOrigins::Only(vec!["https://app.example".to_owned()]);
        let mut answer = HeaderMap::new();
        allow(&origins, &from_origin("https://app.example"), &mut answer);
        assert_eq!(answer[header::ACCESS_CONTROL_ALLOW_ORIGIN], "https://app.example");
        assert_eq!(answer[header::VARY], "Origin");

        let mut answer = HeaderMap::new();
        allow(&origins, &from_origin("https://evil.example"), &mut answer);
        assert!(!answer.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
    }

    #[test]
    fn the_default_lets_pages_of_this_machine_in_and_no_others() {
        let allowed = |origin| is_allowed(&CorsOrigins::Loopback, &HeaderValue::from_static(origin));
        for origin in [
            "http://localhost:3000",
            "https://localhost",
            "http://127.0.0.1:5173",
            "http://[::1]:8080",
            "http://app.localhost:3000",
        ] {
            assert!(allowed(origin), "{origin}");
        }
        for origin in [
            "null",
            "https://evil.example",
            "http://localhost.evil.example",
            "http://192.168.1.5:3000",
            "file://localhost",
            "http://evil.example:80@localhost",
            "localhost:3000",
            "",
        ] {
            assert!(!allowed(origin), "{origin}");
        }
    }

    #[test]
    fn a_request_without_origin_gets_no_cors_headers() {
        let mut answer = HeaderMap::new();
        allow(&CorsOrigins::Any, &HeaderMap::new(), &mut answer);
        assert!(answer.is_empty());
    }
}
