//! Rows as clients see them: long names, lists for lines, and times that people read.

use serde::Serialize;
use serde_with::skip_serializing_none;
use trestle::typed::{EpochSeconds, Timestamp};

use crate::model::{BuildHead, Layer, LayerDplySts, LayerHead, LayerInDeployedInRegionByPythonVersion};

/// Times have this many characters: up to the second, without a zone.
const SECONDS: usize = 19;

/// What is known of a layer or a build.
#[skip_serializing_none]
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    package: Option<String>,
    package_version: Option<String>,
    pub(super) region: Option<String>,
    arn: Option<String>,
    deploy_status: Option<String>,
    dependencies: Option<Vec<String>>,
    expiry_date: Option<String>,
    created_date_time: Option<String>,
    license: Option<String>,
    code_size: Option<i64>,
}

impl View {
    /// A layer among those of other regions, with what the original does not say: licence and size.
    pub(super) fn in_its_region(row: Layer) -> Self {
        Self {
            region: Some(row.rgn.clone()),
            license: row.lcns.clone(),
            code_size: row.cd_sz,
            ..Self::from(row)
        }
    }
}

impl From<LayerInDeployedInRegionByPythonVersion> for View {
    fn from(row: LayerInDeployedInRegionByPythonVersion) -> Self {
        Self {
            package: Some(row.pckg),
            package_version: Some(row.pckg_vrsn),
            arn: Some(row.arn),
            ..Self::default()
        }
    }
}

impl From<Layer> for View {
    fn from(row: Layer) -> Self {
        Self {
            package_version: Some(row.pckg_vrsn),
            arn: Some(row.arn),
            deploy_status: row.dply_sts.as_ref().map(LayerDplySts::to_string),
            dependencies: lines(row.rqrmnts_txt),
            expiry_date: row.ex_dt.map(date),
            ..Self::default()
        }
    }
}

impl From<LayerHead> for View {
    fn from(row: LayerHead) -> Self {
        Self {
            package: Some(row.pckg),
            package_version: Some(row.pckg_vrsn),
            region: Some(row.rgn),
            arn: Some(row.arn),
            dependencies: lines(row.rqrmnts_txt),
            ..Self::default()
        }
    }
}

impl From<BuildHead> for View {
    fn from(row: BuildHead) -> Self {
        Self {
            package: Some(row.pckg),
            package_version: row.pckg_vrsn,
            dependencies: lines(row.rqrmnts_txt),
            created_date_time: row.crtd_dt.map(|at| at.chars().take(SECONDS).collect()),
            ..Self::default()
        }
    }
}

fn lines(text: Option<String>) -> Option<Vec<String>> {
    Some(text.unwrap_or_default().lines().map(str::to_owned).collect())
}

fn date(at: EpochSeconds) -> String {
    let at = Timestamp::from_millis(at.0.saturating_mul(1_000));
    at.as_str().chars().take(SECONDS).collect()
}
