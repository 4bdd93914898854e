//! A CQL schema: the tables and types of `DESCRIBE KEYSPACE`, as far as an import needs them.

mod lexer;
mod parse;

use std::fmt;
use std::sync::Arc;

/// The tables of a schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schema {
    /// In the order of the file.
    pub tables: Vec<CqlTable>,
    /// Statements that are ignored, such as `CREATE INDEX`, each with its line.
    pub passed_over: Vec<String>,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CqlTable {
    /// Its keyspace, if the schema names one.
    pub keyspace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its columns, in the order of the statement.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub cql_type: CqlType,
    /// Its role in the table.
    pub kind: ColumnKind,
}

/// The role of a column in its table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A part of the partition key, at this position.
    Partition(usize),
    /// A clustering column, at this position.
    Clustering(usize),
    /// The same for all rows of a partition.
    Static,
    /// Any other.
    Regular,
}

/// The type of a column. `frozen` makes no difference to an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CqlType {
    /// A single value.
    Native(Native),
    /// `list<…>`, and `vector<…, n>`.
    List(Box<CqlType>),
    /// `set<…>`.
    Set(Box<CqlType>),
    /// `map<…, …>`.
    Map(Box<CqlType>, Box<CqlType>),
    /// `tuple<…>`.
    Tuple(Vec<CqlType>),
    /// A user-defined type: its fields, in order.
    User(Arc<Vec<(String, CqlType)>>),
}

/// A type of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Native {
    /// `text`, `varchar`, `ascii`.
    Text,
    /// `tinyint`, `smallint`, `int`, `bigint`.
    Integer,
    /// `varint`.
    Varint,
    /// `decimal`.
    Decimal,
    /// `float`, `double`.
    Float,
    /// `counter`.
    Counter,
    /// `boolean`.
    Boolean,
    /// `blob`.
    Blob,
    /// `timestamp`.
    Timestamp,
    /// `date`.
    Date,
    /// `time`.
    Time,
    /// `duration`.
    Duration,
    /// `uuid`.
    Uuid,
    /// `timeuuid`.
    Timeuuid,
    /// `inet`.
    Inet,
}

impl Native {
    /// The type of that name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "text" | "varchar" | "ascii" => Self::Text,
            "tinyint" | "smallint" | "int" | "bigint" => Self::Integer,
            "varint" => Self::Varint,
            "decimal" => Self::Decimal,
            "float" | "double" => Self::Float,
            "counter" => Self::Counter,
            "boolean" => Self::Boolean,
            "blob" => Self::Blob,
            "timestamp" => Self::Timestamp,
            "date" => Self::Date,
            "time" => Self::Time,
            "duration" => Self::Duration,
            "uuid" => Self::Uuid,
            "timeuuid" => Self::Timeuuid,
            "inet" => Self::Inet,
            _ => return None,
        })
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Varint => "varint",
            Self::Decimal => "decimal",
            Self::Float => "floating-point number",
            Self::Counter => "counter",
            Self::Boolean => "boolean",
            Self::Blob => "blob",
            Self::Timestamp => "timestamp",
            Self::Date => "date",
            Self::Time => "time",
            Self::Duration => "duration",
            Self::Uuid => "uuid",
            Self::Timeuuid => "timeuuid",
            Self::Inet => "inet",
        }
    }

    /// Whether it becomes a number.
    #[must_use]
    pub fn is_number(self) -> bool {
        self.is_whole() || matches!(self, Self::Decimal | Self::Float)
    }

    /// Whether it becomes a whole number.
    #[must_use]
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Integer | Self::Varint | Self::Counter)
    }
}

impl fmt::Display for CqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native(native) => f.write_str(native.name()),
            Self::List(of) => write!(f, "list<{of}>"),
            Self::Set(of) => write!(f, "set<{of}>"),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Self::Tuple(_) => f.write_str("tuple"),
            Self::User(_) => f.write_str("user-defined type"),
        }
    }
}

impl CqlTable {
    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// `keyspace.name`, or the name.
    #[must_use]
    pub fn full_name(&self) -> String {
        match &self.keyspace {
            Some(keyspace) => format!("{keyspace}.{}", self.name),
            None => self.name.clone(),
        }
    }

    /// Whether it has static columns.
    #[must_use]
    pub fn has_static(&self) -> bool {
        self.columns
            .iter()
            .any(|column| column.kind == ColumnKind::Static)
    }

    /// The columns of the partition key, in order.
    #[must_use]
    pub fn partition_key(&self) -> Vec<&Column> {
        self.key_part(|kind| match kind {
            ColumnKind::Partition(at) => Some(at),
            _ => None,
        })
    }

    /// The clustering columns, in order.
    #[must_use]
    pub fn clustering(&self) -> Vec<&Column> {
        self.key_part(|kind| match kind {
            ColumnKind::Clustering(at) => Some(at),
            _ => None,
        })
    }

    fn key_part(&self, position: impl Fn(ColumnKind) -> Option<usize>) -> Vec<&Column> {
        let placed = self
            .columns
            .iter()
            .filter_map(|column| Some((position(column.kind)?, column)));
        let mut placed: Vec<(usize, &Column)> = placed.collect();
        placed.sort_by_key(|(at, _)| *at);
        placed.into_iter().map(|(_, column)| column).collect()
    }
}

impl Schema {
    /// Reads `CREATE TABLE` and `CREATE TYPE` statements.
    pub fn read(text: &str) -> Result<Self, SchemaError> {
        parse::schema(text)
    }

    /// The table of that name, with or without its keyspace.
    pub fn table(&self, name: &str) -> Result<&CqlTable, String> {
        let named = |table: &&CqlTable| table.name == name || table.full_name() == name;
        let mut found = self.tables.iter().filter(named);
        match (found.next(), found.next()) {
            (Some(table), None) => Ok(table),
            (Some(one), Some(two)) => Err(format!(
                "there are two tables {name}: write {} or {}",
                one.full_name(),
                two.full_name()
            )),
            (None, _) => {
                let names: Vec<String> = self.tables.iter().map(CqlTable::full_name).collect();
                Err(format!(
                    "the schema has no table {name}; it has {}",
                    names.join(", ")
                ))
            }
        }
    }
}

/// An error in a schema, and its position.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct SchemaError {
    /// Line, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
    /// The error, and the next step.
    pub message: String,
}
