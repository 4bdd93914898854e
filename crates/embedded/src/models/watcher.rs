//! Somebody who watches while a model is applied.

use trestle_binding::Step;

/// Is told how far it is. Everything may be ignored.
pub trait Watcher {
    /// A step begins.
    fn step(&mut self, step: &Step);

    /// So many rows of a table have been looked at or written.
    fn rows(&mut self, doing: &'static str, table: &str, rows: u64);
}

/// Watches nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Watcher for Nobody {
    fn step(&mut self, _: &Step) {}

    fn rows(&mut self, _: &'static str, _: &str, _: u64) {}
}
