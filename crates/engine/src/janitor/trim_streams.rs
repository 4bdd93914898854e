//! Removes change records that are older than the retention, and streams that have nothing left to tell.

use trestle_api::Error;
use trestle_store::{Direction, Space};

use super::{Progress, Worker};
use crate::change_log;
use crate::range::Range;
use crate::shared::internal;

/// Records removed per commit.
const RECORDS_PER_COMMIT: usize = 1000;

pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let cutoff = worker
        .shared
        .clock
        .now()
        .minus(worker.shared.options.stream_retention);
    let catalog = worker.shared.catalog.load();
    let snapshot = worker.shared.store.snapshot();
    let mut old = Vec::new();
    let mut over = Vec::new();
    for stream in catalog.streams.values() {
        for shard in 0..stream.shard_count() {
            let prefix = [&stream.id.0.to_be_bytes()[..], &shard.to_be_bytes()].concat();
            for row in Range::prefix(prefix.to_vec())
                .rows(&*snapshot, Space::Changes, Direction::Forward)
                .take(RECORDS_PER_COMMIT)
            {
                let (key, value) = row.map_err(internal)?;
                // A record that cannot be read is removed with its neighbours rather than kept forever.
                if change_log::time_of(&value).is_some_and(|time| time >= cutoff) {
                    break;
                }
                old.push(key.to_vec());
            }
        }
        if stream.closed.is_some_and(|(at, _)| at < cutoff) {
            over.push(stream.id);
        }
    }
    if old.is_empty() && over.is_empty() {
        return Ok(Progress::None);
    }
    let more = !old.is_empty();
    worker.commit(false, move |transaction| {
        for key in old {
            transaction.delete_row(Space::Changes, key);
        }
        if !more {
            for id in over {
                transaction.remove_stream(id);
            }
        }
        Ok(())
    })?;
    Ok(Progress::Some)
}
