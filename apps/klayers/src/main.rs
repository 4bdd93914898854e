//! The binary `klayers`.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Parser, ValueEnum};
use klayers::model::Klayers;
use klayers::{App, Bucket, Files, http, watch};
use trestle::app::{self, Loopback, Objects};
use trestle::{Embedded, Options, migrate};

/// Python packages as layers in every region, always with exactly one latest.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// What to do
    command: Command,
    /// Directory of the table; made if it is missing
    #[arg(long, default_value = "trestle-data/klayers")]
    data: PathBuf,
    /// Where the layers of this table go, and no others: a directory, or s3://BUCKET/PREFIX with AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY and AWS_REGION from the environment [default: DATA/layers]
    #[arg(long)]
    layers: Option<String>,
    /// What to call instead of AWS for s3://
    #[arg(long, value_name = "URL", requires = "layers")]
    s3_endpoint: Option<String>,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    files: Files,
}

#[derive(Clone, Copy, ValueEnum)]
enum Command {
    /// Runs the pipeline twice, with the packages and regions that come along, then serves them
    Demo,
    /// Serves the API, and removes layers as they expire
    Serve,
    /// Brings every package to its newest release in every region, once
    Run,
}

fn main() -> ExitCode {
    app::run("info", work(Cli::parse()))
}

async fn work(cli: Cli) -> Result<(), Box<dyn Error>> {
    let (index, layers) = (cli.files.index()?, cli.layers()?);
    let table = cli.data.join("table");
    let database = Embedded::open(&table, Options::default())?;
    // Rows of the first layout move to the present one in the background.
    let (db, _migration) = Klayers::migrate_to(&database, migrate::StartOptions::default())?;
    let app = App::new(db.shared(), Arc::new(layers), Arc::new(index));
    // Rows expire while any command runs, so all of them follow what expires.
    let router = watch(&app, &database).await?;
    let done = command(cli, &app).await;
    router.stop().await;
    done
}

async fn command(cli: Cli, app: &App) -> Result<(), Box<dyn Error>> {
    let mut swept = app.sweep().await?;
    if !matches!(cli.command, Command::Serve) && app.load_config(&cli.files).await? > 0 {
        // There may be regions that come back, with what a run once left there.
        swept += app.sweep().await?;
    }
    if swept > 0 {
        tracing::info!(swept, "removed layers of a run that was cut off");
    }
    if matches!(cli.command, Command::Demo | Command::Run) {
        run(app).await?;
    }
    if matches!(cli.command, Command::Demo) {
        tracing::info!("once more: there should be nothing to do");
        run(app).await?;
    }
    if matches!(cli.command, Command::Demo | Command::Serve) {
        serve(app.clone(), cli.files, cli.port).await?;
    }
    Ok(())
}

impl Cli {
    fn layers(&self) -> io::Result<Bucket> {
        match &self.layers {
            Some(place) => {
                let named = |error| io::Error::other(format!("--layers: {error}"));
                let objects = Objects::open(place, self.s3_endpoint.as_deref()).map_err(named)?;
                Ok(Bucket::new(objects))
            }
            None => Bucket::directory(&self.data.join("layers")),
        }
    }
}

async fn run(app: &App) -> Result<(), Box<dyn Error>> {
    let begun = Instant::now();
    let done = app.run().await?;
    let (built, deployed, unchanged, failed) = (done.built, done.deployed, done.unchanged, done.failed.len());
    done.failed.iter().for_each(|failed| tracing::warn!("{failed}"));
    tracing::info!(built, deployed, unchanged, failed, took = ?begun.elapsed(), "the run is over");
    match (deployed + unchanged, failed) {
        (0, 0) => Err("the lists name nothing to deploy: see --packages, --regions and --pythons".into()),
        (_, 0) => Ok(()),
        _ => Err("not everything was deployed; the next run tries again".into()),
    }
}

async fn serve(app: App, files: Files, port: u16) -> Result<(), Box<dyn Error>> {
    let door = Loopback::listen(port).await?;
    let url = door.url();
    tracing::info!("layers of a region: {url}/api/v2/p3.12/layers/latest/eu-west-1/html");
    tracing::info!("everything there is: {url}/openapi.json; end with Ctrl-C");
    Ok(door.serve(http::routes(app, files)).await?)
}
