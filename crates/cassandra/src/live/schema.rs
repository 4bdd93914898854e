//! Reads the schema from the cluster's own tables.

use std::sync::Arc;

use scylla::cluster::ClusterState;
use scylla::cluster::metadata::{
    CollectionType, ColumnKind as DriverKind, ColumnType, NativeType, Table, UserDefinedType,
};

use super::LiveError;
use crate::schema::{Column, ColumnKind, CqlTable, CqlType, Native, Schema};

/// The tables of a keyspace, or of all except the system's; by name.
pub(super) fn of_cluster(state: &ClusterState, keyspace: Option<&str>) -> Result<Schema, LiveError> {
    let mut schema = Schema::default();
    let mut others = Vec::new();
    for (name, found) in state.keyspaces_iter() {
        if keyspace.map_or(name.starts_with("system"), |keyspace| keyspace != name) {
            others.push(name);
            continue;
        }
        for (table, found) in &found.tables {
            let table = table_of(name, table, found)
                .map_err(|reason| LiveError(format!("table {name}.{table} cannot be imported: {reason}")))?;
            schema.tables.push(table);
        }
    }
    if schema.tables.is_empty() {
        return Err(LiveError(match keyspace {
            Some(keyspace) => format!(
                "the cluster has no keyspace {keyspace} with tables that this user may read; names with capitals are written as they are"
            ),
            None => "the cluster has no tables but its own".to_owned(),
        }));
    }
    schema.tables.sort_by_key(CqlTable::full_name);
    Ok(schema)
}

/// The columns in the order of `DESCRIBE`: first the key, then the others by name.
fn table_of(keyspace: &str, name: &str, table: &Table) -> Result<CqlTable, String> {
    let mut columns = Vec::new();
    for (name, column) in &table.columns {
        let position = |key: &[String]| key.iter().position(|of| of == name).unwrap_or_default();
        let kind = match column.kind {
            DriverKind::PartitionKey => ColumnKind::Partition(position(&table.partition_key)),
            DriverKind::Clustering => ColumnKind::Clustering(position(&table.clustering_key)),
            DriverKind::Static => ColumnKind::Static,
            DriverKind::Regular => ColumnKind::Regular,
            _ => return Err(format!("column {name} is of a kind that is not known here")),
        };
        let cql_type = type_of(&column.typ).map_err(|reason| format!("column {name} {reason}"))?;
        columns.push(Column {
            name: name.clone(),
            cql_type,
            kind,
        });
    }
    let order = |column: &Column| {
        let (group, position) = match column.kind {
            ColumnKind::Partition(position) => (0, position),
            ColumnKind::Clustering(position) => (1, position),
            ColumnKind::Static => (2, 0),
            ColumnKind::Regular => (3, 0),
        };
        (group, position, column.name.clone())
    };
    columns.sort_by_key(order);
    Ok(CqlTable {
        keyspace: Some(keyspace.to_owned()),
        name: name.to_owned(),
        columns,
    })
}

fn type_of(driver: &ColumnType<'_>) -> Result<CqlType, String> {
    let boxed = |of: &ColumnType<'_>| type_of(of).map(Box::new);
    Ok(match driver {
        ColumnType::Native(native) => CqlType::Native(native_of(native)?),
        ColumnType::Collection { typ, .. } => match typ {
            CollectionType::List(of) => CqlType::List(boxed(of)?),
            CollectionType::Set(of) => CqlType::Set(boxed(of)?),
            CollectionType::Map(key, value) => CqlType::Map(boxed(key)?, boxed(value)?),
            _ => return Err(unknown(driver)),
        },
        ColumnType::Vector { typ, .. } => CqlType::List(boxed(typ)?),
        ColumnType::UserDefinedType { definition, .. } => CqlType::User(Arc::new(fields_of(definition)?)),
        ColumnType::Tuple(of) => CqlType::Tuple(of.iter().map(type_of).collect::<Result<_, _>>()?),
        _ => return Err(unknown(driver)),
    })
}

fn fields_of(definition: &UserDefinedType<'_>) -> Result<Vec<(String, CqlType)>, String> {
    let fields = definition.field_types.iter();
    fields
        .map(|(name, of)| Ok((name.to_string(), type_of(of)?)))
        .collect()
}

fn native_of(native: &NativeType) -> Result<Native, String> {
    Ok(match native {
        NativeType::Ascii | NativeType::Text => Native::Text,
        NativeType::TinyInt | NativeType::SmallInt | NativeType::Int | NativeType::BigInt => Native::Integer,
        NativeType::Varint => Native::Varint,
        NativeType::Decimal => Native::Decimal,
        NativeType::Float | NativeType::Double => Native::Float,
        NativeType::Counter => Native::Counter,
        NativeType::Boolean => Native::Boolean,
        NativeType::Blob => Native::Blob,
        NativeType::Timestamp => Native::Timestamp,
        NativeType::Date => Native::Date,
        NativeType::Time => Native::Time,
        NativeType::Duration => Native::Duration,
        NativeType::Uuid => Native::Uuid,
        NativeType::Timeuuid => Native::Timeuuid,
        NativeType::Inet => Native::Inet,
        _ => return Err(format!("is of type {native:?}, which is not known here")),
    })
}

fn unknown(driver: &ColumnType<'_>) -> String {
    format!("is of type {driver:?}, which is not known here")
}

/// Whether the cells of a column are written one by one, so that each has its own write time.
pub(super) fn has_many_cells(driver: &ColumnType<'_>) -> bool {
    matches!(
        driver,
        ColumnType::Collection { frozen: false, .. } | ColumnType::UserDefinedType { frozen: false, .. }
    )
}
