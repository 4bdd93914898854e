//! A watcher of the progress while a model is applied.

use std::sync::atomic::{AtomicBool, Ordering};

use trestle_api::Error;
use trestle_binding::Step;

/// Receives the progress. All methods are optional.
pub trait Watcher {
    /// A step begins.
    fn step(&mut self, step: &Step);

    /// So many rows of a table have been read or written.
    fn rows(&mut self, doing: &'static str, table: &str, rows: u64);

    /// Whether to stop the work. Finished work stays; the same call does the rest later.
    fn stops(&self) -> bool {
        false
    }
}

/// Fails if the watcher stops the work.
pub(crate) fn go_on(watcher: &dyn Watcher) -> Result<(), Error> {
    match watcher.stops() {
        true => Err(Error::internal(
            "the work was stopped before its end; the same call does the rest",
        )),
        false => Ok(()),
    }
}

/// Ignores the progress, and stops the work when a flag is set.
#[derive(Debug)]
pub(crate) struct Until<'f>(pub(crate) &'f AtomicBool);

impl Watcher for Until<'_> {
    fn step(&mut self, _: &Step) {}

    fn rows(&mut self, _: &'static str, _: &str, _: u64) {}

    fn stops(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Watches nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watcher for Unwatched {
    fn step(&mut self, _: &Step) {}

    fn rows(&mut self, _: &'static str, _: &str, _: u64) {}
}
