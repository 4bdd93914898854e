//! The typed client, as an application sees it.

/// Contacts, methods, searches and attempts in one table.
pub mod manhunt {
    trestle::model!("../../models/manhunt.toml");
}
/// Layers with heads, and indexes that show little.
pub mod klayers {
    trestle::model!("../../models/klayers.toml");
}
/// Many tables, sets and heads.
pub mod warehouse {
    trestle::model!("../../models/warehouse.toml");
}
/// Many entities in one partition.
pub mod littlehorse {
    trestle::model!("../../models/littlehorse.toml");
}
/// Scans.
pub mod reindexer {
    trestle::model!("../../models/reindexer.toml");
}
