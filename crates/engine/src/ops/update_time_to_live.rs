//! `UpdateTimeToLive`.

use trestle_api::{Error, UpdateTimeToLive, UpdateTimeToLiveOutput, table_name};

use crate::catalog::{Table, Ttl};
use crate::completion::Completion;
use crate::transaction::Transaction;
use crate::{Engine, ops};

pub(crate) fn run(engine: &Engine, request: UpdateTimeToLive) -> Completion {
    if request.time_to_live_specification.attribute_name.is_empty() {
        return Completion::Ready(Err(Error::validation(
            "TimeToLive AttributeName must not be empty",
        )));
    }
    ops::write(engine, move |transaction| update(transaction, request))
}

fn update(
    transaction: &mut Transaction<'_>,
    request: UpdateTimeToLive,
) -> Result<UpdateTimeToLiveOutput, Error> {
    let name = table_name(&request.table_name);
    let wanted = request.time_to_live_specification;
    let now = transaction.now();
    let table = transaction
        .catalog()
        .tables
        .get(name)
        .filter(|table| table.serves(now))
        .ok_or_else(|| Error::table_not_found(name))?;
    let ttl = match (&table.ttl, wanted.enabled) {
        (Some(_), true) => return Err(Error::validation("TimeToLive is already enabled")),
        (None, false) => return Err(Error::validation("TimeToLive is already disabled")),
        (Some(current), false) if current.attribute != wanted.attribute_name => {
            return Err(Error::validation(
                "TimeToLive is active on a different AttributeName: current AttributeName is ".to_owned()
                    + &current.attribute,
            ));
        }
        (Some(_), false) => None,
        (None, true) => Some(Ttl {
            attribute: wanted.attribute_name.clone(),
            backfill_from: Some(Vec::new()),
        }),
    };
    let table = Table {
        ttl,
        ..Table::clone(table)
    };
    if table.ttl.is_none() {
        transaction.drop_expiry(table.id);
    }
    transaction.put_table(table)?;
    Ok(UpdateTimeToLiveOutput {
        time_to_live_specification: wanted,
    })
}
