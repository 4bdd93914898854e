//! `/console`: the page, and the beginning of its sessions.

use crate::auth::Verifier;
use crate::http::{Refused, Service, host};
use crate::reply::Reply;
use crate::role::Caller;
use crate::same_origin;
use crate::session::{self, Login};
use crate::settings::ConsoleMode;
use crate::upload::Upload;
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use serde::Serialize;
use trestle_api::Error;
use trestle_console::{CONTENT_SECURITY_POLICY, ConsoleFile};

/// The path of the console. Its page uses relative URLs, so that a proxy may add a path prefix.
const PATH: &str = "/console";

/// Where sessions begin.
const SESSION: &str = "session";

/// A login is a few hundred bytes.
const LOGIN_BYTES_MAX: usize = 16 * 1024;

/// What the page must know first.
#[derive(Serialize)]
struct Welcome<'a> {
    version: &'static str,
    /// Whether requests need a session.
    login: bool,
    read_only: bool,
    /// Whose session it is, if the request has a valid one.
    #[serde(skip_serializing_if = "Option::is_none")]
    caller: Option<Visitor<'a>>,
}

#[derive(Serialize)]
struct Visitor<'a> {
    access_key: &'a str,
    role: crate::role::Role,
}

/// What a path asks of the console; `None` if it is another path.
pub(crate) fn asked(mode: ConsoleMode, path: &str) -> Option<&str> {
    if mode == ConsoleMode::Off {
        return None;
    }
    let rest = path.strip_prefix(PATH)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// Answers a request to the console. `rest` is the path after that of the console.
pub(crate) async fn answer(
    service: &Service,
    rest: &str,
    head: &Parts,
    body: Upload,
) -> Result<Reply, Refused> {
    service.check_host(head)?;
    match (&head.method, rest.strip_prefix('/')) {
        // Relative, because a proxy may have removed a path prefix.
        (&Method::GET | &Method::HEAD, None) => Ok(Reply::found("console/")),
        (&Method::GET, Some(SESSION)) => welcome(service, head),
        (&Method::POST, Some(SESSION)) => begin_session(service, head, body).await,
        (&Method::GET | &Method::HEAD, Some(path)) => Ok(file(path, &head.headers)),
        _ => Err(Refused::NotAnOperation),
    }
}

fn file(path: &str, asked: &HeaderMap) -> Reply {
    let Some(file) = ConsoleFile::find(path) else {
        return Reply::text(StatusCode::NOT_FOUND, "The console has no such file.\n");
    };
    let Ok(etag) = HeaderValue::from_str(&file.etag) else {
        return Reply::text(StatusCode::INTERNAL_SERVER_ERROR, "The file has no ETag.\n");
    };
    let known = asked.get(header::IF_NONE_MATCH);
    let reply = if known.is_some_and(|known| known.as_bytes() == etag.as_bytes()) {
        Reply::text(StatusCode::NOT_MODIFIED, "")
    } else if takes_gzip(asked) {
        Reply::gzip(file.content_type, file.gzip.into_owned())
    } else {
        match file.plain() {
            Ok(plain) => Reply::plain_file(file.content_type, plain),
            Err(error) => return Reply::text(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        }
    };
    guarded(reply).with_header(header::ETAG, etag)
}

/// The browser rules in every answer: load nothing from elsewhere, allow no frames, do not cache.
fn guarded(reply: Reply) -> Reply {
    const HEADERS: [(HeaderName, &str); 7] = [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::VARY, "Accept-Encoding"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
    ];
    let also = [("cross-origin-resource-policy", "same-origin")];
    let also = also.map(|(name, value)| (HeaderName::from_static(name), value));
    let headers = HEADERS.into_iter().chain(also);
    headers.fold(reply, |reply, (name, value)| {
        reply.with_header(name, HeaderValue::from_static(value))
    })
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    let accepted = accepted.and_then(|value| value.to_str().ok()).unwrap_or_default();
    accepted.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        parts.next() == Some("gzip") && parts.next() != Some("q=0")
    })
}

fn welcome(service: &Service, head: &Parts) -> Result<Reply, Refused> {
    let caller = session::token(&head.headers)
        .zip(service.verifier())
        .and_then(|(token, verifier)| verifier.resume(token).ok());
    let welcome = Welcome {
        version: env!("CARGO_PKG_VERSION"),
        login: service.verifier().is_some(),
        read_only: service.console == ConsoleMode::ReadOnly,
        caller: caller.as_ref().map(|caller| Visitor {
            access_key: caller.name(),
            role: caller.role,
        }),
    };
    json(&welcome)
}

async fn begin_session(service: &Service, head: &Parts, body: Upload) -> Result<Reply, Refused> {
    check_page(service, head)?;
    let Some(verifier) = service.verifier() else {
        return Err(Refused::Error(Error::validation(
            "This server has no access keys: there is nothing to log in to",
        )));
    };
    let body = service.read(body).await?;
    if body.len() > LOGIN_BYTES_MAX {
        return Err(Refused::TooLarge);
    }
    let login: Login = serde_json::from_slice(&body)
        .map_err(|error| Error::validation(format!("the login cannot be read: {error}")))?;
    let session = verifier.log_in(&login)?;
    tracing::info!(key = session.access_key, "a session of the console begins");
    json(&session)
}

/// The sender of a request with a session: only the console's own page has the token.
pub(crate) fn caller(
    service: &Service,
    verifier: &Verifier,
    head: &Parts,
    token: &str,
) -> Result<Caller, Refused> {
    check_page(service, head)?;
    Ok(Caller {
        looks_only: service.console == ConsoleMode::ReadOnly,
        ..verifier.resume(token)?
    })
}

/// Refuses what a page of another origin sent.
fn check_page(service: &Service, head: &Parts) -> Result<(), Refused> {
    let own = service.origin_of(host(head));
    match same_origin::foreign_origin(&head.headers, &own) {
        Some(origin) => Err(Refused::Error(Error::access_denied(format!(
            "Web pages of {origin} may not use sessions of the console"
        )))),
        None if same_origin::is_cross_site(&head.headers) => Err(Refused::Error(Error::access_denied(
            "Web pages of another site may not use sessions of the console",
        ))),
        None => Ok(()),
    }
}

fn json(value: &impl Serialize) -> Result<Reply, Refused> {
    let json = serde_json::to_vec(value).map_err(|error| Error::internal(error.to_string()))?;
    Ok(guarded(Reply::admin(StatusCode::OK, json))
        .with_header(header::CACHE_CONTROL, HeaderValue::from_static("no-store")))
}
