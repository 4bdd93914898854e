//! Rows as clients see them: long names, lists for lines, and times that people read.

use serde::Serialize;
use trestle::typed::{EpochSeconds, Timestamp};

use crate::model::{BuildHead, Layer, LayerDplySts, LayerHead, LayerInDeployedInRegionByPythonVersion};

/// Times have this many characters: up to the second, without a zone.
const SECONDS: usize = 19;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LatestView {
    pub(super) package: String,
    pub(super) package_version: String,
    pub(super) arn: String,
}

impl From<LayerInDeployedInRegionByPythonVersion> for LatestView {
    fn from(row: LayerInDeployedInRegionByPythonVersion) -> Self {
        Self {
            package: row.pckg,
            package_version: row.pckg_vrsn,
            arn: row.arn,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VersionView {
    arn: String,
    package_version: String,
    deploy_status: Option<String>,
    dependencies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expiry_date: Option<String>,
}

impl From<Layer> for VersionView {
    fn from(row: Layer) -> Self {
        Self {
            arn: row.arn,
            package_version: row.pckg_vrsn,
            deploy_status: row.dply_sts.as_ref().map(LayerDplySts::to_string),
            dependencies: lines(row.rqrmnts_txt),
            expiry_date: row.ex_dt.map(date),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeadView {
    package: String,
    package_version: String,
    region: String,
    arn: String,
    dependencies: Vec<String>,
}

impl From<LayerHead> for HeadView {
    fn from(row: LayerHead) -> Self {
        Self {
            package: row.pckg,
            package_version: row.pckg_vrsn,
            region: row.rgn,
            arn: row.arn,
            dependencies: lines(row.rqrmnts_txt),
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BuildView {
    package: String,
    package_version: Option<String>,
    dependencies: Vec<String>,
    created_date_time: Option<String>,
}

impl From<BuildHead> for BuildView {
    fn from(row: BuildHead) -> Self {
        Self {
            package: row.pckg,
            package_version: row.pckg_vrsn,
            dependencies: lines(row.rqrmnts_txt),
            created_date_time: row.crtd_dt.map(|at| at.chars().take(SECONDS).collect()),
        }
    }
}

fn lines(text: Option<String>) -> Vec<String> {
    text.unwrap_or_default().lines().map(str::to_owned).collect()
}

fn date(at: EpochSeconds) -> String {
    let at = Timestamp::from_millis(at.0.saturating_mul(1_000));
    at.as_str().chars().take(SECONDS).collect()
}
