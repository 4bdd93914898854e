//! A page of rows: the next ones of a work item.

use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_api::{
    BatchGetItem, ConsumedCapacity, Database, DatabaseExt, Error, KeysAndAttributes, Query,
    ReturnConsumedCapacity, Scan, Select,
};
use trestle_events::Typer;
use trestle_item::{AttributeValue, Item, Items};

use crate::Reindex;
use crate::gaps::wants;
use crate::job::{KeyPart, ReindexMode};
use crate::retry::RetryPause;
use crate::sort_range::SortRange;
use crate::work_item::{KEYS_MAX, WorkItem, WorkUnit};

/// The part of an access pattern's `Query` or `Scan` that finds rows. Complete rows are read by their keys,
/// because an index may lack attributes.
macro_rules! keys_only {
    ($Request:ident, $job:expr, $request:expr) => {{
        let request: &$Request = $request;
        let (projection, names) = keys_projection($job, request.expression_attribute_names.as_ref());
        $Request {
            limit: Some(KEYS_MAX as u32),
            select: Some(Select::SpecificAttributes),
            projection_expression: Some(projection),
            expression_attribute_names: Some(names),
            return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
            // A global index has no strongly consistent reads.
            consistent_read: Some(request.index_name.is_none()),
            ..request.clone()
        }
    }};
}

/// Rows that were read.
#[derive(Debug, Default)]
pub(crate) struct RowsRead {
    pub(crate) rows: Vec<Item>,
    /// Requested keys without a row: complete ones, or partition keys.
    pub(crate) missing: Vec<Item>,
    /// The key after which the next page begins; `None` if this is the last page.
    pub(crate) next: Option<Item>,
    /// Rows that the database examined.
    pub(crate) looked_at: u64,
    pub(crate) read_units: f64,
    /// How often the database left keys unprocessed.
    pub(crate) unprocessed: u64,
}

/// Reads the next page of a work item.
pub(crate) async fn read(
    database: &dyn Database,
    job: &Reindex,
    typer: Option<&Arc<dyn Typer>>,
    item: &WorkItem,
    backoff: &RetryPause,
) -> Result<RowsRead, Error> {
    let after = item.position.clone();
    match &item.unit {
        WorkUnit::Segment { segment, total } => {
            let scan = Scan {
                segment: (*total > 1).then_some(*segment),
                total_segments: (*total > 1).then_some(*total),
                ..scan(job, after, job.page_rows)
            };
            scanned(database, scan).await
        }
        WorkUnit::First { rows } => {
            let left = rows.saturating_sub(item.counts.read);
            let limit = u32::try_from(left).unwrap_or(u32::MAX).clamp(1, job.page_rows);
            let page = scanned(database, scan(job, after, limit)).await?;
            Ok(first_of(Some(*rows), job, typer, item, page))
        }
        WorkUnit::Partition { partition, range } => {
            let is_from_its_beginning = after.is_none() && range.is_whole();
            let found = queried(database, partition_query(job, partition, range, after)).await?;
            let is_empty = is_from_its_beginning && found.rows.is_empty() && found.next.is_none();
            Ok(if is_empty {
                no_rows(partition, found)
            } else {
                found
            })
        }
        WorkUnit::Query { query, first } => {
            let query = Query {
                exclusive_start_key: after,
                ..keys_only!(Query, job, query)
            };
            let found = first_of(*first, job, typer, item, queried(database, query).await?);
            as_needed(database, job, found, backoff).await
        }
        WorkUnit::Scan { scan, first } => {
            let scan = Scan {
                exclusive_start_key: after,
                ..keys_only!(Scan, job, scan)
            };
            let found = first_of(*first, job, typer, item, scanned(database, scan).await?);
            as_needed(database, job, found, backoff).await
        }
        WorkUnit::Keys { keys } => by_keys(database, job, keys.clone(), backoff).await,
    }
}

/// A requested partition without rows is missing, like a key without a row.
fn no_rows(partition: &Item, found: RowsRead) -> RowsRead {
    RowsRead {
        missing: vec![partition.clone()],
        looked_at: 1,
        ..found
    }
}

/// Reads the next page of a work item with the version of each row. Workers that touch rows of an access
/// pattern read only their keys, because the touch itself checks the version.
pub(crate) async fn read_with_versions(
    database: &dyn Database,
    job: &Reindex,
    typer: Option<&Arc<dyn Typer>>,
    item: &WorkItem,
    backoff: &RetryPause,
) -> Result<RowsRead, Error> {
    let found = read(database, job, typer, item, backoff).await?;
    match (&item.unit, &job.mode) {
        (WorkUnit::Query { .. } | WorkUnit::Scan { .. }, ReindexMode::Touch { .. }) => {
            whole(database, job, found, backoff).await
        }
        _ => Ok(found),
    }
}

/// Leaves out the rows after the first so many, which are counted as they are found. Rows of other entities
/// do not count.
fn first_of(
    first: Option<u64>,
    job: &Reindex,
    typer: Option<&Arc<dyn Typer>>,
    item: &WorkItem,
    mut found: RowsRead,
) -> RowsRead {
    if let Some(first) = first {
        let left = usize::try_from(first.saturating_sub(item.counts.read)).unwrap_or(usize::MAX);
        found.rows.retain(|row| wants(job, typer, row));
        found.rows.truncate(left);
        found.looked_at = found.rows.len() as u64;
        found.next = found.next.filter(|_| found.rows.len() < left);
    }
    found
}

/// The attributes that the mode needs of rows whose keys were found.
async fn as_needed(
    database: &dyn Database,
    job: &Reindex,
    found: RowsRead,
    backoff: &RetryPause,
) -> Result<RowsRead, Error> {
    match job.mode {
        ReindexMode::Touch { .. } => Ok(found),
        ReindexMode::Send { .. } => whole(database, job, found, backoff).await,
    }
}

/// Reads complete rows whose keys were found. Rows deleted meanwhile are left out.
async fn whole(
    database: &dyn Database,
    job: &Reindex,
    found: RowsRead,
    backoff: &RetryPause,
) -> Result<RowsRead, Error> {
    let keys = found.rows.iter().filter_map(|row| job.key_in(row)).collect();
    let mut read = by_keys(database, job, keys, backoff).await?;
    read.missing.clear();
    read.next = found.next;
    read.read_units += found.read_units;
    Ok(read)
}

async fn by_keys(
    database: &dyn Database,
    job: &Reindex,
    keys: Vec<Item>,
    backoff: &RetryPause,
) -> Result<RowsRead, Error> {
    let mut read = RowsRead {
        looked_at: keys.len() as u64,
        ..RowsRead::default()
    };
    if keys.is_empty() {
        return Ok(read);
    }
    let (projection, names) = projection(job);
    let mut left = KeysAndAttributes {
        keys: keys.clone(),
        consistent_read: Some(true),
        projection_expression: projection,
        expression_attribute_names: names,
        ..KeysAndAttributes::default()
    };
    let mut rounds = 0;
    loop {
        let request = BatchGetItem {
            request_items: [(job.table.clone(), left)].into(),
            return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
        };
        let mut answer = database.batch_get_item(request).await?;
        let units = answer.consumed_capacity.iter().flatten();
        read.read_units += units.filter_map(|consumed| consumed.capacity_units).sum::<f64>();
        read.rows
            .extend(answer.responses.remove(&job.table).unwrap_or_default());
        match answer.unprocessed_keys.remove(&job.table) {
            Some(unprocessed) if !unprocessed.keys.is_empty() => left = unprocessed,
            _ => break,
        }
        read.unprocessed += 1;
        backoff.wait(rounds).await;
        rounds += 1;
    }
    // A batch returns rows in any order.
    let mut found: Vec<(Option<Item>, Item)> = std::mem::take(&mut read.rows)
        .into_iter()
        .map(|row| (job.key_in(&row), row))
        .collect();
    for key in keys {
        match found.iter().position(|(of, _)| of.as_ref() == Some(&key)) {
            Some(at) => read.rows.push(found.swap_remove(at).1),
            None => read.missing.push(key),
        }
    }
    Ok(read)
}

fn scan(job: &Reindex, after: Option<Item>, limit: u32) -> Scan {
    let (projection_expression, expression_attribute_names) = projection(job);
    Scan {
        table_name: job.table.clone(),
        limit: Some(limit),
        exclusive_start_key: after,
        projection_expression,
        expression_attribute_names,
        return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
        consistent_read: Some(true),
        ..Scan::default()
    }
}

/// The rows of a part of a partition after a position, or from its beginning.
pub(crate) fn partition_query(
    job: &Reindex,
    partition: &Item,
    range: &SortRange,
    after: Option<Item>,
) -> Query {
    let (projection_expression, names) = projection(job);
    let mut names = names.unwrap_or_default();
    let mut values = Item::new();
    for (name, value) in partition {
        names.insert("#partition".to_owned(), name.clone());
        values.insert(":partition", value.clone());
    }
    let mut condition = "#partition = :partition".to_owned();
    let sort = job.key.get(1).map(|part| part.name.clone());
    if let (Some(sort), Some(up_to)) = (&sort, &range.up_to) {
        names.insert("#sort".to_owned(), sort.clone());
        values.insert(":up_to", up_to.clone());
        condition += " AND #sort <= :up_to";
    }
    let begin = sort.zip(range.above.clone()).map(|(sort, above)| {
        let mut begin = partition.clone();
        begin.insert(sort, above);
        begin
    });
    Query {
        table_name: job.table.clone(),
        limit: Some(job.page_rows),
        exclusive_start_key: after.or(begin),
        key_condition_expression: Some(condition),
        projection_expression,
        expression_attribute_names: Some(names),
        expression_attribute_values: Some(values),
        return_consumed_capacity: Some(ReturnConsumedCapacity::Total),
        consistent_read: Some(true),
        ..Query::default()
    }
}

/// The key and the entity of each row, in addition to the names in a request.
fn keys_projection(
    job: &Reindex,
    names: Option<&BTreeMap<String, String>>,
) -> (String, BTreeMap<String, String>) {
    let mut names = names.cloned().unwrap_or_default();
    let mut read: Vec<&str> = job.key.iter().map(|part| part.name.as_str()).collect();
    read.extend(
        job.entities
            .as_ref()
            .and_then(|filter| filter.attribute.as_deref()),
    );
    read.dedup();
    let placeholder = |(number, name): (usize, &&str)| {
        let placeholder = format!("#read{number}");
        names.insert(placeholder.clone(), (*name).to_owned());
        placeholder
    };
    let projection: Vec<String> = read.iter().enumerate().map(placeholder).collect();
    (projection.join(", "), names)
}

type Projection = (Option<String>, Option<BTreeMap<String, String>>);

/// Only the needed attributes of each row.
fn projection(job: &Reindex) -> Projection {
    let names = job.attributes_read();
    if names.is_empty() {
        return (None, None);
    }
    let placeholders = (0..names.len()).map(|number| format!("#a{number}"));
    let map: BTreeMap<String, String> = placeholders.zip(names.into_iter().map(str::to_owned)).collect();
    let projection = map.keys().cloned().collect::<Vec<_>>().join(", ");
    (Some(projection), Some(map))
}

async fn scanned(database: &dyn Database, scan: Scan) -> Result<RowsRead, Error> {
    let page = database.scan(scan).await?;
    let (rows, next) = (page.items, page.last_evaluated_key);
    Ok(rows_read(rows, page.scanned_count, next, page.consumed_capacity))
}

async fn queried(database: &dyn Database, query: Query) -> Result<RowsRead, Error> {
    let page = database.query(query).await?;
    let (rows, next) = (page.items, page.last_evaluated_key);
    Ok(rows_read(rows, page.scanned_count, next, page.consumed_capacity))
}

fn rows_read(
    items: Option<Items>,
    looked_at: u32,
    next: Option<Item>,
    consumed: Option<ConsumedCapacity>,
) -> RowsRead {
    RowsRead {
        rows: items.map(|items| items.to_vec()).unwrap_or_default(),
        next,
        looked_at: u64::from(looked_at),
        read_units: consumed
            .and_then(|consumed| consumed.capacity_units)
            .unwrap_or(0.0),
        ..RowsRead::default()
    }
}

/// The greatest possible sort key: a page after it begins with the next partition.
pub(crate) fn greatest(part: &KeyPart) -> AttributeValue {
    use trestle_item::{Number, ScalarType};
    match part.kind {
        // Four bytes each, at most 1,024.
        ScalarType::S => AttributeValue::S("\u{10ffff}".repeat(256)),
        ScalarType::B => AttributeValue::B(vec![0xff; 1024]),
        ScalarType::N => {
            let greatest = Number::parse("9.9999999999999999999999999999999999999E+125");
            debug_assert!(greatest.is_ok(), "the greatest number is a number");
            greatest.map_or(AttributeValue::from(i64::MAX), AttributeValue::N)
        }
    }
}
