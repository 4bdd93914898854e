//! The HTTP API. `openapi.json` describes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::{Bytes, to_bytes};
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::{ALLOW, CONTENT_TYPE};
use axum::middleware::map_response;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trestle::queue::{ErrorCode, Message};
use trestle::reindex::ReindexError;

use crate::jobs::JOBS;
use crate::source::Source;
use crate::{Error, NewReindex, RecordFacts, Result, Running};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");
/// More than that is not told of what was refused.
const REASON_BYTES_MAX: usize = 64 << 10;
/// The most dead letters that are shown.
const LETTERS_MAX: usize = 1_000;
/// The destination that searches are about.
pub(crate) const CATALOGUE: &str = "catalogue";

type App = State<Arc<Running>>;
type Answer = Result<Response>;

/// Every path and what answers there.
pub fn routes() -> Vec<(&'static str, MethodRouter<Arc<Running>>)> {
    let record = get(get_record).put(put_record).delete(withdraw_record);
    vec![
        ("/", get(async || Html(PAGE))),
        (
            "/openapi.json",
            get(async || ([(CONTENT_TYPE, "application/json")], OPENAPI)),
        ),
        ("/search", get(search)),
        ("/works/{id}", get(work)),
        ("/sources/{source}/{id}", record),
        ("/pipelines", get(pipelines)),
        ("/pipelines/{name}", put(add_pipeline)),
        ("/pipelines/{name}/status", get(status)),
        ("/pipelines/{name}/gaps", get(gaps)),
        ("/pipelines/{name}/resend", post(resend)),
        ("/pipelines/{name}/serve", post(serve)),
        ("/jobs", get(jobs)),
        ("/reindexes", get(runs).post(reindex)),
        ("/reindexes/{run}", get(run)),
        ("/queues/{queue}/dead-letters", get(dead_letters)),
        ("/redrive/{name}", post(redrive)),
    ]
}

/// The API on a catalogue.
pub fn router(running: Arc<Running>) -> Router {
    let add = |router: Router<_>, (path, methods)| router.route(path, methods);
    let router = routes().into_iter().fold(Router::new(), add);
    router.layer(map_response(in_json)).with_state(running)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Search {
    #[serde(default)]
    query: String,
    source: Option<Source>,
    pipeline: Option<String>,
    #[serde(default)]
    skip: usize,
    limit: Option<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPipeline {
    transformer: i64,
    #[serde(default = "catalogue")]
    destinations: BTreeSet<String>,
}

fn catalogue() -> BTreeSet<String> {
    BTreeSet::from([CATALOGUE.to_owned()])
}

async fn search(State(running): App, Query(search): Query<Search>) -> Answer {
    let pipeline = match &search.pipeline {
        Some(name) => running.app.pipeline(name).await?,
        None => running.app.serving(CATALOGUE).await?,
    };
    let limit = search.limit.unwrap_or(10).clamp(1, 100);
    let index = &pipeline.index;
    let found = index.search(&search.query, search.source, limit, search.skip)?;
    shown(json!({ "pipeline": pipeline.row.name, "total": found.total, "works": found.works }))
}

async fn work(State(running): App, Path(id): Path<String>) -> Answer {
    let found = running.app.serving(CATALOGUE).await?.index.work(&id)?;
    shown(found.ok_or_else(|| Error::NotFound(format!("work {id}")))?)
}

async fn get_record(State(running): App, Path((source, id)): Path<(Source, String)>) -> Answer {
    shown(running.app.record(source, &id).await?)
}

/// The payload is the body; what the source says besides stands in the query.
async fn put_record(
    State(running): App,
    Path((source, id)): Path<(Source, String)>,
    Query(facts): Query<RecordFacts>,
    payload: Bytes,
) -> Answer {
    let app = &running.app;
    shown(app.put_record(source, &id, facts, payload.to_vec()).await?)
}

async fn withdraw_record(State(running): App, Path((source, id)): Path<(Source, String)>) -> Answer {
    shown(running.app.withdraw(source, &id).await?)
}

async fn pipelines(State(running): App) -> Answer {
    let serving = running.app.serving(CATALOGUE).await.ok();
    let rows = running.app.db.pipelines().collect().await?;
    shown(json!({ "pipelines": rows, "serving": serving.map(|pipeline| pipeline.row.name.clone()) }))
}

async fn add_pipeline(State(running): App, Path(name): Path<String>, Json(new): Json<NewPipeline>) -> Answer {
    let app = &running.app;
    app.add_pipeline(&name, new.transformer, new.destinations).await?;
    Ok(StatusCode::CREATED.into_response())
}

async fn status(State(running): App, Path(name): Path<String>) -> Answer {
    shown(running.status(&name).await?.0)
}

async fn gaps(State(running): App, Path(name): Path<String>) -> Answer {
    shown(running.status(&name).await?.1)
}

async fn resend(State(running): App, Path(name): Path<String>) -> Answer {
    shown(json!({ "sent": running.app.resend(&name).await? }))
}

async fn serve(State(running): App, Path(name): Path<String>) -> Answer {
    running.app.serve_from(CATALOGUE, &name).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn jobs() -> Answer {
    let job = |(id, source, destination)| json!({ "jobConfigId": id, "source": source, "destination": destination });
    shown(JOBS.map(job))
}

async fn runs(State(running): App) -> Answer {
    let mut runs = running.app.db.runs().collect().await?;
    runs.sort_by_key(|run| std::cmp::Reverse(run.started.moment()));
    shown(runs)
}

async fn reindex(State(running): App, Json(asked): Json<NewReindex>) -> Answer {
    let started = running.app.start_reindex(&asked).await?;
    Ok((StatusCode::ACCEPTED, Json(started)).into_response())
}

async fn run(State(running): App, Path(run): Path<String>) -> Answer {
    shown(running.app.run(&run).await?)
}

async fn dead_letters(State(running): App, Path(queue): Path<String>) -> Answer {
    let dead = running.app.queues.given_up(&queue, LETTERS_MAX).await?;
    let letter =
        |dead: &Message| json!({ "message": dead.id, "body": dead.body, "reason": dead.dead_letter_reason });
    shown(dead.iter().map(letter).collect::<Vec<_>>())
}

async fn redrive(State(running): App, Path(name): Path<String>) -> Answer {
    running.redrive(&name).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}

fn shown(what: impl Serialize) -> Answer {
    Ok(Json(what).into_response())
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
            Error::Conflict(_) | Error::Reindex(ReindexError::Refused(_)) => StatusCode::CONFLICT,
            Error::Invalid(_) => StatusCode::BAD_REQUEST,
            Error::Queue(error) if error.code() == ErrorCode::QueueDoesNotExist => StatusCode::NOT_FOUND,
            error => {
                tracing::error!(%error, "a request failed");
                StatusCode::INTERNAL_SERVER_ERROR
            }
        };
        (status, Json(json!({ "error": self.to_string() }))).into_response()
    }
}
