//! The `manhunt` binary.

use std::error::Error;
use std::io::{IsTerminal as _, Write as _};
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::http::uri::Authority;
use clap::{Args, Parser};
use lettre::message::Mailbox;
use manhunt::channel::{Channels, Email, Webhook};
use manhunt::{Service, api, demo};
use tokio::net::TcpListener;
use trestle::{Engine, Options, StoreSettings};

/// Finds a person by trying their contact methods one after another.
#[derive(Parser)]
#[command(name = "manhunt", version)]
enum Cli {
    /// Serves the API and the page from a directory.
    Serve {
        /// Where the data is; made if it is missing.
        #[arg(long)]
        data: PathBuf,
        #[command(flatten)]
        door: Door,
    },
    /// Serves sample data that nobody keeps, with a search under way.
    Demo(Door),
}

#[derive(Args)]
struct Door {
    /// The port on this machine; 0 takes a free one.
    #[arg(long, default_value_t = 8060)]
    port: u16,
    /// The SMTP server for mail, as host or host:port. Without one, mail goes to the log.
    #[arg(long)]
    smtp: Option<Authority>,
    /// The sender of mail.
    #[arg(long, default_value = "manhunt@localhost")]
    from: Mailbox,
    /// What links in messages begin with; this server unless given.
    #[arg(long)]
    base_url: Option<String>,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "info".into());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    log.with_ansi(std::io::stderr().is_terminal()).init();
    match Cli::parse() {
        Cli::Serve { data, door } => {
            let engine = Engine::open(&data, StoreSettings::default(), Options::default())?;
            serve(engine, door, false).await
        }
        Cli::Demo(door) => serve(Engine::in_memory(Options::default())?, door, true).await,
    }
}

async fn serve(engine: Engine, door: Door, is_demo: bool) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, door.port)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let email = door.smtp.map(|server| Email::new(&server, door.from));
    let webhook = Webhook::new()?;
    let base_url = door.base_url.unwrap_or_else(|| url.clone());
    let running = Service::start(&engine, Arc::new(Channels { email, webhook }), base_url).await?;
    let mut out = std::io::stdout();
    if is_demo {
        let search = demo::begin(&running.service).await?.search_id;
        writeln!(out, "A search is under way; watch it, and answer for Zavier:")?;
        writeln!(out, "  {url}/#/{}/{search}", demo::DOMAIN)?;
    } else {
        writeln!(out, "manhunt serves {url}")?;
    }
    let interrupted = async {
        // Without a signal to wait for, the server just goes on.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    axum::serve(listener, api::router(running.service.clone()))
        .with_graceful_shutdown(interrupted)
        .await?;
    running.stop().await;
    Ok(())
}
