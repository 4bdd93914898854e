//! The streams of a table and their shards, as last described.

use std::collections::HashMap;
use std::sync::Arc;

use trestle_api::{Database, DatabaseExt, DescribeStream, Error, ErrorKind, ListStreams, StreamStatus};

use crate::tracker::ShardName;

/// A stream of a table.
pub(super) struct Stream {
    pub(super) label: Arc<str>,
    arn: String,
    /// Parents before their children.
    pub(super) shards: Vec<Shard>,
    /// No record will be added to it.
    pub(super) is_closed: bool,
}

pub(super) struct Shard {
    pub(super) name: Arc<ShardName>,
    /// The shard to read first, if the stream still has it.
    pub(super) parent: Option<Arc<ShardName>>,
    pub(super) is_closed: bool,
}

/// The streams of a table, oldest first.
#[derive(Default)]
pub(super) struct Streams {
    known: Vec<Stream>,
    is_stale: bool,
    /// How often they were described.
    looks: u64,
}

impl Streams {
    /// Marks the description as possibly outdated.
    pub(super) fn look_again(&mut self) {
        self.is_stale = true;
    }

    /// The first stream after `finished`.
    pub(super) fn after(&self, finished: Option<&str>) -> Option<&Stream> {
        self.known
            .iter()
            .find(|stream| finished.is_none_or(|finished| &*stream.label > finished))
    }

    pub(super) fn get(&self, label: &str) -> Option<&Stream> {
        self.known.iter().find(|stream| &*stream.label == label)
    }

    /// How often they were described: while the number is the same, nothing has changed.
    pub(super) fn looks(&self) -> u64 {
        self.looks
    }

    /// Whether a shard exists.
    pub(super) fn has(&self, shard: &ShardName) -> bool {
        let stream = self.get(&shard.stream);
        stream.is_some_and(|stream| stream.shards.iter().any(|known| *known.name == *shard))
    }

    pub(super) fn arn(&self, label: &str) -> Option<&str> {
        self.get(label).map(|stream| &*stream.arn)
    }

    /// The stream before another.
    pub(super) fn before(&self, stream: &Stream) -> Option<&Stream> {
        self.known.iter().rev().find(|other| other.label < stream.label)
    }

    pub(super) fn newest(&self) -> Option<&Stream> {
        self.known.last()
    }

    /// Describes the streams again if necessary or requested. After an error, the previous description stays.
    pub(super) async fn refresh(
        &mut self,
        database: &dyn Database,
        table: &str,
        is_needed: bool,
    ) -> Result<(), Error> {
        if !self.is_stale && !is_needed {
            return Ok(());
        }
        self.is_stale = true;
        let mut listed = list(database, table).await?;
        listed.sort_unstable();
        let mut described: HashMap<String, Option<Stream>> = HashMap::new();
        for (label, arn) in &listed {
            // A closed stream does not change any more.
            if !self.get(label).is_some_and(|stream| stream.is_closed) {
                let stream = describe(database, label.as_str().into(), arn.clone()).await?;
                described.insert(label.clone(), stream);
            }
        }
        let mut known: HashMap<Arc<str>, Stream> = self
            .known
            .drain(..)
            .map(|stream| (Arc::clone(&stream.label), stream))
            .collect();
        let current = listed
            .iter()
            .filter_map(|(label, _)| match described.remove(label) {
                Some(stream) => stream,
                None => known.remove(label.as_str()),
            });
        self.known = current.collect();
        self.is_stale = false;
        self.looks += 1;
        Ok(())
    }
}

#[cfg(test)]
impl Streams {
    pub(super) fn of(known: Vec<Stream>) -> Self {
        Self {
            known,
            ..Self::default()
        }
    }

    pub(super) fn known_mut(&mut self) -> &mut Vec<Stream> {
        &mut self.known
    }
}

#[cfg(test)]
impl Stream {
    pub(super) fn of(label: Arc<str>, shards: Vec<Shard>) -> Self {
        Self {
            arn: format!("arn/{label}"),
            label,
            shards,
            is_closed: false,
        }
    }
}

/// The labels and names of a table's streams.
async fn list(database: &dyn Database, table: &str) -> Result<Vec<(String, String)>, Error> {
    let mut streams = Vec::new();
    let mut request = ListStreams {
        table_name: Some(table.to_owned()),
        ..ListStreams::default()
    };
    loop {
        let page = match database.list_streams(request.clone()).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(streams),
            page => page?,
        };
        let named = page
            .streams
            .into_iter()
            .map(|stream| (stream.stream_label, stream.stream_arn));
        streams.extend(named);
        if page.last_evaluated_stream_arn.is_none() {
            return Ok(streams);
        }
        request.exclusive_start_stream_arn = page.last_evaluated_stream_arn;
    }
}

/// A stream with all its shards; `None` if it was removed.
async fn describe(database: &dyn Database, label: Arc<str>, arn: String) -> Result<Option<Stream>, Error> {
    let mut stream = Stream {
        label,
        arn,
        shards: Vec::new(),
        is_closed: false,
    };
    let mut described: Vec<trestle_api::Shard> = Vec::new();
    loop {
        let request = DescribeStream {
            stream_arn: stream.arn.clone(),
            exclusive_start_shard_id: described.last().map(|shard| shard.shard_id.clone()),
            ..DescribeStream::default()
        };
        let page = match database.describe_stream(request).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(None),
            page => page?.stream_description,
        };
        stream.is_closed = page.stream_status == StreamStatus::Disabled;
        described.extend(page.shards);
        if page.last_evaluated_shard_id.is_none() {
            break;
        }
    }
    let label = Arc::clone(&stream.label);
    let named = |id: &str| {
        Arc::new(ShardName {
            stream: Arc::clone(&label),
            shard: id.into(),
        })
    };
    let is_there = |id: &&String| described.iter().any(|other| other.shard_id == **id);
    stream.shards = described
        .iter()
        .map(|shard| Shard {
            name: named(&shard.shard_id),
            parent: shard
                .parent_shard_id
                .as_ref()
                .filter(is_there)
                .map(|id| named(id)),
            is_closed: shard.sequence_number_range.ending_sequence_number.is_some(),
        })
        .collect();
    Ok(Some(stream))
}
