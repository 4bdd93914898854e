//! The HTTP API. `openapi.json` describes it; everything but the page lies under a domain.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, request};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, patch, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trestle::plain_json;
use trestle::typed::{Page, Write};

use crate::model::{ContactMethodKey, ManhuntModel};
use crate::{Error, MethodChange, MethodDraft, SearchFilter, Service, trail};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");

type App = State<Arc<Service>>;
type Domain = Path<String>;
/// A domain, and the contact, search or attempt that is meant.
type Ids = Path<(String, String)>;
/// A domain, a contact, and its method.
type MethodIds = Path<(String, String, String)>;
type Answer = Result<Json<Value>, Error>;
type Created = Result<(StatusCode, Json<Value>), Error>;
type Removed = Result<StatusCode, Error>;

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
    routes().into_iter().fold(Router::new(), add).with_state(service)
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

async fn list_contacts(State(app): App, Path(domain): Domain, Asked(list): Asked<After>) -> Answer {
    Ok(page(app.contacts(&domain, list.after).await?))
}

async fn add_contact(State(app): App, Path(domain): Domain, Body(new): Body<Named>) -> Created {
    created(&app.add_contact(&domain, &new.name).await?)
}

async fn get_contact(State(app): App, Path((domain, contact)): Ids) -> Answer {
    let (contact, methods) = app.contact(&domain, &contact).await?;
    let shown = json!({ "contact": view(&contact), "methods": views(&methods) });
    Ok(Json(shown))
}

async fn add_method(
    State(app): App,
    Path((domain, contact)): Ids,
    Body(draft): Body<MethodDraft>,
) -> Created {
    created(&app.add_method(&domain, &contact, draft).await?)
}

async fn change_method(
    State(app): App,
    Path((domain, contact, method)): MethodIds,
    Body(change): Body<MethodChange>,
) -> Answer {
    let key = method_key(contact, method);
    shown(&app.change_method(&domain, key, change).await?)
}

async fn remove_method(State(app): App, Path((domain, contact, method)): MethodIds) -> Removed {
    app.remove_method(&domain, method_key(contact, method)).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn list_searches(State(app): App, Path(domain): Domain, Asked(filter): Asked<SearchFilter>) -> Answer {
    Ok(page(app.searches(&domain, filter).await?))
}

async fn begin_search(State(app): App, Path(domain): Domain, Body(begin): Body<Begin>) -> Created {
    created(&app.begin(&domain, &begin.contact_id, begin.metadata).await?)
}

async fn get_search(State(app): App, Path((domain, search)): Ids) -> Answer {
    let (search, attempts) = app.search(&domain, &search).await?;
    let trail = trail(&search, &attempts);
    let shown = json!({ "search": view(&search), "attempts": views(&attempts), "trail": trail });
    Ok(Json(shown))
}

async fn cancel_search(State(app): App, Path((domain, search)): Ids, Body(cancel): Body<Cancel>) -> Answer {
    shown(&app.cancel(&domain, &search, &cancel.reason).await?)
}

async fn respond(State(app): App, Path((domain, attempt)): Ids, Body(answer): Body<Respond>) -> Answer {
    let attempt = attempt.parse()?;
    shown(&app.respond(&domain, &attempt, &answer.response).await?)
}

fn method_key(contact_id: String, method_id: String) -> ContactMethodKey {
    ContactMethodKey {
        contact_id,
        method_id,
    }
}

fn view<W: Write<ManhuntModel>>(row: &W) -> Value {
    plain_json(&row.to_item())
}

fn views<W: Write<ManhuntModel>>(rows: &[W]) -> Vec<Value> {
    rows.iter().map(view).collect()
}

fn shown<W: Write<ManhuntModel>>(row: &W) -> Answer {
    Ok(Json(view(row)))
}

fn created<W: Write<ManhuntModel>>(row: &W) -> Created {
    Ok((StatusCode::CREATED, Json(view(row))))
}

fn page<W: Write<ManhuntModel>>(page: Page<W>) -> Json<Value> {
    let next = page.next.map(|bookmark| bookmark.to_string());
    Json(json!({ "items": views(&page.rows), "next": next }))
}

/// A body of JSON. What is wrong with it is told as any other error is.
struct Body<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let read = Json::from_request(request, state).await;
        let Json(body) = read.map_err(|error| Error::Invalid(error.body_text()))?;
        Ok(Self(body))
    }
}

/// What stands behind the question mark.
struct Asked<T>(T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut request::Parts, state: &S) -> Result<Self, Error> {
        let read = Query::from_request_parts(parts, state).await;
        let Query(asked) = read.map_err(|error| Error::Invalid(error.body_text()))?;
        Ok(Self(asked))
    }
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
