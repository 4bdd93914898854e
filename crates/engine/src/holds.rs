//! What keeps change records beyond the retention: the positions that the routes of this database have not passed.

use std::collections::HashMap;

use trestle_api::{Error, Query, QueryOutput};
use trestle_env::Timestamp;

use crate::catalog::Stream;
use crate::stream_position::{parse_sequence, shard_id};

/// Answers queries on the tables of this database.
pub type ReadRows<'a> = dyn Fn(Query) -> Result<QueryOutput, Error> + 'a;

/// Returns which records are needed beyond the retention. It is called before anything is trimmed and reads
/// stored positions, so that it is correct immediately after a start.
pub trait HoldSource: Send + Sync {
    /// What is needed now.
    fn holds(&self, read: &ReadRows<'_>) -> Result<Vec<StreamHold>, Error>;
}

/// What one route still needs of the streams of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamHold {
    /// The route's name.
    pub route: String,
    /// The table's name; earlier tables of this name are included.
    pub table: String,
    /// Records before this time are not needed.
    pub from: Timestamp,
    /// Streams up to the one with this label are not needed any more.
    pub finished: Option<String>,
    /// The shards that a route has begun to read, by the label of the stream and the id of the shard. All
    /// others are needed completely.
    pub shards: HashMap<(String, String), ShardHold>,
}

/// What is still needed of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShardHold {
    /// Nothing.
    Finished,
    /// Everything.
    Whole,
    /// The records after this sequence number.
    After(String),
}

/// The needs of all routes in one shard: for each route, the number after which and the time from which it
/// needs records.
#[derive(Debug, Default)]
pub(crate) struct HeldShard(Vec<(u64, Timestamp)>);

impl HeldShard {
    /// The part of `holds` that concerns a shard.
    pub(crate) fn of(holds: &[StreamHold], stream: &Stream, shard: u16) -> Self {
        let is_of_stream = |hold: &&StreamHold| {
            let is_finished = |finished: &String| stream.label <= *finished;
            hold.table == stream.table_name && !hold.finished.as_ref().is_some_and(is_finished)
        };
        let needed = |hold: &StreamHold| Some((hold.after(stream, shard)?, hold.from));
        Self(holds.iter().filter(is_of_stream).filter_map(needed).collect())
    }

    /// Whether no route needs anything of the shard.
    pub(crate) fn is_free(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a record is needed.
    pub(crate) fn needs(&self, sequence: u64, time: Timestamp) -> bool {
        self.0
            .iter()
            .any(|(after, from)| sequence > *after && time >= *from)
    }
}

impl StreamHold {
    /// The number after which records of a shard are needed; `None` if none is.
    fn after(&self, stream: &Stream, shard: u16) -> Option<u64> {
        let name = (stream.label.clone(), shard_id(stream, shard));
        match self.shards.get(&name) {
            Some(ShardHold::Finished) => None,
            // A number of another database: no record is known to be processed.
            Some(ShardHold::After(text)) => Some(parse_sequence(text).unwrap_or_default()),
            Some(ShardHold::Whole) | None => Some(0),
        }
    }
}
