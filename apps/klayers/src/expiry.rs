//! When a deprecated layer's time has come.

use serde_json::json;
use trestle::events::{ApplyError, ChangeEvent, Changed, Events, Route, Router, StartingPosition};
use trestle::{Engine, typed};

use crate::model::Layer;
use crate::{App, Error, LayerArn};

/// The name of the route that expired layers take.
pub const ROUTE: &str = "layer-expired";

/// Removes the layers of rows that expire, or that somebody deletes, from now on and since the last time.
pub async fn watch(app: &App, engine: &Engine) -> Result<Router, ApplyError> {
    let app = app.clone();
    let bury = move |change: Changed<Layer>| {
        let app = app.clone();
        async move { app.bury(change).await }
    };
    Events::of(engine).on(ROUTE, deployed_layers, bury).start().await
}

/// Heads, builds and lists are other entities, and tombstones have no status.
fn deployed_layers(all: Route) -> Route {
    Route {
        events: vec![ChangeEvent::Expire, ChangeEvent::Remove],
        pattern: Some(json!({"old": {"dplySts": [{"exists": true}]}})),
        starting_position: StartingPosition::TrimHorizon,
        ..all
    }
}

impl App {
    /// Removes the layer of a row that is gone, then leaves a tombstone in its place. The tombstone says that it is done,
    /// whenever the same change comes again.
    async fn bury(&self, change: Changed<Layer>) -> Result<(), Error> {
        let Some(layer) = change.old else {
            return Ok(());
        };
        if self.db.get(layer.key()).consistent().await?.is_some() {
            return Ok(());
        }
        let arn: LayerArn = layer.arn.parse()?;
        self.with_layers(move |layers| layers.delete(&arn)).await?;
        let tombstone = Layer {
            dply_sts: None,
            ex_dt: None,
            dltd_dt: Some(self.now()),
            ..layer
        };
        match self.db.put(&tombstone).if_not_exists().await {
            Err(typed::Error::ConditionFailed(_)) => Ok(()),
            done => Ok(done?),
        }
    }
}
