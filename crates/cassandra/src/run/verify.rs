//! Compares the database with the files, row by row.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use trestle_api::{BatchGetItem, Database, DatabaseExt, Error, KeysAndAttributes, pause_after};
use trestle_item::{Item, codec};

use super::decide::{is_behind_cluster, is_same_row};
use super::misfit::{Collision, shown_key};
use super::reader::{Making, ReadFrom, all_bytes, start};
use super::row::{ImportedRow, RowMaker, fingerprint, read_write_mark};
use super::{Observer, RunError};
use crate::mapping::Plan;

/// DynamoDB's limit for a batch.
const KEYS_MAX: usize = 100;
/// How often keys that the database did not process are requested again.
const ATTEMPTS_MAX: usize = 32;

/// The results of comparing one import.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The Cassandra table.
    pub table: String,
    /// The entity.
    pub entity: String,
    /// Rows in the files.
    pub rows: u64,
    /// Of them, those that are equal in the database.
    pub same: u64,
    /// Those that are newer in the database.
    pub newer: u64,
    /// Those that differ in the database.
    pub different: u64,
    /// Those that are missing in the database.
    pub missing: u64,
    /// Records that do not fit.
    pub unfit: u64,
    /// The sum of the fingerprints of the rows in the files.
    pub checksum_in_source: String,
    /// The sum of the fingerprints of the same rows in the database.
    pub checksum_in_database: String,
}

impl Verified {
    /// Whether every row exists, equal to the one in the files or newer.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.different == 0 && self.missing == 0 && self.same + self.newer == self.rows
    }
}

impl Plan {
    /// Compares each row of the files with the database. Reports each that differs or is missing to the
    /// observer.
    pub async fn verify(
        self: &Arc<Self>,
        db: &dyn Database,
        now_ms: u64,
        observer: &mut dyn Observer,
    ) -> Result<Vec<Verified>, RunError> {
        let making = Making {
            now_ms,
            keeps_times: false,
        };
        let mut found: Vec<(Verified, u64, u64)> = self
            .no_counts()
            .into_iter()
            .map(|counts| {
                let verified = Verified {
                    table: counts.table,
                    entity: counts.entity,
                    ..Verified::default()
                };
                (verified, 0, 0)
            })
            .collect();
        let (all, mut done, mut rows) = (all_bytes(self), 0, 0);
        for batch in start(self, ReadFrom::default(), making)? {
            let batch = batch?;
            let (Some(import), Some((verified, in_source, in_database))) =
                (self.imports.get(batch.import), found.get_mut(batch.import))
            else {
                return Err(Error::defect("a batch is of no import").into());
            };
            let maker = making.maker(self, import)?;
            verified.unfit += batch.misfits.len() as u64;
            for rows in batch.rows.chunks(KEYS_MAX) {
                let stored = read(db, &maker, rows).await?;
                for row in rows {
                    let key = maker.key_of(&row.item);
                    let stored = stored.get(&codec::encode(&key));
                    let in_database_now = stored.map_or(0, |stored| fingerprint(import, stored));
                    let is_same = stored.is_some_and(|stored| is_same_row(import, stored, row));
                    *in_source = in_source.wrapping_add(match is_same {
                        true => in_database_now,
                        false => fingerprint(import, &row.item),
                    });
                    *in_database = in_database.wrapping_add(in_database_now);
                    verified.rows += 1;
                    if let Some(reason) = compare(&maker, row, stored, verified) {
                        observer.collision(&Collision {
                            entity: import.entity.clone(),
                            place: batch.place(self, row),
                            key: shown_key(&key),
                            reason: reason.to_owned(),
                        });
                    }
                }
            }
            done += batch.bytes;
            rows += batch.records;
            observer.progress("verified", done, all, rows);
        }
        let finished = found.into_iter().map(|(mut verified, in_source, in_database)| {
            verified.checksum_in_source = format!("{in_source:016x}");
            verified.checksum_in_database = format!("{in_database:016x}");
            verified
        });
        Ok(finished.collect())
    }
}

/// Counts the result for a row; returns the difference, if there is one.
fn compare(
    maker: &RowMaker<'_>,
    row: &ImportedRow,
    stored: Option<&Item>,
    verified: &mut Verified,
) -> Option<&'static str> {
    let Some(stored) = stored else {
        verified.missing += 1;
        return Some("the row is missing");
    };
    if is_same_row(maker.import, stored, row) {
        verified.same += 1;
        return None;
    }
    let stored_time = read_write_mark(maker.import, stored).map(|(micros, _)| micros);
    let is_newer = row.write_time.is_some() && stored_time > row.write_time;
    if is_newer && !is_behind_cluster(maker.import, stored) {
        verified.newer += 1;
        return None;
    }
    verified.different += 1;
    Some("the row differs from the export")
}

/// The rows of the database with the keys of these rows, by the bytes of their keys.
async fn read(
    db: &dyn Database,
    maker: &RowMaker<'_>,
    rows: &[ImportedRow],
) -> Result<BTreeMap<Vec<u8>, Item>, Error> {
    // Static columns give the same row many times.
    let keys: BTreeMap<Vec<u8>, Item> = rows
        .iter()
        .map(|row| maker.key_of(&row.item))
        .map(|key| (codec::encode(&key), key))
        .collect();
    let mut wanted = BTreeMap::from([(
        maker.import.table_name.clone(),
        KeysAndAttributes {
            keys: keys.into_values().collect(),
            consistent_read: Some(true),
            ..KeysAndAttributes::default()
        },
    )]);
    let mut found = BTreeMap::new();
    for attempt in 0..ATTEMPTS_MAX {
        let get = BatchGetItem {
            request_items: wanted,
            ..BatchGetItem::default()
        };
        let answer = db.batch_get_item(get).await?;
        let stored = answer.responses.into_values().flatten();
        found.extend(stored.map(|row| (codec::encode(&maker.key_of(&row)), row)));
        if answer.unprocessed_keys.is_empty() {
            return Ok(found);
        }
        wanted = answer.unprocessed_keys;
        pause_after(attempt).await;
    }
    Err(Error::internal(
        "the database did not get to all keys of a batch; try again later",
    ))
}
