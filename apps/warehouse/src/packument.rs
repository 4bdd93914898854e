//! What npm asks for: everything there is of a package.

use serde_json::{Map, Value, json};

use crate::model::{Published, Version as VersionRow};
use crate::publish::manifest;
use crate::{Env, Error, Result, Service};

impl Service {
    /// A package with all its versions, as npm reads it. For an environment, `latest` is the version that its tag names.
    pub async fn packument(&self, name: &str, env: Option<Env>) -> Result<Value> {
        let Published { package, version } = self.db.published(name).consistent().gather().await?;
        let package = package.ok_or_else(|| Error::not_found(format!("package {name}")))?;
        let tags = package.dist_tags.unwrap_or_default();
        let mut tags: Map<String, Value> = tags
            .iter()
            .filter_map(|(tag, version)| Some((tag.to_owned(), version.as_s()?.into())))
            .collect();
        if let Some(version) = env.and_then(|env| tags.get(env.as_str()).cloned()) {
            tags.insert("latest".to_owned(), version);
        }
        let mut versions = Map::new();
        let mut times = Map::new();
        for row in &version {
            versions.insert(row.version.to_string(), self.described(row)?);
            let created = row.created_at.as_ref().map(ToString::to_string);
            times.insert(row.version.to_string(), created.into());
        }
        Ok(json!({
            "_id": name,
            "name": name,
            "description": package.description,
            "dist-tags": tags,
            "versions": versions,
            "time": times,
        }))
    }

    /// The manifest of a version, with the URL of its tarball here.
    fn described(&self, row: &VersionRow) -> Result<Value> {
        let mut manifest = manifest(row)?;
        let (name, version) = (&row.name, &row.version);
        let file = name.rsplit('/').next().unwrap_or(name);
        let path = name.replace('/', "%2f");
        let url = format!("{}/{path}/-/{file}-{version}.tgz", self.setup.base_url);
        let dist = manifest.entry("dist").or_insert_with(|| json!({}));
        if let Some(dist) = dist.as_object_mut() {
            dist.insert("tarball".to_owned(), url.into());
        }
        Ok(Value::Object(manifest))
    }

    /// The tarball of a version, by the name of its file.
    pub async fn tarball(&self, name: &str, file: &str) -> Result<Vec<u8>> {
        let missing = || Error::not_found(format!("tarball {file} of {name}"));
        let unscoped = name.rsplit('/').next().unwrap_or(name);
        let version = file
            .strip_prefix(unscoped)
            .and_then(|rest| rest.strip_prefix('-'));
        let version = version
            .and_then(|rest| rest.strip_suffix(".tgz"))
            .ok_or_else(missing)?;
        let version = version.parse().map_err(|_| missing())?;
        let row = self.db.version(name, version).await?.ok_or_else(missing)?;
        self.tarball_of(&row).await?.ok_or_else(missing)
    }

    /// The tarball of a version, its own or the one that it shares.
    pub(crate) async fn tarball_of(&self, row: &VersionRow) -> Result<Option<Vec<u8>>> {
        let origin = match &row.tarball_of {
            Some(origin) => self.db.version(&row.name, origin.clone()).await?,
            None => None,
        };
        match &origin.as_ref().unwrap_or(row).tarball {
            Some(tarball) => Ok(Some(self.db.read_large(tarball).await?)),
            None => Ok(None),
        }
    }
}
