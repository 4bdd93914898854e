//! Dead letters of routes that are gone: shown until they are moved or dropped.

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

/// How many dead letters there are of each route that is gone.
#[derive(Debug, Default)]
pub(super) struct GoneLetters {
    counts: Mutex<BTreeMap<String, u64>>,
    /// Held while letters are counted, and from before one is moved or dropped until it is counted no more.
    pub(super) changing: tokio::sync::Mutex<()>,
}

impl GoneLetters {
    /// A dead letter of this route is one no more.
    pub(super) fn lost(&self, route: &str) {
        let mut counts = self.counts.lock();
        if let Some(count) = counts.get_mut(route) {
            *count -= 1;
        }
        counts.retain(|_, count| *count > 0);
    }
}

impl Router {
    /// The routes that are gone and have dead letters, in the order of their names.
    #[must_use]
    pub fn gone_routes(&self) -> Vec<GoneRoute> {
        let counts = self.inner.gone.counts.lock();
        let gone = |(route, dead): (&String, &u64)| GoneRoute {
            route: route.clone(),
            dead: *dead,
        };
        counts.iter().map(gone).collect()
    }

    /// The same as the rows tell, also while another process has the routes at work.
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

    /// Counts the dead letters of routes that are gone, after routes have come or gone.
    pub(super) async fn count_gone(&self) -> Result<(), Error> {
        let _changing = self.inner.gone.changing.lock().await;
        let gone = self.stored_gone_routes().await?.into_iter();
        *self.inner.gone.counts.lock() = gone.map(|gone| (gone.route, gone.dead)).collect();
        Ok(())
    }
}
