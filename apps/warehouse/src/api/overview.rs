//! Everything that a page shows of a package, in one answer.

use axum::extract::{Path, State};
use serde_json::{Map, Value, json};
use trestle::app::shown;

use super::{Answer, App, Package};
use crate::{ENVS, Env, Error, Result, Service};

pub(super) async fn overview(State(app): App, Path(name): Package) -> Answer {
    let published = app.db.published(&name).gather().await?;
    let package = published
        .package
        .ok_or_else(|| Error::not_found(format!("package {name}")))?;
    let mut envs = Map::new();
    for env in ENVS {
        envs.insert(env.to_string(), environment(&app, &name, env).await?);
    }
    let versions: Vec<String> = published
        .version
        .iter()
        .rev()
        .map(|row| row.version.to_string())
        .collect();
    let graph = app.graph(&name).await?;
    shown(json!({ "package": package, "versions": versions, "envs": envs, "graph": graph }))
}

/// What an environment uses, what it used, and how far its last build is.
async fn environment(app: &Service, name: &str, env: Env) -> Result<Value> {
    let head = app.head(name, env).await?;
    let locales: Vec<&str> = head.build_head.iter().map(|head| head.locale.as_str()).collect();
    let mut shown =
        json!({ "release": head.release, "locales": locales, "moves": app.moves(name, env).await? });
    match app.latest_spec(name, env, None).await {
        Err(Error::NotFound(_)) => {}
        spec => {
            let spec = spec?;
            let (status, progress) = app.status(&spec).await?;
            shown["build"] =
                json!({ "status": status, "progress": progress, "events": app.events(&spec).await? });
        }
    }
    Ok(shown)
}
