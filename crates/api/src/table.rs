//! Tables: their definition, their description, and the operations on them.

mod create_table;
mod delete_table;
mod describe_table;
mod description;
mod index;
mod key_schema;
mod list_tables;
mod settings;
mod throughput;
mod update_table;

pub use create_table::*;
pub use delete_table::*;
pub use describe_table::*;
pub use description::*;
pub use index::*;
pub use key_schema::*;
pub use list_tables::*;
pub use settings::*;
pub use throughput::*;
pub use update_table::*;
