//! Which pages of rows were read and are not written yet.

use parking_lot::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The pages of a table that are under way, since the follower of the table looked last.
pub(crate) struct PagesUnderWay(Mutex<(Sender<()>, Receiver<()>)>);

/// Held from before a page is read until its rows are written.
pub(crate) struct PageUnderWay {
    _open: Sender<()>,
}

impl PagesUnderWay {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(channel(1)))
    }

    /// A page is about to be read.
    pub(crate) fn begin(&self) -> PageUnderWay {
        PageUnderWay {
            _open: self.0.lock().0.clone(),
        }
    }

    /// Waits until all pages that were begun before this call are written. New ones go on meanwhile. One caller at a time.
    pub(crate) async fn passed(&self) {
        let (open, mut is_over) = std::mem::replace(&mut *self.0.lock(), channel(1));
        drop(open);
        // Nothing is sent: it ends when the last page is dropped.
        let _ = is_over.recv().await;
    }
}
