//! What npm asks for: all data of a package.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use trestle::app::OrNotFound as _;

use crate::model::{Package, Published, Version as VersionRow};
use crate::publish::manifest;
use crate::{Env, Result, Service};

impl Service {
    /// A package with all its versions, in npm's form. For an environment, `latest` is the version that its
    /// tag names.
    pub async fn packument(&self, name: &str, env: Option<Env>) -> Result<Value> {
        let Published { package, version } = self.db.published(name).gather().await?;
        let package = package.or_not_found(format_args!("package {name}"))?;
        let mut tags = tags(&package);
        if let Some(version) = env.and_then(|env| tags.get(env.as_str()).copied()) {
            tags.insert("latest", version);
        }
        let (mut versions, mut times) = (Map::new(), Map::new());
        for row in &version {
            versions.insert(row.version.to_string(), self.described(row)?);
            let created = row.created_at.as_ref().map(ToString::to_string);
            times.insert(row.version.to_string(), created.into());
        }
        Ok(
            json!({ "_id": name, "name": name, "description": package.description,
            "dist-tags": tags, "versions": versions, "time": times }),
        )
    }

    /// The manifest of a version, with the URL of its tarball here. An imported version has none here, and
    /// keeps its URL.
    fn described(&self, row: &VersionRow) -> Result<Value> {
        let mut manifest = manifest(row)?;
        if row.tarball.is_some() || row.tarball_of.is_some() {
            let (path, file) = (row.name.replace('/', "%2f"), unscoped(&row.name));
            let url = format!("{}/{path}/-/{file}-{}.tgz", self.setup.base_url, row.version);
            let dist = manifest.get("dist").and_then(Value::as_object);
            let mut dist = dist.cloned().unwrap_or_default();
            dist.insert("tarball".to_owned(), url.into());
            manifest.insert("dist".to_owned(), dist.into());
        }
        Ok(manifest.into())
    }

    /// The tarball of a version, by the name of its file.
    pub async fn tarball(&self, name: &str, file: &str) -> Result<Vec<u8>> {
        let version = file.strip_prefix(unscoped(name));
        let version = version.and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".tgz")?.parse().ok());
        let version = version.or_not_found(format_args!("tarball {file} of {name}"))?;
        self.tarball_of(&self.published(name, &version).await?).await
    }

    /// The tarball of a version, its own or a shared one.
    pub(crate) async fn tarball_of(&self, row: &VersionRow) -> Result<Vec<u8>> {
        let (name, version) = (&row.name, row.tarball_of.as_ref().unwrap_or(&row.version));
        let tarball = self.published(name, version).await?.tarball;
        let tarball = tarball.or_not_found(format_args!("tarball of {name}@{version}"))?;
        Ok(self.db.read_large(&tarball).await?)
    }
}

/// The tags of a package and the versions that they name.
pub(crate) fn tags(package: &Package) -> BTreeMap<&str, &str> {
    let tags = package.dist_tags.iter();
    tags.filter_map(|(tag, version)| Some((tag.as_str(), version.as_s()?)))
        .collect()
}

fn unscoped(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
