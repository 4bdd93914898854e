//! `TagResource`, and what the three operations on tags share.

use std::sync::Arc;

use trestle_api::{Error, Tag, TagResource, TagResourceOutput, table_name};

use crate::catalog::{Catalog, Table};
use crate::completion::Completion;
use crate::{Engine, ops};

/// A table may have this many tags.
const TAGS_MAX: usize = 50;

pub(crate) fn run(engine: &Engine, request: TagResource) -> Completion {
    if let Err(error) = check_tags(&request.tags).and_then(|()| check_arn(&request.resource_arn)) {
        return Completion::Ready(Err(error));
    }
    ops::write(engine, move |transaction| {
        let table = tagged(transaction.catalog(), &request.resource_arn)?;
        let mut changed = Table::clone(&table);
        changed
            .tags
            .extend(request.tags.into_iter().map(|tag| (tag.key, tag.value)));
        if changed.tags.len() > TAGS_MAX {
            return Err(Error::limit_exceeded(format!(
                "A table can have up to {TAGS_MAX} tags"
            )));
        }
        transaction.put_table(changed)?;
        Ok(TagResourceOutput {})
    })
}

/// Refuses tags that name a key twice, and keys that are reserved.
pub(crate) fn check_tags(tags: &[Tag]) -> Result<(), Error> {
    for (at, tag) in tags.iter().enumerate() {
        if tag.key.starts_with("aws:") {
            return Err(Error::validation(
                "One or more parameter values were invalid: Tag keys starting with 'aws:' are reserved",
            ));
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

/// Refuses what is not the ARN of a table.
pub(crate) fn check_arn(arn: &str) -> Result<(), Error> {
    if arn.starts_with("arn:") && arn.contains(":table/") {
        return Ok(());
    }
    Err(Error::invalid_parameter(format!(
        "Invalid TableArn: Invalid ResourceArn provided as input {arn}"
    )))
}

/// The table with this ARN. DynamoDB answers for an unknown one as for somebody else's.
pub(crate) fn tagged(catalog: &Catalog, arn: &str) -> Result<Arc<Table>, Error> {
    catalog.tables.get(table_name(arn)).cloned().ok_or_else(|| {
        Error::access_denied(format!(
            "User is not authorized to perform this operation on resource: {arn} because it does not exist"
        ))
    })
}
