//! Calls to AWS, or to what speaks like it: signed, in the JSON protocol, in groups of ten.

mod identity;
mod send;
mod service;

pub(crate) use identity::identity;
pub(crate) use send::{EntryFault, Failure, Protocol, send};
pub(crate) use service::{Service, ServiceKind, is_throttling};

/// A call takes no more entries than this, with SQS and with EventBridge.
pub(crate) const ENTRIES_MAX: usize = 10;

/// And no more bytes. Newer services take more; every one of them takes this.
pub(crate) const CALL_BYTES_MAX: usize = 256 * 1024;
