//! Records of the sources: written with a version lock, so that no update is lost to a reindex or to another update.

use std::collections::BTreeMap;

use serde::Deserialize;
use trestle::AttributeValue;
use trestle::typed::Held as _;

use crate::model::{NewRecord, Record};
use crate::source::{Source, check_id};
use crate::{Catalogue, Error, Result};

/// How often a write is tried while others write the same record.
const TRIES: usize = 20;

/// What a source says about a record, besides its payload. What it leaves out stays as it was.
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
        let found = self.db.record(id).await?;
        let own = found.filter(|row| row.source_name == source);
        own.ok_or_else(|| Error::NotFound(format!("record {id} of {source}")))
    }

    /// Stores a payload, then the next version of its record. The payload of the version before stays where it is: a
    /// message that is under way may name it.
    pub async fn put_record(
        &self,
        source: Source,
        id: &str,
        facts: RecordFacts,
        payload: Vec<u8>,
    ) -> Result<Record> {
        check_id(source, id)?;
        let key = format!("{source}/{id}/{}", trestle::ids::uuid());
        let location = self.objects.put(&key, payload).await?;
        for _ in 0..TRIES {
            let mut row = match self.db.record(id).await? {
                None => Record::from(NewRecord {
                    id: id.to_owned(),
                    source_name: source,
                    version: 0,
                }),
                Some(row) if row.source_name == source => row,
                Some(row) => {
                    let reason = format!("{id} is a record of {}; an id is of one source", row.source_name);
                    return Err(Error::Conflict(reason));
                }
            };
            row.location = Some(location.to_map());
            facts.clone().apply(&mut row);
            if self.put_next(&mut row).await? {
                return Ok(row);
            }
        }
        Err(Error::busy(id))
    }

    /// Marks a record as withdrawn. Its row stays, so that every pipeline gets the change.
    pub async fn withdraw(&self, source: Source, id: &str) -> Result<Record> {
        for _ in 0..TRIES {
            let mut row = self.record(source, id).await?;
            row.is_deleted = Some(true);
            if self.put_next(&mut row).await? {
                return Ok(row);
            }
        }
        Err(Error::busy(id))
    }

    /// Writes the next version of a row, if it still has the version that was seen. Says whether it had.
    async fn put_next(&self, row: &mut Record) -> Result<bool> {
        let seen = row.version;
        row.version += 1;
        row.reindex_shard = Some(self.shards.of(row.source_name, &row.id));
        row.reindex_version.get_or_insert(0);
        self.note_shard(row).await?;
        let put = match seen {
            0 => self.db.put(&*row).if_not_exists(),
            seen => self.db.put(&*row).only_if(Record::VERSION.equals(seen)),
        };
        Ok(put.await.held()?.is_some())
    }
}
