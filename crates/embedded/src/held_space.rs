//! How much of the change log is kept for routes beyond the retention, for programs and the router.

use std::sync::Arc;

use trestle_engine::HeldChanges;
use trestle_env::Timestamp;
use trestle_events::HeldSpace;

use crate::Embedded;
use crate::internal::Internal;

impl HeldSpace for Internal {
    fn held_bytes(&self, table: &str) -> u64 {
        let held = self.0.engine.held_changes();
        let of_table = held.tables.iter().find(|held| held.table == table);
        of_table.map_or(0, |held| held.bytes)
    }

    fn held_bytes_in_all(&self) -> u64 {
        self.0.engine.held_changes().bytes()
    }

    fn held_bytes_max(&self) -> u64 {
        self.0.engine.held_changes().bytes_max
    }

    fn given_up_before(&self) -> Timestamp {
        self.0.engine.changes_given_up_before()
    }
}

impl Embedded {
    /// How much of the change log is older than the retention and kept because routes have not delivered it.
    #[must_use]
    pub fn held_changes(&self) -> Arc<HeldChanges> {
        self.opened().engine.held_changes()
    }
}
