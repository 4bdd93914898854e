//! The routes of a server: those in its models, and those of the route file that was applied.

use crate::config::StorageConfig;
use crate::exit::{Code, Failure};
use crate::routes::doors::Openings;
use std::collections::HashSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use trestle_admin::AdminError;
use trestle_api::{Error, ErrorKind};
use trestle_binding::BindError;
use trestle_embedded::{Embedded, Models, RouteSetup};
use trestle_events::{ApplyError, ModelTyper, Route, Router, read_routes};
use trestle_model::Model;
use trestle_targets::{Surroundings, Trust};

/// How often to look for changes without having been told of any.
const POLL: Duration = Duration::from_secs(1);

/// Routes at work, and where they come from.
pub(super) struct Routes {
    db: Embedded,
    router: Router,
    typer: Arc<ModelTyper>,
    doors: Arc<Openings>,
    workers: Handle,
    /// The files that the server was started with: what they say, the operator says.
    given: Vec<String>,
    /// Held while routes are applied, so that what is stored is what is in effect.
    applying: tokio::sync::Mutex<()>,
}

impl Routes {
    /// Starts the routes of the stored models, and those of `file` or of the file that was applied last.
    pub(super) async fn open(
        db: &Embedded,
        workers: &Handle,
        storage: &StorageConfig,
        trust: Trust,
    ) -> Result<Arc<Self>, Failure> {
        let file = storage.routes.as_deref();
        let typer = Arc::new(ModelTyper::default());
        let surroundings = Surroundings::of_process(Arc::clone(db.clock()));
        let doors = Openings::trusting(Some(db.queues().clone()), surroundings, trust);
        let doors = Arc::new(doors);
        let router = db.start_router(RouteSetup {
            typer: Arc::clone(&typer) as _,
            doors: Arc::clone(&doors) as _,
            poll: POLL,
            runtime: workers.clone(),
            streams: None,
        });
        let router = router.map_err(Failure::failed)?;
        let routes = Arc::new(Self {
            db: db.clone(),
            router,
            typer,
            doors,
            workers: workers.clone(),
            given: given(storage)?,
            applying: tokio::sync::Mutex::default(),
        });
        match file {
            Some(file) => routes.apply_file(file).await?,
            None => routes.resume().await,
        }
        let statuses = routes.router.status().into_iter();
        for status in statuses.filter(|status| !status.state.is_off()) {
            tracing::info!("route {} is in effect for {}", status.route, status.table);
        }
        Ok(routes)
    }

    async fn apply_file(&self, file: &Path) -> Result<(), Failure> {
        let shown = file.display();
        let text = read("route file", file)?;
        self.refresh(Some(text)).await.map_err(|error| match error {
            RoutesError::Unsound(problems) => {
                Failure::new(Code::BadModel, format!("{shown}: {}", problems.join("\n")))
            }
            RoutesError::Failed(why) => Failure::failed(format!("cannot apply {shown}: {why}")),
        })
    }

    /// Goes on with what was there. A route that cannot work any more must not keep the data from being served; nothing
    /// is forgotten, and its changes wait as long as the stream keeps them.
    async fn resume(&self) {
        if let Err(error) = self.refresh(None).await {
            tracing::error!("no route is at work: {error}");
        }
    }

    /// Lets a route file take the place of the one that was applied before. Blocks until it has.
    pub(super) fn apply_text(&self, text: String) -> Result<(), RoutesError> {
        self.workers.block_on(self.refresh(Some(text)))
    }

    /// What is wrong with a route file, if anything is.
    pub(super) fn check(&self, text: &str) -> Result<(), RoutesError> {
        self.gather(Some(text), None)
            .map(drop)
            .map_err(RoutesError::Unsound)
    }

    /// Lets the routes of all models and of the route file take effect.
    async fn refresh(&self, text: Option<String>) -> Result<(), RoutesError> {
        let _one_at_a_time = self.applying.lock().await;
        let stored = match &text {
            Some(_) => None,
            None => self.router.file().await?,
        };
        let gathered = self.gather(text.as_deref(), stored.as_deref());
        let (routes, trusted) = gathered.map_err(RoutesError::Unsound)?;
        self.doors.trust(trusted);
        let applied = self.router.apply(routes).await;
        applied.map_err(|error| match error {
            ApplyError::Routes(faults) => RoutesError::Unsound(faults),
            error => RoutesError::Failed(error.to_string()),
        })?;
        if let Some(text) = text {
            self.router.set_file(&text).await?;
        }
        Ok(())
    }

    /// The routes that the operator wrote down. One that came over the network is not among them because it was stored.
    fn given_routes(&self, models: &[Arc<Model>]) -> Vec<Route> {
        let texts = self.given.iter();
        let routes = texts.flat_map(|text| read_routes(text, models, &|_| Vec::new()).routes);
        routes.collect()
    }

    /// The routes of all models and of a route file, and the names of those that the operator wrote down; or what is wrong with
    /// them. Changes are typed by these models from here on.
    ///
    /// What is `new` is refused if a target cannot be opened. What was in effect before goes on without the route.
    fn gather(
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
        // What was written before a migration is typed by the version of then.
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

    /// What is wrong with the routes in a model, if anything is.
    pub(super) fn unsound(&self, text: &str) -> Option<Vec<String>> {
        let model = trestle_model::load(text).model.map(Arc::new)?;
        let known = [model];
        self.doors.read(text, &known, &self.given_routes(&known)).err()
    }

    /// The models of the server.
    pub(super) fn models(&self) -> &Models {
        self.db.models()
    }

    /// The database.
    pub(super) fn database(&self) -> &Embedded {
        &self.db
    }

    /// The router.
    pub(super) fn router(&self) -> &Router {
        &self.router
    }

    /// Waits for something that the router does. Not for tasks.
    pub(super) fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, AdminError> {
        let done = self.workers.block_on(work);
        done.map_err(|error| match error.kind() {
            ErrorKind::Validation => AdminError::invalid(error.message()),
            _ => AdminError::failed(error),
        })
    }

    /// A version of a model is about to take effect: changes that are read at that moment may be in its layout.
    pub(super) fn expect(&self, text: &str) -> Result<(), BindError> {
        if let Some(upcoming) = trestle_model::load(text).model {
            self.typer.expect(&Arc::new(upcoming), self.models().versions()?);
        }
        Ok(())
    }

    /// Another version of a model is in effect: so are its routes. Blocks until they are.
    pub(super) fn follow_models(&self) {
        self.workers.block_on(self.resume());
    }
}

/// The texts of the files that the server was started with.
fn given(storage: &StorageConfig) -> Result<Vec<String>, Failure> {
    let models = storage.models.iter().map(|file| read("model file", file));
    let routes = storage.routes.iter().map(|file| read("route file", file));
    models.chain(routes).collect()
}

fn read(what: &str, file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read the {what} {}: {error}", file.display())))
}

/// Why routes did not take effect.
#[derive(Debug)]
pub(super) enum RoutesError {
    /// Everything that is wrong with them.
    Unsound(Vec<String>),
    Failed(String),
}

impl fmt::Display for RoutesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoutesError::Unsound(problems) => f.write_str(&problems.join("\n")),
            RoutesError::Failed(why) => f.write_str(why),
        }
    }
}

impl From<Error> for RoutesError {
    fn from(error: Error) -> Self {
        RoutesError::Failed(error.to_string())
    }
}
