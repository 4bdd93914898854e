//! Whether everything in storage agrees: items, index rows, change records, expiry entries, counts and definitions.
//!
//! Every space is read once, in order. While the items go by, what should be in the indexes and among the expiry
//! entries is added up into sums that do not depend on order ([`tally`]); while those spaces go by, what is there is
//! added up the same way. Equal sums need no second look. Only where they differ are the rows looked up one by one, to
//! name each that is wrong. So memory does not grow with the data, and sound data costs no random reads.

mod changes;
mod counts;
mod expiries;
mod history;
mod indexes;
mod items;
mod known;
mod report;
mod tally;

use trestle_store::{Snapshot, StoreError};

use known::Known;
use report::Reporter;
pub use report::{Disagreement, DisagreementKind, Summary, Watcher};

/// Walks everything that a snapshot holds and tells the watcher of every disagreement.
///
/// Fails only when the store cannot be read.
pub fn verify(snapshot: &dyn Snapshot, watcher: &mut dyn Watcher) -> Result<Summary, StoreError> {
    let mut reporter = Reporter::new(watcher);
    let known = Known::read(snapshot, &mut reporter)?;
    let expected = items::walk(snapshot, &known, &mut reporter)?;
    indexes::check(snapshot, &known, &expected, &mut reporter)?;
    expiries::check(snapshot, &known, &expected, &mut reporter)?;
    let records = changes::check(snapshot, &known, &mut reporter)?;
    history::check(snapshot, &known, records, &mut reporter)?;
    counts::check(&known, &expected, &mut reporter);
    Ok(reporter.finish())
}
