//! Where payloads lie: in a directory or in a bucket, behind one trait.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::{fs, io};

use async_trait::async_trait;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{ObjectStore, ObjectStoreExt as _};

use crate::Location;

/// Keeps payloads.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Stores a payload under a key. When this returns, it is durable.
    async fn put(&self, key: &str, payload: Vec<u8>) -> io::Result<Location>;

    /// The payload at a location.
    async fn get(&self, location: &Location) -> io::Result<Vec<u8>>;
}

/// Payloads as objects of one bucket, or as files below one directory.
#[derive(Clone, Debug)]
pub struct Bucket {
    name: String,
    objects: Arc<dyn ObjectStore>,
}

impl Bucket {
    /// `s3://BUCKET/PREFIX`, or else a directory. What S3 is called with comes from the environment: `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and so on.
    pub fn open(place: &str, endpoint: Option<&str>) -> io::Result<Self> {
        match place.split_once("://") {
            None => Self::directory(FilePath::new(place)),
            Some(("s3", bucket)) if !bucket.is_empty() => {
                let (bucket, prefix) = bucket.split_once('/').unwrap_or((bucket, ""));
                Self::s3(bucket, prefix, endpoint)
            }
            _ => Err(io::Error::other(format!(
                "{place}: --objects is a directory, or s3://BUCKET/PREFIX"
            ))),
        }
    }

    /// Payloads as files in this directory.
    pub fn directory(root: &FilePath) -> io::Result<Self> {
        let named = |error| io::Error::other(format!("cannot make {}: {error}", root.display()));
        fs::create_dir_all(root).map_err(named)?;
        let files = LocalFileSystem::new_with_prefix(root)?.with_fsync(true);
        let name = root.file_name().unwrap_or(root.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            objects: Arc::new(files),
        })
    }

    fn s3(bucket: &str, prefix: &str, endpoint: Option<&str>) -> io::Result<Self> {
        // That there is one already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(true);
        }
        Ok(Self {
            name: bucket.to_owned(),
            objects: Arc::new(PrefixStore::new(builder.build()?, prefix)),
        })
    }
}

#[async_trait]
impl Objects for Bucket {
    async fn put(&self, key: &str, payload: Vec<u8>) -> io::Result<Location> {
        self.objects.put(&Path::from(key), payload.into()).await?;
        Ok(Location {
            bucket: self.name.clone(),
            key: key.to_owned(),
        })
    }

    async fn get(&self, location: &Location) -> io::Result<Vec<u8>> {
        if location.bucket != self.name {
            let (named, own) = (&location.bucket, &self.name);
            return Err(io::Error::other(format!(
                "the payload is in {named}, and --objects names {own}"
            )));
        }
        let found = self.objects.get(&Path::from(location.key.as_str())).await?;
        Ok(found.bytes().await?.to_vec())
    }
}
