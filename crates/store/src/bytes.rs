//! Bytes that are shared, not copied.

use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;

/// The storage engine's byte type, or `Arc<[u8]>` where no engine is compiled in.
#[cfg(feature = "directory")]
type Shared = fjall::Slice;
#[cfg(not(feature = "directory"))]
type Shared = std::sync::Arc<[u8]>;

/// Immutable bytes. Cloning shares them: a value read from the store's cache is not copied on its way up.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(Shared);

impl Bytes {
    /// No bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.0
    }

    #[cfg(feature = "directory")]
    pub(crate) fn from_engine(slice: Shared) -> Self {
        Bytes(slice)
    }

    #[cfg(feature = "directory")]
    pub(crate) fn into_engine(self) -> Shared {
        self.0
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// `Bytes` orders, compares and hashes as the slice does, so maps keyed by it can be asked with a slice.
impl Borrow<[u8]> for Bytes {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(bytes.into())
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Bytes(bytes.into())
    }
}

impl<const N: usize> From<&[u8; N]> for Bytes {
    fn from(bytes: &[u8; N]) -> Self {
        Bytes(bytes.as_slice().into())
    }
}

impl From<&str> for Bytes {
    fn from(text: &str) -> Self {
        Bytes(text.as_bytes().into())
    }
}

impl PartialEq<[u8]> for Bytes {
    fn eq(&self, other: &[u8]) -> bool {
        self.as_slice() == other
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.as_slice().escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hash::{BuildHasher, RandomState};

    #[test]
    fn bytes_order_and_hash_as_slices_do() {
        let samples: [&[u8]; 6] = [
            b"",
            b"\0",
            b"a",
            b"a\0",
            b"ab",
            b"a key that is longer than twenty-four bytes",
        ];
        let hasher = RandomState::new();
        for a in samples {
            assert_eq!(hasher.hash_one(Bytes::from(a)), hasher.hash_one(a));
            for b in samples {
                assert_eq!(Bytes::from(a).cmp(&Bytes::from(b)), a.cmp(b));
                assert_eq!(Bytes::from(a).eq(&Bytes::from(b)), a == b);
            }
        }
    }
}
