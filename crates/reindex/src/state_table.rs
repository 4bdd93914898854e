//! The state of reindexes, as rows of an ordinary table.
//!
//! | pk | sk | what |
//! |---|---|---|
//! | `jobs` | `NAME` | a reindex |
//! | `tables` | `TABLE` | the reindex that works on a table, and the last version its rows were touched with |
//! | `work#NAME` | `ID` | a work item: a part of the rows, how far it is, and the lease of its worker |
//! | `process#NAME` | `ID` | a process that works on it, and until when that is known |
//! | `dead#NAME` | `ID` | a row that was given up |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::OnceCell;
use trestle_api::{
    AttributeDefinition, BatchGetItem, BillingMode, CreateTable, Database, DatabaseExt, DeleteItem,
    DescribeTable, Error, ErrorKind, GetItem, KeySchemaElement, KeyType, KeysAndAttributes, PutItem, Query,
    ReturnValue, Select, TableStatus, UpdateItem,
};
use trestle_item::{AttributeValue, Item, ScalarType};

/// The pause before a remote database is asked again whether a table is ready.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a table that is being created is checked: for a minute in total.
const MAKING_LOOKS_MAX: usize = 300;

/// The table with the state of reindexes, in any database.
pub(crate) struct StateTable {
    database: Arc<dyn Database>,
    name: String,
    is_made: OnceCell<()>,
}

/// A conditional write.
pub(crate) struct Conditional<'c> {
    /// Names of attributes that the expressions use as `#name`.
    pub(crate) names: &'c [&'c str],
    pub(crate) values: Item,
    pub(crate) update: &'c str,
    pub(crate) condition: &'c str,
}

/// The key of a row.
pub(crate) fn key(pk: &str, sk: &str) -> Item {
    Item::from([("pk", pk), ("sk", sk)])
}

/// The text of an attribute.
pub(crate) fn text<'i>(row: &'i Item, name: &str) -> Option<&'i str> {
    row.get(name)?.as_s()
}

/// The number of an attribute.
pub(crate) fn number(row: &Item, name: &str) -> Option<u64> {
    u64::try_from(row.get(name)?.as_n()?.to_i64()?).ok()
}

/// A value as JSON text, for an attribute.
pub(crate) fn to_json(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Error::defect(format!("a row of a reindex is no JSON: {error}")))
}

/// The JSON text in an attribute.
pub(crate) fn from_json<T: DeserializeOwned>(row: &Item, name: &str) -> Result<T, Error> {
    let unclear = |why: String| Error::defect(format!("attribute {name} of a row of a reindex {why}"));
    let json = text(row, name).ok_or_else(|| unclear("is missing".to_owned()))?;
    serde_json::from_slice(json.as_bytes()).map_err(|error| unclear(format!("cannot be read: {error}")))
}

impl StateTable {
    pub(crate) fn new(database: Arc<dyn Database>, name: String) -> Self {
        Self {
            database,
            name,
            is_made: OnceCell::new(),
        }
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    pub(crate) fn database(&self) -> &dyn Database {
        &*self.database
    }

    /// Creates the table unless it exists.
    pub(crate) async fn make(&self) -> Result<(), Error> {
        self.is_made.get_or_try_init(|| self.create()).await.copied()
    }

    async fn create(&self) -> Result<(), Error> {
        let key = |attribute_name: &str, key_type| KeySchemaElement {
            attribute_name: attribute_name.to_owned(),
            key_type,
        };
        let text = |attribute_name: &str| AttributeDefinition {
            attribute_name: attribute_name.to_owned(),
            attribute_type: ScalarType::S,
        };
        let create = CreateTable {
            table_name: self.name.clone(),
            key_schema: vec![key("pk", KeyType::Hash), key("sk", KeyType::Range)],
            attribute_definitions: vec![text("pk"), text("sk")],
            billing_mode: Some(BillingMode::PayPerRequest),
            ..CreateTable::default()
        };
        match self.database.create_table(create).await {
            Err(error) if error.kind() != ErrorKind::ResourceInUse => Err(error),
            _ => self.wait_until_made().await,
        }
    }

    /// A remote database needs some time until a table can be used. It is real time, because it is the
    /// endpoint's.
    async fn wait_until_made(&self) -> Result<(), Error> {
        for _ in 0..MAKING_LOOKS_MAX {
            let table_name = self.name.clone();
            let described = self.database.describe_table(DescribeTable { table_name }).await?;
            match described.table.table_status {
                TableStatus::Creating => tokio::time::sleep(PAUSE).await,
                _ => return Ok(()),
            }
        }
        Err(Error::internal(format!(
            "The table {} is still being created",
            self.name
        )))
    }

    /// A row. A missing table has no rows.
    pub(crate) async fn get(&self, pk: &str, sk: &str) -> Result<Option<Item>, Error> {
        let get = GetItem {
            table_name: self.name.clone(),
            key: key(pk, sk),
            consistent_read: Some(true),
            ..GetItem::default()
        };
        match self.database.get_item(get).await {
            Ok(found) => Ok(found.item),
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The sort keys, out of these of a partition, that have a row. A batch of them: 100 at most. A key that
    /// the database leaves unprocessed counts as having a row.
    pub(crate) async fn present(&self, pk: &str, sks: &[String]) -> Result<Vec<String>, Error> {
        let keys = KeysAndAttributes {
            keys: sks.iter().map(|sk| key(pk, sk)).collect(),
            consistent_read: Some(true),
            projection_expression: Some("sk".to_owned()),
            ..KeysAndAttributes::default()
        };
        let get = BatchGetItem {
            request_items: [(self.name.clone(), keys)].into(),
            ..BatchGetItem::default()
        };
        let mut found = self.database.batch_get_item(get).await?;
        let rows = found.responses.remove(&self.name).unwrap_or_default();
        let left = found.unprocessed_keys.remove(&self.name).unwrap_or_default();
        let sk = |row: &Item| text(row, "sk").map(str::to_owned);
        Ok(rows.iter().chain(&left.keys).filter_map(sk).collect())
    }

    /// Stores a row unconditionally.
    pub(crate) async fn put(&self, item: Item) -> Result<(), Error> {
        self.make().await?;
        let put = PutItem {
            table_name: self.name.clone(),
            item,
            ..PutItem::default()
        };
        self.database.put_item(put).await.map(drop)
    }

    /// Stores a row unless there is one with its key; returns whether it did.
    pub(crate) async fn insert(&self, item: Item) -> Result<bool, Error> {
        self.make().await?;
        let put = PutItem {
            table_name: self.name.clone(),
            item,
            condition_expression: Some("attribute_not_exists(pk)".to_owned()),
            ..PutItem::default()
        };
        held(self.database.put_item(put).await.map(drop)).map(|done| done.is_some())
    }

    /// Changes a row if the condition holds; the row afterwards, or `None` if it does not.
    pub(crate) async fn update(&self, key: Item, change: Conditional<'_>) -> Result<Option<Item>, Error> {
        self.make().await?;
        let placeholder = |name: &&str| (format!("#{name}"), (*name).to_owned());
        let names: BTreeMap<String, String> = change.names.iter().map(placeholder).collect();
        let update = UpdateItem {
            table_name: self.name.clone(),
            key,
            update_expression: Some(change.update.to_owned()),
            condition_expression: Some(change.condition.to_owned()),
            expression_attribute_names: (!names.is_empty()).then_some(names),
            expression_attribute_values: (!change.values.is_empty()).then_some(change.values),
            return_values: Some(ReturnValue::AllNew),
            ..UpdateItem::default()
        };
        let updated = held(self.database.update_item(update).await)?;
        Ok(updated.map(|answer| answer.attributes.unwrap_or_default()))
    }

    /// Removes a row.
    pub(crate) async fn delete(&self, pk: &str, sk: &str) -> Result<(), Error> {
        let delete = DeleteItem {
            table_name: self.name.clone(),
            key: key(pk, sk),
            ..DeleteItem::default()
        };
        self.database.delete_item(delete).await.map(drop)
    }

    /// A page of the rows of a partition after a sort key; the second is the sort key after which the next
    /// page begins.
    pub(crate) async fn page(
        &self,
        pk: &str,
        after: Option<&str>,
        limit: Option<u32>,
    ) -> Result<(Vec<Item>, Option<String>), Error> {
        let query = Query {
            exclusive_start_key: after.map(|sk| key(pk, sk)),
            limit,
            ..self.partition(pk)
        };
        self.page_of(query).await
    }

    /// The rows that a query finds, and the sort key after which the next page begins. A missing table has no
    /// rows.
    pub(crate) async fn page_of(&self, query: Query) -> Result<(Vec<Item>, Option<String>), Error> {
        let page = match self.database.query(query).await {
            Ok(page) => page,
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok((Vec::new(), None)),
            Err(error) => return Err(error),
        };
        let next = page.last_evaluated_key.as_ref().and_then(|key| text(key, "sk"));
        let next = next.map(str::to_owned);
        Ok((page.items.map(|rows| rows.to_vec()).unwrap_or_default(), next))
    }

    /// All rows of a partition.
    pub(crate) async fn all(&self, pk: &str) -> Result<Vec<Item>, Error> {
        let (mut rows, mut next) = self.page(pk, None, None).await?;
        while let Some(after) = next {
            let (more, further) = self.page(pk, Some(&after), None).await?;
            rows.extend(more);
            next = further;
        }
        Ok(rows)
    }

    /// How many rows a partition has.
    pub(crate) async fn count(&self, pk: &str) -> Result<u64, Error> {
        let (mut count, mut after) = (0, None);
        loop {
            let query = Query {
                exclusive_start_key: after,
                select: Some(Select::Count),
                ..self.partition(pk)
            };
            let page = match self.database.query(query).await {
                Err(error) if error.kind() == ErrorKind::ResourceNotFound => return Ok(0),
                page => page?,
            };
            count += u64::from(page.count);
            after = page.last_evaluated_key;
            if after.is_none() {
                return Ok(count);
            }
        }
    }

    pub(crate) fn partition(&self, pk: &str) -> Query {
        Query {
            table_name: self.name.clone(),
            key_condition_expression: Some("pk = :pk".to_owned()),
            expression_attribute_values: Some(Item::from([(":pk", AttributeValue::from(pk))])),
            consistent_read: Some(true),
            ..Query::default()
        }
    }
}

/// `None` if the condition of a write did not hold.
fn held<T>(written: Result<T, Error>) -> Result<Option<T>, Error> {
    match written {
        Ok(done) => Ok(Some(done)),
        Err(error) if error.kind() == ErrorKind::ConditionalCheckFailed => Ok(None),
        Err(error) => Err(error),
    }
}
