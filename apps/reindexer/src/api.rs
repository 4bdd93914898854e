//! The HTTP API. `openapi.json` describes it.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use trestle::app::{shown, site};
use trestle::queue::Message;

use crate::jobs::JOBS;
use crate::source::Source;
use crate::{Error, NewReindex, RecordFacts, Result, Running};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");
/// The most dead letters that are shown.
const LETTERS_MAX: usize = 1_000;
/// The destination that searches are about.
pub(crate) const CATALOGUE: &str = "catalogue";

type App = State<Arc<Running>>;
type Answer = Result<Response>;

/// Every path of the API and what answers there.
pub fn routes() -> Vec<(&'static str, MethodRouter<Arc<Running>>)> {
    let record = get(get_record).put(put_record).delete(withdraw_record);
    vec![
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

/// The API on a catalogue, with its page and its description.
pub fn router(running: Arc<Running>) -> Router {
    let add = |router: Router<_>, (path, methods)| router.route(path, methods);
    let router = routes().into_iter().fold(Router::new(), add);
    site(router, PAGE, OPENAPI).with_state(running)
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
    let found = index.search(&search.query, search.source, limit, search.skip);
    let found = found.map_err(Error::failed)?;
    shown(json!({ "pipeline": pipeline.row.name, "total": found.total, "works": found.works }))
}

async fn work(State(running): App, Path(id): Path<String>) -> Answer {
    let found = running.app.serving(CATALOGUE).await?.index.work(&id);
    shown(
        found
            .map_err(Error::failed)?
            .ok_or_else(|| Error::not_found(format!("work {id}")))?,
    )
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
