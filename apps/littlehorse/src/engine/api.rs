//! The HTTP API. `openapi.json` describes it; everything but the page lies under a tenant.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::commands::Command;
use super::{Error, Result, Service, Texts};

const PAGE: &str = include_str!("../../page.html");
const OPENAPI: &str = include_str!("../../openapi.json");
/// The longest that a poll waits for a task.
const POLL_SECONDS_MAX: u64 = 20;

type App = State<Arc<Service>>;
/// A tenant, and the path below it.
type Below = Path<(String, String)>;
type Answer = Result<Response>;

/// The API on a service.
pub fn router(service: Arc<Service>) -> Router {
    let nothing_here = async || Error::NotFound("path; /openapi.json says what there is");
    Router::new()
        .route("/", get(async || Html(PAGE)))
        .route("/openapi.json", get(async || ([(CONTENT_TYPE, "application/json")], OPENAPI)))
        .route("/migration", get(migration))
        .route("/tenants/{tenant}/{*path}", get(read).post(write).delete(delete))
        .fallback(nothing_here)
        .method_not_allowed_fallback(nothing_here)
        .with_state(service)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunWf {
    wf_spec_name: String,
    wf_run_id: Option<String>,
    #[serde(default)]
    variables: Texts,
}

async fn migration(State(app): App) -> Answer {
    shown(app.db.database().models().migration_status(Some(app.db.definition().name())).ok())
}

async fn read(State(app): App, Path((tenant, path)): Below, Query(mut query): Query<Texts>) -> Answer {
    let limit = query.remove("limit").map(|limit| limit.parse()).transpose();
    let limit = limit.map_err(|_| Error::Invalid("limit is a number from 1 on".to_owned()))?;
    let page = (limit, query.remove("bookmark"));
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["wf-specs"] => shown(app.specs(&tenant, page).await?),
        ["search", kind] => shown(app.search(&tenant, kind, &query, page).await?),
        ["wf-runs", run] => shown(app.object(&tenant, run, "wf-runs", &[]).await?),
        ["wf-runs", run, "inventory"] => shown(app.object(&tenant, run, "inventory", &[]).await?),
        ["wf-runs", run, kind] => shown(app.list(&tenant, run, kind, page).await?),
        ["wf-runs", run, kind, id @ ..] => shown(app.object(&tenant, run, kind, id).await?),
        _ => Err(Error::NotFound("path")),
    }
}

async fn write(State(app): App, Path((tenant, path)): Below, body: Bytes) -> Answer {
    match path.split('/').collect::<Vec<_>>().as_slice() {
        ["wf-specs"] => created(app.put_spec(&tenant, serde_json::from_slice(&body)?).await?),
        ["wf-runs"] => {
            let new: RunWf = serde_json::from_slice(&body)?;
            let run = app.run_wf(&tenant, &new.wf_spec_name, new.wf_run_id, new.variables);
            created(run.await?)
        }
        ["wf-runs", run] => shown(app.command(&tenant, run, serde_json::from_slice(&body)?).await?),
        ["external-events"] => shown(app.put_correlated(&tenant, serde_json::from_slice(&body)?).await?),
        ["tasks", "poll"] => {
            let poll: Value = serde_json::from_slice(&body)?;
            let text = |name: &str| poll[name].as_str().unwrap_or_default();
            let wait = poll["waitSeconds"].as_u64().unwrap_or_default().min(POLL_SECONDS_MAX);
            let (task, worker, wait) = (text("taskDefName"), text("workerId"), Duration::from_secs(wait));
            match app.poll(&tenant, task, worker, wait).await? {
                Some(task) => shown(task),
                None => Ok(StatusCode::NO_CONTENT.into_response()),
            }
        }
        _ => Err(Error::NotFound("path")),
    }
}

async fn delete(State(app): App, Path((tenant, path)): Below) -> Answer {
    match path.strip_prefix("wf-runs/") {
        Some(run) => shown(app.process(&tenant, run, &Command::Delete).await?),
        None => Err(Error::NotFound("path")),
    }
}

fn shown(what: impl Serialize) -> Answer {
    Ok(Json(what).into_response())
}

fn created(row: impl Serialize) -> Answer {
    Ok((StatusCode::CREATED, Json(row)).into_response())
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = match &self {
            Error::NotFound(_) => StatusCode::NOT_FOUND,
            Error::Conflict(_) | Error::Busy => StatusCode::CONFLICT,
            Error::Invalid(_) | Error::Json(_) => StatusCode::BAD_REQUEST,
            Error::Database(_) | Error::Queue(_) => {
                tracing::error!(error = %self, "a request failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
