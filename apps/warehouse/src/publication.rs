//! What `npm publish` sends, read and checked.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256, Sha512};
use trestle::typed::Version;

use crate::{DEFAULT_LOCALE, Error, Result};

/// As npm has it.
const NAME_CHARS_MAX: usize = 214;

/// A version of a package as it is published.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The package.
    pub name: String,
    /// The version.
    pub version: Version,
    /// Its `package.json`, with what npm adds.
    pub manifest: Map<String, Value>,
    /// Tags that are to name the version.
    pub tags: BTreeMap<String, Version>,
    /// Files that came along: their names and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Publication {
    /// Reads the body of a request for this package. What it says of its tarball must be true.
    pub fn read(name: &str, body: &[u8]) -> Result<Self> {
        let body: Value = serde_json::from_slice(body).map_err(Error::invalid)?;
        check_name(name)?;
        if body["name"] != name {
            let named = &body["name"];
            return Err(Error::invalid(format!(
                "{named} is published at the path of {name}"
            )));
        }
        let versions = body["versions"].as_object();
        let mut versions = versions.into_iter().flatten();
        let (Some((version, manifest)), None) = (versions.next(), versions.next()) else {
            return Err(Error::invalid("`versions` must have exactly one version"));
        };
        let version = parse_version(version)?;
        let manifest = manifest.as_object().cloned().unwrap_or_default();
        if manifest.get("name") != Some(&Value::from(name))
            || manifest.get("version") != Some(&version.to_string().into())
        {
            return Err(Error::invalid("the manifest is of another package or version"));
        }
        let publication = Self {
            name: name.to_owned(),
            version,
            manifest,
            tags: tags(&body["dist-tags"])?,
            files: files(&body["_attachments"])?,
        };
        publication.check_integrity()?;
        Ok(publication)
    }

    /// The tarball; a publication has one.
    pub fn tarball(&self) -> Result<&[u8]> {
        match self.files.as_slice() {
            [(_, tarball)] => Ok(tarball),
            _ => Err(Error::invalid("`_attachments` must have exactly one tarball")),
        }
    }

    /// The same for the same content, whichever npm packed it and when.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut digest = Sha256::new();
        let told = |key: &&String| !is_private(key) && *key != "gitHead";
        for key in self.manifest.keys().filter(told) {
            digest.update(format!("{key}={}\n", self.manifest[key]));
        }
        for (name, content) in &self.files {
            digest.update(format!("{name}:{}\n", content.len()));
            digest.update(content);
        }
        hex(&digest.finalize())
    }

    fn check_integrity(&self) -> Result<()> {
        let said = self
            .manifest
            .get("dist")
            .and_then(|dist| dist["integrity"].as_str());
        let said = said.and_then(|text| text.strip_prefix("sha512-"));
        let (Some(said), [(name, content)]) = (said, self.files.as_slice()) else {
            return Ok(());
        };
        match BASE64.encode(Sha512::digest(content)) == said {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "{name} is not what its integrity says; publish it again"
            ))),
        }
    }
}

/// Of a manifest, whether it is to be built. `"build": false`, or none, is a package that others use as it is.
pub(crate) fn is_built(manifest: &Map<String, Value>) -> bool {
    manifest.get("build").is_some_and(|build| build != false)
}

/// Whether a build of this publication in dev is used at once.
pub(crate) fn is_promoted(manifest: &Map<String, Value>) -> bool {
    let told = manifest.get("wrhs").map(|wrhs| &wrhs["autoPromoteOnPublish"]);
    told != Some(&Value::Bool(false))
}

/// The locales that a manifest names, if it names any.
pub(crate) fn locales(manifest: &Map<String, Value>) -> Option<Vec<String>> {
    let named = manifest.get("locales")?.as_array()?;
    Some(
        named
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    )
}

/// The locales of a package: its own, as far as all others have them that name any.
pub(crate) fn common_locales(
    own: Option<Vec<String>>,
    others: impl IntoIterator<Item = Vec<String>>,
) -> Vec<String> {
    let mut common = own.unwrap_or_else(|| vec![DEFAULT_LOCALE.to_owned()]);
    for other in others {
        common.retain(|locale| other.contains(locale));
    }
    if common.is_empty() {
        common.push(DEFAULT_LOCALE.to_owned());
    }
    common.sort();
    common.dedup();
    common
}

/// What of a manifest says nothing of the package.
pub(crate) fn is_private(key: &str) -> bool {
    key.starts_with('_') || key.starts_with("readme") || key == "dist"
}

pub(crate) fn parse_version(text: &str) -> Result<Version> {
    let wrong = |error| Error::invalid(format!("{text:?} is no semantic version: {error}"));
    Version::parse(text).map_err(wrong)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// npm's rules for names, and those of our paths.
fn check_name(name: &str) -> Result<()> {
    let unscoped = match name.strip_prefix('@').map(|scoped| scoped.split_once('/')) {
        None => Some(name),
        Some(Some((scope, name))) if !scope.is_empty() => Some(name),
        Some(_) => None,
    };
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.~@/".contains(c);
    let good =
        |name: &str| !name.is_empty() && !name.contains(['@', '/']) && !name.starts_with(['.', '_', '-']);
    if !unscoped.is_some_and(good) || !name.chars().all(is_plain) || name.len() > NAME_CHARS_MAX {
        return Err(Error::invalid(format!("{name:?} is no name of a package")));
    }
    match crate::api::is_taken(name) {
        true => Err(Error::invalid(format!(
            "{name} is a path of this API; give the package a scope"
        ))),
        false => Ok(()),
    }
}

fn tags(tags: &Value) -> Result<BTreeMap<String, Version>> {
    let tags = tags.as_object().into_iter().flatten();
    tags.map(|(tag, version)| Ok((tag.clone(), parse_version(version.as_str().unwrap_or_default())?)))
        .collect()
}

fn files(attachments: &Value) -> Result<Vec<(String, Vec<u8>)>> {
    let attachments = attachments.as_object().into_iter().flatten();
    let read = |(name, file): (&String, &Value)| {
        let content = BASE64.decode(file["data"].as_str().unwrap_or_default());
        let content = content.map_err(|error| Error::invalid(format!("attachment {name}: {error}")));
        Ok((name.clone(), content?))
    };
    attachments.map(read).collect()
}
