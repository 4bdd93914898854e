//! How a database is opened: plain data.

use trestle_engine::{Options as EngineOptions, StoreSettings};

/// Options for opening a database. The defaults suit an application server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Options of the store in a directory. Not used in memory.
    pub store: StoreSettings,
    /// Options of the engine: expiry, streams, the region in ARNs.
    pub engine: EngineOptions,
    /// The background work of the database.
    pub background: Background,
    /// Refuses a directory that does not exist instead of creating it.
    pub must_exist: bool,
    /// Clients are gateways: they store models here in Trestle's own tables, which other clients may not
    /// write.
    pub behind_gateways: bool,
}

/// How much background work a database does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// Everything: rows expire, indexes are filled, change records are trimmed, migrations continue.
    #[default]
    Everything,
    /// The work that operations on tables depend on: indexes are filled and deleted tables cleared. No row
    /// expires or moves.
    Tables,
    /// Nothing: for tools that only read.
    Nothing,
}

impl Background {
    /// The same without work that changes rows.
    pub(crate) fn without_rows(self) -> Self {
        match self {
            Background::Everything | Background::Tables => Background::Tables,
            Background::Nothing => Background::Nothing,
        }
    }
}
