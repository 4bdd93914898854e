//! Two databases in memory, and short forms of common operations.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::watch;
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, KeySchemaElement, KeyType, PutItem, Scan,
    StreamSpecification, StreamViewType,
};
use trestle_copy::{
    CopyError, CopyJob, CopyOrder, CopyProgress, CopyReport, CopySettings, CopySide, CopyState, SideKind,
    StateFile,
};
use trestle_embedded::{Embedded, Options};
use trestle_item::{Item, Number, ScalarType};

/// Two databases and the state of a copy.
pub(crate) struct Pair {
    pub(crate) from: Embedded,
    pub(crate) to: Embedded,
    /// The kind of the source: a directory does not change during the copy, an endpoint does.
    pub(crate) kind: SideKind,
    pub(crate) settings: CopySettings,
    directory: TempDir,
}

impl Pair {
    pub(crate) fn new(kind: SideKind) -> Self {
        let database = || Embedded::in_memory(Options::default()).unwrap();
        Pair {
            from: database(),
            to: database(),
            kind,
            settings: CopySettings {
                segments: 4,
                workers: 4,
                page_rows: 7,
                settle: Duration::from_millis(50),
                ..CopySettings::default()
            },
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn state(&self) -> Arc<StateFile> {
        Arc::new(self.open_as("from").unwrap())
    }

    /// The state, for a copy from there.
    pub(crate) fn open_as(&self, from: &str) -> Result<StateFile, CopyError> {
        StateFile::open(&self.path(), from, "to", 1)
    }

    /// The stored state.
    pub(crate) fn stored(&self) -> CopyState {
        StateFile::read(&self.path()).unwrap().unwrap()
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("state.json")
    }

    pub(crate) fn job(&self) -> CopyJob {
        let side = |name: &str, kind, db: &Embedded| CopySide {
            name: name.to_owned(),
            kind,
            database: db.for_copy(),
            administration: None,
        };
        CopyJob {
            from: side("from", self.kind, &self.from),
            to: side("to", SideKind::Directory, &self.to),
            settings: self.settings.clone(),
            progress: Arc::new(CopyProgress::default()),
        }
    }

    /// Copies and cuts over.
    pub(crate) fn copy(&self) -> Result<CopyReport, CopyError> {
        let (_orders, told) = watch::channel(CopyOrder {
            cut_over: true,
            stop: false,
        });
        let job = self.job();
        runtime().block_on(job.run(self.state(), told))
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// A table with a string key.
pub(crate) fn table(name: &str) -> CreateTable {
    CreateTable {
        table_name: name.to_owned(),
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: "pk".to_owned(),
            attribute_type: ScalarType::S,
        }],
        key_schema: vec![KeySchemaElement {
            attribute_name: "pk".to_owned(),
            key_type: KeyType::Hash,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}

pub(crate) fn with_stream(table: CreateTable, view: StreamViewType) -> CreateTable {
    CreateTable {
        stream_specification: Some(StreamSpecification {
            stream_enabled: true,
            stream_view_type: Some(view),
        }),
        ..table
    }
}

pub(crate) fn key(number: u64) -> Item {
    Item::from([("pk", format!("row-{number:05}").as_str())])
}

pub(crate) fn row(number: u64, version: u64) -> Item {
    let mut row = key(number);
    row.insert("version", Number::from(version as i64));
    row
}

pub(crate) fn put(db: &Embedded, item: Item) {
    put_into(db, "t", item);
}

pub(crate) fn put_into(db: &Embedded, table: &str, item: Item) {
    db.run(PutItem {
        table_name: table.to_owned(),
        item,
        ..PutItem::default()
    })
    .unwrap();
}

/// All rows, by their keys.
pub(crate) fn rows(db: &Embedded, table: &str) -> Vec<Item> {
    let mut scan = Scan {
        table_name: table.to_owned(),
        ..Scan::default()
    };
    let mut rows = Vec::new();
    loop {
        let page = db.run(scan.clone()).unwrap();
        rows.extend(page.items.map(|items| items.to_vec()).unwrap_or_default());
        scan.exclusive_start_key = page.last_evaluated_key;
        if scan.exclusive_start_key.is_none() {
            break;
        }
    }
    rows.sort_by_key(|row| row.get("pk").unwrap().as_s().unwrap().to_owned());
    rows
}
