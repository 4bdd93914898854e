//! The HTTP API. `openapi.json` describes it; everything but the page lies under a tenant.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::to_bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::commands::Command;
use super::{Error, ListQuery, Result, Service};

const PAGE: &str = include_str!("../../page.html");
const OPENAPI: &str = include_str!("../../openapi.json");
/// More than that is not told of what was refused.
const REASON_BYTES_MAX: usize = 64 << 10;
/// The longest that a poll waits for a task.
const POLL_SECONDS_MAX: u64 = 20;

type App = State<Arc<Service>>;
type Tenant = Path<String>;
/// A tenant and a run.
type Run = Path<(String, String)>;
type Answer = Result<Response>;

/// Every path and what answers there.
pub fn routes() -> Vec<(&'static str, MethodRouter<Arc<Service>>)> {
    let openapi = get(async || ([(CONTENT_TYPE, "application/json")], OPENAPI));
    let run = get(get_run).post(command).delete(delete_run);
    vec![
        ("/", get(async || Html(PAGE))),
        ("/openapi.json", openapi),
        ("/migration", get(migration)),
        ("/tenants/{tenant}/wf-specs", get(list_specs).post(put_spec)),
        ("/tenants/{tenant}/wf-runs", post(run_wf)),
        ("/tenants/{tenant}/wf-runs/{run}", run),
        ("/tenants/{tenant}/wf-runs/{run}/inventory", get(get_inventory)),
        ("/tenants/{tenant}/wf-runs/{run}/{kind}", get(list)),
        ("/tenants/{tenant}/wf-runs/{run}/{kind}/{*id}", get(get_object)),
        ("/tenants/{tenant}/external-events", post(put_correlated)),
        ("/tenants/{tenant}/search/{kind}", get(search)),
        ("/tenants/{tenant}/tasks/poll", post(poll)),
    ]
}

/// The API on a service.
pub fn router(service: Arc<Service>) -> Router {
    let add = |router: Router<_>, (path, methods)| router.route(path, methods);
    let router = routes().into_iter().fold(Router::new(), add);
    router.layer(map_response(in_json)).with_state(service)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunWf {
    wf_spec_name: String,
    wf_run_id: Option<String>,
    #[serde(default)]
    variables: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Poll {
    task_def_name: String,
    worker_id: String,
    #[serde(default)]
    wait_seconds: u64,
}

async fn migration(State(app): App) -> Answer {
    shown(app.db.database().models().migration_status(None).ok())
}

async fn list_specs(State(app): App, Path(tenant): Tenant, Query(query): Query<ListQuery>) -> Answer {
    shown(app.specs(&tenant, query).await?)
}

async fn put_spec(State(app): App, Path(tenant): Tenant, Json(spec): Json<Value>) -> Answer {
    created(app.put_spec(&tenant, spec).await?)
}

async fn run_wf(State(app): App, Path(tenant): Tenant, Json(new): Json<RunWf>) -> Answer {
    created(
        app.run_wf(&tenant, &new.wf_spec_name, new.wf_run_id, new.variables)
            .await?,
    )
}

async fn get_run(State(app): App, Path((tenant, run)): Run) -> Answer {
    shown(app.object(&tenant, &run, "wf-runs", &[]).await?)
}

async fn get_inventory(State(app): App, Path((tenant, run)): Run) -> Answer {
    shown(app.object(&tenant, &run, "inventory", &[]).await?)
}

async fn command(State(app): App, Path((tenant, run)): Run, Json(command): Json<Value>) -> Answer {
    shown(app.command(&tenant, &run, command).await?)
}

async fn delete_run(State(app): App, Path((tenant, run)): Run) -> Answer {
    shown(app.process(&tenant, &run, &Command::Delete).await?)
}

async fn list(
    State(app): App,
    Path((tenant, run, kind)): Path<(String, String, String)>,
    Query(query): Query<ListQuery>,
) -> Answer {
    shown(app.list(&tenant, &run, &kind, query).await?)
}

async fn get_object(
    State(app): App,
    Path((tenant, run, kind, id)): Path<(String, String, String, String)>,
) -> Answer {
    let id: Vec<&str> = id.split('/').collect();
    shown(app.object(&tenant, &run, &kind, &id).await?)
}

async fn put_correlated(State(app): App, Path(tenant): Tenant, Json(event): Json<Value>) -> Answer {
    created(app.put_correlated(&tenant, event).await?)
}

async fn search(
    State(app): App,
    Path((tenant, kind)): Path<(String, String)>,
    Query(mut attributes): Query<BTreeMap<String, String>>,
) -> Answer {
    let limit = attributes.remove("limit").map(|limit| limit.parse()).transpose();
    let limit = limit.map_err(|_| Error::Invalid("limit is a number from 1 on".to_owned()))?;
    let bookmark = attributes.remove("bookmark");
    shown(
        app.search(&tenant, &kind, &attributes, ListQuery { limit, bookmark })
            .await?,
    )
}

async fn poll(State(app): App, Path(tenant): Tenant, Json(poll): Json<Poll>) -> Answer {
    let wait = Duration::from_secs(poll.wait_seconds.min(POLL_SECONDS_MAX));
    match app
        .poll(&tenant, &poll.task_def_name, &poll.worker_id, wait)
        .await?
    {
        Some(task) => shown(task),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

fn shown(what: impl Serialize) -> Answer {
    Ok(Json(what).into_response())
}

fn created(row: impl Serialize) -> Answer {
    Ok((StatusCode::CREATED, Json(row)).into_response())
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
            Error::Database(_) | Error::Queue(_) => {
                tracing::error!(error = %self, "a request failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
