//! The `manhunt` binary.

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser};
use lettre::message::Mailbox;
use manhunt::channel::{Channels, Email, Twilio, Webhook};
use manhunt::{Service, Settings, api, demo};
use trestle::app::{self, DatabaseFlags, Loopback};
use trestle::{Embedded, Options};

/// Finds a person by trying their contact methods one after another.
#[derive(Parser)]
#[command(name = "manhunt", version)]
enum Cli {
    /// Serves the API and the page.
    Serve {
        #[command(flatten)]
        database: DatabaseFlags,
        #[command(flatten)]
        door: Door,
    },
    /// Serves sample data in memory, with a search under way.
    Demo(Door),
}

#[derive(Args)]
struct Door {
    /// The port on this machine; 0 takes a free one.
    #[arg(long, default_value_t = 8060)]
    port: u16,
    /// What links in messages begin with; this server unless given.
    #[arg(long)]
    base_url: Option<String>,
    /// How long links in messages are valid.
    #[arg(long, default_value_t = 24)]
    link_hours: u64,
    /// The administrator's key. With it, every request needs a key; without, the API is open to this machine.
    #[arg(long, env = "MANHUNT_ADMIN_KEY", hide_env_values = true, value_parser = NonEmptyStringValueParser::new())]
    admin_key: Option<String>,
    /// The SMTP server: smtps://user:password@host, smtp://user:password@host?tls=required, or host:port of a relay without
    /// encryption. Without one, mail goes to the log.
    #[arg(long, env = "MANHUNT_SMTP", hide_env_values = true)]
    smtp: Option<String>,
    /// The sender of mail.
    #[arg(long, default_value = "manhunt@localhost")]
    from: Mailbox,
    /// The account that sends texts and makes calls: https://SID:TOKEN@api.twilio.com?from=15550100. Without one, they go to the
    /// log.
    #[arg(long, env = "MANHUNT_TWILIO", hide_env_values = true)]
    twilio: Option<String>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // The search that cannot continue is part of the demonstration.
    let quiet = matches!(cli, Cli::Demo(_)).then_some("info,trestle_queue::worker=error");
    app::run(quiet.unwrap_or("info"), serve(cli))
}

async fn serve(cli: Cli) -> Result<(), Box<dyn Error>> {
    let (is_demo, options) = (matches!(cli, Cli::Demo(_)), Options::default());
    let (database, door) = match cli {
        Cli::Serve { database, door } => (database.open("manhunt", database.files("manhunt"))?, door),
        Cli::Demo(door) => (Embedded::in_memory(options)?.into(), door),
    };
    let listener = Loopback::listen(door.port).await?;
    let url = listener.url();
    let telephone = door.twilio.map(|url| Twilio::new(&url).map(Arc::new));
    let telephone = telephone.transpose()?;
    let base_url = door.base_url.unwrap_or_else(|| url.clone());
    let settings = Settings {
        base_url: base_url.trim_end_matches('/').to_owned(),
        link_life: Duration::from_secs(door.link_hours.saturating_mul(3600)),
        admin_key: door.admin_key,
        telephone: telephone.clone(),
    };
    let email = door.smtp.map(|server| Email::new(&server, door.from));
    let channels = Channels {
        email: email.transpose()?,
        telephone,
        webhook: Webhook::new()?,
    };
    let running = Service::start(&database, Arc::new(channels), settings).await?;
    let mut out = std::io::stdout();
    if is_demo {
        let search = demo::begin(&running.service).await?.search_id;
        writeln!(out, "A search is under way; watch it, and answer for Zavier:")?;
        writeln!(out, "  {url}/#/{}/searches/{search}", demo::DOMAIN)?;
    } else {
        writeln!(out, "manhunt serves {url}")?;
    }
    listener.serve(api::router(running.service.clone())).await?;
    running.service.end_waiting();
    running.stop().await;
    Ok(())
}
