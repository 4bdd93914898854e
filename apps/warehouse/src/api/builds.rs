//! Builds, heads, release lines and the progress of builds.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::routing::{get, patch, post};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trestle::app::{ListPart, OrNotFound as _, Routes, shown, url_below};
use trestle::typed::Version;

use super::{Answer, App};
use crate::model::{BuildHead, ReleaseHistory};
use crate::publication::parse_version;
use crate::{Begun, DEFAULT_LOCALE, Env, Error, Publication, Result, Service, Spec, locales_to_try};

type Done = Result<StatusCode>;

/// The longest filter of files.
const FILTER_CHARS_MAX: usize = 50;

pub(super) fn routes() -> Routes<Arc<Service>> {
    vec![
        ("/assets/files/{pkg}/{env}[/{version}]", get(files)),
        ("/builds", get(list)),
        ("/builds/-/head", get(heads)),
        ("/builds/-/meta/{pkg}/{version}", get(meta)),
        ("/builds/{pkg}/{env}", get(build).put(add)),
        ("/builds/{pkg}/{env}/{version}", get(build).patch(promote)),
        ("/builds/{pkg}/{env}/-/history", get(history)),
        ("/promote/{pkg}/{env}/{version}", patch(promote)),
        ("/rollback/{pkg}/{env}", post(roll_back)),
        ("/release-line/{pkg}[/{version}]", get(line)),
        ("/status/{pkg}/{env}[/{version}]", get(status)),
        ("/status-events/{pkg}/{env}[/{version}]", get(events)),
        ("/progress/{pkg}/{env}[/{version}]", get(progress)),
    ]
}

/// The parameters of a path. Without a version, it is the one in use or the one that was begun last.
#[derive(Deserialize)]
struct Named {
    pkg: String,
    env: Env,
    version: Option<Version>,
}

impl Named {
    /// The build, or the head if no version is given, in a locale or the nearest one, with its files.
    async fn found(self, app: &Service, locale: Option<&str>) -> Result<Value> {
        let Named { pkg, env, version } = self;
        let locale = locale.unwrap_or(DEFAULT_LOCALE);
        let locales = locales_to_try(locale);
        if let Some(version) = version {
            let spec = Spec::new(pkg, env, version);
            let build = app.build_in(&spec, &locales).await?;
            let found = build.or_not_found(format_args!("build of {spec} in {locale}"));
            return found.map(with_files);
        }
        let head = app.head(&pkg, env).await?;
        let head_in = |locale: &&str| head.build_head.iter().find(|head| head.locale == *locale);
        let found = locales.iter().find_map(head_in);
        let found = found.or_not_found(format_args!("build of {pkg} in {env} and in {locale}"))?;
        Ok(shown_head(found, &head.release_history))
    }

    async fn begun(self, app: &Service) -> Result<Begun> {
        let Named { pkg, env, version } = self;
        let found = app.begun(&pkg, env, version).await?;
        found.or_not_found(format_args!("status of {pkg} in {env}"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    locale: Option<String>,
    #[serde(default)]
    filter: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadsOf {
    name: String,
    env: Option<Env>,
    locale: Option<String>,
}

/// Clients also send `build` and `promote`, which have no effect here.
#[derive(Deserialize)]
struct Promotion {
    from: Option<Version>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RollBack {
    to: Option<Version>,
}

/// A build or a head with the URLs of its recommended files, or of all.
fn with_files(build: impl Serialize) -> Value {
    let mut shown = json!(build);
    let files = shown["recommended"].as_array().or(shown["artifacts"].as_array());
    let base = shown["cdnUrl"].as_str().unwrap_or_default();
    let files = files.into_iter().flatten().filter_map(Value::as_str);
    shown["files"] = files.map(|file| url_below(base, file)).collect();
    shown
}

/// A head: with its predecessor, and the time of a rollback.
fn shown_head(head: &BuildHead, moves: &[ReleaseHistory]) -> Value {
    let mut shown = with_files(head);
    let mut back = shown["rollbackBuildIds"].as_object().cloned().unwrap_or_default();
    for moved in moves.iter().filter(|moved| moved.from > moved.version) {
        let left = moved.from.clone();
        let left = left.map(|from| Spec::new(&head.name, head.env, from).build_id(&head.locale));
        back.insert(moved.moved.to_string(), left.into());
    }
    shown["rollbackBuildIds"] = back.into();
    shown
}

async fn files(State(app): App, Path(named): Path<Named>, Query(wanted): Query<Wanted>) -> Answer {
    if wanted.filter.chars().count() > FILTER_CHARS_MAX {
        let most = format!("a filter has at most {FILTER_CHARS_MAX} characters");
        return Err(Error::invalid(most));
    }
    let found = named.found(&app, wanted.locale.as_deref()).await?;
    let files = found["files"].as_array().into_iter().flatten();
    let files = files.filter(|url| url.as_str().is_some_and(|url| url.contains(&wanted.filter)));
    shown(json!({ "files": files.collect::<Vec<_>>() }))
}

async fn build(State(app): App, Path(named): Path<Named>, Query(wanted): Query<Wanted>) -> Answer {
    shown(named.found(&app, wanted.locale.as_deref()).await?)
}

async fn heads(State(app): App, Query(asked): Query<HeadsOf>) -> Answer {
    let mut found = Vec::new();
    for env in asked.env.as_ref().map_or(Env::ALL, std::slice::from_ref) {
        let head = app.head(&asked.name, *env).await?;
        let is_meant = |head: &&BuildHead| asked.locale.as_ref().is_none_or(|locale| *locale == head.locale);
        let heads = head.build_head.iter().filter(is_meant);
        found.extend(heads.map(|build| shown_head(build, &head.release_history)));
    }
    shown(found)
}

async fn list(State(app): App, Query(part): Query<ListPart>) -> Answer {
    part.of(app.db.builds()).await
}

async fn meta(State(app): App, Path((name, version)): Path<(String, Version)>) -> Answer {
    let mut envs = Map::new();
    for env in Env::ALL {
        let spec = Spec::new(&name, *env, version.clone());
        let builds = app.builds(&spec).await?;
        let best = builds.iter().find(|build| build.locale == DEFAULT_LOCALE);
        if let Some(Value::Object(mut build)) = best.or(builds.first()).map(|build| json!(build)) {
            build.retain(|key, _| !["name", "env", "version"].contains(&key.as_str()));
            envs.insert(env.to_string(), build.into());
        }
    }
    match envs.is_empty() {
        true => Err(Error::not_found(format!("build of {name}@{version}"))),
        false => shown(json!({ "name": name, "version": version, "envs": envs })),
    }
}

async fn add(State(app): App, Path(at): Path<Named>, Query(wanted): Query<Wanted>, body: Bytes) -> Done {
    let publication = Publication::read(&at.pkg, &body)?;
    let spec = Spec::new(at.pkg, at.env, publication.version.clone());
    let locale = wanted.locale.as_deref().unwrap_or(DEFAULT_LOCALE);
    app.add_built(&spec, locale, &publication).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn promote(State(app): App, Path(spec): Path<Spec>, Query(asked): Query<Promotion>) -> Done {
    match app.promote(&spec, asked.from.as_ref(), true).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Ok(StatusCode::ACCEPTED),
    }
}

async fn roll_back(State(app): App, Path(at): Path<Named>, Query(asked): Query<RollBack>) -> Answer {
    let version = app.rollback(&at.pkg, at.env, asked.to).await?;
    shown(Spec::new(at.pkg, at.env, version))
}

async fn history(State(app): App, Path(at): Path<Named>) -> Answer {
    let mut moves = app.head(&at.pkg, at.env).await?.release_history;
    moves.reverse();
    shown(moves)
}

/// The line of a version, or `latest`: the one that was begun last.
#[derive(Deserialize)]
struct LineOf {
    pkg: String,
    version: Option<String>,
}

async fn line(State(app): App, Path(LineOf { pkg, version }): Path<LineOf>) -> Answer {
    let version = version.filter(|version| version != "latest");
    let version = version.map(|version| parse_version(&version)).transpose()?;
    shown(app.line(&pkg, version).await?)
}

async fn status(State(app): App, Path(named): Path<Named>) -> Answer {
    shown(named.begun(&app).await?.status)
}

async fn events(State(app): App, Path(named): Path<Named>) -> Answer {
    shown(named.begun(&app).await?.events)
}

async fn progress(State(app): App, Path(named): Path<Named>) -> Answer {
    shown(named.begun(&app).await?.progress)
}
