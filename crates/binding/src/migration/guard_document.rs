//! The document of a guard for several processes that share the rows: all of them guard while one checks
//! every row.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trestle_api::Error;
use trestle_model::LayoutChange;

use super::{Guard, MigrationState};
use crate::bind_error::BindError;
use crate::held::Held;
use crate::model_hook::ModelHook;
use crate::stored;

const PREFIX: &str = "guard/";

/// A migration or rollback that is about to begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardDocument {
    /// The model.
    pub model: String,
    /// The text of the version that rows will go to; `None` during a rollback.
    pub to: Option<String>,
}

impl GuardDocument {
    /// Whether a document of this name is one.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        name.starts_with(PREFIX)
    }

    /// The document to be stored.
    pub fn to_document(&self) -> Result<(String, Option<Vec<u8>>), Error> {
        let bytes = serde_json::to_vec(self).map_err(|error| Error::internal(error.to_string()))?;
        Ok((format!("{PREFIX}{}", self.model), Some(bytes)))
    }

    /// The guard among stored documents: models change one after another, so there is at most one.
    pub fn read(documents: &[(String, Vec<u8>)]) -> Result<Option<Self>, Error> {
        let mut found = documents.iter().filter(|(name, _)| Self::is_name(name));
        let found = found.next();
        found.map(|(name, bytes)| stored::parse(name, bytes)).transpose()
    }

    /// The guarded hook of the models in effect. Unguarded, if the migration is no longer about to begin.
    pub fn guard(&self, hook: ModelHook, held: &[Held]) -> Result<Result<Guard, ModelHook>, BindError> {
        let found = held.iter().find(|held| held.stored.name == self.model);
        let Some(found) = found else { return Ok(Err(hook)) };
        let state = found.migration.as_ref().map(|migration| migration.document.state);
        let is_under_way = state.is_some_and(MigrationState::is_under_way);
        let layout_change = match (&self.to, &found.migration) {
            (Some(text), _) if !is_under_way && *text != found.stored.text => {
                let Some(next) = trestle_model::load(text).model else {
                    return Ok(Err(hook));
                };
                LayoutChange::between(found.model()?, &Arc::new(next)).ok()
            }
            (None, Some(migration)) if state != Some(MigrationState::RollingBack) => {
                match migration.moving()? {
                    Some(moving) => moving.layout_change().reversed().ok(),
                    None => None,
                }
            }
            _ => None,
        };
        Ok(match layout_change {
            Some(layout_change) => Ok(Guard::new(hook, layout_change)),
            None => Err(hook),
        })
    }
}
