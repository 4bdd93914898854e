//! Calls that raise versions of rows, for a reindex of another process.

use super::collections::failure;
use trestle_admin::{AdminError, ReindexVersionSet, SetReindexVersion, TouchPage, TouchedRows};
use trestle_api::Wait;
use trestle_binding::BindError;
use trestle_embedded::Models;
use trestle_reindex::Touch;

/// Answers [`TouchPage`].
pub(crate) fn touch(rows_here: &dyn Touch, call: TouchPage) -> Result<TouchedRows, AdminError> {
    if call.keys.len() > TouchPage::ROWS_MAX {
        return Err(AdminError::invalid(format!(
            "`keys` names {} rows: {} are the most of one call. Make several calls",
            call.keys.len(),
            TouchPage::ROWS_MAX
        )));
    }
    let touched = rows_here.touch(call.into()).wait();
    touched.map(TouchedRows::from).map_err(failure)
}

/// Answers [`SetReindexVersion`].
pub(crate) fn set_version(models: &Models, call: SetReindexVersion) -> Result<ReindexVersionSet, AdminError> {
    let set = models.set_version_in_force(&call.table, call.entity.as_deref(), call.version);
    set.map_err(|error| match error {
        BindError::Database(error) => failure(error),
        other => other.into(),
    })?;
    Ok(ReindexVersionSet { table: call.table })
}
