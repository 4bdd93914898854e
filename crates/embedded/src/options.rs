//! How a database is opened: plain data.

use trestle_engine::{Options as EngineOptions, StoreSettings};

/// How a database is opened. The defaults suit an application server.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How data is kept in a directory. A database in memory has no use for it.
    pub store: StoreSettings,
    /// How the engine behaves: expiry, streams, the region in ARNs.
    pub engine: EngineOptions,
    /// What the database does by itself.
    pub background: Background,
    /// Refuse a directory that does not exist instead of making it.
    pub must_exist: bool,
    /// Clients are gateways: they keep models here in tables of Trestle's own, which clients otherwise do not write.
    pub behind_gateways: bool,
}

/// What a database does by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Background {
    /// Everything: rows expire, indexes are filled, change records are trimmed, migrations go on.
    #[default]
    Everything,
    /// What operations on tables wait for: indexes are filled and deleted tables cleared. No row expires or moves.
    Tables,
    /// Nothing: for tools that only read.
    Nothing,
}

impl Background {
    /// The same without what changes rows.
    pub(crate) fn without_rows(self) -> Self {
        match self {
            Background::Everything | Background::Tables => Background::Tables,
            Background::Nothing => Background::Nothing,
        }
    }
}
