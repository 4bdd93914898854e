//! The call that deletes a collection, on a database in this process; and its answer, which commands also
//! print.

use std::collections::BTreeMap;

use serde_json::Value;
use trestle_admin::{AdminError, DeleteCollection, DeletedRows, StayingRow};
use trestle_api::{Error, ErrorKind, Wait};
use trestle_collection::{CollectionRows, CollectionStep, StepBounds, parameters};
use trestle_embedded::Embedded;
use trestle_item::{AttributeValue, Number};

/// The maximum number of rows and bytes of one call, which holds the keys of that many rows in memory.
const ROWS_MAX: u32 = 10_000;
const BYTES_MAX: u64 = 64 << 20;

/// Makes one step.
pub(crate) fn answer(db: &Embedded, call: DeleteCollection) -> Result<DeletedRows, AdminError> {
    let bounds = bounds(&call)?;
    let after = call.after.clone().map(Into::into);
    let (dry_run, after) = (call.dry_run, after.as_ref());
    let step = |rows: &CollectionRows<'_>| match dry_run {
        true => rows.count(db, after, bounds).wait(),
        false => rows.delete(db, after, bounds).wait(),
    };
    let step = match named(call)? {
        Named::Partition {
            table,
            partition,
            prefix,
        } => {
            let rows = CollectionRows::of_partition(db, &table, partition).wait();
            let rows = match prefix {
                Some(prefix) => rows.and_then(|rows| rows.beginning_with(prefix.into())),
                None => rows,
            };
            step(&rows.map_err(failure)?)
        }
        Named::Access { model, access, given } => {
            let model = db.models().model(&model)?;
            let given = parameters(&model, &access, given).map_err(failure)?;
            step(&CollectionRows::of_access(&model, &access, &given).map_err(failure)?)
        }
    };
    deleted(step.map_err(failure)?, dry_run)
}

/// How a call specifies the rows.
enum Named {
    Partition {
        table: String,
        partition: AttributeValue,
        prefix: Option<String>,
    },
    Access {
        model: String,
        access: String,
        given: Vec<(String, AttributeValue)>,
    },
}

fn named(call: DeleteCollection) -> Result<Named, AdminError> {
    let plain = call.prefix.is_some() || call.table.is_some() || call.partition.is_some();
    let modelled = call.model.is_some() || call.access.is_some() || !call.parameters.is_empty();
    match (call.table, call.partition, call.model, call.access) {
        (Some(table), Some(partition), None, None) if !modelled => Ok(Named::Partition {
            table,
            partition: key_value(partition)?,
            prefix: call.prefix,
        }),
        (None, None, Some(model), Some(access)) if !plain => Ok(Named::Access {
            model,
            access,
            given: values(call.parameters)?,
        }),
        _ => Err(AdminError::invalid(
            "name the rows by `table` and `partition`, with or without `prefix`, or by `model`, `access` and `where`",
        )),
    }
}

fn key_value(given: Value) -> Result<AttributeValue, AdminError> {
    match given {
        Value::String(text) => Ok(AttributeValue::S(text)),
        Value::Number(given) => number(&given),
        _ => Err(AdminError::invalid("`partition` is a text or a number")),
    }
}

/// Parameters of an access pattern out of a call.
pub(super) fn values(given: BTreeMap<String, Value>) -> Result<Vec<(String, AttributeValue)>, AdminError> {
    let value = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, AttributeValue::S(text))),
        Value::Number(given) => Ok((name, number(&given)?)),
        Value::Bool(truth) => Ok((name, AttributeValue::Bool(truth))),
        _ => Err(AdminError::invalid(format!(
            "`where`: {name} is neither a text nor a number nor a truth value"
        ))),
    };
    given.into_iter().map(value).collect()
}

fn number(given: &serde_json::Number) -> Result<AttributeValue, AdminError> {
    let parsed = Number::parse(&given.to_string()).map(AttributeValue::N);
    parsed.map_err(|error| AdminError::invalid(error.to_string()))
}

fn bounds(call: &DeleteCollection) -> Result<StepBounds, AdminError> {
    let usual = StepBounds::default();
    let bounds = StepBounds {
        rows: call.rows.unwrap_or(usual.rows),
        bytes: call.bytes.unwrap_or(usual.bytes),
    };
    if !(1..=ROWS_MAX).contains(&bounds.rows) || !(1..=BYTES_MAX).contains(&bounds.bytes) {
        return Err(AdminError::invalid(format!(
            "a step has 1 to {ROWS_MAX} `rows` and 1 to {BYTES_MAX} `bytes`"
        )));
    }
    Ok(bounds)
}

/// A step as an answer.
pub(crate) fn deleted(step: CollectionStep, dry_run: bool) -> Result<DeletedRows, AdminError> {
    let staying = step.left.into_iter().map(|row| {
        let key = serde_json::to_value(&row.key).map_err(AdminError::failed)?;
        Ok(StayingRow {
            key,
            reason: row.reason,
        })
    });
    Ok(DeletedRows {
        deleted: step.rows,
        dry_run,
        bytes: step.bytes,
        left: staying.collect::<Result<_, AdminError>>()?,
        done: step.next.is_none(),
        next: step.next.map(|next| next.to_string()),
    })
}

pub(super) fn failure(error: Error) -> AdminError {
    match error.kind() {
        ErrorKind::Validation => AdminError::invalid(error.message()),
        ErrorKind::ResourceNotFound => AdminError::not_found(error.message()),
        _ => AdminError::failed(error),
    }
}
