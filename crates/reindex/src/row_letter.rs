//! Dead letters of rows, with the reason.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item, codec, key as key_bytes, size};

use crate::plan::id_of_key;
use crate::state_table::{StateTable, key, number, text};
use crate::work_item::KEYS_MAX;

/// A dead letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RowLetter {
    /// Its key.
    pub key: Item,
    /// The complete row as it was then; `None` if it is too large for a dead letter, or does not exist.
    pub row: Option<Item>,
    /// The reason, in the words of the database or the target.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
    /// The time of the last attempt, in milliseconds since 1970.
    pub at: u64,
}

/// The largest row that fits into a dead letter: an item of 400 KiB holds the reason, too.
const ROW_BYTES_MAX: usize = 380 * 1024;
/// The longest reason that is stored, in characters.
const REASON_MAX: usize = 2_000;

/// The place of the dead letters of a reindex.
pub(crate) fn letters_of(job: &str) -> String {
    format!("dead#{job}")
}

/// The row's key, in a form that distinguishes it from others.
pub(crate) fn row_id(row_key: &Item) -> String {
    let mut bytes = codec::encode(row_key);
    let first = key_bytes::hash(&bytes);
    bytes.push(0);
    format!("{first:016x}{:016x}", key_bytes::hash(&bytes))
}

impl RowLetter {
    /// The id of the row, in the form of [`Reindex::key_of_id`](crate::Reindex::key_of_id).
    #[must_use]
    pub fn id(&self) -> String {
        id_of_key(&self.key)
    }

    pub(crate) fn new(key: Item, row: Option<Item>, reason: &str, attempts: u32, at: Timestamp) -> Self {
        Self {
            key,
            row: row.filter(|row| size::of_item(row) <= ROW_BYTES_MAX),
            reason: reason.chars().take(REASON_MAX).collect(),
            attempts,
            at: at.as_millis(),
        }
    }

    fn stored(&self, job: &str) -> Item {
        let mut stored = key(&letters_of(job), &row_id(&self.key));
        stored.insert("key", self.key.clone());
        stored.insert("reason", self.reason.as_str());
        stored.insert("attempts", u64::from(self.attempts));
        stored.insert("at", self.at);
        if let Some(row) = &self.row {
            stored.insert("row", row.clone());
        }
        stored
    }

    fn read(mut stored: Item) -> Result<Self, Error> {
        let missing = || Error::defect("a dead letter of a reindex has no key");
        let Some(AttributeValue::M(key)) = stored.remove("key") else {
            return Err(missing());
        };
        let row = match stored.remove("row") {
            Some(AttributeValue::M(row)) => Some(row),
            _ => None,
        };
        Ok(Self {
            key,
            row,
            reason: text(&stored, "reason").unwrap_or_default().to_owned(),
            attempts: number(&stored, "attempts")
                .and_then(|n| u32::try_from(n).ok())
                .unwrap_or(0),
            at: number(&stored, "at").unwrap_or(0),
        })
    }
}

impl StateTable {
    /// Stores a dead letter; an earlier one of the row is replaced.
    pub(crate) async fn add_letter(&self, job: &str, letter: &RowLetter) -> Result<(), Error> {
        self.put(letter.stored(job)).await
    }

    /// A page of dead letters, and where the next one begins.
    pub(crate) async fn letters(
        &self,
        job: &str,
        after: Option<&str>,
        limit: Option<u32>,
    ) -> Result<(Vec<RowLetter>, Option<String>), Error> {
        let (rows, next) = self.page(&letters_of(job), after, limit).await?;
        let letters: Result<Vec<RowLetter>, Error> = rows.into_iter().map(RowLetter::read).collect();
        Ok((letters?, next))
    }

    /// The dead letter of a row, if there is one.
    pub(crate) async fn letter(&self, job: &str, row_key: &Item) -> Result<Option<RowLetter>, Error> {
        let stored = self.get(&letters_of(job), &row_id(row_key)).await?;
        stored.map(RowLetter::read).transpose()
    }

    /// Removes the dead letters of these rows, if any.
    pub(crate) async fn drop_letters(
        &self,
        job: &str,
        row_keys: impl Iterator<Item = &Item>,
    ) -> Result<(), Error> {
        let letters = letters_of(job);
        let (any, _) = self.page(&letters, None, Some(1)).await?;
        if any.is_empty() {
            return Ok(());
        }
        let ids: BTreeSet<String> = row_keys.map(row_id).collect();
        let ids: Vec<String> = ids.into_iter().collect();
        for some in ids.chunks(KEYS_MAX) {
            for id in self.present(&letters, some).await? {
                self.delete(&letters, &id).await?;
            }
        }
        Ok(())
    }

    /// How many there are.
    pub(crate) async fn dead_letters(&self, job: &str) -> Result<u64, Error> {
        self.count(&letters_of(job)).await
    }

    /// Removes the dead letter of a row, if any.
    pub(crate) async fn drop_letter(&self, job: &str, row_key: &Item) -> Result<(), Error> {
        self.delete(&letters_of(job), &row_id(row_key)).await
    }
}
