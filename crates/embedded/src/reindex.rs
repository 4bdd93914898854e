//! The reindexes of a database: rows are touched many in a commit, state lies in a table of Trestle's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trestle_api::{Database, Error, Request, ResponseFuture, TouchRows, Touched};
use trestle_engine::{TOUCHED_MAX, touch_writes};
use trestle_events::{ModelTyper, RowSender, Typer};
use trestle_model::Model;
use trestle_reindex::{LiveTraffic, ReindexHost, ReindexSetup, Reindexer, Touch, TouchFuture, TouchResult};

use crate::Embedded;
use crate::internal::Internal;

impl Embedded {
    /// The reindexes that are stored with the data. Rows are sent to the routes of the router, while it is at work.
    #[must_use]
    pub fn reindexer(&self) -> Reindexer {
        self.reindexer_with(Arc::new(EmbeddedHost::new(self.clone())))
    }

    /// The same, with routes or models from elsewhere.
    #[must_use]
    pub fn reindexer_with(&self, host: Arc<dyn ReindexHost>) -> Reindexer {
        let own_writes = Arc::new(AtomicU64::new(0));
        let counted = |database: Arc<dyn Database>| CountedWrites {
            database,
            own_writes: Arc::clone(&own_writes),
        };
        let database: Arc<dyn Database> = Arc::new(counted(Arc::new(self.clone())));
        Reindexer::new(ReindexSetup {
            state: Arc::new(counted(Arc::new(Internal(Arc::clone(self.opened()))))),
            state_table: ReindexSetup::OWN_TABLE.to_owned(),
            clock: Arc::clone(self.clock()),
            touch: Arc::new(TouchInCommit {
                db: self.clone(),
                own_writes: Arc::clone(&own_writes),
            }),
            database,
            host,
            traffic: Some(Arc::new(OtherWrites {
                db: self.clone(),
                own_writes,
            })),
            lease: ReindexSetup::LEASE,
            first_pause: ReindexSetup::FIRST_PAUSE,
            longest_pause: ReindexSetup::LONGEST_PAUSE,
        })
    }

    /// Opens the target of a route for rows that are sent without the stream, with the means to write queues of this database.
    pub fn row_sender(
        &self,
        route: &trestle_events::Route,
        doors: &dyn trestle_events::Doors,
        typer: Arc<dyn Typer>,
    ) -> Result<RowSender, String> {
        let own = Arc::new(Internal(Arc::clone(self.opened())));
        RowSender::open(route, doors, typer, own)
    }
}

/// The models that are stored with a database, and the routes of its router.
pub struct EmbeddedHost {
    db: Embedded,
}

impl EmbeddedHost {
    /// Those of this database.
    #[must_use]
    pub fn new(db: Embedded) -> Self {
        Self { db }
    }
}

impl ReindexHost for EmbeddedHost {
    fn touches_unheard(&self, table: &str) -> Option<String> {
        let is_heard = self.db.router().is_some_and(|router| router.hears_touches(table));
        (!is_heard).then(|| {
            format!("no route of table {table} takes touches; give one `include_maintenance = [\"touch\"]`, and let it be enabled")
        })
    }

    fn sender(&self, route: &str) -> Result<RowSender, String> {
        let router = self.db.router();
        let router = router.ok_or("no routes are at work in this process; start them first")?;
        router.row_sender(route)
    }

    fn model(&self, table: &str) -> Option<(Arc<Model>, String)> {
        let models = self.db.models();
        let mut names = models.list().into_iter().map(|summary| summary.name);
        names.find_map(|name| {
            let model = models.model(&name).ok()?;
            model.table(table)?;
            Some((model, models.text(&name).ok()?))
        })
    }

    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        self.db.set_reindex_version(table, entity, version)
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        let versions = self.db.models().versions().ok()?;
        Some(Arc::new(ModelTyper::new(versions)))
    }
}

/// Touches rows many in a commit.
struct TouchInCommit {
    db: Embedded,
    own_writes: Arc<AtomicU64>,
}

impl Touch for TouchInCommit {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        Box::pin(async move {
            let mut touched = Vec::with_capacity(rows.keys.len());
            for keys in rows.keys.chunks(TOUCHED_MAX) {
                self.own_writes
                    .fetch_add(touch_writes(keys.len()) as u64, Ordering::AcqRel);
                let rows = TouchRows {
                    table: rows.table.clone(),
                    attribute: rows.attribute.clone(),
                    keys: keys.to_vec(),
                    ..rows
                };
                touched.extend(self.db.touch(rows).await?);
            }
            let is_raised = |touched: &&Touched| **touched == Touched::Raised;
            Ok(TouchResult {
                write_units: touched.iter().filter(is_raised).count() as f64,
                rows: touched,
            })
        })
    }
}

/// A database of which the writes are counted.
struct CountedWrites {
    database: Arc<dyn Database>,
    own_writes: Arc<AtomicU64>,
}

impl Database for CountedWrites {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        let is_write = matches!(
            request,
            Request::PutItem(_) | Request::UpdateItem(_) | Request::DeleteItem(_)
        );
        if is_write {
            self.own_writes.fetch_add(1, Ordering::AcqRel);
        }
        self.database.execute(request)
    }
}

/// What others than the reindex write.
struct OtherWrites {
    db: Embedded,
    own_writes: Arc<AtomicU64>,
}

impl LiveTraffic for OtherWrites {
    fn other_writes(&self) -> u64 {
        // In this order: what is counted as written by the reindex is not yet handed in at worst, and never taken for another's.
        let handed_in = self.db.opened().engine.writes_handed_in();
        handed_in.saturating_sub(self.own_writes.load(Ordering::Acquire))
    }
}
