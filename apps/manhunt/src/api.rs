//! The HTTP API. `openapi.json` describes it; everything but the page lies under a domain.

use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{get, patch, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use trestle::app::{Routes, created, listed, routed, shown, site};

use crate::model::ContactMethodKey;
use crate::{MethodChange, MethodDraft, Result, SearchFilter, Service, Words, trail};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");

type App = State<Arc<Service>>;
type Domain = Path<String>;
/// A domain, and the contact, search or attempt that is meant.
type Ids = Path<(String, String)>;
/// A domain, a contact, and its method.
type MethodIds = Path<(String, String, String)>;
type Answer = Result<Response>;

/// Every path of the API and what answers there.
pub fn routes() -> Routes<Arc<Service>> {
    let contacts = get(list_contacts).post(add_contact);
    let methods = get(get_contact).post(add_method);
    let method = patch(change_method).delete(remove_method);
    let searches = get(list_searches).post(begin_search);
    vec![
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

/// The API on a service, with its page and its description.
pub fn router(service: Arc<Service>) -> Router {
    site(routed(routes()), PAGE, OPENAPI).with_state(service)
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
    listed(app.contacts(&domain, list.after).await?)
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
    listed(app.searches(&domain, filter).await?)
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
