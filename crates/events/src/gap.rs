//! Records that a route may have missed, because the stream trimmed them before they were read. A gap is stored before the route
//! reads on, and shown until it is closed.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_env::Timestamp;

use crate::live::Live;
use crate::sequence::SequenceNumber;
use crate::tracker::ShardName;

/// Records of a shard that a route may have missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The stream's label.
    pub stream: String,
    /// The shard's id.
    pub shard: String,
    /// What comes after this sequence number may be missing; from the beginning, if there is none.
    pub after: Option<String>,
    /// The first record that was read again, as soon as it is known.
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

/// The gaps of a route at work, as they are stored.
#[derive(Debug, Default)]
pub(crate) struct Gaps(Mutex<Vec<Gap>>);

impl Gaps {
    pub(crate) fn of(stored: Vec<Gap>) -> Self {
        Self(Mutex::new(stored))
    }

    pub(crate) fn all(&self) -> Vec<Gap> {
        self.0.lock().clone()
    }

    pub(crate) fn has(&self, shard: &ShardName) -> bool {
        self.0.lock().iter().any(|gap| gap.is_of(shard))
    }

    fn set(&self, gap: Gap) {
        let mut gaps = self.0.lock();
        gaps.retain(|other| (&other.stream, &other.shard) != (&gap.stream, &gap.shard));
        gaps.push(gap);
    }

    pub(crate) fn clear(&self) {
        self.0.lock().clear();
    }

    /// The gap of a shard whose end is not known.
    fn open(&self, shard: &ShardName) -> Option<Gap> {
        let gaps = self.0.lock();
        let is_open = |gap: &&Gap| gap.before.is_none() && gap.is_of(shard);
        gaps.iter().find(is_open).cloned()
    }
}

impl Live {
    /// Notes durably that records of a shard may have been missed. A second gap of a shard widens the first.
    pub(crate) async fn note_gap(
        &self,
        shard: &Arc<ShardName>,
        after: Option<&SequenceNumber>,
    ) -> Result<(), Error> {
        let mut gap = Gap::new(shard, after, self.clock.now());
        if let Some(earlier) = self.gaps.all().into_iter().find(|gap| gap.is_of(shard)) {
            gap.after = earlier.after;
        }
        self.checkpoints.set_gap(&gap).await?;
        let said = describe(&self.route.name, &self.route.table, &gap);
        tracing::error!(route = %self.name, table = %self.route.table, "{said}");
        self.counters.failed(self.clock.now(), &said);
        self.gaps.set(gap);
        Ok(())
    }

    /// Notes where reading went on after a gap.
    pub(crate) async fn end_gap(&self, shard: &Arc<ShardName>, before: &SequenceNumber) -> Result<(), Error> {
        if let Some(mut gap) = self.gaps.open(shard) {
            gap.before = Some(before.to_string());
            self.checkpoints.set_gap(&gap).await?;
            self.gaps.set(gap);
        }
        Ok(())
    }
}

/// What happened, and what to do.
fn describe(route: &str, table: &str, gap: &Gap) -> String {
    let after = gap.after.as_deref().map_or_else(
        || "from its beginning on".to_owned(),
        |after| format!("after {after}"),
    );
    format!(
        "the stream of the table {table} trimmed records before the route `{route}` had read them: in shard {} of stream {}, changes {after} \
         may be missing at its target. The table has every present row: read them from there; removing the route forgets the gap",
        gap.shard, gap.stream
    )
}
