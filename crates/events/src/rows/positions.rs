//! The stored positions of all routes, for the database that must keep their undelivered changes. They are
//! read without a router, because right after a start none is running yet.

use trestle_api::{Error, ErrorKind, Query, QueryOutput};
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item};

use super::attributes::{flag, optional_text, sequence, text, time};
use super::{ROUTES, page_query};

/// The stored progress of a route that is on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoutePosition {
    /// The route.
    pub route: String,
    /// Its table.
    pub table: String,
    /// Changes before this time are not for the route.
    pub from: Timestamp,
    /// Streams up to the one with this label are finished.
    pub finished: Option<String>,
    /// The shards that the route has read.
    pub shards: Vec<ShardPassed>,
}

/// The progress of a route in a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardPassed {
    /// The stream's label.
    pub stream: String,
    /// The shard's id.
    pub shard: String,
    /// Everything up to this sequence number is done; `None` at the beginning.
    pub sequence: Option<String>,
    /// The shard has ended, and everything in it is done.
    pub ended: bool,
}

/// Reads the positions of all routes that are on. `read` answers queries of the database with the router's
/// rows.
///
/// A route whose checkpoints are damaged counts as not having passed anything. If not even its table can be
/// read, that is an error.
pub fn route_positions(
    read: &dyn Fn(Query) -> Result<QueryOutput, Error>,
) -> Result<Vec<RoutePosition>, Error> {
    let mut positions = Vec::new();
    for row in all(read, ROUTES, "")? {
        if is_on(&row) {
            positions.extend(position(read, text(&row, "sk")?, text(&row, "table")?)?);
        }
    }
    Ok(positions)
}

/// Whether the row of a route says that it is on. Rows of earlier versions do not say it; such a route counts
/// as on.
fn is_on(row: &Item) -> bool {
    row.get("enabled").and_then(AttributeValue::as_bool) != Some(false)
}

/// The position of one route; `None` if it has not begun.
fn position(
    read: &dyn Fn(Query) -> Result<QueryOutput, Error>,
    route: &str,
    table: &str,
) -> Result<Option<RoutePosition>, Error> {
    let partition = format!("route#{route}");
    let state = all(read, &partition, &format!("state#{table}"))?;
    let Some(state) = state
        .into_iter()
        .find(|row| text(row, "sk").is_ok_and(|sort| sort.strip_prefix("state#") == Some(table)))
    else {
        return Ok(None);
    };
    let prefix = format!("at#{table}#");
    let shards = all(read, &partition, &prefix)?;
    Ok(Some(
        read_position(route, table, &state, &prefix, &shards).unwrap_or_else(|_| RoutePosition {
            route: route.to_owned(),
            table: table.to_owned(),
            from: Timestamp::EPOCH,
            finished: None,
            shards: Vec::new(),
        }),
    ))
}

fn read_position(
    route: &str,
    table: &str,
    state: &Item,
    prefix: &str,
    shards: &[Item],
) -> Result<RoutePosition, Error> {
    let shard = |row: &Item| {
        let sort = text(row, "sk")?;
        let name = sort.strip_prefix(prefix).and_then(|name| name.split_once('#'));
        let (stream, shard) = name.ok_or_else(|| super::attributes::damaged(row, "sk"))?;
        Ok(ShardPassed {
            stream: stream.to_owned(),
            shard: shard.to_owned(),
            sequence: sequence(row, "sequence")?.map(|sequence| sequence.to_string()),
            ended: flag(row, "ended")?,
        })
    };
    Ok(RoutePosition {
        route: route.to_owned(),
        table: table.to_owned(),
        from: time(state, "from")?,
        finished: optional_text(state, "past")?.map(str::to_owned),
        shards: shards.iter().map(shard).collect::<Result<_, Error>>()?,
    })
}

/// All rows of a partition whose sort key begins with `prefix`.
fn all(
    read: &dyn Fn(Query) -> Result<QueryOutput, Error>,
    partition: &str,
    prefix: &str,
) -> Result<Vec<Item>, Error> {
    let (mut rows, mut after) = (Vec::new(), None);
    loop {
        let page = match read(page_query(partition, prefix, after, None)) {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(rows),
            page => page?,
        };
        rows.extend(page.items.unwrap_or_default().to_vec());
        after = page.last_evaluated_key;
        if after.is_none() {
            return Ok(rows);
        }
    }
}
