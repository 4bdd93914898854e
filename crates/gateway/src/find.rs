//! Finds one row by the key of its own place, while it may still be in a former place.
//!
//! Without a transaction, the two places cannot be read at the same moment. So the own place is read first,
//! then the former one, and, if neither had the row, the own place again: a row only moves from its former
//! place to its own, so an existing row is always found.

use std::collections::BTreeMap;
use std::sync::Arc;

use trestle_api::Error;
use trestle_hook::{Former, Hook};
use trestle_item::Item;

use crate::endpoint::Endpoint;
use crate::table_shape::RowId;

/// A row as it is, or will be, in its own place.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundRow {
    pub(crate) item: Option<Item>,
    /// The row in its former place, if it is still there.
    pub(crate) lying: Option<LyingRow>,
}

/// A row in its former place.
#[derive(Clone, Debug)]
pub(crate) struct LyingRow {
    pub(crate) key: Item,
    pub(crate) item: Arc<Item>,
}

impl FoundRow {
    /// A row in its own place.
    pub(crate) fn in_place(item: Item) -> Self {
        FoundRow {
            item: Some(item),
            lying: None,
        }
    }

    /// The row as it is stored.
    pub(crate) fn into_lying(self) -> Option<Item> {
        match self.lying {
            Some(lying) => Some(Arc::unwrap_or_clone(lying.item)),
            None => self.item,
        }
    }
}

/// The position at the end of a table, in a migration's document.
const END_OF_TABLE: [u8; 8] = [u8::MAX; 8];

/// The former places of a table's rows, if any row may still be in one.
pub(crate) fn former_places(hook: &dyn Hook, table: &str) -> Option<Arc<dyn Former>> {
    let former = hook.former(table)?;
    let is_swept = || former.swept().is_some_and(|position| position == END_OF_TABLE);
    (former.may_hold_rows() && !is_swept()).then_some(former)
}

impl Endpoint {
    /// Finds rows by the keys of their own places.
    pub(crate) async fn find(
        &self,
        hook: Option<&dyn Hook>,
        keys: &[(RowId, Item)],
    ) -> Result<BTreeMap<RowId, FoundRow>, Error> {
        let mut found: BTreeMap<RowId, FoundRow> = BTreeMap::new();
        let own = self.get_rows(keys).await?;
        found.extend(own.into_iter().map(|(id, item)| (id, FoundRow::in_place(item))));
        let absent = keys.iter().filter(|(id, _)| !found.contains_key(id));
        let absent = absent.filter_map(|(id, key)| {
            let former = former_places(hook?, &id.table)?;
            let place = former.place(key)?;
            Some((id, key, former, place))
        });
        let absent: Vec<_> = absent.collect();
        if absent.is_empty() {
            return Ok(found);
        }
        let places = absent.iter().map(|(id, _, former, place)| {
            former.looked();
            (RowId::new(&id.table, place), place.clone())
        });
        let places: BTreeMap<RowId, Item> = places.collect();
        let lying = self.get_rows(&places.into_iter().collect::<Vec<_>>()).await?;
        let mut again = Vec::new();
        for (id, key, former, place) in absent {
            let renewed = match lying.get(&RowId::new(&id.table, &place)) {
                Some(row) => Some((former.renew(row.clone())?, row)),
                None => None,
            };
            let shape = self.shapes.of(&*self.database, &id.table).await?;
            match renewed {
                // Several rows of the present layout can have the same former place; only one of them is
                // stored there.
                Some((renewed, row)) if shape.key_in(&renewed) == *key => {
                    let lying = LyingRow {
                        key: place,
                        item: Arc::new(row.clone()),
                    };
                    found.insert(
                        id.clone(),
                        FoundRow {
                            item: Some(renewed),
                            lying: Some(lying),
                        },
                    );
                }
                _ => again.push((id.clone(), key.clone())),
            }
        }
        // It may have moved between the two reads.
        let moved = self.get_rows(&again).await?;
        found.extend(moved.into_iter().map(|(id, item)| (id, FoundRow::in_place(item))));
        Ok(found)
    }
}
