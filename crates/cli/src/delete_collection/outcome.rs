//! The result of a deletion, in words.

use crate::model::line;
use std::collections::BTreeMap;
use trestle_admin::{DeletedRows, StayingRow};

/// How many keys are shown of the rows that stay for one reason.
const KEYS_SHOWN_MAX: usize = 3;

pub(super) fn print(deleted: &DeletedRows) {
    // Whether the database keeps a row because other rows need it is known only when it is deleted.
    let verb = if deleted.dry_run { "found" } else { "deleted" };
    line(&format!("{} {verb}", rows(deleted.deleted)));
    for (reason, staying) in by_reason(&deleted.left) {
        print_staying(reason, &staying);
    }
    if let Some(next) = &deleted.next {
        line(&format!("there are more: continue with --after {next}"));
    }
}

/// The message that this many rows stay.
pub(super) fn stay(count: usize) -> String {
    let verb = if count == 1 { "stays" } else { "stay" };
    format!("{} {verb}", rows(count as u64))
}

fn print_staying(reason: &str, staying: &[&StayingRow]) {
    line(&format!("  {}: {reason}", stay(staying.len())));
    for row in staying.iter().take(KEYS_SHOWN_MAX) {
        line(&format!("    {}", row.key));
    }
    if staying.len() > KEYS_SHOWN_MAX {
        let more = staying.len() - KEYS_SHOWN_MAX;
        line(&format!("    and {more} more; --json shows all"));
    }
}

/// Groups the rows, because most stay for the same reason.
fn by_reason(left: &[StayingRow]) -> BTreeMap<&str, Vec<&StayingRow>> {
    let mut reasons: BTreeMap<&str, Vec<&StayingRow>> = BTreeMap::new();
    for row in left {
        reasons.entry(&row.reason).or_default().push(row);
    }
    reasons
}

fn rows(count: u64) -> String {
    match count {
        1 => "1 row".to_owned(),
        many => format!("{many} rows"),
    }
}
