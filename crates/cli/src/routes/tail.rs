//! `trestle routes tail`: shows what a route takes, as it happens.

use super::apply::no_route;
use crate::exit::Failure;
use crate::known;
use crate::tail::{FollowFlags, Show, follow};
use clap::Args;
use std::sync::Arc;
use trestle_events::{ModelTyper, Route};

/// Flags of `trestle routes tail`.
#[derive(Debug, Args)]
pub(crate) struct TailFlags {
    /// The route
    #[arg(value_name = "ROUTE")]
    route: String,
    /// Print what the target gets for each change, after the route's input template, as JSON in a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    follow: FollowFlags,
}

/// Reads the stream independently of the route, which is not affected.
pub(super) fn tail(flags: &TailFlags) -> Result<(), Failure> {
    let models = known::models(&flags.follow.server)?;
    let (routes, _) = known::routes(&flags.follow.server, &models)?;
    let Some(found) = routes.iter().find(|known| known.route.name == flags.route) else {
        return Err(no_route(&flags.route, &routes));
    };
    let route = Route {
        starting_position: flags.follow.since,
        ..found.route.clone()
    };
    let typer = ModelTyper::new(models.into_iter().map(|known| known.model));
    let show = Show::new(flags.json);
    follow(&flags.follow, &route, Arc::new(typer), &mut |delivery| {
        if flags.json {
            show.json(delivery.input())
        } else {
            show.change(&delivery.change)
        }
    })
}
