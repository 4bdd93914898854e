//! What routes do when the database keeps more for them than allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use trestle_env::Timestamp;
use trestle_events::{HeldSpace, Outcome};

use crate::support::{Recorder, World, route};

/// The maximum number of bytes that are kept.
const BOUND: u64 = 800;

/// The kept bytes of a database, as set by a test.
#[derive(Default)]
pub(crate) struct Room {
    bytes: AtomicU64,
    given_up_before: AtomicU64,
}

impl Room {
    /// There is no room for any change, old or new.
    pub(crate) fn gives_up_everything(&self) {
        self.given_up_before.store(u64::MAX, Ordering::Relaxed);
    }

    fn keeps(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
    }
}

impl HeldSpace for Room {
    fn held_bytes(&self, _: &str) -> u64 {
        self.held_bytes_in_all()
    }

    fn held_bytes_in_all(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    fn held_bytes_max(&self) -> u64 {
        BOUND
    }

    fn given_up_before(&self) -> Timestamp {
        Timestamp::from_millis(self.given_up_before.load(Ordering::Relaxed))
    }
}

/// A database with such room.
pub(crate) fn with_room() -> (World, Arc<Room>) {
    let room = Arc::new(Room::default());
    let world = World {
        held: Some(Arc::clone(&room) as Arc<dyn HeldSpace>),
        ..World::new()
    };
    (world, room)
}

#[test]
fn a_route_whose_target_takes_changes_gives_some_up_only_if_more_and_more_is_kept() {
    let (world, room) = with_room();
    let target = Recorder::new();
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([route("r")]);
    room.gives_up_everything();
    room.keeps(2_000);
    for n in 0..20 {
        world.put(&format!("item-{n}"), 1);
    }
    life.until("everything", || target.count() == 20);
    room.keeps(2_000 + BOUND / 8 + 1);
    for n in 0..5 {
        world.put(&format!("item-{n}"), 2);
    }
    life.until("what does not fit to be given up", || life.status("r").dead == 5);
    room.keeps(BOUND);
    world.put("item-0", 3);
    life.until("what fits", || target.count() == 21);
    assert_eq!(life.status("r").dead, 5);
}

#[test]
fn nothing_more_is_given_up_once_the_target_is_back() {
    let (world, room) = with_room();
    let target = Recorder::with(|_| Outcome::Unavailable("away".into()));
    let life = world.life(&[("r", Arc::clone(&target))]);
    life.apply([route("r")]);
    room.keeps(2_000);
    for n in 0..500 {
        world.put(&format!("item-{n}"), 1);
    }
    life.until("the hold", || life.status("r").on_hold.is_some());
    // It takes the next probe, and in between the database has reported that there is no room.
    target.behave(move |_| {
        room.gives_up_everything();
        Outcome::Done
    });
    life.until_after("everything", Duration::from_secs(1), || {
        let status = life.status("r");
        status.delivered + status.dead == 500
    });
    assert_eq!((life.status("r").dead, target.count()), (0, 500));
}
