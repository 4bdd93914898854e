//! The `reindexer` binary.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, ValueEnum};
use reindexer::{Bucket, Catalogue, Running, Setup, api, demo};
use serde_json::json;
use tokio::net::TcpListener;
use trestle::{Embedded, Options};

/// A catalogue whose records can be transformed again at any time.
#[derive(Parser)]
#[command(name = "reindexer", version)]
enum Cli {
    /// Fills a catalogue with sample records, changes the transformers, reindexes while the sources change, switches over and
    /// counts; then serves it. Fails if anything is missing.
    Demo {
        #[command(flatten)]
        door: Door,
        /// Copies of each sample record.
        #[arg(long, default_value_t = 50)]
        copies: usize,
        /// Ends when everything is counted, without serving it.
        #[arg(long)]
        once: bool,
    },
    /// Serves the API and the page.
    Serve(Door),
    /// Starts a reindex on a server.
    Start(Start),
    /// Asks a server about a pipeline: how far it is, or which records it lacks.
    Status {
        /// The pipeline.
        pipeline: String,
        /// Names the records that it lacks.
        #[arg(long)]
        gaps: bool,
        /// Sends it the records that it lacks.
        #[arg(long, conflicts_with = "gaps")]
        resend: bool,
        /// The server.
        #[arg(long, default_value = URL)]
        url: String,
    },
}

#[derive(Args)]
struct Door {
    /// Where the data is; made if it is missing. The demo keeps nothing unless this is given.
    #[arg(long)]
    data: Option<PathBuf>,
    /// Where payloads are: a directory, or s3://BUCKET/PREFIX with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION
    /// from the environment [default: DATA/objects]
    #[arg(long)]
    objects: Option<String>,
    /// What to call instead of AWS for s3://
    #[arg(long, value_name = "URL", requires = "objects")]
    s3_endpoint: Option<String>,
    /// Records in a shard, about. If it is given, rows are brought to their new shards at the start.
    #[arg(long)]
    shard_size: Option<u64>,
    /// The port on this machine; 0 takes a free one.
    #[arg(long, default_value_t = 8070)]
    port: u16,
}

#[derive(Args)]
struct Start {
    /// A source, all or notmiro.
    #[arg(long)]
    src: String,
    /// The destination.
    #[arg(long, default_value = "catalogue")]
    dst: String,
    /// Which records.
    #[arg(long, value_enum, default_value_t = ModeName::Complete)]
    mode: ModeName,
    /// For partial: how many at most.
    #[arg(long, default_value_t = 10)]
    max_records: usize,
    /// For specific: a file with an id in each line.
    #[arg(long, required_if_eq("mode", "specific"))]
    input_file: Option<PathBuf>,
    /// By shards, as the first design does: raises the version of every row.
    #[arg(long)]
    shards: bool,
    /// For shards: the version that rows get; the time in seconds unless given.
    #[arg(long, requires = "shards")]
    desired_version: Option<i64>,
    /// Goes on with a warning where nothing listens to the destination.
    #[arg(long)]
    force: bool,
    /// The server.
    #[arg(long, default_value = URL)]
    url: String,
}

#[derive(Clone, Copy, ValueEnum)]
enum ModeName {
    Complete,
    Partial,
    Specific,
}

/// Where a server is, unless told otherwise.
const URL: &str = "http://127.0.0.1:8070";

type Done = Result<(), Box<dyn Error>>;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter.unwrap_or_else(|_| "warn".into()))
        .with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();
    match work(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn work(cli: Cli) -> Done {
    match cli {
        Cli::Demo { door, copies, once } => show(door, copies, once).await,
        Cli::Serve(door) => {
            let running = door.open().await?;
            serve(running, door.port).await
        }
        Cli::Start(start) => call("POST", &start.url, "reindexes", Some(start.body()?)).await,
        Cli::Status {
            pipeline,
            gaps,
            resend,
            url,
        } => {
            let (method, what) = match (gaps, resend) {
                (true, _) => ("GET", "gaps"),
                (_, true) => ("POST", "resend"),
                _ => ("GET", "status"),
            };
            call(method, &url, &format!("pipelines/{pipeline}/{what}"), None).await
        }
    }
}

async fn show(mut door: Door, copies: usize, once: bool) -> Done {
    let port = door.port;
    let kept = match door.data {
        Some(_) => None,
        None => Some(tempfile::tempdir()?),
    };
    door.data = door
        .data
        .or_else(|| kept.as_ref().map(|folder| folder.path().to_owned()));
    let running = door.open().await?;
    demo::run(&running, copies, &mut std::io::stdout()).await?;
    match once {
        true => running.stop().await,
        false => serve(running, port).await?,
    }
    Ok(())
}

impl Door {
    async fn open(&self) -> Result<Arc<Running>, Box<dyn Error>> {
        let data = self
            .data
            .clone()
            .unwrap_or_else(|| "trestle-data/reindexer".into());
        let database = Embedded::open(data.join("table"), Options::default())?;
        let objects = match &self.objects {
            Some(place) => Bucket::open(place, self.s3_endpoint.as_deref())?,
            None => Bucket::directory(&data.join("objects"))?,
        };
        let mut setup = Setup::new(&database, Arc::new(objects));
        setup.indexes = Some(data.join("indexes"));
        setup.shard_size = self.shard_size.unwrap_or(setup.shard_size);
        let running = Catalogue::start(setup).await?;
        if self.shard_size.is_some() {
            let moved = running.app.reshard().await?;
            tracing::info!(moved, "rows are in their new shards");
        }
        Ok(Arc::new(running))
    }
}

async fn serve(running: Arc<Running>, port: u16) -> Done {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
    let in_vain = |error| format!("cannot listen on port {port}: {error}; --port chooses another");
    let listener = listener.map_err(in_vain)?;
    writeln!(
        std::io::stdout(),
        "reindexer serves http://{}",
        listener.local_addr()?
    )?;
    tokio::select! {
        biased; // Clients that never finish a request do not hold up the end.
        interrupted = tokio::signal::ctrl_c() => interrupted?,
        served = axum::serve(listener, api::router(Arc::clone(&running))) => served?,
    }
    running.stop().await;
    Ok(())
}

impl Start {
    fn body(&self) -> Result<serde_json::Value, Box<dyn Error>> {
        let mode = match (self.mode, &self.input_file) {
            (ModeName::Partial, _) => json!({ "type": "partial", "maxRecords": self.max_records }),
            (ModeName::Specific, Some(file)) => {
                let text = std::fs::read_to_string(file);
                let text = text.map_err(|error| format!("{}: {error}", file.display()))?;
                let ids: Vec<&str> = text
                    .lines()
                    .map(str::trim)
                    .filter(|line| !line.is_empty())
                    .collect();
                json!({ "type": "specific", "ids": ids })
            }
            _ => json!({ "type": "complete" }),
        };
        Ok(json!({
            "source": self.src, "destination": self.dst, "mode": mode, "force": self.force,
            "design": if self.shards { "shards" } else { "segments" }, "desiredVersion": self.desired_version,
        }))
    }
}

/// Asks a server, and prints what it answers.
async fn call(method: &str, url: &str, path: &str, body: Option<serde_json::Value>) -> Done {
    // That there is one already is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let request = reqwest::Client::new().request(method.parse()?, format!("{url}/{path}"));
    let request = match &body {
        Some(body) => request.json(body),
        None => request,
    };
    let answer = request
        .send()
        .await
        .map_err(|error| format!("no server answers at {url}: {error}; see --url"))?;
    let (status, said) = (answer.status(), answer.json::<serde_json::Value>().await?);
    if !status.is_success() {
        return Err(said["error"].as_str().unwrap_or("the server failed").into());
    }
    writeln!(std::io::stdout(), "{said:#}")?;
    Ok(())
}
