//! While a stored model does not load, no model is enforced, and clients write nothing: their rows would lack what
//! follows from them. Reads go on.

use trestle_api::{Error, Request};

use trestle_models::Models;

/// Refuses a request that would write while a stored model does not load.
pub(crate) fn refuse_writes(models: &Models, request: &Request) -> Result<(), Error> {
    if models.are_in_force() || !request.access().writes(trestle_partiql::is_write) {
        return Ok(());
    }
    refuse_while_not(models)
}

/// Refuses any write while a stored model does not load.
pub(crate) fn refuse_while_not(models: &Models) -> Result<(), Error> {
    if models.are_in_force() {
        return Ok(());
    }
    match models.why_not_in_force() {
        Some(why) => Err(Error::validation(format!("Nothing is written for now: {why}"))),
        // They came into force in this moment.
        None => Ok(()),
    }
}
