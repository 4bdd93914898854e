//! Building: a new version whenever the requirements of a package have changed.

use sha2::{Digest, Sha256};

use crate::model::{Build, BuildHead, LatestBuildWhere, NewBuild};
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
        let hash = hash(&release.requirements);
        let newest = self.newest_build(package, python).await?;
        let number = newest.as_ref().map_or(0, |build| build.blt_vrsn) + 1;
        if let Some(same) = newest.filter(|build| build.rqrmnts_hsh.as_deref() == Some(&hash)) {
            return Ok(found(same));
        }
        let build = Build {
            pckg_vrsn: Some(release.version.clone()),
            rqrmnts_txt: Some(release.requirements.clone()),
            rqrmnts_hsh: Some(hash.clone()),
            crtd_dt: Some(self.now()),
            ..NewBuild {
                blt_vrsn: number,
                py_vrsn: python.to_owned(),
                pckg: package.to_owned(),
            }
            .into()
        };
        match self.db.put(&build).if_not_exists().await {
            Ok(()) => {}
            // Somebody else took the number; theirs is the newest now.
            Err(error) if error.is_condition() => {
                let newest = self.newest_build(package, python).await?;
                return newest.map(found).ok_or(Error::Database(error));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(Built {
            package: build.pckg,
            python: build.py_vrsn,
            number,
            release,
            hash,
            is_new: true,
        })
    }

    async fn newest_build(&self, package: &str, python: &str) -> Result<Option<BuildHead>, Error> {
        let newest = LatestBuildWhere {
            python_version: python,
            package,
        };
        Ok(self.db.latest_build(newest).consistent().await?)
    }
}

fn found(build: BuildHead) -> Built {
    Built {
        package: build.pckg,
        python: build.py_vrsn,
        number: build.blt_vrsn,
        release: Release {
            version: build.pckg_vrsn.unwrap_or_default(),
            requirements: build.rqrmnts_txt.unwrap_or_default(),
        },
        hash: build.rqrmnts_hsh.unwrap_or_default(),
        is_new: false,
    }
}

fn hash(requirements: &str) -> String {
    let digest = Sha256::digest(requirements.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
