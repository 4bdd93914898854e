//! The external names of positions in a stream: shard ids, sequence numbers, iterators.

use std::time::Duration;

use trestle_api::Error;
use trestle_env::Timestamp;

use crate::catalog::Stream;

/// How long an iterator is valid.
const ITERATOR_LIFE: Duration = Duration::from_secs(15 * 60);

/// A shard's name: `shardId-`, the time at which the stream began, and the number of the shard.
pub(crate) fn shard_id(stream: &Stream, shard: u16) -> String {
    format!("shardId-{:020}-{shard:08x}", stream.created.as_millis())
}

/// The shard of `stream` with this name.
pub(crate) fn parse_shard_id(stream: &Stream, id: &str) -> Option<u16> {
    let shard = u16::from_str_radix(id.rsplit_once('-')?.1, 16).ok()?;
    (shard < stream.shard_count() && id == shard_id(stream, shard)).then_some(shard)
}

/// A sequence number as text: a leading 1 and twenty digits, so that texts sort like the numbers.
pub(crate) fn sequence_text(sequence: u64) -> String {
    format!("1{sequence:020}")
}

/// Parses a sequence number.
pub(crate) fn parse_sequence(text: &str) -> Option<u64> {
    text.strip_prefix('1')
        .filter(|digits| digits.len() == 20)?
        .parse()
        .ok()
}

/// The position of a reader in a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Iterator {
    pub(crate) stream_arn: String,
    pub(crate) shard: u16,
    /// The first sequence number that has not been read.
    pub(crate) next: u64,
    pub(crate) issued: Timestamp,
}

impl Iterator {
    /// The iterator as clients see it: `arn|1|shard.next.issued` in hexadecimal.
    pub(crate) fn text(&self) -> String {
        format!(
            "{}|1|{:04x}{:016x}{:016x}",
            self.stream_arn,
            self.shard,
            self.next,
            self.issued.as_millis()
        )
    }

    /// Parses an iterator and refuses an expired one.
    pub(crate) fn parse(text: &str, now: Timestamp) -> Result<Self, Error> {
        let invalid = || Error::validation("Invalid ShardIterator");
        let (stream_arn, rest) = text.split_once("|1|").ok_or_else(invalid)?;
        let hex = |range: std::ops::Range<usize>| {
            rest.get(range)
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .ok_or_else(invalid)
        };
        let shard = u16::try_from(hex(0..4)?).map_err(|_| invalid())?;
        let (next, issued) = (hex(4..20)?, Timestamp::from_millis(hex(20..36)?));
        if rest.len() != 36 {
            return Err(invalid());
        }
        if now.since(issued) > ITERATOR_LIFE {
            return Err(Error::expired_iterator());
        }
        Ok(Self {
            stream_arn: stream_arn.to_owned(),
            shard,
            next,
            issued,
        })
    }
}
