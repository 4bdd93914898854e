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
use serde_json::{Value, json};

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
        .route("/api/v2/{python}/layers/latest/{region}/{format}", get(latest_as))
        .route("/api/v2/{python}/layers/{region}/{package}", get(versions))
        .route("/api/v2/{python}/builds/latest", get(builds))
        .route("/api/v1/layers/latest/{region}", get(latest_v1))
        .route(
            "/api/v1/layers/latest/{region}/{package}",
            get(latest_or_package_v1),
        )
        .route("/api/v1/layers/{region}/{package}", get(versions_v1))
        .route("/api/v1/builds/latest", get(builds_v1))
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

async fn latest(State(served): State<Served>, Path((python, region)): Path<(String, String)>) -> Answer {
    list(&served, &python, &region, "json").await
}

async fn latest_as(
    State(served): State<Served>,
    Path((python, region, format)): Path<(String, String, String)>,
) -> Answer {
    list(&served, &python, &region, &format).await
}

async fn latest_v1(State(served): State<Served>, Path(region): Path<String>) -> Answer {
    list(&served, V1_PYTHON, &region, "json").await
}

/// The first version has formats and packages in the same place.
async fn latest_or_package_v1(
    State(served): State<Served>,
    Path((region, last)): Path<(String, String)>,
) -> Answer {
    if table::FORMATS.contains(&last.as_str()) {
        return list(&served, V1_PYTHON, &region, &last).await;
    }
    let place = Place {
        region: &region,
        package: &last,
        python: V1_PYTHON,
    };
    let found = served.app.latest(place).await?;
    Ok(match found {
        Some(head) => Json(HeadView::from(head)).into_response(),
        None => Json(json!({})).into_response(),
    })
}

async fn list(served: &Served, python: &str, region: &str, format: &str) -> Answer {
    let latest = LatestInRegionByPythonVersionWhere {
        region,
        python_version: python,
    };
    let rows = served.app.db().latest_in_region_by_python_version(latest);
    let mut layers: Vec<LatestView> = rows.collect().await?.into_iter().map(LatestView::from).collect();
    layers.sort_by(|one, two| one.package.cmp(&two.package));
    table::answer(format, region, python, layers)
}

async fn versions(
    State(served): State<Served>,
    Path((python, region, package)): Path<(String, String, String)>,
) -> Answer {
    list_versions(&served, &python, &region, &package).await
}

async fn versions_v1(
    State(served): State<Served>,
    Path((region, package)): Path<(String, String)>,
) -> Answer {
    list_versions(&served, V1_PYTHON, &region, &package).await
}

async fn list_versions(served: &Served, python: &str, region: &str, package: &str) -> Answer {
    let versions = VersionsOfLayerWhere {
        region,
        package,
        python_version: python,
    };
    let mut rows = served.app.db().versions_of_layer(versions).collect().await?;
    rows.sort_by_key(|layer| layer.lyr_vrsn);
    let views: Vec<VersionView> = rows.into_iter().map(VersionView::from).collect();
    Ok(Json(views).into_response())
}

async fn builds(State(served): State<Served>, Path(python): Path<String>) -> Answer {
    list_builds(&served, &python).await
}

async fn builds_v1(State(served): State<Served>) -> Answer {
    list_builds(&served, V1_PYTHON).await
}

async fn list_builds(served: &Served, python: &str) -> Answer {
    let builds = served.app.db().latest_builds(python).collect().await?;
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
    let loaded: Value = json!({
        "pythonVersions": pythons.len(), "packages": packages.len(), "regions": regions.len(),
    });
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
