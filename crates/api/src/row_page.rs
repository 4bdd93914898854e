//! A page of a table's rows together with the position of the streams at the same moment. No operation of the
//! protocol reads both at once, but a database in the same process can.

use trestle_item::Item;

/// A page of a table's rows, in the order of a scan, all of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RowPage {
    /// The rows.
    pub rows: Vec<Item>,
    /// The names of the table's key attributes.
    pub key: Vec<String>,
    /// The key after which the next page begins; `None` if this is the last.
    pub next: Option<Item>,
    /// The newest sequence number of the table's streams at that moment: the rows include all changes up to
    /// it, and no later ones.
    pub mark: String,
    /// Identifies the order of the rows: a key of one page is a valid start for another only if both have the
    /// same layout.
    pub layout: String,
}
