//! `trestle routes apply` and `remove`: the route file of a running server.

use super::check::{bad_routes, is_model};
use super::{ask, line, read, section, status};
use crate::administration::{RunningServer, START_ONE};
use crate::exit::Failure;
use crate::known;
use crate::server_flags::ServerFlags;
use clap::Args;
use std::path::PathBuf;
use trestle_admin::{AdminErrorCode, AdministrationExt, ApplyRoutes};

/// Flags of `trestle routes apply`.
#[derive(Debug, Args)]
pub(crate) struct ApplyFlags {
    /// The route file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Only check it at the server
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ServerFlags,
}

/// Flags of `trestle routes remove`.
#[derive(Debug, Args)]
pub(crate) struct RemoveFlags {
    /// The route
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    server: ServerFlags,
}

/// Replaces the route file that was applied before.
pub(super) fn apply(flags: &ApplyFlags) -> Result<(), Failure> {
    let (server, shown) = (&flags.server, flags.file.display());
    let text = read(&flags.file)?;
    if is_model(&text) {
        return Err(Failure::usage(format!(
            "{shown} is a model; `trestle model apply {shown}` applies it together with its routes"
        )));
    }
    let call = ApplyRoutes {
        text,
        dry_run: flags.dry_run,
    };
    match RunningServer::new(server, START_ONE)?.ask(call) {
        Ok(_) if flags.dry_run => line(&format!("{shown}: nothing is wrong; nothing was changed")),
        Ok(routes) => status::print(&routes),
        Err(error) if error.code == AdminErrorCode::Unsound => {
            for problem in &error.problems {
                line(&format!("{shown}:{problem}"));
            }
            return Err(bad_routes(&shown.to_string()));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

/// Applies the file again without one of its routes.
pub(super) fn remove(flags: &RemoveFlags) -> Result<(), Failure> {
    let (server, name) = (&flags.server, &flags.name);
    let models = known::models(server)?;
    let (routes, file) = known::routes(server, &models)?;
    let Some(found) = routes.iter().find(|known| known.route.name == *name) else {
        return Err(no_route(name, &routes));
    };
    if let Some(model) = &found.of_model {
        return Err(Failure::usage(format!(
            "route {name} is in model {model}: take it out of the model's file and run `trestle model apply`"
        )));
    }
    let Some(rest) = section::without(&file, name) else {
        return Err(Failure::failed(format!(
            "route {name} cannot be taken out of the file as it is written; `trestle routes list --text` prints it: take \
             the route out by hand and run `trestle routes apply`"
        )));
    };
    let call = ApplyRoutes {
        text: rest,
        dry_run: false,
    };
    ask(server, call)?;
    line(&format!(
        "route {name} is gone; its dead letters, if any, stay until they are dropped"
    ));
    Ok(())
}

/// The failure for an unknown route, which lists the existing ones.
pub(super) fn no_route(name: &str, routes: &[known::KnownRoute]) -> Failure {
    let names: Vec<&str> = routes.iter().map(|known| known.route.name.as_str()).collect();
    Failure::usage(if names.is_empty() {
        format!("there is no route {name}, nor any other; `trestle routes apply FILE` applies a route file")
    } else {
        format!("there is no route {name}; there is {}", names.join(", "))
    })
}
