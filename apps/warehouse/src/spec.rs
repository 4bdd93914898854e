//! What is built: a version of a package, for an environment.

use std::fmt;

use serde::{Deserialize, Serialize};
use trestle::typed::Version;

use crate::model::{
    BuildWhere, BuildsOfVersionWhere, HeadWhere, ReleaseKey, StatusHeadWhere, StatusKey, StatusWhere,
};

/// The locale of packages that name none.
pub const DEFAULT_LOCALE: &str = "en-US";

/// An environment: what a build is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "their names say it")]
pub enum Env {
    Dev,
    Test,
    Prod,
}

/// All environments, in the order of promotions.
pub const ENVS: [Env; 3] = [Env::Dev, Env::Test, Env::Prod];

impl Env {
    /// As it is written in rows and URLs.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Env::Dev => "dev",
            Env::Test => "test",
            Env::Prod => "prod",
        }
    }

    pub(crate) fn head(self, name: &str) -> HeadWhere<'_> {
        let env = self.as_str();
        HeadWhere { name, env }
    }

    pub(crate) fn release(self, name: &str) -> ReleaseKey {
        ReleaseKey {
            name: name.to_owned(),
            env: self.to_string(),
        }
    }

    pub(crate) fn status_head(self, pkg: &str) -> StatusHeadWhere<'_> {
        let env = self.as_str();
        StatusHeadWhere { pkg, env }
    }
}

impl fmt::Display for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A version of a package for an environment, in all its locales.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The package.
    pub name: String,
    /// The environment.
    pub env: Env,
    /// The version.
    pub version: Version,
}

impl Spec {
    /// The three of them.
    pub fn new(name: impl Into<String>, env: Env, version: Version) -> Self {
        let name = name.into();
        Self { name, env, version }
    }

    /// The id of the build in a locale.
    #[must_use]
    pub fn build_id(&self, locale: &str) -> String {
        format!("{}!{}!{}!{locale}", self.name, self.env, self.version)
    }

    pub(crate) fn builds(&self) -> BuildsOfVersionWhere<'_> {
        BuildsOfVersionWhere {
            name: &self.name,
            env: self.env.as_str(),
            version: self.version.clone(),
        }
    }

    pub(crate) fn build<'s>(&'s self, locale: &'s str) -> BuildWhere<'s> {
        BuildWhere {
            name: &self.name,
            env: self.env.as_str(),
            version: self.version.clone(),
            locale,
        }
    }

    pub(crate) fn status(&self) -> StatusWhere<'_> {
        StatusWhere {
            pkg: &self.name,
            env: self.env.as_str(),
            version: self.version.clone(),
        }
    }

    pub(crate) fn status_key(&self) -> StatusKey {
        StatusKey {
            pkg: self.name.clone(),
            env: self.env.to_string(),
            version: self.version.clone(),
        }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{} in {}", self.name, self.version, self.env)
    }
}

/// The locales in which a build is looked for, the best first: `es-MX`, then `es`, then `en-US`.
#[must_use]
pub fn locales_to_try(locale: &str) -> Vec<&str> {
    let language = locale.split('-').next().unwrap_or(locale);
    let mut locales = vec![locale, language, DEFAULT_LOCALE];
    locales.dedup();
    locales
}
