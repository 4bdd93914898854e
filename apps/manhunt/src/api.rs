//! The HTTP API. `openapi.json` describes it; everything but the page lies under a domain.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, patch, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trestle::typed::Page;

use crate::model::ContactMethodKey;
use crate::{Error, MethodChange, MethodDraft, Result, SearchFilter, Service, Words, trail};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");
/// More than that is not told of what was refused.
const REASON_BYTES_MAX: usize = 64 << 10;

type App = State<Arc<Service>>;
type Domain = Path<String>;
/// A domain, and the contact, search or attempt that is meant.
type Ids = Path<(String, String)>;
/// A domain, a contact, and its method.
type MethodIds = Path<(String, String, String)>;
type Answer = Result<Response>;

/// Every path and what answers there.
pub fn routes() -> Vec<(&'static str, MethodRouter<Arc<Service>>)> {
    let openapi = get(async || ([(CONTENT_TYPE, "application/json")], OPENAPI));
    let contacts = get(list_contacts).post(add_contact);
    let methods = get(get_contact).post(add_method);
    let method = patch(change_method).delete(remove_method);
    let searches = get(list_searches).post(begin_search);
    vec![
        ("/", get(async || Html(PAGE))),
        ("/openapi.json", openapi),
        ("/domains/{domain}/contacts", contacts),
        ("/domains/{domain}/contacts/{contact}", get(get_contact)),
        ("/domains/{domain}/contacts/{contact}/methods", methods),
        ("/domains/{domain}/contacts/{contact}/methods/{method}", method),
        ("/domains/{domain}/searches", searches),
        ("/domains/{domain}/searches/{search}", get(get_search)),
        ("/domains/{domain}/searches/{search}/cancel", post(cancel_search)),
        ("/domains/{domain}/attempts/{attempt}/respond", post(respond)),
    ]
}

/// The API on a service.
pub fn router(service: Arc<Service>) -> Router {
    let add = |router: Router<_>, (path, methods)| router.route(path, methods);
    let router = routes().into_iter().fold(Router::new(), add);
    router.layer(map_response(in_json)).with_state(service)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct After {
    after: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Begin {
    contact_id: String,
    #[serde(default)]
    metadata: Words,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancel {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Respond {
    response: String,
}

async fn list_contacts(State(app): App, Path(domain): Domain, Query(list): Query<After>) -> Answer {
    page(app.contacts(&domain, list.after).await?)
}

async fn add_contact(State(app): App, Path(domain): Domain, Json(new): Json<Named>) -> Answer {
    created(app.add_contact(&domain, &new.name).await?)
}

async fn get_contact(State(app): App, Path((domain, contact)): Ids) -> Answer {
    let (contact, methods) = app.contact(&domain, &contact).await?;
    shown(json!({ "contact": contact, "methods": methods }))
}

async fn add_method(State(app): App, Path((domain, contact)): Ids, Json(new): Json<MethodDraft>) -> Answer {
    created(app.add_method(&domain, &contact, new).await?)
}

async fn change_method(
    State(app): App,
    Path((domain, contact, method)): MethodIds,
    Json(change): Json<MethodChange>,
) -> Answer {
    let key = method_key(contact, method);
    shown(app.change_method(&domain, key, change).await?)
}

async fn remove_method(State(app): App, Path((domain, contact, method)): MethodIds) -> Result<StatusCode> {
    app.remove_method(&domain, method_key(contact, method)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_searches(State(app): App, Path(domain): Domain, Query(filter): Query<SearchFilter>) -> Answer {
    page(app.searches(&domain, filter).await?)
}

async fn begin_search(State(app): App, Path(domain): Domain, Json(begin): Json<Begin>) -> Answer {
    created(app.begin(&domain, &begin.contact_id, begin.metadata).await?)
}

async fn get_search(State(app): App, Path((domain, search)): Ids) -> Answer {
    let (search, attempts) = app.search(&domain, &search).await?;
    let trail = trail(&search, &attempts);
    shown(json!({ "search": search, "attempts": attempts, "trail": trail }))
}

async fn cancel_search(State(app): App, Path((domain, search)): Ids, Json(cancel): Json<Cancel>) -> Answer {
    shown(app.cancel(&domain, &search, &cancel.reason).await?)
}

async fn respond(State(app): App, Path((domain, attempt)): Ids, Json(answer): Json<Respond>) -> Answer {
    let attempt = attempt.parse()?;
    shown(app.respond(&domain, &attempt, &answer.response).await?)
}

fn method_key(contact_id: String, method_id: String) -> ContactMethodKey {
    ContactMethodKey {
        contact_id,
        method_id,
    }
}

fn shown(what: impl Serialize) -> Answer {
    Ok(Json(what).into_response())
}

fn created(row: impl Serialize) -> Answer {
    Ok((StatusCode::CREATED, Json(row)).into_response())
}

fn page(page: Page<impl Serialize>) -> Answer {
    shown(json!({ "items": page.rows, "next": page.next }))
}

/// What axum refuses by itself, in the shape of every other error.
async fn in_json(mut response: Response) -> Response {
    let (status, headers) = (response.status(), response.headers_mut());
    let kind = headers.get(CONTENT_TYPE);
    if status.is_success() || kind.is_some_and(|kind| kind == "application/json") {
        return response;
    }
    let allow = headers.remove(ALLOW).map(|methods| [(ALLOW, methods)]);
    let said = to_bytes(response.into_body(), REASON_BYTES_MAX).await;
    let mut error = String::from_utf8_lossy(&said.unwrap_or_default()).into_owned();
    if error.is_empty() {
        error = format!("{status}: /openapi.json says what there is");
    }
    (status, allow, Json(json!({ "error": error }))).into_response()
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = match &self {
            Error::NotFound(_) => StatusCode::NOT_FOUND,
            Error::Conflict(_) => StatusCode::CONFLICT,
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::Stopping => StatusCode::SERVICE_UNAVAILABLE,
            Error::Database(_) | Error::Queue(_) => {
                tracing::error!(error = %self, "a request failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
