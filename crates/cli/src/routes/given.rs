//! A route file of the operator, for an endpoint that does not run routes itself.

use super::check::is_model;
use super::doors::Openings;
use super::read;
use crate::exit::{Code, Failure};
use crate::known;
use crate::server_flags::ServerFlags;
use std::path::PathBuf;
use std::sync::Arc;
use trestle_env::SystemClock;
use trestle_events::Route;
use trestle_model::Model;
use trestle_targets::Surroundings;

/// The content of a route file, with the models that its routes need.
pub(crate) struct GivenRoutes {
    pub(crate) text: String,
    pub(crate) routes: Vec<Route>,
    /// The models that determine entities.
    pub(crate) models: Vec<Arc<Model>>,
    pub(crate) doors: Openings,
}

impl GivenRoutes {
    /// Reads a route file, or a model with routes.
    pub(crate) fn read(file: &PathBuf, models: &[PathBuf], server: &ServerFlags) -> Result<Self, Failure> {
        let text = read(file)?;
        let models = models_for(file, &text, models, server)?;
        let doors = Openings::new(None, Surroundings::of_process(Arc::new(SystemClock::new())));
        let unsound = |why: Vec<String>| {
            Failure::new(Code::BadModel, format!("{}: {}", file.display(), why.join("\n")))
        };
        let routes = doors.read(&text, &models, &[]).map_err(unsound)?;
        Ok(Self {
            text,
            routes,
            models,
            doors,
        })
    }
}

/// Those given, the file itself if it is a model, or those of the endpoint.
fn models_for(
    file: &PathBuf,
    text: &str,
    given: &[PathBuf],
    server: &ServerFlags,
) -> Result<Vec<Arc<Model>>, Failure> {
    let own = is_model(text).then_some(file);
    let files: Vec<&PathBuf> = given.iter().chain(own).collect();
    if files.is_empty() {
        let known = known::models(server)?.into_iter();
        return Ok(known.map(|known| known.model).collect());
    }
    files.into_iter().map(|file| known::model_file(file)).collect()
}
