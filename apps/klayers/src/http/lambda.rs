//! Lambda's calls for layers, so that `aws lambda get-layer-version --endpoint-url …` finds and downloads one.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};
use trestle::app::{self, OrNotFound as _, fingerprint};

use super::{Answer, Served, Service, credential};
use crate::layers::is_name;
use crate::model::Layer;
use crate::python::Python;
use crate::{App, Built, Deployed, Error, LayerArn, Release};

/// The largest request: Lambda accepts zips of 50 MB, which are sent as base64.
pub(super) const BODY_BYTES_MAX: usize = 70 << 20;
/// Versions in an answer, as in Lambda.
const VERSIONS_MAX: usize = 50;
const BY_ARN: &str = "name one by its ARN; ListLayers is not served, /api/v2/PYTHON/layers/latest/REGION is";

const NO_REGION: &str = "sign the request, or name an ARN: the region is not known";
const NO_NAME: &str = "a layer's name or region is not made of letters, digits, - and _, 140 at most";

/// An error in the form for clients of Lambda and of this server: its kind is in a header.
pub(super) struct Refusal(pub(super) app::Error);

impl<E: Into<app::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let kind = match self.0.status() {
            StatusCode::BAD_REQUEST => "InvalidParameterValueException",
            StatusCode::FORBIDDEN => "AccessDeniedException",
            StatusCode::NOT_FOUND => "ResourceNotFoundException",
            StatusCode::CONFLICT => "ResourceConflictException",
            _ => "ServiceException",
        };
        let (status, told) = (self.0.status(), self.0.told());
        let body = Json(json!({"Type": "User", "Message": told, "error": told}));
        (status, [("x-amzn-errortype", kind)], body).into_response()
    }
}

type Answered = Result<Json<Value>, Refusal>;

/// The region and the name of a layer, which is given by an ARN or by name. For a name, the region is that of
/// the signature.
fn named(name: &str, headers: &HeaderMap) -> app::Result<(String, String)> {
    let (region, layer) = match name.split(':').collect::<Vec<_>>()[..] {
        ["arn", _, "lambda", region, _, "layer", layer] => (Some(region), layer),
        _ => (credential(headers).and_then(|(_, region)| region), name),
    };
    let region = region.ok_or_else(|| app::Error::invalid(NO_REGION))?;
    let both = (region.to_owned(), layer.to_owned());
    let named = (is_name(region) && is_name(layer)).then_some(both);
    named.ok_or_else(|| app::Error::invalid(NO_NAME))
}

/// The versions of a layer that are deployed, newest first.
async fn deployed(app: &App, region: &str, layer: &str) -> Result<Vec<(LayerArn, Layer)>, Error> {
    let named = |arn: &str| LayerArn::parse(arn).filter(|arn| arn.layer == layer);
    let mut shown = app.db.deployed_in_region(region).collect().await?;
    shown.retain(|row| named(&row.arn).is_some());
    let rows = app.db.get_many(shown.iter().map(|row| row.key())).await?;
    let rows = rows.into_iter().flatten();
    let mut rows: Vec<_> = rows.filter_map(|row| Some((named(&row.arn)?, row))).collect();
    rows.sort_by_key(|(arn, _)| std::cmp::Reverse(arn.version));
    Ok(rows)
}

/// A version in the form of lists.
fn described((arn, row): &(LayerArn, Layer)) -> Value {
    // For a layer that was published from elsewhere, the version is its description.
    let description = match row.rqrmnts_txt.as_deref() {
        Some("") => row.pckg_vrsn.clone(),
        _ => format!("{} {}", row.pckg, row.pckg_vrsn),
    };
    let python = Python::parse(&row.py_vrsn);
    json!({
        "LayerVersionArn": row.arn,
        "Version": arn.version,
        "Description": description,
        "CompatibleRuntimes": python.map(|python| [python.runtime()]),
        "CompatibleArchitectures": python.map(|python| [python.architecture]),
        "CreatedDate": row.crtd_dt,
        "LicenseInfo": row.lcns,
    })
}

/// A version with the address of its bytes, on this server: as clients reach it, or as this client has called it.
fn with_content(found: &(LayerArn, Layer), service: &Service, headers: &HeaderMap) -> Value {
    let mut shown = described(found);
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let called = format!("http://{}", host.unwrap_or_default());
    let base = service.base_url.as_ref().unwrap_or(&called);
    let location = format!("{base}/layers/{}", found.0);
    shown["LayerArn"] = json!(found.0.of_all_versions());
    shown["Content"] = json!({"Location": location, "CodeSha256": found.1.cd_hsh, "CodeSize": found.1.cd_sz});
    shown
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Part {
    compatible_runtime: Option<String>,
    compatible_architecture: Option<String>,
    /// The version after which a list continues.
    marker: Option<i64>,
    max_items: Option<usize>,
}

pub(super) async fn versions(
    State(service): Served,
    Path(name): Path<String>,
    Query(part): Query<Part>,
    headers: HeaderMap,
) -> Answered {
    let (region, layer) = named(&name, &headers)?;
    let mut rows = deployed(&service.runs.app, &region, &layer).await?;
    rows.retain(|(arn, _)| part.marker.is_none_or(|marker| arn.version < marker));
    let mut shown: Vec<Value> = rows.iter().map(described).collect();
    let runtime = part.compatible_runtime.as_deref();
    shown.retain(|one| runtime.is_none() || one["CompatibleRuntimes"][0].as_str() == runtime);
    let architecture = part.compatible_architecture.as_deref();
    shown.retain(|one| architecture.is_none() || one["CompatibleArchitectures"][0].as_str() == architecture);
    let most = part.max_items.unwrap_or(VERSIONS_MAX).clamp(1, VERSIONS_MAX);
    let is_cut = shown.len() > most;
    shown.truncate(most);
    let last = shown.last().filter(|_| is_cut);
    let next = last.map(|last| last["Version"].to_string());
    Ok(Json(json!({"LayerVersions": shown, "NextMarker": next})))
}

pub(super) async fn version(
    State(service): Served,
    Path((name, version)): Path<(String, i64)>,
    headers: HeaderMap,
) -> Answered {
    let (region, layer) = named(&name, &headers)?;
    let rows = deployed(&service.runs.app, &region, &layer).await?;
    let found = rows.iter().find(|(arn, _)| arn.version == version);
    let found = found.or_not_found(format_args!("version {version} of layer {name}"))?;
    Ok(Json(with_content(found, &service, &headers)))
}

pub(super) async fn by_arn(state: Served, Query(asked): Query<Value>, headers: HeaderMap) -> Answered {
    let arn = asked["Arn"].as_str().and_then(LayerArn::parse);
    let arn = arn.ok_or_else(|| app::Error::invalid(BY_ARN))?;
    version(state, Path((arn.of_all_versions(), arn.version)), headers).await
}

pub(super) async fn download(State(service): Served, Path(arn): Path<String>) -> Answer {
    let stored = match LayerArn::parse(&arn) {
        Some(arn) => service.runs.app.layers.read(&arn).await?,
        None => None,
    };
    let stored = stored.or_not_found(format_args!("layer {arn}"))?;
    Ok(([(header::CONTENT_TYPE, "application/zip")], stored).into_response())
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "PascalCase")]
pub(super) struct Published {
    content: Value,
    description: Option<String>,
    compatible_runtimes: Vec<String>,
    compatible_architectures: Vec<String>,
    license_info: Option<String>,
}

/// A layer from elsewhere is a build like any other, deployed to one region.
pub(super) async fn publish(
    State(service): Served,
    Path(name): Path<String>,
    headers: HeaderMap,
    Json(published): Json<Published>,
) -> Result<Response, Refusal> {
    let (region, layer) = named(&name, &headers)?;
    let mut build = published.build(layer)?;
    let app = &service.runs.app;
    let newest = app.newest_build(&build.package, &build.python).await?;
    build.number = newest.map_or(1, |newest| newest.blt_vrsn + 1);
    app.record(&build).await?;
    let Deployed::Latest(arn) = app.deploy(&region, &build).await? else {
        let faster = "another version was published at the same time; publish again";
        return Err(app::Error::Conflict(faster.to_owned()).into());
    };
    let rows = deployed(app, &region, &arn.layer).await?;
    let made = rows.iter().find(|row| row.0 == arn);
    let made = made.map(|found| with_content(found, &service, &headers));
    Ok((StatusCode::CREATED, Json(made)).into_response())
}

impl Published {
    fn build(self, layer: String) -> app::Result<Built> {
        let python = match (&self.compatible_runtimes[..], &self.compatible_architectures[..]) {
            ([runtime], []) => Python::name_of(runtime, "x86_64"),
            ([runtime], [architecture]) => Python::name_of(runtime, architecture),
            _ => None,
        };
        let one = "a layer is for one runtime, such as python3.12, and one architecture: x86_64 or arm64";
        let python = python.ok_or_else(|| app::Error::invalid(one))?;
        let content = self.content["ZipFile"].as_str();
        let content = content.and_then(|text| STANDARD.decode(text).ok());
        let content = content.filter(|content| content.starts_with(b"PK"));
        let no_zip = "Could not unzip uploaded file. Please check your file, then try to upload again.";
        let content = Bytes::from(content.ok_or_else(|| app::Error::invalid(no_zip))?);
        let hash = fingerprint(&content);
        let version = self.description.filter(|text| !text.is_empty());
        let prefix = LayerArn::layer_name("", &python);
        Ok(Built {
            package: layer.strip_prefix(&prefix).unwrap_or(&layer).to_owned(),
            python,
            layer,
            number: 0,
            release: Release {
                version: version.unwrap_or_else(|| hash.chars().take(12).collect()),
                licence: self.license_info,
                ..Release::default()
            },
            hash,
            content: Some(content),
            is_new: true,
            is_forced: true,
        })
    }
}
