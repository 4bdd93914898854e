//! One row, by the key of its own place.

use std::sync::Arc;

use trestle_api::Error;
use trestle_item::{Item, codec};
use trestle_store::{Snapshot, Space};

use super::Former;
use crate::catalog::Table;
use crate::image::Image;
use crate::layout::ItemKey;
use crate::shared::internal;

/// A row, and where it lies.
pub(crate) struct Found {
    /// The row as it is in its own place, or will be.
    pub(crate) image: Arc<Image>,
    /// Its former place, if it still lies there.
    pub(crate) former: Option<ItemKey>,
}

/// The row that belongs at `key`. `lying` tells what lies at a place.
pub(crate) fn find(
    table: &Table,
    key: &ItemKey,
    lying: impl Fn(&ItemKey) -> Result<Option<Arc<Image>>, Error>,
) -> Result<Option<Found>, Error> {
    let own = lying(key)?;
    let Some(former) = &table.former else {
        return Ok(own.map(in_place));
    };
    if let Some(image) = own {
        // What lies in a former place belongs elsewhere.
        return Ok((!former.is_former(&image)).then(|| in_place(image)));
    }
    if !former.may_hold_rows() {
        return Ok(None);
    }
    let Some(place) = former_place(&**former, table, key) else {
        return Ok(None);
    };
    former.looked();
    let renewed = match lying(&place)? {
        Some(image) => former.renew(&image)?,
        None => None,
    };
    let Some(renewed) = renewed else {
        return Ok(None);
    };
    let image = Arc::new(Image::new(renewed));
    // Several rows of the present layout can have had the same former place; only one of them is there.
    let is_wanted = own_key(table, &image)? == *key;
    Ok(is_wanted.then_some(Found {
        image,
        former: Some(place),
    }))
}

/// The same in a snapshot.
pub(crate) fn find_in(snapshot: &dyn Snapshot, table: &Table, key: &ItemKey) -> Result<Option<Item>, Error> {
    let bytes = |key: &ItemKey| {
        snapshot
            .get(Space::Items, &key.in_table(table.id))
            .map_err(internal)
    };
    if table.former.is_none() {
        let found = bytes(key)?;
        return found
            .map(|bytes| codec::decode(&bytes).map_err(internal))
            .transpose();
    }
    let found = find(table, key, |key| match bytes(key)? {
        Some(bytes) => Ok(Some(Arc::new(Image::stored(bytes).map_err(internal)?))),
        None => Ok(None),
    })?;
    Ok(found.map(|found| Image::into_item(Arc::unwrap_or_clone(found.image))))
}

fn in_place(image: Arc<Image>) -> Found {
    Found { image, former: None }
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

/// Whether a row lies in a former place.
pub(crate) fn lies_at(table: &Table, row: &Item) -> bool {
    table.former.as_ref().is_some_and(|former| former.is_former(row))
}
