//! Reads pages of rows for the routes of a table that have a backfill.

use std::sync::Arc;

use trestle_api::{DatabaseExt, DescribeTable, Error, ErrorKind, Scan};
use trestle_env::Timestamp;

use super::backfill::{BackfillWalk, WalkedPage};
use super::follower::RouteFollower;
use super::{Reader, Round, Source};
use crate::row_source::{RowReading, RowSource};
use crate::tracker::ShardName;

impl Reader {
    /// Hands over the pages of rows that are ready, and reads those that are due.
    pub(super) async fn read_rows(&mut self) -> Round {
        let mut round = Round::None;
        for follower in &mut self.followers {
            let now = self.source.clock.now();
            if follower.hand_rows(&self.streams, self.looked) {
                round = Round::Some;
            }
            if follower.needs_look(self.looked, now) && now.since(self.looked) >= self.source.poll {
                self.streams.look_again();
            }
            if follower.rows_due().is_none_or(|due| due > now) {
                continue;
            }
            if self.source.rows.are_scanned() && !follower.has_found_latest(&self.pages) {
                follower.postpone_rows(now.plus(self.source.poll));
                continue;
            }
            match read_page(&self.source, &self.table, follower).await {
                Ok(()) => round = Round::Some,
                Err(error) => {
                    tracing::warn!(route = %follower.live.name, %error, "the backfill cannot read rows; trying again");
                    follower.live.counters.failed(now, &error.to_string());
                    follower.postpone_rows(now.plus(self.source.poll));
                }
            }
        }
        round
    }

    /// When the next page of rows should be read, if there is one.
    pub(super) fn rows_due(&self) -> Option<Timestamp> {
        self.followers.iter().filter_map(RouteFollower::rows_due).min()
    }

    /// Whether a page of rows can be handed over.
    pub(super) fn has_rows_to_hand(&mut self) -> bool {
        let mut followers = self.followers.iter_mut();
        followers.any(|follower| follower.has_rows_to_hand(&self.streams, self.looked))
    }

    /// The routes numbered `at` have read everything in an open shard, according to a response to a request
    /// at the time `asked`.
    pub(super) fn found_nothing(&mut self, shard: &Arc<ShardName>, asked: Timestamp, at: &[usize]) {
        for at in at {
            if let Some(follower) = self.followers.get_mut(*at) {
                follower.found_nothing(shard, asked);
            }
        }
    }
}

async fn read_page(source: &Source, table: &Arc<str>, follower: &mut RouteFollower) -> Result<(), Error> {
    match &source.rows {
        RowReading::AtOneMoment(rows) => read_at_one_moment(&**rows, source, table, follower).await,
        RowReading::Scanned(_) => scan(source, table, follower).await,
    }
}

/// Reads a page, or detects that the order of rows has changed and restarts. The restart is stored before a
/// page is read, because the database might still use the old order before that.
async fn read_at_one_moment(
    rows: &dyn RowSource,
    source: &Source,
    table: &Arc<str>,
    follower: &mut RouteFollower,
) -> Result<(), Error> {
    let Some(walk) = &mut follower.backfill else {
        return Ok(());
    };
    let (after, limit) = walk.request();
    let page = match rows.page(table, after, limit) {
        // A key of another order may be refused in this one.
        Err(error) if error.kind() == ErrorKind::Validation && after.is_some() => {
            let first = rows.page(table, None, 1)?;
            if walk.fits(&first) {
                return Err(error);
            }
            first
        }
        page => page?,
    };
    if walk.fits(&page) {
        walk.hold(page, table, &*source.typer, source.clock.now());
        return Ok(());
    }
    follower.live.checkpoints.note_layout(&page.layout).await?;
    walk.begin_again(&page.layout);
    Ok(())
}

/// Reads a page of an endpoint's rows.
async fn scan(source: &Source, table: &Arc<str>, follower: &mut RouteFollower) -> Result<(), Error> {
    let Some(walk) = &mut follower.backfill else {
        return Ok(());
    };
    let key = key_names(source, table, walk).await?;
    let (after, limit) = walk.request();
    let is_first = after.is_none();
    let request = Scan {
        table_name: table.to_string(),
        exclusive_start_key: after.cloned(),
        limit: Some(limit),
        consistent_read: Some(true),
        ..Scan::default()
    };
    let page = match source.database.scan(request).await {
        // On a server where a migration moves rows, the key may be refused.
        Err(error) if error.kind() == ErrorKind::Validation && !is_first && !walk.has_begun_again() => {
            tracing::warn!(%table, %error, "the backfill cannot continue where it was, and starts again");
            walk.begin_scan_again(&follower.live);
            return Ok(());
        }
        page => page?,
    };
    let page = WalkedPage {
        rows: page.items.unwrap_or_default().to_vec(),
        key: &key,
        next: page.last_evaluated_key,
    };
    // Only after the response: its content was written by now.
    walk.hold_scanned(page, table, &*source.typer, source.clock.now());
    Ok(())
}

/// The names of the table's key attributes.
async fn key_names(source: &Source, table: &Arc<str>, walk: &mut BackfillWalk) -> Result<Vec<String>, Error> {
    if let Some(key) = walk.scanned().and_then(|rows| rows.key.clone()) {
        return Ok(key);
    }
    let table_name = table.to_string();
    let described = source
        .database
        .describe_table(DescribeTable { table_name })
        .await?;
    let key = described.table.key_schema.into_iter();
    let key: Vec<String> = key.map(|part| part.attribute_name).collect();
    if let Some(rows) = walk.scanned() {
        rows.key = Some(key.clone());
    }
    Ok(key)
}
