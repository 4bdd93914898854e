//! Keeps undelivered changes for the routes of a database: their stored positions hold the change log.

use trestle_api::Error;
use trestle_engine::{HoldSource, ReadRows, ShardHold, StreamHold};
use trestle_events::{RoutePosition, ShardPassed, route_positions};

/// Reads the positions of the routes from their rows each time, so that it is also correct before a router is
/// started.
pub(crate) struct RouteHolds;

impl HoldSource for RouteHolds {
    fn holds(&self, read: &ReadRows<'_>) -> Result<Vec<StreamHold>, Error> {
        let positions = route_positions(read)?;
        Ok(positions.into_iter().map(hold).collect())
    }
}

fn hold(position: RoutePosition) -> StreamHold {
    let shard = |passed: ShardPassed| {
        let needed = match passed.sequence {
            _ if passed.ended => ShardHold::Finished,
            Some(sequence) => ShardHold::After(sequence),
            None => ShardHold::Whole,
        };
        ((passed.stream, passed.shard), needed)
    };
    StreamHold {
        route: position.route,
        table: position.table,
        from: position.from,
        finished: position.finished,
        shards: position.shards.into_iter().map(shard).collect(),
    }
}
