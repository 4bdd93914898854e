//! Files that are numbered: the versions of something.

use std::io;

use object_store::path::Path;
use object_store::{Error, ObjectStoreExt as _, PutPayload};

use super::Objects;

/// The suffix of the markers of numbers that are taken.
const TAKEN: &str = ".taken";

impl Objects {
    /// Stores the next file of a folder as `<number>.<extension>`, and returns its number, which is greater
    /// than `after`. When this returns, it is durable.
    ///
    /// A number is used once: concurrent callers get different numbers, and the marker `<number>.taken` stays
    /// after the file is deleted.
    ///
    /// ```
    /// # async fn example() -> std::io::Result<()> {
    /// use object_store::path::Path;
    /// use trestle::app::Objects;
    ///
    /// let (objects, folder) = (Objects::open("layers", None)?, Path::from("eu-west-1/requests"));
    /// assert_eq!(objects.write_next(&folder, "zip", 0, "content").await?, 1);
    /// assert!(objects.delete(&folder.clone().join("1.zip")).await?);
    /// assert_eq!(objects.write_next(&folder, "zip", 0, "content").await?, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write_next(
        &self,
        folder: &Path,
        extension: &str,
        after: i64,
        content: impl Into<PutPayload>,
    ) -> io::Result<i64> {
        let mut number = self.newest_number(folder).await?.max(after) + 1;
        let file = |number: i64, end: &str| folder.clone().join(format!("{number}{end}"));
        // Otherwise another process was faster; or it was this one, and only the answer was lost.
        while !self.write_new(file(number, TAKEN).as_ref(), Vec::new()).await? {
            number += 1;
        }
        let path = file(number, &format!(".{extension}"));
        self.store.put(&path, content.into()).await?;
        Ok(number)
    }

    /// The highest number in use; 0 if there is none.
    async fn newest_number(&self, folder: &Path) -> io::Result<i64> {
        let files = self.store.list_with_delimiter(Some(folder)).await?.objects;
        let names = files.iter().filter_map(|file| file.location.filename());
        let numbers = names.filter_map(|name| name.strip_suffix(TAKEN)?.parse().ok());
        Ok(numbers.max().unwrap_or(0))
    }

    /// Deletes a file, and returns whether it existed.
    pub async fn delete(&self, path: &Path) -> io::Result<bool> {
        // S3 deletes a missing object without an error, so it is checked before.
        match self.store.head(path).await {
            Err(Error::NotFound { .. }) => return Ok(false),
            found => found?,
        };
        self.store.delete(path).await?;
        Ok(true)
    }
}
