//! The delivery of changes: typed by entity, routed to targets, at least once and in order per key.
//!
//! A [`Change`] is one record of a table's stream with the entity of its item. A [`Route`] defines which
//! changes go to which destination, and a [`Router`] delivers them, over any
//! [`Database`](trestle_api::Database).
//!
//! The path of a change: `reader` reads and types it once and passes it to the routes that take it
//! (`matcher`). Each route has `lane`s to its target; `lanes` chooses the lane of a change. `tracker`
//! computes from finished changes how far a route has come, and `checkpoints` stores it. A change that is
//! refused alone is `parked` and tried again (`retry`); a change that is given up becomes a `dead_letter`.
//!
//! Routes are written in Rust or read from a file:
//!
//! ```
//! use trestle_events::{Destination, Route, read_routes};
//!
//! let file = read_routes(
//!     r#"
//! [route.hook]
//! table = "orders"
//! event = ["insert"]
//! target = { webhook = "https://example.com/hook" }
//! "#,
//!     &[],
//!     &|_| Vec::new(),
//! );
//! assert!(file.problems.is_empty(), "{:?}", file.problems);
//! let route = Route::new("hook", "orders", Destination::new("webhook", "https://example.com/hook"));
//! assert_eq!(file.routes[0].target, route.target);
//! ```

mod attempt;
mod backfill;
mod change;
mod checkpoints;
mod dead_letter;
mod duration;
mod file;
mod gap;
mod guarded_doors;
mod health;
mod json;
mod lane;
mod lanes;
mod live;
mod maintenance;
mod matcher;
mod parked;
mod queue_door;
mod reader;
mod record;
mod resolve;
mod retry;
mod room;
mod route;
mod route_setup;
mod router;
mod row_sender;
mod row_source;
mod rows;
mod sequence;
mod status;
mod taken_in_part;
mod target;
mod tracker;
mod try_out;
mod typer;

pub use backfill::{BackfillState, BackfillStatus};
pub use change::{Change, ChangeEvent};
pub use dead_letter::{DeadLetter, DeadLetters, Replayed, Selection};
pub use duration::parse_duration;
pub use file::{CheckDestination, RouteFile, read_routes};
pub use gap::Gap;
pub use guarded_doors::{Guard, GuardedDoors};
pub use json::{from_plain_json, plain_json};
pub use maintenance::Maintenance;
pub use queue_door::QueueDoor;
pub use reader::{ChangedKeys, KeyPage, KeyPosition, Tail};
pub use route::{Backoff, Concurrency, DESTINATIONS, Destination, Route, StartingPosition};
pub use route_setup::{RemoteStreams, RouteSetup, RoutesAtWork};
pub use router::{ApplyError, GoneRoute, HeldSpace, Router, Setup, StoredRoute, WeakRouter};
pub use row_sender::{RowSender, SentRow};
pub use row_source::{EndpointClock, RowReading, RowSource, ScanSettings, UnknownClock};
pub use rows::{RoutePosition, ShardPassed, route_positions};
pub use status::{LastError, OnHold, RouteState, RouteStatus};
pub use target::{Batch, Deliver, Delivery, Door, Doors, Enlist, Enlistment, Outcome, Target};
pub use try_out::taken;
pub use typer::{ModelTyper, Typer};
