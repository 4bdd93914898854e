//! The expiry of deprecated layers.

use trestle::AnyDatabase;
use trestle::events::{ApplyError, Changed, Events, Router};
use trestle::typed::Held as _;

use crate::model::Layer;
use crate::{App, Error, LayerArn};

/// Removes the layers of rows that expire or are deleted, from now on and since the last time. `routes.toml`
/// selects these rows.
pub async fn watch(app: &App, database: &AnyDatabase) -> Result<Router, ApplyError> {
    let undertaker = app.clone();
    Events::of(database)
        .routes_in(include_str!("../routes.toml"))
        .handler("bury", move |change| undertaker.clone().bury(change))
        .start()
        .await
}

impl App {
    /// Removes the layer of a deleted row, then puts a tombstone in its place. If the same change is
    /// delivered again, the tombstone shows that it was handled.
    async fn bury(self, change: Changed<Layer>) -> Result<(), Error> {
        let Some(layer) = change.old else {
            return Ok(());
        };
        if self.db.get(&layer).consistent().await?.is_some() {
            return Ok(());
        }
        // The ARN decides: in an imported table, the number of a row can differ.
        match LayerArn::parse(&layer.arn) {
            Some(arn) => drop(self.layers.delete(&arn).await.map_err(Error::Layers)?),
            None => tracing::warn!("{} names no layer, so none was removed", layer.arn),
        }
        let tombstone = Layer {
            dply_sts: None,
            ex_dt: None,
            dltd_dt: Some(self.db.now().to_string()),
            ..layer
        };
        let put = self.db.put(&tombstone).if_not_exists().await;
        Ok(put.held().map(drop)?)
    }
}
