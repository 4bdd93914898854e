//! The HTTP interface to layers: the page, the public API in two versions, the lists and runs behind it, and
//! Lambda's calls for layers.
//!
//! As in the original, unknown packages and regions return an empty list with status 200.

mod lambda;
mod table;
mod view;

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use serde_json::json;
use trestle::app::{self, OrNothing as _, fingerprint, shown, site};

use crate::config::{ALL, V1_PYTHON};
use crate::model::{
    ConfigKind, LatestInRegionByPythonVersionWhere, LatestLayerWhere, LatestOfPackageByPythonVersionWhere,
    Layer, VersionsOfLayerWhere,
};
use crate::{Force, Runs};
use lambda::Refusal;
use view::view;

/// The state of requests.
pub struct Service {
    /// The runs of this server, with the application and its lists.
    pub runs: Arc<Runs>,
    /// The token for calls that change something; without one, they are refused.
    pub token: Option<String>,
    /// What addresses of zips begin with; without it, they begin with the host that a client has called.
    pub base_url: Option<String>,
}

type Served = State<Arc<Service>>;
type Answer = app::Result<Response>;

/// The page and the API.
pub fn routes(service: Service) -> Router {
    let service = Arc::new(service);
    let public = Router::new()
        .route("/api/v2/{python}/layers/latest/{region}", get(latest))
        .route("/api/v2/{python}/layers/latest/{region}/{last}", get(latest))
        .route("/api/v2/{python}/layers/{region}/{package}", get(versions))
        .route("/api/v2/{python}/packages/{package}", get(everywhere))
        .route("/api/v2/{python}/builds/latest", get(builds))
        .route("/api/v1/layers/latest/{region}", get(latest))
        .route("/api/v1/layers/latest/{region}/{last}", get(latest))
        .route("/api/v1/layers/{region}/{package}", get(versions))
        .route("/api/v1/builds/latest", get(builds))
        .layer(map_response(cached))
        .route("/api/v1/python-versions", get(pythons))
        .route("/api/v1/config/{python}/{kind}", get(config))
        .route("/api/v1/configS3/{python}/{kind}", get(config_of_files))
        .route("/api/v1/runs", get(runs))
        .route("/2018-10-31/layers", get(lambda::by_arn))
        .route("/2018-10-31/layers/{name}/versions", get(lambda::versions))
        .route(
            "/2018-10-31/layers/{name}/versions/{version}",
            get(lambda::version),
        )
        .route("/layers/{arn}", get(lambda::download));
    let publish = post(lambda::publish).layer(DefaultBodyLimit::max(lambda::BODY_BYTES_MAX));
    let protected = Router::new()
        .route("/api/v1/load-config", post(load_config))
        .route("/api/v1/runs", post(begin))
        .route("/2018-10-31/layers/{name}/versions", publish)
        .route_layer(from_fn_with_state(Arc::clone(&service), protect));
    let (page, openapi) = (include_str!("../page.html"), include_str!("../openapi.json"));
    site(public.merge(protected), page, openapi).with_state(service)
}

/// Public answers may be cached for an hour, as by the original's CDN; a layer stays for a year after its
/// successor.
async fn cached(mut response: Response) -> Response {
    if response.status().is_success() {
        let hour = HeaderValue::from_static("public, max-age=3600");
        response.headers_mut().insert(header::CACHE_CONTROL, hour);
    }
    response
}

/// Accepts requests with the token: as a bearer token, or as the access key of an AWS client.
async fn protect(State(service): Served, request: Request, next: Next) -> Response {
    let known = credential(request.headers()).map(|(known, _)| fingerprint(known.as_bytes()));
    let why = match &service.token {
        None => NO_TOKEN,
        // Hashes differ at the first bytes, so that the time reveals nothing about the token.
        Some(token) if known == Some(fingerprint(token.as_bytes())) => return next.run(request).await,
        Some(_) => OTHER_TOKEN,
    };
    Refusal(app::Error::Forbidden(why.to_owned())).into_response()
}

const NO_TOKEN: &str = "nothing can be changed here: the server was started without KLAYERS_TOKEN";
const OTHER_TOKEN: &str = "this needs the server's token: Authorization: Bearer TOKEN, or AWS_ACCESS_KEY_ID";

/// The token or access key of a request, and the region of its signature, if it has one.
fn credential(headers: &HeaderMap) -> Option<(&str, Option<&str>)> {
    let given = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    if let Some(token) = given.strip_prefix("Bearer ") {
        return Some((token, None));
    }
    let (_, scope) = given.split_once("Credential=")?;
    let mut parts = scope.split([',', ' ']).next()?.split('/');
    let (key, _date) = (parts.next()?, parts.next()?);
    Some((key, parts.next()))
}

/// The parameters of a path. The first version has no version of Python.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Asked {
    python: Option<String>,
    region: String,
    package: String,
    /// A format, or a package: in the first version both are in the same position.
    last: String,
}

impl Asked {
    fn python(&self) -> &str {
        self.python.as_deref().unwrap_or(V1_PYTHON)
    }
}

async fn latest(State(service): Served, Path(asked): Path<Asked>) -> Answer {
    let (region, python_version, last) = (&asked.region, asked.python(), asked.last.as_str());
    let db = &service.runs.app.db;
    if !matches!(last, "" | "json" | "csv" | "html") {
        let latest = LatestLayerWhere {
            region,
            package: last,
            python_version,
        };
        let head = db.latest_layer(latest).await.or_nothing()?;
        return shown(head.map(|head| view(&head, HEAD)).unwrap_or_default());
    }
    let latest = LatestInRegionByPythonVersionWhere {
        region,
        python_version,
    };
    let rows = db.latest_in_region_by_python_version(latest).collect();
    let mut rows = rows.await.or_nothing()?;
    rows.sort_by(|one, two| one.pckg.cmp(&two.pckg));
    match last {
        "csv" => table::csv(region, python_version, &rows),
        "html" => Ok(table::html(region, python_version, &rows)),
        _ => views(&rows, "package packageVersion arn"),
    }
}

async fn versions(State(service): Served, Path(asked): Path<Asked>) -> Answer {
    let versions = service.runs.app.db.versions_of_layer(VersionsOfLayerWhere {
        region: &asked.region,
        package: &asked.package,
        python_version: asked.python(),
    });
    let mut rows = versions.collect().await.or_nothing()?;
    rows.sort_by_key(|layer| layer.lyr_vrsn);
    views(&rows, VERSION)
}

/// The latest layer of a package in every region, with licence and size, which the original lacks.
async fn everywhere(State(service): Served, Path(asked): Path<Asked>) -> Answer {
    let db = &service.runs.app.db;
    let found = db.latest_of_package_by_python_version(LatestOfPackageByPythonVersionWhere {
        package: &asked.package,
        python_version: asked.python(),
    });
    let found = found.collect().await.or_nothing()?;
    let rows = db.get_many(found.iter().map(|row| row.key())).await?;
    let mut rows: Vec<Layer> = rows.into_iter().flatten().collect();
    rows.sort_by(|one, two| one.rgn.cmp(&two.rgn));
    views(&rows, EVERYWHERE)
}

async fn builds(State(service): Served, Path(asked): Path<Asked>) -> Answer {
    let builds = service.runs.app.db.latest_builds(asked.python()).collect().await;
    views(&builds.or_nothing()?, BUILD)
}

/// The shown attributes of the latest layer of a package.
const HEAD: &str = "package packageVersion region arn dependencies";
/// The shown attributes of a version of a layer.
const VERSION: &str = "packageVersion arn deployStatus dependencies expiryDate";
/// The same, across all regions.
const EVERYWHERE: &str = "packageVersion arn deployStatus dependencies expiryDate region license codeSize";
/// The shown attributes of a build.
const BUILD: &str = "package packageVersion dependencies createdDateTime";

fn views(rows: &[impl Serialize], names: &str) -> Answer {
    shown(rows.iter().map(|row| view(row, names)).collect::<Vec<_>>())
}

async fn pythons(State(service): Served) -> Answer {
    shown(service.runs.app.list(ConfigKind::PyVrsns, ALL).await?)
}

/// A version of Python, and the kind of a list. An unknown kind gives an empty list.
type Listed = Path<(String, String)>;

/// A list of the table.
async fn config(State(service): Served, Path((python, kind)): Listed) -> Answer {
    shown(match kind.parse() {
        Ok(kind) => service.runs.app.list(kind, &python).await?,
        Err(_) => Vec::new(),
    })
}

/// The same list from the files, which the table has only after they are loaded.
async fn config_of_files(State(service): Served, Path((python, kind)): Listed) -> Answer {
    shown(match kind.parse() {
        Ok(kind) => service.runs.files.list(kind, &python)?,
        Err(_) => Vec::new(),
    })
}

async fn load_config(State(service): Served) -> Answer {
    let changed = service.runs.app.load_config(&service.runs.files).await?;
    shown(json!({"changed": changed}))
}

async fn runs(State(service): Served) -> Answer {
    shown(service.runs.shown().await?)
}

async fn begin(State(service): Served, Query(force): Query<Force>) -> Answer {
    let under_way = || app::Error::Conflict("a run is under way; /api/v1/runs shows it".to_owned());
    let begun = service.runs.begin(force).await.ok_or_else(under_way)?;
    Ok((StatusCode::ACCEPTED, Json(json!({"started": begun.as_str()}))).into_response())
}
