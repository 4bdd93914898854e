//! The reindexes of a database: many rows are touched per commit, and the state is in one of Trestle's own
//! tables.

use std::sync::Arc;

use trestle_api::{Error, TouchRows};
use trestle_engine::TOUCHED_MAX;
use trestle_events::{ModelTyper, RowSender, Typer};
use trestle_model::Model;
use trestle_reindex::{LiveTraffic, ReindexHost, ReindexSetup, Reindexer, Touch, TouchFuture, TouchResult};

use crate::Embedded;
use crate::internal::Internal;

impl Embedded {
    /// The reindexes that are stored with the data. Rows are sent to the routes of the router, while it runs.
    #[must_use]
    pub fn reindexer(&self) -> Reindexer {
        self.reindexer_with(Arc::new(EmbeddedHost::new(self.clone())))
    }

    /// The same, with routes or models from another source.
    #[must_use]
    pub fn reindexer_with(&self, host: Arc<dyn ReindexHost>) -> Reindexer {
        let reindexer = Reindexer::new(ReindexSetup {
            state: Arc::new(Internal(Arc::clone(self.opened()))),
            state_table: ReindexSetup::OWN_TABLE.to_owned(),
            clock: Arc::clone(self.clock()),
            touch: Arc::new(self.clone()),
            database: Arc::new(self.clone()),
            host,
            traffic: Some(Arc::new(ClientWrites(self.clone()))),
            lease: ReindexSetup::LEASE,
            first_pause: ReindexSetup::FIRST_PAUSE,
            longest_pause: ReindexSetup::LONGEST_PAUSE,
        });
        // The lock on the directory proves that processes with earlier openings have ended.
        reindexer.of_opening(self.opened().opening.as_str())
    }

    /// Opens the target of a route for rows that are sent without the stream; it can write to queues of this
    /// database.
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
    /// The models and routes of this database.
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

/// Touches many rows per commit.
impl Touch for Embedded {
    fn touch(&self, rows: TouchRows) -> TouchFuture<'_> {
        Box::pin(async move {
            let (mut touched, mut write_units) = (Vec::with_capacity(rows.keys.len()), 0.0);
            for keys in rows.keys.chunks(TOUCHED_MAX) {
                let rows = TouchRows {
                    table: rows.table.clone(),
                    attribute: rows.attribute.clone(),
                    keys: keys.to_vec(),
                    expected: rows.expected.clone(),
                    ..rows
                };
                let (some, units) = self.touch_with_units(rows).await?;
                touched.extend(some);
                write_units += units;
            }
            Ok(TouchResult {
                write_units,
                rows: touched,
            })
        })
    }

    fn records_again(&self) -> bool {
        true
    }
}

/// The number of writes by clients, without touches.
struct ClientWrites(Embedded);

impl LiveTraffic for ClientWrites {
    fn other_writes(&self) -> u64 {
        self.0.client_writes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Options;
    use trestle_api::{
        AttributeDefinition, BillingMode, CreateTable, ErrorKind, KeySchemaElement, KeyType, PutItem, Wait,
    };
    use trestle_item::{Item, ScalarType};

    #[test]
    fn a_touch_takes_write_units_by_the_size_of_the_row() {
        let db = Embedded::in_memory(Options::default()).unwrap();
        db.run(CreateTable {
            table_name: "works".to_owned(),
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
        })
        .unwrap();
        for (pk, bytes) in [("small", 10), ("large", 3_500)] {
            let put = PutItem {
                table_name: "works".to_owned(),
                item: Item::from([("pk", pk.to_owned()), ("body", "x".repeat(bytes))]),
                ..PutItem::default()
            };
            db.run(put).unwrap();
        }
        let touch = |keys: &[&str]| {
            let rows = TouchRows {
                table: "works".to_owned(),
                attribute: "v".to_owned(),
                version: 1,
                keys: keys.iter().map(|pk| Item::from([("pk", *pk)])).collect(),
                ..TouchRows::default()
            };
            Touch::touch(&db, rows).wait().unwrap().write_units
        };
        assert_eq!(touch(&["small", "gone"]), 1.0);
        assert_eq!(touch(&["small", "large"]), 4.0);
        assert_eq!(touch(&["small", "large"]), 0.0);
    }

    #[test]
    fn writes_of_clients_are_told_from_those_of_the_reindex() {
        let db = Embedded::in_memory(Options::default()).unwrap();
        let traffic = ClientWrites(db.clone());
        let touch = TouchRows {
            table: "nowhere".to_owned(),
            attribute: "v".to_owned(),
            version: 1,
            keys: vec![Item::from([("pk", "a")])],
            ..TouchRows::default()
        };
        let missing = Touch::touch(&db, touch).wait().unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::ResourceNotFound);
        assert_eq!(traffic.other_writes(), 0);
        let put = PutItem {
            table_name: "nowhere".to_owned(),
            item: Item::from([("pk", "a")]),
            ..PutItem::default()
        };
        let refused = db.run(put).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ResourceNotFound);
        assert_eq!(traffic.other_writes(), 1);
    }
}
