//! Everything that a page shows of a package, in one answer.

use axum::extract::{Path, State};
use serde_json::{Map, Value, json};
use trestle::app::{OrNotFound as _, shown};

use super::{Answer, App, Package};
use crate::{Env, Result, Service};

pub(super) async fn overview(State(app): App, Path(name): Package) -> Answer {
    let published = app.db.published(&name).gather().await?;
    let package = published.package.or_not_found(format_args!("package {name}"))?;
    let mut envs = Map::new();
    for env in Env::ALL {
        envs.insert(env.to_string(), environment(&app, &name, *env).await?);
    }
    let versions: Vec<_> = published.version.iter().rev().map(|row| &row.version).collect();
    let graph = app.graph(&name).await?;
    shown(json!({ "package": package, "versions": versions, "envs": envs, "graph": graph }))
}

/// The version in use in an environment, previous ones, and the progress of its last build.
async fn environment(app: &Service, name: &str, env: Env) -> Result<Value> {
    let head = app.head(name, env).await?;
    let locales: Vec<&str> = head.build_head.iter().map(|head| head.locale.as_str()).collect();
    let moves: Vec<_> = head.release_history.iter().rev().collect();
    let build = app.begun(name, env, None).await?;
    Ok(json!({ "release": head.release, "locales": locales, "moves": moves, "build": build }))
}
