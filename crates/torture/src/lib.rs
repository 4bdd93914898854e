//! Tests that mistreat the real server: kills, power cuts, full and failing disks, and hostile clients.
//!
//! Nothing here links Trestle. The tests start the binary that users start, speak HTTP to it as clients do,
//! and conclude from the acknowledged requests what must exist afterwards:
//!
//! - [`workload`] sends writes from several connections and remembers which of them were answered.
//! - [`audit`] compares a server with what a workload remembers: items, index, change log, counts, expiry.
//! - [`copier`] is a running `trestle copy`.
//! - [`recording`] and [`disk`] replay what the server wrote and synced, and rebuild directories as a power cut could
//!   have left them.
//! - [`device`] is a file system on a loop device, whose power can be cut.
//! - [`linearizability`] decides whether a history of one item can be explained by one order of operations.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

pub mod audit;
pub mod copier;
pub mod device;
pub mod disk;
pub mod http;
pub mod http2;
pub mod linearizability;
pub mod memory;
pub mod native;
pub mod recording;
pub mod server;
pub mod workload;
