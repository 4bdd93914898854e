//! The models of a server, and the routes in them and in its route file.

use crate::administration::{RunningServer, START_ONE};
use crate::exit::{Code, Failure};
use crate::server_flags::ServerFlags;
use std::path::Path;
use std::sync::Arc;
use trestle_admin::{AdminErrorCode, AdministrationExt, ListModels, ModelSummary, ReadModel, ReadRoutes};
use trestle_events::{Route, read_routes};
use trestle_model::Model;

/// A model of a server.
pub(crate) struct KnownModel {
    pub(crate) text: String,
    pub(crate) model: Arc<Model>,
}

/// A route of a server.
pub(crate) struct KnownRoute {
    pub(crate) route: Route,
    /// The model that contains it; `None` if it is in the route file.
    pub(crate) of_model: Option<String>,
}

/// The models of a server; empty if the endpoint is not a Trestle server.
pub(crate) fn models(server: &ServerFlags) -> Result<Vec<KnownModel>, Failure> {
    let server = RunningServer::new(server, START_ONE)?;
    let listed = match server.ask(ListModels {}) {
        Ok(listed) => listed.models,
        Err(error) if error.code == AdminErrorCode::NoAnswer => return Err(error.into()),
        Err(error) => {
            if error.code == AdminErrorCode::Forbidden {
                tracing::warn!("entities are not named, because the models cannot be read: {error}");
            }
            return Ok(Vec::new());
        }
    };
    let mut models = Vec::new();
    for ModelSummary { name, .. } in listed {
        let text = match server.ask(ReadModel { name }) {
            Ok(model) => model.text,
            // It was removed meanwhile.
            Err(error) if error.code == AdminErrorCode::NotFound => continue,
            Err(error) => return Err(error.into()),
        };
        let model = trestle_model::load(&text).model.map(Arc::new);
        models.extend(model.map(|model| KnownModel { text, model }));
    }
    Ok(models)
}

/// The routes of a server, and the text of its route file.
pub(crate) fn routes(
    server: &ServerFlags,
    models: &[KnownModel],
) -> Result<(Vec<KnownRoute>, String), Failure> {
    let known: Vec<Arc<Model>> = models.iter().map(|known| Arc::clone(&known.model)).collect();
    let file = RunningServer::new(server, START_ONE)?.ask(ReadRoutes {})?.text;
    let read = |text: &str, of_model: Option<&str>| {
        let found = read_routes(text, &known, &|_| Vec::new()).routes.into_iter();
        let route = |route| KnownRoute {
            route,
            of_model: of_model.map(str::to_owned),
        };
        found.map(route).collect::<Vec<_>>()
    };
    let mut routes = read(&file, None);
    for known in models {
        routes.extend(read(&known.text, Some(known.model.name())));
    }
    routes.sort_by(|one, other| one.route.name.cmp(&other.route.name));
    Ok((routes, file))
}

/// The model in a file.
pub(crate) fn model_file(file: &Path) -> Result<Arc<Model>, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("cannot read the model file {shown}: {error}")))?;
    let model = trestle_model::load(&text).model.map(Arc::new);
    model.ok_or_else(|| {
        Failure::new(
            Code::BadModel,
            format!("not a sound model: {shown}; `trestle model check {shown}` says why"),
        )
    })
}
