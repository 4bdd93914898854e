//! Large values: their bytes are written before the row that refers to them, and read part by part.

use std::collections::VecDeque;

use trestle_api::{Database, DatabaseExt, GetItem, PutItem};
use trestle_env::ids;
use trestle_item::{AttributeValue, Item, Number};
use trestle_model::{
    LARGE_VALUE_BYTES_MAX, LargeValue, NAMED_VALUES_TABLE, PARTS_BYTES, PARTS_ID, PARTS_NUMBER, PARTS_TABLE,
    ValueDigest,
};

use crate::handle::Handle;
use crate::{Client, Error, Future, Model};

/// The bytes of a part: with its key, less than the 400 KB of an item.
const PART_BYTES: usize = 384 * 1024;
/// Parts that are being sent at the same time. They limit the memory of a writer.
const IN_FLIGHT: usize = 8;

impl<D: Database, M: Model> Client<D, M> {
    /// Writes the bytes of a large value. Put the row that refers to the value within an hour; a value
    /// without a row is removed after that.
    pub fn write_large<'d>(&'d self, bytes: &'d [u8]) -> Future<'d, LargeValue> {
        let mut writer = self.large_writer();
        Box::pin(async move {
            writer.write(bytes).await?;
            writer.finish().await
        })
    }

    /// The same, unless the bytes are those of `present`: then nothing is written, and that value is returned.
    pub fn replace_large<'d>(
        &'d self,
        present: Option<&'d LargeValue>,
        bytes: &'d [u8],
    ) -> Future<'d, LargeValue> {
        Box::pin(async move {
            let mut digest = ValueDigest::default();
            digest.update(bytes);
            let is_same = |present: &&LargeValue| {
                present.size == bytes.len() as u64 && present.sha256 == digest.clone().finish()
            };
            match present.filter(is_same) {
                Some(present) => Ok(present.clone()),
                None => self.write_large(bytes).await,
            }
        })
    }

    /// Writes the bytes of a large value as they arrive, without holding them all.
    pub fn large_writer(&self) -> LargeWriter<'_> {
        LargeWriter {
            handle: self.handle(),
            id: ids::uuid(),
            digest: ValueDigest::default(),
            size: 0,
            parts: 0,
            rest: Vec::new(),
            in_flight: VecDeque::new(),
        }
    }

    /// Reads all bytes of a large value, and compares them with its size and its SHA-256.
    pub fn read_large<'d>(&'d self, value: &'d LargeValue) -> Future<'d, Vec<u8>> {
        let mut reader = self.large_reader(value);
        Box::pin(async move {
            let mut bytes = Vec::new();
            while let Some(part) = reader.next().await? {
                bytes.extend_from_slice(&part);
            }
            Ok(bytes)
        })
    }

    /// Reads a large value part by part, without holding it all.
    pub fn large_reader(&self, value: &LargeValue) -> LargeReader<'_> {
        LargeReader {
            handle: self.handle(),
            value: value.clone(),
            digest: Some(ValueDigest::default()),
            size: 0,
            parts: 0,
        }
    }
}

/// Writes a large value as its bytes arrive. If it is dropped before it is finished, nothing is kept.
#[must_use = "no value is written until finish() is awaited"]
pub struct LargeWriter<'d> {
    handle: Handle<'d>,
    id: String,
    digest: ValueDigest,
    size: u64,
    parts: u64,
    /// Bytes that do not fill a part yet.
    rest: Vec<u8>,
    in_flight: VecDeque<Future<'d, ()>>,
}

impl LargeWriter<'_> {
    /// Writes the next bytes. They may still be in transit when this returns.
    pub async fn write(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        self.size += bytes.len() as u64;
        if self.size > LARGE_VALUE_BYTES_MAX {
            return Err(Error::ValueTooLarge);
        }
        self.digest.update(bytes);
        while self.rest.len() + bytes.len() > PART_BYTES {
            let (now, later) = bytes.split_at(PART_BYTES - self.rest.len());
            self.rest.extend_from_slice(now);
            bytes = later;
            self.put_part().await?;
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    /// The value, once all its bytes are durable. From now on a row may refer to it.
    pub async fn finish(mut self) -> Result<LargeValue, Error> {
        self.put_part().await?;
        while let Some(part) = self.in_flight.pop_front() {
            part.await?;
        }
        Ok(LargeValue {
            id: self.id,
            size: self.size,
            parts: self.parts,
            sha256: self.digest.finish(),
        })
    }

    async fn put_part(&mut self) -> Result<(), Error> {
        if !self.handle.applied {
            return Err(Error::NotApplied {
                what: "Keeping large values".to_owned(),
                model: self.handle.definition.name(),
            });
        }
        // The first part must be stored before the others are sent.
        let most = if self.parts < 2 { 0 } else { IN_FLIGHT - 1 };
        while self.in_flight.len() > most
            && let Some(part) = self.in_flight.pop_front()
        {
            part.await?;
        }
        self.parts += 1;
        let mut item = part_key(&self.id, self.parts);
        item.insert(PARTS_BYTES, AttributeValue::B(std::mem::take(&mut self.rest)));
        let put = PutItem {
            table_name: PARTS_TABLE.to_owned(),
            item,
            ..PutItem::default()
        };
        let started = self.handle.database.put_item(put);
        self.in_flight
            .push_back(Box::pin(async move { Ok(started.await.map(drop)?) }));
        Ok(())
    }
}

/// Reads a large value part by part.
#[must_use = "nothing is read until next() is awaited"]
pub struct LargeReader<'d> {
    handle: Handle<'d>,
    value: LargeValue,
    /// `None` when all of it was read.
    digest: Option<ValueDigest>,
    size: u64,
    parts: u64,
}

impl LargeReader<'_> {
    /// The next bytes; `None` when there are no more. Only then is it certain that they are the bytes that
    /// were written: missing or damaged bytes are an error, at the latest in place of the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, Error> {
        if self.parts < self.value.parts {
            self.parts += 1;
            return self.part().await.map(Some);
        }
        match self.digest.take() {
            Some(_) if self.size != self.value.size => Err(self.damaged(format!(
                "it has {} bytes instead of {}",
                self.size, self.value.size
            ))),
            Some(digest) if digest.clone().finish() != self.value.sha256 => {
                Err(self.damaged("its SHA-256 is another".to_owned()))
            }
            _ => Ok(None),
        }
    }

    async fn part(&mut self) -> Result<Vec<u8>, Error> {
        let mut found = self
            .get(PARTS_TABLE, part_key(&self.value.id, self.parts))
            .await?;
        let bytes = found.as_mut().and_then(|part| part.remove(PARTS_BYTES));
        let Some(AttributeValue::B(bytes)) = bytes else {
            return Err(self.missing().await?);
        };
        if let Some(digest) = &mut self.digest {
            digest.update(&bytes);
        }
        self.size += bytes.len() as u64;
        Ok(bytes)
    }

    /// Parts are removed only after no row refers to the value.
    async fn missing(&self) -> Result<Error, Error> {
        let key = Item::from([(PARTS_ID, self.value.id.as_str())]);
        Ok(match self.get(NAMED_VALUES_TABLE, key).await? {
            Some(_) => self.damaged(format!("part {} is missing", self.parts)),
            None => Error::ValueGone {
                id: self.value.id.clone(),
            },
        })
    }

    async fn get(&self, table: &str, key: Item) -> Result<Option<Item>, Error> {
        let get = GetItem {
            table_name: table.to_owned(),
            key,
            consistent_read: Some(true),
            ..GetItem::default()
        };
        Ok(self.handle.database.get_item(get).await?.item)
    }

    fn damaged(&self, reason: String) -> Error {
        Error::ValueDamaged {
            id: self.value.id.clone(),
            reason,
        }
    }
}

fn part_key(id: &str, part: u64) -> Item {
    let mut key = Item::with_capacity(3);
    key.insert(PARTS_ID, id);
    key.insert(PARTS_NUMBER, Number::from(part));
    key
}
