//! Earlier versions of the stored models, for whoever meets what was written in them.

use std::sync::Arc;

use trestle_model::Model;

use super::{BindError, Binding, Held};
use crate::stored;

impl Binding {
    /// Every version of every stored model that loads, the newest of each model first.
    pub fn versions(&self) -> Result<Vec<Arc<Model>>, BindError> {
        let stored = stored::all(&self.engine)?.into_iter().rev();
        Ok(stored
            .filter_map(|stored| Held::load(stored).model.ok())
            .collect())
    }
}
