//! `GetItem`.

use trestle_api::{Error, GetItem, GetItemOutput};
use trestle_expr::{Parameters, Placeholders};
use trestle_item::{Item, codec, size};
use trestle_store::Space;

use crate::capacity::{Consumed, Read};
use crate::catalog::Table;
use crate::layout::ItemKey;
use crate::shared::{Shared, internal};
use crate::{expressions, former};

pub(crate) fn run(shared: &Shared, request: &GetItem) -> Result<GetItemOutput, Error> {
    Parameters {
        expressions: &[("ProjectionExpression", request.projection_expression.is_some())],
        legacy: &[("AttributesToGet", request.attributes_to_get.is_some())],
        names: request.expression_attribute_names.is_some(),
        values: false,
    }
    .check()?;
    let mut placeholders = Placeholders::new(request.expression_attribute_names.as_ref(), None);
    placeholders.check_syntax()?;
    let projection = expressions::projection(
        request.projection_expression.as_deref(),
        request.attributes_to_get.as_ref(),
        &mut placeholders,
    )?;
    placeholders.finish()?;
    shared.in_one_layout(|catalog| {
        let table = catalog.table(&request.table_name, shared.clock.now())?;
        let key = table.item_key(&request.key)?;
        let item = item(shared, table, &key)?;
        let consumed =
            Read::consistent(request.consistent_read).units(item.as_ref().map_or(0, size::of_item));
        Ok(GetItemOutput {
            item: match &projection {
                Some(wanted) => item.map(|item| wanted.apply(&item)),
                None => item,
            },
            consumed_capacity: Consumed::table(consumed).report(table, request.return_consumed_capacity),
        })
    })
}

/// The newest committed state of an item.
pub(crate) fn item(shared: &Shared, table: &Table, key: &ItemKey) -> Result<Option<Item>, Error> {
    if table.former.is_some() {
        // Both places in one snapshot: otherwise a row that moves between two reads would be missed.
        return former::find_in(&*shared.store.snapshot(), table, key);
    }
    match shared
        .store
        .get(Space::Items, &key.in_table(table.id))
        .map_err(internal)?
    {
        Some(bytes) => codec::decode(&bytes).map(Some).map_err(internal),
        None => Ok(None),
    }
}
