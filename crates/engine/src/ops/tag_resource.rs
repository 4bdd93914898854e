//! `TagResource`, and what the three operations on tags share.

use std::sync::Arc;

use trestle_api::{Error, Tag, TagResource, TagResourceOutput, table_name};

use crate::catalog::{Catalog, Table};
use crate::completion::Completion;
use crate::{Engine, ops};

/// A table may have this many tags.
const TAGS_MAX: usize = 50;

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
        return Err(Error::invalid_parameter(format!(
            "A table can have up to {TAGS_MAX} tags"
        )));
    }
    Ok(())
}

/// Refuses too many tags, keys that are named twice or reserved, and characters that no tag has.
pub(crate) fn check_tags(tags: &[Tag]) -> Result<(), Error> {
    check_count(tags.len())?;
    for (at, tag) in tags.iter().enumerate() {
        if tag.key.starts_with("aws:") {
            return Err(Error::validation(
                "One or more parameter values were invalid: Tag keys starting with 'aws:' are reserved",
            ));
        }
        for (what, text) in [("key", &tag.key), ("value", &tag.value)] {
            if !text.chars().all(is_allowed) {
                return Err(Error::invalid_parameter(format!(
                    "The tag {what} {text} has a character that is not allowed. Allowed are letters, digits, spaces and \
                     + - = . _ : / @"
                )));
            }
        }
        if tags.iter().take(at).any(|other| other.key == tag.key) {
            return Err(Error::invalid_parameter(format!(
                "Duplicate tag keys: {}",
                tag.key
            )));
        }
    }
    Ok(())
}

fn is_allowed(character: char) -> bool {
    character.is_alphanumeric()
        || (character.is_whitespace() && !character.is_control())
        || "+-=._:/@".contains(character)
}

/// Refuses what is not the ARN of a table; that of an index or a stream is none.
pub(crate) fn check_arn(arn: &str) -> Result<(), Error> {
    let table = arn
        .strip_prefix("arn:")
        .and_then(|rest| Some(rest.split_once(":table/")?.1));
    if table.is_some_and(|name| !name.is_empty() && !name.contains('/')) {
        return Ok(());
    }
    Err(Error::validation(format!(
        "Invalid TableArn: Invalid ResourceArn provided as input {arn}"
    )))
}

/// The table with this ARN. An unknown one is answered as one of another account.
pub(crate) fn tagged(catalog: &Catalog, arn: &str) -> Result<Arc<Table>, Error> {
    catalog.tables.get(table_name(arn)).cloned().ok_or_else(|| {
        Error::access_denied(format!(
            "User is not authorized to perform this operation on resource: {arn} because it does not exist"
        ))
    })
}
