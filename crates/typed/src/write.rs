//! Writes of one row, as they are put together.

mod check;
mod delete;
mod put;
mod update;

pub use check::Check;
pub use delete::Delete;
pub use put::Put;
pub use update::Update;
