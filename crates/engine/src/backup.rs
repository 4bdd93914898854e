//! Backups: everything at one moment as one archive.
//!
//! A backup is a snapshot of the store: it contains each request completely or not at all, and no request
//! waits for it.

use std::io::Write;

use trestle_store::StoreError;
use trestle_store::archive::{self, ArchiveError, Header, Totals};

use crate::Engine;
use crate::verify::{Summary, Watcher, verify};

impl Engine {
    /// Writes everything that is durable now to `out`, while requests continue.
    pub fn backup(&self, out: &mut dyn Write) -> Result<Totals, ArchiveError> {
        let shared = self.shared();
        let header = Header {
            taken_ms: shared.clock.now().as_millis(),
        };
        archive::write(&*shared.store.snapshot(), header, out)
    }

    /// Verifies the current snapshot, while requests continue.
    pub fn verify(&self, watcher: &mut dyn Watcher) -> Result<Summary, StoreError> {
        verify(&*self.shared().store.snapshot(), watcher)
    }
}
