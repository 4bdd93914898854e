//! Reads pages of shards: gets iterators, keeps them between pages, and renews them when they have expired.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use trestle_api::{
    Database, DatabaseExt, Error, ErrorKind, GetRecords, GetShardIterator, Record, ShardIteratorType,
};

use super::streams::Streams;
use super::walk::{ReadPoint, ShardPosition};
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// The result of reading at a position.
pub(super) enum ShardPage {
    /// The records after the position, which may be none, and the position after them.
    Read {
        records: Vec<Record>,
        next: ShardPosition,
    },
    /// The iterator has expired: read again from this position.
    Expired(ShardPosition),
    /// Records after the position have been trimmed: the oldest remaining one is at the trim horizon.
    Trimmed(Error),
    /// The stream or the shard does not exist any more.
    Gone(Error),
}

/// The iterators of the positions that are being read.
#[derive(Default)]
pub(super) struct PageReader {
    iterators: HashMap<ReadPoint, String>,
}

impl PageReader {
    /// Drops the iterators of positions that are no longer read.
    pub(super) fn retain(&mut self, read_points: &BTreeMap<ReadPoint, Vec<usize>>) {
        self.iterators.retain(|point, _| read_points.contains_key(point));
    }

    /// The iterators of some positions, for another reader of the same records.
    pub(super) fn fork(&self, is_wanted: impl Fn(&Arc<ShardName>, &ShardPosition) -> bool) -> Self {
        let wanted = self
            .iterators
            .iter()
            .filter(|((shard, position), _)| is_wanted(shard, position));
        Self {
            iterators: wanted
                .map(|(point, iterator)| (point.clone(), iterator.clone()))
                .collect(),
        }
    }

    /// Adds the iterators of another reader.
    pub(super) fn join(&mut self, other: Self) {
        self.iterators.extend(other.iterators);
    }

    pub(super) fn clear(&mut self) {
        self.iterators.clear();
    }

    /// Gets an iterator for a position now, so that a later read begins there.
    pub(super) async fn find(
        &mut self,
        database: &dyn Database,
        streams: &Streams,
        point: &ReadPoint,
    ) -> Result<String, Error> {
        if let Some(iterator) = self.iterators.get(point) {
            return Ok(iterator.clone());
        }
        let (shard, position) = point;
        let request = iterator_request(streams, shard, position)?;
        let answer = database.get_shard_iterator(request).await?;
        let iterator = answer.shard_iterator.ok_or_else(|| {
            Error::internal(format!(
                "GetShardIterator returned no iterator for the shard {} of the stream {}",
                shard.shard, shard.stream
            ))
        })?;
        self.iterators.insert(point.clone(), iterator.clone());
        Ok(iterator)
    }

    /// Whether there is an iterator for a position.
    pub(super) fn has(&self, point: &ReadPoint) -> bool {
        self.iterators.contains_key(point)
    }

    /// Reads a page. After an error, the next read of the position gets a new iterator, except for the
    /// position after the newest record, where a new one would skip records written meanwhile.
    pub(super) async fn read(
        &mut self,
        database: &dyn Database,
        streams: &Streams,
        point: &ReadPoint,
    ) -> Result<ShardPage, Error> {
        let (shard, position) = point;
        let found = self.find(database, streams, point).await;
        self.iterators.remove(point);
        let shard_iterator = match found {
            Ok(shard_iterator) => shard_iterator,
            Err(error) => return failed(error, position),
        };
        let request = GetRecords {
            shard_iterator: shard_iterator.clone(),
            limit: None,
        };
        let page = match database.get_records(request).await {
            Ok(page) => page,
            Err(error) => {
                let failed = failed(error, position);
                if failed.is_err() && *position == ShardPosition::Latest {
                    self.iterators.insert(point.clone(), shard_iterator);
                }
                return failed;
            }
        };
        let last = page.records.last();
        let next = match (&page.next_shard_iterator, last) {
            (None, _) => ShardPosition::End,
            (Some(_), Some(last)) => {
                ShardPosition::After(SequenceNumber::new(&last.dynamodb.sequence_number))
            }
            (Some(_), None) => position.clone(),
        };
        if let Some(iterator) = page.next_shard_iterator {
            self.iterators.insert((Arc::clone(shard), next.clone()), iterator);
        }
        Ok(ShardPage::Read {
            records: page.records,
            next,
        })
    }
}

/// What a failed read means for a reader at `position`.
fn failed(error: Error, position: &ShardPosition) -> Result<ShardPage, Error> {
    match (error.kind(), position) {
        // Nothing was read since the start: records since then are found from the trim horizon. An endpoint
        // that was restarted may not know its iterators any more.
        (ErrorKind::ExpiredIterator | ErrorKind::Validation, ShardPosition::Latest) => {
            Ok(ShardPage::Expired(ShardPosition::TrimHorizon))
        }
        (ErrorKind::ExpiredIterator, position) => Ok(ShardPage::Expired(position.clone())),
        (ErrorKind::TrimmedDataAccess, _) => Ok(ShardPage::Trimmed(error)),
        (ErrorKind::ResourceNotFound, _) => Ok(ShardPage::Gone(error)),
        _ => Err(error),
    }
}

fn iterator_request(
    streams: &Streams,
    shard: &ShardName,
    position: &ShardPosition,
) -> Result<GetShardIterator, Error> {
    let (shard_iterator_type, sequence) = match position {
        ShardPosition::Latest => (ShardIteratorType::Latest, None),
        ShardPosition::After(sequence) => (ShardIteratorType::AfterSequenceNumber, Some(sequence)),
        ShardPosition::TrimHorizon | ShardPosition::End => (ShardIteratorType::TrimHorizon, None),
    };
    let arn = streams.arn(&shard.stream).ok_or_else(|| {
        Error::internal(format!(
            "a reader read_points in the shard {} of the stream {}, which is not among the table's streams",
            shard.shard, shard.stream
        ))
    })?;
    Ok(GetShardIterator {
        stream_arn: arn.to_owned(),
        shard_id: shard.shard.to_string(),
        shard_iterator_type,
        sequence_number: sequence.map(ToString::to_string),
        timestamp: None,
    })
}
