//! Answers, and the headers that every one of them carries.

use crate::compress;
use crate::cors;
use crate::reply_body::{Chunks, ReplyBody};
use crate::settings::CorsOrigins;
use bytes::Bytes;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

/// The content type of DynamoDB's JSON.
pub(crate) const AMZ_JSON: HeaderValue = HeaderValue::from_static("application/x-amz-json-1.0");
const PLAIN_JSON: HeaderValue = HeaderValue::from_static("application/json");
const XML: HeaderValue = HeaderValue::from_static("text/xml");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const BINARY: HeaderValue = HeaderValue::from_static("application/octet-stream");
const METRICS: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
const SERVER: HeaderValue = HeaderValue::from_static(concat!("Trestle/", env!("CARGO_PKG_VERSION")));
const REQUEST_ID: HeaderName = HeaderName::from_static("x-amzn-requestid");
const CRC32: HeaderName = HeaderName::from_static("x-amz-crc32");
const QUERY_ERROR: HeaderName = HeaderName::from_static("x-amzn-query-error");

/// An answer before it gets its headers.
#[derive(Debug)]
pub(crate) struct Reply {
    status: StatusCode,
    content_type: Option<HeaderValue>,
    body: Content,
    preflight: bool,
    /// The connection cannot be used any more: part of the request is still arriving.
    close: bool,
    /// Additional headers, which few answers have.
    further: Option<Box<HeaderMap>>,
    /// A test wants the connection closed without an answer.
    cut: bool,
}

/// A connection is closed without an answer because a test wants that.
#[derive(Debug, thiserror::Error)]
#[error("the connection was cut by an injected fault")]
pub(crate) struct Cut;

/// The content of an answer.
#[derive(Debug)]
enum Content {
    Whole(Bytes),
    /// Already compressed with gzip.
    Gzip(Bytes),
    /// Not to be compressed.
    Plain(Bytes),
    /// Pieces that are still being produced. Scripts of web pages may not read them.
    Stream(Chunks),
}

impl Reply {
    pub(crate) fn json(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Reply::new(status, Some(AMZ_JSON), body)
    }

    pub(crate) fn xml(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Reply::new(status, Some(XML), body)
    }

    pub(crate) fn admin(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Reply::new(status, Some(PLAIN_JSON), body)
    }

    pub(crate) fn text(status: StatusCode, body: impl Into<Bytes>) -> Self {
        Reply::new(status, Some(TEXT), body)
    }

    pub(crate) fn metrics(body: String) -> Self {
        Reply::new(StatusCode::OK, Some(METRICS), body)
    }

    pub(crate) fn preflight() -> Self {
        Reply {
            preflight: true,
            ..Reply::new(StatusCode::OK, None, Bytes::new())
        }
    }

    /// Bytes of a file, sent while they are produced.
    pub(crate) fn download(chunks: Chunks) -> Self {
        Reply {
            body: Content::Stream(chunks),
            ..Reply::new(StatusCode::OK, Some(BINARY), Bytes::new())
        }
    }

    /// A file that is compressed with gzip.
    pub(crate) fn gzip(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Reply {
            body: Content::Gzip(body.into()),
            ..Reply::new(
                StatusCode::OK,
                Some(HeaderValue::from_static(content_type)),
                Bytes::new(),
            )
        }
    }

    /// A file for a client that does not accept gzip.
    pub(crate) fn plain_file(content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Reply {
            body: Content::Plain(body.into()),
            ..Reply::new(
                StatusCode::OK,
                Some(HeaderValue::from_static(content_type)),
                Bytes::new(),
            )
        }
    }

    /// The requested resource is elsewhere.
    pub(crate) fn found(location: &'static str) -> Self {
        let reply = Reply::new(StatusCode::FOUND, None, Bytes::new());
        reply.with_header(header::LOCATION, HeaderValue::from_static(location))
    }

    /// Adds a header.
    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.further.get_or_insert_default().insert(name, value);
        self
    }

    /// DynamoDB's answer to anything that does not have the form of its requests.
    pub(crate) fn not_an_operation() -> Self {
        Reply::new(StatusCode::NOT_FOUND, None, "<UnknownOperationException/>\n")
    }

    fn new(status: StatusCode, content_type: Option<HeaderValue>, body: impl Into<Bytes>) -> Self {
        Reply {
            status,
            content_type,
            body: Content::Whole(body.into()),
            preflight: false,
            close: false,
            further: None,
            cut: false,
        }
    }

    /// No answer: the connection ends.
    pub(crate) fn cut() -> Self {
        Reply {
            cut: true,
            ..Reply::new(StatusCode::INTERNAL_SERVER_ERROR, None, Bytes::new())
        }
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    /// Adds the code that an error of SQS has in its older protocol.
    pub(crate) fn with_query_error(self, code: &str) -> Self {
        let query_error = HeaderValue::from_str(code);
        debug_assert!(query_error.is_ok(), "the code {code:?} is no header");
        match query_error {
            Ok(code) => self.with_header(QUERY_ERROR, code),
            Err(_) => self,
        }
    }

    /// Closes the connection after this answer.
    pub(crate) fn closing(self) -> Self {
        Reply { close: true, ..self }
    }

    /// A client that sent `application/json` gets the same type back.
    pub(crate) fn in_type_of(self, request: &HeaderMap) -> Self {
        let asked = request
            .get(header::CONTENT_TYPE)
            .map(HeaderValue::as_bytes)
            .unwrap_or_default();
        if !asked.starts_with(PLAIN_JSON.as_bytes()) {
            return self;
        }
        Reply {
            content_type: Some(PLAIN_JSON),
            ..self
        }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The HTTP response: compressed if the client accepts it, with the checksum of the sent bytes.
    pub(crate) fn into_response(
        self,
        request: &HeaderMap,
        id: String,
        cors: &CorsOrigins,
    ) -> Response<ReplyBody> {
        let mut response = match self.body {
            Content::Whole(body) => whole(request, body),
            Content::Gzip(body) => {
                let mut response = Response::new(ReplyBody::whole(body));
                let encoding = HeaderValue::from_static("gzip");
                response.headers_mut().insert(header::CONTENT_ENCODING, encoding);
                response
            }
            Content::Plain(body) => Response::new(ReplyBody::whole(body)),
            Content::Stream(chunks) => Response::new(ReplyBody::stream(chunks)),
        };
        *response.status_mut() = self.status;
        let is_whole = matches!(response.body(), ReplyBody::Whole(_));
        let headers = response.headers_mut();
        headers.insert(header::SERVER, SERVER);
        if let Ok(id) = HeaderValue::try_from(id) {
            headers.insert(REQUEST_ID, id);
        }
        if let Some(content_type) = self.content_type {
            headers.insert(header::CONTENT_TYPE, content_type);
        }
        if let Some(further) = self.further {
            headers.extend(*further);
        }
        if self.close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if self.preflight {
            cors::allow_preflight(cors, request, headers);
        } else if is_whole {
            cors::allow(cors, request, headers);
        }
        response
    }
}

fn whole(request: &HeaderMap, body: Bytes) -> Response<ReplyBody> {
    let compressed = compress::deflate(request, &body);
    let encoded = compressed.is_some();
    let body = compressed.unwrap_or(body);
    let checksum = trestle_wire::crc32(&body);
    let mut response = Response::new(ReplyBody::whole(body));
    let headers = response.headers_mut();
    headers.insert(CRC32, HeaderValue::from(checksum));
    if encoded {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}
