//! The work items that the workers of a process try next.
//!
//! A process reads the work items of a reindex in the order of their ids, a page at a time, and its workers
//! share a page. So a claim costs about one read of an item, however many there are. A pass begins at the
//! first item that was not done in the previous pass.
//!
//! *Invariant*: a pass in which no open item was seen means that all are done. A part that is split off has
//! an id after that of its segment, and is stored before the segment is done. Work that is added in another
//! way changes the row of the reindex, which starts a new pass.

use std::time::Duration;

use trestle_api::Error;
use trestle_env::{Clock, Timestamp, ids};

use crate::job_rows::StoredReindex;
use crate::state_table::StateTable;
use crate::work_item::LiveLeases;

/// The pause before a process checks again for work that others have left.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// What a worker does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextWork {
    /// It tries to take the item with this id.
    Try(String),
    /// It ends the reindex: all items are done.
    AllDone,
    /// It waits: other workers have all open items.
    Wait,
}

/// What the workers of a process know about the work items.
#[derive(Default)]
pub(crate) struct WorkPool {
    known: tokio::sync::Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// The row of the reindex when the pass began.
    revision: u64,
    pass: Pass,
    /// The last pass found nothing.
    idle: Option<Idle>,
}

/// One pass over the items.
#[derive(Default)]
struct Pass {
    /// Its beginning. All items before it are done.
    from: Option<String>,
    /// The item after which the next page begins, once a page was read.
    after: Option<String>,
    is_at_end: bool,
    /// Free items of the last page, shuffled, so that processes seldom try the same.
    free: Vec<String>,
    any_free: bool,
    first_open: Option<String>,
    /// The bell's count when the pass began.
    rings: u64,
}

/// The time until which another pass would find no more, unless the bell rings.
struct Idle {
    rings: u64,
    until: Timestamp,
}

impl Idle {
    fn holds(&self, clock: &dyn Clock) -> bool {
        self.rings == clock.signal().rings() && clock.now() < self.until
    }
}

impl WorkPool {
    /// A worker of this process has left an item: another pass may find more than the last one.
    pub(crate) async fn look_again(&self) {
        self.known.lock().await.idle = None;
    }

    /// The next item to try, for this state of the reindex.
    pub(crate) async fn next(
        &self,
        state: &StateTable,
        seen: &StoredReindex,
        clock: &dyn Clock,
        live: &LiveLeases,
    ) -> Result<NextWork, Error> {
        let mut known = self.known.lock().await;
        if known.revision != seen.revision() {
            *known = Known {
                revision: seen.revision(),
                pass: Pass::begin(None, clock),
                idle: None,
            };
        }
        if known.idle.as_ref().is_some_and(|idle| idle.holds(clock)) {
            return Ok(NextWork::Wait);
        }
        loop {
            if let Some(id) = known.pass.free.pop() {
                return Ok(NextWork::Try(id));
            }
            if known.pass.is_at_end {
                let next = Pass::begin(known.pass.first_open.clone(), clock);
                let ended = std::mem::replace(&mut known.pass, next);
                if let Some(nothing) = ended.found_nothing() {
                    known.idle = Some(Idle {
                        rings: ended.rings,
                        until: clock.now().plus(LOOK_AGAIN),
                    });
                    return Ok(nothing);
                }
            }
            known.pass.read_page(state, &seen.job.name, live).await?;
        }
    }
}

impl Pass {
    fn begin(from: Option<String>, clock: &dyn Clock) -> Self {
        Self {
            from,
            rings: clock.signal().rings(),
            ..Self::default()
        }
    }

    /// The conclusion of a pass that has ended without an item to try.
    fn found_nothing(&self) -> Option<NextWork> {
        match (&self.first_open, self.any_free) {
            (None, _) => Some(NextWork::AllDone),
            (Some(_), false) => Some(NextWork::Wait),
            (Some(_), true) => None,
        }
    }

    async fn read_page(&mut self, state: &StateTable, job: &str, live: &LiveLeases) -> Result<(), Error> {
        let (from, after) = (self.from.as_deref(), self.after.as_deref());
        let (open, next) = state.open_work(job, from, after).await?;
        if self.first_open.is_none() {
            self.first_open = open.first().map(|item| item.id.clone());
        }
        let free = open.into_iter().filter(|item| live.is_free(item.lease.as_ref()));
        self.free = free.map(|item| item.id).collect();
        self.any_free |= !self.free.is_empty();
        shuffle(&mut self.free);
        self.is_at_end = next.is_none();
        self.after = next;
        Ok(())
    }
}

fn shuffle(ids: &mut [String]) {
    for last in (1..ids.len()).rev() {
        ids.swap(last, ids::random_u64() as usize % (last + 1));
    }
}
