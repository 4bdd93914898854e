//! Which changes a route gives up when the database keeps more for its routes than allowed.

use parking_lot::Mutex;
use trestle_env::Timestamp;

use crate::lanes::LaneName;
use crate::live::Live;

/// While its target takes changes, a route gives up none until the kept bytes have grown by this fraction of
/// the limit, because deliveries also make room.
const GROWTH_PART: u64 = 8;

/// The bytes that were kept when there was first no room for changes that the target of the route may take.
#[derive(Debug, Default)]
pub(crate) struct NoRoomSince(Mutex<Option<u64>>);

impl NoRoomSince {
    /// Whether the bytes have grown so much that changes are given up although the target takes some.
    fn has_grown(&self, bytes: u64, bytes_max: u64) -> bool {
        let mut since = self.0.lock();
        if bytes <= bytes_max {
            *since = None;
            return false;
        }
        let first = *since.get_or_insert(bytes);
        bytes > first.saturating_add(bytes_max / GROWTH_PART)
    }

    fn forget(&self) {
        *self.0.lock() = None;
    }
}

impl Live {
    /// The time before which changes of a lane on hold are given up, because the database has no room to keep
    /// them.
    pub(crate) fn given_up_on_hold(&self, lane: LaneName) -> Option<Timestamp> {
        let before = self.held.as_ref()?.given_up_before();
        self.health.hold(lane)?;
        self.no_room_since.forget();
        (before > Timestamp::EPOCH).then_some(before)
    }

    /// Whether a change of a lane and of this time is given up, because the database has no room to keep it
    /// any longer.
    pub(crate) fn is_given_up(&self, lane: LaneName, at: Timestamp) -> bool {
        let Some(held) = self.held.as_ref().filter(|held| at < held.given_up_before()) else {
            return false;
        };
        let (bytes, bytes_max) = (held.held_bytes_in_all(), held.held_bytes_max());
        self.given_up_on_hold(lane).is_some() || self.no_room_since.has_grown(bytes, bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_growth_by_a_part_of_the_bound_counts_and_what_fits_begins_anew() {
        let since = NoRoomSince::default();
        assert!(!since.has_grown(2_000, 800));
        assert!(!since.has_grown(2_100, 800));
        assert!(since.has_grown(2_101, 800));
        assert!(!since.has_grown(1_500, 800), "it shrinks");
        assert!(!since.has_grown(800, 800), "it fits");
        assert!(!since.has_grown(1_000, 800));
        assert!(since.has_grown(1_101, 800));
        since.forget();
        assert!(!since.has_grown(1_101, 800));
    }
}
