//! Counts the records held beyond the retention, and gives up the oldest when they exceed the limit.

use std::ops::Bound;
use std::time::Duration;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_store::{Direction, Space};

use super::trim_streams::Look;
use super::{Progress, Worker};
use crate::catalog::Catalog;
use crate::change_log;
use crate::held_changes::{HeldChanges, HeldCount, by_table};
use crate::layout::{self, StreamId};
use crate::range::Range;
use crate::shared::internal;

/// How many records of a shard are counted in one round.
const COUNTED_PER_ROUND: usize = 1000;
/// How many records are given up at a time.
const GIVEN_UP_PER_ROUND: usize = 10_000;

/// The oldest held record of a shard.
pub(super) struct HeldFront {
    pub(super) stream: StreamId,
    pub(super) shard: u16,
    pub(super) sequence: u64,
    pub(super) time: Timestamp,
}

/// Counts some of the held records, and publishes the count. While records exist that may be trimmed, the
/// count is too high, and nothing is given up.
pub(super) fn run(
    worker: &Worker,
    catalog: &Catalog,
    look: &Look<'_>,
    fronts: &[HeldFront],
    is_trimmed: bool,
) -> Result<Progress, Error> {
    let mut progress = Progress::None;
    for front in fronts {
        let mut counts = worker.held.borrow_mut();
        let count = counts.entry((front.stream, front.shard)).or_default();
        if count_on(look, front, count)? == COUNTED_PER_ROUND {
            progress = Progress::Some;
        }
    }
    let held = HeldChanges {
        tables: by_table(&mut worker.held.borrow_mut(), catalog),
        is_counted: progress == Progress::None,
        bytes_max: worker.shared.options.held_changes_bytes_max,
    };
    let excess = held.bytes().saturating_sub(held.bytes_max);
    if excess > 0 && held.is_counted && is_trimmed {
        give_up(worker, look, fronts, excess)?;
    }
    let mut alarm = worker.held_alarm.get();
    alarm.tell(&held, look.known_holds());
    worker.held_alarm.set(alarm);
    worker.shared.held.set(held);
    Ok(progress)
}

/// Continues to count in a shard; returns how many records were counted.
fn count_on(look: &Look<'_>, front: &HeldFront, count: &mut HeldCount) -> Result<usize, Error> {
    count.next = count.next.max(front.sequence);
    let mut taken = 0;
    for record in records(look, front, count.next, COUNTED_PER_ROUND) {
        let (sequence, _, bytes) = record?;
        count.next = sequence.saturating_add(1);
        count.records += 1;
        count.bytes += bytes;
        taken += 1;
    }
    Ok(taken)
}

/// Makes routes give up the oldest held records of any shard, as many as exceed the limit.
fn give_up(worker: &Worker, look: &Look<'_>, fronts: &[HeldFront], excess: u64) -> Result<(), Error> {
    let (mut bytes, mut last) = (0, None);
    for (time, some) in oldest(look, fronts)? {
        bytes += some;
        last = Some(time);
        if bytes >= excess {
            break;
        }
    }
    if let Some(last) = last {
        let held = &worker.shared.held;
        held.give_up_before(last.plus(Duration::from_millis(1)));
    }
    Ok(())
}

/// Time and bytes of the oldest records of all shards, in the order of time. A record counts as no older than
/// those before it in its shard, because it cannot be trimmed before them.
fn oldest(look: &Look<'_>, fronts: &[HeldFront]) -> Result<Vec<(Timestamp, u64)>, Error> {
    let each = (GIVEN_UP_PER_ROUND / fronts.len().max(1)).max(1);
    let mut oldest = Vec::new();
    // Records that are younger than the last one read of a shard may come after unread ones of that shard.
    let mut known = Timestamp::MAX;
    for front in fronts {
        let (mut time, before) = (front.time, oldest.len());
        for record in records(look, front, front.sequence, each) {
            let (_, at, bytes) = record?;
            time = time.max(at);
            oldest.push((time, bytes));
        }
        if oldest.len() - before == each {
            known = known.min(time);
        }
    }
    oldest.retain(|(time, _)| *time <= known);
    oldest.sort_unstable();
    Ok(oldest)
}

/// Number, time and bytes of the records of a shard that are older than the retention, from `start` on.
fn records<'l>(
    look: &'l Look<'_>,
    front: &HeldFront,
    start: u64,
    max: usize,
) -> impl Iterator<Item = Result<(u64, Timestamp, u64), Error>> + 'l {
    let range = Range {
        start: Bound::Included(layout::change(front.stream, front.shard, start)),
        end: Bound::Included(layout::change(front.stream, front.shard, u64::MAX)),
    };
    let cutoff = look.cutoff;
    range
        .rows(&*look.snapshot, Space::Changes, Direction::Forward)
        .take(max)
        .map(|row| {
            let (key, value) = row.map_err(internal)?;
            let sequence = layout::change_sequence(&key)
                .ok_or_else(|| internal("a change record has no sequence number; run `trestle verify`"))?;
            // A record without a time is damaged, but takes space like the others.
            let time = change_log::time_of(&value).unwrap_or(Timestamp::EPOCH);
            Ok((sequence, time, (key.len() + value.len()) as u64))
        })
        .take_while(move |record| record.as_ref().map_or(true, |(_, time, _)| *time < cutoff))
}
