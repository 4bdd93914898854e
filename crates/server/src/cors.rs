//! Cross-origin requests: browsers ask first, and want the answer on every response.

use crate::settings::CorsOrigins;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};

/// How long a browser may remember a preflight answer: two days, as DynamoDB says.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("172800");

/// Headers that a script may read besides the ordinary ones.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "x-amzn-RequestId,x-amzn-ErrorType,x-amz-request-id,x-amz-id-2,x-amzn-ErrorMessage,x-amz-crc32,Date",
);

/// Adds what a browser at `Origin` needs to let its script see the answer. A request without `Origin` did not
/// come from a script of another site and gets nothing.
pub(crate) fn allow(origins: &CorsOrigins, request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(allowed) = allowed_origin(origins, request, answer) else {
        return;
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
    answer.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

/// Adds the answer to a preflight question: whatever method and headers the browser asks for.
pub(crate) fn allow_preflight(origins: &CorsOrigins, request: &HeaderMap, answer: &mut HeaderMap) {
    let Some(allowed) = allowed_origin(origins, request, answer) else {
        return;
    };
    answer.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, allowed);
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
    match origins {
        CorsOrigins::Any => Some(HeaderValue::from_static("*")),
        CorsOrigins::Only(list) => {
            // The answer depends on who asks, so caches must not hand it to another origin.
            answer.insert(header::VARY, HeaderValue::from_static("Origin"));
            list.iter()
                .any(|allowed| allowed.as_bytes() == origin.as_bytes())
                .then(|| origin.clone())
        }
    }
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
    fn a_request_without_origin_gets_no_cors_headers() {
        let mut answer = HeaderMap::new();
        allow(&CorsOrigins::Any, &HeaderMap::new(), &mut answer);
        assert!(answer.is_empty());
    }
}
