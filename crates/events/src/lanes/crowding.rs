//! Prevents a destination that does not answer from taking the room of the others: while a route has no room,
//! changes that wait for a slow delivery are parked.

use std::sync::Arc;
use std::time::Duration;

use trestle_env::Timestamp;

use super::{DestinationLanes, LaneName};
use crate::live::{Handed, Live, Stopped};
use crate::parked::Behind;
use crate::resolve::{Failed, Resolved};

/// A delivery that takes longer is slow.
const SLOW: Duration = Duration::from_secs(1);
/// How often to look for slow deliveries while there is no room.
const LOOK: Duration = Duration::from_millis(100);

/// Makes room whenever there is none, until the route is stopped.
pub(super) async fn run(live: Arc<Live>) {
    let Some(lanes) = live.lanes.destinations() else {
        return;
    };
    loop {
        tokio::select! {
            () = live.crowded.notified() => {}
            () = live.stopped() => return,
        }
        while !live.has_room() {
            if make_room(&live, lanes).await.is_err() {
                return;
            }
        }
    }
}

async fn make_room(live: &Live, lanes: &DestinationLanes) -> Result<(), Stopped> {
    let now = live.clock.now();
    let mut has_parked = false;
    for (lane, waiting) in lanes.take_behind_slow(now.minus(SLOW)) {
        let failed = |handed| Failed::waiting(handed, Behind::Destination(lane));
        let resolved = Resolved {
            parked: waiting.into_iter().map(failed).collect(),
            ..Resolved::default()
        };
        live.resolve(resolved).await?;
        lanes.has_left(lane);
        has_parked = true;
    }
    match has_parked {
        true => Ok(()),
        false => live.wait_until(now.plus(LOOK)).await,
    }
}

impl DestinationLanes {
    /// Takes out the changes that wait in lanes whose delivery began before `begun_before`.
    fn take_behind_slow(&self, begun_before: Timestamp) -> Vec<(LaneName, Vec<Handed>)> {
        let mut open = self.open.lock();
        let mut taken = Vec::new();
        for (name, lane) in &mut open.lanes {
            if lane.since.is_some_and(|since| since <= begun_before) {
                let waiting: Vec<Handed> = lane.inbox.clear().into();
                if !waiting.is_empty() {
                    lane.is_leaving = true;
                    taken.push((*name, waiting));
                }
            }
        }
        taken
    }

    /// Records that the changes taken out of a lane are parked.
    fn has_left(&self, lane: LaneName) {
        if let Some(lane) = self.open.lock().lanes.get_mut(&lane) {
            lane.is_leaving = false;
        }
    }

    /// Whether changes were taken out of a lane and are not parked yet: later changes must not overtake them.
    pub(crate) fn is_leaving(&self, lane: LaneName) -> bool {
        self.open
            .lock()
            .lanes
            .get(&lane)
            .is_some_and(|lane| lane.is_leaving)
    }
}
