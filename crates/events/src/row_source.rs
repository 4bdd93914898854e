//! Where the rows of a backfill come from.

use trestle_api::Error;
use trestle_item::Item;

/// A page of a table's rows, all of one moment.
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

/// Reads rows and the position of the streams at one moment. A database in the same process can do that; the operations of
/// a remote one cannot.
pub trait RowSource: Send + Sync {
    /// Reads up to `limit` rows behind the row with the key `after`.
    fn page(&self, table: &str, after: Option<&Item>, limit: u32) -> Result<RowPage, Error>;
}
