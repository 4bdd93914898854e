//! The `reindexer` binary.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser};
use reindexer::{Catalogue, NewReindex, Setup, Shards, api};
use trestle::app::{self, DatabaseFlags, Objects};

/// A catalogue whose records can be transformed again at any time.
#[derive(Parser)]
#[command(name = "reindexer", version)]
enum Cli {
    /// Serve the API and the page
    Serve(Door),
    /// Start a reindex on a server: of all records, unless --max-records or --input-file are given
    Start {
        #[command(flatten)]
        asked: NewReindex,
        /// Only records with these ids: a file with one in each line
        #[arg(long, conflicts_with = "max_records")]
        input_file: Option<PathBuf>,
        #[command(flatten)]
        server: Server,
    },
    /// Ask a server how far a pipeline is
    Status {
        /// The pipeline
        pipeline: String,
        /// Name the records that it lacks
        #[arg(long)]
        gaps: bool,
        /// Send it the records that it lacks
        #[arg(long, conflicts_with = "gaps")]
        resend: bool,
        #[command(flatten)]
        server: Server,
    },
}

#[derive(Args)]
struct Door {
    #[command(flatten)]
    database: DatabaseFlags,
    /// Where payloads are: a directory, or s3://BUCKET/PREFIX with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION
    /// from the environment [default: DATA/objects]
    #[arg(long)]
    objects: Option<String>,
    /// What to call instead of AWS for s3://
    #[arg(long, value_name = "URL", requires = "objects")]
    s3_endpoint: Option<String>,
    /// Records in a shard, about. If it is given, rows are brought to their new shards at the start
    #[arg(long)]
    shard_size: Option<u64>,
    /// The most read units in a second for a reindex by segments
    #[arg(long)]
    read_units: Option<f64>,
    /// The most rows in a second that a reindex by shards writes
    #[arg(long)]
    write_units: Option<f64>,
    /// Seconds after which the work of a killed process is done by the next one
    #[arg(long, default_value_t = 30)]
    lease: u64,
    /// The port on this machine; 0 takes a free one
    #[arg(long, default_value_t = 8070)]
    port: u16,
}

#[derive(Args)]
struct Server {
    /// The server
    #[arg(long, default_value = "http://127.0.0.1:8070")]
    url: String,
}

type Done = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    app::run("warn", work(Cli::parse()))
}

async fn work(cli: Cli) -> Done {
    match cli {
        Cli::Serve(door) => Ok(api::serve(door.open().await?, door.port).await?),
        Cli::Start {
            mut asked,
            input_file,
            server,
        } => {
            asked.ids = input_file.map(read_ids).transpose()?;
            server.call("POST", "reindexes", Some(&asked)).await
        }
        Cli::Status {
            pipeline,
            gaps,
            resend,
            server,
        } => {
            let (method, what) = match (gaps, resend) {
                (true, _) => ("GET", "gaps"),
                (_, true) => ("POST", "resend"),
                _ => ("GET", "status"),
            };
            let path = format!("pipelines/{pipeline}/{what}");
            server.call(method, &path, None).await
        }
    }
}

fn read_ids(file: PathBuf) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

impl Door {
    async fn open(&self) -> Result<Arc<Catalogue>, Box<dyn Error>> {
        let (database, data) = self.database.open_with_files("reindexer")?;
        let objects = match &self.objects {
            Some(place) => Objects::open(place, self.s3_endpoint.as_deref()),
            None => Objects::directory(&data.join("objects")),
        };
        let objects = objects.map_err(|error| format!("--objects: {error}"))?;
        let mut setup = Setup::new(&database, objects, data.join("indexes"));
        setup.shards = self.shard_size.map_or(setup.shards, Shards);
        setup.budget.read_units = self.read_units;
        setup.budget.write_units = self.write_units;
        setup.workers.visibility = Duration::from_secs(self.lease);
        let app = Catalogue::start(setup).await?;
        if self.shard_size.is_some() {
            let moved = app.reshard().await?;
            tracing::info!(moved, "rows are in their new shards");
        }
        Ok(app)
    }
}

impl Server {
    /// Sends the request, and prints the answer.
    async fn call(&self, method: &str, path: &str, body: Option<&NewReindex>) -> Done {
        // An error means that one is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = &self.url;
        let mut request = reqwest::Client::new().request(method.parse()?, format!("{url}/{path}"));
        if let Some(body) = body {
            request = request.json(body);
        }
        let silent = |error| format!("no server answers at {url}: {error}; see --url");
        let answer = request.send().await.map_err(silent)?;
        let (status, said) = (answer.status(), answer.json::<serde_json::Value>().await?);
        if !status.is_success() {
            return Err(said["error"].as_str().unwrap_or("the server failed").into());
        }
        writeln!(std::io::stdout(), "{said:#}")?;
        Ok(())
    }
}
