//! A page of a table's rows together with the position of the streams at the same moment, which no operation of the protocol
//! reads: a database in the same process can.

use trestle_item::Item;

/// A page of a table's rows, in the order of a scan, all of one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct RowPage {
    /// The rows.
    pub rows: Vec<Item>,
    /// The names of the table's key attributes.
    pub key: Vec<String>,
    /// The key behind which the next page begins; `None` if this is the last.
    pub next: Option<Item>,
    /// The newest sequence number of the table's streams at that moment: the rows are as all changes up to it have left
    /// them, and no later one.
    pub mark: String,
    /// Stands for the order of the rows: a key of one page is a place in another only if both pages have the same.
    pub layout: String,
}
