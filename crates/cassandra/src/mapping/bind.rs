//! Binds a mapping to the schema and the model: for each file, how its records become rows.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use trestle_model::{Entity, Model, Role, Table};

use super::{Choice, ColumnSection, Escapes, FormatName, ImportSection, Mapping, MappingError, TakenName};
use crate::export::{CsvSettings, Encoding, Header};
#[cfg(feature = "live")]
use crate::live::LiveCluster;
use crate::schema::{ColumnKind, CqlTable, CqlType, Schema};
use crate::value::{Form, Moment, Taken};

/// The source of records.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// Files, listed by the imports.
    Files,
    /// A live cluster.
    #[cfg(feature = "live")]
    Cluster(Arc<LiveCluster>),
}

impl Source {
    /// Whether records can change while they are read.
    pub(crate) fn is_live(&self) -> bool {
        !matches!(self, Source::Files)
    }
}

/// The imports, checked as far as possible without the records.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The model.
    pub model: Arc<Model>,
    /// In the order of the mapping file.
    pub imports: Vec<BoundImport>,
    /// Notes for the user, such as tables without a mapping.
    pub notes: Vec<String>,
    pub(crate) source: Source,
}

/// A Cassandra table that becomes an entity.
#[derive(Clone, Debug)]
pub struct BoundImport {
    /// The table.
    pub table: CqlTable,
    /// The entity.
    pub entity: String,
    /// The name of its table in the database.
    pub table_name: String,
    /// The files, in the order in which they are read; empty if the source is a live cluster.
    pub files: Vec<PathBuf>,
    pub(crate) format: FileFormat,
    pub(crate) columns: Vec<BoundColumn>,
    /// The attribute for the write time; the inner `None` means that write times are not imported.
    pub(crate) write_time: Option<Option<String>>,
    pub(crate) expires: Option<Option<Expires>>,
    /// The attribute with the entity's tag, and the tag.
    pub(crate) tag: Option<(String, String)>,
}

/// The attribute with the expiry time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expires {
    pub(crate) attribute: String,
    /// When the export was made; rows of a live cluster have their own time.
    pub(crate) exported_seconds: Option<i64>,
}

/// A column that becomes an attribute.
#[derive(Clone, Debug)]
pub(crate) struct BoundColumn {
    pub(crate) name: String,
    pub(crate) cql_type: CqlType,
    pub(crate) kind: ColumnKind,
    pub(crate) attribute: String,
    pub(crate) form: Form,
}

/// The format of the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Csv {
        settings: CsvSettings,
        header: Header,
        null: String,
    },
    Json,
}

impl BoundImport {
    /// Whether an attribute is imported.
    pub(crate) fn gives(&self, attribute: &str) -> bool {
        let of_column = self.columns.iter().any(|column| column.attribute == attribute);
        let expires = self.expires.iter().flatten();
        of_column || expires.into_iter().any(|expires| expires.attribute == attribute)
    }

    /// Whether its records are rows of a live cluster.
    pub(crate) fn is_live(&self) -> bool {
        self.files.is_empty()
    }

    /// The attribute that holds the write time.
    pub(crate) fn write_time_attribute(&self) -> Option<&str> {
        self.write_time.as_ref()?.as_deref()
    }
}

impl Plan {
    /// Looks up tables, columns, entities and attributes, and reports all errors at once. Paths of files are
    /// relative to `folder`.
    pub fn bind(
        mapping: &Mapping,
        schema: &Schema,
        model: Arc<Model>,
        folder: &Path,
    ) -> Result<Self, MappingError> {
        Self::bind_to(mapping, schema, model, folder, Source::Files)
    }

    /// The same for the tables of a live cluster. Settings of files in the mapping are ignored.
    #[cfg(feature = "live")]
    pub fn bind_live(
        mapping: &Mapping,
        cluster: Arc<LiveCluster>,
        model: Arc<Model>,
    ) -> Result<Self, MappingError> {
        let schema = cluster.schema().clone();
        Self::bind_to(mapping, &schema, model, Path::new(""), Source::Cluster(cluster))
    }

    fn bind_to(
        mapping: &Mapping,
        schema: &Schema,
        model: Arc<Model>,
        folder: &Path,
        source: Source,
    ) -> Result<Self, MappingError> {
        let mut problems = Vec::new();
        if mapping.model != model.name() {
            problems.push(format!(
                "the mapping is for the model {}, but this is the model {}",
                mapping.model,
                model.name()
            ));
        }
        if mapping.import.is_empty() {
            problems
                .push("the mapping has no [[import]]; each says which table becomes which entity".to_owned());
        }
        let mut imports = Vec::new();
        for section in &mapping.import {
            let mut binder = Binder {
                section,
                is_live: source.is_live(),
                problems: Vec::new(),
            };
            imports.extend(binder.bind(schema, &model, folder));
            let named = |problem| {
                format!(
                    "[[import]] of table {} as {}: {problem}",
                    section.table, section.entity
                )
            };
            problems.extend(binder.problems.into_iter().map(named));
        }
        for table in &mapping.leave_out {
            problems.extend(
                schema
                    .table(table)
                    .err()
                    .map(|error| format!("leave_out: {error}")),
            );
        }
        if !problems.is_empty() {
            return Err(MappingError(problems));
        }
        let notes = forgotten(mapping, schema, &imports);
        Ok(Plan {
            model,
            imports,
            notes,
            source,
        })
    }
}

/// Tables that are neither imported nor deliberately left out, in keyspaces with imported tables.
fn forgotten(mapping: &Mapping, schema: &Schema, imports: &[BoundImport]) -> Vec<String> {
    let is_known = |table: &&CqlTable| {
        let imported = imports
            .iter()
            .any(|import| import.table.full_name() == table.full_name());
        let left_out = mapping.leave_out.iter();
        imported
            || left_out
                .into_iter()
                .any(|name| *name == table.name || *name == table.full_name())
    };
    let is_concerned = |table: &&CqlTable| {
        let mut imports = imports.iter();
        imports.any(|import| import.table.keyspace == table.keyspace)
    };
    let tables = schema
        .tables
        .iter()
        .filter(|table| is_concerned(table) && !is_known(table));
    let told = |table: &CqlTable| {
        let name = table.full_name();
        format!(
            "table {name} of the schema is not imported; `leave_out = [\"{name}\"]` says that this is meant"
        )
    };
    tables.map(told).collect()
}

struct Binder<'m> {
    section: &'m ImportSection,
    is_live: bool,
    problems: Vec<String>,
}

impl Binder<'_> {
    fn bind(&mut self, schema: &Schema, model: &Model, folder: &Path) -> Option<BoundImport> {
        let table = self.found(schema.table(&self.section.table));
        let entity = self.entity(model);
        let files = self.files(folder);
        let format = self.format();
        let (table, entity) = (table?, entity?);
        let stored = model.table_of(entity)?;
        let columns = self.columns(table, entity, stored);
        let write_time = self.write_time(entity, stored);
        let expires = self.expires(entity, stored);
        self.check_given_once(&columns, write_time.as_ref(), expires.as_ref());
        let tag = stored
            .entity_attribute()
            .map(|attribute| (attribute.to_owned(), entity.tag().to_owned()));
        Some(BoundImport {
            table: table.clone(),
            entity: entity.name().to_owned(),
            table_name: stored.table_name().to_owned(),
            files,
            format: format?,
            columns,
            write_time,
            expires,
            tag,
        })
    }

    fn found<T>(&mut self, found: Result<T, String>) -> Option<T> {
        found.map_err(|problem| self.problems.push(problem)).ok()
    }

    fn entity<'m>(&mut self, model: &'m Model) -> Option<&'m Entity> {
        let name = &self.section.entity;
        let Some(entity) = model.entity(name) else {
            let known = model
                .entities()
                .iter()
                .filter(|entity| *entity.role() == Role::Declared);
            let known: Vec<&str> = known.map(Entity::name).collect();
            self.problems.push(format!(
                "the model has no entity {name}; it has {}",
                known.join(", ")
            ));
            return None;
        };
        if let Some(of) = entity.role().follows() {
            self.problems.push(format!(
                "rows of {name} are written by the database when rows of {of} are; import {of} alone"
            ));
            return None;
        }
        Some(entity)
    }

    /// The files. A folder means all files in it, by name.
    fn files(&mut self, folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        if self.is_live {
            return files;
        }
        if self.section.files.is_empty() {
            let problem =
                "`files` names no file; write `files = [\"…\"]`, or read a live cluster with --contact-point";
            self.problems.push(problem.to_owned());
        }
        for name in &self.section.files {
            let path = folder.join(name);
            let found = match path.is_dir() {
                true => in_folder(&path),
                false => std::fs::metadata(&path).map(|_| vec![path.clone()]),
            };
            match found {
                Ok(found) if found.is_empty() => {
                    self.problems.push(format!("{} has no files", path.display()))
                }
                Ok(found) => files.extend(found),
                Err(error) => self
                    .problems
                    .push(format!("cannot read {}: {error}", path.display())),
            }
        }
        files
    }

    fn format(&mut self) -> Option<FileFormat> {
        let section = self.section;
        let encoding = match (section.format, section.escapes) {
            (FormatName::Copy, Some(Escapes::Once)) => Encoding::CopyEscapedOnce,
            (FormatName::Copy, _) => Encoding::CopyEscapedTwice,
            (FormatName::DsbulkCsv | FormatName::DsbulkJson, _) => Encoding::Dsbulk,
        };
        if section.escapes.is_some() && section.format != FormatName::Copy {
            self.problems.push("`escapes` is for files of COPY".to_owned());
        }
        if section.format == FormatName::DsbulkJson {
            let csv = [&section.delimiter, &section.quote, &section.escape, &section.null];
            if csv.iter().any(|field| field.is_some()) || section.header.is_some() {
                let problem =
                    "`delimiter`, `quote`, `escape`, `null` and `header` are for CSV, and the format is JSON";
                self.problems.push(problem.to_owned());
            }
            return Some(FileFormat::Json);
        }
        let usual = CsvSettings::of(encoding);
        let settings = CsvSettings {
            delimiter: self.sign("delimiter", section.delimiter.as_deref(), usual.delimiter)?,
            quote: self.sign("quote", section.quote.as_deref(), usual.quote)?,
            escape: self.sign("escape", section.escape.as_deref(), usual.escape)?,
            encoding,
        };
        Some(FileFormat::Csv {
            settings,
            header: section.header.clone().map_or(Header::FirstRecord, Header::Given),
            null: section.null.clone().unwrap_or_default(),
        })
    }

    fn sign(&mut self, field: &str, given: Option<&str>, usual: u8) -> Option<u8> {
        match given.map(str::as_bytes) {
            None => Some(usual),
            Some([sign]) if sign.is_ascii() && !sign.is_ascii_alphanumeric() && *sign != b'\n' => Some(*sign),
            Some(_) => {
                self.problems.push(format!("`{field}` must be one ASCII sign"));
                None
            }
        }
    }

    /// Checks that every column is imported or deliberately left out.
    fn columns(&mut self, table: &CqlTable, entity: &Entity, stored: &Table) -> Vec<BoundColumn> {
        let mut bound = Vec::new();
        for name in self.section.columns.keys() {
            if table.column(name).is_none() {
                self.problems
                    .push(format!("table {} has no column {name}", table.name));
            }
        }
        for column in &table.columns {
            let (attribute, taken) = match self.section.columns.get(&column.name) {
                None | Some(ColumnSection::No(true)) => {
                    let name = &column.name;
                    self.problems.push(format!(
                        "column {name} is neither imported nor left out: write `{name} = \"attribute\"` or `{name} = false`"
                    ));
                    continue;
                }
                Some(ColumnSection::No(false)) => continue,
                Some(ColumnSection::Attribute(attribute)) => (attribute, Taken::Unchanged),
                Some(ColumnSection::Long(long)) => (&long.attribute, taken(long.taken)),
            };
            self.check_attribute(attribute, entity, stored);
            match Form::of(&column.cql_type, taken, entity.attribute(attribute)) {
                Ok(form) => bound.push(BoundColumn {
                    name: column.name.clone(),
                    cql_type: column.cql_type.clone(),
                    kind: column.kind,
                    attribute: attribute.clone(),
                    form,
                }),
                Err(problem) => self.problems.push(format!("column {} {problem}", column.name)),
            }
        }
        bound
    }

    /// Refuses keys, tags and other attributes that the database writes, which cannot be imported.
    fn check_attribute(&mut self, attribute: &str, entity: &Entity, stored: &Table) {
        let is_key = stored.key_attributes().iter().any(|key| key.name == attribute);
        let declared = entity.attribute(attribute);
        let problem = if is_key && declared.is_none() {
            "is a key, which the model makes of other attributes".to_owned()
        } else if stored.entity_attribute() == Some(attribute) {
            "holds the entity of the row, which the database writes".to_owned()
        } else if entity.updated() == Some(attribute) {
            "gets the time of every write from the database, so that the export's value would be lost; import it into another \
             attribute"
                .to_owned()
        } else if let Some(kept) = entity.kept().iter().find(|kept| kept.attribute == attribute) {
            format!(
                "is counted by the database, by the counter {} of {}",
                kept.counter, kept.counted
            )
        } else if entity.reindex_version() == Some(attribute) {
            "is written by reindexes alone".to_owned()
        } else if declared.is_none() && entity.is_closed() {
            format!("is not declared in the model, and {} is closed", entity.name())
        } else {
            return;
        };
        self.problems.push(format!("attribute {attribute} {problem}"));
    }

    fn write_time(&mut self, entity: &Entity, stored: &Table) -> Option<Option<String>> {
        let attribute = self.choice("write_time", self.section.write_time.as_ref())?;
        if let Some(attribute) = &attribute {
            self.check_attribute(attribute, entity, stored);
            let kind = entity.attribute(attribute).map(|attribute| attribute.kind.name());
            if kind.is_some_and(|kind| !["string", "any"].contains(&kind)) {
                self.problems.push(format!(
                    "attribute {attribute} holds the write time, which is a string"
                ));
            }
        }
        Some(attribute)
    }

    fn expires(&mut self, entity: &Entity, stored: &Table) -> Option<Option<Expires>> {
        let Some(attribute) = self.choice("expires", self.section.expires.as_ref())? else {
            return Some(None);
        };
        self.check_attribute(&attribute, entity, stored);
        if stored.ttl() != Some(attribute.as_str()) {
            self.problems.push(format!(
                "attribute {attribute} is not the `ttl` of table {}, so rows would not expire",
                stored.name()
            ));
        }
        let exported = self.section.exported.as_deref().and_then(Moment::parse);
        let exported = exported
            .and_then(|moment| moment.micros())
            .map(|micros| micros / 1_000_000);
        if exported.is_none() && !self.is_live {
            self.problems.push(
                "the export has seconds to live: say when it was made, `exported = \"2019-12-30T19:32:14Z\"`"
                    .to_owned(),
            );
            return None;
        }
        Some(Some(Expires {
            attribute,
            exported_seconds: exported.filter(|_| !self.is_live),
        }))
    }

    fn choice(&mut self, field: &str, choice: Option<&Choice>) -> Option<Option<String>> {
        match choice? {
            Choice::Attribute(attribute) => Some(Some(attribute.clone())),
            Choice::No(false) => Some(None),
            Choice::No(true) => {
                self.problems
                    .push(format!("`{field}` is the name of an attribute, or false"));
                None
            }
        }
    }

    fn check_given_once(
        &mut self,
        columns: &[BoundColumn],
        write_time: Option<&Option<String>>,
        expires: Option<&Option<Expires>>,
    ) {
        let of_columns = columns.iter().map(|column| column.attribute.as_str());
        let write_time = write_time.into_iter().flatten().map(String::as_str);
        let expires = expires
            .into_iter()
            .flatten()
            .map(|expires| expires.attribute.as_str());
        let mut given: Vec<&str> = of_columns.chain(write_time).chain(expires).collect();
        given.sort_unstable();
        for pair in given.windows(2) {
            if pair[0] == pair[1] {
                self.problems
                    .push(format!("attribute {} is given by two columns", pair[0]));
            }
        }
    }
}

fn taken(name: Option<TakenName>) -> Taken {
    match name {
        None => Taken::Unchanged,
        Some(TakenName::Text) => Taken::Text,
        Some(TakenName::Json) => Taken::Json,
    }
}

fn in_folder(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden = path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_file() && !is_hidden {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
