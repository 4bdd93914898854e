//! How far back a reader of streams sees. Clients see records within the retention; routes also see older
//! records, which are stored as long as a route needs them.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_store::{Direction, Snapshot, Space};

use crate::catalog::{Catalog, Stream};
use crate::change_log;
use crate::layout;
use crate::range::Range;
use crate::shared::{Shared, internal};

/// How far back a reader of streams sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Horizon {
    /// Records within the retention, for clients.
    Retention,
    /// Every stored record, of any age.
    Held,
}

impl Shared {
    /// Records before this time are not shown.
    pub(crate) fn oldest_shown(&self, horizon: Horizon) -> Timestamp {
        match horizon {
            Horizon::Retention => self.clock.now().minus(self.options.stream_retention),
            Horizon::Held => Timestamp::EPOCH,
        }
    }

    /// The stream with this ARN, unless it was closed before the horizon.
    pub(crate) fn stream<'c>(
        &self,
        catalog: &'c Catalog,
        arn: &str,
        horizon: Horizon,
    ) -> Result<&'c Arc<Stream>, Error> {
        let oldest = self.oldest_shown(horizon);
        let stream = catalog.stream(arn)?;
        if stream.is_shown_since(oldest) {
            Ok(stream)
        } else {
            Err(Error::stream_not_found(arn))
        }
    }

    /// The number of the first record of a shard, from `start` on, that is not older than `from`; the one
    /// after the newest record, if all are older. A binary search, because there may be very many older
    /// records.
    pub(crate) fn first_since(
        &self,
        stream: &Stream,
        shard: u16,
        start: u64,
        from: Timestamp,
    ) -> Result<u64, Error> {
        // In this order: the snapshot has every record up to the newest.
        let newest = self.last_sequence.load(Ordering::Acquire);
        let snapshot = self.store.snapshot();
        let (mut low, mut high) = (start, newest.saturating_add(1).max(start));
        let first = record_at(&*snapshot, stream, shard, low, high)?;
        match first {
            Some((sequence, time)) if time < from => low = sequence.saturating_add(1),
            Some((sequence, _)) => return Ok(sequence),
            None => return Ok(high),
        }
        // Records before `low` are too old, and those from `high` on are not.
        while low < high {
            let middle = low + (high - low) / 2;
            match record_at(&*snapshot, stream, shard, middle, high)? {
                Some((sequence, time)) if time < from => low = sequence.saturating_add(1),
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

impl Stream {
    /// Whether the stream is open, or was at this time.
    pub(crate) fn is_shown_since(&self, oldest: Timestamp) -> bool {
        self.closed.is_none_or(|(at, _)| at >= oldest)
    }
}

/// The number and the time of the first record with a number in `start..end`.
fn record_at(
    snapshot: &dyn Snapshot,
    stream: &Stream,
    shard: u16,
    start: u64,
    end: u64,
) -> Result<Option<(u64, Timestamp)>, Error> {
    let range = Range {
        start: Bound::Included(layout::change(stream.id, shard, start)),
        end: Bound::Excluded(layout::change(stream.id, shard, end)),
    };
    let first = range.rows(snapshot, Space::Changes, Direction::Forward).next();
    let Some((key, value)) = first.transpose().map_err(internal)? else {
        return Ok(None);
    };
    let sequence =
        layout::change_sequence(&key).ok_or_else(|| internal("a change record has no sequence number"))?;
    // A record without a time is damaged: reading it is an error.
    let time = change_log::time_of(&value).unwrap_or(Timestamp::MAX);
    Ok(Some((sequence, time)))
}
