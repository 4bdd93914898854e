//! Tracks the pages of rows that were read and are not written yet.

use parking_lot::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The pages of a table that are under way since the table's follower last checked.
pub(crate) struct PagesUnderWay(Mutex<(Sender<()>, Receiver<()>)>);

/// Held from before a page is read until its rows are written.
pub(crate) struct PageUnderWay {
    _open: Sender<()>,
}

impl PagesUnderWay {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(channel(1)))
    }

    /// Call this before a page is read.
    pub(crate) fn begin(&self) -> PageUnderWay {
        PageUnderWay {
            _open: self.0.lock().0.clone(),
        }
    }

    /// Waits until all pages that were begun before this call are written. New ones may begin meanwhile. One
    /// caller at a time.
    pub(crate) async fn passed(&self) {
        let (open, mut is_over) = std::mem::replace(&mut *self.0.lock(), channel(1));
        drop(open);
        // Nothing is sent: this returns when the last page is dropped.
        let _ = is_over.recv().await;
    }
}
