//! From a payload to a work: one transformer for each source, in two versions.
//!
//! Version 1 uses texts unchanged. Version 2 knows the punctuation that catalogues put between the fields of
//! a title, and adds subjects: a change after which every record has to be transformed again.

mod json;
mod xml;

use serde::{Deserialize, Serialize};

use crate::source::{Source, SourcePayload};
use crate::{Error, Result};

/// The existing versions of the transformers.
pub const TRANSFORMERS: std::ops::RangeInclusive<i64> = 1..=2;

/// Whether a work is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It is found by searches.
    Visible,
    /// Its source does not want it shown, or only as part of another work.
    Invisible,
    /// Its source has withdrawn it.
    Deleted,
}

/// A work of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// The record of the work.
    pub id: String,
    /// The source of the record.
    pub source: Source,
    /// The version of the record.
    pub version: i64,
    /// The version of the transformer.
    pub transformer: i64,
    /// Whether it is visible.
    pub kind: Kind,
    /// What it says.
    #[serde(flatten)]
    pub text: WorkText,
}

/// The content of a work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkText {
    /// The title.
    pub title: String,
    /// A description.
    pub description: String,
    /// People and bodies.
    pub contributors: Vec<String>,
    /// Its subjects; since version 2.
    pub subjects: Vec<String>,
}

/// The content of a payload, and whether its source wants it hidden.
type Read = std::result::Result<(WorkText, bool), String>;

/// The work of a payload, by this version of the transformers.
pub fn transform(transformer: i64, record: &SourcePayload, payload: &[u8]) -> Result<Work> {
    let (id, source) = (record.id.clone(), record.source_name);
    let read = match source {
        Source::Sierra => json::sierra(payload),
        Source::Miro => json::miro(payload),
        Source::Calm => json::calm(payload),
        Source::Mets => xml::mets(payload),
        Source::Tei => xml::tei(payload),
    };
    let unusable = |reason| Error::Invalid(format!("the payload of {id} cannot be transformed: {reason}"));
    let (mut text, is_suppressed) = read.map_err(unusable)?;
    if text.title.trim().is_empty() {
        return Err(unusable("it has no title".to_owned()));
    }
    if transformer < 2 {
        text.subjects.clear();
    } else {
        text.title = without_punctuation(&text.title);
        for name in &mut text.contributors {
            *name = without_punctuation(name);
        }
    }
    let kind = match record.is_cleared {
        _ if record.is_deleted => Kind::Deleted,
        Some(false) => Kind::Invisible,
        _ if is_suppressed => Kind::Invisible,
        _ => Kind::Visible,
    };
    Ok(Work {
        id,
        source,
        version: record.version,
        transformer,
        kind,
        text,
    })
}

/// MARC and its relatives end a title with ` /` and a name with `,` where another field follows.
fn without_punctuation(text: &str) -> String {
    text.trim_end_matches([' ', '/', ':', ';', ',']).to_owned()
}
