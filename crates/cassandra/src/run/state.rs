//! The progress of an import, as a row of an ordinary table of the target database.

use serde::{Deserialize, Serialize};
use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Database, DatabaseExt, DeleteItem, DescribeTable, Error,
    ErrorKind, GetItem, KeySchemaElement, KeyType, PutItem, TableStatus, pause_after,
};
use trestle_item::{Item, ScalarType};
use xxhash_rust::xxh3::xxh3_64;

use super::reader::ReadFrom;
use super::totals::EntityCounts;
use crate::mapping::Plan;
#[cfg(feature = "live")]
use crate::mapping::Source;

/// How often a table in creation is checked; about a minute in total.
const MAKING_LOOKS_MAX: usize = 1_000;

/// The location of an import's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportState {
    table: String,
    id: String,
}

/// The progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Reached {
    /// The files and their sizes, or the live cluster: with others it is a different import.
    pub(super) files: Vec<(String, u64)>,
    pub(super) next: ReadFrom,
    pub(super) done_bytes: u64,
    pub(super) imports: Vec<EntityCounts>,
}

impl ImportState {
    /// The table of all states.
    pub const TABLE: &'static str = "trestle-imports";

    /// The state of an import with these texts of mapping and schema.
    #[must_use]
    pub fn of(mapping: &str, schema: &str) -> Self {
        let id = format!(
            "cassandra-{:016x}",
            xxh3_64(format!("{mapping}\0{schema}").as_bytes())
        );
        ImportState {
            table: Self::TABLE.to_owned(),
            id,
        }
    }

    fn key(&self) -> Item {
        Item::from([("id", self.id.as_str())])
    }

    /// Where a previous run stopped, if it used the same files.
    pub(super) async fn read(&self, db: &dyn Database, plan: &Plan) -> Result<Option<Reached>, Error> {
        let get = GetItem {
            table_name: self.table.clone(),
            key: self.key(),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        let row = match db.get_item(get).await {
            Ok(found) => found.item,
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => None,
            Err(error) => return Err(error),
        };
        let text = row.as_ref().and_then(|row| row.get("reached")?.as_s());
        // A row of another version is ignored: the import begins again, and writes nothing twice.
        let reached: Option<Reached> = text.and_then(|text| serde_json::from_str(text).ok());
        Ok(reached.filter(|reached| {
            reached.files == sources_of(plan) && reached.imports.len() == plan.imports.len()
        }))
    }

    /// Stores the progress. Everything up to it is durable.
    pub(super) async fn store(&self, db: &dyn Database, reached: &Reached) -> Result<(), Error> {
        let text = serde_json::to_string(reached)
            .map_err(|error| Error::defect(format!("the state of an import is no JSON: {error}")))?;
        let mut item = self.key();
        item.insert("reached", text);
        let put = PutItem {
            table_name: self.table.clone(),
            item,
            ..PutItem::default()
        };
        db.put_item(put).await.map(drop)
    }

    /// Deletes the progress.
    pub(super) async fn clear(&self, db: &dyn Database) -> Result<(), Error> {
        let delete = DeleteItem {
            table_name: self.table.clone(),
            key: self.key(),
            ..DeleteItem::default()
        };
        match db.delete_item(delete).await {
            Err(error) if error.kind() != ErrorKind::ResourceNotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Creates the table if it does not exist.
    pub(super) async fn make(&self, db: &dyn Database) -> Result<(), Error> {
        let create = CreateTable {
            table_name: self.table.clone(),
            key_schema: vec![KeySchemaElement {
                attribute_name: "id".to_owned(),
                key_type: KeyType::Hash,
            }],
            attribute_definitions: vec![AttributeDefinition {
                attribute_name: "id".to_owned(),
                attribute_type: ScalarType::S,
            }],
            billing_mode: Some(BillingMode::PayPerRequest),
            ..CreateTable::default()
        };
        match db.create_table(create).await {
            Err(error) if error.kind() != ErrorKind::ResourceInUse => return Err(error),
            _ => {}
        }
        for look in 0..MAKING_LOOKS_MAX {
            let table_name = self.table.clone();
            let described = db.describe_table(DescribeTable { table_name }).await?;
            if described.table.table_status != TableStatus::Creating {
                return Ok(());
            }
            pause_after(look).await;
        }
        Err(Error::internal(format!(
            "The table {} is still being created",
            self.table
        )))
    }
}

/// All files with their sizes, or the name of the live cluster.
pub(super) fn sources_of(plan: &Plan) -> Vec<(String, u64)> {
    #[cfg(feature = "live")]
    if let Source::Cluster(cluster) = &plan.source {
        return vec![(cluster.name().to_owned(), 0)];
    }
    let files = plan.imports.iter().flat_map(|import| &import.files);
    let sized = |file: &std::path::PathBuf| {
        let bytes = std::fs::metadata(file).map_or(0, |file| file.len());
        (file.display().to_string(), bytes)
    };
    files.map(sized).collect()
}
