//! Which of two rows wins: the one in the database, or the one in the export.

use trestle_item::{AttributeValue, Item};

use super::row::{ImportedRow, RowMaker, fingerprint, read_write_mark};
use crate::mapping::BoundImport;

/// What to do about a row that is there already.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// It is what the export says.
    Same,
    /// It was written after the export's.
    KeepNewer,
    /// It becomes this item.
    Overwrite(Item),
    /// It differs, and nothing says which of the two is right.
    Collision(&'static str),
}

/// How far two readings of an expiry may be apart: a page takes its time, and clocks differ.
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

/// Whether nothing has changed a row here since it was imported from a live cluster. The cluster, which is read again, then knows better,
/// whatever its write times say: it has none for deletions, nor, in older versions, for collections.
pub(super) fn is_behind_cluster(import: &BoundImport, existing: &Item) -> bool {
    let mark = read_write_mark(import, existing);
    import.is_live() && mark.is_some_and(|(_, imported)| fingerprint(import, existing) == imported)
}

/// Whether all that is imported is the same. Attributes that the import does not know make no difference.
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

/// A live row says how many seconds it has left, and not when it expires: two readings give two times that are close to each other.
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

/// The export's row, with attributes that the import does not know as they are.
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
