//! Rows of effects that a model no longer has. They are removed in the background, a page at a time.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_item::Item;
use trestle_model::{LayoutChange, Model};

use crate::migration::TableProgress;
use crate::stored::{self, Stored};

const PREFIX: &str = "clearing/";

/// What is left to remove, as stored beside the data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The model.
    pub model: String,
    /// The version that had the effects.
    pub version: u64,
    /// How far the removal has come in each table.
    pub tables: Vec<TableProgress>,
}

impl Document {
    /// The removal of all rows that a version left behind.
    pub fn of(stored: &Stored, former: &Model) -> Self {
        let tables = former.tables().iter();
        Document {
            model: stored.name.clone(),
            version: stored.version,
            tables: tables
                .map(|table| TableProgress::new(table.table_name(), 0, 0))
                .collect(),
        }
    }

    /// The name of a model's document.
    pub fn name(model: &str) -> String {
        format!("{PREFIX}{model}")
    }

    /// The document to be stored.
    pub fn to_document(&self) -> Result<(String, Option<Vec<u8>>), Error> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))?;
        Ok((Self::name(&self.model), Some(bytes)))
    }
}

/// Rows that the previous version left behind, and the progress of their removal.
#[derive(Clone, Debug)]
pub struct Clearing {
    /// The progress.
    pub document: Document,
    /// Decides which rows are removed.
    pub leftovers: Leftovers,
}

impl Clearing {
    /// The removal that is necessary when one version follows another; `None` if no rows are left behind.
    /// Rows that move are not.
    pub fn between(
        stored: &Stored,
        former: &Arc<Model>,
        present: &Model,
        layout_change: Option<&LayoutChange>,
    ) -> Option<Self> {
        former
            .leaves_rows_behind(present, layout_change)
            .then(|| Clearing {
                document: Document::of(stored, former),
                leftovers: Leftovers(Arc::clone(former)),
            })
    }
}

/// Distinguishes rows that a version left behind from all others.
#[derive(Clone, Debug)]
pub struct Leftovers(pub Arc<Model>);

impl Leftovers {
    /// Whether a row was left behind.
    #[must_use]
    pub fn has(&self, present: &Model, table: &str, row: &Item) -> bool {
        self.0.left_behind(present, table, row)
    }
}

/// The removals among stored documents, by model.
pub fn read(
    documents: &[(String, Vec<u8>)],
    versions: &[Stored],
) -> Result<BTreeMap<String, Clearing>, Error> {
    let clearings = documents.iter().filter(|(name, _)| name.starts_with(PREFIX));
    clearings
        .map(|(name, bytes)| {
            let document: Document = stored::parse(name, bytes)?;
            let former = former(&document, versions)?;
            let model = document.model.clone();
            let leftovers = Leftovers(former);
            Ok((model, Clearing { document, leftovers }))
        })
        .collect()
}

fn former(document: &Document, versions: &[Stored]) -> Result<Arc<Model>, Error> {
    let Document { model, version, .. } = document;
    let mut versions = versions.iter();
    let stored = versions.find(|stored| stored.name == *model && stored.version == *version);
    let loaded = stored.and_then(|stored| trestle_model::load(&stored.text).model);
    loaded.map(Arc::new).ok_or_else(|| {
        Error::internal(format!(
            "version {version} of model {model}, whose rows are still to be removed, is not stored or does not load; \
             restore the data directory from a backup, or remove the model (`trestle model remove {model} --data DIR`)"
        ))
    })
}
