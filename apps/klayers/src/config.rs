//! The lists that steer the pipeline: in files, and from there in the table.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Args;
use clap::builder::NonEmptyStringValueParser as NotEmpty;
use serde::de::DeserializeOwned;
use trestle::AttributeValue;

use crate::model::{Config, ConfigKind, NewConfig};
use crate::{App, CsvIndex, Error};

/// The version of Python that the first version of the API is about.
pub(crate) const V1_PYTHON: &str = "p3.8";

/// The scope of lists that do not differ between versions of Python.
pub(crate) const ALL: &str = "all";

/// Where the lists come from.
#[derive(Args, Clone, Debug, Default)]
pub struct Files {
    /// Packages to build, as CSV: package, version, requires
    #[arg(long)]
    pub packages: Option<PathBuf>,
    /// Regions to deploy to, as CSV: region
    #[arg(long)]
    pub regions: Option<PathBuf>,
    /// Versions of Python to build for
    #[arg(long, value_delimiter = ',', default_values = [V1_PYTHON, "p3.12"], value_parser = NotEmpty::new())]
    pub pythons: Vec<String>,
}

impl Files {
    /// The package index.
    pub fn index(&self) -> Result<CsvIndex, Error> {
        let lines = lines(self.packages.as_deref(), include_str!("../packages.csv"))?;
        Ok(CsvIndex::of(lines))
    }

    /// A list for a version of Python, as the files have it at this moment.
    pub fn list(&self, kind: ConfigKind, python: &str) -> Result<Vec<String>, Error> {
        Ok(match kind {
            ConfigKind::PyVrsns => self.pythons.clone(),
            ConfigKind::Rgns => lines(self.regions.as_deref(), include_str!("../regions.csv"))?,
            ConfigKind::Pckgs if self.pythons.iter().any(|known| known == python) => self.index()?.packages(),
            ConfigKind::Pckgs => Vec::new(),
        })
    }
}

/// The lines of a file; without one, of what comes along. Whatever is wrong with the file, the error names it.
fn lines<L: DeserializeOwned>(file: Option<&Path>, otherwise: &str) -> Result<Vec<L>, csv::Error> {
    let read = |text: &str| {
        let mut csv = csv::ReaderBuilder::new();
        let mut lines = csv.trim(csv::Trim::All).from_reader(text.as_bytes());
        lines.deserialize().collect()
    };
    let Some(file) = file else {
        return read(otherwise);
    };
    let text = fs::read_to_string(file).map_err(csv::Error::from);
    text.and_then(|text| read(&text))
        .map_err(|error| io::Error::other(format!("{}: {error}", file.display())).into())
}

impl App {
    /// Writes the lists of the files to the table, as far as they differ from what is there. Says how many did.
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
