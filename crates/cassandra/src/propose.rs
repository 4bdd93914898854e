//! Proposes a model file and a mapping file from a CQL schema.
//!
//! All tables become entities of one table. The partition key determines the partition, and the clustering
//! columns the order within it; static columns become a separate entity, since they belong to the partition.

mod names;

use std::fmt::Write;

use trestle_model::AttributeKind;

use crate::schema::{Column, ColumnKind, CqlTable, CqlType, Native, Schema};
use crate::value::set_kind;
use names::{Names, sanitised, toml_key, toml_text};

/// The proposed files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposedFiles {
    /// The model file.
    pub model: String,
    /// The mapping file.
    pub mapping: String,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Proposes a model with this name, and a mapping with this path of the schema. Without a path, the mapping
/// is for a live cluster.
#[must_use]
pub fn propose(schema: &Schema, name: &str, schema_file: Option<&str>) -> ProposedFiles {
    let mut draft = Draft::begin(schema, name, schema_file);
    for table in &schema.tables {
        draft.table(table);
    }
    for statement in &schema.passed_over {
        draft.proposed.notes.push(format!("not read: {statement}"));
    }
    draft.proposed
}

struct Draft {
    proposed: ProposedFiles,
    table: String,
    hash: String,
    range: String,
    entities: Names,
    access: Names,
    names_files: bool,
}

/// An attribute of a proposed entity.
struct Proposed<'s> {
    column: &'s Column,
    name: String,
    kind: AttributeKind,
    /// Whether the column is stored as the text of the export.
    as_text: bool,
}

impl Draft {
    fn begin(schema: &Schema, name: &str, schema_file: Option<&str>) -> Self {
        let origin = schema_file.unwrap_or("a live cluster");
        let columns = schema.tables.iter().flat_map(|table| &table.columns);
        let mut taken: Names = columns.map(|column| sanitised(&column.name)).collect();
        let mut table = sanitised(name);
        while table.len() < 3 {
            table.push('_');
        }
        let (hash, range, tag) = (taken.take("pk"), taken.take("sk"), taken.take("entity"));
        let model = format!(
            "# Proposed from {origin}. Read it, give things their names, and add the access patterns of the application.\n\
             model = {}\n\n[table.{table}]\nkey = [\"{hash}\", \"{range}\"]\nentity_attribute = \"{tag}\"\n",
            toml_text(name)
        );
        let mapping = match schema_file {
            Some(file) => format!(
                "# Proposed from {file}. `COPY keyspace.table TO 'table.csv' WITH HEADER = TRUE;` in cqlsh writes the files.\n\
                 model = {}\nschema = {}\n",
                toml_text(name),
                toml_text(file)
            ),
            None => format!("# Proposed from {origin}.\nmodel = {}\n", toml_text(name)),
        };
        Draft {
            proposed: ProposedFiles {
                model,
                mapping,
                notes: Vec::new(),
            },
            table,
            hash,
            range,
            entities: Names::default(),
            access: Names::default(),
            names_files: schema_file.is_some(),
        }
    }

    fn table(&mut self, table: &CqlTable) {
        let entity = self.entities.take(&sanitised(&table.name));
        let is_row = |column: &&Column| column.kind != ColumnKind::Static;
        let rows: Vec<&Column> = table.columns.iter().filter(is_row).collect();
        let clustering = table.clustering();
        let order = match (clustering.is_empty(), table.has_static()) {
            (true, _) => "row".to_owned(),
            (false, has_static) => {
                let attributes = attributes(&rows);
                let fields = key_fields(&attributes, &clustering);
                if has_static {
                    format!("row#{fields}")
                } else {
                    fields
                }
            }
        };
        self.entity(table, &entity, &entity, &rows, &order);
        self.note_numbers(table, &clustering);
        if table.has_static() {
            let of_partition = self.entities.take(&format!("{entity}_static"));
            let is_of_partition =
                |column: &&Column| matches!(column.kind, ColumnKind::Static | ColumnKind::Partition(_));
            let columns: Vec<&Column> = table.columns.iter().filter(is_of_partition).collect();
            self.entity(table, &of_partition, &entity, &columns, "static");
        }
    }

    fn entity(&mut self, table: &CqlTable, entity: &str, prefix: &str, columns: &[&Column], order: &str) {
        let attributes = attributes(columns);
        let partition = key_fields(&attributes, &table.partition_key());
        let model = &mut self.proposed.model;
        let _ = write!(
            model,
            "\n[entity.{entity}]\nabout = {}\ntable = \"{}\"\nkey = {{ {} = \"{prefix}#{partition}\", {} = \"{order}\" }}\n\n\
             [entity.{entity}.attributes]\n",
            toml_text(&format!("A row of {}.", table.full_name())),
            self.table,
            self.hash,
            self.range
        );
        for attribute in &attributes {
            let is_key = !matches!(attribute.column.kind, ColumnKind::Regular | ColumnKind::Static);
            let kind = attribute.kind.name();
            let _ = match is_key {
                true => writeln!(model, "{} = \"{kind}\"", attribute.name),
                false => writeln!(
                    model,
                    "{} = {{ type = \"{kind}\", optional = true }}",
                    attribute.name
                ),
            };
        }
        self.access_patterns(table, entity, &attributes);
        self.import(table, entity, &attributes);
    }

    fn access_patterns(&mut self, table: &CqlTable, entity: &str, attributes: &[Proposed<'_>]) {
        let conditions = |columns: &[&Column]| {
            let names = attributes
                .iter()
                .filter(|attribute| columns.iter().any(|key| key.name == attribute.column.name));
            let conditions: Vec<String> = names
                .map(|of| format!("{} = \"{{{}}}\"", of.name, of.name))
                .collect();
            conditions.join(", ")
        };
        let (partition, clustering) = (table.partition_key(), table.clustering());
        let whole: Vec<&Column> = partition.iter().chain(&clustering).copied().collect();
        let get = self.access.take(entity);
        let has_order = attributes
            .iter()
            .any(|of| matches!(of.column.kind, ColumnKind::Clustering(_)));
        let model = &mut self.proposed.model;
        let _ = write!(
            model,
            "\n[access.{get}]\nget = \"{entity}\"\nwhere = {{ {} }}\n",
            conditions(&whole)
        );
        if has_order {
            let query = self.access.take(&format!("{entity}_of_partition"));
            let _ = write!(
                model,
                "\n[access.{query}]\nquery = \"{}\"\nwhere = {{ {} }}\nreturns = \"{entity}\"\n",
                self.table,
                conditions(&partition)
            );
        }
    }

    fn import(&mut self, table: &CqlTable, entity: &str, attributes: &[Proposed<'_>]) {
        let mapping = &mut self.proposed.mapping;
        let _ = write!(
            mapping,
            "\n[[import]]\ntable = {}\nentity = \"{entity}\"\n",
            toml_text(&table.full_name()),
        );
        if self.names_files {
            let _ = writeln!(mapping, "files = [{}]", toml_text(&format!("{}.csv", table.name)));
        }
        mapping.push_str("\n[import.columns]\n");
        for column in &table.columns {
            let key = toml_key(&column.name);
            let found = attributes
                .iter()
                .find(|attribute| attribute.column.name == column.name);
            let _ = match found {
                None => writeln!(mapping, "{key} = false"),
                Some(of) if of.as_text => writeln!(
                    mapping,
                    "{key} = {{ attribute = \"{}\", as = \"text\" }}",
                    of.name
                ),
                Some(of) => writeln!(mapping, "{key} = \"{}\"", of.name),
            };
        }
    }

    /// Numbers in a key sort as text unless they are padded, and only the application knows their maximum
    /// length.
    fn note_numbers(&mut self, table: &CqlTable, clustering: &[&Column]) {
        for column in clustering {
            if matches!(column.cql_type, CqlType::Native(native) if native.is_number()) {
                let (table, name) = (table.full_name(), sanitised(&column.name));
                self.proposed.notes.push(format!(
                    "{table} is sorted by the number {name}, which sorts as text in a key; if it is never negative, pad it: `{{{name}:010}}`"
                ));
            }
        }
    }
}

/// The attributes that columns become.
fn attributes<'s>(columns: &[&'s Column]) -> Vec<Proposed<'s>> {
    let mut names = Names::default();
    let attribute = |column: &&'s Column| {
        let is_key = !matches!(column.kind, ColumnKind::Regular | ColumnKind::Static);
        let kind = kind_of(&column.cql_type);
        // Bytes and collections cannot be parts of keys.
        let as_text = is_key
            && (kind.scalar_type().is_none() && kind != AttributeKind::Boolean
                || kind == AttributeKind::Binary);
        Proposed {
            column,
            name: names.take(&sanitised(&column.name)),
            kind: if as_text { AttributeKind::String } else { kind },
            as_text,
        }
    };
    columns.iter().map(attribute).collect()
}

/// `{a|escape}#{b}`: a text before another field may contain the separator.
fn key_fields(attributes: &[Proposed<'_>], key: &[&Column]) -> String {
    let found = |column: &&Column| {
        attributes
            .iter()
            .find(|attribute| attribute.column.name == column.name)
    };
    let fields: Vec<&Proposed<'_>> = key.iter().filter_map(found).collect();
    let last = fields.len().saturating_sub(1);
    let field = |(at, of): (usize, &&Proposed<'_>)| match of.kind == AttributeKind::String && at < last {
        true => format!("{{{}|escape}}", of.name),
        false => format!("{{{}}}", of.name),
    };
    fields.iter().enumerate().map(field).collect::<Vec<_>>().join("#")
}

fn kind_of(cql: &CqlType) -> AttributeKind {
    match cql {
        CqlType::Native(Native::Blob) => AttributeKind::Binary,
        CqlType::Native(Native::Boolean) => AttributeKind::Boolean,
        CqlType::Native(Native::Timestamp) => AttributeKind::Timestamp,
        CqlType::Native(native) if native.is_whole() => AttributeKind::Integer,
        CqlType::Native(native) if native.is_number() => AttributeKind::Number,
        CqlType::Native(_) => AttributeKind::String,
        CqlType::List(_) | CqlType::Tuple(_) => AttributeKind::List,
        CqlType::Set(of) => set_kind(of),
        CqlType::Map(..) | CqlType::User(_) => AttributeKind::Map,
    }
}
