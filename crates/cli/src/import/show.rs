//! The result of an import, in words or as JSON.

use crate::administration::print_json;
use crate::exit::Failure;
use crate::model::line;
use serde_json::json;
use std::time::Duration;
use trestle_cassandra::{Checked, EntityCounts, ImportTotals, Verified};

pub(super) fn checked(checked: &Checked, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&json!({ "checked": checked.imports }));
    }
    for counts in &checked.imports {
        line(&format!(
            "{}: {}",
            named(counts),
            amounts(&[("rows", counts.rows), ("unfit", counts.unfit)])
        ));
    }
    Ok(())
}

pub(super) fn written(totals: &ImportTotals, took: Duration, json: bool) -> Result<(), Failure> {
    let rows = totals.sum(|counts| counts.rows);
    if json {
        return print_json(&json!({
            "imported": totals.imports,
            "resumed": totals.resumed,
            "seconds": took.as_secs_f64(),
        }));
    }
    for counts in &totals.imports {
        line(&format!("{}: {}", named(counts), told(counts)));
    }
    let went_on = if totals.resumed {
        ", going on where a former run had ended"
    } else {
        ""
    };
    line(&format!("{rows} rows in {:.1} s{went_on}", took.as_secs_f64()));
    Ok(())
}

fn named(counts: &EntityCounts) -> String {
    format!("{} from {}", counts.entity, counts.table)
}

fn told(counts: &EntityCounts) -> String {
    amounts(&[
        ("rows", counts.rows),
        ("inserted", counts.inserted),
        ("unchanged", counts.unchanged),
        ("overwritten", counts.overwritten),
        ("kept, being newer", counts.kept_newer),
        ("in the way", counts.collisions),
        ("unfit", counts.unfit),
        ("partitions without rows", counts.without_row),
    ])
}

/// The first amount, and the others if they are not zero.
fn amounts(amounts: &[(&str, u64)]) -> String {
    let told = amounts
        .iter()
        .enumerate()
        .filter(|(at, (_, amount))| *at == 0 || *amount > 0);
    told.map(|(_, (name, amount))| format!("{amount} {name}"))
        .collect::<Vec<_>>()
        .join(", ")
}

pub(super) fn verified(verified: &[Verified], took: Duration, json: bool) -> Result<(), Failure> {
    if json {
        return print_json(&json!({ "verified": verified, "seconds": took.as_secs_f64() }));
    }
    for of in verified {
        let told = amounts(&[
            ("rows compared", of.rows),
            ("the same", of.same),
            ("newer", of.newer),
            ("different", of.different),
            ("missing", of.missing),
            ("unfit", of.unfit),
        ]);
        line(&format!(
            "{} verified: {told}; checksum {} in the source, {} in the database",
            of.entity, of.checksum_in_source, of.checksum_in_database
        ));
    }
    Ok(())
}
