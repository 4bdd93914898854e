//! The files of an application: in a directory, or in a bucket.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use object_store::ObjectStore;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::prefix::PrefixStore;

/// A place for files: a directory, or an S3 bucket. Stored files are durable.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The name of the bucket, or of the directory.
    pub name: String,
    /// The files.
    pub store: Arc<dyn ObjectStore>,
}

impl Objects {
    /// `s3://BUCKET/PREFIX`, or else a directory. The credentials for S3 come from the environment: `AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`, `AWS_REGION` and so on. With an endpoint, that server is used instead of Amazon's.
    pub fn open(place: &str, s3_endpoint: Option<&str>) -> io::Result<Self> {
        match place.split_once("://") {
            None => Self::directory(Path::new(place)),
            Some(("s3", bucket)) if !bucket.is_empty() => Self::bucket(bucket, s3_endpoint),
            _ => Err(io::Error::other(format!(
                "{place} is neither a directory nor s3://BUCKET/PREFIX"
            ))),
        }
    }

    /// Files in this directory, which is created if it is missing.
    pub fn directory(root: &Path) -> io::Result<Self> {
        let named = |error| io::Error::other(format!("cannot make {}: {error}", root.display()));
        fs::create_dir_all(root).map_err(named)?;
        let name = root.file_name().unwrap_or(root.as_os_str());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            store: Arc::new(LocalFileSystem::new_with_prefix(root)?.with_fsync(true)),
        })
    }

    fn bucket(place: &str, endpoint: Option<&str>) -> io::Result<Self> {
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        // An error means that a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint).with_allow_http(true);
        }
        Ok(Self {
            name: bucket.to_owned(),
            store: Arc::new(PrefixStore::new(builder.build()?, prefix)),
        })
    }
}
