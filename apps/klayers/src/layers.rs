//! Where layers are kept: in a directory or in a bucket, behind one trait.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::{fmt, io};

use async_trait::async_trait;
use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode};
use trestle::app::Objects;

use crate::model::Layer;

/// The account that owns the layers, as part of their names.
const ACCOUNT: &str = "000000000000";

/// The name of one version of a layer in one region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LayerArn {
    /// The region.
    pub region: String,
    /// The layer's name there.
    pub layer: String,
    /// The version.
    pub version: i64,
}

impl LayerArn {
    /// What the layer of a package is called: `Klayers-p312-requests`.
    #[must_use]
    pub fn layer_name(package: &str, python: &str) -> String {
        let package = package.replace(|c: char| !c.is_ascii_alphanumeric() && !"-_".contains(c), "-");
        format!("Klayers-{}-{package}", python.replace('.', ""))
    }

    /// The layer that a row is about.
    #[must_use]
    pub fn of(row: &Layer) -> Self {
        Self {
            region: row.rgn.clone(),
            layer: Self::layer_name(&row.pckg, &row.py_vrsn),
            version: row.lyr_vrsn,
        }
    }
}

impl fmt::Display for LayerArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (region, layer, version) = (&self.region, &self.layer, self.version);
        write!(f, "arn:aws:lambda:{region}:{ACCOUNT}:layer:{layer}:{version}")
    }
}

/// Keeps layers, as Lambda does: it numbers the versions of a layer, and never gives a number twice.
#[async_trait]
pub trait LayerStore: Send + Sync {
    /// Stores the next version of a layer. When this returns, it is durable.
    async fn publish(&self, region: &str, layer: &str, content: &str) -> io::Result<LayerArn>;

    /// Removes a version; says whether it was there.
    async fn delete(&self, layer: &LayerArn) -> io::Result<bool>;

    /// Everything that is stored in a region.
    async fn list(&self, region: &str) -> io::Result<Vec<LayerArn>>;
}

/// Layers as objects: `<region>/<layer>/<version>.zip`. Beside each is `<version>.taken`, which only one can make and which
/// stays when the layer goes, so that its number is never given again.
#[derive(Clone, Debug)]
pub struct Bucket(Arc<dyn ObjectStore>);

const CONTENT: &str = "zip";
const TAKEN: &str = "taken";

impl Bucket {
    /// Layers in this place.
    #[must_use]
    pub fn new(objects: Objects) -> Self {
        Self(objects.store)
    }

    /// Layers as files in this directory.
    pub fn directory(root: &FilePath) -> io::Result<Self> {
        Objects::directory(root).map(Self::new)
    }

    /// Takes the next number.
    async fn claim(&self, region: &str, layer: &str) -> io::Result<LayerArn> {
        let taken = self.files(Path::from_iter([region, layer]), TAKEN).await?;
        let mut claimed = LayerArn {
            region: region.to_owned(),
            layer: layer.to_owned(),
            version: taken.iter().map(|layer| layer.version).max().unwrap_or(0),
        };
        loop {
            claimed.version += 1;
            let mark = path(&claimed, TAKEN);
            match self.0.put_opts(&mark, "".into(), PutMode::Create.into()).await {
                // Somebody was faster; or it was us, and only the answer was lost.
                Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(claimed),
            }
        }
    }

    async fn files(&self, folder: Path, kind: &str) -> io::Result<Vec<LayerArn>> {
        let files: Vec<_> = self.0.list(Some(&folder)).try_collect().await?;
        let named = files.iter().filter_map(|file| named(&file.location, kind));
        Ok(named.collect())
    }
}

#[async_trait]
impl LayerStore for Bucket {
    async fn publish(&self, region: &str, layer: &str, content: &str) -> io::Result<LayerArn> {
        let claimed = self.claim(region, layer).await?;
        let content = content.to_owned().into();
        self.0.put(&path(&claimed, CONTENT), content).await?;
        Ok(claimed)
    }

    async fn delete(&self, layer: &LayerArn) -> io::Result<bool> {
        let path = path(layer, CONTENT);
        // S3 deletes what is not there without a word, so it is asked before.
        match self.0.head(&path).await {
            Err(Error::NotFound { .. }) => return Ok(false),
            found => found?,
        };
        self.0.delete(&path).await?;
        Ok(true)
    }

    async fn list(&self, region: &str) -> io::Result<Vec<LayerArn>> {
        self.files(Path::from(region), CONTENT).await
    }
}

fn path(layer: &LayerArn, kind: &str) -> Path {
    let file = format!("{}.{kind}", layer.version);
    Path::from_iter([layer.region.as_str(), &layer.layer, &file])
}

/// The layer that a file of this kind belongs to.
fn named(path: &Path, kind: &str) -> Option<LayerArn> {
    let mut parts = path.parts().map(|part| part.as_ref().to_owned());
    let (region, layer, file) = (parts.next()?, parts.next()?, parts.next()?);
    let version = file.strip_suffix(kind)?.strip_suffix('.')?.parse().ok()?;
    parts.next().is_none().then_some(LayerArn {
        region,
        layer,
        version,
    })
}
