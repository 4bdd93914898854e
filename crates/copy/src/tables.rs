//! Describes tables at the source, and creates the same tables at the target.

use std::sync::Arc;
use std::time::Duration;

use trestle_api::{
    BillingMode, CreateTable, Database, DatabaseExt, DescribeTable, DescribeTimeToLive, ErrorKind,
    GlobalSecondaryIndex, GlobalSecondaryIndexDescription, ListTables, ListTagsOfResource,
    LocalSecondaryIndex, ProvisionedThroughput, ProvisionedThroughputDescription, Scan, StreamSpecification,
    StreamViewType, TableDescription, TableStatus, Tag, TimeToLiveSpecification, TimeToLiveStatus,
    UpdateTable, UpdateTimeToLive, is_own_table,
};

use crate::CopyError;
use crate::patience::Patience;

/// The time between two checks of a table that is changing.
const GLANCE: Duration = Duration::from_millis(100);
/// After this many checks, waiting for a table to become active fails.
const GLANCES_MAX: u32 = 6000;

/// Tables of one side.
#[derive(Clone)]
pub(crate) struct Tables {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) patience: Patience,
}

impl Tables {
    /// The names of all tables except Trestle's own.
    pub(crate) async fn names(&self) -> Result<Vec<String>, CopyError> {
        let mut names: Vec<String> = Vec::new();
        let mut request = ListTables::default();
        loop {
            let ask = || self.database.list_tables(request.clone());
            let page = self.patience.ask("listing the tables", ask).await?;
            names.extend(page.table_names.into_iter().filter(|name| !is_own_table(name)));
            if page.last_evaluated_table_name.is_none() {
                return Ok(names);
            }
            request.exclusive_start_table_name = page.last_evaluated_table_name;
        }
    }

    /// A table, if it exists.
    pub(crate) async fn describe(&self, table: &str) -> Result<Option<TableDescription>, CopyError> {
        let request = DescribeTable {
            table_name: table.to_owned(),
        };
        let describe = async || match self.database.describe_table(request.clone()).await {
            Ok(there) => Ok(Some(*there.table)),
            Err(error) if error.kind() == ErrorKind::ResourceNotFound => Ok(None),
            Err(error) => Err(error),
        };
        self.patience
            .ask(&format!("looking at table {table}"), describe)
            .await
    }

    /// Waits until a table and its indexes are active.
    pub(crate) async fn active(&self, table: &str) -> Result<TableDescription, CopyError> {
        for _ in 0..GLANCES_MAX {
            match self.describe(table).await? {
                Some(there) if there.table_status == TableStatus::Active => return Ok(there),
                _ => tokio::time::sleep(GLANCE).await,
            }
        }
        Err(CopyError::refused(format!(
            "table {table} does not become active"
        )))
    }

    pub(crate) async fn is_empty(&self, table: &str) -> Result<bool, CopyError> {
        let scan = Scan {
            table_name: table.to_owned(),
            limit: Some(1),
            consistent_read: Some(true),
            ..Scan::default()
        };
        let scan = || self.database.scan(scan.clone());
        let page = self
            .patience
            .ask(&format!("looking into table {table}"), scan)
            .await?;
        Ok(page.count == 0 && page.last_evaluated_key.is_none())
    }

    /// The attribute by which rows expire, if they do.
    pub(crate) async fn expiry(&self, table: &str) -> Result<Option<String>, CopyError> {
        let request = DescribeTimeToLive {
            table_name: table.to_owned(),
        };
        let describe = async || match self.database.describe_time_to_live(request.clone()).await {
            Ok(answer) => Ok(Some(answer.time_to_live_description)),
            Err(error) if is_unknown(error.kind()) => Ok(None),
            Err(error) => Err(error),
        };
        let what = format!("asking for the time to live of table {table}");
        let described = self.patience.ask(&what, describe).await?;
        Ok(described.and_then(|described| {
            let is_on = matches!(
                described.time_to_live_status,
                TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling
            );
            described.attribute_name.filter(|_| is_on)
        }))
    }

    /// Its tags.
    pub(crate) async fn tags(&self, arn: &str) -> Result<Vec<Tag>, CopyError> {
        let mut tags = Vec::new();
        let mut request = ListTagsOfResource {
            resource_arn: arn.to_owned(),
            next_token: None,
        };
        loop {
            let list = async || match self.database.list_tags_of_resource(request.clone()).await {
                Ok(page) => Ok(Some(page)),
                Err(error) if is_unknown(error.kind()) => Ok(None),
                Err(error) => Err(error),
            };
            let Some(page) = self
                .patience
                .ask(&format!("asking for the tags of {arn}"), list)
                .await?
            else {
                return Ok(tags);
            };
            tags.extend(page.tags);
            if page.next_token.is_none() {
                return Ok(tags);
            }
            request.next_token = page.next_token;
        }
    }

    /// Creates a table like another one, but without expiry and stream.
    pub(crate) async fn create_like(
        &self,
        model: &TableDescription,
        tags: Vec<Tag>,
    ) -> Result<(), CopyError> {
        let table = &model.table_name;
        let request = like(model, tags);
        let create = async || match self.database.create_table(request.clone()).await {
            // The response to an earlier attempt was lost.
            Err(error) if error.kind() == ErrorKind::ResourceInUse => Ok(()),
            other => other.map(|_| ()),
        };
        self.patience
            .ask(&format!("creating table {table}"), create)
            .await?;
        self.active(table).await.map(|_| ())
    }

    /// Enables or disables the stream of a table, unless it already is.
    pub(crate) async fn set_stream(
        &self,
        table: &str,
        view: Option<StreamViewType>,
    ) -> Result<(), CopyError> {
        let there = self.active(table).await?;
        let view_there = stream_of(&there);
        if view_there == view || view_there.is_some() && view.is_some() {
            return Ok(());
        }
        let request = UpdateTable {
            table_name: table.to_owned(),
            stream_specification: Some(StreamSpecification {
                stream_enabled: view.is_some(),
                stream_view_type: view,
            }),
            ..UpdateTable::default()
        };
        let update = async || match self.database.update_table(request.clone()).await {
            // An earlier attempt was executed, and its response was lost.
            Err(error) if error.kind() == ErrorKind::ResourceInUse => Ok(()),
            other => other.map(|_| ()),
        };
        let what = format!("changing the stream of table {table}");
        self.patience.ask(&what, update).await?;
        self.active(table).await.map(|_| ())
    }

    /// Enables expiry, unless it already is.
    pub(crate) async fn set_expiry(&self, table: &str, attribute: &str) -> Result<(), CopyError> {
        if self.expiry(table).await?.is_some() {
            return Ok(());
        }
        let request = UpdateTimeToLive {
            table_name: table.to_owned(),
            time_to_live_specification: TimeToLiveSpecification {
                enabled: true,
                attribute_name: attribute.to_owned(),
            },
        };
        let update = || self.database.update_time_to_live(request.clone());
        let what = format!("turning on the time to live of table {table}");
        self.patience.ask(&what, update).await.map(|_| ())
    }
}

/// Endpoints that do not support tags or time to live have none.
fn is_unknown(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::UnknownOperation | ErrorKind::ResourceNotFound)
}

/// The view type of a table's stream, if it has one.
pub(crate) fn stream_of(table: &TableDescription) -> Option<StreamViewType> {
    let stream = table.stream_specification.as_ref();
    stream.filter(|stream| stream.stream_enabled)?.stream_view_type
}

fn like(model: &TableDescription, tags: Vec<Tag>) -> CreateTable {
    let is_on_demand = model
        .billing_mode_summary
        .as_ref()
        .is_some_and(|summary| summary.billing_mode == BillingMode::PayPerRequest)
        || model.provisioned_throughput.read_capacity_units == 0;
    let throughput = |there: &ProvisionedThroughputDescription| {
        (!is_on_demand).then_some(ProvisionedThroughput {
            read_capacity_units: there.read_capacity_units,
            write_capacity_units: there.write_capacity_units,
        })
    };
    let global = |index: &GlobalSecondaryIndexDescription| GlobalSecondaryIndex {
        index_name: index.index_name.clone(),
        key_schema: index.key_schema.clone(),
        projection: index.projection.clone(),
        provisioned_throughput: throughput(&index.provisioned_throughput),
        on_demand_throughput: index.on_demand_throughput,
        warm_throughput: None,
    };
    let globals = model.global_secondary_indexes.as_deref().unwrap_or_default();
    let locals = model.local_secondary_indexes.as_deref().unwrap_or_default();
    let locals = locals.iter().map(|index| LocalSecondaryIndex {
        index_name: index.index_name.clone(),
        key_schema: index.key_schema.clone(),
        projection: index.projection.clone(),
    });
    CreateTable {
        table_name: model.table_name.clone(),
        attribute_definitions: model.attribute_definitions.clone(),
        key_schema: model.key_schema.clone(),
        global_secondary_indexes: Some(globals.iter().map(global).collect::<Vec<_>>())
            .filter(|indexes| !indexes.is_empty()),
        local_secondary_indexes: Some(locals.collect::<Vec<_>>()).filter(|indexes| !indexes.is_empty()),
        billing_mode: Some(match is_on_demand {
            true => BillingMode::PayPerRequest,
            false => BillingMode::Provisioned,
        }),
        provisioned_throughput: throughput(&model.provisioned_throughput),
        on_demand_throughput: model.on_demand_throughput,
        table_class: model
            .table_class_summary
            .as_ref()
            .map(|summary| summary.table_class),
        deletion_protection_enabled: model.deletion_protection_enabled.filter(|is_on| *is_on),
        tags: Some(tags).filter(|tags| !tags.is_empty()),
        ..CreateTable::default()
    }
}
