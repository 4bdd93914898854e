//! The lists that control the pipeline: in files, and from there in the table.

use std::fs;
use std::path::{Path, PathBuf};

use async_trait::async_trait;
use axum::body::Bytes;
use clap::Args;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use trestle::AttributeValue;

use crate::archive::zip;
use crate::index::Line;
use crate::layers::is_name;
use crate::model::{Config, ConfigKind, NewConfig};
use crate::python::python_name;
use crate::{App, CsvIndex, Error, PackageIndex, Release};

/// The version of Python of the API's first version.
pub(crate) const V1_PYTHON: &str = "p3.8";

/// The scope of lists that are the same for all versions of Python.
pub(crate) const ALL: &str = "all";

/// The sources of the lists.
#[derive(Args, Clone, Debug, Default)]
pub struct Files {
    /// Packages to build, as CSV: package, version, requires; or Package_Name, License
    #[arg(long)]
    pub packages: Option<PathBuf>,
    /// Regions to deploy to, as CSV: region; or Code, Name
    #[arg(long)]
    pub regions: Option<PathBuf>,
    /// Versions of Python to build for: p3.12 for x86_64, p3.12-arm64 for arm64
    #[arg(long, value_delimiter = ',', default_values = [V1_PYTHON, "p3.12"], value_parser = python_name)]
    pub pythons: Vec<String>,
}

#[derive(Deserialize)]
struct Region {
    #[serde(alias = "Code")]
    region: String,
}

impl Files {
    /// The packages with their versions, as the file has them now.
    pub fn index(&self) -> Result<CsvIndex, Error> {
        let file = self.packages.as_deref();
        let lines: Vec<Line> = lines(file, include_str!("../packages.csv"))?;
        CsvIndex::of(lines).map_err(|why| named(file, why))
    }

    /// A list for a version of Python, as the files have it now.
    pub fn list(&self, kind: ConfigKind, python: &str) -> Result<Vec<String>, Error> {
        Ok(match kind {
            ConfigKind::PyVrsns => self.pythons.clone(),
            ConfigKind::Rgns => {
                let file = self.regions.as_deref();
                let regions: Vec<Region> = lines(file, include_str!("../regions.csv"))?;
                let regions: Vec<String> = regions.into_iter().map(|line| line.region).collect();
                let refused = |wrong| Err(named(file, format!("`{wrong}` is no region")));
                let wrong = regions.iter().find(|region| !is_name(region));
                wrong.map_or(Ok(()), refused)?;
                regions
            }
            ConfigKind::Pckgs if self.pythons.iter().any(|known| known == python) => self.index()?.packages(),
            ConfigKind::Pckgs => Vec::new(),
        })
    }
}

/// Without a network: the versions in the file, and layers that only name their requirements.
#[async_trait]
impl PackageIndex for Files {
    async fn latest(&self, wanted: &str, _python: &str) -> Result<Release, Error> {
        self.index()?.latest(wanted)
    }

    async fn layer(&self, release: &Release, _python: &str) -> Result<Bytes, Error> {
        let content = format!("{}\n", release.requirements).into();
        Ok(zip(&[("python/requirements.txt".to_owned(), content)])?)
    }
}

/// The lines of a file, or of the bundled list without one. Errors name the file.
fn lines<L: DeserializeOwned>(file: Option<&Path>, otherwise: &str) -> Result<Vec<L>, Error> {
    let text = match file {
        Some(file) => fs::read_to_string(file).map_err(|error| named(Some(file), error.to_string()))?,
        None => otherwise.to_owned(),
    };
    let mut csv = csv::ReaderBuilder::new();
    let mut lines = csv.trim(csv::Trim::All).from_reader(text.as_bytes());
    let lines: Result<Vec<L>, csv::Error> = lines.deserialize().collect();
    lines.map_err(|error| named(file, error.to_string()))
}

fn named(file: Option<&Path>, why: String) -> Error {
    let file = file.unwrap_or(Path::new("the list that comes along"));
    Error::List(format!("{}: {why}", file.display()))
}

impl App {
    /// Writes the lists of the files to the table, where they differ from the stored ones. Returns how many
    /// did.
    pub async fn load_config(&self, files: &Files) -> Result<usize, Error> {
        let all = [(ConfigKind::PyVrsns, ALL), (ConfigKind::Rgns, ALL)].into_iter();
        let pythons = files.pythons.iter();
        let packages = pythons.map(|python| (ConfigKind::Pckgs, python.as_str()));
        let mut changed = 0;
        for (kind, scope) in all.chain(packages) {
            let list = files.list(kind, scope)?;
            if self.list(kind, scope).await? != list {
                changed += 1;
                let scope = scope.to_owned();
                let config = Config {
                    cnfg: Some(list.into_iter().map(AttributeValue::S).collect()),
                    ..NewConfig { kind, scope }.into()
                };
                self.db.put(&config).await?;
            }
        }
        Ok(changed)
    }

    /// A list of the table, for a version of Python; empty if there is none.
    pub async fn list(&self, kind: ConfigKind, python: &str) -> Result<Vec<String>, Error> {
        let scope = if kind == ConfigKind::Pckgs { python } else { ALL };
        let config = self.db.config(kind, scope).await?;
        let list = config.and_then(|config| config.cnfg).unwrap_or_default();
        let texts = list.iter().filter_map(AttributeValue::as_s);
        Ok(texts.map(str::to_owned).collect())
    }
}
