//! Changes that are maintenance: not made by the application.

use std::fmt;

use serde_json::{Value, json};
use trestle_api::{MIGRATION_PRINCIPAL, TOUCH_PRINCIPAL};
use trestle_item::{AttributeValue, Item};

use crate::Typer;

/// Maintenance that changes rows although the application did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Maintenance {
    /// A migration moved the row: it is removed from its former place and inserted in its new one.
    Move,
    /// A reindex raised the version of the row.
    Touch,
}

impl Maintenance {
    /// All of them.
    pub const ALL: [Maintenance; 2] = [Self::Move, Self::Touch];

    /// Its name, as in a route file and in the JSON of a change.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Move => "move",
            Self::Touch => "touch",
        }
    }

    /// The maintenance with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|maintenance| maintenance.name() == name)
    }

    /// Parses which maintenance a route includes, from a route file or a stored route: all, none, or some by
    /// name.
    pub(crate) fn list_from_json(value: &Value) -> Option<Vec<Self>> {
        match value {
            Value::Bool(true) => Some(Self::ALL.to_vec()),
            Value::Bool(false) => Some(Vec::new()),
            Value::Array(names) => names.iter().map(|name| Self::from_name(name.as_str()?)).collect(),
            _ => None,
        }
    }

    /// The inverse of [`Self::list_from_json`]. Versions that do not know lists can read all and none.
    pub(crate) fn list_to_json(included: &[Self]) -> Value {
        let is_all = Self::ALL.iter().all(|upkeep| included.contains(upkeep));
        match included {
            [] => json!(false),
            _ if is_all => json!(true),
            some => some.iter().map(|upkeep| json!(upkeep.name())).collect(),
        }
    }
}

impl fmt::Display for Maintenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A modified item, as far as the stream shows it.
pub(crate) struct Modified<'c> {
    pub(crate) table: &'c str,
    pub(crate) old: Option<&'c Item>,
    pub(crate) new: Option<&'c Item>,
    pub(crate) changed: &'c [String],
}

/// The maintenance by a service that made a change.
pub(crate) fn of_service(principal: Option<&str>) -> Option<Maintenance> {
    match principal? {
        MIGRATION_PRINCIPAL => Some(Maintenance::Move),
        TOUCH_PRINCIPAL => Some(Maintenance::Touch),
        _ => None,
    }
}

/// Whether a change only raises the version of its item. At endpoints, a reindex is a client like any other,
/// and its touches are recognised by the changed attributes.
pub(crate) fn is_touch(modified: &Modified<'_>, typer: &dyn Typer) -> bool {
    let (Some(old), Some(new)) = (modified.old, modified.new) else {
        return false;
    };
    let rises = |name: &String| has_risen(old.get(name), new.get(name));
    // Most changes are excluded here, without asking a model.
    if !modified.changed.iter().any(rises) {
        return false;
    }
    let raised = typer.raised_version(modified.table, new, modified.changed);
    raised.is_some_and(|version| rises(&version))
}

fn has_risen(old: Option<&AttributeValue>, new: Option<&AttributeValue>) -> bool {
    match (old, new.and_then(AttributeValue::as_n)) {
        (None, Some(_)) => true,
        (Some(old), Some(new)) => old.as_n().is_some_and(|old| old < new),
        (_, None) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trestle_model::load;

    use super::*;
    use crate::ModelTyper;

    const MODEL: &str = r##"
model = "m"
[table.rows]
key = ["pk"]
[table.rows.index.by_version]
key = ["shard", "gsk"]
[entity.record]
table = "rows"
key = { pk = "record#{id}", gsk = "v#{rv:08}" }
reindex_version = "rv"
attributes = { id = "string", shard = { type = "string", optional = true } }
[entity.other]
table = "rows"
key = { pk = "other#{id}" }
attributes = { id = "string" }
"##;

    /// `a=1 b=2`: each a number, unless it is a word.
    fn item(line: &str) -> Item {
        let pairs = line.split_whitespace().filter_map(|pair| pair.split_once('='));
        let value = |text: &str| match text.parse::<i64>() {
            Ok(number) => AttributeValue::from(number),
            Err(_) => AttributeValue::from(text),
        };
        pairs.map(|(name, text)| (name, value(text))).collect()
    }

    fn told(table: &str, old: &str, new: &str) -> bool {
        let model = load(MODEL).model.map(Arc::new);
        let (old, new) = (item(old), item(new));
        let mut changed: Vec<String> = new.keys().chain(old.keys()).cloned().collect();
        changed.retain(|name| old.get(name) != new.get(name));
        changed.sort();
        changed.dedup();
        let modified = Modified {
            table,
            old: Some(&old),
            new: Some(&new),
            changed: &changed,
        };
        is_touch(&modified, &ModelTyper::new(model))
    }

    #[test]
    fn a_change_that_only_raises_the_version_is_a_touch() {
        let none = "no-model";
        assert!(told(none, "pk=a", "pk=a reindexVersion=1"));
        assert!(told(
            none,
            "pk=a reindexVersion=1 x=1",
            "pk=a reindexVersion=2 x=1"
        ));
        for (old, new) in [
            ("pk=a reindexVersion=2", "pk=a reindexVersion=1"),
            ("pk=a reindexVersion=2", "pk=a"),
            ("pk=a reindexVersion=1", "pk=a reindexVersion=x"),
            ("pk=a reindexVersion=x", "pk=a reindexVersion=1"),
            ("pk=a reindexVersion=1 x=1", "pk=a reindexVersion=2 x=2"),
            ("pk=a reindexVersion=1 x=1", "pk=a reindexVersion=2"),
            ("pk=a version=1", "pk=a version=2"),
            ("pk=a", "pk=a"),
        ] {
            assert!(!told(none, old, new), "{old} → {new}");
        }
    }

    #[test]
    fn a_model_names_the_version_and_the_index_keys_that_are_made_of_it() {
        let (old, row) = (
            "pk=record#a rv=1 gsk=v#00000001",
            "pk=record#a rv=2 gsk=v#00000002",
        );
        assert!(told("rows", old, row));
        assert!(told("rows", old, "pk=record#a rv=2 gsk=v#00000001"));
        assert!(!told("rows", old, "pk=record#a rv=2 gsk=v#00000002 shard=s"));
        assert!(!told("rows", old, "pk=record#a rv=1 gsk=v#00000002"));
        let default = "pk=record#a rv=1 gsk=v#00000001 reindexVersion=2";
        assert!(!told("rows", old, default), "the model names another attribute");
        assert!(told("rows", "pk=other#a", "pk=other#a reindexVersion=2"));
    }

    #[test]
    fn upkeep_is_found_by_its_name() {
        for maintenance in Maintenance::ALL {
            assert_eq!(Maintenance::from_name(maintenance.name()), Some(maintenance));
        }
        assert_eq!(Maintenance::from_name("migration"), None);
    }
}
