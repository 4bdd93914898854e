//! What a store can hold. Checked before anything is written, because the engine below would panic instead.

use crate::{Batch, ErrorKind, Result, StoreError};

/// The longest key. The journal writes key lengths in two bytes.
pub const KEY_BYTES_MAX: usize = u16::MAX as usize;

/// The longest value. Far above any item, far below what the journal's length field can say.
pub const VALUE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Refuses a batch with a key or a value that cannot be stored.
pub(crate) fn check(batch: &Batch) -> Result<()> {
    for (space, key, value) in batch.iter() {
        if key.is_empty() {
            return Err(invalid(format!("a key in space {space} is empty")));
        }
        if key.len() > KEY_BYTES_MAX {
            let len = key.len();
            return Err(invalid(format!(
                "a key in space {space} has {len} bytes; at most {KEY_BYTES_MAX} are possible"
            )));
        }
        if let Some(len) = value
            .map(|value| value.len())
            .filter(|len| *len > VALUE_BYTES_MAX)
        {
            return Err(invalid(format!(
                "a value in space {space} has {len} bytes; at most {VALUE_BYTES_MAX} are possible"
            )));
        }
    }
    Ok(())
}

fn invalid(message: String) -> StoreError {
    StoreError::new(ErrorKind::Invalid, message)
}
