//! Attributes of the router's own rows. The router wrote them, so a missing or unreadable one is damage: it is reported
//! with the row's key, and no value is assumed in its place.

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_item::{AttributeValue, Item};

use super::TABLE;
use crate::sequence::SequenceNumber;

/// The error for a row with unexpected content.
pub(super) fn damaged(row: &Item, attribute: &str) -> Error {
    let key = |name: &str| row.get(name).and_then(AttributeValue::as_s).unwrap_or("?");
    Error::internal(format!(
        "The row with pk `{}` and sk `{}` of the table {TABLE} is damaged: its attribute `{attribute}` is missing or \
         cannot be read. Restore the database from a backup; until then the route stops, so that no change is lost \
         or delivered twice",
        key("pk"),
        key("sk"),
    ))
}

pub(super) fn text<'r>(row: &'r Item, name: &str) -> Result<&'r str, Error> {
    optional_text(row, name)?.ok_or_else(|| damaged(row, name))
}

pub(super) fn optional_text<'r>(row: &'r Item, name: &str) -> Result<Option<&'r str>, Error> {
    match row.get(name) {
        None => Ok(None),
        Some(value) => value.as_s().map(Some).ok_or_else(|| damaged(row, name)),
    }
}

pub(super) fn number(row: &Item, name: &str) -> Result<u64, Error> {
    optional_number(row, name)?.ok_or_else(|| damaged(row, name))
}

pub(super) fn optional_number(row: &Item, name: &str) -> Result<Option<u64>, Error> {
    let Some(value) = row.get(name) else {
        return Ok(None);
    };
    let number = value
        .as_n()
        .and_then(|number| u64::try_from(number.to_i64()?).ok());
    number.map(Some).ok_or_else(|| damaged(row, name))
}

pub(super) fn time(row: &Item, name: &str) -> Result<Timestamp, Error> {
    number(row, name).map(Timestamp::from_millis)
}

pub(super) fn flag(row: &Item, name: &str) -> Result<bool, Error> {
    let flag = row.get(name).and_then(|value| value.as_bool());
    flag.ok_or_else(|| damaged(row, name))
}

/// A sequence number; `None` if the row has none.
pub(super) fn sequence(row: &Item, name: &str) -> Result<Option<SequenceNumber>, Error> {
    let Some(text) = optional_text(row, name)? else {
        return Ok(None);
    };
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(damaged(row, name));
    }
    Ok(Some(SequenceNumber::new(text)))
}
