//! Records of the sources: written with a version lock, so that no update overwrites another one.

use std::collections::BTreeMap;

use serde::Deserialize;
use trestle::AttributeValue;

use crate::model::{NewRecord, Record, RecordKey};
use crate::source::{Source, check_id};
use crate::{Catalogue, Error, Result};

/// A source's data about a record, besides its payload. Fields that are left out do not change.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RecordFacts {
    /// Sierra, CALM and TEI: the record was withdrawn.
    pub is_deleted: Option<bool>,
    /// METS: when the file was made, in milliseconds.
    pub created_date: Option<i64>,
    /// Miro: whether the image may be shown.
    #[serde(rename = "isClearedForCatalogueAPI")]
    pub is_cleared: Option<bool>,
    /// Miro: what happened to the image.
    pub events: Option<Vec<String>>,
    /// Miro: what editors decided.
    pub overrides: Option<BTreeMap<String, String>>,
}

impl RecordFacts {
    fn apply(self, row: &mut Record) {
        let events = |events: Vec<String>| events.into_iter().map(AttributeValue::from).collect();
        row.is_deleted = self.is_deleted.or(row.is_deleted);
        row.created_date = self.created_date.or(row.created_date);
        row.is_cleared_for_catalogue_api = self.is_cleared.or(row.is_cleared_for_catalogue_api);
        row.events = self.events.map(events).or(row.events.take());
        let overrides = self.overrides.map(|map| map.into_iter().collect());
        row.overrides = overrides.or(row.overrides.take());
    }
}

impl Catalogue {
    /// A record's row.
    pub async fn record(&self, source: Source, id: &str) -> Result<Record> {
        let own = self.db.record(id).await?.filter(|row| row.source_name == source);
        own.ok_or_else(|| Error::not_found(format!("record {id} of {source}")))
    }

    /// Stores a payload, then the next version of its record. The previous version's payload stays, because a
    /// message in the queue may refer to it.
    pub async fn put_record(
        &self,
        source: Source,
        id: &str,
        facts: RecordFacts,
        payload: Vec<u8>,
    ) -> Result<Record> {
        check_id(source, id)?;
        let key = format!("{source}/{id}/{}", trestle::ids::uuid());
        let location = self.setup.objects.put(&key, payload).await?;
        let change = |row: &mut Record| {
            row.location = Some((&location).into());
            facts.clone().apply(row);
        };
        self.write_record(source, id, change).await
    }

    /// Marks a record as withdrawn. Its row stays, so that every pipeline gets the change.
    pub async fn withdraw(&self, source: Source, id: &str) -> Result<Record> {
        self.record(source, id).await?;
        let change = |row: &mut Record| row.is_deleted = Some(true);
        self.write_record(source, id, change).await
    }

    /// Writes the next version of a row. The database sets its reindex version.
    async fn write_record(&self, source: Source, id: &str, change: impl Fn(&mut Record)) -> Result<Record> {
        let shard = self.setup.shards.of(source, id);
        self.track(&shard).await?;
        let next = |row: Option<Record>| {
            let (id, source_name, version) = (id.to_owned(), source, 0);
            let new = || NewRecord {
                id,
                source_name,
                version,
            };
            let mut row = row.unwrap_or_else(|| new().into());
            if row.source_name != source {
                let reason = format!(
                    "{} is a record of {}; an id is of one source",
                    row.id, row.source_name
                );
                return Err(Error::Conflict(reason));
            }
            change(&mut row);
            row.reindex_shard = Some(shard.clone());
            Ok(row)
        };
        self.db.change(RecordKey::new(id), Record::VERSION, next).await?;
        self.record(source, id).await
    }
}
