//! Where the layers are: the public API, in two versions, and the lists behind it.
//!
//! As in the original, what nobody knows is no error: lists are empty, and the answer is 200.

mod table;
mod view;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;
use trestle::typed;

use crate::config::{ALL, Files, V1_PYTHON};
use crate::model::{ConfigKind, LatestInRegionByPythonVersionWhere, LatestLayerWhere, VersionsOfLayerWhere};
use crate::{App, Error};
use view::View;

type Served = State<(App, Files)>;

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
        .route("/openapi.json", get(async || (JSON, OPENAPI)))
        .fallback(async || (StatusCode::NOT_FOUND, JSON, NOTHING_HERE))
        .with_state((app, files))
}

const JSON: [(HeaderName, &str); 1] = [(header::CONTENT_TYPE, "application/json")];
const OPENAPI: &str = include_str!("../openapi.json");
const NOTHING_HERE: &str = r#"{"message":"There is nothing here; /openapi.json says what there is."}"#;

type Answer = Result<Response, Error>;

/// What is public may be an hour old, as it was behind the original's CDN; a layer stays for a year after its successor.
async fn cached(mut response: Response) -> Response {
    if response.status().is_success() {
        let hour = HeaderValue::from_static("public, max-age=3600");
        response.headers_mut().insert(header::CACHE_CONTROL, hour);
    }
    response
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

async fn latest(State((app, _)): Served, Path(asked): Path<Asked>) -> Answer {
    let (region, python_version, last) = (&asked.region, asked.python(), asked.last.as_str());
    if !matches!(last, "" | "json" | "csv" | "html") {
        let latest = LatestLayerWhere {
            region,
            package: last,
            python_version,
        };
        let head = known(app.db.latest_layer(latest).await)?;
        return Ok(Json(head.map(View::from).unwrap_or_default()).into_response());
    }
    let latest = LatestInRegionByPythonVersionWhere {
        region,
        python_version,
    };
    let rows = app.db.latest_in_region_by_python_version(latest);
    let mut rows = known(rows.collect().await)?;
    rows.sort_by(|one, two| one.pckg.cmp(&two.pckg));
    Ok(match last {
        "csv" => table::csv(region, python_version, &rows)?,
        "html" => table::html(region, python_version, &rows),
        _ => views(rows),
    })
}

async fn versions(State((app, _)): Served, Path(asked): Path<Asked>) -> Answer {
    let versions = VersionsOfLayerWhere {
        region: &asked.region,
        package: &asked.package,
        python_version: asked.python(),
    };
    let mut rows = known(app.db.versions_of_layer(versions).collect().await)?;
    rows.sort_by_key(|layer| layer.lyr_vrsn);
    Ok(views(rows))
}

async fn builds(State((app, _)): Served, Path(asked): Path<Asked>) -> Answer {
    let rows = known(app.db.latest_builds(asked.python()).collect().await)?;
    Ok(views(rows))
}

/// What the model refuses as part of a key is nothing that anybody knows.
fn known<T: Default>(found: Result<T, typed::Error>) -> Result<T, Error> {
    match found {
        Err(typed::Error::Refused(_)) => Ok(T::default()),
        found => Ok(found?),
    }
}

fn views<R: Into<View>>(rows: Vec<R>) -> Response {
    let views: Vec<View> = rows.into_iter().map(Into::into).collect();
    Json(views).into_response()
}

async fn pythons(State((app, _)): Served) -> Answer {
    Ok(Json(app.list(ConfigKind::PyVrsns, ALL).await?).into_response())
}

/// A version of Python, and the kind of a list.
type Listed = Path<(String, String)>;

/// A list of the table.
async fn config(State((app, _)): Served, Path((python, kind)): Listed) -> Answer {
    let list = match kind.parse() {
        Ok(kind) => app.list(kind, &python).await?,
        Err(_) => Vec::new(),
    };
    Ok(Json(list).into_response())
}

/// The same as the files have it, which the table has only once it is loaded.
async fn config_of_files(State((_, files)): Served, Path((python, kind)): Listed) -> Answer {
    let list = match kind.parse() {
        Ok(kind) => files.list(kind, &python)?,
        Err(_) => Vec::new(),
    };
    Ok(Json(list).into_response())
}

async fn load_config(State((app, files)): Served) -> Answer {
    let changed = app.load_config(&files).await?;
    Ok(Json(json!({"changed": changed})).into_response())
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, words) = match self {
            Self::Database(typed::Error::Invalid(reason)) => (StatusCode::BAD_REQUEST, reason.to_string()),
            error => {
                tracing::error!(%error, "a request failed");
                let words = "The request could not be answered; see the log.".to_owned();
                (StatusCode::INTERNAL_SERVER_ERROR, words)
            }
        };
        (status, Json(json!({"message": words}))).into_response()
    }
}
