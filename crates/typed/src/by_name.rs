//! Access patterns by name, for programs in which a path or a user names them.

use trestle_api::Database;
use trestle_collection::parameters;
use trestle_item::Item;

use crate::access_rows::Queried;
use crate::{AccessRows, Client, Error, FromRow, Get, Model};

impl<D: Database, M: Model> Client<D, M> {
    /// The rows that the access pattern of this name finds. `given` are the values of its parameters as texts, in the order of
    /// the model.
    pub fn rows_of<T: FromRow<Model = M>>(
        &self,
        access: &str,
        given: &[&str],
    ) -> Result<AccessRows<'_, T, Queried>, Error> {
        let (access, parameters) = self.bound(access, given)?;
        Ok(AccessRows::new(self.handle(), access, parameters))
    }

    /// The row that the access pattern of this name gets. `given` are the values of its parameters as texts, in the order of
    /// the model.
    pub fn row_of<T: FromRow<Model = M>>(&self, access: &str, given: &[&str]) -> Result<Get<'_, T>, Error> {
        let (access, parameters) = self.bound(access, given)?;
        Ok(Get::by_access(self.handle(), access, parameters))
    }

    fn bound(&self, access: &str, given: &[&str]) -> Result<(&'static str, Item), Error> {
        let model = self.definition().model()?;
        let pattern = model.access(access);
        let names = pattern.map_or(&[][..], |pattern| pattern.parameters()).iter();
        let texts = names
            .zip(given)
            .map(|(parameter, text)| (parameter.name.clone(), (*text).to_owned()));
        // The error lists the existing patterns.
        let parameters = parameters(model, access, texts).map_err(Error::from)?;
        match pattern {
            Some(pattern) if pattern.parameters().len() == given.len() => Ok((pattern.name(), parameters)),
            _ => {
                let wanted = pattern.map_or(0, |pattern| pattern.parameters().len());
                let reason = format!(
                    "Access pattern {access} has {wanted} parameters, not {}",
                    given.len()
                );
                Err(Error::Invalid(trestle_api::Error::validation(reason)))
            }
        }
    }
}
