//! Gives up changes of a lane on hold, at any position in the lane: the lane is ordered by shards, and the
//! changes that take too much space are the oldest by time.

use super::{DeliveryLane, Handed, OpenBatch, without_room};
use crate::live::Stopped;
use crate::resolve::{Failed, Resolved};
use crate::target::Door;

impl DeliveryLane {
    /// Gives up the changes that the database has no room for, also those after changes that it has room for.
    /// If the route has several destinations, changes are parked during a hold and take no space in the
    /// change log. For a queue of the same database, as many are given up at a time as fit into a
    /// transaction.
    pub(super) async fn make_room(&mut self, work: &mut OpenBatch) -> Result<(), Stopped> {
        let is_single = self.live.lanes.destinations().is_none() && matches!(self.live.door, Door::Target(_));
        let before = self.live.given_up_on_hold(self.name);
        let Some(before) = before.filter(|_| is_single) else {
            return Ok(());
        };
        self.look_ahead();
        let is_given_up = |handed: &mut Handed| handed.change().at < before;
        let mut resolved = Resolved::default();
        // In the order of the lane, and all at once: no change of an item stays after a parked one.
        for part in work.parts.iter_mut().rev() {
            let attempts = part.attempt - 1;
            let given_up = part.changes.extract_if(.., is_given_up);
            given_up.for_each(|handed| self.give_up(handed, attempts, &mut resolved));
        }
        work.parts.retain(|part| !part.changes.is_empty());
        let mut ahead: Vec<Handed> = std::mem::take(&mut self.ahead).into();
        let given_up = ahead.extract_if(.., is_given_up);
        given_up.for_each(|handed| self.give_up(handed, 0, &mut resolved));
        self.ahead = ahead.into();
        match resolved.parked.is_empty() && resolved.dead.is_empty() {
            true => Ok(()),
            false => self.live.resolve(resolved).await,
        }
    }

    fn give_up(&self, handed: Handed, attempts: u32, resolved: &mut Resolved) {
        match self.live.behind(&handed) {
            Some(behind) => resolved.parked.push(Failed::waiting(handed, behind)),
            None => without_room(handed, attempts, resolved),
        }
    }
}
