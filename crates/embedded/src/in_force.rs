//! While a stored model does not load, no model is enforced, and clients write nothing: their rows would lack what
//! follows from them. Reads go on.

use trestle_api::{Access, Error, Request};

use crate::models::Models;

/// Refuses a request that would write while a stored model does not load.
pub(crate) fn refuse_writes(models: &Models, request: &Request) -> Result<(), Error> {
    if models.are_in_force() || !is_write(request) {
        return Ok(());
    }
    match models.why_not_in_force() {
        Some(why) => Err(Error::validation(format!("Nothing is written for now: {why}"))),
        // They came into force in this moment.
        None => Ok(()),
    }
}

fn is_write(request: &Request) -> bool {
    match request.access() {
        Access::Read => false,
        Access::Write => true,
        Access::Statements(texts) => texts.into_iter().any(is_writing_statement),
    }
}

/// A statement that cannot be read is the engine's to refuse.
fn is_writing_statement(text: &str) -> bool {
    trestle_partiql::parse(text).is_ok_and(|parsed| !parsed.is_read())
}
