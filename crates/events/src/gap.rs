//! Records that a route may have missed, because the stream trimmed them before they were read. A gap is
//! stored before the route continues, and shown until it is closed, for example by a backfill.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_env::Timestamp;

use crate::live::{Live, Stopped};
use crate::rows::CheckpointRows;
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// Records of a shard that a route may have missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The stream's label.
    pub stream: String,
    /// The shard's id.
    pub shard: String,
    /// Records after this sequence number may be missing; without a number, all from the beginning.
    pub after: Option<String>,
    /// The first record that was read after the gap, once it is known.
    pub before: Option<String>,
    /// When it was noticed, in milliseconds since 1970.
    pub noticed_ms: u64,
}

impl Gap {
    pub(crate) fn new(shard: &ShardName, after: Option<&SequenceNumber>, now: Timestamp) -> Self {
        Self {
            stream: shard.stream.to_string(),
            shard: shard.shard.to_string(),
            after: after.map(ToString::to_string),
            before: None,
            noticed_ms: now.as_millis(),
        }
    }

    fn is_of(&self, shard: &ShardName) -> bool {
        *self.stream == *shard.stream && *self.shard == *shard.shard
    }
}

/// The gaps of a route, as they are stored.
#[derive(Debug, Default)]
pub(crate) struct Gaps {
    known: Mutex<Vec<Gap>>,
    /// Held while a gap is stored or removed, because the reader adds gaps while others are closed.
    changing: tokio::sync::Mutex<()>,
}

impl Gaps {
    pub(crate) fn of(stored: Vec<Gap>) -> Self {
        Self {
            known: Mutex::new(stored),
            ..Self::default()
        }
    }

    pub(crate) fn all(&self) -> Vec<Gap> {
        self.known.lock().clone()
    }

    /// When the last one was noticed.
    pub(crate) fn last_noticed(&self) -> Timestamp {
        let noticed = self.known.lock().iter().map(|gap| gap.noticed_ms).max();
        noticed.map_or(Timestamp::EPOCH, Timestamp::from_millis)
    }

    pub(crate) fn has(&self, shard: &ShardName) -> bool {
        self.known.lock().iter().any(|gap| gap.is_of(shard))
    }

    fn set(&self, gap: Gap) {
        let mut gaps = self.known.lock();
        gaps.retain(|other| (&other.stream, &other.shard) != (&gap.stream, &gap.shard));
        gaps.push(gap);
    }

    /// Closes the gaps that were noticed up to a time, durably.
    pub(crate) async fn close(&self, checkpoints: &CheckpointRows, noticed: Timestamp) -> Result<(), Error> {
        let _changing = self.changing.lock().await;
        let is_closed = |gap: &Gap| gap.noticed_ms <= noticed.as_millis();
        let closed: Vec<Gap> = self.all().into_iter().filter(is_closed).collect();
        checkpoints.forget_gaps(&closed).await?;
        self.known.lock().retain(|gap| !is_closed(gap));
        Ok(())
    }

    /// The gap of a shard whose end is not known yet.
    fn open(&self, shard: &ShardName) -> Option<Gap> {
        let gaps = self.known.lock();
        let is_open = |gap: &&Gap| gap.before.is_none() && gap.is_of(shard);
        gaps.iter().find(is_open).cloned()
    }
}

impl Live {
    /// Durably records that records of a shard may have been missed. A second gap of a shard extends the
    /// first.
    pub(crate) async fn note_gap(
        &self,
        shard: &Arc<ShardName>,
        after: Option<&SequenceNumber>,
    ) -> Result<(), Error> {
        let _changing = self.gaps.changing.lock().await;
        // If the clock was set back, a new gap must not look as if the last backfill had filled it.
        let began = self.backfill.lock().as_ref().map(|backfill| backfill.row.began);
        let after_backfill = began.map_or(Timestamp::EPOCH, |began| began.plus(Duration::from_millis(1)));
        let mut gap = Gap::new(shard, after, self.clock.now().max(after_backfill));
        if let Some(earlier) = self.gaps.all().into_iter().find(|gap| gap.is_of(shard)) {
            gap.after = earlier.after;
        }
        self.checkpoints.set_gap(&gap).await?;
        let said = describe(&self.route.name, &self.route.table, &gap, self.is_remote);
        tracing::error!(route = %self.name, table = %self.route.table, "{said}");
        self.counters.failed(self.clock.now(), &said);
        self.gaps.set(gap);
        Ok(())
    }

    /// Records where reading continued after a gap.
    pub(crate) async fn end_gap(&self, shard: &Arc<ShardName>, before: &SequenceNumber) -> Result<(), Error> {
        if !self.gaps.has(shard) {
            return Ok(());
        }
        let _changing = self.gaps.changing.lock().await;
        if let Some(mut gap) = self.gaps.open(shard) {
            gap.before = Some(before.to_string());
            self.checkpoints.set_gap(&gap).await?;
            self.gaps.set(gap);
        }
        Ok(())
    }

    /// Closes the gaps that the last backfill has filled, if it is done: those that were noticed before it
    /// started. Their changes are included in the rows that it delivered.
    pub(crate) async fn close_filled_gaps(&self) -> Result<(), Error> {
        match self.done_backfill_began() {
            Some(began) => self.gaps.close(&self.checkpoints, began).await,
            None => Ok(()),
        }
    }

    /// Like [`Self::close_filled_gaps`], repeated until it succeeds.
    pub(crate) async fn rows_are_done(&self) -> Result<(), Stopped> {
        while let Err(error) = self.close_filled_gaps().await {
            self.pause(&error).await?;
        }
        Ok(())
    }
}

/// The message: what happened, and what to do.
fn describe(route: &str, table: &str, gap: &Gap, is_remote: bool) -> String {
    let command = match is_remote {
        true => format!("trestle routes run FILE --backfill {route}"),
        false => format!("trestle routes backfill {route}"),
    };
    let after = gap.after.as_deref().map_or_else(
        || "from its beginning on".to_owned(),
        |after| format!("after {after}"),
    );
    format!(
        "the stream of the table {table} trimmed records before the route `{route}` had read them: in shard {} of stream {}, changes {after} \
         may be missing at its target. `{command}` sends every present row there, and closes the gap",
        gap.shard, gap.stream
    )
}
