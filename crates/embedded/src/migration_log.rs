//! Log lines about migrations.

use trestle_binding::{MigrationStatus, counted};

use trestle_models::Models;

/// Logs which migrations continue.
pub(crate) fn under_way(models: &Models) {
    let migrations = models.migrations().into_iter();
    migrations
        .filter(|status| status.state.is_under_way())
        .for_each(|status| changed(&status));
}

/// Logs that a migration changed its state, or an error.
pub(crate) fn changed(status: &MigrationStatus) {
    let MigrationStatus {
        model,
        state,
        rows_moved,
        ..
    } = status;
    match (&status.error, status.stuck.shown.first()) {
        (Some(error), _) => tracing::error!("migration of model {model}: {error}; it is tried again"),
        (None, Some(stuck)) if status.held_up => tracing::warn!(
            "migration of model {model} is held up: {} cannot move, the first in table {}: {}: {}",
            counted(status.stuck.rows, "row", "rows"),
            stuck.table,
            stuck.key,
            stuck.reason
        ),
        _ => tracing::info!(
            "migration of model {model} is {state}; {} moved",
            counted(*rows_moved, "row", "rows")
        ),
    }
}
