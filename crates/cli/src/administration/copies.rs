//! Calls for copies of tables, on a database in this process.

use std::time::Duration;

use serde_json::Value;
use trestle_admin::{
    AdminError, PauseWrites, PausedTableList, PausedTableStatus, ResumeWrites, WriteKeptRows,
};
use trestle_api::{Database as _, Error, ErrorKind, OperationName, Wait};
use trestle_embedded::Embedded;
use trestle_env::Timestamp;
use trestle_model::{KEPT_ABOUT_ROWS, is_kept_about_rows};

/// Answers [`PauseWrites`].
pub(crate) fn pause(db: &Embedded, call: &PauseWrites) -> Result<PausedTableList, AdminError> {
    let time = call.seconds.map(Duration::try_from_secs_f64).transpose();
    let time = time.map_err(|error| AdminError::invalid(format!("seconds: {error}")))?;
    db.pause_writes(&call.tables, time).map_err(failure)?;
    if !call.tables.is_empty() {
        let tables = call.tables.join(", ");
        match time {
            Some(time) => tracing::info!("writing is paused for {time:?}: {tables}"),
            None => tracing::warn!("writing is paused until resume-writes: {tables}"),
        }
    }
    Ok(paused(db))
}

/// Answers [`ResumeWrites`].
pub(crate) fn resume(db: &Embedded, call: &ResumeWrites) -> Result<PausedTableList, AdminError> {
    db.resume_writes(&call.tables).map_err(failure)?;
    if !call.tables.is_empty() {
        tracing::info!("rows are written again: {}", call.tables.join(", "));
    }
    Ok(paused(db))
}

/// All tables whose writes are paused.
pub(crate) fn paused(db: &Embedded) -> PausedTableList {
    let tables = db.paused_tables().into_iter();
    PausedTableList {
        tables: tables
            .map(|paused| PausedTableStatus {
                table: paused.name,
                until_ms: paused.until.map(Timestamp::as_millis),
            })
            .collect(),
    }
}

/// Answers [`WriteKeptRows`].
pub(crate) fn write(db: &Embedded, call: WriteKeptRows) -> Result<Value, AdminError> {
    let operation: OperationName = call.operation.parse().map_err(failure)?;
    let request = trestle_wire::read_request(operation, call.request.to_string().as_bytes())
        .map_err(|error| AdminError::invalid(format!("request: {error}")))?;
    let is_known = matches!(
        operation,
        OperationName::CreateTable | OperationName::UpdateTable | OperationName::BatchWriteItem
    );
    let is_kept = is_known && request.own_table_written().is_some_and(is_kept_about_rows);
    if !is_kept {
        return Err(AdminError::invalid(format!(
            "CreateTable, UpdateTable and BatchWriteItem of {} are what this call takes",
            KEPT_ABOUT_ROWS.join(", ")
        )));
    }
    let answer = db.for_copy().execute(request).wait().map_err(failure)?;
    serde_json::to_value(answer).map_err(AdminError::failed)
}

fn failure(error: Error) -> AdminError {
    match error.kind() {
        ErrorKind::Validation | ErrorKind::UnknownOperation => AdminError::invalid(error.message()),
        ErrorKind::ResourceNotFound => AdminError::not_found(error.message()),
        _ => AdminError::failed(error),
    }
}
