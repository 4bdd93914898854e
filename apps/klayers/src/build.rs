//! Building: a new version whenever the requirements of a package have changed.

use sha2::{Digest, Sha256};

use crate::model::{Build, LatestBuildWhere, NewBuild};
use crate::{App, Error, Release};

/// The newest build of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The package.
    pub package: String,
    /// The version of Python.
    pub python: String,
    /// The number of the build.
    pub number: i64,
    /// What it is made of.
    pub release: Release,
    /// The hash of its requirements.
    pub hash: String,
    /// Whether it was built just now.
    pub is_new: bool,
}

impl App {
    /// Builds the newest release of a package, unless that is the newest build already.
    pub async fn build(&self, package: &str, python: &str) -> Result<Built, Error> {
        let release = self.index.latest(package, python)?;
        let newest = LatestBuildWhere {
            python_version: python,
            package,
        };
        let newest = self.db.latest_build(newest).consistent().await?;
        let newest = newest.map_or((0, None), |build| (build.blt_vrsn, build.rqrmnts_hsh));
        let mut build = Built {
            package: package.to_owned(),
            python: python.to_owned(),
            number: newest.0,
            hash: hash(&release.requirements),
            release,
            is_new: false,
        };
        if newest.1.as_ref() != Some(&build.hash) {
            build.number += 1;
            build.is_new = self.record(&build).await?;
        }
        Ok(build)
    }

    /// Says whether it was us: of those who find a release new at the same time, one takes the number.
    async fn record(&self, build: &Built) -> Result<bool, Error> {
        let row = Build {
            pckg_vrsn: Some(build.release.version.clone()),
            rqrmnts_txt: Some(build.release.requirements.clone()),
            rqrmnts_hsh: Some(build.hash.clone()),
            crtd_dt: Some(self.db.now().to_string()),
            ..NewBuild {
                blt_vrsn: build.number,
                py_vrsn: build.python.clone(),
                pckg: build.package.clone(),
            }
            .into()
        };
        match self.db.put(&row).if_not_exists().await {
            Err(error) if error.is_condition() => Ok(false),
            done => Ok(done.map(|()| true)?),
        }
    }
}

fn hash(requirements: &str) -> String {
    let digest = Sha256::digest(requirements.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
