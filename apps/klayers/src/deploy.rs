//! Deploying: a layer of the newest build in every region that lacks it.

use std::collections::BTreeSet;

use axum::body::Bytes;
use trestle::typed;

use crate::build::{code_hash, code_size};
use crate::config::ALL;
use crate::model::{
    ConfigKind, LatestLayerWhere, LatestOfPackageByPythonVersionWhere, Layer, LayerHead, NewLayer,
};
use crate::{App, Built, Error, LayerArn};

/// The result of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deployed {
    /// This is the latest layer now.
    Latest(LayerArn),
    /// The latest layer already has the same requirements.
    Unchanged,
    /// Another deployment of the same package was faster; this one left nothing behind.
    Overtaken,
}

impl App {
    /// Those of these regions without a layer of the package, or with a layer of other requirements; all, if
    /// the build is forced.
    pub async fn regions_to_deploy(&self, build: &Built, regions: &[String]) -> Result<Vec<String>, Error> {
        if build.is_forced {
            return Ok(regions.to_vec());
        }
        let latest = LatestOfPackageByPythonVersionWhere {
            package: &build.package,
            python_version: &build.python,
        };
        let latest = self.db.latest_of_package_by_python_version(latest);
        let mut latest = latest.collect().await?;
        latest.retain(|layer| layer.rqrmnts_hsh.as_ref() == Some(&build.hash));
        let done: BTreeSet<&String> = latest.iter().map(|layer| &layer.rgn).collect();
        let missing = regions.iter().filter(|region| !done.contains(region));
        Ok(missing.cloned().collect())
    }

    /// Makes the build the latest layer of a region. First the layer is stored, so that every layer in the
    /// table exists; then one row is put, from which the head, the only `latest` and the predecessor's expiry
    /// follow.
    pub async fn deploy(&self, region: &str, build: &Built) -> Result<Deployed, Error> {
        let latest = LatestLayerWhere {
            region,
            package: &build.package,
            python_version: &build.python,
        };
        let before = self.db.latest_layer(latest).consistent().await?;
        let hash = before.as_ref().and_then(|layer| layer.rqrmnts_hsh.as_ref());
        if hash == Some(&build.hash) && !build.is_forced {
            return Ok(Deployed::Unchanged);
        }
        let content = self.content(build).await?;
        // The numbering of an imported table continues.
        let after = before.as_ref().map_or(0, |layer| layer.lyr_vrsn);
        let arn = self.layers.publish(region, &build.layer, after, content.clone());
        let arn = arn.await.map_err(Error::Layers)?;
        let row = self.row(&arn, build, &content);
        match self.make_latest(before, &row).await {
            Ok(()) => Ok(Deployed::Latest(arn)),
            // This call wrote nothing; another one has written, or is about to.
            Err(error @ typed::Error::Canceled(_)) if error.is_condition() || error.is_transient() => {
                self.layers.delete(&arn).await.map_err(Error::Layers)?;
                let found = self.db.get(&row).consistent().await?;
                found.map_or(Ok(Deployed::Overtaken), |_| Err(Error::NumberTaken(arn)))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn row(&self, arn: &LayerArn, build: &Built, content: &Bytes) -> Layer {
        Layer {
            cd_sz: Some(code_size(content)),
            cd_hsh: Some(code_hash(content)),
            rqrmnts_txt: Some(build.release.requirements.clone()),
            rqrmnts_hsh: Some(build.hash.clone()),
            crtd_dt: Some(self.db.now().to_string()),
            lcns: build.release.licence.clone(),
            ..NewLayer {
                rgn: arn.region.clone(),
                pckg: build.package.clone(),
                py_vrsn: build.python.clone(),
                lyr_vrsn: arn.version,
                arn: arn.to_string(),
                pckg_vrsn: build.release.version.clone(),
            }
            .into()
        }
    }

    /// Only if the latest layer has not changed since it was read: of two concurrent deployments, one wins.
    async fn make_latest(&self, before: Option<LayerHead>, row: &Layer) -> Result<(), typed::Error> {
        let head = self.db.check(row.head_key());
        let unchanged = match before {
            Some(before) => head.only_if(LayerHead::LYR_VRSN.equals(before.lyr_vrsn)),
            None => head.is_absent(),
        };
        let put = self.db.put(row).if_not_exists();
        self.db.transaction().with(unchanged).with(put).commit().await
    }

    /// Removes layers that no row names, which interrupted deployments left. Call it only while nothing else
    /// deploys. Returns how many there were.
    pub async fn sweep(&self) -> Result<usize, Error> {
        let stored = self.layers.list().await.map_err(Error::Layers)?;
        let mut regions: BTreeSet<String> = self.list(ConfigKind::Rgns, ALL).await?.into_iter().collect();
        regions.extend(stored.iter().map(|layer| layer.region.clone()));
        let (mut named, mut swept) = (BTreeSet::new(), 0);
        for region in regions {
            let rows = self.db.deployed_in_region(&region).collect().await?;
            named.extend(rows.into_iter().map(|layer| layer.arn));
        }
        for layer in stored {
            if !named.remove(&layer.to_string()) {
                swept += usize::from(self.layers.delete(&layer).await.map_err(Error::Layers)?);
            }
        }
        if !named.is_empty() {
            tracing::warn!("{} layers of the table are not there: see --layers", named.len());
        }
        Ok(swept)
    }
}
