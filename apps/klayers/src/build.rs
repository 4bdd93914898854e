//! Building: a new version whenever the requirements of a package have changed.

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use trestle::app::fingerprint;
use trestle::typed::Held as _;

use crate::licence::licence;
use crate::model::{Build, BuildHead, LatestBuildWhere, NewBuild};
use crate::{App, Error, LayerArn, Release, package_of};

/// Work that is done even if it seems to be done already.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Force {
    /// Build packages again whose requirements have not changed
    #[arg(long)]
    pub force_build: bool,
    /// Deploy builds again to regions whose latest layer has the same requirements
    #[arg(long)]
    pub force_deploy: bool,
}

/// The newest build of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The package, without extras.
    pub package: String,
    /// The version of Python.
    pub python: String,
    /// The name of its layers.
    pub layer: String,
    /// The number of the build.
    pub number: i64,
    /// Its requirements.
    pub release: Release,
    /// The hash of its requirements.
    pub hash: String,
    /// Its layer, if it had to be created.
    pub content: Option<Bytes>,
    /// Whether it was built just now.
    pub is_new: bool,
    /// Whether it is deployed even where the latest layer has the same requirements.
    pub is_forced: bool,
}

impl App {
    /// Builds the newest release of a package, unless that is the newest build already. The package may be named with extras.
    pub async fn build(&self, wanted: &str, python: &str, force: Force) -> Result<Built, Error> {
        let release = self.index.latest(wanted, python).await?;
        let package = package_of(wanted).to_owned();
        let newest = self.newest_build(&package, python).await?;
        let mut build = Built {
            layer: LayerArn::layer_name(&package, python),
            package,
            python: python.to_owned(),
            number: newest.as_ref().map_or(0, |newest| newest.blt_vrsn),
            hash: fingerprint(release.requirements.as_bytes()),
            release,
            content: None,
            is_new: false,
            is_forced: force.force_deploy,
        };
        if let Some(newest) = newest.as_ref().filter(|_| build.release.is_stand_in) {
            // The list's builds of the same requirements differ from pip's.
            let mut known = build.release.clone();
            known.requirements = newest.rqrmnts_txt.clone().unwrap_or_default();
            if newest.cd_hsh != Some(code_hash(&self.index.layer(&known, python).await?)) {
                return Err(Error::StandIn);
            }
        }
        let same = newest.filter(|newest| newest.rqrmnts_hsh.as_ref() == Some(&build.hash));
        if let Some(same) = same.filter(|_| !force.force_build) {
            build.release.licence = build.release.licence.or(same.lcns);
            return Ok(build);
        }
        let content = self.content(&build).await?;
        let licence = || licence(&build.package, &content);
        build.release.licence = build.release.licence.or_else(licence);
        build.content = Some(content);
        build.number += 1;
        build.is_new = self.record(&build).await?;
        Ok(build)
    }

    pub(crate) async fn newest_build(&self, package: &str, python: &str) -> Result<Option<BuildHead>, Error> {
        let newest = LatestBuildWhere {
            python_version: python,
            package,
        };
        Ok(self.db.latest_build(newest).consistent().await?)
    }

    /// The layer's bytes, which are created again if it was built earlier.
    pub(crate) async fn content(&self, build: &Built) -> Result<Bytes, Error> {
        match &build.content {
            Some(content) => Ok(content.clone()),
            None => self.index.layer(&build.release, &build.python).await,
        }
    }

    /// Returns whether this call stored the build: of concurrent calls for a new release, one gets the
    /// number.
    pub(crate) async fn record(&self, build: &Built) -> Result<bool, Error> {
        let content = build.content.as_ref();
        let row = Build {
            pckg_vrsn: Some(build.release.version.clone()),
            rqrmnts_txt: Some(build.release.requirements.clone()),
            rqrmnts_hsh: Some(build.hash.clone()),
            crtd_dt: Some(self.db.now().to_string()),
            lcns: build.release.licence.clone(),
            cd_sz: content.map(code_size),
            cd_hsh: content.map(code_hash),
            ..NewBuild {
                blt_vrsn: build.number,
                py_vrsn: build.python.clone(),
                pckg: build.package.clone(),
            }
            .into()
        };
        let put = self.db.put(&row).if_not_exists().await;
        Ok(put.held()?.is_some())
    }
}

pub(crate) fn code_size(content: &Bytes) -> i64 {
    i64::try_from(content.len()).unwrap_or(i64::MAX)
}

/// In Lambda's form.
pub(crate) fn code_hash(content: &Bytes) -> String {
    STANDARD.encode(Sha256::digest(content))
}
