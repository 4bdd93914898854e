//! The HTTP API. `openapi.json` describes it; everything but the page lies under a tenant.

use axum::body::to_bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};

use super::*;

/// More than that is not told of what was refused.
const REASON_BYTES_MAX: usize = 64 << 10;

type App = State<Arc<Service>>;
/// A tenant, and the run or the kind of rows that is meant.
type Ids = Path<(String, String)>;
type Answer = Result<Response>;

/// The API on a service.
pub fn router(service: Arc<Service>) -> Router {
    let tenant = Router::new()
        .route("/wf-specs", get(list_specs).post(put_spec))
        .route("/wf-runs", post(run_wf))
        .route("/wf-runs/{run}", get(read).post(command).delete(delete))
        .route("/wf-runs/{run}/{kind}", get(read))
        .route("/wf-runs/{run}/{kind}/{id}", get(read))
        .route("/wf-runs/{run}/{kind}/{group}/{id}", get(read))
        .route("/external-events", post(put_event))
        .route("/search/{kind}", get(search))
        .route("/tasks/poll", post(poll));
    let page = Html(include_str!("../../page.html"));
    let is_json = [(CONTENT_TYPE, "application/json")];
    let openapi = (is_json, include_str!("../../openapi.json"));
    Router::new()
        .route("/", get(page))
        .route("/openapi.json", get(openapi))
        .route("/migration", get(migration))
        .nest("/tenants/{tenant}", tenant)
        .layer(map_response(in_json))
        .with_state(service)
}

async fn migration(State(app): App) -> Answer {
    let of_model = app.db.definition().name();
    let mut migrations = app.db.database().models().migrations().into_iter();
    shown(migrations.find(|migration| migration.model == of_model))
}

async fn list_specs(State(app): App, Path(tenant): Path<String>, Query(page): Query<Texts>) -> Answer {
    shown(app.page("specs", &[&tenant], page).await?)
}

async fn put_spec(State(app): App, Path(tenant): Path<String>, Json(spec): Json<Spec>) -> Answer {
    let spec = app.put_spec(&tenant, spec).await?;
    Ok((StatusCode::CREATED, Json(spec)).into_response())
}

async fn run_wf(State(app): App, Path(tenant): Path<String>, Json(run): Json<RunWf>) -> Answer {
    let run = app.run_wf(&tenant, run).await?;
    Ok((StatusCode::CREATED, Json(run)).into_response())
}

/// A run, one of its lists, or one of its rows.
async fn read(State(app): App, Path(path): Path<Vec<String>>, Query(page): Query<Texts>) -> Answer {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    shown(match path.as_slice() {
        [tenant, run] => app.row("wf_run", &[tenant, run]).await?,
        [tenant, run, "inventory"] => app.row("inventory", &[tenant, run]).await?,
        [tenant, run, kind] => app.page(&(entity(kind)? + "s"), &[tenant, run], page).await?,
        [tenant, run, kind, id @ ..] => app.row(&entity(kind)?, &[&[*tenant, run], id].concat()).await?,
        _ => return Err(Error::NotFound("path")),
    })
}

async fn command(State(app): App, Path((tenant, run)): Ids, Json(command): Json<Command>) -> Answer {
    use Command::{Delete, Fail, StartTask, Wake};
    if let StartTask(_) | Wake(_) | Fail(_) | Delete = command {
        return Err(Error::Invalid("only the engine does that".to_owned()));
    }
    shown(app.command(&tenant, &run, command).await?)
}

async fn delete(State(app): App, Path((tenant, run)): Ids) -> Answer {
    shown(app.command(&tenant, &run, Command::Delete).await?)
}

async fn put_event(State(app): App, Path(tenant): Path<String>, Json(event): Json<Event>) -> Answer {
    shown(app.put_correlated(&tenant, event).await?)
}

async fn search(State(app): App, Path((tenant, kind)): Ids, Query(asked): Query<Texts>) -> Answer {
    shown(app.search(&tenant, &kind, asked).await?)
}

async fn poll(State(app): App, Path(tenant): Path<String>, Json(poll): Json<Poll>) -> Answer {
    match app.poll(&tenant, poll).await? {
        Some(task) => shown(task),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

fn shown(what: impl Serialize) -> Answer {
    Ok(Json(what).into_response())
}

/// What axum refuses by itself, in the shape of every other error.
async fn in_json(mut response: Response) -> Response {
    let (mut status, headers) = (response.status(), response.headers_mut());
    let kind = headers.get(CONTENT_TYPE);
    if status.is_success() || kind.is_some_and(|kind| kind == "application/json") {
        return response;
    }
    if status == StatusCode::UNPROCESSABLE_ENTITY {
        status = StatusCode::BAD_REQUEST;
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
            Error::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Error::Unreadable(_) | Error::Database(_) | Error::Queue(_) => {
                tracing::error!(error = %self, "a request failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
