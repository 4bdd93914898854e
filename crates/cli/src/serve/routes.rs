//! The running routes of a server.

use super::route_sources::{RouteSources, read};
use crate::config::StorageConfig;
use crate::exit::{Code, Failure};
use crate::routes::doors::Openings;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use trestle_admin::{AdminError, RouteSample};
use trestle_api::{Error, ErrorKind};
use trestle_embedded::{Embedded, RouteSetup};
use trestle_events::{ApplyError, Router};
use trestle_targets::{Surroundings, Trust};

/// How often to poll for changes without a signal.
pub(super) const POLL: Duration = Duration::from_secs(1);

/// Running routes, and their sources.
pub(super) struct Routes {
    sources: Arc<RouteSources>,
    router: Router,
    workers: Handle,
    /// Held while routes are applied, so that the stored routes are those in effect.
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
        let surroundings = Surroundings::of_process(Arc::clone(db.clock()));
        let doors = Openings::trusting(Some(db.queues().clone()), surroundings, trust);
        let sources = Arc::new(RouteSources::new(Arc::new(db.clone()), doors, storage)?);
        let router = db.start_router(RouteSetup {
            typer: Arc::clone(&sources.typer) as _,
            doors: Arc::clone(&sources.doors) as _,
            poll: POLL,
            runtime: workers.clone(),
            streams: None,
        });
        let router = router.map_err(Failure::failed)?;
        let routes = Arc::new(Routes::new(sources, router, workers));
        match file {
            Some(file) => routes.apply_file(file).await?,
            None => routes.resume().await,
        }
        routes.log_in_effect();
        Ok(routes)
    }

    /// Routes of a new router.
    pub(super) fn new(sources: Arc<RouteSources>, router: Router, workers: &Handle) -> Self {
        Routes {
            sources,
            router,
            workers: workers.clone(),
            applying: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn log_in_effect(&self) {
        let statuses = self.router.status().into_iter();
        for status in statuses.filter(|status| !status.state.is_off()) {
            tracing::info!("route {} is in effect for {}", status.route, status.table);
        }
    }

    pub(super) async fn apply_file(&self, file: &Path) -> Result<(), Failure> {
        let shown = file.display();
        let text = read("route file", file)?;
        self.refresh(Some(text)).await.map_err(|error| match error {
            RoutesError::Unsound(problems) => {
                Failure::new(Code::BadModel, format!("{shown}: {}", problems.join("\n")))
            }
            RoutesError::Failed(why) => Failure::failed(format!("cannot apply {shown}: {why}")),
        })
    }

    /// Continues existing routes. A route that can no longer work must not prevent the data from being
    /// served; it is not removed, and its changes wait as long as the stream keeps them.
    pub(super) async fn resume(&self) {
        if let Err(error) = self.refresh(None).await {
            tracing::error!("no route is at work: {error}");
        }
    }

    /// Replaces the route file that was applied before. Blocks until it is done.
    pub(super) fn apply_text(&self, text: String) -> Result<(), RoutesError> {
        self.workers.block_on(self.refresh(Some(text)))
    }

    /// The errors of a route file, if there are any.
    pub(super) fn check(&self, text: &str) -> Result<(), RoutesError> {
        let gathered = self.sources.gather(Some(text), None);
        gathered.map(drop).map_err(RoutesError::Unsound)
    }

    /// Puts the routes of all models and of the route file into effect.
    async fn refresh(&self, text: Option<String>) -> Result<(), RoutesError> {
        let _one_at_a_time = self.applying.lock().await;
        let stored = match &text {
            Some(_) => None,
            None => self.router.file().await?,
        };
        // A gateway reads models at its endpoint, and blocks this thread meanwhile.
        let gather = || self.sources.gather(text.as_deref(), stored.as_deref());
        let gathered = tokio::task::block_in_place(gather);
        let (routes, trusted) = gathered.map_err(RoutesError::Unsound)?;
        self.sources.doors.trust(trusted);
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

    /// Their sources.
    pub(super) fn sources(&self) -> &RouteSources {
        &self.sources
    }

    /// The router.
    pub(super) fn router(&self) -> &Router {
        &self.router
    }

    /// The lag of the enabled routes.
    pub(super) fn lags(&self) -> Vec<RouteSample> {
        let on = self.router.status().into_iter();
        let on = on.filter(|status| !status.state.is_off());
        on.map(|status| RouteSample {
            route: status.route,
            lag_records: status.lag_records,
            lag_ms: status.lag_ms,
        })
        .collect()
    }

    /// Blocks on work of the router. Not for asynchronous tasks.
    pub(super) fn wait<T>(&self, work: impl Future<Output = Result<T, Error>>) -> Result<T, AdminError> {
        let done = self.workers.block_on(work);
        done.map_err(|error| match error.kind() {
            ErrorKind::Validation => AdminError::invalid(error.message()),
            _ => AdminError::failed(error),
        })
    }

    /// Puts the routes of the models' current versions into effect. Blocks until it is done.
    pub(super) fn follow_models(&self) {
        self.workers.block_on(self.resume());
    }
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
