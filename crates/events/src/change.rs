//! One change to one item, typed.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trestle_env::{Timestamp, iso_8601_millis};
use trestle_item::Item;

use crate::{Maintenance, plain_json};

/// One change to one item.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The item's table.
    pub table: Arc<str>,
    /// The entity of the item, if a model recognises it.
    pub entity: Option<Arc<str>>,
    /// The kind of change.
    pub event: ChangeEvent,
    /// The maintenance that made the change; `None` if the application made it.
    pub maintenance: Option<Maintenance>,
    /// The item's key.
    pub keys: Item,
    /// The item's key in the earliest known layout, if it is different. See [`Change::item_key`].
    pub former_keys: Option<Item>,
    /// The item before, if there was one and the stream shows it.
    pub old: Option<Item>,
    /// The item after, if there is one and the stream shows it.
    pub new: Option<Item>,
    /// The names of the attributes whose value differs, sorted. Empty if the stream has no images.
    pub changed: Vec<String>,
    /// Identifies this change.
    pub event_id: String,
    /// Its sequence number in the shard.
    pub sequence: String,
    /// The shard it was read from.
    pub shard: String,
    /// When it happened.
    pub at: Timestamp,
}

/// The kind of change of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeEvent {
    /// It was created.
    Insert,
    /// It changed.
    Modify,
    /// It was deleted.
    Remove,
    /// Its time to live ended.
    Expire,
    /// None: it is a row of a backfill.
    Backfill,
}

impl ChangeEvent {
    /// All of them.
    pub const ALL: [ChangeEvent; 5] = [
        Self::Insert,
        Self::Modify,
        Self::Remove,
        Self::Expire,
        Self::Backfill,
    ];

    /// The event's name, as in a route file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Modify => "modify",
            Self::Remove => "remove",
            Self::Expire => "expire",
            Self::Backfill => "backfill",
        }
    }

    /// The event with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }
}

impl fmt::Display for ChangeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Change {
    /// Identifies the item, also after a migration has given it another key: changes with the same item key
    /// must stay in order.
    #[must_use]
    pub fn item_key(&self) -> &Item {
        self.former_keys.as_ref().unwrap_or(&self.keys)
    }

    /// The change as plain JSON, which patterns are matched against and which targets get unless the route
    /// has a template. Its members are `id`, `table`, `entity`, `event`, `maintenance`, `changed`, `keys`,
    /// `old`, `new` and `at`; missing values are left out.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("id".into(), json!(self.event_id));
        json.insert("table".into(), json!(&*self.table));
        if let Some(entity) = &self.entity {
            json.insert("entity".into(), json!(&**entity));
        }
        json.insert("event".into(), json!(self.event.name()));
        if let Some(maintenance) = self.maintenance {
            json.insert("maintenance".into(), json!(maintenance.name()));
        }
        json.insert("changed".into(), json!(self.changed));
        json.insert("keys".into(), plain_json(&self.keys));
        if let Some(old) = &self.old {
            json.insert("old".into(), plain_json(old));
        }
        if let Some(new) = &self.new {
            json.insert("new".into(), plain_json(new));
        }
        json.insert("at".into(), json!(format!("{}Z", iso_8601_millis(self.at))));
        Value::Object(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_plain_json_without_what_is_not_there() {
        let change = Change {
            table: "klayers".into(),
            entity: Some("layer".into()),
            event: ChangeEvent::Modify,
            maintenance: None,
            keys: Item::from([("pk", "a")]),
            former_keys: None,
            old: None,
            new: Some(Item::from([("pk", "a"), ("rgn", "eu-west-1")])),
            changed: vec!["rgn".into()],
            event_id: "7".into(),
            sequence: "100".into(),
            shard: "shardId-1".into(),
            at: Timestamp::from_millis(1_709_164_799_999),
        };
        assert_eq!(
            change.to_json(),
            json!({
                "id": "7", "table": "klayers", "entity": "layer", "event": "modify", "changed": ["rgn"],
                "keys": {"pk": "a"}, "new": {"pk": "a", "rgn": "eu-west-1"}, "at": "2024-02-28T23:59:59.999Z",
            })
        );
    }

    #[test]
    fn events_are_found_by_their_names() {
        for event in ChangeEvent::ALL {
            assert_eq!(ChangeEvent::from_name(event.name()), Some(event));
        }
        assert_eq!(ChangeEvent::from_name("INSERT"), None);
    }
}
