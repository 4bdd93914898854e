//! Checks that everything in storage agrees: items, index rows, change records, expiry entries, counts and
//! definitions.
//!
//! Every space is read once, in order. The walk over the items adds up what should be in the indexes and
//! among the expiry entries, as sums that do not depend on order ([`tally`]); the walks over those spaces add
//! up what is there. Equal sums need no further check. Only where they differ are the rows looked up one by
//! one, to name each wrong row. So memory does not grow with the data, and sound data costs no random reads.

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

/// Walks everything in a snapshot and reports every disagreement to the watcher.
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
