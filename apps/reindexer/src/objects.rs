//! Where payloads lie: in a directory or in a bucket, behind one trait.

use std::io;

use async_trait::async_trait;
use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use trestle::app;

use crate::Location;

/// Keeps payloads.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Stores a payload under a key. When this returns, it is durable.
    async fn put(&self, key: &str, payload: Vec<u8>) -> io::Result<Location>;

    /// The payload at a location.
    async fn get(&self, location: &Location) -> io::Result<Vec<u8>>;
}

#[async_trait]
impl Objects for app::Objects {
    async fn put(&self, key: &str, payload: Vec<u8>) -> io::Result<Location> {
        self.store.put(&Path::from(key), payload.into()).await?;
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
        let found = self.store.get(&Path::from(location.key.as_str())).await?;
        Ok(found.bytes().await?.to_vec())
    }
}
