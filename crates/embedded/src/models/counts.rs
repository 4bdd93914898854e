//! The table of orphan counts: what counters counted for rows that are not there.

use trestle_api::{
    AttributeDefinition, BillingMode, CreateTable, Database, Error, ErrorKind, KeySchemaElement, KeyType,
};
use trestle_item::ScalarType;
use trestle_model::{COUNTS_KEY, COUNTS_TABLE, Effect, Model, Once};

use super::call::call;
use super::describe::describe;
use super::step;

/// Creates the table if one of the models counts rows and the table is not there. Writes of rows that count need it, so
/// it is there before a model takes effect.
pub(crate) fn ensure<'m>(
    database: &dyn Database,
    mut models: impl Iterator<Item = &'m Model>,
) -> Result<(), Error> {
    let counts = models.any(|model| {
        let entities = model.entities().iter();
        let mut effects = entities.flat_map(|entity| entity.effects());
        effects.any(|effect| matches!(effect, Effect::Counter(counter) if counter.once == Once::Row))
    });
    if !counts || describe(database, COUNTS_TABLE)?.is_some() {
        return Ok(());
    }
    match call(database, table()) {
        Err(error) if error.kind() != ErrorKind::ResourceInUse => Err(error),
        _ => step::wait(database, COUNTS_TABLE),
    }
}

fn table() -> CreateTable {
    CreateTable {
        table_name: COUNTS_TABLE.to_owned(),
        attribute_definitions: vec![AttributeDefinition {
            attribute_name: COUNTS_KEY.to_owned(),
            attribute_type: ScalarType::S,
        }],
        key_schema: vec![KeySchemaElement {
            attribute_name: COUNTS_KEY.to_owned(),
            key_type: KeyType::Hash,
        }],
        billing_mode: Some(BillingMode::PayPerRequest),
        ..CreateTable::default()
    }
}
