//! A row in a former place as it will be in its own, in its stored form.

use trestle_api::Error;
use trestle_hook::{Former, Renewal};
use trestle_item::Item;
use trestle_item::codec::{self, StoredView};

use crate::catalog::{Index, Table};
use crate::layout::{self, ItemKey};
use crate::page::Source;
use crate::shared::internal;

/// A row as it will be in its own place.
pub(super) struct Renewed {
    /// Its stored form.
    pub(super) stored: Vec<u8>,
}

/// Where a row is, as far as its stored form shows.
pub(super) enum Lies {
    /// In its own place.
    Here,
    /// In a former place.
    Elsewhere(Renewed),
    /// Unknown: the key must be examined.
    Untold,
}

/// Where the row with this stored form is.
pub(super) fn lies(former: &dyn Former, row: &[u8]) -> Lies {
    match former.renew_stored(row) {
        Renewal::Here => Lies::Here,
        Renewal::Renewed(stored) => Lies::Elsewhere(Renewed { stored }),
        Renewal::Untold => Lies::Untold,
    }
}

impl Renewed {
    /// Renews a row that is in a former place.
    pub(super) fn of(former: &dyn Former, row: &[u8]) -> Result<Self, Error> {
        if let Renewal::Renewed(stored) = former.renew_stored(row) {
            return Ok(Self { stored });
        }
        let row = former.renew(codec::decode(row).map_err(internal)?)?;
        let stored = codec::encode(&row);
        Ok(Self { stored })
    }

    /// Its place in the table or index that is read; `None` if it has none there.
    pub(super) fn place(&self, source: Source<'_>) -> Result<Option<Vec<u8>>, Error> {
        let Source { table, index } = source;
        let keys = self.keys(source)?;
        let own = ItemKey::of(&table.key, &keys);
        let own = own.ok_or_else(|| internal("a row was renewed without its key"))?;
        Ok(match index {
            None => Some(own.in_table(table.id)),
            Some(index) => layout::index_row(index.id, &index.key, &keys, &own),
        })
    }

    /// The attributes that determine its place.
    fn keys(&self, source: Source<'_>) -> Result<Item, Error> {
        let view = StoredView::read(&self.stored).map_err(internal)?;
        let of_index = source.index.map(|index| index.key.attributes());
        let mut keys = Item::with_capacity(4);
        for part in source
            .table
            .key
            .attributes()
            .chain(of_index.into_iter().flatten())
        {
            if let Some(value) = view.get(&part.name) {
                keys.insert(part.name.as_str(), value.decode().map_err(internal)?);
            }
        }
        Ok(keys)
    }

    /// The stored form of its projection into an index.
    pub(super) fn projected(&self, table: &Table, index: &Index) -> Result<Vec<u8>, Error> {
        let row = codec::decode(&self.stored).map_err(internal)?;
        Ok(codec::encode(&index.project(table, &row)))
    }
}
