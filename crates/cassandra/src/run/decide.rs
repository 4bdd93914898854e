//! Decides between the row in the database and the row in the export.

use trestle_item::{AttributeValue, Item};

use super::row::{ImportedRow, RowMaker, fingerprint, read_write_mark};
use crate::mapping::BoundImport;

/// What to do with an existing row.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It equals the export's row.
    Same,
    /// It was written later than the export's row.
    KeepNewer,
    /// It is replaced by this item.
    Overwrite(Item),
    /// It differs, and it is unknown which of the two is right.
    Collision(&'static str),
}

/// How far two values of an expiry time may differ, because reading a page takes time and clocks differ.
const SAME_EXPIRY_SECONDS: u64 = 60;

const DIFFERS: &str =
    "another row is there, and no write time says which one is newer; --overwrite replaces it";
const CHANGED_HERE: &str = "the row was changed here since it was imported; --overwrite replaces it";
const SAME_TIME: &str = "another row is there, which was written at the same time; --overwrite replaces it";

pub(super) fn decide(
    maker: &RowMaker<'_>,
    existing: &Item,
    given: &ImportedRow,
    overwrite: bool,
) -> Decision {
    let import = maker.import;
    if is_same_row(import, existing, given) {
        return Decision::Same;
    }
    if is_behind_cluster(import, existing) {
        return Decision::Overwrite(merged(maker, existing, &given.item));
    }
    let reason = match (given.write_time, read_write_mark(import, existing)) {
        (Some(ours), Some((theirs, _))) if ours < theirs => return Decision::KeepNewer,
        (Some(ours), Some((theirs, imported))) if ours > theirs => {
            match fingerprint(import, existing) == imported {
                true => return Decision::Overwrite(merged(maker, existing, &given.item)),
                false => CHANGED_HERE,
            }
        }
        (Some(_), Some(_)) => SAME_TIME,
        _ => DIFFERS,
    };
    match overwrite {
        true => Decision::Overwrite(merged(maker, existing, &given.item)),
        false => Decision::Collision(reason),
    }
}

/// Whether a row has not changed here since it was imported from a live cluster. Then the cluster, which is
/// read again, is right regardless of write times: it has none for deletions, nor, in older versions, for
/// collections.
pub(super) fn is_behind_cluster(import: &BoundImport, existing: &Item) -> bool {
    let mark = read_write_mark(import, existing);
    import.is_live() && mark.is_some_and(|(_, imported)| fingerprint(import, existing) == imported)
}

/// Whether all imported attributes are equal. Attributes that are not imported are ignored.
pub(super) fn is_same_row(import: &BoundImport, existing: &Item, given: &ImportedRow) -> bool {
    let given = &given.item;
    let mut names = existing
        .keys()
        .chain(given.keys())
        .filter(|name| import.gives(name));
    names.all(|name| {
        let (one, two) = (existing.get(name), given.get(name));
        one == two || is_same_expiry(import, name, one, two)
    })
}

/// A live row has its remaining seconds, not its expiry time: two reads give slightly different times.
fn is_same_expiry(
    import: &BoundImport,
    name: &str,
    one: Option<&AttributeValue>,
    two: Option<&AttributeValue>,
) -> bool {
    let expires = import.expires.iter().flatten().next();
    if !import.is_live() || expires.is_none_or(|expires| expires.attribute != name) {
        return false;
    }
    let seconds = |value: Option<&AttributeValue>| value?.as_n()?.to_i64();
    match (seconds(one), seconds(two)) {
        (Some(one), Some(two)) => one.abs_diff(two) <= SAME_EXPIRY_SECONDS,
        _ => false,
    }
}

/// The export's row, with the existing attributes that are not imported.
fn merged(maker: &RowMaker<'_>, existing: &Item, given: &Item) -> Item {
    let mut item = existing.clone();
    item.retain(|name, _| !maker.import.gives(name));
    for key in maker.index_keys() {
        item.remove(key);
    }
    for (name, value) in given {
        item.insert(name.as_str(), value.clone());
    }
    item
}
