//! The `manhunt` binary.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use axum::http::uri::Authority;
use clap::{Args, Parser};
use lettre::message::Mailbox;
use manhunt::channel::{Channels, Email, Webhook};
use manhunt::{Service, api, demo};
use trestle::app::{self, Loopback};
use trestle::{Embedded, Options};

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

fn main() -> ExitCode {
    app::run("info", serve(Cli::parse()))
}

async fn serve(cli: Cli) -> Result<(), Box<dyn Error>> {
    let (is_demo, options) = (matches!(cli, Cli::Demo(_)), Options::default());
    let (database, door) = match cli {
        Cli::Serve { data, door } => (Embedded::open(&data, options)?, door),
        Cli::Demo(door) => (Embedded::in_memory(options)?, door),
    };
    let listener = Loopback::listen(door.port).await?;
    let url = listener.url();
    let email = door.smtp.map(|server| Email::new(&server, door.from));
    let webhook = Webhook::new()?;
    let base_url = door.base_url.unwrap_or_else(|| url.clone());
    let running = Service::start(&database, Arc::new(Channels::new(email, webhook)), base_url).await?;
    let mut out = std::io::stdout();
    if is_demo {
        let search = demo::begin(&running.service).await?.search_id;
        writeln!(out, "A search is under way; watch it, and answer for Zavier:")?;
        writeln!(out, "  {url}/#/{}/{search}", demo::DOMAIN)?;
    } else {
        writeln!(out, "manhunt serves {url}")?;
    }
    listener.serve(api::router(running.service.clone())).await?;
    running.stop().await;
    Ok(())
}
