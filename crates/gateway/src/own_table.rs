//! Trestle's own tables at the endpoint, created when they are needed.

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Database, DatabaseExt, DescribeTable, Error, ErrorKind,
    KeySchemaElement, KeyType, TableStatus, TimeToLiveSpecification, UpdateTimeToLive, pause_after,
};
use trestle_item::ScalarType;
use trestle_models::isolate;

/// How often a table in creation is checked.
const LOOKS_MAX: usize = 2_000;

/// A table with strings as its key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnTable<'n> {
    pub(crate) name: &'n str,
    pub(crate) key: &'static str,
    /// The range key, if it has one.
    pub(crate) range: Option<&'static str>,
    /// The attribute with the expiry time of its rows, if they expire.
    pub(crate) ttl: Option<&'static str>,
}

impl OwnTable<'_> {
    /// Creates it if it does not exist.
    pub(crate) async fn ensure(self, database: &dyn Database) -> Result<(), Error> {
        let asked = DescribeTable {
            table_name: self.name.to_owned(),
        };
        match database.describe_table(asked).await {
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => self.create(database).await,
            Ok(answer) if answer.table.table_status != TableStatus::Active => self.wait(database).await,
            answer => answer.map(drop),
        }
    }

    /// Creates it, unless it exists. Several gateways may do so at the same time.
    pub(crate) async fn create(self, database: &dyn Database) -> Result<(), Error> {
        let create = CreateTable {
            table_name: self.name.to_owned(),
            attribute_definitions: self
                .key_schema()
                .map(|key| AttributeDefinition {
                    attribute_name: key.attribute_name,
                    attribute_type: ScalarType::S,
                })
                .collect(),
            key_schema: self.key_schema().collect(),
            billing_mode: Some(BillingMode::PayPerRequest),
            ..CreateTable::default()
        };
        match database.create_table(create).await {
            Ok(created) => isolate(database, &created.table_description.table_arn).await?,
            Err(error) if error.kind() == ErrorKind::ResourceInUse => {}
            Err(error) => return Err(error),
        }
        self.wait(database).await?;
        let Some(attribute) = self.ttl else { return Ok(()) };
        let expire = UpdateTimeToLive {
            table_name: self.name.to_owned(),
            time_to_live_specification: TimeToLiveSpecification {
                enabled: true,
                attribute_name: attribute.to_owned(),
            },
        };
        match database.update_time_to_live(expire).await {
            // Another gateway has done it, or the endpoint does not support expiry.
            Err(error) if matches!(error.kind(), ErrorKind::Validation | ErrorKind::UnknownOperation) => {
                Ok(())
            }
            answer => answer.map(drop),
        }
    }

    fn key_schema(self) -> impl Iterator<Item = KeySchemaElement> {
        let hash = (self.key, KeyType::Hash);
        let range = self.range.map(|name| (name, KeyType::Range));
        [hash]
            .into_iter()
            .chain(range)
            .map(|(name, key_type)| KeySchemaElement {
                attribute_name: name.to_owned(),
                key_type,
            })
    }

    async fn wait(self, database: &dyn Database) -> Result<(), Error> {
        for attempt in 0..LOOKS_MAX {
            let asked = DescribeTable {
                table_name: self.name.to_owned(),
            };
            if database.describe_table(asked).await?.table.table_status == TableStatus::Active {
                return Ok(());
            }
            pause_after(attempt).await;
        }
        Err(Error::resource_in_use(format!(
            "Table is being created: {}",
            self.name
        )))
    }
}
