//! The models and routes stored in a directory.

use crate::exit::Failure;
use crate::routes::doors::Openings;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;
use trestle_api::Error;
use trestle_embedded::{Embedded, EmbeddedHost, RouteSetup};
use trestle_events::{ModelTyper, Route, RowSender, Typer, read_routes};
use trestle_model::Model;
use trestle_reindex::ReindexHost;
use trestle_targets::Surroundings;

/// Models and routes of a directory. While this process works on the directory, no route delivers changes. Changes by touches are
/// delivered when a server runs again.
pub(super) struct DirectoryHost {
    db: Embedded,
    stored: EmbeddedHost,
    routes: Vec<Route>,
    doors: Arc<Openings>,
    typer: Arc<ModelTyper>,
}

impl DirectoryHost {
    pub(super) fn read(db: &Embedded, runtime: &Runtime) -> Result<Self, Failure> {
        let models = db.models();
        let versions = models.versions().map_err(Failure::failed)?;
        let doors = Openings::new(
            Some(db.queues().clone()),
            Surroundings::of_process(Arc::clone(db.clock())),
        );
        let mut host = Self {
            db: db.clone(),
            stored: EmbeddedHost::new(db.clone()),
            routes: Vec::new(),
            doors: Arc::new(doors),
            typer: Arc::new(ModelTyper::new(versions)),
        };
        let mut texts = Vec::new();
        let mut known = Vec::new();
        for summary in models.list() {
            texts.push(models.text(&summary.name).map_err(Failure::failed)?);
            known.push(models.model(&summary.name).map_err(Failure::failed)?);
        }
        texts.extend(host.route_file(runtime)?);
        let routes = texts
            .iter()
            .flat_map(|text| read_routes(text, &known, &|_| Vec::new()).routes);
        host.routes = routes.collect();
        Ok(host)
    }

    /// The route file that was applied last, read with a router that runs no route.
    fn route_file(&self, runtime: &Runtime) -> Result<Option<String>, Failure> {
        let router = self.db.start_router(RouteSetup {
            typer: Arc::clone(&self.typer) as _,
            doors: Arc::clone(&self.doors) as _,
            poll: Duration::from_secs(1),
            runtime: runtime.handle().clone(),
            streams: None,
        });
        let router = router.map_err(Failure::failed)?;
        let file = runtime.block_on(router.file()).map_err(Failure::failed);
        runtime.block_on(router.stop());
        file
    }

    fn route(&self, name: &str) -> Result<&Route, String> {
        let route = self.routes.iter().find(|route| route.name == name);
        route.ok_or_else(|| match &self.routes[..] {
            [] => "there is no route".to_owned(),
            routes => {
                let known: Vec<&str> = routes.iter().map(|route| route.name.as_str()).collect();
                format!("there is no such route; there is {}", known.join(", "))
            }
        })
    }
}

impl ReindexHost for DirectoryHost {
    fn touches_unheard(&self, table: &str) -> Option<String> {
        let is_heard = self.routes.iter().any(|route| route.hears_touches(table));
        (!is_heard).then(|| {
            format!("no route of table {table} takes touches; give one `include_maintenance = [\"touch\"]`, and let it be enabled")
        })
    }

    fn sender(&self, name: &str) -> Result<RowSender, String> {
        let route = self.route(name)?;
        if !route.enabled {
            return Err("it is disabled".to_owned());
        }
        self.db
            .row_sender(route, &*self.doors, Arc::clone(&self.typer) as _)
    }

    fn model(&self, table: &str) -> Option<(Arc<Model>, String)> {
        self.stored.model(table)
    }

    fn begin(&self, table: &str, entity: Option<&str>, version: u64) -> Result<(), Error> {
        self.stored.begin(table, entity, version)
    }

    fn typer(&self) -> Option<Arc<dyn Typer>> {
        Some(Arc::clone(&self.typer) as _)
    }
}
