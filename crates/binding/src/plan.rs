//! Compares the model's tables with those of the database: the necessary steps, and the obstacles.

use std::collections::BTreeMap;

use trestle_api::{
    AttributeDefinition, KeySchemaElement, KeyType, Projection, ProjectionType, TableDescription,
    TimeToLiveDescription,
};
use trestle_model::{Index, Model, Table};

use crate::report::{Obstacle, Step};
use crate::schema;

/// The steps from the existing tables to those of the model.
#[derive(Debug, Default)]
pub struct Plan {
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// Differences that no step can change.
    pub obstacles: Vec<Obstacle>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Tables of the model that already exist, and may have rows.
    pub existing: Vec<String>,
}

/// A table as it is in the database.
#[derive(Clone, Debug)]
pub struct TableThere {
    /// Its key, its indexes and its stream.
    pub description: TableDescription,
    /// Whether its rows expire, and by which attribute.
    pub time_to_live: TimeToLiveDescription,
}

/// Plans for all tables of a model. `there` has the existing ones, by name.
#[must_use]
pub fn plan(model: &Model, there: &BTreeMap<String, TableThere>, delete_indexes: bool) -> Plan {
    let mut plan = Plan::default();
    for table in model.tables() {
        let name = table.table_name();
        match there.get(name) {
            None => plan.create(table),
            Some(found) => {
                plan.existing.push(name.to_owned());
                let mut comparison = Comparison {
                    plan: &mut plan,
                    table,
                    found: &found.description,
                    delete_indexes,
                };
                comparison.compare(&found.time_to_live);
            }
        }
    }
    plan
}

impl Plan {
    fn create(&mut self, table: &Table) {
        self.steps.push(Step::CreateTable {
            table: table.table_name().to_owned(),
        });
        self.enable_time_to_live(table);
    }

    fn enable_time_to_live(&mut self, table: &Table) {
        if let Some(attribute) = table.ttl() {
            self.steps.push(Step::EnableTimeToLive {
                table: table.table_name().to_owned(),
                attribute: attribute.to_owned(),
            });
        }
    }
}

/// One table of the model, compared with the existing one.
struct Comparison<'a> {
    plan: &'a mut Plan,
    table: &'a Table,
    found: &'a TableDescription,
    delete_indexes: bool,
}

impl Comparison<'_> {
    fn compare(&mut self, ttl: &TimeToLiveDescription) {
        self.key();
        // Deletions come first: a table has room for twenty indexes.
        self.indexes_to_delete();
        for index in self.table.indexes() {
            if index.local {
                self.local_index(index);
            } else {
                self.global_index(index);
            }
        }
        self.stream();
        self.time_to_live(ttl);
    }

    fn obstacle(&mut self, what: String, there: String, wanted: String, way_out: impl Into<String>) {
        self.plan.obstacles.push(Obstacle {
            table: self.table.table_name().to_owned(),
            what,
            there,
            wanted,
            way_out: way_out.into(),
        });
    }

    fn key(&mut self) {
        let wanted = shown_key(
            &schema::key_schema(self.table.key()),
            &schema::definitions(self.table.key().attributes()),
        );
        let there = shown_key(&self.found.key_schema, &self.found.attribute_definitions);
        if there != wanted {
            self.obstacle(
                "its key".into(),
                there,
                wanted,
                "a table's key cannot change: give the model's table another name and copy the rows into it, or correct \
                 the model",
            );
        }
    }

    fn indexes_to_delete(&mut self) {
        let found = self.found.global_secondary_indexes.iter().flatten();
        for there in found {
            let wanted = self.table.index(&there.index_name);
            let differs = wanted
                .is_none_or(|index| index.local || !self.fits(index, &there.key_schema, &there.projection));
            if !differs {
                continue;
            }
            if self.delete_indexes {
                self.plan.steps.push(Step::DeleteIndex {
                    table: self.table.table_name().to_owned(),
                    index: there.index_name.clone(),
                });
            } else if wanted.is_none() {
                self.plan.notes.push(format!(
                    "table {}: index {} is not in the model and stays; --delete-indexes deletes it",
                    self.table.table_name(),
                    there.index_name
                ));
            }
        }
    }

    fn global_index(&mut self, index: &Index) {
        let found = self.found.global_secondary_indexes.iter().flatten();
        let there = found.clone().find(|there| there.index_name == index.name);
        if self.has_local(&index.name) {
            return self.other_kind(index, "local", "global");
        }
        match there {
            Some(there) if self.fits(index, &there.key_schema, &there.projection) => {}
            Some(there) if !self.delete_indexes => {
                let there = self.shown_index(&there.key_schema, &there.projection);
                self.obstacle(
                    format!("index {}", index.name),
                    there,
                    self.wanted_index(index),
                    "an index cannot change: give it another name in the model, or use --delete-indexes to delete it and \
                     build it again; queries of it fail until it is built",
                );
            }
            _ => self.create_index(index),
        }
    }

    fn create_index(&mut self, index: &Index) {
        let clash = index.key.attributes().find_map(|wanted| {
            let known = &self.found.attribute_definitions;
            let there = known.iter().find(|known| known.attribute_name == wanted.name)?;
            (there.attribute_type != wanted.kind).then_some((there.attribute_type, wanted))
        });
        if let Some((there, wanted)) = clash {
            return self.obstacle(
                format!("key attribute {} of index {}", wanted.name, index.name),
                format!("type {there:?}, in another key of the table"),
                format!("type {:?}", wanted.kind),
                "correct the type in the model, or delete the index that uses the attribute first",
            );
        }
        self.plan.steps.push(Step::CreateIndex {
            table: self.table.table_name().to_owned(),
            index: index.name.clone(),
        });
    }

    fn local_index(&mut self, index: &Index) {
        const WAY_OUT: &str = "local indexes come with the table: make the index global in the model, or give the \
                               model's table another name and copy the rows into it";
        let mut found = self.found.local_secondary_indexes.iter().flatten();
        let global = self.found.global_secondary_indexes.iter().flatten();
        if global.clone().any(|there| there.index_name == index.name) {
            return self.other_kind(index, "global", "local");
        }
        let there = match found.find(|there| there.index_name == index.name) {
            Some(there) if self.fits(index, &there.key_schema, &there.projection) => return,
            Some(there) => self.shown_index(&there.key_schema, &there.projection),
            None => "no such index".to_owned(),
        };
        self.obstacle(
            format!("local index {}", index.name),
            there,
            self.wanted_index(index),
            WAY_OUT,
        );
    }

    fn has_local(&self, name: &str) -> bool {
        let mut local = self.found.local_secondary_indexes.iter().flatten();
        local.any(|there| there.index_name == name)
    }

    fn other_kind(&mut self, index: &Index, there: &str, wanted: &str) {
        self.obstacle(
            format!("index {}", index.name),
            format!("a {there} index"),
            format!("a {wanted} index"),
            "give the index another name in the model, or say there which kind it is",
        );
    }

    fn fits(&self, index: &Index, key: &[KeySchemaElement], projection: &Projection) -> bool {
        self.shown_index(key, projection) == self.wanted_index(index)
    }

    fn shown_index(&self, key: &[KeySchemaElement], projection: &Projection) -> String {
        let key = shown_key(key, &self.found.attribute_definitions);
        format!("{key}, projecting {}", shown_projection(projection))
    }

    fn wanted_index(&self, index: &Index) -> String {
        let definitions = schema::definitions(index.key.attributes());
        let key = shown_key(&schema::key_schema(&index.key), &definitions);
        format!(
            "{key}, projecting {}",
            shown_projection(&schema::projection(index))
        )
    }

    fn stream(&mut self) {
        let Some(view) = self.table.stream().map(schema::stream_view) else {
            return;
        };
        let view = view.as_str();
        let there = self
            .found
            .stream_specification
            .filter(|stream| stream.stream_enabled)
            .and_then(|stream| stream.stream_view_type);
        match there {
            None => self.plan.steps.push(Step::EnableStream {
                table: self.table.table_name().to_owned(),
                view: view.to_owned(),
            }),
            Some(there) if there.as_str() == view => {}
            Some(there) => self.obstacle(
                "its stream".into(),
                there.as_str().to_owned(),
                view.to_owned(),
                "turn the stream off first (UpdateTable with StreamEnabled=false); its readers then start again with the next \
                 one. Or declare the present setting in the model",
            ),
        }
    }

    fn time_to_live(&mut self, found: &TimeToLiveDescription) {
        let Some(wanted) = self.table.ttl() else { return };
        match found.attribute_name.as_deref() {
            None => self.plan.enable_time_to_live(self.table),
            Some(there) if there == wanted => {}
            Some(there) => self.obstacle(
                "its time to live".into(),
                format!("attribute {there}"),
                format!("attribute {wanted}"),
                "turn it off first (UpdateTimeToLive with Enabled=false), or declare the present setting in the model",
            ),
        }
    }
}

fn shown_key(key: &[KeySchemaElement], definitions: &[AttributeDefinition]) -> String {
    let part = |kind: KeyType| {
        let attributes = key.iter().filter(|element| element.key_type == kind);
        let shown = attributes.map(|element| {
            let mut known = definitions.iter();
            let definition = known.find(|known| known.attribute_name == element.attribute_name);
            match definition {
                Some(known) => format!("{} ({:?})", known.attribute_name, known.attribute_type),
                None => format!("{} (of no type)", element.attribute_name),
            }
        });
        shown.collect::<Vec<_>>().join(" + ")
    };
    match part(KeyType::Range) {
        range if range.is_empty() => format!("key {}", part(KeyType::Hash)),
        range => format!("key {}, {range}", part(KeyType::Hash)),
    }
}

fn shown_projection(projection: &Projection) -> String {
    match projection.projection_type {
        Some(ProjectionType::KeysOnly) => "keys".to_owned(),
        Some(ProjectionType::Include) => {
            let mut names = projection.non_key_attributes.clone().unwrap_or_default();
            names.sort();
            names.join(", ")
        }
        _ => "everything".to_owned(),
    }
}
