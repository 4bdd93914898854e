//! Finds one row by the key of its own place.

use std::sync::Arc;

use trestle_api::Error;
use trestle_hook::Former;
use trestle_item::{Item, codec};
use trestle_store::{Bytes, Snapshot, Space};

use crate::catalog::Table;
use crate::image::Image;
use crate::layout::ItemKey;
use crate::overlay::STAGED;
use crate::shared::internal;
use crate::transaction::Transaction;

/// A row and its place.
pub(crate) struct Found {
    /// The row as it is, or will be, in its own place.
    pub(crate) image: Arc<Image>,
    /// Its former place, if it is still there.
    pub(crate) former: Option<ItemKey>,
}

/// The row that belongs at `key`, as a transaction sees it.
pub(crate) fn find(
    transaction: &Transaction<'_>,
    table: &Table,
    key: &ItemKey,
) -> Result<Option<Found>, Error> {
    let lying = |place: &ItemKey| transaction.look_at(table, place);
    let into_item = |image| Ok(Image::into_item(Arc::unwrap_or_clone(image)));
    let found = look(table, key, STAGED, lying, into_item)?;
    Ok(found.map(|found| match found {
        Looked::InPlace(image) => Found { image, former: None },
        Looked::Renewed { row, place } => Found {
            image: Arc::new(Image::new(row)),
            former: Some(place),
        },
    }))
}

/// Like [`find`], in a snapshot.
pub(crate) fn find_in(snapshot: &dyn Snapshot, table: &Table, key: &ItemKey) -> Result<Option<Item>, Error> {
    let decoded = |bytes: Bytes| codec::decode(&bytes).map_err(internal);
    let lying = |key: &ItemKey| {
        let row = snapshot.get(Space::Items, &key.in_table(table.id));
        Ok(AtPlace {
            row: row.map_err(internal)?,
            is_known: false,
        })
    };
    match look(table, key, snapshot.version(), lying, decoded)? {
        Some(Looked::InPlace(bytes)) => decoded(bytes).map(Some),
        Some(Looked::Renewed { row, .. }) => Ok(Some(row)),
        None => Ok(None),
    }
}

/// The row in a place.
pub(crate) struct AtPlace<R> {
    pub(crate) row: Option<R>,
    /// Whether it was known without reading storage.
    pub(crate) is_known: bool,
}

/// A row in its own place, as the reader provides it, or a row that will be there.
enum Looked<R> {
    InPlace(R),
    Renewed { row: Item, place: ItemKey },
}

/// Looks for the row that belongs at `key`: there, then in its former place, in a snapshot of this version. A
/// row is decoded only if it has to be renewed.
fn look<R>(
    table: &Table,
    key: &ItemKey,
    version: u64,
    lying: impl Fn(&ItemKey) -> Result<AtPlace<R>, Error>,
    into_item: impl Fn(R) -> Result<Item, Error>,
) -> Result<Option<Looked<R>>, Error> {
    let own = lying(key)?.row;
    let Some(former) = &table.former else {
        return Ok(own.map(Looked::InPlace));
    };
    let Some(attributes) = key.attributes(&table.key) else {
        return Ok(None);
    };
    if let Some(row) = own {
        // A row in a former place belongs elsewhere.
        return Ok((!former.is_former(&attributes)).then_some(Looked::InPlace(row)));
    }
    if !former.may_hold_rows() {
        return Ok(None);
    }
    let place = former.place(&attributes);
    let Some(place) = place.and_then(|place| ItemKey::of(&table.key, &place)) else {
        return Ok(None);
    };
    if place.hash() < table.swept.before(version) {
        return Ok(None);
    }
    let AtPlace { row, is_known } = lying(&place)?;
    if !is_known {
        super::count_look(&**former);
    }
    let Some(row) = row else {
        return Ok(None);
    };
    let row = former.renew(into_item(row)?)?;
    // Several rows of the present layout can have the same former place; only one of them is stored there.
    let is_wanted = own_key(table, &row)? == *key;
    Ok(is_wanted.then_some(Looked::Renewed { row, place }))
}

/// The former place of the row that belongs at `key`.
pub(super) fn former_place(former: &dyn Former, table: &Table, key: &ItemKey) -> Option<ItemKey> {
    let place = former.place(&key.attributes(&table.key)?)?;
    ItemKey::of(&table.key, &place)
}

/// The own place of a renewed row.
pub(crate) fn own_key(table: &Table, row: &Item) -> Result<ItemKey, Error> {
    ItemKey::of(&table.key, row).ok_or_else(|| internal("a row was renewed without its key"))
}

/// Whether a row is in a former place.
pub(crate) fn lies_at(table: &Table, row: &Item) -> bool {
    table.former.as_ref().is_some_and(|former| former.is_former(row))
}
