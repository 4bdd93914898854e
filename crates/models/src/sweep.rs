//! One page of a sweep: moves rows that no client has written; at the end every row is checked again.

use std::sync::atomic::Ordering;
use std::time::Duration;

use trestle_api::{Error, ErrorKind};
use trestle_binding::held::Migration;
use trestle_binding::migration::{self, Document, Meter, MigrationState, SweptPage};
use trestle_env::Timestamp;
use trestle_hook::MovedPage;

use crate::{BindError, Models, not_held};

/// The position is stored after so many pages, or so much time, whichever is first. Repeating work after a
/// crash is harmless.
const PAGES_BETWEEN: u32 = 64;
const TIME_BETWEEN: Duration = Duration::from_secs(2);
/// The pause before rows that could not move are tried again.
const HELD_UP_PAUSE: Duration = Duration::from_secs(30);
/// The pause before this process checks again whether it has to move the rows.
const OTHERS_TURN: Duration = Duration::from_secs(1);
/// The pause before a retry after an error.
const ERROR_PAUSE: Duration = Duration::from_secs(5);

/// The result of a migration's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Swept {
    /// There is nothing to do.
    Nothing,
    /// There is work, but not before this time.
    Later(Timestamp),
    /// A page was read; the database is free for others for this long, in real time.
    Page(Duration),
    /// The state changed, or the remaining rows cannot move.
    Changed,
}

impl Models {
    /// The models whose migrations have rows to sweep.
    pub(crate) fn to_sweep(&self) -> Vec<String> {
        let held = self.held.lock();
        let migrations = held.iter().filter_map(|held| held.migration.as_ref());
        let working = migrations.filter(|migration| migration.document.has_work());
        working
            .map(|migration| migration.document.model.clone())
            .collect()
    }

    /// Whether this process has to move the rows. If it has just taken over, it continues at the position
    /// that another process stored.
    fn take_turn(&self) -> Result<bool, BindError> {
        let Some(turn) = self.host.sweep_turn()? else {
            return Ok(false);
        };
        if self.sweep_turn.swap(turn, Ordering::AcqRel) != turn {
            self.take_up_progress()?;
        }
        Ok(true)
    }

    /// Reads the progress of migrations that another process runs.
    pub(super) fn take_up_progress(&self) -> Result<(), BindError> {
        let stored = migration::read(self.host.documents()?)?;
        let mut held = self.held.lock();
        for migration in held.iter_mut().filter_map(|held| held.migration.as_mut()) {
            let known = &mut migration.document;
            if let Some(document) = stored
                .get(&known.model)
                .filter(|document| document.is_progress_of(known))
            {
                known.clone_from(document);
            }
        }
        Ok(())
    }

    /// Sweeps a page of this model's migration, if it is time. An error becomes part of its status; the page
    /// is tried again later.
    pub(crate) fn sweep_page(&self, model: &str) -> Result<Swept, BindError> {
        // Rows do not move while a model is applied: the installed hook must not change then.
        let _one_at_a_time = self.applying.lock();
        let now = self.clock.now();
        if !self.migration(Some(model))?.document.has_work() {
            return Ok(Swept::Nothing);
        }
        if !self.take_turn()? {
            return Ok(Swept::Later(now.plus(OTHERS_TURN)));
        }
        let mut migration = self.migration(Some(model))?;
        if migration.pace.due() > now {
            return Ok(Swept::Later(migration.pace.due()));
        }
        let before = (migration.document.state, migration.document.is_held_up());
        if let Err(error) = self.advance(&mut migration, now) {
            migration.document.error = Some(error.to_string());
            migration.pace.wait(ERROR_PAUSE, now);
            self.keep(migration)?;
            return Err(error);
        }
        let is_changed = before != (migration.document.state, migration.document.is_held_up());
        let (stored_at, pages) = migration.stored;
        migration.stored.1 = pages.saturating_add(1);
        if !is_changed {
            if pages >= PAGES_BETWEEN || now.since(stored_at) >= TIME_BETWEEN {
                self.store_progress(&mut migration)?;
            }
            migration.writes_seen = self.host.writes_handed_in();
            let rest = migration.pace.rest();
            self.keep(migration)?;
            return Ok(Swept::Page(rest));
        }
        self.store_migration(migration)?;
        Ok(Swept::Changed)
    }

    /// One page, or the end of a pass.
    fn advance(&self, migration: &mut Migration, now: Timestamp) -> Result<(), BindError> {
        migration.document.error = None;
        let is_beginning =
            migration.document.state == MigrationState::Dual || migration.document.is_held_up();
        if is_beginning {
            migration.document.begin_pass(false, now);
        }
        if is_beginning || migration.meter.is_none() {
            migration.meter = Some(Meter::start(&migration.document, now));
        }
        let document = &mut migration.document;
        let (rate, looks_only) = (document.rate, document.looks_only);
        let Some(table) = document.tables.iter_mut().find(|table| !table.finished) else {
            self.end_pass(migration, now);
            return Ok(());
        };
        let rows = migration.pace.rows(rate, looks_only);
        let name = table.table.clone();
        let from = table.position.as_deref();
        let (page, found) = if looks_only {
            self.look_page(&name, from, rows)?
        } else {
            (self.move_page(&name, from, rows)?, 0)
        };
        let looked_at = table.looked_at + page.looked_at;
        let next = page
            .next
            .map(|next| self.with_walked(next, (looked_at, table.rows)));
        table.page(page.looked_at, page.moved, next);
        let stuck = page.stuck.iter().map(|stuck| (&stuck.key, stuck.reason.as_str()));
        document.stuck.add(&name, stuck)?;
        document.found += found;
        let handed_in = self.host.writes_handed_in();
        let swept = SweptPage {
            looked_at: page.looked_at,
            moved: page.cost,
            took: self.clock.now().since(now),
            // Rows that move together are one write.
            other_writes: (handed_in - migration.writes_seen).saturating_sub(u64::from(page.moved > 0)),
        };
        migration.pace.page(rate, swept, now);
        if migration.document.is_through() {
            self.end_pass(migration, now);
        }
        Ok(())
    }

    fn move_page(&self, table: &str, from: Option<&[u8]>, rows: usize) -> Result<MovedPage, BindError> {
        self.host.look_ahead(table);
        or_gone(self.host.move_rows(table, from, rows))
    }

    /// A page of a pass that only reads, with the number of former rows in it.
    fn look_page(
        &self,
        table: &str,
        from: Option<&[u8]>,
        rows: usize,
    ) -> Result<(MovedPage, u64), BindError> {
        let page = or_gone(self.host.rows_to_move(table, from, rows))?;
        let moved = MovedPage {
            looked_at: page.looked_at,
            next: page.next,
            ..MovedPage::default()
        };
        Ok((moved, page.keys.len() as u64))
    }

    /// A position in a table, and the part of the table before it. If that does not follow from the position,
    /// it is estimated from the number of rows read and in total.
    pub(super) fn with_walked(&self, position: Vec<u8>, (looked_at, rows): (u64, u64)) -> (Vec<u8>, f64) {
        let counted = || (looked_at as f64 / rows.max(1) as f64).min(1.0);
        let before = self.host.walked(&position).unwrap_or_else(counted);
        (position, before)
    }

    /// The next step after a pass over all tables.
    fn end_pass(&self, migration: &mut Migration, now: Timestamp) {
        let document = &mut migration.document;
        match Pass::of(document) {
            Pass::Stuck => migration.pace.wait(HELD_UP_PAUSE, now),
            Pass::Moved => {
                document.begin_pass(true, now);
                migration.meter = Some(Meter::start(&migration.document, now));
            }
            Pass::FoundMore => {
                document.begin_pass(false, now);
                migration.meter = Some(Meter::start(&migration.document, now));
            }
            Pass::FoundNone => match document.state {
                MigrationState::RollingBack => migration.end(MigrationState::RolledBack, now),
                _ if document.finishes => migration.end(MigrationState::Done, now),
                _ => document.enter(MigrationState::Verified, now),
            },
        }
    }

    /// Stores the progress of a migration. The meaning of rows does not change, nor does what readers have
    /// cached about it.
    fn store_progress(&self, migration: &mut Migration) -> Result<(), BindError> {
        let now = self.clock.now();
        migration.document.double_reads = migration.status(now).double_reads;
        migration.stored = (now, 0);
        let document = migration.document.to_document()?;
        Ok(self.host.store_documents(vec![document])?)
    }

    /// Keeps the progress of a migration in memory without storing it.
    fn keep(&self, migration: Migration) -> Result<(), BindError> {
        let mut held = self.held.lock();
        let found = held
            .iter_mut()
            .find(|held| held.stored.name == migration.document.model);
        match found {
            Some(held) => held.migration = Some(migration),
            None => return Err(not_held(&migration.document.model)),
        }
        Ok(())
    }
}

/// The result of a pass.
enum Pass {
    /// Rows could not be moved.
    Stuck,
    /// Everything was moved; it was not checked yet.
    Moved,
    /// It was checked, and rows are left.
    FoundMore,
    /// It was checked, and none is left.
    FoundNone,
}

impl Pass {
    fn of(document: &Document) -> Self {
        match (document.looks_only, document.stuck.rows, document.found) {
            (false, 0, _) => Pass::Moved,
            (false, _, _) => Pass::Stuck,
            (true, _, 0) => Pass::FoundNone,
            (true, _, _) => Pass::FoundMore,
        }
    }
}

/// A table that was deleted has no rows to move.
pub(super) fn or_gone<T: Default>(page: Result<T, Error>) -> Result<T, BindError> {
    match page {
        Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(T::default()),
        page => Ok(page?),
    }
}
