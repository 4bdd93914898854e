//! Where rows are stored while their keys change.

use std::fmt;

use trestle_api::Error;
use trestle_expr::KeySelection;
use trestle_item::Item;

/// The former places of one table's rows, computed by code that knows both layouts. Pure, except for
/// [`Former::looked`].
///
/// In effect as long as the [`Hook`](crate::Hook) that returned it.
pub trait Former: Send + Sync {
    /// Whether rows may still be in former places. If not, reads look at one place only.
    fn may_hold_rows(&self) -> bool;

    /// The position up to which a sweep has already moved all rows of the table: `MovedPage::next` of the
    /// engine, or eight bytes `FF` at the end of the table. Called once, when the hook takes effect.
    fn swept(&self) -> Option<Vec<u8>> {
        None
    }

    /// Where the row at a table key belongs, as far as the key alone shows it. Other attributes are ignored.
    fn belongs(&self, key: &Item) -> Belongs;

    /// Whether this is the table key of a former place. Other attributes are ignored.
    fn is_former(&self, key: &Item) -> bool {
        self.belongs(key) != Belongs::Here
    }

    /// Whether [`Former::is_former`] might be true for a table key whose parts have these bytes, in the form
    /// of [`trestle_item::key::encode`]. Cheaper, and never falsely `false`. The sort key is empty if the
    /// table has none.
    fn may_be_former(&self, _hash: &[u8], _range: &[u8]) -> bool {
        true
    }

    /// The former place of the row that belongs at `key`; `None` if the row never had another place.
    fn place(&self, key: &Item) -> Option<Item>;

    /// Converts a row in a former place to the row in its own place. A row in its own place is returned
    /// unchanged.
    fn renew(&self, row: Item) -> Result<Item, Error>;

    /// Like [`Former::renew`] for a row in its stored form, if that is possible without decoding the whole
    /// row.
    fn renew_stored(&self, _row: &[u8]) -> Renewal {
        Renewal::Untold
    }

    /// Translates a key condition to the present layout; `None` if it already uses that layout.
    fn renew_selection(&self, selection: &KeySelection) -> Result<Option<KeySelection>, Error>;

    /// The former places that a read of the table or of one of its indexes has to search. Without a
    /// selection, those of all rows.
    fn sources(&self, index: Option<&str>, selection: Option<&KeySelection>) -> Sources;

    /// Counts a read that searched former places. Such reads must end once the last row has moved.
    fn looked(&self);
}

impl fmt::Debug for dyn Former {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Former")
    }
}

/// Where the row at a table key belongs, as far as the key alone shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum Belongs {
    /// At this key: the row is in its own place.
    Here,
    /// At this other table key: the row is in a former place.
    At(Item),
    /// Elsewhere: the row is in a former place, but its own place depends on attributes besides the key.
    Elsewhere,
}

/// The result of converting a stored row to the present layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// The row is in its own place.
    Here,
    /// The row is in a former place; this is its stored form in its own place.
    Renewed(Vec<u8>),
    /// The stored form alone is not enough: use [`Former::renew`].
    Untold,
}

/// The former places that a read has to search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// The same part of the index as for rows in their own places: the keys of the index did not change.
    pub same: bool,
    /// These parts of the table or index; no row is in two of them.
    pub ranges: Vec<FormerRange>,
    /// Unknown: all rows of the table must be searched.
    pub everywhere: bool,
}

impl Sources {
    /// All rows of the table must be searched.
    #[must_use]
    pub fn everywhere() -> Self {
        Sources {
            everywhere: true,
            ..Sources::default()
        }
    }
}

/// A part of a table or index that contains rows in former places, possibly among other rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerRange {
    /// The part, in the former layout.
    pub selection: KeySelection,
    /// Whether the rows have the same order there as in their own places.
    pub ordered: bool,
}
