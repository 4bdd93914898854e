//! The body of `npm publish`, parsed and checked.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha512};
use trestle::app::fingerprint;
use trestle::typed::Version;

use crate::model::{NewVersion, StatusPromote, Version as VersionRow};
use crate::{Error, File, Result};

/// npm's limit.
const NAME_CHARS_MAX: usize = 214;

/// A `package.json`.
pub type Manifest = Map<String, Value>;

/// A version of a package as it is published.
#[derive(Clone, Debug)]
pub struct Publication {
    /// The package.
    pub name: String,
    /// The version.
    pub version: Version,
    /// Its `package.json`, with what npm adds.
    pub manifest: Manifest,
    /// Tags that are to name the version.
    pub tags: BTreeMap<String, Version>,
    /// The attached files.
    pub files: Vec<File>,
}

/// The body of the request.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    name: String,
    versions: BTreeMap<String, Manifest>,
    #[serde(rename = "dist-tags")]
    tags: BTreeMap<String, String>,
    #[serde(rename = "_attachments")]
    attachments: BTreeMap<String, Attachment>,
}

#[derive(Deserialize)]
struct Attachment {
    data: String,
}

impl Publication {
    /// Files with this manifest, tagged as the latest.
    pub fn new(manifest: Manifest, files: Vec<File>) -> Result<Self> {
        let text = |key| manifest.get(key).and_then(Value::as_str).unwrap_or_default();
        let (name, version) = (text("name").to_owned(), parse_version(text("version"))?);
        Ok(Self {
            tags: BTreeMap::from([("latest".to_owned(), version.clone())]),
            name,
            version,
            manifest,
            files,
        })
    }

    /// Reads the body of a request for this package. Its statements about the tarball must be true.
    pub fn read(name: &str, body: &[u8]) -> Result<Self> {
        let body: Body = serde_json::from_slice(body).map_err(Error::invalid)?;
        check_name(name)?;
        if body.name != name {
            let other = format!("{} is published at the path of {name}", body.name);
            return Err(Error::Invalid(other));
        }
        let mut versions = body.versions.into_iter();
        let (Some((version, manifest)), None) = (versions.next(), versions.next()) else {
            return Err(Error::invalid("`versions` must have exactly one version"));
        };
        let file = |(name, file): (String, Attachment)| match BASE64.decode(file.data) {
            Ok(content) => Ok(File { name, content }),
            Err(error) => Err(Error::invalid(format!("attachment {name}: {error}"))),
        };
        let files = body.attachments.into_iter().map(file);
        let mut publication = Self::new(manifest, files.collect::<Result<_>>()?)?;
        if publication.name != name || publication.version != parse_version(&version)? {
            return Err(Error::invalid("the manifest is of another package or version"));
        }
        let tags = body.tags.into_iter();
        let tags = tags.map(|(tag, version)| Ok((tag, parse_version(&version)?)));
        publication.tags = tags.collect::<Result<_>>()?;
        publication.check_integrity()?;
        Ok(publication)
    }

    /// The tarball; a publication has one.
    pub fn tarball(&self) -> Result<&[u8]> {
        match self.files.as_slice() {
            [tarball] => Ok(&tarball.content),
            _ => Err(Error::invalid("`_attachments` must have exactly one tarball")),
        }
    }

    /// The same for the same content, whatever npm packed it and when.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut told = self.manifest.clone();
        told.retain(|key, _| !is_private(key) && key != "gitHead");
        let mut content = Value::Object(told).to_string().into_bytes();
        for file in &self.files {
            content.extend(format!("\n{}:{}\n", file.name, file.content.len()).bytes());
            content.extend(&file.content);
        }
        fingerprint(&content)
    }

    /// The row of the version, without its tarball.
    pub(crate) fn row(&self) -> VersionRow {
        let mut told = self.manifest.clone();
        // It is in the tarball, and may be long.
        told.retain(|key, _| !key.starts_with("readme"));
        let new = NewVersion {
            name: self.name.clone(),
            version: self.version.clone(),
            value: Value::Object(told).to_string(),
        };
        new.into()
    }

    fn check_integrity(&self) -> Result<()> {
        let dist = self.manifest.get("dist");
        let said = dist.and_then(|dist| dist["integrity"].as_str());
        let said = said.and_then(|text| text.strip_prefix("sha512-"));
        match (said, self.files.as_slice()) {
            (Some(said), [file]) if BASE64.encode(Sha512::digest(&file.content)) != said => {
                let untrue = format!("{} is not what its integrity says", file.name);
                Err(Error::invalid(format!("{untrue}; publish it again")))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a manifest asks for a build. A package with `"build": false`, or without `build`, is used
/// unchanged.
pub(crate) fn is_built(manifest: &Manifest) -> bool {
    manifest.get("build").is_some_and(|build| build != false)
}

/// Whether a build of this publication in dev is used immediately.
pub(crate) fn promotion(manifest: &Manifest) -> StatusPromote {
    match manifest.get("wrhs").map(|wrhs| &wrhs["autoPromoteOnPublish"]) {
        Some(Value::Bool(false)) => StatusPromote::No,
        _ => StatusPromote::Newer,
    }
}

/// Fields of a manifest that do not describe the package.
pub(crate) fn is_private(key: &str) -> bool {
    key.starts_with('_') || key.starts_with("readme") || key == "dist"
}

pub(crate) fn parse_version(text: &str) -> Result<Version> {
    let wrong = |error| Error::invalid(format!("{text:?} is no semantic version: {error}"));
    Version::parse(text).map_err(wrong)
}

/// npm's rules for names, and those of this API's paths.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.~".contains(c);
    let is_good =
        |part: &str| !part.is_empty() && !part.starts_with(['.', '_', '-']) && part.chars().all(is_plain);
    let (scope, own) = match name.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').unwrap_or_default(),
        None => ("none", name),
    };
    if !is_good(scope) || !is_good(own) || name.len() > NAME_CHARS_MAX {
        return Err(Error::invalid(format!("{name:?} is no name of a package")));
    }
    let taken = format!("{name} is a path of this API; give the package a scope");
    match crate::api::is_taken(name) {
        true => Err(Error::Invalid(taken)),
        false => Ok(()),
    }
}
