//! An item together with its stored form.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use trestle_item::codec::{self, CodecError};
use trestle_item::{Item, size};
use trestle_store::Bytes;

/// An item as it is before or after a write. The same bytes go into the table, into indexes that project
/// whole items and into change records, so they are encoded once, on first use: an item that a hook replaces
/// is never encoded.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    item: Arc<Item>,
    bytes: OnceLock<Bytes>,
    size: usize,
}

impl Image {
    /// A new item.
    pub(crate) fn new(item: Item) -> Self {
        Self::shared(Arc::new(item))
    }

    /// A new item that is shared.
    pub(crate) fn shared(item: Arc<Item>) -> Self {
        Self {
            bytes: OnceLock::new(),
            size: size::of_item(&item),
            item,
        }
    }

    /// An item from storage.
    pub(crate) fn stored(bytes: Bytes) -> Result<Self, CodecError> {
        let item = codec::decode(&bytes)?;
        Ok(Self {
            size: size::of_item(&item),
            item: Arc::new(item),
            bytes: OnceLock::from(bytes),
        })
    }

    /// The stored form.
    pub(crate) fn bytes(&self) -> &Bytes {
        self.bytes.get_or_init(|| Bytes::from(codec::encode(&self.item)))
    }

    /// The size as DynamoDB counts it.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Changes the item. A shared item is copied first.
    pub(crate) fn edit<T>(&mut self, change: impl FnOnce(&mut Item) -> T) -> T {
        let done = change(Arc::make_mut(&mut self.item));
        self.bytes = OnceLock::new();
        self.size = size::of_item(&self.item);
        done
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

/// Two images are equal if their stored forms are: an item has only one stored form, so that either can be
/// compared.
impl PartialEq for Image {
    fn eq(&self, other: &Self) -> bool {
        match (self.bytes.get(), other.bytes.get()) {
            (Some(one), Some(other)) => one == other,
            _ => self.size == other.size && self.item == other.item,
        }
    }
}

/// The item of an image that may be missing.
pub(crate) fn item(image: Option<&Arc<Image>>) -> Option<&Item> {
    image.map(|image| &*image.item)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(text: &str) -> Item {
        Item::from([("pk", text)])
    }

    #[test]
    fn the_stored_form_is_made_once_and_only_when_it_is_needed() {
        let image = Image::new(item("a"));
        assert!(image.size() > 0);
        assert_eq!(image, image.clone());
        assert!(
            image.bytes.get().is_none(),
            "neither size nor comparison needs it"
        );
        let first = image.bytes().as_ptr();
        assert_eq!(image.bytes().as_ptr(), first);
    }

    #[test]
    fn an_edited_image_has_the_stored_form_and_size_of_its_new_item() {
        let stored = Arc::new(Image::stored(codec::encode(&item("a")).into()).unwrap());
        let mut edited = Image::clone(&stored);
        let before = edited.edit(|item| item.insert("pk", "longer"));
        assert_eq!(before, Some("a".into()));
        assert_eq!(edited.bytes().to_vec(), codec::encode(&item("longer")));
        assert_eq!(edited.size(), Image::new(item("longer")).size());
        assert_eq!(*stored, Image::new(item("a")), "others keep theirs");
    }

    #[test]
    fn images_are_equal_whether_or_not_their_stored_forms_are_made() {
        let stored = Image::stored(codec::encode(&item("a")).into()).unwrap();
        assert_eq!(stored, Image::new(item("a")));
        assert_ne!(stored, Image::new(item("b")));
        assert_ne!(Image::new(item("a")), Image::new(item("b")));
    }
}
