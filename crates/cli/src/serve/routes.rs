//! The routes of a server: those in its models, and those of the route file that was applied.

use crate::exit::{Code, Failure};
use crate::model::keeper::Keeper;
use crate::routes::doors::Openings;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use trestle_binding::BindError;
use trestle_embedded::{Embedded, RouteSetup};
use trestle_events::{ApplyError, ModelTyper, Route, Router};
use trestle_model::Model;
use trestle_server::{Applying, ModelAnswer, ModelCall, ModelKeeper, RouteKeeper, RoutesApplied};
use trestle_targets::Surroundings;

/// How often to look for changes without having been told of any.
const POLL: Duration = Duration::from_secs(1);

/// Routes at work, and where they come from.
pub(super) struct Routes {
    models: Keeper,
    router: Router,
    typer: Arc<ModelTyper>,
    doors: Arc<Openings>,
    workers: Handle,
    /// Held while routes are applied, so that what is stored is what is in effect.
    applying: tokio::sync::Mutex<()>,
}

impl Routes {
    /// Starts the routes of the stored models, and those of `file` or of the file that was applied last.
    pub(super) async fn open(
        db: &Embedded,
        workers: &Handle,
        file: Option<&Path>,
    ) -> Result<Arc<Self>, Failure> {
        let typer = Arc::new(ModelTyper::default());
        let doors = Arc::new(Openings {
            queues: Some(db.queues().clone()),
            surroundings: Surroundings::of_process(Arc::clone(db.clock())),
        });
        let router = db.start_router(RouteSetup {
            typer: Arc::clone(&typer) as _,
            doors: Arc::clone(&doors) as _,
            poll: POLL,
            runtime: workers.clone(),
            streams: None,
        });
        let router = router.map_err(Failure::failed)?;
        let routes = Arc::new(Self {
            models: Keeper(db.clone()),
            router,
            typer,
            doors,
            workers: workers.clone(),
            applying: tokio::sync::Mutex::default(),
        });
        match file {
            Some(file) => routes.apply_file(file).await?,
            None => routes.resume().await,
        }
        for status in routes.router.status() {
            tracing::info!("route {} is in effect for {}", status.route, status.table);
        }
        Ok(routes)
    }

    async fn apply_file(&self, file: &Path) -> Result<(), Failure> {
        let shown = file.display();
        let text = std::fs::read_to_string(file)
            .map_err(|error| Failure::usage(format!("cannot read the route file {shown}: {error}")))?;
        match self.apply(text, false).await {
            RoutesApplied::Done => Ok(()),
            RoutesApplied::Unsound(why) => Err(Failure::new(Code::BadModel, format!("{shown}: {why}"))),
            RoutesApplied::Failed(why) => Err(Failure::failed(format!("cannot apply {shown}: {why}"))),
        }
    }

    /// Goes on with what was there. A route that cannot work any more must not keep the data from being served; nothing
    /// is forgotten, and its changes wait as long as the stream keeps them.
    async fn resume(&self) {
        if let RoutesApplied::Unsound(why) | RoutesApplied::Failed(why) = self.refresh(None).await {
            tracing::error!("no route is at work: {why}");
        }
    }

    /// Lets the routes of all models and of the route file take effect.
    async fn refresh(&self, text: Option<String>) -> RoutesApplied {
        let _one_at_a_time = self.applying.lock().await;
        let stored = match &text {
            Some(_) => None,
            None => match self.router.file().await {
                Ok(stored) => stored,
                Err(error) => return RoutesApplied::Failed(error.to_string()),
            },
        };
        let routes = match self.gather(text.as_deref().or(stored.as_deref())) {
            Ok(routes) => routes,
            Err(why) => return RoutesApplied::Unsound(why),
        };
        match self.router.apply(routes).await {
            Ok(()) => {}
            Err(ApplyError::Routes(faults)) => return RoutesApplied::Unsound(faults.join("\n")),
            Err(error) => return RoutesApplied::Failed(error.to_string()),
        }
        match text {
            Some(text) => match self.router.set_file(&text).await {
                Ok(()) => RoutesApplied::Done,
                Err(error) => RoutesApplied::Failed(error.to_string()),
            },
            None => RoutesApplied::Done,
        }
    }

    /// The routes of all models and of a route file; or what is wrong with them. Changes are typed by these models from
    /// here on.
    fn gather(&self, text: Option<&str>) -> Result<Vec<Route>, String> {
        let stored = self.models.models();
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
                Err(error) => return Err(error.to_string()),
            }
        }
        // What was written before a migration is typed by the version of then.
        self.typer
            .set(stored.versions().map_err(|error| error.to_string())?);
        let known: Vec<Arc<Model>> = models.iter().map(|(_, model)| Arc::clone(model)).collect();
        let mut routes = Vec::new();
        for text in models.iter().map(|(text, _)| text.as_str()).chain(text) {
            routes.extend(self.doors.read(text, &known)?);
        }
        Ok(routes)
    }

    /// What is wrong with the routes in a model, if anything is.
    pub(super) fn unsound(&self, text: &str) -> Option<String> {
        let model = trestle_model::load(text).model.map(Arc::new)?;
        self.doors.read(text, &[model]).err()
    }

    /// The models of the server.
    pub(super) fn models(&self) -> &Keeper {
        &self.models
    }

    /// A version of a model is about to take effect: changes that are read at that moment may be in its layout.
    pub(super) fn expect(&self, text: &str) -> Result<(), BindError> {
        if let Some(upcoming) = trestle_model::load(text).model {
            self.typer
                .expect(&Arc::new(upcoming), self.models.models().versions()?);
        }
        Ok(())
    }

    /// Another version of a model is in effect: so are its routes. Blocks until they are.
    pub(super) fn follow_models(&self) {
        self.workers.block_on(self.resume());
    }
}

impl RouteKeeper for Routes {
    fn router(&self) -> &Router {
        &self.router
    }

    fn apply(&self, text: String, dry_run: bool) -> Applying<'_> {
        Box::pin(async move {
            if dry_run {
                return match self.gather(Some(&text)) {
                    Ok(_) => RoutesApplied::Done,
                    Err(why) => RoutesApplied::Unsound(why),
                };
            }
            self.refresh(Some(text)).await
        })
    }
}

impl std::fmt::Debug for Routes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Routes").finish_non_exhaustive()
    }
}

/// The models of a server that has routes: what is applied or removed takes its routes along.
#[derive(Debug)]
pub(super) struct RoutedModels(pub(super) Arc<Routes>);

impl ModelKeeper for RoutedModels {
    fn answer(&self, call: ModelCall) -> ModelAnswer {
        let routes = &self.0;
        let changes = match &call {
            ModelCall::Apply { text, dry_run, .. } => {
                if let Some(why) = routes.unsound(text) {
                    return ModelAnswer::Unsound(why);
                }
                !dry_run
            }
            ModelCall::Remove { .. } => true,
            ModelCall::List | ModelCall::Text { .. } | ModelCall::Repair { .. } => false,
        };
        let answered = ModelKeeper::answer(&routes.models, call);
        if changes && matches!(answered, ModelAnswer::Done(_)) {
            routes.follow_models();
        }
        answered
    }
}
