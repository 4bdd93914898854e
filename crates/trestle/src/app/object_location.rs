//! The location of an object, for rows that refer to objects too large for them.

use std::io;

use object_store::ObjectStoreExt as _;
use object_store::path::Path;
use serde::{Deserialize, Serialize};
use trestle_item::Map;

use super::Objects;

/// The location of an object. A row has it as a map of two texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectLocation {
    /// The bucket, or the name of the directory.
    pub bucket: String,
    /// The object's key in it.
    pub key: String,
}

impl From<&ObjectLocation> for Map {
    fn from(location: &ObjectLocation) -> Self {
        let (bucket, key) = (location.bucket.as_str(), location.key.as_str());
        Map::from([("bucket", bucket), ("key", key)])
    }
}

impl Objects {
    /// Stores an object, and returns its location. When this returns, it is durable.
    pub async fn put(&self, key: &str, content: Vec<u8>) -> io::Result<ObjectLocation> {
        self.store.put(&Path::from(key), content.into()).await?;
        Ok(ObjectLocation {
            bucket: self.name.clone(),
            key: key.to_owned(),
        })
    }

    /// The object at a location. A location in another bucket or directory is an error.
    pub async fn get(&self, location: &ObjectLocation) -> io::Result<Vec<u8>> {
        if location.bucket != self.name {
            let (named, own) = (&location.bucket, &self.name);
            return Err(io::Error::other(format!(
                "object {} is in {named}, and the objects here are in {own}",
                location.key
            )));
        }
        let found = self.store.get(&Path::from(location.key.as_str())).await?;
        Ok(found.bytes().await?.to_vec())
    }
}
