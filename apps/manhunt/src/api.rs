//! The HTTP API. `openapi.json` describes it.

mod guard;
mod replies;

use std::num::NonZeroU32;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, patch, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use trestle::app::{ListPart, Routes, created, listed, routed, shown, site};

use crate::model::{ContactKey, ContactMethodKey};
use crate::{ContactDraft, MethodDraft, Result, SearchDraft, SearchFilter, Service, trail};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");

/// How many searches are returned with their contact.
const SEARCHES_SHOWN: u32 = 10;

type App = State<Arc<Service>>;
type Domain = Path<String>;
/// A domain, and a contact, search, attempt or key.
type Ids = Path<(String, String)>;
/// A domain, a contact, and its method.
type MethodIds = Path<(String, String, String)>;
type Answer = Result<Response>;

/// Every path of the API and its handlers.
pub fn routes() -> Routes<Arc<Service>> {
    let contacts = get(list_contacts).post(add_contact);
    let contact = get(get_contact).patch(change_contact).delete(remove_contact);
    let methods = get(get_contact).post(add_method);
    let method = patch(change_method).delete(remove_method);
    let searches = get(list_searches).post(begin_search);
    vec![
        ("/health", get(health)),
        ("/metrics", get(metrics)),
        ("/answers/{token}", get(asked).post(answer)),
        ("/replies/texts", post(replies::text)),
        ("/replies/calls/{token}", post(replies::call)),
        ("/domains/{domain}/contacts", contacts),
        ("/domains/{domain}/contacts/{contact}", contact),
        ("/domains/{domain}/contacts/{contact}/methods", methods),
        ("/domains/{domain}/contacts/{contact}/methods/{method}", method),
        ("/domains/{domain}/searches", searches),
        ("/domains/{domain}/searches/{search}", get(get_search)),
        ("/domains/{domain}/searches/{search}/cancel", post(cancel_search)),
        ("/domains/{domain}/attempts/{attempt}/respond", post(respond)),
        ("/domains/{domain}/dead-letters", get(list_dead_letters)),
        ("/domains/{domain}/dead-letters/replay", post(replay)),
        ("/domains/{domain}/keys", get(list_keys).post(add_key)),
        ("/domains/{domain}/keys/{key}", delete(remove_key)),
    ]
}

/// The API on a service, with its page and its description.
pub fn router(service: Arc<Service>) -> Router {
    let guard = from_fn_with_state(Arc::clone(&service), guard::guard);
    let guarded = routed(routes()).route_layer(guard);
    site(guarded, PAGE, OPENAPI).with_state(service)
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replay {
    ids: Option<Vec<String>>,
}

async fn health(State(app): App) -> Answer {
    let dead_letters = app.health().await?;
    shown(json!({ "status": "ok", "deadLetters": dead_letters }))
}

async fn metrics(State(app): App) -> Answer {
    let kind = [(CONTENT_TYPE, "text/plain; version=0.0.4")];
    Ok((kind, app.metrics().await?).into_response())
}

async fn asked(State(app): App, Path(token): Path<String>) -> Answer {
    shown(app.asked(&token).await?)
}

async fn answer(State(app): App, Path(token): Path<String>, Json(answer): Json<Respond>) -> Answer {
    shown(app.answer(&token, &answer.response).await?)
}

async fn list_contacts(State(app): App, Path(domain): Domain, Query(part): Query<ListPart>) -> Answer {
    part.of(app.db.contacts_of_domain(&domain)).await
}

async fn add_contact(State(app): App, Path(domain): Domain, Json(new): Json<ContactDraft>) -> Answer {
    created(app.add_contact(&domain, new).await?)
}

async fn get_contact(State(app): App, Path((domain, id)): Ids) -> Answer {
    let (contact, methods) = app.contact(&domain, &id).await?;
    let newest = SearchFilter {
        contact: id,
        newest: true,
        limit: NonZeroU32::new(SEARCHES_SHOWN),
        ..SearchFilter::default()
    };
    let searches = app.searches(&domain, newest).await?;
    let searches = json!({ "items": searches.rows, "next": searches.next });
    shown(json!({ "contact": contact, "methods": methods, "searches": searches }))
}

async fn change_contact(
    State(app): App,
    Path((domain, contact)): Ids,
    Json(change): Json<ContactDraft>,
) -> Answer {
    shown(app.change_contact(&domain, &contact, change).await?)
}

async fn remove_contact(State(app): App, Path((domain, contact)): Ids) -> Result<StatusCode> {
    app.remove_contact(&domain, &contact).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn add_method(State(app): App, Path((domain, contact)): Ids, Json(new): Json<MethodDraft>) -> Answer {
    created(app.add_method(&domain, &contact, new).await?)
}

async fn change_method(
    State(app): App,
    Path((domain, contact, method)): MethodIds,
    Json(change): Json<MethodDraft>,
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

async fn begin_search(State(app): App, Path(domain): Domain, Json(draft): Json<SearchDraft>) -> Answer {
    created(app.begin(&domain, draft).await?)
}

async fn get_search(State(app): App, Path((domain, search)): Ids) -> Answer {
    let (search, attempts) = app.search(&domain, &search).await?;
    // It may have been removed since.
    let contact = app.db.get(ContactKey::new(&search.contact_id)).await?;
    let trail = trail(&search, &attempts);
    shown(json!({ "search": search, "contact": contact, "attempts": attempts, "trail": trail }))
}

async fn cancel_search(State(app): App, Path((domain, search)): Ids, Json(cancel): Json<Cancel>) -> Answer {
    shown(app.cancel(&domain, &search, &cancel.reason).await?)
}

async fn respond(State(app): App, Path((domain, attempt)): Ids, Json(answer): Json<Respond>) -> Answer {
    let attempt = attempt.parse()?;
    shown(app.respond(&domain, &attempt, &answer.response).await?)
}

async fn list_dead_letters(State(app): App, Path(domain): Domain) -> Answer {
    shown(json!({ "items": app.dead_letters(&domain).await? }))
}

async fn replay(State(app): App, Path(domain): Domain, Json(which): Json<Replay>) -> Answer {
    let replayed = app.replay(&domain, which.ids.as_deref()).await?;
    shown(json!({ "replayed": replayed }))
}

async fn list_keys(State(app): App, Path(domain): Domain) -> Answer {
    shown(json!({ "items": app.keys(&domain).await? }))
}

async fn add_key(State(app): App, Path(domain): Domain) -> Answer {
    let (key, text) = app.add_key(&domain).await?;
    created(json!({ "keyId": key.key_id, "createdAt": key.created_at.as_str(), "key": text }))
}

async fn remove_key(State(app): App, Path((domain, key)): Ids) -> Result<StatusCode> {
    app.remove_key(&domain, &key).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn method_key(contact_id: String, method_id: String) -> ContactMethodKey {
    ContactMethodKey {
        contact_id,
        method_id,
    }
}
