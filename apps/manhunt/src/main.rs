//! The `manhunt` binary.

use std::error::Error;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use manhunt::channel::{Channels, Email};
use manhunt::{Service, api, demo};
use tokio::net::TcpListener;
use trestle::{Engine, Options, StoreSettings};

/// Finds a person by trying their contact methods one after another.
#[derive(Parser)]
#[command(name = "manhunt", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serves the API and the page from a directory.
    Serve {
        /// Where the data is; made if it is missing.
        #[arg(long)]
        data: PathBuf,
        #[command(flatten)]
        door: Door,
    },
    /// Serves sample data that nobody keeps, with a search under way.
    Demo {
        #[command(flatten)]
        door: Door,
    },
}

#[derive(Args)]
struct Door {
    /// The port on this machine.
    #[arg(long, default_value_t = 8060)]
    port: u16,
    /// The SMTP server for mail, as host:port. Without one, mail goes to the log.
    #[arg(long)]
    smtp: Option<String>,
    /// The sender of mail.
    #[arg(long, default_value = "manhunt@localhost")]
    from: String,
    /// What links in messages begin with; this server unless given.
    #[arg(long)]
    base_url: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).init();
    match Cli::parse().command {
        Command::Serve { data, door } => {
            let engine = Engine::open(&data, StoreSettings::default(), Options::default())?;
            serve(engine, door, false).await
        }
        Command::Demo { door } => serve(Engine::in_memory(Options::default())?, door, true).await,
    }
}

async fn serve(engine: Engine, door: Door, is_demo: bool) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, door.port))).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let email = match &door.smtp {
        Some(server) => Some(Email::new(server, &door.from)?),
        None => None,
    };
    let base_url = door.base_url.unwrap_or_else(|| url.clone());
    let running = Service::start(&engine, Channels::new(email), base_url).await?;
    let mut out = std::io::stdout();
    match is_demo {
        true => {
            let search = demo::begin(&running.service).await?;
            let id = &search.search_id;
            writeln!(out, "A search is under way; watch it, and answer for Zavier:")?;
            writeln!(out, "  {url}/#/{}/{id}", demo::DOMAIN)?;
        }
        false => writeln!(out, "manhunt serves {url}")?,
    }
    axum::serve(listener, api::router(running.service.clone()))
        .with_graceful_shutdown(async {
            // Without a signal to wait for, the server just goes on.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        })
        .await?;
    running.stop().await;
    Ok(())
}
