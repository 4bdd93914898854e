//! Where the rows of a run lie in this version: in one partition, so that one range reads them.

/// The access patterns that find all rows of a run, but the run itself.
pub(crate) const BELONGINGS: &[&str] = &["belongings_of_run"];
