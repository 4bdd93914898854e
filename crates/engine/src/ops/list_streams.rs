//! `ListStreams`.

use trestle_api::{Error, ListStreams, ListStreamsOutput, Stream, table_name};

use crate::catalog::check_stream_arn;
use crate::horizon::Horizon;
use crate::shared::Shared;

/// Streams on a page, unless fewer are asked for.
const STREAMS_MAX: usize = 100;

pub(crate) fn run(
    shared: &Shared,
    request: &ListStreams,
    horizon: Horizon,
) -> Result<ListStreamsOutput, Error> {
    if let Some(start) = &request.exclusive_start_stream_arn {
        check_stream_arn(start)?;
    }
    let oldest = shared.oldest_shown(horizon);
    let catalog = shared.catalog.load();
    let wanted = request.table_name.as_deref().map(table_name);
    let mut streams: Vec<_> = catalog
        .streams
        .values()
        .filter(|stream| stream.is_shown_since(oldest))
        .filter(|stream| wanted.is_none_or(|name| stream.table_name == name))
        .filter(|stream| {
            request
                .exclusive_start_stream_arn
                .as_ref()
                .is_none_or(|start| stream.arn > *start)
        })
        .collect();
    streams.sort_by(|a, b| a.arn.cmp(&b.arn));
    let limit = request.limit.map_or(STREAMS_MAX, |limit| limit as usize);
    let more = streams.len() > limit;
    streams.truncate(limit);
    Ok(ListStreamsOutput {
        last_evaluated_stream_arn: streams.last().filter(|_| more).map(|stream| stream.arn.clone()),
        streams: streams
            .into_iter()
            .map(|stream| Stream {
                stream_arn: stream.arn.clone(),
                table_name: stream.table_name.clone(),
                stream_label: stream.label.clone(),
            })
            .collect(),
    })
}
