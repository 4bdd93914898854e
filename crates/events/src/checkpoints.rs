//! Stores how far a route has come.

use std::sync::Arc;
use std::time::Duration;

use crate::live::Live;

/// Checkpoints are stored at most this often: what one write says, the next one would repeat. Real time, because it is about
/// the work of this machine.
pub(crate) const PAUSE: Duration = Duration::from_millis(20);

/// Stores checkpoints as they move, until the route is stopped; then once more.
pub(crate) async fn run(live: Arc<Live>) {
    loop {
        tokio::select! {
            () = live.moved.notified() => {}
            () = live.stopped() => break,
        }
        store(&live).await;
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = live.stopped() => break,
        }
    }
    store(&live).await;
}

/// Stores the checkpoints that have moved, however often it takes. A checkpoint that may or may not be stored is never left behind:
/// a transaction that moves checkpoints must know where they are.
pub(crate) async fn store(live: &Live) {
    let mut moved = live.tracker.lock().take_moved();
    {
        let stored = live.stored.lock();
        moved.retain(|(shard, checkpoint)| stored.get(shard) != Some(checkpoint));
    }
    let (rows, moved): (Vec<_>, Vec<_>) = moved.into_iter().partition(|(shard, _)| shard.is_backfill());
    for (line, checkpoint) in &rows {
        while let Err(error) = live.store_rows(line, checkpoint).await {
            if live.pause(&error).await.is_err() {
                return; // The rows of the page are delivered again after the next start.
            }
        }
    }
    if !rows.is_empty() && live.rows_are_done().await.is_err() {
        return;
    }
    if moved.is_empty() {
        return;
    }
    let checkpoints = || moved.iter().map(|(shard, checkpoint)| (shard, checkpoint));
    while let Err(error) = live.checkpoints.set_shards(checkpoints()).await {
        if live.pause(&error).await.is_err() {
            return; // Without the checkpoints, changes are delivered again after the next start.
        }
    }
    live.stored(moved);
}
