//! The effects of a write.

mod background;
mod copy;
mod counter;
mod counts;
mod entries;
mod follows;
mod head;
mod history;
mod inverse;
mod kept;
mod random;
mod systems;
mod transaction;
mod unique;
