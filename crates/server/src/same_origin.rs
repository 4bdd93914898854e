//! Whether a request can have been sent by a page of another origin.

use hyper::header::{self, HeaderMap};

/// The origin of the page that sent a request, if it is not this server. Behind a proxy the browser knows the
/// server by another name, and itself reports that both are the same origin; no page can set that header.
pub(crate) fn foreign_origin<'h>(
    headers: &'h HeaderMap,
    own_origin: &str,
) -> Option<std::borrow::Cow<'h, str>> {
    let origin = headers.get(header::ORIGIN)?;
    let is_own = origin.as_bytes() == own_origin.as_bytes() || site(headers) == Some(b"same-origin");
    (!is_own).then(|| String::from_utf8_lossy(origin.as_bytes()))
}

/// Browsers report where a request comes from, even if they send no origin.
pub(crate) fn is_cross_site(headers: &HeaderMap) -> bool {
    site(headers).is_some_and(|site| site != b"same-origin" && site != b"none")
}

fn site(headers: &HeaderMap) -> Option<&[u8]> {
    headers.get("sec-fetch-site").map(|site| site.as_bytes())
}
