//! The search for a change that a target cannot take, and the decision whether the target itself fails.

use std::collections::HashSet;

use super::{DeliveryLane, Handed, OpenBatch, Part};
use crate::Outcome;
use crate::live::Stopped;
use crate::parked::Behind;
use crate::resolve::{Failed, Resolved};

/// The position of a change that can be used as a second probe.
#[derive(Clone, Copy)]
enum WitnessPlace {
    /// In a part of the same batch.
    Part { part: usize, change: usize },
    /// Among the changes of the next batches.
    Ahead(usize),
}

impl DeliveryLane {
    fn bisects(&self, part: &Part) -> bool {
        self.live.route.bisect_batch_on_error && part.changes.len() > 1
    }

    /// A part was refused: something in it cannot be taken.
    pub(super) async fn refused(
        &self,
        part: Part,
        error: String,
        work: &mut OpenBatch,
    ) -> Result<(), Stopped> {
        self.live.counters.failed(self.live.clock.now(), &error);
        if self.bisects(&part) {
            halve(part, work);
            return Ok(());
        }
        self.blame(part, error, work).await
    }

    /// The target failed with a part. If it is known to work, a change is at fault. Otherwise, sending one
    /// change alone and one of another item decides.
    pub(super) async fn failed(
        &mut self,
        part: Part,
        error: String,
        work: &mut OpenBatch,
    ) -> Result<(), Stopped> {
        self.live.counters.failed(self.live.clock.now(), &error);
        match (work.is_proven, self.bisects(&part)) {
            (true, true) => halve(part, work),
            (true, false) => {
                work.is_proven = false;
                self.blame(part, error, work).await?;
            }
            (false, true) => {
                let (first, later) = part.split(1);
                work.parts.extend([later, first]);
            }
            (false, false) => self.ask_witness(part, error, work).await?,
        }
        Ok(())
    }

    /// Tries a change of another item. If the target answers, the change that failed before is at fault; if
    /// not, the target is down.
    async fn ask_witness(&mut self, part: Part, error: String, work: &mut OpenBatch) -> Result<(), Stopped> {
        let Some(place) = self.find_witness(&part, work) else {
            let suspect = part.changes.first().map(|handed| handed.key);
            return self.hold(part, &error, suspect, work).await;
        };
        let Some((witness, attempt)) = self.witness(place, work) else {
            debug_assert!(false, "a witness was found where there is none");
            return self.hold(part, &error, None, work).await;
        };
        let (outcome, enlisted) = self.attempt_on(std::slice::from_ref(witness), attempt).await?;
        match outcome {
            Outcome::Failed(error) | Outcome::Unavailable(error) => {
                self.hold(part, &error, None, work).await?
            }
            answer => {
                let witness = Part::new(self.take_witness(place, work), attempt);
                // The target works now; it may have recovered since the part failed. If it fails once more,
                // the change is at fault.
                self.conclude(witness, answer, enlisted, work).await?;
                work.parts.push(Part {
                    is_repeated: true,
                    ..part
                });
            }
        }
        Ok(())
    }

    /// Takes the available changes of the next batches out of the inbox.
    pub(super) fn look_ahead(&mut self) {
        // Changes that are taken out of the inbox of a destination cannot be parked while a witness is tried.
        let most = match self.live.lanes.destinations() {
            Some(_) => self.live.batch_max(),
            None => usize::MAX,
        };
        while self.ahead.len() < most
            && let Ok(next) = self.inbox.try_next()
        {
            self.ahead.push_back(next);
        }
    }

    /// A change of an item that is not in the part, and the first of its item. Chosen at random, because
    /// neighbouring changes may have the same fault.
    fn find_witness(&mut self, part: &Part, work: &OpenBatch) -> Option<WitnessPlace> {
        self.look_ahead();
        let mut seen: HashSet<u64> = part.changes.iter().map(|handed| handed.key).collect();
        let parts = work.parts.iter().enumerate().rev();
        let in_parts = parts.flat_map(|(part, waiting)| {
            let changes = waiting.changes.iter().enumerate();
            changes.map(move |(change, handed)| (handed, WitnessPlace::Part { part, change }))
        });
        let ahead = self.ahead.iter().enumerate();
        let ahead = ahead.map(|(place, handed)| (handed, WitnessPlace::Ahead(place)));
        let parked = self.live.parked.lock();
        let places: Vec<WitnessPlace> = in_parts
            .chain(ahead)
            .filter(|(handed, _)| seen.insert(handed.key))
            .filter(|(handed, _)| !parked.blocks(handed.key) && !self.live.is_too_old(handed.change().at))
            .map(|(_, place)| place)
            .collect();
        let random = trestle_env::ids::random_u64() as usize;
        places.get(random % places.len().max(1)).copied()
    }

    /// A witness and the number of its attempt.
    fn witness<'w>(&'w self, place: WitnessPlace, work: &'w OpenBatch) -> Option<(&'w Handed, u32)> {
        match place {
            WitnessPlace::Part { part, change } => {
                let part = work.parts.get(part)?;
                Some((part.changes.get(change)?, part.attempt))
            }
            WitnessPlace::Ahead(place) => Some((self.ahead.get(place)?, 1)),
        }
    }

    fn take_witness(&mut self, place: WitnessPlace, work: &mut OpenBatch) -> Vec<Handed> {
        match place {
            WitnessPlace::Part { part, change } => {
                let part = work.parts.get_mut(part);
                part.map(|part| part.changes.remove(change)).into_iter().collect()
            }
            WitnessPlace::Ahead(place) => self.ahead.remove(place).into_iter().collect(),
        }
    }

    /// Counts an attempt of these changes. A single change is given back; a batch that may not be split is
    /// tried again as a whole.
    async fn blame(&self, mut part: Part, error: String, work: &mut OpenBatch) -> Result<(), Stopped> {
        let live = &self.live;
        let mut resolved = Resolved::default();
        if live.route.bisect_batch_on_error {
            for handed in part.changes {
                self.give_back(handed, error.clone(), part.attempt, &mut resolved);
            }
        } else if part.attempt <= live.route.maximum_retry_attempts {
            self.back_off(part.attempt).await?;
            part.attempt += 1;
            work.parts.push(part);
            return Ok(());
        } else {
            let failed = part.changes.into_iter().map(|handed| Failed {
                handed,
                error: error.clone(),
                attempts: part.attempt,
                behind: Behind::Item,
            });
            resolved.dead = failed.collect();
        }
        live.resolve(resolved).await
    }
}

fn halve(part: Part, work: &mut OpenBatch) {
    let half = part.changes.len() / 2;
    let (first, later) = part.split(half);
    work.parts.extend([later, first]);
}
