//! What a deletion came to, in words.

use crate::model::line;
use std::collections::BTreeMap;
use trestle_admin::{DeletedRows, StayingRow};

/// Keys that are shown of the rows that stay for one reason.
const KEYS_SHOWN_MAX: usize = 3;

pub(super) fn print(deleted: &DeletedRows) {
    // Which of them the database keeps for others shows only when they are deleted.
    let verb = if deleted.dry_run { "found" } else { "deleted" };
    line(&format!("{} {verb}", rows(deleted.deleted)));
    for (reason, staying) in by_reason(&deleted.left) {
        print_staying(reason, &staying);
    }
    if let Some(next) = &deleted.next {
        line(&format!("there are more: continue with --after {next}"));
    }
}

/// That so many rows stay.
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

/// Most rows stay for the same reason as many others.
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
