//! The `warehouse` binary.

use std::error::Error;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser};
use trestle::app::{self, DatabaseFlags, Loopback, PublicFiles, Webhooks};
use trestle::{Embedded, Options};
use warehouse::{Service, Setup, api, bundler, demo};

/// A registry of npm packages that builds them for environments and locales.
#[derive(Parser)]
#[command(name = "warehouse", version)]
enum Cli {
    /// Serve the registry, the API and the page
    Serve {
        #[command(flatten)]
        database: DatabaseFlags,
        #[command(flatten)]
        door: Door,
    },
    /// Serve sample packages that are built, promoted and rolled back, and that are gone afterwards
    Demo(Door),
}

#[derive(Args)]
struct Door {
    /// The port on this machine; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Where built files are: a directory, or s3://BUCKET/PREFIX with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
    /// and AWS_REGION from the environment [default: DATA/assets]
    #[arg(long)]
    assets: Option<String>,
    /// What to call instead of AWS for s3://
    #[arg(long, value_name = "URL", requires = "assets")]
    s3_endpoint: Option<String>,
    /// What URLs of built files begin with [default: /cdn of this server]
    #[arg(long, value_name = "URL")]
    cdn_url: Option<String>,
    /// What URLs of tarballs begin with [default: this server]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The program esbuild. Without it, it is looked for in node_modules and on the PATH; packages are packed as they are if there
    /// is none
    #[arg(long, value_name = "FILE")]
    esbuild: Option<PathBuf>,
    /// Post build_started and build_completed to a URL, for all packages or as PACKAGE=URL; may be given more than once
    #[arg(long, value_name = "[PACKAGE=]URL")]
    webhook: Vec<String>,
    /// Builds at once
    #[arg(long, default_value_t = 4)]
    builds_at_once: usize,
}

fn main() -> ExitCode {
    app::run("info", serve(Cli::parse()))
}

async fn serve(cli: Cli) -> Result<(), Box<dyn Error>> {
    let (is_demo, options) = (matches!(cli, Cli::Demo(_)), Options::default());
    // The demonstration's files are removed with it.
    let temporary = tempfile::tempdir()?;
    let folder = temporary.path().to_owned();
    let ((database, data), door) = match cli {
        Cli::Serve { database, door } => (database.open_with_files("warehouse")?, door),
        Cli::Demo(door) => ((Embedded::in_memory(options)?.into(), folder), door),
    };
    let listener = Loopback::listen(door.port).await?;
    let url = listener.url();
    let setup = door.setup(&url, data)?;
    let running = Service::start(&database, setup).await?;
    let router = api::router(Arc::clone(&running.service));
    // Builds are verified by this server: it answers before the sample packages are published.
    let begin = async {
        let mut out = std::io::stdout();
        if is_demo {
            demo::run(&running.service, &mut out).await?;
        }
        Ok::<_, Box<dyn Error>>(writeln!(out, "warehouse serves {url}")?)
    };
    listener.serve_while(begin, router).await?;
    running.stop().await;
    Ok(())
}

impl Door {
    fn setup(&self, url: &str, data: PathBuf) -> Result<Setup, Box<dyn Error>> {
        let assets = data.join("assets").to_string_lossy().into_owned();
        let assets = self.assets.as_deref().unwrap_or(&assets);
        let cdn_url = self.cdn_url.clone().unwrap_or_else(|| format!("{url}/cdn"));
        let assets = PublicFiles::open(assets, self.s3_endpoint.as_deref(), &cdn_url);
        Ok(Setup {
            assets: assets.map_err(|error| format!("--assets: {error}"))?,
            bundler: bundler(self.esbuild.clone()),
            hooks: Webhooks::new(self.webhook.iter().map(String::as_str))?,
            base_url: self.base_url.clone().unwrap_or_else(|| url.to_owned()),
            builds_at_once: self.builds_at_once,
        })
    }
}
