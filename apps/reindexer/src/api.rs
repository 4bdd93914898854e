//! The HTTP API. `openapi.json` describes it.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, get, post, put};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::json;
use trestle::app::{Loopback, shown, site};
use trestle::queue::Message;
use trestle::typed::NotOneOf;

use crate::source::Source;
use crate::{Catalogue, Error, NewReindex, RecordFacts, Result, jobs};

const PAGE: &str = include_str!("../page.html");
const OPENAPI: &str = include_str!("../openapi.json");
/// The most dead letters that are shown.
const LETTERS_MAX: usize = 1_000;
/// The destination of searches.
pub const CATALOGUE: &str = "catalogue";

type App = State<Arc<Catalogue>>;
type Answer = Result<Response>;

/// Every path of the API and its handlers.
pub fn routes() -> Vec<(&'static str, MethodRouter<Arc<Catalogue>>)> {
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
        ("/pipelines/{name}/serve", post(switch_over)),
        ("/jobs", get(async || shown(jobs().collect::<Vec<_>>()))),
        ("/reindexes", get(runs).post(reindex)),
        ("/reindexes/{run}", get(run)),
        ("/queues/{queue}/dead-letters", get(dead_letters)),
        ("/redrive/{name}", post(redrive)),
    ]
}

/// The API on a catalogue, with its page and its description.
pub fn router(app: Arc<Catalogue>) -> Router {
    let add = |router: Router<_>, (path, methods)| router.route(path, methods);
    let router = routes().into_iter().fold(Router::new(), add);
    site(router, PAGE, OPENAPI).with_state(app)
}

/// Serves it until the program is asked to end, and stops its background work then.
pub async fn serve(app: Arc<Catalogue>, port: u16) -> io::Result<()> {
    let listener = Loopback::listen(port).await?;
    writeln!(io::stdout(), "reindexer serves {}", listener.url())?;
    listener.serve(router(Arc::clone(&app))).await?;
    app.stop().await;
    Ok(())
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SwitchOver {
    #[serde(default)]
    force: bool,
}

fn catalogue() -> BTreeSet<String> {
    BTreeSet::from([CATALOGUE.to_owned()])
}

async fn search(State(app): App, Query(search): Query<Search>) -> Answer {
    let pipeline = match &search.pipeline {
        Some(name) => app.pipeline(name).await?,
        None => app.serving(CATALOGUE).await?,
    };
    let limit = search.limit.unwrap_or(10).clamp(1, 100);
    let index = &pipeline.index;
    let found = index.search(&search.query, search.source, limit, search.skip);
    let (total, works) = found.map_err(Error::failed)?;
    shown(json!({ "pipeline": pipeline.row.name, "total": total, "works": works }))
}

async fn work(State(app): App, Path(id): Path<String>) -> Answer {
    let found = app.serving(CATALOGUE).await?.index.work(&id);
    let found = found.map_err(Error::failed)?;
    shown(found.ok_or_else(|| Error::not_found(format!("work {id}")))?)
}

/// The source in a path.
fn source_in(path: &str) -> Result<Source> {
    let unknown = |unknown: NotOneOf| Error::NotFound(unknown.to_string());
    path.parse().map_err(unknown)
}

async fn get_record(State(app): App, Path((source, id)): Path<(String, String)>) -> Answer {
    shown(app.record(source_in(&source)?, &id).await?)
}

/// The payload is the body; the other data of the source is in the query.
async fn put_record(
    State(app): App,
    Path((source, id)): Path<(String, String)>,
    Query(facts): Query<RecordFacts>,
    payload: Bytes,
) -> Answer {
    let source = source_in(&source)?;
    shown(app.put_record(source, &id, facts, payload.to_vec()).await?)
}

async fn withdraw_record(State(app): App, Path((source, id)): Path<(String, String)>) -> Answer {
    shown(app.withdraw(source_in(&source)?, &id).await?)
}

async fn pipelines(State(app): App) -> Answer {
    let serving = app.serving(CATALOGUE).await.ok();
    let rows = app.db.pipelines().collect().await?;
    shown(json!({ "pipelines": rows, "serving": serving.map(|pipeline| pipeline.row.name.clone()) }))
}

async fn add_pipeline(State(app): App, Path(name): Path<String>, Json(new): Json<NewPipeline>) -> Answer {
    app.add_pipeline(&name, new.transformer, new.destinations).await?;
    Ok(StatusCode::CREATED.into_response())
}

async fn status(State(app): App, Path(name): Path<String>) -> Answer {
    shown(app.status(&name).await?.0)
}

async fn gaps(State(app): App, Path(name): Path<String>) -> Answer {
    shown(app.status(&name).await?.1)
}

async fn resend(State(app): App, Path(name): Path<String>) -> Answer {
    shown(json!({ "sent": app.resend(&name).await? }))
}

async fn switch_over(State(app): App, Path(name): Path<String>, Query(how): Query<SwitchOver>) -> Answer {
    let warnings = app.serve_from(CATALOGUE, &name, how.force).await?;
    shown(json!({ "warnings": warnings }))
}

async fn runs(State(app): App) -> Answer {
    let mut runs = app.db.runs().collect().await?;
    runs.sort_by_key(|run| std::cmp::Reverse(run.started.moment()));
    shown(runs)
}

async fn reindex(State(app): App, Json(asked): Json<NewReindex>) -> Answer {
    let started = app.start_reindex(&asked).await?;
    Ok((StatusCode::ACCEPTED, Json(started)).into_response())
}

async fn run(State(app): App, Path(run): Path<String>) -> Answer {
    shown(app.run(&run).await?)
}

async fn dead_letters(State(app): App, Path(queue): Path<String>) -> Answer {
    let dead = app.queues.given_up(&queue, LETTERS_MAX).await?;
    let letter =
        |dead: &Message| json!({ "message": dead.id, "body": dead.body, "reason": dead.dead_letter_reason });
    shown(dead.iter().map(letter).collect::<Vec<_>>())
}

async fn redrive(State(app): App, Path(name): Path<String>) -> Answer {
    app.redrive(&name).await?;
    Ok(StatusCode::ACCEPTED.into_response())
}
