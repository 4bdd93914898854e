//! Calls that preview something: what a write would change, what a route would take, which model the rows of
//! a table suggest.

use super::routes::Routes;
use crate::database::Database;
use crate::exit::Code;
use crate::model;
use trestle_admin::{
    AdminError, AdminErrorCode, InferModel, PreviewWrite, ProposedModel, RowPreview, TriedRoute, TryRoute,
    WritePreview,
};
use trestle_api::{Error, ErrorKind, OperationName, Record, Request};
use trestle_embedded::{Embedded, PreviewedRow};
use trestle_env::Timestamp;
use trestle_events::{ChangeEvent, Destination, Route, taken};
use trestle_item::Item;
use trestle_wire::decode;

/// Rows of a preview that are shown.
const ROWS_SHOWN: usize = 100;
/// How many changes a route is tried on, and how many of them are shown.
const CHANGES_TRIED: usize = 1000;
const CHANGES_SHOWN: usize = 100;
/// The default and maximum number of rows from which a model is inferred: they are kept in memory.
const ROWS_INFERRED: u32 = 100_000;
const ROWS_INFERRED_MAX: u32 = 1_000_000;

/// Answers [`PreviewWrite`] with the preview of a database.
pub(super) fn write(
    call: &PreviewWrite,
    preview: impl FnOnce(Request) -> Result<Vec<PreviewedRow>, Error>,
) -> Result<WritePreview, AdminError> {
    let operation: OperationName = call.operation.parse().map_err(failure)?;
    let body = serde_json::to_vec(&call.request).map_err(AdminError::failed)?;
    let request = decode(operation, &body).map_err(failure)?;
    let rows = preview(request).map_err(failure)?;
    Ok(WritePreview {
        total: rows.len() as u64,
        rows: rows
            .into_iter()
            .take(ROWS_SHOWN)
            .map(row)
            .collect::<Result<_, _>>()?,
    })
}

fn row(row: PreviewedRow) -> Result<RowPreview, AdminError> {
    let json = |item: Item| serde_json::to_value(item).map_err(AdminError::failed);
    Ok(RowPreview {
        table: row.table,
        key: json(row.key)?,
        before: row.before.map(json).transpose()?,
        after: row.after.map(json).transpose()?,
    })
}

/// Answers [`TryRoute`].
pub(super) fn route(db: &Embedded, routes: &Routes, call: TryRoute) -> Result<TriedRoute, AdminError> {
    let route = asked(routes, call)?;
    let changes = db.recent_changes(&route.table, CHANGES_TRIED).map_err(failure)?;
    let looked_at = changes.len() as u64;
    let since = changes.first().and_then(|change| at(&change.record));
    let records = changes.into_iter().map(|change| (change.shard, change.record));
    let taken = taken(&route, &*routes.sources().typer, records).map_err(AdminError::invalid)?;
    let newest = taken.iter().rev().take(CHANGES_SHOWN);
    Ok(TriedRoute {
        looked_at,
        since_ms: since.map(Timestamp::as_millis),
        taken: taken.len() as u64,
        changes: newest.map(|change| change.to_json()).collect(),
        events: route.events.iter().map(|event| event.name().to_owned()).collect(),
        entities: route.entities,
        changed: route.changed,
        pattern: route.pattern,
        table: route.table,
    })
}

fn at(record: &Record) -> Option<Timestamp> {
    let at = record.dynamodb.approximate_creation_date_time?;
    Some(Timestamp::from_millis(at.to_millis()))
}

/// The route that a call names or describes.
fn asked(routes: &Routes, call: TryRoute) -> Result<Route, AdminError> {
    let TryRoute {
        route,
        table,
        entities,
        events,
        changed,
        pattern,
    } = call;
    let describes = !entities.is_empty() || !events.is_empty() || !changed.is_empty() || pattern.is_some();
    match (route, table) {
        (Some(name), None) if !describes => {
            let mut known = routes.router().routes().into_iter();
            let found = known.find(|route| route.name == name);
            found.ok_or_else(|| AdminError::not_found(format!("there is no route `{name}`")))
        }
        (None, Some(table)) => Ok(Route {
            // As in a route file: a filter on changed attributes means modifications.
            events: match events.is_empty() && !changed.is_empty() {
                true => vec![ChangeEvent::Modify],
                false => events.iter().map(|name| event(name)).collect::<Result<_, _>>()?,
            },
            entities,
            changed,
            pattern,
            ..Route::new("tried", &table, Destination::default())
        }),
        _ => Err(AdminError::invalid(
            "give `route` and nothing else, or `table` with what to take of its changes",
        )),
    }
}

fn event(name: &str) -> Result<ChangeEvent, AdminError> {
    ChangeEvent::from_name(name).ok_or_else(|| {
        let names = ChangeEvent::ALL.map(ChangeEvent::name).join(", ");
        AdminError::invalid(format!("there is no event `{name}`; there is {names}"))
    })
}

/// Answers [`InferModel`].
pub(super) fn model(db: &Embedded, call: &InferModel) -> Result<ProposedModel, AdminError> {
    let database = Database::Directory(db.clone());
    let most = call.rows.unwrap_or(ROWS_INFERRED);
    if !(1..=ROWS_INFERRED_MAX).contains(&most) {
        return Err(AdminError::invalid(format!(
            "`rows` is a number from 1 to {ROWS_INFERRED_MAX}"
        )));
    }
    let inferred =
        model::propose(&database, &call.table, most, false).map_err(|failure| match failure.code {
            Code::Usage => AdminError::not_found(failure.message),
            _ => AdminError::failed(failure.message),
        })?;
    Ok(ProposedModel {
        text: inferred.proposal.text,
        notes: inferred.proposal.notes,
        rows: inferred.read as u64,
        complete: inferred.complete,
    })
}

/// The write would be refused, or something named in the call does not exist.
fn failure(error: Error) -> AdminError {
    let code = match error.kind() {
        ErrorKind::Validation | ErrorKind::UnknownOperation => AdminErrorCode::Invalid,
        ErrorKind::ResourceNotFound => AdminErrorCode::NotFound,
        ErrorKind::ConditionalCheckFailed => AdminErrorCode::Refused,
        _ => AdminErrorCode::Failed,
    };
    AdminError::new(code, error.message())
}
