//! The lists that steer the pipeline, kept in the table.

use trestle::AttributeValue;

use crate::model::{Config, ConfigKind, NewConfig};
use crate::{App, Error};

/// The scope of lists that do not differ between versions of Python.
const ALL: &str = "all";

impl App {
    /// Writes the lists, as far as they differ from what is there.
    pub async fn load_config(
        &self,
        pythons: &[String],
        packages: &[String],
        regions: &[String],
    ) -> Result<(), Error> {
        self.set_list(ConfigKind::PyVrsns, ALL, pythons).await?;
        self.set_list(ConfigKind::Rgns, ALL, regions).await?;
        for python in pythons {
            self.set_list(ConfigKind::Pckgs, python, packages).await?;
        }
        Ok(())
    }

    /// The versions of Python that there are layers for.
    pub async fn pythons(&self) -> Result<Vec<String>, Error> {
        self.list(ConfigKind::PyVrsns, ALL).await
    }

    /// The regions to deploy to.
    pub async fn regions(&self) -> Result<Vec<String>, Error> {
        self.list(ConfigKind::Rgns, ALL).await
    }

    /// The packages to build for a version of Python.
    pub async fn packages(&self, python: &str) -> Result<Vec<String>, Error> {
        self.list(ConfigKind::Pckgs, python).await
    }

    async fn list(&self, kind: ConfigKind, scope: &str) -> Result<Vec<String>, Error> {
        let config = self.db.config(kind, scope).await?;
        let list = config.and_then(|config| config.cnfg).unwrap_or_default();
        let texts = list.iter().filter_map(AttributeValue::as_s);
        Ok(texts.map(str::to_owned).collect())
    }

    async fn set_list(&self, kind: ConfigKind, scope: &str, list: &[String]) -> Result<(), Error> {
        let config = Config {
            cnfg: Some(
                list.iter()
                    .map(|text| AttributeValue::from(text.as_str()))
                    .collect(),
            ),
            ..NewConfig {
                kind,
                scope: scope.to_owned(),
            }
            .into()
        };
        if self.db.get(config.key()).await?.as_ref() != Some(&config) {
            self.db.put(&config).await?;
        }
        Ok(())
    }
}
