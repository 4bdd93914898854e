//! Measurements that concern only Trestle: the library without a socket, starting, memory, many tables, many
//! rows, a model, a migration, queues, routes, a reindex, sizes of blocks.

mod backfill;
mod blocks;
mod embedded;
mod migrations;
mod model;
mod queues;
mod reindex;
mod routes;
mod scale;
mod start;
mod tables;

use crate::Progress;
use crate::error::BenchError;
use crate::report::{AloneFigure, Stage};
use crate::settings::{Alone, Settings};
use crate::target::{Found, Target};
use std::path::Path;

/// Runs one of these measurements in its own directory.
pub(crate) fn measure(
    what: Alone,
    settings: &Settings,
    directory: &Path,
    progress: &mut dyn Progress,
) -> Result<(Vec<AloneFigure>, Vec<Stage>), BenchError> {
    let trestle = settings.places.find(Target::Trestle).map_err(BenchError::new)?;
    let run = Run {
        settings,
        trestle: &trestle,
        directory,
    };
    let figures = match what {
        Alone::Blocks => blocks::measure(&run, progress),
        Alone::Embedded => embedded::measure(&run, progress),
        Alone::Migrations => return migrations::measure(&run, progress),
        Alone::Model => model::measure(&run, progress),
        Alone::Queues => queues::measure(&run, progress),
        Alone::Reindex => reindex::measure(&run, progress),
        Alone::Routes => routes::measure(&run, progress),
        Alone::Start => start::measure(&run, progress),
        Alone::Tables => tables::measure(&run, progress),
        Alone::Scale => scale::measure(&run, progress),
    };
    Ok((figures?, Vec::new()))
}

/// The parameters of each.
struct Run<'a> {
    settings: &'a Settings,
    trestle: &'a Found,
    directory: &'a Path,
}
