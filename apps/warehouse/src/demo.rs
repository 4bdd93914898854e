//! Sample packages that are published, built, promoted and rolled back.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::{Dir, include_dir};
use serde::Deserialize;

use crate::{Env, Error, File, JOBS, Publication, Result, Service, Spec};

/// Folders of packages, and `steps.json`: the steps of the demonstration.
static SAMPLE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/sample");
/// How often to check whether everything is built. Real time, because workers need it.
const LOOK: Duration = Duration::from_millis(20);

/// A step of the demonstration.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Step {
    Publish(String),
    Promote(Spec),
    Rollback(String, Env),
}

/// Executes every step, and prints the result.
pub async fn run(service: &Service, out: &mut impl Write) -> Result<()> {
    let sample = tempfile::tempdir()?;
    SAMPLE.extract(sample.path())?;
    let steps: Vec<Step> = serde_json::from_slice(&fs::read(sample.path().join("steps.json"))?)?;
    for step in steps {
        let told = match step {
            Step::Publish(folder) => {
                let publication = packed(&sample.path().join(folder))?;
                service.publish(&publication).await?;
                format!("published {}@{}", publication.name, publication.version)
            }
            Step::Promote(spec) => {
                service.promote(&spec, None, true).await?;
                format!("promoted {spec}, and its dependents")
            }
            Step::Rollback(name, env) => {
                let version = service.rollback(&name, env, None).await?;
                format!("rolled {name} back to {version} in {env}, and its dependents")
            }
        };
        settle(service).await?;
        writeln!(out, "{told}")?;
    }
    table(service, out).await
}

/// The versions that each environment uses.
async fn table(service: &Service, out: &mut impl Write) -> Result<()> {
    writeln!(out, "\n{:16}{:>10}{:>10}{:>10}", "in use", "dev", "test", "prod")?;
    for package in service.db.packages().collect().await? {
        write!(out, "{:16}", package.name)?;
        for env in Env::ALL {
            let release = service.db.release(&package.name, *env).await?;
            let version = release.map_or("-".to_owned(), |release| release.version.to_string());
            write!(out, "{version:>10}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// The package in a folder, in the form that npm would publish.
fn packed(folder: &Path) -> Result<Publication> {
    let manifest = serde_json::from_slice(&fs::read(folder.join("package.json"))?)?;
    let mut tarball = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    tarball.append_dir_all("package", folder)?;
    let (name, content) = ("package.tgz".to_owned(), tarball.into_inner()?.finish()?);
    Publication::new(manifest, vec![File { name, content }])
}

/// Waits until no job waits or runs.
async fn settle(service: &Service) -> Result<()> {
    while service.queues.counts(JOBS).await?.total() > 0 {
        if !service.queues.given_up(JOBS, 1).await?.is_empty() {
            return Err(Error::failed("a job was given up; the log says why"));
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}
