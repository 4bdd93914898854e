//! The administration of a directory that no server has open.

use super::models;
use super::progress::Progress;
use std::sync::Mutex;
use trestle_admin::{AdminAnswer, AdminCall, AdminError, Administration};
use trestle_embedded::{Embedded, Models};

/// Models and migrations of a directory. Progress is shown on standard error.
pub(crate) struct DirectoryAdministration {
    db: Embedded,
    progress: Mutex<Progress>,
}

impl DirectoryAdministration {
    pub(crate) fn new(db: Embedded) -> Self {
        DirectoryAdministration {
            db,
            progress: Mutex::new(Progress::new()),
        }
    }

    pub(crate) fn models(&self) -> &Models {
        self.db.models()
    }
}

impl Administration for DirectoryAdministration {
    fn answer(&self, call: AdminCall) -> Result<AdminAnswer, AdminError> {
        let progress = self.progress.lock();
        let mut progress = progress.unwrap_or_else(std::sync::PoisonError::into_inner);
        let answered = models::answer(self.models(), call, &mut *progress);
        progress.clear();
        answered
    }
}
