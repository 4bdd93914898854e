//! Creates a table in the layout for a single version of Python, so that the next `klayers serve` migrates
//! it.
//!
//! ```sh
//! cargo run -p trestle-app-klayers --example first_layout -- --data trestle-data/klayers
//! ```

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use futures_util::stream::{self, StreamExt as _, TryStreamExt as _};
use klayers::model::ConfigKind;
use klayers::{ACCOUNT, Bucket, Files, LayerArn, LayerStore as _, PackageIndex as _, Release, package_of};
use trestle::app::{self, Objects, fingerprint};
use trestle::{Embedded, Options};

/// The rows of the first layout.
mod v1 {
    trestle::model!("klayers-v1.toml");
}

/// Two versions of every package in every region, in the first layout, and their layers
#[derive(Parser)]
struct Cli {
    /// Directory of the table; made if it is missing
    #[arg(long, default_value = "trestle-data/klayers")]
    data: PathBuf,
    #[command(flatten)]
    files: Files,
}

/// The only version of Python of the first layout.
const PYTHON: &str = "p3.8";
/// Versions of each layer.
const VERSIONS: i64 = 2;
/// Layers that are stored at once: concurrent writes commit together.
const LAYERS_AT_ONCE: usize = 64;

fn main() -> ExitCode {
    app::run("info", make(Cli::parse()))
}

async fn make(Cli { data, files }: Cli) -> Result<(), Box<dyn Error>> {
    let database = Embedded::open(data.join("table"), Options::default())?;
    let db = v1::Klayers::apply_to(&database)?;
    let objects = Objects::directory(&data.join("layers"))?;
    let layers = Bucket::of_table(objects, ACCOUNT, &database).await?;
    let (index, regions) = (files.index()?, files.list(ConfigKind::Rgns, PYTHON)?);
    let mut made = 0;
    for number in 1..=VERSIONS {
        let mut units = Vec::new();
        for wanted in index.packages() {
            let mut release = index.latest(&wanted)?;
            if number < VERSIONS {
                release.version = format!("0.{number}");
                release.requirements = format!("{}=={}", package_of(&wanted), release.version);
            }
            let package = package_of(&wanted).to_owned();
            db.put(&build(&package, number, &release)).await?;
            let regions = regions.iter();
            units.extend(regions.map(|region| (region, package.clone(), release.clone())));
        }
        made += units.len();
        let deploy = async |(region, package, release): (&String, String, Release)| {
            let name = LayerArn::layer_name(&package, PYTHON);
            let content = files.layer(&release, PYTHON).await?;
            let arn = layers.publish(region, &name, number - 1, content).await?;
            let put = db.put(&layer(&arn, &package, &release)).if_not_exists().await;
            put.map_err(klayers::Error::from)
        };
        let deploys = stream::iter(units).map(deploy).buffer_unordered(LAYERS_AT_ONCE);
        deploys.try_collect::<Vec<()>>().await?;
    }
    tracing::info!("made {made} layers of the first layout; `klayers serve` moves them to the present one");
    Ok(())
}

fn build(package: &str, number: i64, release: &Release) -> v1::Build {
    v1::Build {
        pckg_vrsn: Some(release.version.clone()),
        rqrmnts_txt: Some(release.requirements.clone()),
        rqrmnts_hsh: Some(fingerprint(release.requirements.as_bytes())),
        ..v1::NewBuild {
            blt_vrsn: number,
            pckg: package.to_owned(),
        }
        .into()
    }
}

fn layer(arn: &LayerArn, package: &str, release: &Release) -> v1::Layer {
    v1::Layer {
        rqrmnts_txt: Some(release.requirements.clone()),
        rqrmnts_hsh: Some(fingerprint(release.requirements.as_bytes())),
        ..v1::NewLayer {
            rgn: arn.region.clone(),
            pckg: package.to_owned(),
            lyr_vrsn: arn.version,
            arn: arn.to_string(),
            pckg_vrsn: release.version.clone(),
        }
        .into()
    }
}
