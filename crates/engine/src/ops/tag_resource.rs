//! `TagResource`, and the common part of the three operations on tags.

use std::sync::Arc;

use trestle_api::{Error, Tag, TagResource, TagResourceOutput, table_name};

use crate::catalog::{Catalog, Table};
use crate::completion::Completion;
use crate::{Engine, ops};

/// A table may have this many tags.
const TAGS_MAX: usize = 50;
/// The longest key of a tag, in UTF-16 units.
const KEY_LENGTH_MAX: usize = 128;
/// The longest value of a tag, in UTF-16 units.
const VALUE_LENGTH_MAX: usize = 256;

pub(crate) fn run(engine: &Engine, request: TagResource) -> Completion {
    if let Err(error) = check(&request) {
        return Completion::Ready(Err(error));
    }
    ops::write(engine, move |transaction| {
        let table = tagged(transaction.catalog(), &request.resource_arn)?;
        let mut changed = Table::clone(&table);
        changed
            .tags
            .extend(request.tags.into_iter().map(|tag| (tag.key, tag.value)));
        check_count(changed.tags.len())?;
        transaction.put_table(changed)?;
        Ok(TagResourceOutput {})
    })
}

fn check(request: &TagResource) -> Result<(), Error> {
    check_arn(&request.resource_arn)?;
    if request.tags.is_empty() {
        return Err(Error::validation(
            "Atleast one Tag needs to be provided as Input.",
        ));
    }
    check_tags(&request.tags)
}

fn check_count(tags: usize) -> Result<(), Error> {
    if tags > TAGS_MAX {
        return Err(Error::validation(
            "Number of Tags exceed the current limit for the provided ResourceArn",
        ));
    }
    Ok(())
}

/// Refuses too many tags, duplicate or reserved keys, and invalid texts.
pub(crate) fn check_tags(tags: &[Tag]) -> Result<(), Error> {
    check_count(tags.len())?;
    for (at, Tag { key, value }) in tags.iter().enumerate() {
        check_key(key)?;
        if key.starts_with("aws:") {
            return Err(Error::validation(format!(
                "Tag Key cannot be prefixed with aws:, Key: {key}"
            )));
        }
        if !is_tag_text(value, VALUE_LENGTH_MAX) {
            return Err(Error::validation(format!(
                "The Tag Value provided is invalid, Value: {value}"
            )));
        }
        if tags.iter().take(at).any(|other| other.key == *key) {
            return Err(Error::validation(format!(
                "Duplicate Tag Keys provided as input: Duplicate Tag Key found {key}"
            )));
        }
    }
    Ok(())
}

/// Refuses an empty list, too many keys, and invalid keys.
pub(crate) fn check_keys(keys: &[String]) -> Result<(), Error> {
    if keys.is_empty() {
        return Err(Error::validation(
            "Atleast one Tag Key needs to be provided as Input.",
        ));
    }
    check_count(keys.len())?;
    keys.iter().try_for_each(|key| check_key(key))
}

fn check_key(key: &str) -> Result<(), Error> {
    if key.is_empty() || !is_tag_text(key, KEY_LENGTH_MAX) {
        return Err(Error::validation(format!(
            "The Tag Key provided is invalid, Key: {key}"
        )));
    }
    Ok(())
}

/// DynamoDB counts UTF-16 units.
fn is_tag_text(text: &str, length_max: usize) -> bool {
    text.encode_utf16().count() <= length_max && text.chars().all(is_allowed)
}

fn is_allowed(character: char) -> bool {
    character.is_alphanumeric()
        || (character.is_whitespace() && !character.is_control())
        || "+-=._:/@".contains(character)
}

/// Refuses everything except the ARN of a table.
pub(crate) fn check_arn(arn: &str) -> Result<(), Error> {
    if !arn.starts_with("arn:") {
        return Err(Error::invalid_parameter(format!(
            "ARNs must start with 'arn:': {arn}"
        )));
    }
    match arn.split_once(":table/").map(|(_, name)| name.split_once('/')) {
        Some(None) if !arn.ends_with(":table/") => Ok(()),
        Some(Some((_, rest))) if rest.starts_with("index/") => Err(Error::invalid_parameter(format!(
            "Invalid resource arn provided, only table or stream is accepted. Provided resource arn: {arn}"
        ))),
        _ => Err(Error::validation(format!(
            "Invalid TableArn: Invalid ResourceArn provided as input {arn}"
        ))),
    }
}

/// The table with this ARN. An unknown table gets the error for one of another account.
pub(crate) fn tagged(catalog: &Catalog, arn: &str) -> Result<Arc<Table>, Error> {
    catalog.tables.get(table_name(arn)).cloned().ok_or_else(|| {
        Error::access_denied(format!(
            "User is not authorized to perform this operation on resource: {arn} because it does not exist"
        ))
    })
}
