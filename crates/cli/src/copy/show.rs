//! The output of a copy for people.

use crate::bar::drawn;
use crate::model::line;
use trestle_copy::{CopyEnd, CopyPlan, CopyReport, CopyStatus};

/// What will be copied.
pub(super) fn plan(plan: &CopyPlan) {
    for table in &plan.tables {
        let mut words = format!("table {}: about {} rows", table.table, table.rows);
        if table.exists {
            words += "; it is there at the target";
        }
        if let Some(attribute) = &table.expiry {
            words += &format!("; rows expire by {attribute}");
        }
        if table.needs_stream {
            words += "; it gets a stream for the time of the copy";
        }
        line(&words);
    }
    for model in &plan.models {
        line(&format!(
            "model {model}: takes effect at the target in the cut-over"
        ));
    }
    for note in &plan.notes {
        line(note);
    }
}

/// The progress, in one line.
pub(super) fn status(status: &CopyStatus) -> String {
    let done = if status.total == 0 {
        1.0
    } else {
        status.rows as f64 / status.total as f64
    };
    let words = match status.phase {
        "copying" => format!(
            "{} {} of about {} rows, {} a second, {} changes",
            drawn(done),
            status.rows,
            status.total,
            status.rows_per_second,
            status.changes
        ),
        "comparing" => format!("comparing: {} rows, {} changes", status.compared, status.changes),
        phase => format!(
            "{}: {} rows, {} changes",
            phase.replace('-', " "),
            status.rows,
            status.changes
        ),
    };
    match &status.waiting {
        Some(waiting) => format!("{words}; waiting: {waiting}"),
        None => words,
    }
}

/// The result.
pub(super) fn report(report: &CopyReport) {
    for table in &report.verified {
        let repaired = match table.repaired {
            0 => String::new(),
            rows => format!(", {rows} rows copied again"),
        };
        line(&format!(
            "table {}: {} rows are the same on both sides{repaired}",
            table.table, table.rows
        ));
    }
    line(&format!(
        "{} rows copied, {} changes followed",
        report.rows, report.changes
    ));
    line(&match report.end {
        CopyEnd::Done => taken_over(report.paused_ms),
        CopyEnd::Stopped => "stopped; run the same command again to continue".to_owned(),
    });
}

/// The message that the target has taken over.
pub(super) fn taken_over(paused_ms: Option<u64>) -> String {
    match paused_ms {
        Some(paused_ms) => format!("the target has taken over; writing was paused for {paused_ms} ms"),
        None => "the target has taken over".to_owned(),
    }
}
