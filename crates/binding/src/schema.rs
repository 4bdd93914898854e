//! A table of the model in the terms of DynamoDB's table operations.

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, GlobalSecondaryIndex, KeySchemaElement, KeyType,
    LocalSecondaryIndex, Projection, ProjectionType, ProvisionedThroughput, StreamSpecification,
    StreamViewType,
};
use trestle_expr::KeyAttribute;
use trestle_model::{Index, KeySchema, StreamView, Table};

/// The request that creates the table with all its indexes and its stream.
pub fn create_table(table: &Table) -> CreateTable {
    let (local, global): (Vec<&Index>, Vec<&Index>) = table.indexes().iter().partition(|index| index.local);
    let local: Vec<_> = local.into_iter().map(local_index).collect();
    let global: Vec<_> = global
        .into_iter()
        .map(|index| global_index(index, None))
        .collect();
    CreateTable {
        table_name: table.table_name().to_owned(),
        attribute_definitions: definitions(table.key_attributes()),
        key_schema: key_schema(table.key()),
        local_secondary_indexes: Some(local).filter(|indexes| !indexes.is_empty()),
        global_secondary_indexes: Some(global).filter(|indexes| !indexes.is_empty()),
        billing_mode: Some(BillingMode::PayPerRequest),
        stream_specification: table.stream().map(stream),
        ..CreateTable::default()
    }
}

/// The types of key attributes.
pub fn definitions<'k>(attributes: impl IntoIterator<Item = &'k KeyAttribute>) -> Vec<AttributeDefinition> {
    attributes
        .into_iter()
        .map(|attribute| AttributeDefinition {
            attribute_name: attribute.name.clone(),
            attribute_type: attribute.kind,
        })
        .collect()
}

/// Hash attributes, then range attributes.
pub fn key_schema(key: &KeySchema) -> Vec<KeySchemaElement> {
    let element = |attribute: &KeyAttribute, key_type| KeySchemaElement {
        attribute_name: attribute.name.clone(),
        key_type,
    };
    let hash = key.hash.iter().map(|attribute| element(attribute, KeyType::Hash));
    let range = key
        .range
        .iter()
        .map(|attribute| element(attribute, KeyType::Range));
    hash.chain(range).collect()
}

/// The projection of the index.
pub fn projection(index: &Index) -> Projection {
    let (kind, attributes) = match &index.projection {
        trestle_model::Projection::All => (ProjectionType::All, None),
        trestle_model::Projection::Keys => (ProjectionType::KeysOnly, None),
        trestle_model::Projection::Include(names) => (ProjectionType::Include, Some(names.clone())),
    };
    Projection {
        projection_type: Some(kind),
        non_key_attributes: attributes,
    }
}

/// A global index; `throughput` for a table with provisioned throughput.
pub fn global_index(index: &Index, throughput: Option<ProvisionedThroughput>) -> GlobalSecondaryIndex {
    GlobalSecondaryIndex {
        index_name: index.name.clone(),
        key_schema: key_schema(&index.key),
        projection: projection(index),
        provisioned_throughput: throughput,
        ..GlobalSecondaryIndex::default()
    }
}

fn local_index(index: &Index) -> LocalSecondaryIndex {
    LocalSecondaryIndex {
        index_name: index.name.clone(),
        key_schema: key_schema(&index.key),
        projection: projection(index),
    }
}

/// A stream with this view type.
pub fn stream(view: StreamView) -> StreamSpecification {
    StreamSpecification {
        stream_enabled: true,
        stream_view_type: Some(stream_view(view)),
    }
}

/// The view type of a stream.
pub(crate) fn stream_view(view: StreamView) -> StreamViewType {
    match view {
        StreamView::KeysOnly => StreamViewType::KeysOnly,
        StreamView::NewImage => StreamViewType::NewImage,
        StreamView::OldImage => StreamViewType::OldImage,
        StreamView::NewAndOldImages => StreamViewType::NewAndOldImages,
    }
}
