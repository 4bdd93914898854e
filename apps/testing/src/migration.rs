//! Migrations that a test moves on step by step: in this process by pages of the sweep, at an endpoint by letting it go on for a moment.

use std::time::{Duration, Instant};

use trestle::migrate::{MigrationStatus, MigrationStep, Rate};
use trestle::{AnyDatabase, Embedded, WithModels as _};

/// More pages than any sweep of a test has: one that goes on does not end.
const PAGES_MAX: usize = 1_000;
/// Rows in a second while the sweep of an endpoint goes on for a moment.
const ENDPOINT_RATE: &str = "50";
/// How long a sweep may stand still.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);

/// The migration of an application's model.
#[derive(Clone, Copy, Debug)]
pub struct TestMigration<'d> {
    stored: &'d AnyDatabase,
    model: &'static str,
}

impl<'d> TestMigration<'d> {
    /// That of the model in this database.
    #[must_use]
    pub fn new(stored: &'d AnyDatabase, model: &'static str) -> Self {
        Self { stored, model }
    }

    /// Asks for a step, and says how the migration is doing then.
    pub fn step(self, step: MigrationStep) -> MigrationStatus {
        self.stored.step_migration(self.model, step).unwrap()
    }

    /// How it is doing.
    pub fn status(self) -> MigrationStatus {
        self.step(MigrationStep::Look)
    }

    /// Moves a few rows.
    pub fn sweep_page(self) -> MigrationStatus {
        match self.stored.embedded() {
            Some(embedded) => {
                self.step(MigrationStep::Resume(None));
                self.sweep_pages(embedded, 1)
            }
            None => self.sweep_for_a_moment(),
        }
    }

    /// Moves what is left.
    pub fn sweep_all(self) -> MigrationStatus {
        match self.stored.embedded() {
            Some(embedded) => {
                self.step(MigrationStep::Resume(Some(Rate::UNLIMITED)));
                self.sweep_pages(embedded, PAGES_MAX)
            }
            None => {
                self.resume(Rate::UNLIMITED);
                self.step(MigrationStep::Sweep)
            }
        }
    }

    /// Lets the sweep of an endpoint go on, unless it has come to its end by itself.
    fn resume(self, rate: Rate) -> MigrationStatus {
        let resumed = self
            .stored
            .step_migration(self.model, MigrationStep::Resume(Some(rate)));
        resumed.unwrap_or_else(|_| self.status())
    }

    fn sweep_pages(self, embedded: &Embedded, most: usize) -> MigrationStatus {
        let mut pages = 0..=most;
        let mut goes_on = |_: &MigrationStatus| pages.next() < Some(most);
        embedded.models().sweep(Some(self.model), &mut goes_on).unwrap()
    }

    /// Lets the sweep go on until it has moved something, and pauses it.
    fn sweep_for_a_moment(self) -> MigrationStatus {
        let far = |status: &MigrationStatus| (status.state, status.rows_moved);
        let before = far(&self.status());
        let mut now = self.resume(ENDPOINT_RATE.parse().unwrap());
        let begun = Instant::now();
        while far(&now) == before && !now.is_at_rest() {
            assert!(begun.elapsed() < PATIENCE, "the sweep stands still: {now}");
            std::thread::sleep(LOOK);
            now = self.status();
        }
        match now.is_at_rest() {
            true => now,
            // It may come to its end meanwhile.
            false => self
                .stored
                .step_migration(self.model, MigrationStep::Pause)
                .unwrap_or_else(|_| self.status()),
        }
    }
}
