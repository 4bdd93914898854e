//! The lists that steer the pipeline: in files, and from there in the table.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Args;
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
    #[arg(long, value_delimiter = ',', default_values = [V1_PYTHON, "p3.12"])]
    pub pythons: Vec<String>,
}

/// The lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// The packages to build.
    pub packages: Vec<String>,
    /// The regions to deploy to.
    pub regions: Vec<String>,
    /// The versions of Python that there are layers for.
    pub pythons: Vec<String>,
}

impl Files {
    /// The package index.
    pub fn index(&self) -> Result<CsvIndex, Error> {
        CsvIndex::read(&text(self.packages.as_deref(), include_str!("../packages.csv"))?)
    }

    /// The lists, as the files say at this moment.
    pub fn lists(&self) -> Result<Lists, Error> {
        let regions = text(self.regions.as_deref(), include_str!("../regions.csv"))?;
        let mut regions = csv::ReaderBuilder::new()
            .trim(csv::Trim::All)
            .from_reader(regions.as_bytes());
        Ok(Lists {
            packages: self.index()?.packages(),
            regions: regions.deserialize().collect::<Result<_, _>>()?,
            pythons: self.pythons.clone(),
        })
    }
}

/// A file; without one, what comes along.
fn text(path: Option<&Path>, otherwise: &str) -> Result<String, csv::Error> {
    let Some(path) = path else {
        return Ok(otherwise.to_owned());
    };
    let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
    Ok(fs::read_to_string(path).map_err(named)?)
}

impl Lists {
    /// The list of this kind, for a version of Python.
    #[must_use]
    pub fn list(&self, kind: ConfigKind, python: &str) -> &[String] {
        match kind {
            ConfigKind::PyVrsns => &self.pythons,
            ConfigKind::Rgns => &self.regions,
            ConfigKind::Pckgs if self.pythons.iter().any(|known| known == python) => &self.packages,
            ConfigKind::Pckgs => &[],
        }
    }
}

impl App {
    /// Writes the lists to the table, as far as they differ from what is there.
    pub async fn load_config(&self, lists: &Lists) -> Result<(), Error> {
        let all = [(ConfigKind::PyVrsns, ALL), (ConfigKind::Rgns, ALL)].into_iter();
        let packages = lists
            .pythons
            .iter()
            .map(|python| (ConfigKind::Pckgs, python.as_str()));
        for (kind, scope) in all.chain(packages) {
            let list = lists.list(kind, scope).iter();
            let new = NewConfig {
                kind,
                scope: scope.to_owned(),
            };
            let config = Config {
                cnfg: Some(list.map(|text| AttributeValue::from(text.as_str())).collect()),
                ..new.into()
            };
            if self.db.get(&config).await?.as_ref() != Some(&config) {
                self.db.put(&config).await?;
            }
        }
        Ok(())
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
