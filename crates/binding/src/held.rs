//! A stored model in memory, with the migration of its rows; and all of them combined into one hook.

use std::sync::Arc;

use trestle_api::Error;
use trestle_env::Timestamp;
use trestle_model::{Hindrance, LayoutChange, Model, Problem};

use crate::bind_error::BindError;
use crate::clearing::{self, Clearing, Leftovers};
use crate::migration::{self, Document, DualLayout, Meter, MigrationState, MigrationStatus, Pace};
use crate::model_hook::ModelHook;
use crate::stored::{self, Stored};

/// A stored version, with its model if it loads.
#[derive(Clone, Debug)]
pub struct Held {
    /// The newest version.
    pub stored: Stored,
    /// The model, or its errors.
    pub model: Result<Arc<Model>, Vec<Problem>>,
    /// The last migration of its rows, or a planned one.
    pub migration: Option<Migration>,
    /// Rows that an earlier version left behind and that are being deleted.
    pub clearing: Option<Clearing>,
}

/// The models among stored documents, with their migrations and removals.
pub fn read(documents: Vec<(String, Vec<u8>)>) -> Result<Vec<Held>, Error> {
    let versions = stored::read(documents.clone())?;
    let mut clearings = clearing::read(&documents, &versions)?;
    let mut migrations = migration::read(documents)?;
    let newest = stored::newest(versions.clone()).into_iter();
    let held = newest.map(|stored| {
        let (migration, clearing) = (migrations.remove(&stored.name), clearings.remove(&stored.name));
        Held {
            clearing,
            ..Held::load(stored).with_migration(migration, &versions)
        }
    });
    Ok(held.collect())
}

/// The models that load.
pub fn loaded(held: &[Held]) -> impl Iterator<Item = &Model> {
    held.iter().filter_map(|held| held.model.as_deref().ok())
}

/// A migration, with its state that exists only in memory.
#[derive(Clone, Debug)]
pub struct Migration {
    /// The stored document.
    pub document: Document,
    /// The two layouts, while both are understood, or why they cannot be.
    pub moving: Option<Result<Arc<DualLayout>, String>>,
    /// The size of the next page, and when it is due.
    pub pace: Pace,
    /// How many writes had been submitted to the database when the last page was done.
    pub writes_seen: u64,
    /// The measured speed of this pass.
    pub meter: Option<Meter>,
    /// When the document was last stored, and how many pages ago that was.
    pub stored: (Timestamp, u32),
}

impl Held {
    /// Loads a stored version.
    #[must_use]
    pub fn load(stored: Stored) -> Self {
        let loaded = trestle_model::load(&stored.text);
        let model = loaded.model.map(Arc::new).ok_or(loaded.problems);
        Held {
            stored,
            model,
            migration: None,
            clearing: None,
        }
    }

    /// The same with its stored migration.
    #[must_use]
    pub fn with_migration(mut self, document: Option<Document>, versions: &[Stored]) -> Self {
        self.migration = document.map(|document| {
            let is_under_way = document.state.is_under_way();
            let moving = is_under_way.then(|| moving(&document, versions).map(Arc::new));
            Migration::new(document, moving)
        });
        self
    }

    /// The model, if it loads.
    pub fn model(&self) -> Result<&Arc<Model>, BindError> {
        self.model.as_ref().map_err(|problems| BindError::StoredUnsound {
            name: self.stored.name.clone(),
            version: self.stored.version,
            problems: problems.clone(),
        })
    }

    /// Whether a fill is pending, and nothing else is under way.
    #[must_use]
    pub fn waits_for_fill(&self) -> bool {
        let moves = self.migration.as_ref();
        let moves = moves.is_some_and(|migration| migration.document.state.is_under_way());
        !self.stored.filled_in && self.model.is_ok() && !moves
    }

    /// Whether rows of removed effects can be deleted now. During a migration, some moving rows would look
    /// like those.
    #[must_use]
    pub fn can_clear(&self) -> bool {
        let migration = self.migration.as_ref();
        let moves = migration.is_some_and(|migration| migration.document.state.is_under_way());
        self.clearing.is_some() && !moves
    }

    /// What identifies rows of removed effects.
    #[must_use]
    pub fn leftovers(&self) -> Vec<Leftovers> {
        let clearing = self.clearing.iter();
        clearing.map(|clearing| clearing.leftovers.clone()).collect()
    }

    /// Refuses a change of the version in effect until all rows are in their places.
    pub fn refuse_while_rows_move(&self) -> Result<(), BindError> {
        match &self.migration {
            Some(migration) if migration.document.state.is_under_way() => Err(migration.on_the_move()),
            _ => Ok(()),
        }
    }

    /// Whether a migration to this text is planned.
    #[must_use]
    pub fn plans(&self, text: &str) -> bool {
        let document = self.migration.as_ref().map(|migration| &migration.document);
        document.is_some_and(|document| {
            document.state == MigrationState::Planned && document.text.as_deref() == Some(text)
        })
    }
}

impl Migration {
    /// A migration without state in memory.
    #[must_use]
    pub fn new(document: Document, moving: Option<Result<Arc<DualLayout>, String>>) -> Self {
        Migration {
            document,
            moving,
            pace: Pace::default(),
            writes_seen: 0,
            meter: None,
            stored: (Timestamp::EPOCH, 0),
        }
    }

    /// The two layouts, while both are understood.
    pub fn moving(&self) -> Result<Option<&Arc<DualLayout>>, BindError> {
        match &self.moving {
            None => Ok(None),
            Some(Ok(moving)) => Ok(Some(moving)),
            Some(Err(why)) => Err(BindError::StoredMigration {
                model: self.document.model.clone(),
                why: why.clone(),
            }),
        }
    }

    /// Its status.
    #[must_use]
    pub fn status(&self, now: Timestamp) -> MigrationStatus {
        let counted = self.moving.as_ref().and_then(|moving| moving.as_ref().ok());
        let double_reads = counted.map_or(self.document.double_reads, |moving| moving.double_reads());
        MigrationStatus::of(&self.document, self.meter, double_reads, now)
    }

    /// The error that rows are moving, with the next step.
    #[must_use]
    pub fn on_the_move(&self) -> BindError {
        BindError::OnTheMove {
            model: self.document.model.clone(),
            state: self.document.state,
            next: self.status(Timestamp::EPOCH).next,
        }
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(
            self.document.state,
            MigrationState::Done | MigrationState::RolledBack
        )
    }

    /// Ends it, with one layout left.
    pub fn end(&mut self, state: MigrationState, now: Timestamp) {
        self.document.double_reads = self.status(now).double_reads;
        self.document.enter(state, now);
        self.moving = None;
    }
}

/// The two layouts of a stored migration.
fn moving(document: &Document, versions: &[Stored]) -> Result<DualLayout, String> {
    let load = |version: u64| {
        let mut versions = versions.iter();
        let stored = versions.find(|stored| stored.name == document.model && stored.version == version);
        let stored = stored.ok_or_else(|| format!("version {version} is not stored"))?;
        let model = Held::load(stored.clone()).model.map(Ok);
        model.unwrap_or_else(|_| Err(format!("version {version} does not load")))
    };
    let (from, to) = (load(document.from)?, load(document.to)?);
    let hindered = |hindrances: Vec<Hindrance>| {
        let why: Vec<String> = hindrances.iter().map(Hindrance::to_string).collect();
        why.join("; ")
    };
    let layout_change = LayoutChange::between(&from, &to).map_err(hindered)?;
    if document.state == MigrationState::RollingBack {
        let back = layout_change.reversed().map_err(hindered)?;
        return Ok(DualLayout::new(back, to, document.double_reads));
    }
    Ok(DualLayout::new(layout_change, from, document.double_reads))
}

/// Combines all models into one hook, with the former places of moving rows.
pub fn together(held: &[Held]) -> Result<ModelHook, BindError> {
    let mut models = ModelHook::default();
    for held in held {
        let model = held.model()?;
        models.add(model).map_err(|claimed| BindError::SameTable {
            first: claimed.by,
            second: model.name().to_owned(),
            table: claimed.table,
        })?;
        if let Some(migration) = &held.migration
            && let Some(moving) = migration.moving()?
        {
            models.move_rows(moving, &migration.document);
        }
    }
    Ok(models)
}
