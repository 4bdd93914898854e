//! Models with every effect, stores that outlive a database, and short forms for items.

use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use trestle_api::{PutItem, Scan};
use trestle_binding::Outcome;
use trestle_embedded::{ApplyOptions, Unwatched};
use trestle_embedded::{Embedded, Options};
use trestle_env::{Clock, VirtualClock};
use trestle_item::{AttributeValue, Item, Number};
use trestle_store::MemoryStore;

/// A store and a clock that outlive the database.
pub(crate) struct World {
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<VirtualClock>,
}

impl World {
    pub(crate) fn new() -> Self {
        World {
            store: Arc::new(MemoryStore::new()),
            clock: Arc::new(VirtualClock::new()),
        }
    }

    pub(crate) fn open(&self) -> Embedded {
        self.open_with(Options::default())
    }

    pub(crate) fn open_with(&self, options: Options) -> Embedded {
        Embedded::on(self.store.clone(), self.clock.clone(), options).unwrap()
    }

    /// Seconds since the epoch.
    pub(crate) fn now_s(&self) -> i64 {
        i64::try_from(self.clock.now().as_secs()).unwrap()
    }
}

/// A model with a counter, a unique value and a head, all of rows that expire.
pub(crate) fn model(name: &str) -> String {
    format!(
        r#"
model = "{name}"
[table.{name}]
key = ["pk", "sk"]
entity_attribute = "kind"
ttl = "until"

[entity.team]
table = "{name}"
key = {{ pk = "team#{{team}}", sk = "team" }}
attributes = {{ team = "string", members = {{ type = "integer", default = 0 }} }}

[entity.member]
table = "{name}"
key = {{ pk = "team#{{team}}", sk = "m#{{number:04}}" }}
attributes = {{ team = "string", number = "integer", email = "string" }}
[entity.member.counter.members]
entity = "team"
attribute = "members"
[entity.member.unique.email]
key = {{ pk = "email#{{email|lower}}", sk = "email" }}
[entity.member.head]
key.sk = "head"
newest_by = "number"
"#
    )
}

/// A model of records whose version only a reindex writes, and of notes, which have none.
pub(crate) const CATALOGUE: &str = r##"
model = "shop"
[table.catalogue]
key = ["pk"]
entity_attribute = "kind"
stream = "new-and-old-images"
[entity.record]
table = "catalogue"
key = { pk = "record#{id}" }
reindex_version = "reindexVersion"
attributes = { id = "string", body = { type = "string", optional = true } }
[entity.note]
table = "catalogue"
key = { pk = "note#{id}" }
attributes = { id = "string" }
"##;

pub(crate) fn apply(db: &Embedded, text: &str) {
    let report = db
        .models()
        .apply(text, ApplyOptions::default(), &mut Unwatched)
        .unwrap();
    assert_eq!(report.outcome, Outcome::Applied, "{report}");
}

pub(crate) fn put(db: &Embedded, table: &str, item: Value) {
    db.run(PutItem {
        table_name: table.to_owned(),
        item: plain(item),
        ..PutItem::default()
    })
    .unwrap();
}

pub(crate) fn rows(db: &Embedded, table: &str) -> Vec<Item> {
    let scan = Scan {
        table_name: table.to_owned(),
        ..Scan::default()
    };
    db.run(scan).unwrap().items.unwrap().to_vec()
}

/// Waits until `holds` is true, and wakes the sleepers of the virtual clock meanwhile.
pub(crate) fn until(clock: &VirtualClock, what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        clock.signal().ring();
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// An item of plain JSON: texts and whole numbers.
pub(crate) fn plain(json: Value) -> Item {
    let members = json.as_object().unwrap().clone().into_iter();
    members
        .map(|(name, value)| match value {
            Value::String(text) => (name, AttributeValue::S(text)),
            value => (name, AttributeValue::N(Number::from(value.as_i64().unwrap()))),
        })
        .collect()
}
