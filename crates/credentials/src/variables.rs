//! Environment variables.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// The variables that sources read.
const NAMES: [&str; 23] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_CA_BUNDLE",
    "AWS_CONFIG_FILE",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_DEFAULT_PROFILE",
    "AWS_DEFAULT_REGION",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE",
    "AWS_ENDPOINT_URL_STS",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "HOME",
    // Of Windows.
    "USERPROFILE",
];

/// The variables at the time when the source was created; an empty one counts as not set.
#[derive(Clone, Default)]
pub(crate) struct Variables(BTreeMap<&'static str, String>);

impl Variables {
    pub(crate) fn of(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = NAMES.into_iter().filter_map(|name| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            Some((name, value))
        });
        Variables(set.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(NAMES.contains(&name), "{name} is not read");
        self.0.get(name).map(String::as_str)
    }

    /// A file that a variable names, or one in the directory `.aws` of the user.
    pub(crate) fn file(&self, name: &str, in_home: &str) -> Option<PathBuf> {
        if let Some(path) = self.get(name) {
            return Some(self.expand(path));
        }
        Some(self.home()?.join(".aws").join(in_home))
    }

    /// Expands `~` in a path to the user's directory.
    pub(crate) fn expand(&self, path: &str) -> PathBuf {
        match (path.strip_prefix("~/"), self.home()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(path),
        }
    }

    fn home(&self) -> Option<PathBuf> {
        let home = self.get("HOME").or_else(|| self.get("USERPROFILE"))?;
        Some(PathBuf::from(home))
    }
}

impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The values may be secrets.
        f.debug_set().entries(self.0.keys()).finish()
    }
}
