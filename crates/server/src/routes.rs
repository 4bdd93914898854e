//! `/_trestle/routes` and `/_trestle/dead-letters`: how routes are doing, applying a route file, and what was given up.

use crate::query::Parameters;
use crate::reply::Reply;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use trestle_api::{Error, ErrorKind};
use trestle_events::{Router, Selection};

pub(crate) const ROUTES_PATH: &str = "/_trestle/routes";
pub(crate) const DEAD_LETTERS_PATH: &str = "/_trestle/dead-letters";

const ROUTES_USAGE: &str = "GET tells how the routes are doing, GET ?text gives the file that was applied, POST applies the \
                            route file in the body (?dry-run).\n";
const DEAD_LETTERS_USAGE: &str = "GET lists dead letters (?route=NAME, ?after=ID, ?limit=N), GET ?id=ID shows one, POST \
                                  tries them again and DELETE drops them (?id=ID, ?route=NAME or ?all).\n";
/// Dead letters on a page, unless asked for otherwise.
const PAGE: u32 = 100;
/// Dead letters on a page at most.
const PAGE_MAX: u32 = 1000;

/// What became of a route file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoutesApplied {
    /// It is in effect, or would be.
    Done,
    /// It has errors: which.
    Unsound(String),
    /// Something else went wrong.
    Failed(String),
}

/// An application on its way.
pub type Applying<'a> = Pin<Box<dyn Future<Output = RoutesApplied> + Send + 'a>>;

/// A program that has routes.
pub trait RouteKeeper: Send + Sync + fmt::Debug {
    /// The router.
    fn router(&self) -> &Router;

    /// Lets a route file take the place of the one that was applied before.
    fn apply(&self, text: String, dry_run: bool) -> Applying<'_>;
}

/// Answers when the program around the server has no routes.
pub(crate) fn no_routes() -> Reply {
    Reply::text(StatusCode::NOT_FOUND, "This server has no routes.\n")
}

/// Answers a request of a caller who may.
pub(crate) async fn answer(keeper: &Arc<dyn RouteKeeper>, head: &Parts, body: &[u8]) -> Reply {
    let answered = if head.uri.path() == ROUTES_PATH {
        routes(keeper, head, body).await
    } else {
        dead_letters(keeper.router(), head).await
    };
    answered.unwrap_or_else(|error| {
        let status = match error.kind() {
            ErrorKind::Validation => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Reply::text(status, format!("{}\n", error.message()))
    })
}

fn done(json: &Value) -> Reply {
    Reply::admin(StatusCode::OK, json.to_string())
}

fn usage(text: &'static str) -> Reply {
    Reply::text(StatusCode::BAD_REQUEST, text)
}

async fn routes(keeper: &Arc<dyn RouteKeeper>, head: &Parts, body: &[u8]) -> Result<Reply, Error> {
    let parameters = Parameters::read(head.uri.query(), &["text", "dry-run"]);
    let Some(parameters) = parameters else {
        return Ok(usage(ROUTES_USAGE));
    };
    let router = keeper.router();
    let status = || done(&json!({ "routes": router.status() }));
    match (&head.method, parameters.flag("text"), parameters.flag("dry-run")) {
        (&Method::GET, Some(true), Some(false)) => {
            let text = router.file().await?.unwrap_or_default();
            Ok(Reply::text(StatusCode::OK, text))
        }
        (&Method::GET, Some(false), Some(false)) => Ok(status()),
        (&Method::POST, Some(false), Some(dry_run)) => {
            let Ok(text) = str::from_utf8(body) else {
                return Ok(usage(ROUTES_USAGE));
            };
            Ok(match keeper.apply(text.to_owned(), dry_run).await {
                RoutesApplied::Done => status(),
                RoutesApplied::Unsound(why) => Reply::text(StatusCode::BAD_REQUEST, why + "\n"),
                RoutesApplied::Failed(why) => Reply::text(StatusCode::INTERNAL_SERVER_ERROR, why + "\n"),
            })
        }
        _ => Ok(usage(ROUTES_USAGE)),
    }
}

async fn dead_letters(router: &Router, head: &Parts) -> Result<Reply, Error> {
    let parameters = Parameters::read(head.uri.query(), &["route", "id", "all", "after", "limit"]);
    let Some(parameters) = parameters else {
        return Ok(usage(DEAD_LETTERS_USAGE));
    };
    if head.method == Method::GET {
        return listed(router, &parameters).await;
    }
    let Some(selection) = selection(&parameters) else {
        return Ok(usage(DEAD_LETTERS_USAGE));
    };
    if head.method == Method::POST {
        return Ok(done(&json!(router.replay(selection).await?)));
    }
    let dropped = router.drop_dead_letters(selection).await?;
    Ok(done(&json!({ "dropped": dropped })))
}

async fn listed(router: &Router, parameters: &Parameters) -> Result<Reply, Error> {
    if let Some(id) = parameters.value("id") {
        return Ok(match router.dead_letter(id).await? {
            Some(letter) => done(&letter.to_json()),
            None => Reply::text(
                StatusCode::NOT_FOUND,
                format!("There is no dead letter `{id}`.\n"),
            ),
        });
    }
    let limit = parameters
        .value("limit")
        .map_or(Some(PAGE), |limit| limit.parse().ok());
    let Some(limit) = limit else {
        return Ok(usage(DEAD_LETTERS_USAGE));
    };
    let (route, after) = (parameters.value("route"), parameters.value("after"));
    let page = router.dead_letters(route, after, limit.min(PAGE_MAX)).await?;
    let letters: Vec<Value> = page.letters.iter().map(|letter| letter.to_json()).collect();
    Ok(done(&json!({ "dead_letters": letters, "next": page.next })))
}

/// Exactly one way to say which; everything only by that word.
fn selection(parameters: &Parameters) -> Option<Selection> {
    let is_all = parameters.flag("all")?;
    match (parameters.value("id"), parameters.value("route"), is_all) {
        (Some(id), None, false) => Some(Selection::One(id.to_owned())),
        (None, Some(route), false) => Some(Selection::Route(route.to_owned())),
        (None, None, true) => Some(Selection::All),
        _ => None,
    }
}
