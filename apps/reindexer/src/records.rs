//! Records of the sources: written with a version lock, so that no update is lost to a reindex or to another update.

use trestle::typed::Held as _;
use trestle::{AttributeValue, Map};

use crate::model::{NewRecord, Record, RecordKey, UpdateRecord};
use crate::source::{Source, check_id};
use crate::{Catalogue, Error, Location, Result};

/// How often a write is tried while others write the same record.
const TRIES: usize = 20;

/// What a source says about a record, besides its payload.
#[derive(Clone, Debug, Default, serde::Deserialize)]
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
    pub overrides: Option<std::collections::BTreeMap<String, String>>,
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
        for _ in 0..TRIES {
            let seen = self.db.record(id).await?;
            if let Some(other) = seen.as_ref().filter(|row| row.source_name != source) {
                let theirs = other.source_name;
                return Err(Error::Conflict(format!(
                    "{id} is a record of {theirs}; ids are of one source"
                )));
            }
            let version = seen.as_ref().map_or(1, |row| row.version + 1);
            // The name is not taken again: two that write the same version must not share a payload.
            let key = format!("{source}/{id}/{version}-{}", trestle::ids::uuid());
            let location = self.objects.put(&key, payload.clone()).await?;
            let written = match seen {
                None => self.insert(source, id, &facts, &location).await?,
                Some(seen) => self.update(&seen, version, &facts, &location).await?,
            };
            if let Some(row) = written {
                return Ok(row);
            }
        }
        Err(Error::Conflict(format!(
            "record {id} changes all the time; try again"
        )))
    }

    /// Marks a record as withdrawn. Its row stays, so that every pipeline hears of it.
    pub async fn withdraw(&self, source: Source, id: &str) -> Result<Record> {
        for _ in 0..TRIES {
            let seen = self.record(source, id).await?;
            let update = self.next_version(&seen).set_is_deleted(true);
            if let Some(row) = update.await.held()? {
                return Ok(row);
            }
        }
        Err(Error::Conflict(format!(
            "record {id} changes all the time; try again"
        )))
    }

    async fn insert(
        &self,
        source: Source,
        id: &str,
        facts: &RecordFacts,
        location: &Location,
    ) -> Result<Option<Record>> {
        let mut row = Record::from(NewRecord {
            id: id.to_owned(),
            source_name: source,
            version: 1,
        });
        row.reindex_shard = Some(self.shards.of(source, id));
        row.reindex_version = Some(0);
        row.location = Some(location.to_map());
        row.is_deleted = facts.is_deleted;
        row.created_date = facts.created_date;
        row.is_cleared_for_catalogue_api = facts.is_cleared;
        row.events = facts.events.clone().map(texts);
        row.overrides = facts.overrides.clone().map(|map| map.into_iter().collect());
        self.note_shard(&row).await?;
        Ok(self.db.put(&row).if_not_exists().await.held()?.map(|()| row))
    }

    async fn update(
        &self,
        seen: &Record,
        version: i64,
        facts: &RecordFacts,
        location: &Location,
    ) -> Result<Option<Record>> {
        debug_assert_eq!(version, seen.version + 1);
        let facts = facts.clone();
        let overrides = facts.overrides.map(|map| map.into_iter().collect::<Map>());
        let update = self.next_version(seen).set_location(location.to_map());
        let update = update.when(facts.is_deleted, |update, is| update.set_is_deleted(is));
        let update = update.when(facts.created_date, |update, date| update.set_created_date(date));
        let update = update.when(facts.is_cleared, |update, is| {
            update.set_is_cleared_for_catalogue_api(is)
        });
        let update = update.when(facts.events, |update, events| update.set_events(texts(events)));
        let update = update.when(overrides, |update, overrides| update.set_overrides(overrides));
        Ok(update.await.held()?)
    }

    /// An update that holds only if the record still has the version that was seen, and gives it the next one.
    pub(crate) fn next_version(&self, seen: &Record) -> UpdateRecord<'_> {
        let update = self.db.update_record(RecordKey::new(&seen.id));
        let update = update.set_version(seen.version + 1);
        update.only_if(Record::VERSION.equals(seen.version))
    }
}

fn texts(list: Vec<String>) -> Vec<AttributeValue> {
    list.into_iter().map(AttributeValue::from).collect()
}
