//! Splits shards to which much has been written, so that their readers can share the work.

use trestle_api::Error;

use super::{Progress, Worker};

pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let limit = worker.shared.options.stream_shard_bytes_max;
    let catalog = worker.shared.catalog.load();
    let enabled = || catalog.streams.values().filter(|stream| stream.is_enabled());
    let full: Vec<_> = enabled()
        .flat_map(|stream| stream.full_shards(limit).map(|shard| (stream.id, shard)))
        .collect();
    if full.is_empty() {
        return Ok(Progress::None);
    }
    worker.commit(false, move |transaction| {
        for (id, shard) in full {
            let stream = transaction.catalog().streams.get(&id);
            if let Some(split) = stream.and_then(|stream| stream.split(shard, transaction.sequence())) {
                transaction.put_stream(split)?;
            }
        }
        Ok(())
    })?;
    Ok(Progress::Some)
}
