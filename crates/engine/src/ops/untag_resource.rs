//! `UntagResource`.

use trestle_api::{UntagResource, UntagResourceOutput};

use super::tag_resource::{check_arn, tagged};
use crate::catalog::Table;
use crate::completion::Completion;
use crate::{Engine, ops};

pub(crate) fn run(engine: &Engine, request: UntagResource) -> Completion {
    if let Err(error) = check_arn(&request.resource_arn) {
        return Completion::Ready(Err(error));
    }
    ops::write(engine, move |transaction| {
        let mut table = Table::clone(&*tagged(transaction.catalog(), &request.resource_arn)?);
        table.tags.retain(|key, _| !request.tag_keys.contains(key));
        transaction.put_table(table)?;
        Ok(UntagResourceOutput {})
    })
}
