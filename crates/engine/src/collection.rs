//! Item collections: all items with one partition key in a table with local indexes.

use trestle_api::{ItemCollectionMetrics, ReturnItemCollectionMetrics};
use trestle_item::Item;

use crate::catalog::Table;

/// The metrics of the collection that `item` belongs to, if they were asked for and the table has local indexes.
///
/// The size is always reported as the lowest range: Trestle has no limit for it.
pub(crate) fn metrics(
    table: &Table,
    item: Option<&Item>,
    wanted: Option<ReturnItemCollectionMetrics>,
) -> Option<ItemCollectionMetrics> {
    if wanted != Some(ReturnItemCollectionMetrics::Size) || table.local().next().is_none() {
        return None;
    }
    let hash = table.key.hash.first()?;
    let value = item?.get(&hash.name)?.clone();
    Some(ItemCollectionMetrics {
        item_collection_key: Item::from([(hash.name.clone(), value)]),
        size_estimate_range_gb: vec![0.0, 1.0],
    })
}
