//! The rows of one page: each is tried; failed ones are retried individually, and those that keep failing
//! become dead letters.

use parking_lot::Mutex;
use trestle_api::{Error, count_repeats};
use trestle_item::Item;

use crate::gaps::is_at_version;
use crate::handler::RowOutcome;
use crate::process::Process;
use crate::work_item::PageProgress;
use crate::{Reindex, RowCounts, RowLetter};

/// The weight of attempts for which the row is not at fault.
const EXCUSED_PER_ATTEMPT: u32 = 10;

/// A row that is not done yet.
struct OpenRow {
    key: Item,
    row: Item,
    records_again: bool,
    /// Attempts that failed for a reason of the row, or while others were accepted.
    blamed: u32,
    /// Other attempts that failed.
    excused: u32,
    reason: String,
}

/// Processes the rows of a page. Rows that are at the version stay unchanged, unless they are to be recorded
/// again.
pub(crate) async fn handle(
    process: &Process,
    job: &Reindex,
    rows: Vec<Item>,
    records_again: bool,
    counts: &mut RowCounts,
    progress: &Mutex<PageProgress>,
) -> Result<Vec<Item>, Error> {
    let mut finished = Vec::new();
    let mut open = Vec::new();
    for row in rows {
        if !process.wants(job, &row) {
            counts.left_out += 1;
            continue;
        }
        let key = job.key_in(&row);
        let key =
            key.ok_or_else(|| Error::defect(format!("a row of table {} came without its key", job.table)))?;
        if !records_again && is_at_version(job, &row) {
            counts.unchanged += 1;
            finished.push(key);
            continue;
        }
        open.push(OpenRow {
            key,
            row,
            records_again,
            blamed: 0,
            excused: 0,
            reason: String::new(),
        });
    }
    let mut retries = 0;
    loop {
        open = round(process, job, open, counts, &mut finished, progress).await;
        open = give_up(process, job, open, counts).await?;
        if open.is_empty() {
            return Ok(finished);
        }
        counts.retries += open.len() as u64;
        tell(progress, counts, open.first());
        process.pause.wait(retries).await;
        retries += 1;
    }
}

/// Tries all open rows once, in steps; returns those that are still open.
async fn round(
    process: &Process,
    job: &Reindex,
    open: Vec<OpenRow>,
    counts: &mut RowCounts,
    finished: &mut Vec<Item>,
    progress: &Mutex<PageProgress>,
) -> Vec<OpenRow> {
    let mut left = Vec::new();
    let mut any_taken = !finished.is_empty();
    let mut open = open.into_iter();
    loop {
        let some: Vec<OpenRow> = open.by_ref().take(step_rows(process, job)).collect();
        if some.is_empty() {
            break;
        }
        let (outcomes, repeats) = count_repeats(step(process, job, &some)).await;
        counts.add_repeats(repeats);
        for (row, outcome) in some.into_iter().zip(outcomes) {
            let (count, key) = match outcome {
                RowOutcome::Done => (&mut counts.done, row.key),
                RowOutcome::Unchanged => (&mut counts.unchanged, row.key),
                RowOutcome::Gone => (&mut counts.gone, row.key),
                RowOutcome::Refused {
                    reason,
                    is_of_the_moment: false,
                } => {
                    let blamed = row.blamed + 1;
                    left.push((
                        false,
                        OpenRow {
                            blamed,
                            reason,
                            ..row
                        },
                    ));
                    continue;
                }
                RowOutcome::Refused { reason, .. } => {
                    counts.throttled += 1;
                    left.push((true, OpenRow { reason, ..row }));
                    continue;
                }
                RowOutcome::Later(reason) => {
                    counts.throttled += 1;
                    left.push((false, OpenRow { reason, ..row }));
                    continue;
                }
            };
            *count += 1;
            any_taken = true;
            finished.push(key);
        }
        tell(progress, counts, left.first().map(|(_, row)| row));
    }
    let judged = left
        .into_iter()
        .map(|(is_of_the_moment, row)| match is_of_the_moment {
            true => blame(row, any_taken),
            false => row,
        });
    judged.collect()
}

/// Reports the progress of the page, and why a row of it is retried.
fn tell(progress: &Mutex<PageProgress>, counts: &RowCounts, open: Option<&OpenRow>) {
    *progress.lock() = PageProgress {
        counts: *counts,
        reason: open.map(|row| row.reason.clone()),
    };
}

/// A row that fails while others are accepted has used an attempt.
fn blame(mut row: OpenRow, any_taken: bool) -> OpenRow {
    match any_taken {
        true => row.blamed += 1,
        false => row.excused += 1,
    }
    row
}

/// How many rows the next step may have: only touches cost write units.
fn step_rows(process: &Process, job: &Reindex) -> usize {
    let budget = job.version().and_then(|_| process.writes.at_once());
    process.yielding.rows().min(budget.unwrap_or(usize::MAX))
}

async fn step(process: &Process, job: &Reindex, rows: &[OpenRow]) -> Vec<RowOutcome> {
    let pairs: Vec<(Item, Item)> = rows
        .iter()
        .map(|row| (row.key.clone(), row.row.clone()))
        .collect();
    if job.version().is_some() {
        process.writes.take(pairs.len() as f64).await;
    }
    let turn = process.yielding.begin().await;
    let records_again = rows.iter().any(|row| row.records_again);
    let (outcomes, units) = process
        .handler
        .attempt(job, &pairs, records_again, &*process.clock)
        .await;
    process.yielding.end(turn, pairs.len()).await;
    process.writes.owe((units - pairs.len() as f64).max(0.0));
    debug_assert_eq!(outcomes.len(), pairs.len(), "each row has an outcome");
    outcomes
}

/// Makes dead letters of rows that have been tried often enough; returns the others.
async fn give_up(
    process: &Process,
    job: &Reindex,
    open: Vec<OpenRow>,
    counts: &mut RowCounts,
) -> Result<Vec<OpenRow>, Error> {
    let is_over = |row: &OpenRow| {
        row.blamed >= job.attempts || row.excused >= job.attempts.saturating_mul(EXCUSED_PER_ATTEMPT)
    };
    let (over, left): (Vec<OpenRow>, Vec<OpenRow>) = open.into_iter().partition(is_over);
    for row in over {
        let whole = match job.version() {
            Some(_) => process.whole_row(job, &row.key).await,
            None => Some(row.row),
        };
        let attempts = row.blamed + row.excused;
        let letter = RowLetter::new(row.key, whole, &row.reason, attempts, process.clock.now());
        process.state.add_letter(&job.name, &letter).await?;
        counts.failed += 1;
    }
    Ok(left)
}
