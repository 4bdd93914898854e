//! Where former rows lie that a read of own places might want.

use trestle_expr::KeySelection;

/// Where former rows lie that a selection of own places might want.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sources {
    /// In the same part of the index: its keys did not change.
    pub same: bool,
    /// In these parts of the table or index, none of which has a row of another.
    pub ranges: Vec<FormerRange>,
    /// Nobody can tell: every row of the table may be one.
    pub everywhere: bool,
}

/// A part of a table or index where former rows lie. Others may lie there, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormerRange {
    /// The part, in the former layout.
    pub selection: KeySelection,
    /// Whether the wanted rows lie there in the order of their own places.
    pub ordered: bool,
}
