//! Sends rows of an endpoint to the targets of a route file.

use super::declared::ServerModels;
use super::place::GivenFiles;
use crate::exit::Failure;
use crate::routes::doors::Openings;
use crate::routes::given::GivenRoutes;
use crate::server_flags::ServerFlags;
use clap::Args;
use std::path::PathBuf;
use std::sync::Arc;
use trestle_api::{Database, Error};
use trestle_events::{ModelTyper, Route, RowSender, Typer};
use trestle_model::Model;
use trestle_reindex::ReindexHost;

/// Flags of commands that may send rows.
#[derive(Debug, Args)]
pub(crate) struct RouteFileFlags {
    /// The route file, or a model with routes, to whose targets rows of an endpoint are sent
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "server"])]
    pub(super) routes: Option<PathBuf>,
}

impl RouteFileFlags {
    /// The information from the file about an endpoint.
    pub(super) fn given(&self) -> GivenFiles<'_> {
        GivenFiles {
            model: None,
            routes: self.routes.as_ref(),
        }
    }
}

/// An endpoint, and the routes that the operator gave for it.
pub(super) struct RouteFileHost {
    endpoint: Arc<ServerModels>,
    file: PathBuf,
    routes: Vec<Route>,
    doors: Openings,
    typer: Arc<ModelTyper>,
    database: Arc<dyn Database>,
}

impl RouteFileHost {
    pub(super) fn read(
        file: &PathBuf,
        model: Option<&PathBuf>,
        endpoint: Arc<ServerModels>,
        (server, database): (&ServerFlags, Arc<dyn Database>),
    ) -> Result<Self, Failure> {
        let models: Vec<PathBuf> = model.into_iter().cloned().collect();
        let given = GivenRoutes::read(file, &models, server)?;
        Ok(Self {
            endpoint,
            file: file.clone(),
            routes: given.routes,
            doors: given.doors,
            typer: Arc::new(ModelTyper::new(given.models)),
            database,
        })
    }

    fn route(&self, name: &str) -> Result<&Route, String> {
        let route = self.routes.iter().find(|route| route.name == name);
        route.ok_or_else(|| {
            let known: Vec<&str> = self.routes.iter().map(|route| route.name.as_str()).collect();
            let file = self.file.display();
            match &known[..] {
                [] => format!("{file} has no routes"),
                known => format!("{file} has no such route; it has {}", known.join(", ")),
            }
        })
    }
}

impl ReindexHost for RouteFileHost {
    fn touches_unheard(&self, table: &str) -> Option<String> {
        self.endpoint.touches_unheard(table)
    }

    fn sender(&self, name: &str) -> Result<RowSender, String> {
        let route = self.route(name)?;
        if !route.enabled {
            return Err("it is disabled".to_owned());
        }
        let typer = Arc::clone(&self.typer) as _;
        RowSender::open(route, &self.doors, typer, Arc::clone(&self.database))
    }

    fn model(&self, table: &str) -> Option<(Arc<Model>, String)> {
        self.endpoint.model(table)
    }

    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        self.endpoint.begin(table, entity, version)
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        self.endpoint.typer()
    }
}
