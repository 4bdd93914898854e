//! The binary `klayers`.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use klayers::model::{ConfigKind, Klayers};
use klayers::{ACCOUNT, App, Bucket, Files, Force, PackageIndex, Pip, Runs, http, runs_model, watch};
use trestle::app::{self, DatabaseFlags, Loopback, Objects};
use trestle::events::ApplyError;
use trestle::{ErrorKind, migrate};

/// The advice when another process has the table open.
const RUN_THERE: &str = ". If it is `klayers serve`, it can run: \
    curl -X POST -H \"Authorization: Bearer $KLAYERS_TOKEN\" URL/api/v1/runs, where URL is what it printed";

/// Python packages as layers in every region, always with exactly one latest.
#[derive(Parser)]
#[command(version)]
struct Cli {
    /// What to do
    command: Command,
    #[command(flatten)]
    database: DatabaseFlags,
    /// Where the layers of this table go, and no others: a directory, or s3://BUCKET/PREFIX with AWS_ACCESS_KEY_ID,
    /// AWS_SECRET_ACCESS_KEY and AWS_REGION from the environment [default: DATA/layers]
    #[arg(long)]
    layers: Option<String>,
    /// What to call instead of AWS for s3://
    #[arg(long, value_name = "URL", requires = "layers")]
    s3_endpoint: Option<String>,
    /// The account that owns the layers, as part of their ARNs
    #[arg(long, default_value = ACCOUNT, value_parser = account)]
    account: String,
    /// Where releases come from [default: pip, or list where pip cannot reach its package index; list for demo]
    #[arg(long)]
    index: Option<Index>,
    /// The program pip; {version} in it stands for that of the Python, as in pip{version} for pip3.12
    #[arg(long, value_name = "PROGRAM", default_value = "pip")]
    pip: String,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// While serving, run so often, as in 30d or 12h. A run that was missed or cut off is made up for [default: only when called]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    run_every: Option<Duration>,
    /// What calls that change something must know, as bearer or as access key. Without it, they are refused
    #[arg(long, env = "KLAYERS_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// What URLs of zips begin with, for a proxy in front: https://layers.example.org [default: the host that was called]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    #[command(flatten)]
    force: Force,
    #[command(flatten)]
    files: Files,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Command {
    /// Runs the pipeline twice without a network, with the packages and regions that come along, then serves them
    Demo,
    /// Serves the page, the API and Lambda's calls for layers, runs by schedule and by call, and removes layers as they expire
    Serve,
    /// Brings every package to its newest release in every region, once
    Run,
}

#[derive(Clone, Copy, ValueEnum)]
enum Index {
    /// The newest releases that pip finds, installed by pip
    Pip,
    /// The versions of --packages, without a network: layers only name their requirements
    List,
}

fn account(text: &str) -> Result<String, String> {
    let is_account = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit());
    let account = is_account.then(|| text.to_owned());
    account.ok_or_else(|| "an account is 12 digits".to_owned())
}

fn main() -> ExitCode {
    app::run("info", work(Cli::parse()))
}

async fn work(cli: Cli) -> Result<(), Box<dyn Error>> {
    let objects = cli.objects()?;
    // Mistakes in a list are reported before anything is created.
    cli.files.index()?;
    cli.files.list(ConfigKind::Rgns, "")?;
    let opened = cli.database.open_with_files("klayers");
    let way_out = |is_in_use| if is_in_use { RUN_THERE } else { "" };
    let (database, _) = opened.map_err(|error| format!("{error}{}", way_out(error.is_in_use())))?;
    // Rows of the first layout move to the present one in the background.
    let (db, _migration) = Klayers::migrate_to(&database, migrate::StartOptions::default())?;
    let layers = Bucket::of_table(objects, &cli.account, &database).await;
    let layers = layers.map_err(|error| format!("--layers: {error}"))?;
    let (db, layers, index) = (db.shared(), Arc::new(layers), cli.index());
    let app = App { db, layers, index };
    // Rows expire while any command runs, so every command handles expired rows.
    let router = watch(&app, &database).await.map_err(|error| {
        let is_in_use = matches!(&error, ApplyError::Database(why) if why.kind() == ErrorKind::ResourceInUse);
        format!("{error}{}", way_out(is_in_use))
    })?;
    let db = runs_model::Runs::apply_to(&database)?.shared();
    let runs = Runs::new(app.clone(), cli.files.clone(), db, cli.run_every);
    let done = command(cli, &app, &runs).await;
    runs.stop().await;
    router.stop().await;
    done
}

async fn command(cli: Cli, app: &App, runs: &Arc<Runs>) -> Result<(), Box<dyn Error>> {
    let swept = app.sweep().await?;
    if swept > 0 {
        tracing::info!(swept, "removed layers of a run that was cut off");
    }
    if cli.command != Command::Serve {
        run(runs, cli.force).await?;
    }
    if cli.command == Command::Demo {
        tracing::info!("once more: there should be nothing to do");
        run(runs, Force::default()).await?;
    }
    if cli.command != Command::Run {
        serve(Arc::clone(runs), cli).await?;
    }
    Ok(())
}

impl Cli {
    fn objects(&self) -> Result<Objects, String> {
        let below = self.database.files("klayers").join("layers");
        let place = self.layers.clone().unwrap_or(below.display().to_string());
        Objects::open(&place, self.s3_endpoint.as_deref()).map_err(|error| format!("--layers: {error}"))
    }

    fn index(&self) -> Arc<dyn PackageIndex> {
        let list = self.files.clone();
        match (self.index, self.command) {
            (Some(Index::List), _) | (None, Command::Demo) => Arc::new(list),
            (index, _) => Arc::new(Pip::at(&self.pip, index.is_none().then_some(list))),
        }
    }
}

async fn run(runs: &Runs, force: Force) -> Result<(), Box<dyn Error>> {
    let done = runs.run(force).await;
    match (done.deployed + done.unchanged, done.failed.len()) {
        (0, 0) => Err("the lists name nothing to deploy: see --packages, --regions and --pythons".into()),
        (_, 0) => Ok(()),
        _ => Err("not everything was deployed; the next run tries again".into()),
    }
}

async fn serve(runs: Arc<Runs>, cli: Cli) -> Result<(), Box<dyn Error>> {
    let listener = Loopback::listen(cli.port).await?;
    let url = listener.url();
    runs.start().await;
    tracing::info!("{url}/openapi.json says what there is; end with Ctrl-C");
    writeln!(std::io::stdout(), "klayers serves {url}")?;
    let routes = http::routes(http::Service {
        runs,
        token: cli.token,
        base_url: cli.base_url.map(|url| url.trim_end_matches('/').to_owned()),
    });
    Ok(listener.serve(routes).await?)
}
