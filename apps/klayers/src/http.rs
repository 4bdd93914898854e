//! Where the layers are: the public API, in two versions, and the lists behind it.
//!
//! As in the original, what nobody knows is no error: lists are empty, and the answer is 200.

mod table;
mod view;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;

use crate::config::{ALL, Files, V1_PYTHON};
use crate::model::{ConfigKind, LatestInRegionByPythonVersionWhere, LatestLayerWhere, VersionsOfLayerWhere};
use crate::{App, Error};
use view::View;

#[derive(Clone)]
struct Served {
    app: App,
    files: Files,
}

/// The API of the application. The lists are loaded from the files.
pub fn routes(app: App, files: Files) -> Router {
    Router::new()
        .route("/api/v2/{python}/layers/latest/{region}", get(latest))
        .route("/api/v2/{python}/layers/latest/{region}/{last}", get(latest))
        .route("/api/v2/{python}/layers/{region}/{package}", get(versions))
        .route("/api/v2/{python}/builds/latest", get(builds))
        .route("/api/v1/layers/latest/{region}", get(latest))
        .route("/api/v1/layers/latest/{region}/{last}", get(latest))
        .route("/api/v1/layers/{region}/{package}", get(versions))
        .route("/api/v1/builds/latest", get(builds))
        .layer(map_response(cached))
        .route("/api/v1/python-versions", get(pythons))
        .route("/api/v1/config/{python}/{kind}", get(config))
        .route("/api/v1/configS3/{python}/{kind}", get(config_of_files))
        .route("/api/v1/load-config", post(load_config))
        .route("/openapi.json", get(openapi))
        .with_state(Served { app, files })
}

type Answer = Result<Response, Error>;

/// What is public may be an hour old, as it was behind the original's CDN; a layer stays for a year after its successor.
async fn cached(mut response: Response) -> Response {
    if response.status().is_success() {
        let hour = HeaderValue::from_static("public, max-age=3600");
        response.headers_mut().insert(header::CACHE_CONTROL, hour);
    }
    response
}

async fn openapi() -> impl IntoResponse {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, include_str!("../openapi.json"))
}

/// What a path can say. In the first version it says nothing of Python.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    python: Option<String>,
    region: String,
    package: String,
    /// A format, or a package: the first version had both in the same place.
    last: String,
}

impl Asked {
    fn python(&self) -> &str {
        self.python.as_deref().unwrap_or(V1_PYTHON)
    }
}

async fn latest(State(served): State<Served>, Path(asked): Path<Asked>) -> Answer {
    let (region, python_version, last) = (&asked.region, asked.python(), asked.last.as_str());
    if !matches!(last, "" | "json" | "csv" | "html") {
        let package = last;
        let latest = LatestLayerWhere {
            region,
            package,
            python_version,
        };
        let head = served.app.db.latest_layer(latest).await?;
        return Ok(Json(head.map(View::from).unwrap_or_default()).into_response());
    }
    let latest = LatestInRegionByPythonVersionWhere {
        region,
        python_version,
    };
    let rows = served.app.db.latest_in_region_by_python_version(latest);
    let mut rows = rows.collect().await?;
    rows.sort_by(|one, two| one.pckg.cmp(&two.pckg));
    Ok(match last {
        "csv" => table::csv(region, python_version, &rows)?,
        "html" => table::html(region, python_version, &rows),
        _ => views(rows),
    })
}

async fn versions(State(served): State<Served>, Path(asked): Path<Asked>) -> Answer {
    let versions = VersionsOfLayerWhere {
        region: &asked.region,
        package: &asked.package,
        python_version: asked.python(),
    };
    let mut rows = served.app.db.versions_of_layer(versions).collect().await?;
    rows.sort_by_key(|layer| layer.lyr_vrsn);
    Ok(views(rows))
}

async fn builds(State(served): State<Served>, Path(asked): Path<Asked>) -> Answer {
    let rows = served.app.db.latest_builds(asked.python()).collect().await?;
    Ok(views(rows))
}

fn views<R: Into<View>>(rows: Vec<R>) -> Response {
    let views: Vec<View> = rows.into_iter().map(Into::into).collect();
    Json(views).into_response()
}

async fn pythons(State(served): State<Served>) -> Answer {
    Ok(Json(served.app.list(ConfigKind::PyVrsns, ALL).await?).into_response())
}

/// A list of the table.
async fn config(State(served): State<Served>, Path((python, kind)): Path<(String, String)>) -> Answer {
    let list = match kind.parse() {
        Ok(kind) => served.app.list(kind, &python).await?,
        Err(_) => Vec::new(),
    };
    Ok(Json(list).into_response())
}

/// The same as the files have it, which the table has only once it is loaded.
async fn config_of_files(
    State(served): State<Served>,
    Path((python, kind)): Path<(String, String)>,
) -> Answer {
    let list = match kind.parse() {
        Ok(kind) => served.files.list(kind, &python)?,
        Err(_) => Vec::new(),
    };
    Ok(Json(list).into_response())
}

async fn load_config(State(served): State<Served>) -> Answer {
    let changed = served.app.load_config(&served.files).await?;
    Ok(Json(json!({"changed": changed})).into_response())
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        tracing::error!(error = %self, "a request failed");
        let message = Json(json!({"message": "The request could not be answered; see the log."}));
        (StatusCode::INTERNAL_SERVER_ERROR, message).into_response()
    }
}
