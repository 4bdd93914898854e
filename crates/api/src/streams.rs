//! Streams: what changed in a table, in order per item.

mod describe_stream;
mod get_records;
mod get_shard_iterator;
mod list_streams;
mod record;

pub use describe_stream::*;
pub use get_records::*;
pub use get_shard_iterator::*;
pub use list_streams::*;
pub use record::*;
