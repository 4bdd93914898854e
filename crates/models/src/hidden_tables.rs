//! The hidden tables of Trestle's own that models need: orphan counts, notes about copies that follow in the background, and
//! large values with their parts.

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Database, Error, ErrorKind, KeySchemaElement, KeyType,
};
use trestle_item::ScalarType;
use trestle_model::{Model, PARTS_ID, PARTS_NUMBER, PARTS_TABLE};

use crate::call::call;
use crate::describe::describe;
use crate::step;

/// Creates missing tables that the models need. Writes of modelled rows need them, so they exist before a
/// model takes effect.
pub(crate) fn ensure<'m>(
    database: &dyn Database,
    models: impl Iterator<Item = &'m Model>,
) -> Result<(), Error> {
    for model in models {
        for own in model.own_tables() {
            create(database, own.name, &[(own.key, ScalarType::S)])?;
        }
        if model.has_large_values() {
            let key = [(PARTS_ID, ScalarType::S), (PARTS_NUMBER, ScalarType::N)];
            create(database, PARTS_TABLE, &key)?;
        }
    }
    Ok(())
}

/// Creates a table unless it exists. Its key: hash, then range.
fn create(database: &dyn Database, name: &str, key: &[(&str, ScalarType)]) -> Result<(), Error> {
    if describe(database, name)?.is_some() {
        return Ok(());
    }
    match call(database, table(name, key)) {
        Err(error) if error.kind() != ErrorKind::ResourceInUse => Err(error),
        _ => step::wait(database, name),
    }
}

fn table(name: &str, key: &[(&str, ScalarType)]) -> CreateTable {
    let attributes = key.iter().map(|(name, kind)| AttributeDefinition {
        attribute_name: (*name).to_owned(),
        attribute_type: *kind,
    });
    let elements = key.iter().zip([KeyType::Hash, KeyType::Range]);
    let elements = elements.map(|((name, _), key_type)| KeySchemaElement {
        attribute_name: (*name).to_owned(),
        key_type,
    });
    CreateTable {
        table_name: name.to_owned(),
        attribute_definitions: attributes.collect(),
        key_schema: elements.collect(),
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}
