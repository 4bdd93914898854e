//! A folder with a schema, a mapping and exports, and a database with a model.

use std::path::Path;
use std::sync::Arc;
use tempfile::TempDir;
use trestle_api::{Scan, Wait};
use trestle_cassandra::{
    Collision, Import, ImportSettings, ImportState, ImportTotals, Mapping, MappingError, Misfit, Observer,
    Plan, RecordPlace, RunError, Schema, Verified,
};
use trestle_embedded::{ApplyOptions, Embedded, Options, Unwatched};
use trestle_item::Item;

pub(crate) struct Folder {
    directory: TempDir,
    pub(crate) model: String,
}

/// Records the events of an import.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) misfits: Vec<Misfit>,
    pub(crate) collisions: Vec<Collision>,
}

impl Observer for Heard {
    fn misfit(&mut self, misfit: &Misfit) {
        self.misfits.push(misfit.clone());
    }

    fn collision(&mut self, collision: &Collision) {
        self.collisions.push(collision.clone());
    }

    fn progress(&mut self, _work: &'static str, _done: u64, _all: u64, _rows: u64) {}
}

impl Folder {
    pub(crate) fn new(model: &str, files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        Folder {
            directory,
            model: model.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path().join(name)).unwrap()
    }

    pub(crate) fn plan(&self) -> Result<Arc<Plan>, MappingError> {
        let mapping = Mapping::read(&self.read("mapping.toml"))?;
        let schema = Schema::read(&self.read(mapping.schema.as_deref().unwrap())).unwrap();
        let loaded = trestle_model::load(&self.model);
        let model = loaded.model.unwrap_or_else(|| panic!("{:?}", loaded.problems));
        Plan::bind(&mapping, &schema, Arc::new(model), self.path()).map(Arc::new)
    }

    pub(crate) fn database(&self) -> Embedded {
        let db = Embedded::in_memory(Options::default()).unwrap();
        db.models()
            .apply(&self.model, ApplyOptions::default(), &mut Unwatched)
            .unwrap();
        db
    }

    pub(crate) fn import(&self, settings: ImportSettings) -> Import {
        let mapping = self.read("mapping.toml");
        Import {
            plan: self.plan().unwrap(),
            settings,
            state: ImportState::of(&mapping, &self.read("schema.cql")),
        }
    }

    pub(crate) fn run(
        &self,
        db: &Embedded,
        settings: ImportSettings,
    ) -> (Result<ImportTotals, RunError>, Heard) {
        let mut heard = Heard::default();
        let totals = self.import(settings).run(db, &mut heard).wait();
        (totals, heard)
    }

    pub(crate) fn verify(&self, db: &Embedded) -> Vec<Verified> {
        self.plan()
            .unwrap()
            .verify(db, 0, &mut Heard::default())
            .wait()
            .unwrap()
    }
}

/// All rows of a table.
pub(crate) fn rows(db: &Embedded, table: &str) -> Vec<Item> {
    let scan = Scan {
        table_name: table.to_owned(),
        ..Scan::default()
    };
    db.run(scan).unwrap().items.unwrap().to_vec()
}

/// The line of a record of a file.
pub(crate) fn line_of(place: &RecordPlace) -> u64 {
    match place {
        RecordPlace::Line { line, .. } => *line,
        other => panic!("{other} is no place in a file"),
    }
}
