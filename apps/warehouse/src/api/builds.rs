//! Builds, heads, release lines and how far builds are.

use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trestle::app::shown;
use trestle::typed::Version;

use super::{Answer, App, Part, page};
use crate::assets::url_of;
use crate::model::{Build, BuildHead};
use crate::publication::parse_version;
use crate::{DEFAULT_LOCALE, ENVS, Env, Error, Moved, Publication, Result, Service, Spec, locales_to_try};

/// The longest filter of files.
const FILTER_CHARS_MAX: usize = 50;

/// What a path names. Without a version, it is the one in use or the one that was begun last.
#[derive(Deserialize)]
pub(super) struct Named {
    pkg: String,
    env: Env,
    version: Option<Version>,
}

impl Named {
    /// The version that is named, or the one in use.
    async fn in_use(self, app: &Service) -> Result<Spec> {
        let version = match self.version {
            Some(version) => Some(version),
            None => app
                .head(&self.pkg, self.env)
                .await?
                .release
                .map(|release| release.version),
        };
        let missing = || Error::not_found(format!("build of {} in {}", self.pkg, self.env));
        let version = version.ok_or_else(missing)?;
        Ok(Spec::new(self.pkg, self.env, version))
    }
}

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

/// Clients also send `build` and `promote`, which change nothing here.
#[derive(Deserialize)]
pub(super) struct Promotion {
    from: Option<Version>,
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

pub(super) async fn files(State(app): App, Path(named): Path<Named>, Query(wanted): Query<Wanted>) -> Answer {
    if wanted.filter.chars().count() > FILTER_CHARS_MAX {
        let most = format!("a filter has at most {FILTER_CHARS_MAX} characters");
        return Err(Error::invalid(most));
    }
    let spec = named.in_use(&app).await?;
    let mut files = urls(&app.found(&spec, wanted.locale()).await?);
    files.retain(|url| url.contains(&wanted.filter));
    shown(json!({ "files": files }))
}

pub(super) async fn build(State(app): App, Path(named): Path<Named>, Query(wanted): Query<Wanted>) -> Answer {
    let (env, is_head) = (named.env, named.version.is_none());
    let spec = named.in_use(&app).await?;
    let build = app.found(&spec, wanted.locale()).await?;
    if is_head {
        let heads = app.head(&spec.name, env).await?.build_head;
        if let Some(head) = heads.iter().find(|head| head.locale == build.locale) {
            return shown(shown_head(&app, head, env).await?);
        }
    }
    let mut found = json!(build);
    found["files"] = json!(urls(&build));
    shown(found)
}

/// A head: with what it took the place of, and when the environment went back.
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
    let envs = asked.env.map_or(ENVS.to_vec(), |env| vec![env]);
    for env in envs {
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
    Path(Named { pkg, env, .. }): Path<Named>,
    Query(wanted): Query<Wanted>,
    body: Bytes,
) -> Result<StatusCode> {
    let publication = Publication::read(&pkg, &body)?;
    let spec = Spec::new(pkg, env, publication.version.clone());
    app.add_built(&spec, wanted.locale(), &publication).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn promote(
    State(app): App,
    Path(named): Path<Named>,
    Query(promotion): Query<Promotion>,
) -> Result<StatusCode> {
    let spec = named.in_use(&app).await?;
    match app.promote(&spec, promotion.from.as_ref(), true).await? {
        Moved::Building => Ok(StatusCode::ACCEPTED),
        Moved::Moved | Moved::Unchanged => Ok(StatusCode::NO_CONTENT),
    }
}

pub(super) async fn roll_back(
    State(app): App,
    Path(Named { pkg, env, .. }): Path<Named>,
    Query(asked): Query<RollBack>,
) -> Answer {
    let version = app.rollback(&pkg, env, asked.to).await?;
    shown(json!({ "name": pkg, "env": env, "version": version.to_string() }))
}

pub(super) async fn history(State(app): App, Path(Named { pkg, env, .. }): Path<Named>) -> Answer {
    shown(app.moves(&pkg, env).await?)
}

/// The line of a version, or `latest`: the one that was begun last.
#[derive(Deserialize)]
pub(super) struct LineOf {
    pkg: String,
    version: Option<String>,
}

pub(super) async fn line(State(app): App, Path(LineOf { pkg, version }): Path<LineOf>) -> Answer {
    let version = version.filter(|version| version != "latest");
    let version = version.map(|version| parse_version(&version)).transpose()?;
    let (line, dependents) = app.line(&pkg, version).await?;
    let of = |dep: crate::model::ReleaseLineDep| (dep.dependent, dep.dependent_version.to_string().into());
    let mut line = json!(line);
    line["dependents"] = dependents
        .into_iter()
        .map(of)
        .collect::<Map<String, Value>>()
        .into();
    shown(line)
}

pub(super) async fn status(State(app): App, Path(Named { pkg, env, version }): Path<Named>) -> Answer {
    let spec = app.latest_spec(&pkg, env, version).await?;
    shown(app.status(&spec).await?.0)
}

pub(super) async fn events(State(app): App, Path(Named { pkg, env, version }): Path<Named>) -> Answer {
    let spec = app.latest_spec(&pkg, env, version).await?;
    shown(app.events(&spec).await?)
}

pub(super) async fn progress(State(app): App, Path(Named { pkg, env, version }): Path<Named>) -> Answer {
    let spec = app.latest_spec(&pkg, env, version).await?;
    shown(app.status(&spec).await?.1)
}
