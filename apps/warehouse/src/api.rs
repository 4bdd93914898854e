//! The HTTP API: npm's, and that of builds. `openapi.json` describes it.

mod builds;
mod npm;
mod overview;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::header::CACHE_CONTROL;
use axum::response::{Html, IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use trestle::app::{self, ListPart, Routes, created, routed, shown};

use crate::{Env, Result, Service};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");
/// The largest publication: a tarball of almost 64 MiB, which is the most that a large value holds, in base64.
const BODY_BYTES_MAX: usize = 84 << 20;

type App = State<Arc<Service>>;
type Answer = Result<Response>;
type Package = Path<String>;

/// Whether a path of the API begins with this name.
pub(crate) fn is_taken(name: &str) -> bool {
    let first = |path: &str| path.split(['/', '[']).nth(1) == Some(name);
    name == "openapi.json" || routes().iter().any(|(path, _)| first(path))
}

/// Every path and its handlers.
pub fn routes() -> Routes<Arc<Service>> {
    let mut routes: Routes<_> = vec![
        ("/healthcheck", get(async || "ok")),
        ("/healthcheck.html", get(async || Html("ok"))),
        ("/cdn/{*path}", get(asset)),
        ("/packages", get(packages)),
        ("/packages/search", post(search)),
        ("/packages/{pkg}", get(package)),
        ("/graph/{pkg}", get(graph)),
        ("/overview/{pkg}", get(overview::overview)),
        ("/catchup", post(catch_up)),
    ];
    routes.extend(npm::routes());
    routes.extend(builds::routes());
    routes
}

/// The API on a service.
pub fn router(service: Arc<Service>) -> Router {
    let router = routed(routes()).layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    app::site(router, PAGE, OPENAPI).with_state(service)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    prefix: Option<String>,
    limit: Option<u32>,
    after: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    keyword: String,
    limit: Option<u32>,
    after: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatchUp {
    env: Env,
}

async fn packages(State(app): App, Query(asked): Query<Listing>) -> Answer {
    let rows = match &asked.prefix {
        Some(prefix) => app.db.packages_named(prefix),
        None => app.db.packages(),
    };
    ListPart::new(asked.limit, asked.after).of(rows).await
}

async fn search(State(app): App, Json(asked): Json<Search>) -> Answer {
    let rows = app.db.packages_with_keyword(&asked.keyword);
    ListPart::new(asked.limit, asked.after).of(rows).await
}

async fn package(State(app): App, Path(name): Package) -> Answer {
    shown(app.package(&name).await?)
}

/// The dependencies and the dependents of a package that are published here.
async fn graph(State(app): App, Path(name): Package) -> Answer {
    shown(app.graph(&name).await?)
}

async fn catch_up(State(app): App, Json(asked): Json<CatchUp>) -> Answer {
    created(app.catch_up(asked.env).await?)
}

async fn asset(State(app): App, Path(path): Path<String>) -> Answer {
    // The path has a fingerprint of the content.
    let forever = [(CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((forever, app.setup.assets.objects.served(&path).await?).into_response())
}
