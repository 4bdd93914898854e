//! The sources of a server's routes: its models, and the applied route file.

use crate::config::StorageConfig;
use crate::exit::Failure;
use crate::routes::doors::Openings;
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use trestle_binding::BindError;
use trestle_embedded::{Embedded, Models};
use trestle_events::{ModelTyper, Route, read_routes};
use trestle_gateway::Gateway;
use trestle_model::Model;

/// A database with models, which may have routes.
pub(super) trait Modelled: Send + Sync {
    fn models(&self) -> &Models;
}

impl Modelled for Embedded {
    fn models(&self) -> &Models {
        Embedded::models(self)
    }
}

impl Modelled for Gateway {
    fn models(&self) -> &Models {
        Gateway::models(self)
    }
}

/// Reads routes, and reports their errors.
pub(super) struct RouteSources {
    database: Arc<dyn Modelled>,
    pub(super) typer: Arc<ModelTyper>,
    pub(super) doors: Arc<Openings>,
    /// The files given at the start, which are written by the operator.
    given: Vec<String>,
}

impl RouteSources {
    pub(super) fn new(
        database: Arc<dyn Modelled>,
        doors: Openings,
        storage: &StorageConfig,
    ) -> Result<Self, Failure> {
        Ok(RouteSources {
            database,
            typer: Arc::new(ModelTyper::default()),
            doors: Arc::new(doors),
            given: given(storage)?,
        })
    }

    /// The models of the server.
    pub(super) fn models(&self) -> &Models {
        self.database.models()
    }

    /// The routes written by the operator. A route from the network does not become one of them by being
    /// stored.
    fn given_routes(&self, models: &[Arc<Model>]) -> Vec<Route> {
        let texts = self.given.iter();
        let routes = texts.flat_map(|text| read_routes(text, models, &|_| Vec::new()).routes);
        routes.collect()
    }

    /// The routes of all models and of a route file, and the names of those written by the operator, or their
    /// errors. From now on, changes are typed by these models.
    ///
    /// The text `new` is refused if a target cannot be opened. A file that was in effect before continues
    /// without the route.
    pub(super) fn gather(
        &self,
        new: Option<&str>,
        stored: Option<&str>,
    ) -> Result<(Vec<Route>, HashSet<String>), Vec<String>> {
        let file = new.or(stored);
        let stored = self.models();
        let names = stored.list().into_iter().map(|summary| summary.name);
        let mut models: Vec<(String, Arc<Model>)> = Vec::new();
        for name in names {
            match stored
                .text(&name)
                .and_then(|text| Ok((text, stored.model(&name)?)))
            {
                Ok(model) => models.push(model),
                // It was removed meanwhile.
                Err(BindError::NoModel { .. }) => {}
                Err(error) => return Err(vec![error.to_string()]),
            }
        }
        // Changes from before a migration are typed by the version of that time.
        self.typer
            .set(stored.versions().map_err(|error| vec![error.to_string()])?);
        let known: Vec<Arc<Model>> = models.iter().map(|(_, model)| Arc::clone(model)).collect();
        let given = self.given_routes(&known);
        let (mut routes, mut trusted) = (Vec::new(), HashSet::new());
        for text in models.iter().map(|(text, _)| text.as_str()).chain(file) {
            let (read, held) = match new == Some(text) {
                true => (self.doors.read(text, &known, &given)?, Vec::new()),
                false => self.doors.read_holding(text, &known, &given)?,
            };
            for why in held {
                tracing::error!("{why}; the route keeps its place and delivers nothing");
            }
            let its = read.iter().filter(|route| given.contains(route));
            trusted.extend(its.map(|route| route.name.clone()));
            routes.extend(read);
        }
        Ok((routes, trusted))
    }

    /// The errors of the routes in a model, if there are any.
    pub(super) fn unsound(&self, text: &str) -> Option<Vec<String>> {
        let model = trestle_model::load(text).model.map(Arc::new)?;
        let known = [model];
        self.doors.read(text, &known, &self.given_routes(&known)).err()
    }

    /// A version of a model will take effect soon: changes that are read at that moment may have its layout.
    pub(super) fn expect(&self, text: &str) -> Result<(), BindError> {
        if let Some(upcoming) = trestle_model::load(text).model {
            self.typer.expect(&Arc::new(upcoming), self.models().versions()?);
        }
        Ok(())
    }
}

/// The texts of the files that the server was started with.
fn given(storage: &StorageConfig) -> Result<Vec<String>, Failure> {
    let models = storage.models.iter().map(|file| read("model file", file));
    let routes = storage.routes.iter().map(|file| read("route file", file));
    models.chain(routes).collect()
}

/// The text of a file that the server was started with.
pub(super) fn read(what: &str, file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read the {what} {}: {error}", file.display())))
}
