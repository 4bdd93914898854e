//! Finds the file behind an error of the engine, because the engine does not name it.

use super::directory::Directory;
use super::{engine_error, guard};
use crate::{ErrorKind, Space, StoreError};
use parking_lot::Mutex;
use std::collections::HashMap;

/// Looks for damaged tables once a read has failed, and remembers what it found: every read that meets the same block
/// fails, and reading all tables of a space takes a while.
pub(super) struct Diagnosis {
    directory: Directory,
    /// For a space, or for all of them.
    found: Mutex<HashMap<Option<Space>, Option<String>>>,
}

impl Diagnosis {
    pub(super) fn of(directory: Directory) -> Self {
        Diagnosis {
            directory,
            found: Mutex::default(),
        }
    }

    /// A read of `space` failed while the store was `doing` something.
    pub(super) fn of_read(&self, doing: &str, space: Space, error: fjall::Error) -> StoreError {
        if !engine_error::may_be_damage(&error) {
            return engine_error::while_doing(doing, error);
        }
        match self.damage(Some(space)) {
            Some(damage) => {
                StoreError::with_source(ErrorKind::Damaged, format!("{doing} failed: {damage}"), error)
            }
            None => engine_error::while_doing_in(doing, &self.directory.engine(), space, error),
        }
    }

    /// A write failed. Where the engine only reports that one of its threads failed, the reason may be a
    /// table that it could not merge.
    pub(super) fn of_write(&self, doing: &str, error: fjall::Error) -> StoreError {
        let has_given_up = matches!(error, fjall::Error::Poisoned);
        // A disk that takes no writes is reason enough.
        if has_given_up
            && self.directory.try_writing(0).is_ok()
            && let Some(damage) = self.damage(None)
        {
            let message = format!("{doing} failed, because tables cannot be merged: {damage}");
            return StoreError::with_source(ErrorKind::Stopped, message, error);
        }
        engine_error::while_doing(doing, error)
    }

    fn damage(&self, space: Option<Space>) -> Option<String> {
        let mut found = self.found.lock();
        let look = || guard::find_damage(&self.directory.engine(), space).map(|error| error.to_string());
        found.entry(space).or_insert_with(look).clone()
    }
}
