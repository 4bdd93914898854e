//! The state of migrations, and how to pause, resume or end one.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use trestle_api::ErrorKind;

use crate::hidden_tables;
use crate::{BindError, Models, not_held};
use trestle_binding::held::{Held, Migration, loaded};
use trestle_binding::migration::{Meter, MigrationState, MigrationStatus, Rate};

/// How often a change of a migration is retried when another process changes it meanwhile, which is rare.
const STEER_TRIES: usize = 5;

impl Models {
    /// The planned and running migrations, and the last one of each other model, in the order of models.
    pub fn migrations(&self) -> Vec<MigrationStatus> {
        let now = self.clock.now();
        let _ = self.host.catch_up();
        self.look_at_others();
        let held = self.held.lock();
        let migrations = held.iter().filter_map(|held| held.migration.as_ref());
        migrations.map(|migration| migration.status(now)).collect()
    }

    /// The status of one migration: that of the named model, or the only one that is not over.
    pub fn migration_status(&self, name: Option<&str>) -> Result<MigrationStatus, BindError> {
        self.host.catch_up()?;
        self.look_at_others();
        Ok(self.migration(name)?.status(self.clock.now()))
    }

    /// Pauses the sweep. Reads and writes continue as before: a written row moves.
    pub fn pause_migration(&self, name: Option<&str>) -> Result<MigrationStatus, BindError> {
        self.steer(name, |mut migration| {
            self.refuse_unless(
                migration.document.state.may_hold_rows(),
                &migration,
                "there is nothing to pause",
            )?;
            migration.document.paused = true;
            Ok(migration)
        })
    }

    /// Resumes the sweep, at another rate if one is given. Rows that could not move are tried again
    /// immediately.
    pub fn resume_migration(
        &self,
        name: Option<&str>,
        rate: Option<Rate>,
    ) -> Result<MigrationStatus, BindError> {
        self.steer(name, |mut migration| {
            self.refuse_unless(
                migration.document.state.may_hold_rows(),
                &migration,
                "there is nothing to resume",
            )?;
            let now = self.clock.now();
            if migration.document.is_held_up() {
                migration.document.begin_pass(false, now);
            }
            migration.document.paused = false;
            migration.document.rate = rate.unwrap_or(migration.document.rate);
            migration.pace.hurry();
            migration.meter = Some(Meter::start(&migration.document, now));
            Ok(migration)
        })
    }

    /// Ends a verified migration: keys of the previous version are no longer understood, and it cannot be
    /// rolled back.
    pub fn finish_migration(&self, name: Option<&str>) -> Result<MigrationStatus, BindError> {
        self.steer(name, |mut migration| {
            self.refuse_unless(
                migration.document.state == MigrationState::Verified,
                &migration,
                "it cannot be finished",
            )?;
            migration.end(MigrationState::Done, self.clock.now());
            Ok(migration)
        })
    }

    /// Stores a change of a migration. If another process has changed it meanwhile, the change is checked
    /// again.
    fn steer(
        &self,
        name: Option<&str>,
        change: impl Fn(Migration) -> Result<Migration, BindError>,
    ) -> Result<MigrationStatus, BindError> {
        let mut tries = 0;
        loop {
            self.host.catch_up()?;
            let one_at_a_time = self.applying.lock();
            let stored = self
                .newest_migration(name)
                .and_then(&change)
                .and_then(|migration| self.stored_status(migration));
            drop(one_at_a_time);
            tries += 1;
            match stored {
                Err(BindError::Database(error))
                    if error.kind() == ErrorKind::ResourceInUse && tries < STEER_TRIES => {}
                stored => return stored,
            }
        }
    }

    /// The progress of a migration that another process runs is known only as stored.
    fn look_at_others(&self) {
        let is_here = |turn: u64| turn == self.sweep_turn.load(Ordering::Acquire);
        if !matches!(self.host.sweep_turn(), Ok(Some(turn)) if is_here(turn)) {
            // If the other process cannot be asked, the state known here is returned.
            let _ = self.take_up_progress();
        }
    }

    /// Like [`Models::migration`], but from the process that runs the migration.
    pub(super) fn newest_migration(&self, name: Option<&str>) -> Result<Migration, BindError> {
        self.look_at_others();
        self.migration(name)
    }

    /// The migration of the named model, or the only one that is not over.
    pub(super) fn migration(&self, name: Option<&str>) -> Result<Migration, BindError> {
        let held = self.held.lock();
        let all = held.iter().filter_map(|held| held.migration.as_ref());
        let mut wanted = all.clone().filter(|migration| match name {
            Some(name) => migration.document.model == name,
            None => !migration.is_over(),
        });
        match (wanted.next(), wanted.next()) {
            (Some(only), None) => Ok(only.clone()),
            _ => {
                // A migration that is over does not count.
                let known = all.filter(|migration| name.is_some() || !migration.is_over());
                Err(BindError::NoMigration {
                    name: name.map(str::to_owned),
                    known: known.map(|migration| migration.document.model.clone()).collect(),
                })
            }
        }
    }

    fn refuse_unless(&self, can: bool, migration: &Migration, cannot: &'static str) -> Result<(), BindError> {
        if can {
            return Ok(());
        }
        Err(BindError::NotNow {
            model: migration.document.model.clone(),
            state: migration.document.state,
            cannot,
            next: migration.status(self.clock.now()).next,
        })
    }

    fn stored_status(&self, migration: Migration) -> Result<MigrationStatus, BindError> {
        let status = migration.status(self.clock.now());
        self.store_migration(migration)?;
        Ok(status)
    }

    /// Stores a change of a migration.
    pub(super) fn store_migration(&self, migration: Migration) -> Result<(), BindError> {
        let held = self.held.lock().clone();
        let found = held
            .into_iter()
            .find(|held| held.stored.name == migration.document.model);
        match found {
            Some(held) => {
                let changed = Held {
                    migration: Some(migration),
                    ..held
                };
                self.replace(changed, Vec::new())
            }
            None => Err(not_held(&migration.document.model)),
        }
    }

    /// Stores a version of a model with its migration, and with the rows that it leaves behind.
    pub(super) fn store_both(&self, changed: Held) -> Result<(), BindError> {
        let mut documents = vec![changed.stored.to_document()?];
        if let Some(clearing) = &changed.clearing {
            documents.push(clearing.document.to_document()?);
        }
        self.replace(changed, documents)
    }

    /// Replaces a model and its migration, in one commit with their consequences for reads and writes. The
    /// caller holds the turn to change models.
    fn replace(
        &self,
        mut changed: Held,
        mut documents: Vec<(String, Option<Vec<u8>>)>,
    ) -> Result<(), BindError> {
        let now = self.clock.now();
        if let Some(migration) = &mut changed.migration {
            migration.document.double_reads = migration.status(now).double_reads;
            migration.stored = (now, 0);
            documents.push(migration.document.to_document()?);
        }
        let mut held = self.held.lock().clone();
        held.retain(|held| held.stored.name != changed.stored.name);
        held.push(changed);
        held.sort_by(|a, b| a.stored.name.cmp(&b.stored.name));
        let hook = self.hook_of(&held)?;
        hidden_tables::ensure(&*self.host, loaded(&held))?;
        self.install(documents, Some(Arc::new(hook)))?;
        *self.held.lock() = held;
        // There may be rows to move.
        self.clock.signal().ring();
        Ok(())
    }
}
