//! The command line of both versions. They differ in how the model takes effect, which the caller determines.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use trestle::app::{self, DatabaseFlags, Loopback};
use trestle::{AnyDatabase, Embedded, Options};

use super::*;

type Fallible<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// How the model takes effect: it is applied, or rows of another layout move to it.
pub type Open = fn(&AnyDatabase) -> Fallible<Littlehorse<AnyDatabase>>;

const TENANT: &str = "default";

/// A small workflow engine.
#[derive(Parser)]
#[command(version)]
enum Cli {
    /// Serves the API and the page
    Serve {
        #[command(flatten)]
        database: DatabaseFlags,
        /// The port on this machine; 0 takes a free one
        #[arg(long, default_value_t = 8070)]
        port: u16,
    },
    /// Serves sample data that is not kept, with a worker in the same process
    Demo {
        /// The port on this machine; 0 takes a free one
        #[arg(long, default_value_t = 8070)]
        port: u16,
    },
    /// Polls a server for tasks, does them and reports
    Worker {
        /// The server
        #[arg(long, default_value = "http://127.0.0.1:8070")]
        url: String,
        /// The tenant
        #[arg(long, default_value = TENANT)]
        tenant: String,
    },
}

/// The program.
pub fn run(open: Open) -> ExitCode {
    app::run("info", carry_out(Cli::parse(), open))
}

async fn carry_out(cli: Cli, open: Open) -> Fallible<()> {
    let options = Options::default();
    match cli {
        Cli::Serve { database, port } => {
            let database = database.open("littlehorse", database.files("littlehorse"))?;
            serve(&database, open, port, false).await
        }
        Cli::Demo { port } => serve(&Embedded::in_memory(options)?.into(), open, port, true).await,
        Cli::Worker { url, tenant } => Ok(worker::work(&url, &tenant).await?),
    }
}

async fn serve(database: &AnyDatabase, open: Open, port: u16, is_demo: bool) -> Fallible<()> {
    let listener = Loopback::listen(port).await?;
    let url = listener.url();
    let (service, timers) = Service::start(database, open(database)?).await?;
    if is_demo {
        begin(&service).await?;
    }
    writeln!(std::io::stdout(), "littlehorse serves {url}")?;
    tokio::select! {
        served = listener.serve(api::router(service)) => served?,
        ended = worker::work(&url, TENANT), if is_demo => ended?,
    }
    timers.stop().await;
    Ok(())
}

#[derive(Deserialize)]
struct Sample {
    workflows: Vec<Spec>,
    runs: Vec<RunWf>,
}

async fn begin(service: &Service) -> Fallible<()> {
    let sample: Sample = serde_json::from_str(include_str!("../../sample.json"))?;
    for spec in sample.workflows {
        service.put_spec(TENANT, spec).await?;
    }
    for run in sample.runs {
        service.run_wf(TENANT, run).await?;
    }
    Ok(())
}
