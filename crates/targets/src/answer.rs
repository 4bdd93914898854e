//! The meaning of an HTTP exchange for a batch, for all targets.

use trestle_events::Outcome;
use trestle_http_client::Failure;

/// How much of an answer's text is kept as a reason.
const REASON_BYTES_MAX: usize = 300;

/// There was no answer. If nothing was sent, no record can be the reason; otherwise one may be.
pub(crate) fn no_answer(failure: &Failure) -> Outcome {
    if failure.kind.may_have_arrived() {
        Outcome::Failed(failure.to_string())
    } else {
        Outcome::Unavailable(failure.to_string())
    }
}

/// The beginning of what an answer says.
pub(crate) fn beginning(body: &[u8]) -> String {
    let said = body.get(..REASON_BYTES_MAX).unwrap_or(body);
    String::from_utf8_lossy(said).trim().to_owned()
}
