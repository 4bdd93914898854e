//! What the client of npm asks for.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use axum::routing::{get, put};
use serde_json::json;
use trestle::app::{Routes, shown, shown_unless_known};
use trestle::typed::Version;

use super::{Answer, App, Package};
use crate::packument::tags as tags_of;
use crate::{Env, Error, Publication, Result, Service, Spec};

/// The header with the environment that `latest` refers to.
const ENVIRONMENT: &str = "registry-environment";

/// A package, and a file or a tag of it.
type Part = Path<(String, String)>;

pub(super) fn routes() -> Routes<Arc<Service>> {
    let tagged = put(tag).post(tag).delete(untag);
    vec![
        ("/-/ping", get(async || Json(json!({})))),
        ("/-/whoami", get(whoami)),
        ("/{pkg}", get(packument).put(publish)),
        ("/{pkg}/-/{file}", get(tarball)),
        ("/-/package/{pkg}/dist-tags", get(tags)),
        ("/-/package/{pkg}/dist-tags/{tag}", tagged),
    ]
}

/// There are no accounts: every client that reaches this server may publish.
async fn whoami() -> Answer {
    shown(json!({ "username": "warehouse" }))
}

async fn publish(State(app): App, Path(name): Package, body: Bytes) -> Answer {
    let publication = Publication::read(&name, &body)?;
    let status = match app.publish(&publication).await? {
        true => StatusCode::CREATED,
        false => StatusCode::OK,
    };
    Ok((status, Json(json!({ "ok": true, "id": name }))).into_response())
}

async fn packument(State(app): App, Path(name): Package, headers: HeaderMap) -> Answer {
    let asked = headers.get(ENVIRONMENT).and_then(|value| value.to_str().ok());
    let env = asked.and_then(|env| env.parse().ok());
    shown_unless_known(&headers, app.packument(&name, env).await?)
}

async fn tarball(State(app): App, Path((name, file)): Part) -> Answer {
    let content = app.tarball(&name, &file).await?;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], content).into_response())
}

async fn tags(State(app): App, Path(name): Package) -> Answer {
    shown(tags_of(&app.package(&name).await?))
}

/// `latest` is only a tag. The others are environments: they use the version then.
async fn tag(State(app): App, Path((name, tag)): Part, Json(version): Json<Version>) -> Answer {
    match env_of(&tag)? {
        Some(env) => {
            let spec = Spec::new(name, env, version.clone());
            app.promote(&spec, None, true).await?;
        }
        None => app.tag(&name, &tag, &version).await?,
    }
    Ok((StatusCode::CREATED, Json(json!({ tag: version }))).into_response())
}

async fn untag(State(app): App, Path((name, tag)): Part) -> Result<StatusCode> {
    env_of(&tag)?;
    app.untag(&name, &tag).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The environment of a tag, or none for `latest`.
fn env_of(tag: &str) -> Result<Option<Env>> {
    let none = format!("{tag} is none of the tags latest, prod, test and dev");
    match tag.parse() {
        Ok(env) => Ok(Some(env)),
        Err(_) if tag == "latest" => Ok(None),
        Err(_) => Err(Error::Invalid(none)),
    }
}
