//! The processing of rows that were read: touching or sending.

use std::sync::Arc;

use trestle_api::{Error, TouchRows, Touched};
use trestle_env::Clock;
use trestle_events::{RowSender, SentRow};
use trestle_item::Item;

use crate::job::ReindexMode;
use crate::retry::is_transient;
use crate::{Reindex, Touch};

/// The processing of rows.
pub(crate) enum Handler {
    Touch(Arc<dyn Touch>),
    Send(Arc<RowSender>),
}

/// The outcome of a row in an attempt.
#[derive(Debug)]
pub(crate) enum RowOutcome {
    Done,
    Unchanged,
    Gone,
    /// It was refused. If the reason is temporary, the row is not at fault unless others are accepted
    /// meanwhile.
    Refused {
        reason: String,
        is_of_the_moment: bool,
    },
    /// The target is unavailable. The row is not at fault.
    Later(String),
}

impl Handler {
    /// Whether rows that are already at the version can be recorded again.
    pub(crate) fn records_again(&self) -> bool {
        match self {
            Self::Touch(touch) => touch.records_again(),
            Self::Send(_) => false,
        }
    }

    /// Tries some rows; returns the outcome of each, in order, and the write units used.
    pub(crate) async fn attempt(
        &self,
        job: &Reindex,
        rows: &[(Item, Item)],
        records_again: bool,
        clock: &dyn Clock,
    ) -> (Vec<RowOutcome>, f64) {
        match (self, &job.mode) {
            (Self::Touch(touch), ReindexMode::Touch { attribute, version }) => {
                let touched = touch.touch(TouchRows {
                    table: job.table.clone(),
                    attribute: attribute.clone(),
                    version: *version,
                    keys: rows.iter().map(|(key, _)| key.clone()).collect(),
                    records_again,
                    ..TouchRows::default()
                });
                match touched.await {
                    Ok(result) => (
                        result.rows.into_iter().map(touch_outcome).collect(),
                        result.write_units,
                    ),
                    Err(error) => (rows.iter().map(|_| refused(&error)).collect(), 0.0),
                }
            }
            (Self::Send(sender), _) => {
                let whole = rows.iter().map(|(_, row)| row.clone()).collect();
                let sent = sender.send(&job.name, &job.key_names(), whole, clock.now()).await;
                (sent.into_iter().map(send_outcome).collect(), 0.0)
            }
            (Self::Touch(_), ReindexMode::Send { .. }) => {
                let error = Error::defect("a reindex that sends rows was about to touch them");
                debug_assert!(false, "{error}");
                (rows.iter().map(|_| refused(&error)).collect(), 0.0)
            }
        }
    }
}

fn refused(error: &Error) -> RowOutcome {
    RowOutcome::Refused {
        reason: format!("{}: {error}", error.kind().as_str()),
        is_of_the_moment: is_transient(error),
    }
}

fn touch_outcome(touched: Touched) -> RowOutcome {
    match touched {
        Touched::Raised => RowOutcome::Done,
        Touched::AlreadyThere => RowOutcome::Unchanged,
        Touched::Gone => RowOutcome::Gone,
        Touched::Refused(error) => refused(&error),
    }
}

fn send_outcome(sent: SentRow) -> RowOutcome {
    match sent {
        SentRow::Taken => RowOutcome::Done,
        SentRow::NotWanted => RowOutcome::Unchanged,
        SentRow::Refused(reason) => RowOutcome::Refused {
            reason,
            is_of_the_moment: false,
        },
        SentRow::Later(reason) => RowOutcome::Later(reason),
    }
}
