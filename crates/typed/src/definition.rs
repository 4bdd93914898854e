//! The model that a client was made from, at run time.

use std::sync::OnceLock;

use trestle_model::{Entity, Table};

use crate::Error;

/// The marker of a model: values of different models cannot be mixed; the compiler refuses that.
pub trait Model: 'static {
    /// The model itself.
    fn definition() -> &'static Definition;
}

/// A model file, loaded when it is first needed.
#[derive(Debug)]
pub struct Definition {
    name: &'static str,
    text: &'static str,
    model: OnceLock<Option<trestle_model::Model>>,
}

impl Definition {
    /// The model of this name and text.
    #[must_use]
    pub const fn new(name: &'static str, text: &'static str) -> Self {
        Definition {
            name,
            text,
            model: OnceLock::new(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The text of the model file.
    #[must_use]
    pub fn text(&self) -> &'static str {
        self.text
    }

    /// The model. It was already loaded at compile time, so an error means that two versions of Trestle are
    /// in use.
    pub fn model(&self) -> Result<&trestle_model::Model, Error> {
        let loaded = self.model.get_or_init(|| trestle_model::load(self.text).model);
        loaded.as_ref().ok_or(Error::Definition { model: self.name })
    }

    /// The name in the database of the table that holds rows of this entity.
    pub fn table_of<E: crate::Entity>(&self) -> Result<&str, Error> {
        self.entity(E::NAME).map(|(_, table, _)| table.table_name())
    }

    pub(crate) fn entity(
        &self,
        name: &'static str,
    ) -> Result<(&trestle_model::Model, &Table, &Entity), Error> {
        let model = self.model()?;
        let entity = model.entity(name).ok_or(Error::Definition { model: self.name })?;
        let table = model
            .table_of(entity)
            .ok_or(Error::Definition { model: self.name })?;
        Ok((model, table, entity))
    }
}
