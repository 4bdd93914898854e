//! Sample packages that are published, built, promoted and rolled back.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Deserialize;
use serde_json::{Map, Value};
use trestle::typed::Version;

use crate::publication::parse_version;
use crate::{ENVS, Env, Error, JOBS, Publication, Result, Service, Spec};

const SAMPLE: &str = include_str!("../sample.json");
/// How often to look whether everything is built. Real time: workers take it.
const LOOK: Duration = Duration::from_millis(20);

/// A step of the demonstration.
#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    Publish {
        publish: Map<String, Value>,
        files: BTreeMap<String, String>,
    },
    Promote {
        promote: String,
        version: Version,
        env: Env,
    },
    Rollback {
        rollback: String,
        env: Env,
    },
}

/// Carries out every step, and says what became of it.
pub async fn run(service: &Service, out: &mut impl Write) -> Result<()> {
    let steps: Vec<Step> = serde_json::from_str(SAMPLE)?;
    for step in steps {
        let told = match step {
            Step::Publish { publish, files } => {
                let publication = publication(publish, &files)?;
                service.publish(&publication).await?;
                format!("published {}@{}", publication.name, publication.version)
            }
            Step::Promote {
                promote,
                version,
                env,
            } => {
                let spec = Spec::new(promote, env, version);
                service.promote(&spec, None, true).await?;
                format!("promoted {spec}, and its dependents")
            }
            Step::Rollback { rollback, env } => {
                let version = service.rollback(&rollback, env, None).await?;
                format!("rolled {rollback} back to {version} in {env}, and its dependents")
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
        for env in ENVS {
            let release = service.head(&package.name, env).await?.release;
            let version = release.map_or("-".to_owned(), |release| release.version.to_string());
            write!(out, "{version:>10}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// A package of files in memory, as npm would publish it.
pub fn publication(manifest: Map<String, Value>, files: &BTreeMap<String, String>) -> Result<Publication> {
    let text = |key: &str| {
        manifest
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let (name, version) = (text("name"), parse_version(&text("version"))?);
    let json = Value::Object(manifest.clone()).to_string();
    let json = ("package.json", json.as_str());
    let files = files
        .iter()
        .map(|(name, content)| (name.as_str(), content.as_str()));
    let tarball = tarball(files.chain([json]))?;
    Ok(Publication {
        tags: BTreeMap::from([("latest".to_owned(), version.clone())]),
        files: vec![(format!("{name}-{version}.tgz"), tarball)],
        name,
        version,
        manifest,
    })
}

fn tarball<'f>(files: impl Iterator<Item = (&'f str, &'f str)>) -> io::Result<Vec<u8>> {
    let mut tarball = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tarball.append_data(&mut header, format!("package/{name}"), content.as_bytes())?;
    }
    tarball.into_inner()?.finish()
}

/// Waits until no job waits or is under way.
async fn settle(service: &Service) -> Result<()> {
    loop {
        let counts = service.queues.counts(JOBS).await?;
        if counts.total() == 0 {
            return Ok(());
        }
        if !service.queues.given_up(JOBS, 1).await?.is_empty() {
            return Err(Error::failed("a job was given up; the log says why"));
        }
        tokio::time::sleep(LOOK).await;
    }
}
