//! Concurrent clients that read and write, each one operation after the other.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use trestle_api::Error;
use trestle_embedded::Embedded;

use super::orders::{self, Layout};
use crate::dataset::COLLECTION;
use crate::error::{BenchError, Doing};
use crate::histogram::Histogram;

/// Few, as in the other measurements of the library, because there are few processors.
const CLIENTS: u64 = 4;
/// The time between two checks whether it is over.
const GLANCE: Duration = Duration::from_millis(5);

/// An operation of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Get,
    Put,
    Query,
    KeptIndex,
    ChangedIndex,
}

impl Act {
    /// In turn: a put waits for the disk, so that queries wait for each other as little as with a real
    /// application.
    pub(super) const ALL: [Act; 5] = [Act::Get, Act::Put, Act::Query, Act::KeptIndex, Act::ChangedIndex];

    fn expected(self) -> u64 {
        match self {
            Act::Get | Act::Put => 1,
            Act::Query | Act::KeptIndex | Act::ChangedIndex => COLLECTION,
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Act::Get => "GetItem",
            Act::Put => "PutItem",
            Act::Query => "Query of 20",
            Act::KeptIndex => "Query of 20, index whose keys stay",
            Act::ChangedIndex => "Query of 20, index whose keys change",
        })
    }
}

/// Runs the clients with all operations in turn until it is over; returns the latencies of each. Every
/// response is checked.
pub(super) fn work(
    db: &Embedded,
    layout: Layout,
    rows: u64,
    is_over: impl Fn() -> bool,
) -> Result<Vec<Histogram>, BenchError> {
    let over = AtomicBool::new(false);
    let work = |seed: u64| {
        let client = Client { db, layout };
        let worked = client.work(rows, seed, &over);
        // Clients whose figures do not count are not awaited.
        over.fetch_or(worked.is_err(), Ordering::Relaxed);
        worked
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|seed| scope.spawn(move || work(seed))).collect();
        while !over.load(Ordering::Relaxed) && !is_over() {
            std::thread::sleep(GLANCE);
        }
        over.store(true, Ordering::Relaxed);
        let mut all = vec![Histogram::default(); Act::ALL.len()];
        for client in clients {
            let seen = client
                .join()
                .map_err(|_| BenchError::new("a client panicked"))??;
            for (all, seen) in all.iter_mut().zip(&seen) {
                all.add(seen);
            }
        }
        Ok(all)
    })
}

struct Client<'a> {
    db: &'a Embedded,
    layout: Layout,
}

impl Client<'_> {
    fn work(&self, rows: u64, seed: u64, over: &AtomicBool) -> Result<Vec<Histogram>, BenchError> {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut latencies = vec![Histogram::default(); Act::ALL.len()];
        while !over.load(Ordering::Relaxed) {
            for (act, seen) in Act::ALL.into_iter().zip(&mut latencies) {
                let row = random.u64(..rows);
                let (took, found) = self.act(act, row).doing(format!("{act} failed"))?;
                if found != act.expected() {
                    return Err(BenchError::new(format!(
                        "{act} found {found} rows, and there are {}",
                        act.expected()
                    )));
                }
                seen.record(took);
            }
        }
        Ok(latencies)
    }

    /// How long it took, and how many rows it found.
    fn act(&self, act: Act, row: u64) -> Result<(Duration, u64), Error> {
        let layout = self.layout;
        let queried = match act {
            Act::Get => {
                let request = layout.get(row);
                let began = Instant::now();
                let found = self.db.run(request)?.item.is_some();
                return Ok((began.elapsed(), u64::from(found)));
            }
            Act::Put => {
                let request = orders::put(row, row);
                let began = Instant::now();
                self.db.run(request)?;
                return Ok((began.elapsed(), 1));
            }
            Act::Query => layout.of_customer(row),
            Act::KeptIndex => Layout::of_status(row),
            Act::ChangedIndex => layout.of_product(row),
        };
        let began = Instant::now();
        let found = self.db.run(queried)?.count;
        Ok((began.elapsed(), u64::from(found)))
    }
}
