//! Versions of the stored models: past ones, and the position of a text among them.

use std::sync::Arc;

use trestle_model::Model;

use trestle_binding::stored::Stored;

use crate::{BindError, Held, Models};

/// The position of a model's text among the stored versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is none of them, or the version in force does not load.
    New,
    /// It is the version in force.
    InForce,
    /// A migration to it is planned but not started.
    Planned {
        /// The version in force.
        in_force: u64,
    },
    /// It was in force before.
    Earlier {
        /// Its version.
        version: u64,
        /// The version in force.
        in_force: u64,
    },
}

impl Models {
    /// Every version of every stored model that loads, the newest of each model first.
    pub fn versions(&self) -> Result<Vec<Arc<Model>>, BindError> {
        let stored = self.stored_versions()?.into_iter().rev();
        Ok(stored
            .filter_map(|stored| Held::load(stored).model.ok())
            .collect())
    }

    /// The position of a text among the versions of its model.
    pub fn standing(&self, text: &str) -> Result<Standing, BindError> {
        let Some(model) = trestle_model::load(text).model else {
            return Ok(Standing::New);
        };
        let held = self.held.lock().clone();
        let mut held = held.into_iter();
        let Some(held) = held.find(|held| held.stored.name == model.name() && held.model.is_ok()) else {
            return Ok(Standing::New);
        };
        let in_force = held.stored.version;
        if held.stored.text == text {
            return Ok(Standing::InForce);
        }
        if held.plans(text) {
            return Ok(Standing::Planned { in_force });
        }
        let mut versions = self.stored_versions()?.into_iter().rev();
        // A text that differs only in form, such as in a comment, is the same version.
        let is_same = |stored: &Stored| {
            let known = || trestle_model::load(&stored.text).model;
            stored.name == model.name() && (stored.text == text || known().as_ref() == Some(&model))
        };
        let earlier = versions.find(is_same).filter(|stored| stored.version != in_force);
        Ok(earlier.map_or(Standing::New, |stored| Standing::Earlier {
            version: stored.version,
            in_force,
        }))
    }
}
