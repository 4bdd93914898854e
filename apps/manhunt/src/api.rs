//! The HTTP API. `openapi.json` describes it; everything but the page lies under a domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, patch, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use trestle::plain_json;
use trestle::typed::{Page, Write};

use crate::model::{ContactMethodKey, ManhuntModel};
use crate::{Error, MethodChange, MethodDraft, SearchFilter, Service, trail};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");

type App = State<Arc<Service>>;
type Answer = Result<Json<Value>, Error>;
type Created = Result<(StatusCode, Json<Value>), Error>;

/// Every path and what answers there.
pub fn routes() -> Vec<(&'static str, MethodRouter<Arc<Service>>)> {
    vec![
        ("/", get(async || Html(PAGE))),
        (
            "/openapi.json",
            get(async || ([(CONTENT_TYPE, "application/json")], OPENAPI)),
        ),
        ("/domains/{domain}/contacts", get(list_contacts).post(add_contact)),
        ("/domains/{domain}/contacts/{contact}", get(get_contact)),
        (
            "/domains/{domain}/contacts/{contact}/methods",
            get(get_contact).post(add_method),
        ),
        (
            "/domains/{domain}/contacts/{contact}/methods/{method}",
            patch(change_method).delete(remove_method),
        ),
        (
            "/domains/{domain}/searches",
            get(list_searches).post(begin_search),
        ),
        ("/domains/{domain}/searches/{search}", get(get_search)),
        ("/domains/{domain}/searches/{search}/cancel", post(cancel_search)),
        ("/domains/{domain}/attempts/{attempt}/respond", post(respond)),
    ]
}

/// The API on a service.
pub fn router(service: Arc<Service>) -> Router {
    let routes = routes().into_iter();
    routes
        .fold(Router::new(), |router, (path, methods)| {
            router.route(path, methods)
        })
        .with_state(service)
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct After {
    after: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Begin {
    contact_id: String,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Cancel {
    #[serde(default)]
    reason: String,
}

#[derive(Deserialize)]
struct Respond {
    response: String,
}

async fn list_contacts(
    State(service): App,
    Path(domain): Path<String>,
    Query(After { after }): Query<After>,
) -> Answer {
    Ok(page(service.contacts(&domain, after).await?))
}

async fn add_contact(
    State(service): App,
    Path(domain): Path<String>,
    Json(Named { name }): Json<Named>,
) -> Created {
    let contact = service.add_contact(&domain, &name).await?;
    Ok((StatusCode::CREATED, Json(view(&contact))))
}

async fn get_contact(State(service): App, Path((domain, contact)): Path<(String, String)>) -> Answer {
    let (contact, methods) = service.contact(&domain, &contact).await?;
    Ok(Json(
        json!({ "contact": view(&contact), "methods": views(&methods) }),
    ))
}

async fn add_method(
    State(service): App,
    Path((domain, contact)): Path<(String, String)>,
    Json(draft): Json<MethodDraft>,
) -> Created {
    let method = service.add_method(&domain, &contact, draft).await?;
    Ok((StatusCode::CREATED, Json(view(&method))))
}

async fn change_method(
    State(service): App,
    Path((domain, contact_id, method_id)): Path<(String, String, String)>,
    Json(change): Json<MethodChange>,
) -> Answer {
    let key = ContactMethodKey {
        contact_id,
        method_id,
    };
    Ok(Json(view(&service.change_method(&domain, key, change).await?)))
}

async fn remove_method(
    State(service): App,
    Path((domain, contact_id, method_id)): Path<(String, String, String)>,
) -> Result<StatusCode, Error> {
    let key = ContactMethodKey {
        contact_id,
        method_id,
    };
    service.remove_method(&domain, key).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_searches(
    State(service): App,
    Path(domain): Path<String>,
    Query(filter): Query<SearchFilter>,
) -> Answer {
    Ok(page(service.searches(&domain, filter).await?))
}

async fn begin_search(State(service): App, Path(domain): Path<String>, Json(begin): Json<Begin>) -> Created {
    let search = service.begin(&domain, &begin.contact_id, begin.metadata).await?;
    Ok((StatusCode::CREATED, Json(view(&search))))
}

async fn get_search(State(service): App, Path((domain, search)): Path<(String, String)>) -> Answer {
    let (search, attempts) = service.search(&domain, &search).await?;
    let trail = trail(&search, &attempts);
    Ok(Json(
        json!({ "search": view(&search), "attempts": views(&attempts), "trail": trail }),
    ))
}

async fn cancel_search(
    State(service): App,
    Path((domain, search)): Path<(String, String)>,
    Json(Cancel { reason }): Json<Cancel>,
) -> Answer {
    Ok(Json(view(&service.cancel(&domain, &search, &reason).await?)))
}

async fn respond(
    State(service): App,
    Path((domain, attempt)): Path<(String, String)>,
    Json(Respond { response }): Json<Respond>,
) -> Answer {
    let search = service.respond(&domain, &attempt.parse()?, &response).await?;
    Ok(Json(view(&search)))
}

fn view<W: Write<ManhuntModel>>(row: &W) -> Value {
    plain_json(&row.to_item())
}

fn views<W: Write<ManhuntModel>>(rows: &[W]) -> Vec<Value> {
    rows.iter().map(view).collect()
}

fn page<W: Write<ManhuntModel>>(page: Page<W>) -> Json<Value> {
    let next = page.next.map(|bookmark| bookmark.to_string());
    Json(json!({ "items": views(&page.rows), "next": next }))
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = match &self {
            Error::NotFound(_) => StatusCode::NOT_FOUND,
            Error::Conflict(_) => StatusCode::CONFLICT,
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::Database(_) | Error::Queue(_) => {
                tracing::error!(error = %self, "a request failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
