//! Dead letters of removed routes: shown until they are moved or dropped.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use trestle_api::Error;

use super::Router;

/// A route that was removed or renamed, and has dead letters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GoneRoute {
    /// The route's name.
    pub route: String,
    /// Its dead letters.
    pub dead: u64,
}

/// The number of dead letters of each removed route.
#[derive(Debug, Default)]
pub(super) struct GoneLetters {
    counts: Mutex<BTreeMap<String, u64>>,
    /// Held while letters are counted, and while one is moved or dropped and its count is updated.
    pub(super) changing: tokio::sync::Mutex<()>,
}

impl GoneLetters {
    /// Records that a dead letter of this route was removed.
    pub(super) fn lost(&self, route: &str) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(route) {
            *count -= 1;
        }
        counts.retain(|_, count| *count > 0);
    }
}

impl Router {
    /// The removed routes that have dead letters, in the order of their names.
    #[must_use]
    pub fn gone_routes(&self) -> Vec<GoneRoute> {
        let counts = self.inner.gone.counts.lock();
        let gone = |(route, dead): (&String, &u64)| GoneRoute {
            route: route.clone(),
            dead: *dead,
        };
        counts.iter().map(gone).collect()
    }

    /// The same according to the stored rows, also while another process runs the routes.
    pub async fn stored_gone_routes(&self) -> Result<Vec<GoneRoute>, Error> {
        let rows = &self.inner.rows;
        let remembered = rows.routes().await?.into_iter();
        let mut known: BTreeSet<String> = remembered.map(|stored| stored.name).collect();
        known.extend(self.inner.view.read().keys().cloned());
        let mut gone = Vec::new();
        for route in rows.routes_with_dead().await? {
            if !known.contains(&route) {
                let dead = rows.count_dead(&route).await?;
                gone.push(GoneRoute { route, dead });
            }
        }
        Ok(gone)
    }

    /// Counts the dead letters of removed routes, after routes were added or removed.
    pub(super) async fn count_gone(&self) -> Result<(), Error> {
        let _changing = self.inner.gone.changing.lock().await;
        let gone = self.stored_gone_routes().await?.into_iter();
        *self.inner.gone.counts.lock() = gone.map(|gone| (gone.route, gone.dead)).collect();
        Ok(())
    }
}
