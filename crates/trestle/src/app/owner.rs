//! The owner of the files in a place: an application that removes unknown files must not see those of
//! another.

use std::io;

use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _, PutMode};

use super::Objects;

/// The file that names the owner.
const OWNER: &str = "owner";

impl Objects {
    /// The same place, for this owner only. An empty place is marked with a file `owner`. A place with
    /// another owner, or with files and no owner, is refused.
    ///
    /// ```
    /// # async fn example() -> std::io::Result<()> {
    /// use trestle::app::Objects;
    ///
    /// let objects = Objects::open("layers", None)?.owned_by("table 7").await?;
    /// assert!(Objects::open("layers", None)?.owned_by("table 8").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn owned_by(self, owner: &str) -> io::Result<Self> {
        let remedy = format!(
            "name another place, or write `{owner}` into its file `{OWNER}` if these files are its own"
        );
        if self.read(OWNER).await?.is_none() {
            let listed = self.store.list_with_delimiter(None).await?;
            if !listed.objects.is_empty() || !listed.common_prefixes.is_empty() {
                let strangers =
                    format!("there are files, and no file `{OWNER}` says whose they are; {remedy}");
                return Err(io::Error::other(strangers));
            }
            self.write_new(OWNER, owner.as_bytes().to_vec()).await?;
        }
        let marked = self.read(OWNER).await?.unwrap_or_default();
        let marked = String::from_utf8_lossy(&marked);
        match marked.trim() == owner {
            true => Ok(self),
            false => Err(io::Error::other(format!(
                "the files belong to {}, and not to {owner}; {remedy}",
                marked.trim()
            ))),
        }
    }

    /// The bytes of a file, if it exists.
    pub async fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        let path = Path::parse(path).map_err(io::Error::other)?;
        match self.store.get(&path).await {
            Err(Error::NotFound { .. }) => Ok(None),
            found => Ok(Some(found?.bytes().await?.to_vec())),
        }
    }

    /// Stores a file unless there is one, and returns whether there was none. Of several concurrent callers,
    /// one stores it.
    pub async fn write_new(&self, path: &str, content: Vec<u8>) -> io::Result<bool> {
        let path = Path::parse(path).map_err(io::Error::other)?;
        let put = self.store.put_opts(&path, content.into(), PutMode::Create.into());
        match put.await {
            Err(Error::AlreadyExists { .. }) => Ok(false),
            done => Ok(done.map(|_| true)?),
        }
    }
}
