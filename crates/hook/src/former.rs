//! Where rows lie while their keys change.

use std::fmt;

use trestle_api::Error;
use trestle_expr::KeySelection;
use trestle_item::Item;

/// The former places of one table's rows, told by code that knows both layouts. Pure, except for the counting.
///
/// It takes effect with the [`Hook`](crate::Hook) that gives it.
pub trait Former: Send + Sync {
    /// Whether rows may still be in former places. If not, reads look at one place only.
    fn may_hold_rows(&self) -> bool;

    /// The position up to which a sweep has moved the table's rows before, all of them: what
    /// `MovedPage::next` of the engine said, or eight bytes `FF` at the end of the table. Asked when it takes effect.
    fn swept(&self) -> Option<Vec<u8>> {
        None
    }

    /// Where the row at a table key belongs, as far as the key says it. Attributes besides the key are ignored.
    fn belongs(&self, key: &Item) -> Belongs;

    /// Whether this is the table key of a former place. Attributes besides the key are ignored.
    fn is_former(&self, key: &Item) -> bool {
        self.belongs(key) != Belongs::Here
    }

    /// Whether [`Former::is_former`] might hold for a table key whose parts have these bytes, in the form of
    /// [`trestle_item::key::encode`]. Cheaper, and never wrongly false. The sort key is empty where the table has none.
    fn may_be_former(&self, _hash: &[u8], _range: &[u8]) -> bool {
        true
    }

    /// The former place of the row that belongs at `key`; `None` if it never was anywhere else.
    fn place(&self, key: &Item) -> Option<Item>;

    /// A row in a former place, as it will be in its own; one that is in its own stays as it is.
    fn renew(&self, row: Item) -> Result<Item, Error>;

    /// The same for a row in its stored form, if it can be told without making values of all of it.
    fn renew_stored(&self, _row: &[u8]) -> Renewal {
        Renewal::Untold
    }

    /// What a key condition on the table means in the present layout; `None` if it speaks of that already.
    fn renew_selection(&self, selection: &KeySelection) -> Result<Option<KeySelection>, Error>;

    /// Where the rows lie that a selection of own places might want; without a selection, that of all rows. For the
    /// table, or for one of its indexes.
    fn sources(&self, index: Option<&str>, selection: Option<&KeySelection>) -> Sources;

    /// A read looked into former places. For counting: such reads must end when the last row has moved.
    fn looked(&self);
}

impl fmt::Debug for dyn Former {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Former")
    }
}

/// Where the row at a table key belongs, as far as the key says it.
#[derive(Clone, Debug, PartialEq)]
pub enum Belongs {
    /// Where it lies.
    Here,
    /// At this table key: it lies in a former place.
    At(Item),
    /// Elsewhere: it lies in a former place, and more of the row must be known to tell where it belongs.
    Elsewhere,
}

/// A row in its stored form, as it will be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Renewal {
    /// It lies where it belongs.
    Here,
    /// It lies in a former place; this is its stored form in its own.
    Renewed(Vec<u8>),
    /// The stored form alone does not tell: [`Former::renew`] does.
    Untold,
}

/// Where rows in former places lie that a read might want.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// In the same part of the index as those in their own: the keys of the index did not change.
    pub same: bool,
    /// In these parts of the table or index; no row is in two of them.
    pub ranges: Vec<FormerRange>,
    /// It cannot be told: all rows of the table must be looked at.
    pub everywhere: bool,
}

impl Sources {
    /// All rows of the table must be looked at.
    #[must_use]
    pub fn everywhere() -> Self {
        Sources {
            everywhere: true,
            ..Sources::default()
        }
    }
}

/// A part of a table or index where rows in former places lie. Others may lie there, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerRange {
    /// The part, in the former layout.
    pub selection: KeySelection,
    /// Whether the rows lie there in the order of their own places.
    pub ordered: bool,
}
