//! The models of five systems, as clients.

/// Contacts, methods, searches and attempts in one table.
pub(crate) mod manhunt {
    trestle::model!("../../models/manhunt.toml");
}
/// Layers with heads, and indexes that show little.
pub(crate) mod klayers {
    trestle::model!("../../models/klayers.toml");
}
/// Many tables, sets and heads.
pub(crate) mod warehouse {
    trestle::model!("../../models/warehouse.toml");
}
/// Many entities in one partition.
pub(crate) mod littlehorse {
    trestle::model!("../../models/littlehorse.toml");
}
/// Scans.
pub(crate) mod reindexer {
    trestle::model!("../../models/reindexer.toml");
}
/// Features that the five lack: unique values, and attributes of every type.
pub(crate) mod members {
    trestle::model!("tests/models/members.toml");
}
/// Routes in the model's own file.
pub(crate) mod tickets {
    trestle::model!("tests/models/tickets.toml");
}
/// Counts and copies that the database keeps.
pub(crate) mod shop {
    trestle::model!("tests/models/shop.toml");
}
/// Rows that are found by the members of a set, of a list and of a map.
pub(crate) mod runs {
    trestle::model!("tests/models/runs.toml");
}
/// Heads that follow a row, and its history.
pub(crate) mod releases {
    trestle::model!("tests/models/releases.toml");
}
/// Rows that refer to large values.
pub(crate) mod registry {
    trestle::model!("tests/models/registry.toml");
}
