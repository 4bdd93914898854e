//! The binary `klayers`.

use std::error::Error;
use std::fs::File;
use std::io::IsTerminal as _;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use klayers::http::{self, Lists, V1_PYTHON};
use klayers::{App, CsvIndex, Directory, watch};
use trestle::{Engine, Options, StoreSettings};

const PACKAGES: &str = include_str!("../packages.csv");
const REGIONS: &str = include_str!("../regions.csv");

/// Python packages as layers in every region, always with exactly one latest.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Runs the pipeline twice with the packages and regions that come along, then serves them
    Demo(Place),
    /// Serves the API, and removes layers as they expire
    Serve(Place),
    /// Brings every package to its newest release in every region, once
    Run(Place),
}

#[derive(Args)]
struct Place {
    /// Directory of the table and the layers; made if it is missing
    #[arg(long, default_value = "trestle-data/klayers")]
    data: PathBuf,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Packages to build, as CSV: package, version, requires
    #[arg(long)]
    packages: Option<PathBuf>,
    /// Regions to deploy to, as CSV: region
    #[arg(long)]
    regions: Option<PathBuf>,
    /// Versions of Python to build for
    #[arg(long, value_delimiter = ',', default_values = [V1_PYTHON, "p3.12"])]
    pythons: Vec<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
    match Cli::parse().command {
        Command::Demo(place) => {
            let (engine, app, lists) = open(&place).await?;
            run(&app, &lists).await?;
            tracing::info!("once more: there should be nothing to do");
            run(&app, &lists).await?;
            serve(&engine, app, lists, place.port).await
        }
        Command::Serve(place) => {
            let (engine, app, lists) = open(&place).await?;
            serve(&engine, app, lists, place.port).await
        }
        Command::Run(place) => {
            let (_engine, app, lists) = open(&place).await?;
            run(&app, &lists).await
        }
    }
}

async fn open(place: &Place) -> Result<(Engine, App, Lists), Box<dyn Error>> {
    let index = match &place.packages {
        Some(path) => CsvIndex::read(open_file(path)?)?,
        None => CsvIndex::read(PACKAGES.as_bytes())?,
    };
    let regions = match &place.regions {
        Some(path) => std::fs::read_to_string(path)?,
        None => REGIONS.to_owned(),
    };
    let lists = Lists {
        pythons: place.pythons.clone(),
        packages: index.packages(),
        regions: regions
            .lines()
            .skip(1)
            .map(|line| line.trim().to_owned())
            .collect(),
    };
    let engine = Engine::open(
        &place.data.join("table"),
        StoreSettings::default(),
        Options::default(),
    )?;
    let layers = Directory::new(place.data.join("layers"));
    let app = App::open(&engine, Arc::new(layers), Arc::new(index))?;
    let swept = app.sweep().await?;
    if swept > 0 {
        tracing::info!(swept, "removed layers of a run that was cut off");
    }
    Ok((engine, app, lists))
}

fn open_file(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|error| format!("{}: {error}", path.display()))
}

async fn run(app: &App, lists: &Lists) -> Result<(), Box<dyn Error>> {
    app.load_config(&lists.pythons, &lists.packages, &lists.regions)
        .await?;
    let begun = std::time::Instant::now();
    let summary = app.run().await?;
    for failed in &summary.failed {
        tracing::warn!("{failed}");
    }
    tracing::info!(
        built = summary.built,
        deployed = summary.deployed,
        unchanged = summary.unchanged,
        failed = summary.failed.len(),
        took = ?begun.elapsed(),
        "the run is over"
    );
    Ok(())
}

async fn serve(engine: &Engine, app: App, lists: Lists, port: u16) -> Result<(), Box<dyn Error>> {
    let router = watch(&app, engine).await?;
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    let address = listener.local_addr()?;
    tracing::info!("layers of a region: http://{address}/api/v2/p3.12/layers/latest/eu-west-1/html");
    tracing::info!("everything there is: http://{address}/openapi.json; end with Ctrl-C");
    let interrupted = async {
        // Without signals there is nothing to wait for, and the process is ended another way.
        let _ = tokio::signal::ctrl_c().await;
    };
    axum::serve(listener, http::routes(app, lists))
        .with_graceful_shutdown(interrupted)
        .await?;
    router.stop().await;
    Ok(())
}
