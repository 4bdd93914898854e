//! Stores of layers: a directory or a bucket, behind one trait.

use std::{fmt, io};

use async_trait::async_trait;
use axum::body::Bytes;
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use trestle::api::DescribeTable;
use trestle::app::Objects;
use trestle::{Database, DatabaseExt as _};

/// The table of the model.
const TABLE: &str = "kl.db-ver2";

/// As in Lambda.
const NAME_CHARS_MAX: usize = 140;

/// The account that owns the layers by default.
pub const ACCOUNT: &str = "000000000000";

/// The name of one version of a layer in one region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerArn {
    /// The region.
    pub region: String,
    /// The account that owns it.
    pub account: String,
    /// The layer's name in its region.
    pub layer: String,
    /// The version.
    pub version: i64,
}

impl LayerArn {
    /// The ARN of a version of a layer; refuses anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split(':').collect();
        let ["arn", _, "lambda", region, account, "layer", layer, version] = parts[..] else {
            return None;
        };
        (is_name(region) && is_name(layer)).then_some(Self {
            region: region.to_owned(),
            account: account.to_owned(),
            layer: layer.to_owned(),
            version: version.parse().ok()?,
        })
    }

    /// The name of a package's layer: `Klayers-p312-requests`.
    #[must_use]
    pub fn layer_name(package: &str, python: &str) -> String {
        let package = package.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c), "-");
        format!("Klayers-{}-{package}", python.replace('.', ""))
    }

    /// The name of the layer, of all its versions.
    #[must_use]
    pub fn of_all_versions(&self) -> String {
        let (region, account, layer) = (&self.region, &self.account, &self.layer);
        format!("arn:aws:lambda:{region}:{account}:layer:{layer}")
    }
}

/// Whether this is a valid name of a layer in Lambda. Other names may be invalid as file names, or lead to
/// another file.
pub(crate) fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    (1..=NAME_CHARS_MAX).contains(&text.len()) && text.chars().all(is_plain)
}

impl fmt::Display for LayerArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.of_all_versions(), self.version)
    }
}

/// Stores layers, like Lambda: it numbers the versions of a layer, and never uses a number twice.
#[async_trait]
pub trait LayerStore: Send + Sync {
    /// Stores the next version of a layer, whose number is greater than `after`. When this returns, it is durable.
    async fn publish(&self, region: &str, layer: &str, after: i64, content: Bytes) -> io::Result<LayerArn>;

    /// Removes a version; returns whether it existed. Layers of another account do not count.
    async fn delete(&self, layer: &LayerArn) -> io::Result<bool>;

    /// The bytes of a version, if it exists.
    async fn read(&self, layer: &LayerArn) -> io::Result<Option<Bytes>>;

    /// Everything that is stored, in all regions.
    async fn list(&self) -> io::Result<Vec<LayerArn>>;
}

/// Layers as objects: `<region>/<layer>/<version>.zip`.
#[derive(Clone, Debug)]
pub struct Bucket {
    objects: Objects,
    account: String,
}

impl Bucket {
    /// Layers of an account in this place.
    #[must_use]
    pub fn new(objects: Objects, account: &str) -> Self {
        Self {
            objects,
            account: account.to_owned(),
        }
    }

    /// The layers of the table of this database only: those that the table does not name will be removed.
    pub async fn of_table(objects: Objects, account: &str, database: &dyn Database) -> io::Result<Self> {
        let table_name = TABLE.to_owned();
        let described = database.describe_table(DescribeTable { table_name }).await;
        let id = described.map_err(io::Error::other)?.table.table_id;
        let owner = format!("table {}, account {account}", id.unwrap_or_default());
        Ok(Self::new(objects.owned_by(&owner).await?, account))
    }

    /// The layer of a file name.
    fn named(&self, path: &Path) -> Option<LayerArn> {
        let parts: Vec<_> = path.parts().collect();
        let [region, layer, file] = &parts[..] else {
            return None;
        };
        let version = file.as_ref().strip_suffix(".zip")?.parse().ok()?;
        Some(self.arn(region.as_ref(), layer.as_ref(), version))
    }

    fn arn(&self, region: &str, layer: &str, version: i64) -> LayerArn {
        LayerArn {
            region: region.to_owned(),
            account: self.account.clone(),
            layer: layer.to_owned(),
            version,
        }
    }
}

#[async_trait]
impl LayerStore for Bucket {
    async fn publish(&self, region: &str, layer: &str, after: i64, content: Bytes) -> io::Result<LayerArn> {
        let folder = Path::from_iter([region, layer]);
        let version = self.objects.write_next(&folder, "zip", after, content).await?;
        Ok(self.arn(region, layer, version))
    }

    async fn delete(&self, layer: &LayerArn) -> io::Result<bool> {
        Ok(layer.account == self.account && self.objects.delete(&path(layer)).await?)
    }

    async fn read(&self, layer: &LayerArn) -> io::Result<Option<Bytes>> {
        if layer.account != self.account {
            return Ok(None);
        }
        let found = self.objects.read(path(layer).as_ref()).await?;
        Ok(found.map(Bytes::from))
    }

    async fn list(&self) -> io::Result<Vec<LayerArn>> {
        let files: Vec<_> = self.objects.store.list(None).try_collect().await?;
        let named = files.iter().filter_map(|file| self.named(&file.location));
        Ok(named.collect())
    }
}

fn path(layer: &LayerArn) -> Path {
    let file = format!("{}.zip", layer.version);
    Path::from_iter([layer.region.as_str(), &layer.layer, &file])
}
