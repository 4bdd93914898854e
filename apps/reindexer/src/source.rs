//! The sources, and a record in messages: the location of its payload, never the payload itself.

use serde::Deserialize;
use trestle::app::ObjectLocation;

pub use crate::model::RecordSourceName as Source;
use crate::{Error, Result};

/// A record as transformers receive it: the message contains what they need of its row.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SourcePayload {
    /// The record's id.
    pub id: String,
    /// The source.
    pub source_name: Source,
    /// The version of the record.
    pub version: i64,
    /// The location of the payload.
    pub location: ObjectLocation,
    /// Sierra, CALM and TEI: the record was withdrawn.
    #[serde(default)]
    pub is_deleted: bool,
    /// Miro: whether the image may be shown.
    #[serde(rename = "isClearedForCatalogueAPI")]
    pub is_cleared: Option<bool>,
}

/// Refuses an id that its source cannot have: that of a Sierra record has seven digits.
pub fn check_id(source: Source, id: &str) -> Result<()> {
    let is_sierra = id.len() == 7 && id.bytes().all(|byte| byte.is_ascii_digit());
    let why = match source {
        Source::Sierra if !is_sierra => {
            "Sierra id: those have seven digits, without a prefix and a check digit"
        }
        _ if id.is_empty() || id.contains(char::is_whitespace) => "id: it is empty or has spaces",
        _ => return Ok(()),
    };
    Err(Error::Invalid(format!("{id:?} is no {why}")))
}
