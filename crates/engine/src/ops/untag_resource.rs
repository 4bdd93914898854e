//! `UntagResource`.

use trestle_api::{Error, UntagResource, UntagResourceOutput};

use super::tag_resource::{check_arn, check_keys, tagged};
use crate::catalog::Table;
use crate::completion::Completion;
use crate::{Engine, ops};

pub(crate) fn run(engine: &Engine, request: UntagResource) -> Completion {
    if let Err(error) = check(&request) {
        return Completion::Ready(Err(error));
    }
    ops::write(engine, move |transaction| {
        let mut table = Table::clone(&*tagged(transaction.catalog(), &request.resource_arn)?);
        table.tags.retain(|key, _| !request.tag_keys.contains(key));
        transaction.put_table(table)?;
        Ok(UntagResourceOutput {})
    })
}

fn check(request: &UntagResource) -> Result<(), Error> {
    check_arn(&request.resource_arn)?;
    check_keys(&request.tag_keys)
}
