//! Receipt handles: which message, and which of its receptions.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::QueueError;
use crate::index::MessageNumber;

/// The prefix of every handle, so that other texts are not accepted.
const MARK: [u8; 4] = *b"trQ1";
const LEN: usize = 28;

/// The content of a receipt handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    /// The queue's id.
    pub(crate) queue: u64,
    /// How often the queue had been purged.
    pub(crate) generation: u32,
    pub(crate) sequence: MessageNumber,
    /// The message had been received that often, this time included: an older handle has a smaller number.
    pub(crate) receives: u32,
}

impl Handle {
    pub(crate) fn encode(self) -> String {
        let mut bytes = [0; LEN];
        let parts: [&[u8]; 5] = [
            &MARK,
            &self.queue.to_be_bytes(),
            &self.generation.to_be_bytes(),
            &self.sequence.0.to_be_bytes(),
            &self.receives.to_be_bytes(),
        ];
        let mut at = 0;
        for part in parts {
            bytes[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// Reads a handle of the queue with this id.
    pub(crate) fn decode(text: &str, queue: u64) -> Result<Self, QueueError> {
        Self::read(text)
            .filter(|handle| handle.queue == queue)
            .ok_or_else(|| QueueError::invalid_handle(text))
    }

    fn read(text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (mark, rest) = bytes.split_first_chunk()?;
        let (queue, rest) = rest.split_first_chunk()?;
        let (generation, rest) = rest.split_first_chunk()?;
        let (sequence, rest) = rest.split_first_chunk()?;
        let (receives, rest) = rest.split_first_chunk()?;
        (*mark == MARK && rest.is_empty()).then_some(Self {
            queue: u64::from_be_bytes(*queue),
            generation: u32::from_be_bytes(*generation),
            sequence: MessageNumber(u64::from_be_bytes(*sequence)),
            receives: u32::from_be_bytes(*receives),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorCode;

    #[test]
    fn a_handle_is_read_back_by_its_own_queue_only() {
        let handle = Handle {
            queue: u64::MAX,
            generation: 7,
            sequence: MessageNumber(1 << 60),
            receives: 3,
        };
        let text = handle.encode();
        assert_eq!(Handle::decode(&text, u64::MAX), Ok(handle));
        for (text, queue) in [
            (text.as_str(), 1),
            (&text[1..], u64::MAX),
            ("", 1),
            ("no handle", 1),
        ] {
            let refused = Handle::decode(text, queue).unwrap_err();
            assert_eq!(refused.code(), ErrorCode::ReceiptHandleIsInvalid, "{text}");
        }
    }
}
