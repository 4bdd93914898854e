//! The `reindexer` binary.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Parser};
use reindexer::{Catalogue, NewReindex, Running, Setup, Shards, api, demo};
use trestle::app::{self, Loopback};
use trestle::{Embedded, Options};

/// A catalogue whose records can be transformed again at any time.
#[derive(Parser)]
#[command(name = "reindexer", version)]
enum Cli {
    /// Fill a catalogue with sample records, change the transformers, reindex into new indexes while the sources change, switch
    /// over and count; then serve it. Fails if anything is missing
    Demo {
        #[command(flatten)]
        door: Door,
        /// Copies of each sample record
        #[arg(long, default_value_t = 50)]
        copies: usize,
        /// End when everything is counted, without serving it
        #[arg(long)]
        once: bool,
    },
    /// Serve the API and the page
    Serve(Door),
    /// Start a reindex on a server: of all records, unless --max-records or --input-file are given
    Start {
        #[command(flatten)]
        asked: NewReindex,
        /// Only records with these ids: a file with one in each line
        #[arg(long, conflicts_with = "max_records")]
        input_file: Option<PathBuf>,
        /// The server
        #[arg(long, default_value = URL)]
        url: String,
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
        /// The server
        #[arg(long, default_value = URL)]
        url: String,
    },
}

#[derive(Args)]
struct Door {
    /// Where the data is; made if it is missing. The demo keeps nothing unless this is given
    #[arg(long)]
    data: Option<PathBuf>,
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

/// Where a server is, unless told otherwise.
const URL: &str = "http://127.0.0.1:8070";

type Done = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    app::run("warn", work(Cli::parse()))
}

async fn work(cli: Cli) -> Done {
    match cli {
        Cli::Demo { door, copies, once } => show(door, copies, once).await,
        Cli::Serve(door) => serve(door.open("trestle-data/reindexer".into()).await?, door.port).await,
        Cli::Start {
            mut asked,
            input_file,
            url,
        } => {
            asked.ids = input_file.map(read_ids).transpose()?;
            call("POST", &url, "reindexes", Some(&asked)).await
        }
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

fn read_ids(file: PathBuf) -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}

async fn show(door: Door, copies: usize, once: bool) -> Done {
    let folder = tempfile::tempdir()?;
    let running = door.open(folder.path().to_owned()).await?;
    demo::run(&running, copies, &mut std::io::stdout()).await?;
    match once {
        true => running.stop().await,
        false => serve(running, door.port).await?,
    }
    Ok(())
}

impl Door {
    async fn open(&self, unless_given: PathBuf) -> Result<Arc<Running>, Box<dyn Error>> {
        let data = self.data.clone().unwrap_or(unless_given);
        let database = Embedded::open(data.join("table"), Options::default())?;
        let objects = match &self.objects {
            Some(place) => app::Objects::open(place, self.s3_endpoint.as_deref())
                .map_err(|error| format!("--objects: {error}"))?,
            None => app::Objects::directory(&data.join("objects"))?,
        };
        let mut setup = Setup::new(&database, Arc::new(objects));
        setup.indexes = Some(data.join("indexes"));
        setup.shards = self.shard_size.map_or(setup.shards, Shards::new);
        setup.budget.read_units = self.read_units;
        setup.budget.write_units = self.write_units;
        setup.lease = Duration::from_secs(self.lease);
        let running = Catalogue::start(setup).await?;
        if self.shard_size.is_some() {
            let moved = running.app.reshard().await?;
            tracing::info!(moved, "rows are in their new shards");
        }
        Ok(Arc::new(running))
    }
}

async fn serve(running: Arc<Running>, port: u16) -> Done {
    let listener = Loopback::listen(port).await?;
    writeln!(std::io::stdout(), "reindexer serves {}", listener.url())?;
    listener.serve(api::router(Arc::clone(&running))).await?;
    running.stop().await;
    Ok(())
}

/// Asks a server, and prints what it answers.
async fn call(method: &str, url: &str, path: &str, body: Option<&NewReindex>) -> Done {
    // That there is one already is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
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
