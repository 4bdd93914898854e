//! The HTTP API: npm's, and that of builds. `openapi.json` describes it.

mod builds;
mod npm;
mod overview;

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, patch, post, put};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trestle::app::{self, created, shown};
use trestle::typed::Page;

use crate::{Env, Error, Result, Service};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");
/// The largest publication: a tarball of almost 64 MiB, which is the most that a large value holds, in base64.
const BODY_BYTES_MAX: usize = 84 << 20;
const PAGE_ROWS: u32 = 100;
const PAGE_ROWS_MAX: u32 = 1_000;

type App = State<Arc<Service>>;
type Answer = Result<Response>;
type Package = Path<String>;

/// Whether a path of the API begins with this name.
pub(crate) fn is_taken(name: &str) -> bool {
    let first = |path: &str| path.split('/').nth(1) == Some(name);
    name == "openapi.json" || routes().iter().any(|(path, _)| first(path))
}

/// Every path and what answers there. Paths with an optional version are there twice.
pub fn routes() -> Vec<(&'static str, MethodRouter<Arc<Service>>)> {
    let tag = put(npm::tag).post(npm::tag).delete(npm::untag);
    let version = get(builds::build).patch(builds::promote);
    vec![
        ("/healthcheck", get(async || "ok")),
        ("/healthcheck.html", get(async || Html("ok"))),
        ("/cdn/{*path}", get(asset)),
        ("/-/ping", get(async || Json(json!({})))),
        ("/-/whoami", get(npm::whoami)),
        ("/{pkg}", get(npm::packument).put(npm::publish)),
        ("/{pkg}/-/{file}", get(npm::tarball)),
        ("/-/package/{pkg}/dist-tags", get(npm::tags)),
        ("/-/package/{pkg}/dist-tags/{tag}", tag),
        ("/assets/files/{pkg}/{env}", get(builds::files)),
        ("/assets/files/{pkg}/{env}/{version}", get(builds::files)),
        ("/builds", get(builds::list)),
        ("/builds/-/head", get(builds::heads)),
        ("/builds/-/meta/{pkg}/{version}", get(builds::meta)),
        ("/builds/{pkg}/{env}", get(builds::build).put(builds::add)),
        ("/builds/{pkg}/{env}/{version}", version),
        ("/builds/{pkg}/{env}/-/history", get(builds::history)),
        ("/promote/{pkg}/{env}/{version}", patch(builds::promote)),
        ("/rollback/{pkg}/{env}", post(builds::roll_back)),
        ("/release-line/{pkg}", get(builds::line)),
        ("/release-line/{pkg}/{version}", get(builds::line)),
        ("/packages", get(packages)),
        ("/packages/search", post(search)),
        ("/packages/{pkg}", get(package)),
        ("/graph/{pkg}", get(graph)),
        ("/overview/{pkg}", get(overview::overview)),
        ("/status/{pkg}/{env}", get(builds::status)),
        ("/status/{pkg}/{env}/{version}", get(builds::status)),
        ("/status-events/{pkg}/{env}", get(builds::events)),
        ("/status-events/{pkg}/{env}/{version}", get(builds::events)),
        ("/progress/{pkg}/{env}", get(builds::progress)),
        ("/progress/{pkg}/{env}/{version}", get(builds::progress)),
        ("/catchup", post(catch_up)),
    ]
}

/// The API on a service.
pub fn router(service: Arc<Service>) -> Router {
    let add = |router: Router<_>, (path, methods)| router.route(path, methods);
    let router = routes().into_iter().fold(Router::new(), add);
    let router = router.layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    app::site(router, PAGE, OPENAPI).with_state(service)
}

/// Which part of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    prefix: Option<String>,
    limit: Option<u32>,
    after: Option<String>,
}

impl Part {
    fn rows(&self) -> u32 {
        self.limit.unwrap_or(PAGE_ROWS).clamp(1, PAGE_ROWS_MAX)
    }
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

async fn packages(State(app): App, Query(part): Query<Part>) -> Answer {
    let rows = match &part.prefix {
        Some(prefix) => app.db.packages_named(prefix),
        None => app.db.packages(),
    };
    page(rows.page_size(part.rows()).continued(part.after).page().await?)
}

async fn search(State(app): App, Json(search): Json<Search>) -> Answer {
    let rows = app.db.packages_with_keyword(&search.keyword);
    let rows = rows.page_size(search.limit.unwrap_or(PAGE_ROWS).clamp(1, PAGE_ROWS_MAX));
    page(rows.continued(search.after).page().await?)
}

async fn package(State(app): App, Path(name): Package) -> Answer {
    shown(app.package(&name).await?)
}

/// What a package depends on and what depends on it, as far as packages are published here.
async fn graph(State(app): App, Path(name): Package) -> Answer {
    shown(app.graph(&name).await?)
}

async fn catch_up(State(app): App, Json(asked): Json<CatchUp>) -> Answer {
    created(app.catch_up(asked.env).await?)
}

/// A stored file, for installations without a CDN of their own.
async fn asset(State(app): App, Path(path): Path<String>) -> Answer {
    let missing = || Error::not_found(format!("file {path}"));
    let content = app.setup.assets.get(&path).await?.ok_or_else(missing)?;
    let kind = match path.rsplit('.').next() {
        Some("js" | "mjs") => "text/javascript",
        Some("css") => "text/css",
        Some("json" | "map") => "application/json",
        Some("html") => "text/html",
        Some("svg") => "image/svg+xml",
        Some("gz" | "tgz") => "application/gzip",
        _ => "application/octet-stream",
    };
    // The path has a fingerprint of the content.
    let headers = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, content).into_response())
}

fn page(page: Page<impl Serialize>) -> Answer {
    shown(json!({ "items": page.rows, "next": page.next }))
}
