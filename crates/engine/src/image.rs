//! An item together with its stored form.

use std::ops::Deref;
use std::sync::Arc;

use trestle_item::codec::{self, CodecError};
use trestle_item::{Item, size};
use trestle_store::Bytes;

/// An item as it is before or after a write. The same bytes go into the table, into indexes that keep whole items and
/// into change records, so they are made once, and off the committer's thread where that is possible.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    item: Arc<Item>,
    bytes: Bytes,
    size: usize,
}

impl Image {
    /// A new item.
    pub(crate) fn new(item: Item) -> Self {
        Self::shared(Arc::new(item))
    }

    /// A new item that others hold, too.
    pub(crate) fn shared(item: Arc<Item>) -> Self {
        Self {
            bytes: Bytes::from(codec::encode(&item)),
            size: size::of_item(&item),
            item,
        }
    }

    /// An item out of storage.
    pub(crate) fn stored(bytes: Bytes) -> Result<Self, CodecError> {
        let item = codec::decode(&bytes)?;
        Ok(Self {
            size: size::of_item(&item),
            item: Arc::new(item),
            bytes,
        })
    }

    /// The stored form.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The size as DynamoDB counts it.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The item alone.
    pub(crate) fn into_item(self) -> Item {
        Arc::unwrap_or_clone(self.item)
    }

    /// The item alone, shared with the image.
    pub(crate) fn shared_item(&self) -> &Arc<Item> {
        &self.item
    }
}

impl Deref for Image {
    type Target = Item;

    fn deref(&self) -> &Item {
        &self.item
    }
}

/// Two images are equal if their stored forms are: an item has only one.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

/// The item of an image that may be missing.
pub(crate) fn item(image: Option<&Arc<Image>>) -> Option<&Item> {
    image.map(|image| &*image.item)
}
