//! The reindexes of a database: rows are touched as a client would, state lies in a table of Trestle's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use trestle_api::{Database, Request, ResponseFuture};
use trestle_events::{ModelTyper, RowSender, Typer};
use trestle_model::Model;
use trestle_reindex::{LiveTraffic, ReindexHost, ReindexSetup, Reindexer, TouchByUpdate};

use crate::Embedded;
use crate::embedded::writes_rows;
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
        let counted = Arc::new(CountedWrites {
            db: self.clone(),
            own_writes: AtomicU64::new(0),
        });
        let database: Arc<dyn Database> = Arc::clone(&counted) as _;
        Reindexer::new(ReindexSetup {
            state: Arc::new(Internal(Arc::clone(self.opened()))),
            state_table: ReindexSetup::OWN_TABLE.to_owned(),
            clock: Arc::clone(self.clock()),
            touch: Arc::new(TouchByUpdate::new(Arc::clone(&database))),
            database,
            host,
            traffic: Some(counted),
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
            format!("no route of table {table} takes touches; give one `include_maintenance = true`, and let it be enabled")
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

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        let versions = self.db.models().versions().ok()?;
        Some(Arc::new(ModelTyper::new(versions)))
    }
}

/// The database as a reindex reads and writes rows. Its writes are counted, to tell them from those of others.
struct CountedWrites {
    db: Embedded,
    own_writes: AtomicU64,
}

impl Database for CountedWrites {
    fn execute(&self, request: Request) -> ResponseFuture<'_> {
        if writes_rows(&request) {
            self.own_writes.fetch_add(1, Ordering::AcqRel);
        }
        self.db.execute(request)
    }
}

impl LiveTraffic for CountedWrites {
    fn other_writes(&self) -> u64 {
        // In this order, a write of the reindex is never taken for that of another.
        let all = self.db.client_writes();
        all.saturating_sub(self.own_writes.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use trestle_api::{ErrorKind, PutItem};
    use trestle_item::Item;

    #[test]
    fn writes_of_others_are_told_from_those_of_the_reindex() {
        let db = Embedded::in_memory(Options::default()).unwrap();
        let counted = CountedWrites {
            db: db.clone(),
            own_writes: AtomicU64::new(0),
        };
        let put = || PutItem {
            table_name: "nowhere".to_owned(),
            item: Item::from([("pk", "a")]),
            ..PutItem::default()
        };
        drop(counted.execute(Request::PutItem(put())));
        assert_eq!(counted.other_writes(), 0);
        let refused = db.run(put()).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ResourceNotFound);
        assert_eq!(counted.other_writes(), 1);
    }
}
