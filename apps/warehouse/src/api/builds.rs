//! Builds, heads, release lines and how far builds are.

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trestle::app::shown;
use trestle::typed::Version;

use super::{Answer, App, InEnv, OfVersion, Package, Part, page};
use crate::assets::url_of;
use crate::model::{Build, BuildHead};
use crate::publication::parse_version;
use crate::{DEFAULT_LOCALE, ENVS, Env, Error, Moved, Publication, Result, Service, Spec, locales_to_try};

/// The longest filter of files.
const FILTER_CHARS_MAX: usize = 50;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    locale: Option<String>,
    #[serde(default)]
    filter: String,
}

impl Wanted {
    fn locale(&self) -> &str {
        self.locale.as_deref().unwrap_or(DEFAULT_LOCALE)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HeadsOf {
    name: String,
    env: Option<Env>,
    locale: Option<String>,
}

/// `build=true` is what happens anyway where there is no build.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Promotion {
    from: Option<Version>,
    #[serde(default)]
    #[allow(dead_code, reason = "clients send them")]
    build: Option<bool>,
    #[serde(default)]
    #[allow(dead_code, reason = "clients send them")]
    promote: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RollBack {
    to: Option<Version>,
}

impl Service {
    /// A build in a locale, or in the nearest one that there is.
    async fn found(&self, spec: &Spec, locale: &str) -> Result<Build> {
        for locale in locales_to_try(locale) {
            if let Some(build) = self.db.build(spec.build(locale)).await? {
                return Ok(build);
            }
        }
        Err(Error::not_found(format!("build of {spec} in {locale}")))
    }
}

/// The URLs of a build: of the files that it recommends, or of all.
fn urls(build: &Build) -> Vec<String> {
    let files = match build.recommended.is_empty() {
        true => &build.artifacts,
        false => &build.recommended,
    };
    let base = build.cdn_url.as_deref().unwrap_or_default();
    files.iter().map(|file| url_of(base, file)).collect()
}

async fn files_of(app: &Service, spec: Spec, wanted: Wanted) -> Answer {
    if wanted.filter.chars().count() > FILTER_CHARS_MAX {
        return Err(Error::invalid(format!("a filter has at most {FILTER_CHARS_MAX} characters")));
    }
    let mut files = urls(&app.found(&spec, wanted.locale()).await?);
    files.retain(|url| url.contains(&wanted.filter));
    shown(json!({ "files": files }))
}

pub(super) async fn files(State(app): App, Path((name, env, version)): OfVersion, Query(wanted): Query<Wanted>) -> Answer {
    files_of(&app, Spec::new(name, env, version), wanted).await
}

pub(super) async fn files_in_use(State(app): App, Path((name, env)): InEnv, Query(wanted): Query<Wanted>) -> Answer {
    let spec = app.spec_in_use(&name, env, None).await?;
    files_of(&app, spec, wanted).await
}

async fn build_of(app: &Service, spec: Spec, wanted: Wanted) -> Answer {
    let build = app.found(&spec, wanted.locale()).await?;
    let files = urls(&build);
    let mut shown_build = json!(build);
    shown_build["files"] = json!(files);
    shown(shown_build)
}

pub(super) async fn build(State(app): App, Path((name, env, version)): OfVersion, Query(wanted): Query<Wanted>) -> Answer {
    build_of(&app, Spec::new(name, env, version), wanted).await
}

/// The head: with what it took the place of, and when the environment went back.
pub(super) async fn build_in_use(State(app): App, Path((name, env)): InEnv, Query(wanted): Query<Wanted>) -> Answer {
    let heads = app.head(&name, env).await?.build_head;
    let mut tried = locales_to_try(wanted.locale()).into_iter();
    let head = tried.find_map(|locale| heads.iter().find(|head| head.locale == locale));
    let missing = || Error::not_found(format!("build of {name} in {env}"));
    let head = head.ok_or_else(missing)?;
    shown(shown_head(&app, head, env).await?)
}

async fn shown_head(app: &Service, head: &BuildHead, env: Env) -> Result<Value> {
    let spec = Spec::new(head.name.clone(), env, head.version.clone());
    let build = app.found(&spec, &head.locale).await?;
    let mut shown = json!(head);
    shown["files"] = json!(urls(&build));
    let mut back: Map<String, Value> = Map::new();
    if let Some(Value::Object(imported)) = shown.get("rollbackBuildIds") {
        back.extend(imported.clone());
    }
    let rolled = app.rollback_build_ids(&head.name, env, &head.locale).await?;
    back.extend(rolled.into_iter().map(|(at, from)| (at, from.into())));
    shown["rollbackBuildIds"] = back.into();
    Ok(shown)
}

pub(super) async fn heads(State(app): App, Query(asked): Query<HeadsOf>) -> Answer {
    let mut found = Vec::new();
    for env in ENVS.into_iter().filter(|env| asked.env.is_none_or(|asked| asked == *env)) {
        for head in app.head(&asked.name, env).await?.build_head {
            if asked.locale.as_ref().is_none_or(|locale| *locale == head.locale) {
                found.push(shown_head(&app, &head, env).await?);
            }
        }
    }
    shown(found)
}

pub(super) async fn list(State(app): App, Query(part): Query<Part>) -> Answer {
    let rows = app.db.builds().page_size(part.rows());
    page(rows.continued(part.after).page().await?)
}

pub(super) async fn meta(State(app): App, Path((name, version)): Path<(String, Version)>) -> Answer {
    let mut envs = Map::new();
    for env in ENVS {
        let spec = Spec::new(name.clone(), env, version.clone());
        let Ok(build) = app.found(&spec, DEFAULT_LOCALE).await else {
            continue;
        };
        let mut build = json!(build);
        if let Some(build) = build.as_object_mut() {
            build.retain(|key, _| !["name", "env", "version"].contains(&key.as_str()));
        }
        envs.insert(env.to_string(), build);
    }
    match envs.is_empty() {
        true => Err(Error::not_found(format!("build of {name}@{version}"))),
        false => shown(json!({ "name": name, "version": version.to_string(), "envs": envs })),
    }
}

pub(super) async fn add(
    State(app): App,
    Path((name, env)): InEnv,
    Query(wanted): Query<Wanted>,
    body: Bytes,
) -> Result<StatusCode> {
    let publication = Publication::read(&name, &body)?;
    let spec = Spec::new(name, env, publication.version.clone());
    app.add_built(&spec, wanted.locale(), &publication).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn promote(
    State(app): App,
    Path((name, env, version)): OfVersion,
    Query(promotion): Query<Promotion>,
) -> Result<StatusCode> {
    let spec = Spec::new(name, env, version);
    match app.promote(&spec, promotion.from.as_ref(), true).await? {
        Moved::Building => Ok(StatusCode::ACCEPTED),
        Moved::Moved | Moved::Unchanged => Ok(StatusCode::NO_CONTENT),
    }
}

pub(super) async fn roll_back(State(app): App, Path((name, env)): InEnv, Query(asked): Query<RollBack>) -> Answer {
    let version = app.rollback(&name, env, asked.to).await?;
    shown(json!({ "name": name, "env": env, "version": version.to_string() }))
}

pub(super) async fn history(State(app): App, Path((name, env)): InEnv) -> Answer {
    shown(app.moves(&name, env).await?)
}

async fn shown_line(app: &Service, name: &str, version: Option<Version>) -> Answer {
    let (line, dependents) = app.line(name, version).await?;
    let dependents = dependents.into_iter();
    let dependents: Map<String, Value> = dependents
        .map(|dep| (dep.dependent, dep.dependent_version.to_string().into()))
        .collect();
    let mut line = json!(line);
    line["dependents"] = dependents.into();
    shown(line)
}

pub(super) async fn line(State(app): App, Path((name, version)): Path<(String, String)>) -> Answer {
    let version = match version.as_str() {
        "latest" => None,
        version => Some(parse_version(version)?),
    };
    shown_line(&app, &name, version).await
}

pub(super) async fn latest_line(State(app): App, Path(name): Package) -> Answer {
    shown_line(&app, &name, None).await
}

pub(super) async fn status(State(app): App, Path((name, env, version)): OfVersion) -> Answer {
    shown(app.status(&Spec::new(name, env, version)).await?.0)
}

pub(super) async fn latest_status(State(app): App, Path((name, env)): InEnv) -> Answer {
    shown(app.status(&app.latest_spec(&name, env, None).await?).await?.0)
}

/// How far each environment is that something was begun in.
pub(super) async fn latest_statuses(State(app): App, Path(name): Package) -> Answer {
    let mut found = Vec::new();
    for env in ENVS {
        let Some(head) = app.db.status_head(env.status_head(&name)).await? else {
            continue;
        };
        let (status, progress) = app.status(&Spec::new(name.clone(), env, head.version)).await?;
        let mut status = json!(status);
        status["progress"] = progress.progress.into();
        status["count"] = progress.count.into();
        found.push(status);
    }
    shown(found)
}

pub(super) async fn events(State(app): App, Path((name, env, version)): OfVersion) -> Answer {
    shown(app.events(&Spec::new(name, env, version)).await?)
}

pub(super) async fn latest_events(State(app): App, Path((name, env)): InEnv) -> Answer {
    shown(app.events(&app.latest_spec(&name, env, None).await?).await?)
}

pub(super) async fn progress(State(app): App, Path((name, env, version)): OfVersion) -> Answer {
    shown(app.status(&Spec::new(name, env, version)).await?.1)
}

pub(super) async fn latest_progress(State(app): App, Path((name, env)): InEnv) -> Answer {
    shown(app.status(&app.latest_spec(&name, env, None).await?).await?.1)
}
