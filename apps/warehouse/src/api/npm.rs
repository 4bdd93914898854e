//! What the client of npm asks for.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use trestle::app::shown;

use super::{Answer, App, Package};
use crate::publication::{hex, parse_version};
use crate::{ENVS, Error, Outcome, Publication, Result, Spec};

/// The header that says for which environment `latest` is meant.
const ENVIRONMENT: &str = "registry-environment";

/// There are no accounts: whoever reaches this server may publish.
pub(super) async fn whoami() -> Answer {
    shown(json!({ "username": "warehouse" }))
}

pub(super) async fn publish(State(app): App, Path(name): Package, body: Bytes) -> Answer {
    let publication = Publication::read(&name, &body)?;
    let status = match app.publish(&publication).await? {
        Outcome::Created => StatusCode::CREATED,
        Outcome::Unchanged => StatusCode::OK,
    };
    Ok((status, Json(json!({ "ok": true, "id": name }))).into_response())
}

pub(super) async fn packument(State(app): App, Path(name): Package, headers: HeaderMap) -> Answer {
    let asked = headers.get(ENVIRONMENT).and_then(|value| value.to_str().ok());
    let env = ENVS.into_iter().find(|env| Some(env.as_str()) == asked);
    let text = app.packument(&name, env).await?.to_string();
    let tag = format!("\"{}\"", hex(&Sha256::digest(&text)));
    if headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known == tag.as_str())
    {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
    }
    let kind = (CONTENT_TYPE, "application/json".to_owned());
    Ok(([kind, (ETAG, tag)], text).into_response())
}

pub(super) async fn tarball(State(app): App, Path((name, file)): Path<(String, String)>) -> Answer {
    let content = app.tarball(&name, &file).await?;
    Ok(([(CONTENT_TYPE, "application/octet-stream")], content).into_response())
}

pub(super) async fn tags(State(app): App, Path(name): Package) -> Answer {
    let not_here = |_| Error::not_found(format!("package '{name}' in the registry"));
    let package = app.package(&name).await.map_err(not_here)?;
    let tags = package.dist_tags.unwrap_or_default();
    let texts = tags
        .iter()
        .filter_map(|(tag, version)| Some((tag, version.as_s()?)));
    shown(texts.collect::<std::collections::BTreeMap<_, _>>())
}

/// `latest` is a tag and no more. The others are environments: they use the version then.
pub(super) async fn tag(
    State(app): App,
    Path((name, tag)): Path<(String, String)>,
    Json(version): Json<Value>,
) -> Answer {
    let version = parse_version(version.as_str().unwrap_or_default())?;
    check(&tag)?;
    match ENVS.into_iter().find(|env| env.as_str() == tag) {
        Some(env) => drop(
            app.promote(&Spec::new(name, env, version.clone()), None, true)
                .await?,
        ),
        None => app.tag(&name, &tag, &version).await?,
    }
    Ok((StatusCode::CREATED, Json(json!({ tag: version.to_string() }))).into_response())
}

pub(super) async fn untag(State(app): App, Path((name, tag)): Path<(String, String)>) -> Result<StatusCode> {
    check(&tag)?;
    app.untag(&name, &tag).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn check(tag: &str) -> Result<()> {
    match ["latest", "prod", "test", "dev"].contains(&tag) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{tag} is none of the tags latest, prod, test and dev"
        ))),
    }
}
