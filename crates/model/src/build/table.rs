//! Tables and indexes.

use std::sync::Arc;

use trestle_expr::KeyAttribute;
use trestle_item::ScalarType;

use super::Builder;
use crate::draft::{DraftIndex, DraftKey, DraftKeyAttribute, DraftTable};
use crate::index_names::is_legal_name;
use crate::model::{Index, KeySchema, Projection, Table};

impl Builder<'_, '_, '_> {
    pub(super) fn add_tables(&mut self) {
        for draft in &self.draft.tables {
            let table = self.table(draft);
            let twin = self
                .tables
                .iter()
                .find(|other| other.table_name == table.table_name);
            if let Some(twin) = twin {
                let message = format!(
                    "table `{}` has the same name in the database as `{}`: {}",
                    table.name, twin.name, table.table_name
                );
                self.problems
                    .error(draft.name.at, message, "give one of them another `name`");
            }
            self.tables.push(table);
        }
    }

    fn table(&mut self, draft: &DraftTable) -> Table {
        let name = &draft.name.value;
        let table_name = self.draft.table_name(draft);
        self.check_table_name(draft, &table_name);
        let what = format!("table `{name}`");
        let key = self.key_schema(&what, name, &draft.key);
        if let (Some(ttl), true) = (
            &draft.ttl,
            key.hash
                .iter()
                .chain(&key.range)
                .any(|k| Some(&k.name) == draft.ttl.as_ref().map(|t| &t.value)),
        ) {
            self.problems.error(
                ttl.at,
                format!("{what}: `ttl` names the key attribute `{}`", ttl.value),
                "name an attribute that is no key",
            );
        }
        let mut indexes = Vec::new();
        for index in &draft.indexes {
            indexes.push(self.index(draft, &key, index));
        }
        Table {
            name: name.clone(),
            table_name,
            key,
            indexes,
            ttl: draft.ttl.as_ref().map(|ttl| ttl.value.clone()),
            stream: draft.stream,
            entity_attribute: draft.entity_attribute.as_ref().map(|name| name.value.clone()),
            open: draft.open,
            has_effects: false,
            entities: Vec::new(),
            by_tag: Arc::default(),
        }
    }

    fn check_table_name(&mut self, draft: &DraftTable, table_name: &str) {
        if !is_legal_name(table_name) {
            let at = draft.table_name.as_ref().map_or(draft.name.at, |name| name.at);
            let message = format!(
                "table `{}` would be called {table_name:?} in the database",
                draft.name.value
            );
            self.problems.error(
                at,
                message,
                "a table's name has 3 to 255 letters, digits, `_`, `-` and `.`",
            );
        }
    }

    fn index(&mut self, table: &DraftTable, table_key: &KeySchema, draft: &DraftIndex) -> Index {
        let what = format!("table `{}`: index `{}`", table.name.value, draft.name.value);
        let key = self.key_schema(&what, &table.name.value, &draft.key);
        if draft.local && (key.hash != table_key.hash || key.range.len() != 1) {
            let message =
                format!("{what} is local, but its key is not the table's partition key and one sort key");
            self.problems.error(
                draft.name.at,
                message,
                "begin its `key` with the table's partition key, or remove `local`",
            );
        }
        if let Projection::Include(names) = &draft.projection
            && names.len() > 100
        {
            self.problems.error(
                draft.name.at,
                format!("{what} projects {} attributes", names.len()),
                "project at most 100, or \"all\"",
            );
        }
        Index {
            name: draft.name.value.clone(),
            key,
            projection: draft.projection.clone(),
            local: draft.local,
        }
    }

    fn key_schema(&mut self, what: &str, table: &str, draft: &DraftKey) -> KeySchema {
        let all: Vec<&DraftKeyAttribute> = draft.hash.iter().chain(&draft.range).collect();
        for (at, attribute) in all.iter().enumerate() {
            if all
                .iter()
                .take(at)
                .any(|other| other.name.value == attribute.name.value)
            {
                let message = format!("{what} has the key attribute `{}` twice", attribute.name.value);
                self.problems
                    .error(attribute.name.at, message, "name each key attribute once");
            }
        }
        let mut side = |attributes: &[DraftKeyAttribute]| -> Vec<KeyAttribute> {
            attributes
                .iter()
                .map(|attribute| self.key_attribute(what, table, attribute))
                .collect()
        };
        KeySchema {
            hash: side(&draft.hash),
            range: side(&draft.range),
        }
    }

    /// The type of a key attribute: as written, or that of the attributes with its name, or text.
    fn key_attribute(&mut self, what: &str, table: &str, draft: &DraftKeyAttribute) -> KeyAttribute {
        let name = draft.name.value.clone();
        let mut inferred: Option<(ScalarType, &str)> = None;
        let of_table = |entity: &&crate::draft::DraftEntity| {
            entity.table.as_ref().is_some_and(|named| named.value == table)
        };
        for entity in self.draft.entities.iter().filter(of_table) {
            let has_template = entity.key.iter().any(|(key, _)| key.value == name);
            let own = entity
                .attributes
                .iter()
                .find(|attribute| attribute.value.name == name && !has_template);
            let Some(own) = own else { continue };
            let Some(kind) = own.value.kind.scalar_type() else {
                let message = format!(
                    "{what}: key attribute `{name}` is of type {} in entity `{}`",
                    own.value.kind.name(),
                    entity.name.value
                );
                self.problems
                    .error(own.at, message, "a key is a string, a number or binary");
                continue;
            };
            match inferred {
                Some((other, whose)) if other != kind => {
                    let message = format!(
                        "{what}: key attribute `{name}` is {} in entity `{}` and {} in `{whose}`",
                        kind.name(),
                        entity.name.value,
                        other.name()
                    );
                    self.problems.error(
                        own.at,
                        message,
                        "a key attribute has one type; change one of them",
                    );
                }
                _ => inferred = Some((kind, &entity.name.value)),
            }
        }
        let kind = draft
            .kind
            .or(inferred.map(|(kind, _)| kind))
            .unwrap_or(ScalarType::S);
        KeyAttribute { name, kind }
    }
}
