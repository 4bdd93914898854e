//! Reads pages of rows for the routes of a table that have a backfill.

use std::sync::Arc;

use trestle_api::{Error, ErrorKind};
use trestle_env::Timestamp;

use super::follower::RouteFollower;
use super::{Reader, Round, Source};
use crate::tracker::ShardName;

impl Reader {
    /// Hands over the pages of rows whose turn has come, and reads those that are due.
    pub(super) async fn read_rows(&mut self) -> Round {
        let mut round = Round::None;
        for follower in &mut self.followers {
            if follower.release_rows(&self.streams) {
                round = Round::Some;
            }
            let now = self.source.clock.now();
            if follower.rows_due().is_none_or(|due| due > now) {
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

    /// When the next page of rows is to be read, if one is.
    pub(super) fn rows_due(&self) -> Option<Timestamp> {
        self.followers.iter().filter_map(RouteFollower::rows_due).min()
    }

    /// Whether a page of rows can be handed over.
    pub(super) fn has_rows_at_mark(&self) -> bool {
        let mut followers = self.followers.iter();
        followers.any(|follower| follower.is_at_mark(&self.streams))
    }

    /// The routes numbered `at` have read everything in a shard that is open.
    pub(super) fn found_nothing(&mut self, shard: &Arc<ShardName>, at: &[usize]) {
        for at in at {
            if let Some(follower) = self.followers.get_mut(*at) {
                follower.found_nothing(shard);
            }
        }
    }
}

/// Reads a page, or finds that the order of rows has changed and begins again. The page is read only when that is noted:
/// before, the database might still read in the order before.
async fn read_page(source: &Source, table: &Arc<str>, follower: &mut RouteFollower) -> Result<(), Error> {
    let (Some(rows), Some(walk)) = (&source.rows, &mut follower.backfill) else {
        return Ok(());
    };
    let (after, limit) = walk.request();
    let page = match rows.page(table, after, limit) {
        // A key of another order may be no place in this one.
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
