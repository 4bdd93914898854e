//! The HTTP API. `openapi.json` describes it; everything but the page lies under a tenant.

use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use trestle::app::{created, shown, site};

use super::*;

const PAGE: &str = include_str!("../../page.html");
const OPENAPI: &str = include_str!("../../openapi.json");

type App = State<Arc<Service>>;
/// A tenant, and a run or a kind of rows.
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
    let routes = Router::new().route("/migration", get(migration));
    let routes = routes.nest("/tenants/{tenant}", tenant);
    site(routes, PAGE, OPENAPI).with_state(service)
}

async fn migration(State(app): App) -> Answer {
    let of_model = app.db.definition().name();
    let mut migrations = app.db.database().migrations().into_iter();
    shown(migrations.find(|migration| migration.model == of_model))
}

async fn list_specs(State(app): App, Path(tenant): Path<String>, Query(page): Query<Texts>) -> Answer {
    shown(app.page("specs", &[&tenant], page).await?)
}

async fn put_spec(State(app): App, Path(tenant): Path<String>, Json(spec): Json<Spec>) -> Answer {
    created(app.put_spec(&tenant, spec).await?)
}

async fn run_wf(State(app): App, Path(tenant): Path<String>, Json(run): Json<RunWf>) -> Answer {
    created(app.run_wf(&tenant, run).await?)
}

/// A run, one of its lists, or one of its rows.
async fn read(State(app): App, Path(path): Path<Vec<String>>, Query(page): Query<Texts>) -> Answer {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    shown(match path.as_slice() {
        [tenant, run] => app.row("wf_run", &[tenant, run]).await?,
        [tenant, run, "inventory"] => app.row("inventory", &[tenant, run]).await?,
        [tenant, run, kind] => app.page(&(entity(kind)? + "s"), &[tenant, run], page).await?,
        [tenant, run, kind, id @ ..] => app.row(&entity(kind)?, &[&[*tenant, run], id].concat()).await?,
        _ => return Err(Error::not_found("such path")),
    })
}

async fn command(State(app): App, Path((tenant, run)): Ids, Json(command): Json<Command>) -> Answer {
    use Command::{Delete, Fail, StartTask, Wake};
    if let StartTask(_) | Wake(_) | Fail(_) | Delete = command {
        return Err(Error::invalid("only the engine does that"));
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
