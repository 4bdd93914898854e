//! Models as stored beside the data: one document for each version.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_env::Timestamp;

/// The prefix of the documents of all versions of models.
pub const PREFIX: &str = "model/";

/// One version of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The model's name.
    pub name: String,
    /// Counted from 1.
    pub version: u64,
    /// When it was applied.
    pub applied: Timestamp,
    /// Whether existing rows have all derived attributes and rows.
    pub filled_in: bool,
    /// Entities whose heads were set under an earlier version: a fill does not move them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads_made: Vec<String>,
    /// The model file.
    pub text: String,
}

impl Stored {
    /// The name of its document. Versions are padded, so that documents sort by version.
    pub fn document(&self) -> String {
        format!("{PREFIX}{}/{:08}", self.name, self.version)
    }

    /// Its document, to be stored.
    pub fn to_document(&self) -> Result<(String, Option<Vec<u8>>), Error> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))?;
        Ok((self.document(), Some(bytes)))
    }
}

/// Every version of every model among stored documents, in the order of names and versions.
pub fn read(documents: Vec<(String, Vec<u8>)>) -> Result<Vec<Stored>, Error> {
    let documents = documents.into_iter();
    let models = documents.filter(|(name, _)| name.starts_with(PREFIX));
    models.map(|(name, bytes)| parse(&name, &bytes)).collect()
}

/// The newest version of each model, in the order of names.
pub fn newest(all: Vec<Stored>) -> Vec<Stored> {
    let mut newest: BTreeMap<String, Stored> = BTreeMap::new();
    for stored in all {
        let known = newest.get(&stored.name);
        if known.is_none_or(|known| known.version < stored.version) {
            newest.insert(stored.name.clone(), stored);
        }
    }
    newest.into_values().collect()
}

/// Parses a stored document.
pub fn parse<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::internal(format!(
            "the stored document {name} cannot be read: {error}; the data directory is damaged, or was written by a newer \
             version of Trestle"
        ))
    })
}
