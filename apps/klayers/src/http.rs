//! Where the layers are: the public API, in two versions, and the lists behind it.
//!
//! As in the original, what nobody knows is no error: lists are empty, and the answer is 200.

mod table;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use serde_json::json;

use crate::model::{LatestInRegionByPythonVersionWhere, VersionsOfLayerWhere};
use crate::{App, Error, Place};
use view::{BuildView, HeadView, LatestView, VersionView};

/// The version of Python that the first version of the API is about.
pub const V1_PYTHON: &str = "p3.8";

/// The lists that the configuration is loaded from.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// The versions of Python.
    pub pythons: Vec<String>,
    /// The packages.
    pub packages: Vec<String>,
    /// The regions.
    pub regions: Vec<String>,
}

#[derive(Clone)]
struct Served {
    app: App,
    lists: Arc<Lists>,
}

/// The API of the application.
pub fn routes(app: App, lists: Lists) -> Router {
    Router::new()
        .route("/openapi.json", get(openapi))
        .route("/api/v2/{python}/layers/latest/{region}", get(latest))
        .route("/api/v2/{python}/layers/latest/{region}/{last}", get(latest))
        .route("/api/v2/{python}/layers/{region}/{package}", get(versions))
        .route("/api/v2/{python}/builds/latest", get(builds))
        .route("/api/v1/layers/latest/{region}", get(latest))
        .route("/api/v1/layers/latest/{region}/{last}", get(latest))
        .route("/api/v1/layers/{region}/{package}", get(versions))
        .route("/api/v1/builds/latest", get(builds))
        .route("/api/v1/python-versions", get(pythons))
        .route("/api/v1/config/{python}/{kind}", get(config))
        .route("/api/v1/load-config", post(load_config))
        .with_state(Served {
            app,
            lists: Arc::new(lists),
        })
}

type Answer = Result<Response, Failure>;

async fn openapi() -> impl IntoResponse {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, include_str!("../openapi.json"))
}

/// What a path can say. In the first version it says nothing of Python.
#[derive(Deserialize)]
struct Asked {
    #[serde(default = "v1_python")]
    python: String,
    #[serde(default)]
    region: String,
    #[serde(default)]
    package: String,
    /// A format, or a package: the first version had both in the same place.
    #[serde(default)]
    last: String,
}

fn v1_python() -> String {
    V1_PYTHON.to_owned()
}

async fn latest(State(served): State<Served>, Path(asked): Path<Asked>) -> Answer {
    let Asked {
        python, region, last, ..
    } = &asked;
    if !last.is_empty() && !table::FORMATS.contains(&last.as_str()) {
        let place = Place {
            region,
            package: last,
            python,
        };
        let found = served.app.latest(place).await?.map(HeadView::from);
        return Ok(found.map_or_else(
            || Json(json!({})).into_response(),
            |head| Json(head).into_response(),
        ));
    }
    let rows = served
        .app
        .db()
        .latest_in_region_by_python_version(LatestInRegionByPythonVersionWhere {
            region,
            python_version: python,
        });
    let mut layers: Vec<LatestView> = rows.collect().await?.into_iter().map(LatestView::from).collect();
    layers.sort_by(|one, two| one.package.cmp(&two.package));
    table::answer(last, region, python, layers)
}

async fn versions(State(served): State<Served>, Path(asked): Path<Asked>) -> Answer {
    let rows = served.app.db().versions_of_layer(VersionsOfLayerWhere {
        region: &asked.region,
        package: &asked.package,
        python_version: &asked.python,
    });
    let mut rows = rows.collect().await?;
    rows.sort_by_key(|layer| layer.lyr_vrsn);
    let views: Vec<VersionView> = rows.into_iter().map(VersionView::from).collect();
    Ok(Json(views).into_response())
}

async fn builds(State(served): State<Served>, Path(asked): Path<Asked>) -> Answer {
    let builds = served.app.db().latest_builds(&asked.python).collect().await?;
    let views: Vec<BuildView> = builds.into_iter().map(BuildView::from).collect();
    Ok(Json(views).into_response())
}

async fn pythons(State(served): State<Served>) -> Answer {
    Ok(Json(served.app.pythons().await?).into_response())
}

async fn config(State(served): State<Served>, Path((python, kind)): Path<(String, String)>) -> Answer {
    let list = match kind.as_str() {
        "pckgs" => served.app.packages(&python).await?,
        "rgns" => served.app.regions().await?,
        _ => Vec::new(),
    };
    Ok(Json(list).into_response())
}

async fn load_config(State(served): State<Served>) -> Answer {
    let Lists {
        pythons,
        packages,
        regions,
    } = &*served.lists;
    served.app.load_config(pythons, packages, regions).await?;
    let loaded =
        json!({"pythonVersions": pythons.len(), "packages": packages.len(), "regions": regions.len()});
    Ok(Json(loaded).into_response())
}

/// A request that could not be answered.
struct Failure(Error);

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        tracing::error!(error = %self.0, "a request failed");
        let message = Json(json!({"message": "The request could not be answered; see the log."}));
        (StatusCode::INTERNAL_SERVER_ERROR, message).into_response()
    }
}
