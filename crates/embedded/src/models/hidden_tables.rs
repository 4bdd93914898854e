//! The hidden tables of Trestle's own that models need: orphan counts, and notes about copies that follow in the
//! background.

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Database, Error, ErrorKind, KeySchemaElement, KeyType,
};
use trestle_item::ScalarType;
use trestle_model::{Model, OwnTable};

use super::call::call;
use super::describe::describe;
use super::step;

/// Creates the tables that the models need and that are not there. Writes of their rows need them, so they are there
/// before a model takes effect.
pub(crate) fn ensure<'m>(
    database: &dyn Database,
    models: impl Iterator<Item = &'m Model>,
) -> Result<(), Error> {
    for own in models.flat_map(Model::own_tables) {
        if describe(database, own.name)?.is_none() {
            create(database, own)?;
        }
    }
    Ok(())
}

fn create(database: &dyn Database, own: OwnTable) -> Result<(), Error> {
    match call(database, table(own)) {
        Err(error) if error.kind() != ErrorKind::ResourceInUse => Err(error),
        _ => step::wait(database, own.name),
    }
}

fn table(own: OwnTable) -> CreateTable {
    CreateTable {
        table_name: own.name.to_owned(),
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: own.key.to_owned(),
            attribute_type: ScalarType::S,
        }],
        key_schema: vec![KeySchemaElement {
            attribute_name: own.key.to_owned(),
            key_type: KeyType::Hash,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}
