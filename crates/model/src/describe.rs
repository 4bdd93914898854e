//! A model as data, for programs that know no model, such as the console.

use serde::Serialize;
use trestle_item::AttributeValue;

use crate::access::Explained;
use crate::attribute::{Attribute, AttributeKind};
use crate::effect::{Effect, Unique};
use crate::entity::{Entity, Role};
use crate::model::{Index, KeySchema, Model, Projection, Table};
use crate::template::KeyTemplate;

/// A description of a model; as data through serde.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Described<'m> {
    name: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'m str>,
    tables: Vec<DescribedTable<'m>>,
    entities: Vec<DescribedEntity<'m>>,
    access: Vec<Explained<'m>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedTable<'m> {
    name: &'m str,
    table: &'m str,
    key: DescribedKey<'m>,
    indexes: Vec<DescribedIndex<'m>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ttl: Option<&'m str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    entity_attribute: Option<&'m str>,
    /// Whether rows of no entity are allowed.
    open: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedKey<'m> {
    hash: Vec<&'m str>,
    range: Vec<&'m str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedIndex<'m> {
    name: &'m str,
    key: DescribedKey<'m>,
    local: bool,
    /// Further attributes it holds; `None` if it holds complete rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    project: Option<&'m [String]>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedEntity<'m> {
    name: &'m str,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<&'m str>,
    role: &'static str,
    /// The entity whose rows it follows; the database writes its rows.
    #[serde(skip_serializing_if = "Option::is_none")]
    of: Option<&'m str>,
    table: &'m str,
    tag: &'m str,
    key: Vec<DescribedTemplate<'m>>,
    index_keys: Vec<DescribedTemplate<'m>>,
    identity: &'m [String],
    attributes: Vec<DescribedAttribute<'m>>,
    effects: Vec<DescribedEffect<'m>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedTemplate<'m> {
    attribute: &'m str,
    template: &'m str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedAttribute<'m> {
    name: &'m str,
    kind: AttributeKind,
    optional: bool,
    immutable: bool,
    /// Which time the database writes to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<&'m AttributeValue>,
    #[serde(skip_serializing_if = "<[AttributeValue]>::is_empty")]
    one_of: &'m [AttributeValue],
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<(usize, usize)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chars: Option<&'m str>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedEffect<'m> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'m str>,
    /// The entity on the other side.
    entity: &'m str,
    /// The attributes that the effect concerns.
    attributes: Vec<&'m str>,
}

impl Model {
    /// This model as data.
    #[must_use]
    pub fn describe(&self) -> Described<'_> {
        Described {
            name: self.name(),
            about: self.about(),
            tables: self.tables.iter().map(Table::described).collect(),
            entities: self
                .entities
                .iter()
                .map(|entity| entity.described(self))
                .collect(),
            access: self.access.iter().map(|pattern| pattern.explain()).collect(),
        }
    }
}

impl Table {
    fn described(&self) -> DescribedTable<'_> {
        DescribedTable {
            name: &self.name,
            table: &self.table_name,
            key: self.key.described(),
            indexes: self.indexes.iter().map(Index::described).collect(),
            ttl: self.ttl(),
            entity_attribute: self.entity_attribute(),
            open: self.open,
        }
    }
}

impl KeySchema {
    fn described(&self) -> DescribedKey<'_> {
        DescribedKey {
            hash: self.hash.iter().map(|key| key.name.as_str()).collect(),
            range: self.range.iter().map(|key| key.name.as_str()).collect(),
        }
    }
}

impl Index {
    fn described(&self) -> DescribedIndex<'_> {
        DescribedIndex {
            name: &self.name,
            key: self.key.described(),
            local: self.local,
            project: match &self.projection {
                Projection::All => None,
                Projection::Keys => Some(&[]),
                Projection::Include(attributes) => Some(attributes),
            },
        }
    }
}

impl Entity {
    fn described<'m>(&'m self, model: &'m Model) -> DescribedEntity<'m> {
        DescribedEntity {
            name: &self.name,
            about: self.about(),
            role: match self.role {
                Role::Declared => "declared",
                Role::Head { .. } => "head",
                Role::Unique { .. } => "unique",
                Role::History { .. } => "history",
                Role::Entry { .. } => "entry",
            },
            of: self.role.follows(),
            table: model.table_of(self).map_or("", Table::table_name),
            tag: &self.tag,
            key: self.table_key.iter().map(KeyTemplate::described).collect(),
            index_keys: self.index_keys.iter().map(KeyTemplate::described).collect(),
            identity: &self.identity,
            attributes: self
                .attributes
                .iter()
                .map(|attribute| attribute.described(self.time_of(&attribute.name)))
                .collect(),
            effects: self.effects.iter().map(Effect::described).collect(),
        }
    }
}

impl Entity {
    /// The time that the database writes to an attribute: of the first write, or of the last.
    fn time_of(&self, attribute: &str) -> Option<&'static str> {
        let times = [("created", self.created()), ("updated", self.updated())];
        let found = times.into_iter().find(|(_, name)| *name == Some(attribute));
        found.map(|(time, _)| time)
    }
}

impl KeyTemplate {
    fn described(&self) -> DescribedTemplate<'_> {
        DescribedTemplate {
            attribute: self.attribute(),
            template: self.source(),
        }
    }
}

impl Attribute {
    fn described(&self, time: Option<&'static str>) -> DescribedAttribute<'_> {
        DescribedAttribute {
            name: &self.name,
            kind: self.kind,
            optional: self.optional,
            immutable: self.immutable,
            time,
            default: self.default.as_ref(),
            one_of: &self.one_of,
            length: self.length,
            chars: self.chars.as_deref(),
        }
    }
}

impl Effect {
    fn described(&self) -> DescribedEffect<'_> {
        let (kind, name, entity, attributes): (_, Option<&str>, &str, Vec<&str>) = match self {
            Effect::Head(head) => ("head", None, &head.entity, names(&head.newest_by)),
            Effect::Inverse(inverse) => ("inverse", Some(&inverse.name), &inverse.entity, Vec::new()),
            Effect::Counter(counter) => (
                "counter",
                Some(&counter.name),
                &counter.entity,
                vec![counter.attribute.as_str()],
            ),
            Effect::Unique(Unique {
                name,
                entity,
                attributes,
            }) => ("unique", Some(name), entity, names(attributes)),
            Effect::Copy(copy) => {
                let copied = copy.attributes.iter().map(|pair| pair.ours.as_str());
                ("copy", Some(&copy.name), &copy.from, copied.collect())
            }
            Effect::Entries(entries) => (
                "entries",
                Some(&entries.name),
                &entries.entity,
                vec![entries.of.as_str()],
            ),
            Effect::History(history) => ("history", None, &history.entity, names(&history.of)),
        };
        DescribedEffect {
            kind,
            name,
            entity,
            attributes,
        }
    }
}

fn names(list: &[String]) -> Vec<&str> {
    list.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    fn described(file: &str) -> Value {
        let loaded = crate::load(file).model.unwrap();
        serde_json::to_value(loaded.describe()).unwrap()
    }

    #[test]
    fn times_that_the_database_writes_are_marked() {
        let model = described(
            r#"model = "shop"
[table.shop]
key = ["pk"]
[entity.customer]
table = "shop"
key = { pk = "customer#{id}" }
created = "since"
updated = "changed"
attributes = { id = "string", since = "timestamp", changed = "epoch-seconds" }
"#,
        );
        let attributes = model["entities"][0]["attributes"].as_array().unwrap();
        let time = |name| {
            let attribute = attributes.iter().find(|attribute| attribute["name"] == name);
            attribute.unwrap()["time"].clone()
        };
        assert_eq!(
            [time("since"), time("changed"), time("id")],
            [json!("created"), json!("updated"), Value::Null]
        );
    }

    #[test]
    fn a_description_has_templates_roles_effects_and_patterns() {
        let model = described(include_str!("../../../models/klayers.toml"));
        assert_eq!(model["tables"][0]["table"], "kl.db-ver2");
        assert_eq!(
            model["tables"][0]["key"],
            json!({"hash": ["pk"], "range": ["sk"]})
        );
        let entities = model["entities"].as_array().unwrap();
        let layer = entities.iter().find(|entity| entity["name"] == "layer").unwrap();
        assert_eq!(layer["key"][0]["template"], "lyr#{rgn}:{pckg}:{pyVrsn}");
        assert_eq!(layer["effects"][0]["kind"], "head");
        let head = entities
            .iter()
            .find(|entity| entity["name"] == "layer.head")
            .unwrap();
        assert_eq!((&head["role"], &head["of"]), (&json!("head"), &json!("layer")));
        let access = model["access"].as_array().unwrap();
        assert!(access.iter().any(|access| access["name"] == "latest_layer"));
    }
}
