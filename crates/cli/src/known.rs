//! What a server knows: the models that were applied, and the routes in them and in its route file.

use crate::admin_call::{Caller, START_ONE};
use crate::answer;
use crate::exit::{Code, Failure};
use crate::server_flags::{ServerFlags, encoded};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use trestle_events::{Route, read_routes};
use trestle_model::Model;

const MODELS: &str = "/_trestle/models";
const ROUTES: &str = "/_trestle/routes";

/// A model of a server.
pub(crate) struct KnownModel {
    text: String,
    pub(crate) model: Arc<Model>,
}

/// A route of a server.
pub(crate) struct KnownRoute {
    pub(crate) route: Route,
    /// The model it is in; none if it is in the route file.
    pub(crate) of_model: Option<String>,
}

/// The models of a server; none where whoever answers is no server of ours.
pub(crate) fn models(server: &ServerFlags) -> Result<Vec<KnownModel>, Failure> {
    let caller = Caller::new(server, START_ONE)?;
    let Some(listed) = asked(&caller, MODELS)? else {
        return Ok(Vec::new());
    };
    let listed: Value = serde_json::from_str(&listed)
        .map_err(|error| Failure::failed(format!("the list of models is no JSON: {error}")))?;
    let mut models = Vec::new();
    for listed in answer::list(&listed, "models")? {
        let name = answer::text(listed, "name")?;
        let Some(text) = asked(&caller, &format!("{MODELS}?name={}", encoded(name)))? else {
            // It was removed meanwhile.
            continue;
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
    let caller = Caller::new(server, START_ONE)?;
    let said = caller.ask("GET", &format!("{ROUTES}?text"), "")?;
    if said.status != 200 {
        return Err(Failure::failed(caller.refusal(&said)));
    }
    let file = said.text;
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

/// The answer to a question, if it is one.
fn asked(caller: &Caller, path: &str) -> Result<Option<String>, Failure> {
    let said = caller.ask("GET", path, "")?;
    Ok((said.status == 200).then_some(said.text))
}
