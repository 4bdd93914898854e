//! The object of a build: a version of a package, for an environment.

use std::fmt;

use serde::{Deserialize, Serialize};
use trestle::typed::Version;

use crate::Env;

/// The locale of packages that name none.
pub const DEFAULT_LOCALE: &str = "en-US";

/// A version of a package for an environment, in all its locales.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The package; in paths of the API it is `pkg`.
    #[serde(alias = "pkg")]
    pub name: String,
    /// The environment.
    pub env: Env,
    /// The version.
    pub version: Version,
}

impl Spec {
    /// Package, environment and version.
    pub fn new(name: impl Into<String>, env: Env, version: Version) -> Self {
        let name = name.into();
        Self { name, env, version }
    }

    /// The id of the build in a locale.
    #[must_use]
    pub fn build_id(&self, locale: &str) -> String {
        format!("{}!{}!{}!{locale}", self.name, self.env, self.version)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{} in {}", self.name, self.version, self.env)
    }
}

/// The locales in which a build is searched, the best first: `es-MX`, then `es`, then `en-US`.
#[must_use]
pub fn locales_to_try(locale: &str) -> [&str; 3] {
    let language = locale.split('-').next().unwrap_or(locale);
    [locale, language, DEFAULT_LOCALE]
}
