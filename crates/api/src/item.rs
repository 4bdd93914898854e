//! Operations on items.

mod batch_get_item;
mod batch_write_item;
mod delete_item;
mod get_item;
mod put_item;
mod query;
mod return_values;
mod scan;
mod transact_get_items;
mod transact_write_items;
mod update_item;

pub use batch_get_item::*;
pub use batch_write_item::*;
pub use delete_item::*;
pub use get_item::*;
pub use put_item::*;
pub use query::*;
pub use return_values::*;
pub use scan::*;
pub use transact_get_items::*;
pub use transact_write_items::*;
pub use update_item::*;
