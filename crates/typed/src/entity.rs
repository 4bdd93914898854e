//! Structs for entities and for their keys.

use trestle_item::Item;

use crate::{FromRow, Value};

/// A row of one entity.
pub trait Entity: FromRow {
    /// The entity's name in the model.
    const NAME: &'static str;
    /// The key of a row.
    type Key;

    /// The key of this row.
    fn key(&self) -> Self::Key;
}

/// A row of one of several entities, for lists of all of them.
pub trait AnyRow: FromRow {
    /// The entity's name in the model, and the row's identifying attributes by their names in the model.
    fn identity(&self) -> (&'static str, Item);
}

/// Something that identifies a row of an entity of the model `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key in the model `{M}`",
    label = "expected the key of an entity, such as `…Key {{ … }}`",
    note = "each entity of the model has a struct for its key: `contact` has `ContactKey`"
)]
pub trait Key<M> {
    /// The entity.
    type Entity: Entity;

    /// The identifying attributes, by their names in the model.
    fn to_item(&self) -> Item;
}

/// Something that can be written as a row of an entity of the model `M`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not written by clients of the model `{M}`",
    label = "expected an entity of the model, or its `New…` struct",
    note = "heads, entries and rows that keep values unique are written by the database: write the entity they follow from"
)]
pub trait Write<M> {
    /// The entity.
    type Entity: Entity;

    /// Its attributes, by their names in the model; keys, tag and times are derived.
    fn to_item(&self) -> Item;
}

/// An entity of the model `M` whose rows clients remove: those that clients write, and heads that cannot be
/// moved otherwise.
#[diagnostic::on_unimplemented(
    message = "rows of `{Self}` are not removed by clients of the model `{M}`",
    label = "expected the key of an entity, or of a head",
    note = "an entry, or what keeps a value unique, goes with the row that has the value: delete that one"
)]
pub trait Remove<M>: Entity {}

impl<M, K: Key<M> + ?Sized> Key<M> for &K {
    type Entity = K::Entity;

    fn to_item(&self) -> Item {
        (**self).to_item()
    }
}

/// Adds an attribute to an item, unless its value cannot be stored.
pub fn insert<T: Value>(item: &mut Item, name: &'static str, value: &T) {
    if !value.is_absent() {
        item.insert(name, value.to_value());
    }
}

/// Adds an attribute to an item, if there is one.
pub fn insert_optional<T: Value>(item: &mut Item, name: &'static str, value: &Option<T>) {
    if let Some(value) = value {
        insert(item, name, value);
    }
}
