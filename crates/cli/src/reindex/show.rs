//! Prints reindexes for people.

use crate::bar::drawn;
use crate::model::line;
use trestle_admin::{ReindexReport, ReindexSummary};
use trestle_env::{Timestamp, iso_8601_millis};
use trestle_reindex::ReindexStatus;

/// The progress, in one line.
pub(super) fn progress(status: &ReindexStatus) -> String {
    let left = match status.seconds_left {
        Some(seconds) => format!(", {} left", duration(seconds)),
        None => String::new(),
    };
    format!(
        "{} {:.1} % of {}{} rows, {:.0} rows/s{left}, {} failed",
        drawn(status.percent / 100.0),
        status.percent,
        if status.rows_are_estimated { "about " } else { "" },
        status.rows,
        status.rate,
        status.dead_letters
    )
}

fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Prints the whole status of one.
pub(super) fn status(report: &ReindexReport) {
    let status = &report.status;
    let what = match (&status.version, &status.route) {
        (Some(version), _) => format!("touches rows of {} with version {version}", status.table),
        (None, Some(route)) => format!("sends rows of {} to route {route}", status.table),
        (None, None) => status.table.clone(),
    };
    let counts = &status.counts;
    line(&format!("{}: {}, {what}", status.name, status.state.name()));
    line(&format!("  {}", progress(status)));
    line(&format!(
        "  read {}, done {}, unchanged {}, gone {}, left out {}, failed {}, waiting {}",
        counts.read,
        counts.done,
        counts.unchanged,
        counts.gone,
        counts.left_out,
        status.dead_letters,
        status.waiting
    ));
    line(&format!(
        "  gaps {}, retries {}, throttled {}, work items {} of {} done",
        status.gaps, counts.retries, counts.throttled, status.work_items_done, status.work_items
    ));
    line(&format!(
        "  processes {}, workers {}",
        status.processes,
        status.workers.len()
    ));
    for worker in &status.workers {
        let until = iso_8601_millis(Timestamp::from_millis(worker.until));
        line(&format!(
            "    {} at {} until {until}Z",
            worker.worker, worker.work_item
        ));
    }
    if let Some(reason) = &status.held_up {
        line(&format!("  rows are tried again: {reason}"));
    }
    if let Some(error) = &report.error {
        line(&format!("  it cannot continue and is retried: {error}"));
    }
}

/// Prints each in a line.
pub(super) fn list(reindexes: &[ReindexSummary]) {
    for reindex in reindexes {
        let what = match (reindex.version, &reindex.route) {
            (Some(version), _) => format!("touch, version {version}"),
            (None, Some(route)) => format!("send to {route}"),
            (None, None) => "touch".to_owned(),
        };
        line(&format!(
            "{}  {}  {}  {what}",
            reindex.name,
            reindex.table,
            reindex.state.name()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_told_in_their_largest_units() {
        assert_eq!([5, 65, 3_725].map(duration), ["5 s", "1 min 5 s", "1 h 2 min"]);
    }
}
