//! Removes idempotency tokens that are older than ten minutes.

use trestle_api::Error;
use trestle_store::{Direction, Space};

use super::{Progress, Worker};
use crate::meta;
use crate::range::Range;
use crate::shared::internal;
use crate::tokens::{self, TOKEN_LIFE};

/// Tokens removed per commit.
const TOKENS_PER_COMMIT: usize = 1000;

pub(crate) fn run(worker: &Worker) -> Result<Progress, Error> {
    let now = worker.shared.clock.now();
    let mut old = Vec::new();
    let snapshot = worker.shared.store.snapshot();
    for row in Range::prefix(meta::TOKEN_PREFIX.to_vec()).rows(&*snapshot, Space::Meta, Direction::Forward) {
        let (key, value) = row.map_err(internal)?;
        if tokens::parse(&value).is_none_or(|(time, _)| now.since(time) >= TOKEN_LIFE) {
            old.push(key.to_vec());
        }
        if old.len() == TOKENS_PER_COMMIT {
            break;
        }
    }
    if old.is_empty() {
        return Ok(Progress::None);
    }
    worker.commit(false, move |transaction| {
        old.into_iter()
            .for_each(|key| transaction.delete_row(Space::Meta, key));
        Ok(())
    })?;
    Ok(Progress::Some)
}
