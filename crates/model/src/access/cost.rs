//! The estimated cost of an access pattern: read capacity from the size of a typical row.

use crate::attribute::AttributeKind;
use crate::entity::Entity;
use crate::model::{Index, Projection, Table};

/// An estimate in DynamoDB's units.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Cost {
    /// Bytes of a typical row, as far as the model knows it.
    pub row_bytes: u64,
    /// Rows of a full page: the limit, or what fits into one megabyte.
    pub rows_per_page: u64,
    /// Read capacity units of one row, or of a full page.
    pub read_units: f64,
}

const PAGE_BYTES: u64 = 1024 * 1024;
const UNIT_BYTES: u64 = 4096;

pub(crate) fn estimate(
    is_one_row: bool,
    entities: &[&Entity],
    table: &Table,
    index: Option<&Index>,
    limit: Option<u32>,
    consistent: bool,
) -> Cost {
    let sizes = entities.iter().map(|entity| row_bytes(entity, table, index));
    let row_bytes = (sizes.sum::<u64>() / (entities.len() as u64).max(1)).max(1);
    let rows_per_page = match is_one_row {
        true => 1,
        false => (PAGE_BYTES / row_bytes).clamp(1, limit.map_or(u64::MAX, u64::from)),
    };
    let units = (rows_per_page * row_bytes).div_ceil(UNIT_BYTES);
    let price = if consistent { 1.0 } else { 0.5 };
    Cost {
        row_bytes,
        rows_per_page,
        read_units: units as f64 * price,
    }
}

fn row_bytes(entity: &Entity, table: &Table, index: Option<&Index>) -> u64 {
    let holds = |name: &str| index.is_none_or(|index| is_in_index(name, table, index));
    let attributes = entity
        .attributes
        .iter()
        .filter(|attribute| holds(&attribute.name))
        .map(|attribute| attribute.name.len() + typical(attribute.kind));
    let keys = entity.table_key.iter().chain(&entity.index_keys);
    let keys = keys
        .filter(|key| !key.is_identity() && holds(&key.attribute))
        .map(|key| {
            let slots: usize = key.slots().map(|slot| typical(slot.attribute.kind)).sum();
            key.attribute.len() + key.source.len() / 2 + slots
        });
    let tag = table.entity_attribute.as_deref().filter(|name| holds(name));
    let tag = tag.map_or(0, |name| name.len() + entity.tag.len());
    (attributes.sum::<usize>() + keys.sum::<usize>() + tag) as u64
}

/// Whether an index's rows have an attribute.
pub(crate) fn is_in_index(name: &str, table: &Table, index: &Index) -> bool {
    let projected = match &index.projection {
        Projection::All => true,
        Projection::Keys => false,
        Projection::Include(names) => names.iter().any(|projected| projected == name),
    };
    projected || table.key.has(name) || index.key.has(name)
}

/// Bytes of a value of ordinary size.
fn typical(kind: AttributeKind) -> usize {
    match kind {
        AttributeKind::Boolean => 1,
        AttributeKind::Integer | AttributeKind::Number => 5,
        AttributeKind::EpochSeconds => 6,
        AttributeKind::Semver => 8,
        AttributeKind::Timestamp => 24,
        AttributeKind::String | AttributeKind::Any => 20,
        AttributeKind::Binary => 32,
        AttributeKind::StringSet | AttributeKind::NumberSet | AttributeKind::BinarySet => 60,
        AttributeKind::List | AttributeKind::Map => 120,
        // The reference, not the bytes.
        AttributeKind::Large => 130,
    }
}
