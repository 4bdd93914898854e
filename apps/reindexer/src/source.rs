//! The sources, and a record of one as it travels: where its payload lies, never the payload itself.

use serde::{Deserialize, Serialize};
use trestle::{Map, plain_json};

use crate::model::Record;
pub use crate::model::RecordSourceName as Source;
use crate::{Error, Result};

/// Every source. Miro is last: the original merges its images into works of the others, which must be there first.
pub const SOURCES: [Source; 5] = [
    Source::Sierra,
    Source::Mets,
    Source::Calm,
    Source::Tei,
    Source::Miro,
];

/// Where a payload lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The bucket, or the directory.
    pub bucket: String,
    /// The object's key.
    pub key: String,
}

impl Location {
    pub(crate) fn to_map(&self) -> Map {
        Map::from([("bucket", self.bucket.as_str()), ("key", self.key.as_str())])
    }

    fn of(map: &Map) -> Option<Self> {
        let text = |name: &str| Some(map.get(name)?.as_s()?.to_owned());
        Some(Self {
            bucket: text("bucket")?,
            key: text("key")?,
        })
    }
}

/// A record as a message to transformers, in the shape that its source has in the original.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourcePayload {
    /// The record's id.
    pub id: String,
    /// The source.
    pub source: Source,
    /// Which version of the record this is.
    pub version: i64,
    /// Where the payload lies.
    pub location: Location,
    /// Sierra, CALM and TEI: the record was withdrawn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_deleted: bool,
    /// METS: when the file was made, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_date: Option<i64>,
    /// Miro: whether the image may be shown.
    #[serde(
        default,
        rename = "isClearedForCatalogueAPI",
        skip_serializing_if = "Option::is_none"
    )]
    pub is_cleared: Option<bool>,
    /// Miro: what editors decided, such as another license.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub overrides: serde_json::Value,
}

impl TryFrom<Record> for SourcePayload {
    type Error = Error;

    fn try_from(row: Record) -> Result<Self> {
        let location = row.location.as_ref().and_then(Location::of);
        let location = location.ok_or_else(|| Error::Payload {
            id: row.id.clone(),
            reason: "its row names no location with bucket and key".to_owned(),
        })?;
        let overrides = row.overrides.map(|map| plain_json(&map));
        Ok(Self {
            id: row.id,
            source: row.source_name,
            version: row.version,
            location,
            is_deleted: row.is_deleted.unwrap_or(false),
            created_date: row.created_date,
            is_cleared: row.is_cleared_for_catalogue_api,
            overrides: overrides.unwrap_or_default(),
        })
    }
}

/// Refuses an id that its source cannot have: that of a Sierra record has seven digits.
pub fn check_id(source: Source, id: &str) -> Result<()> {
    let is_sierra = id.len() == 7 && id.bytes().all(|byte| byte.is_ascii_digit());
    match source {
        Source::Sierra if !is_sierra => Err(Error::Invalid(format!(
            "{id:?} is no Sierra id: those have seven digits, without a prefix and a check digit"
        ))),
        _ if id.is_empty() || id.contains(char::is_whitespace) => Err(Error::Invalid(format!(
            "{id:?} is no id: it is empty or has spaces"
        ))),
        _ => Ok(()),
    }
}
